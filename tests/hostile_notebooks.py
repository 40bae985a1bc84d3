"""Files that only look like notebooks: each must be refused in one sentence, at little cost.

`python tests/hostile_notebooks.py FOLDER` writes them, for attacks on a running app.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import stat
import struct
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treedp_core.experiment import Experiment
from treedp_core.notebook import Cell, DataNote, Notebook
from treedp_core.notebook.code import File, call
from treedp_core.notebook.file.archive import save
from treedp_core.notebook.file.container import FORMAT_VERSION
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.saved_plans import Noted
from treedp_core.notebook.study import Study, Table
from treedp_core.plans import ReleasePlan
from treedp_core.records import Dataset, DomainSource, ReadReport, count_hierarchy, domain_of_values
from treedp_core.records.dataset import labels_of
from treedp_core.tree import Tree

WHEN = datetime(2026, 11, 22, 15, tzinfo=UTC)
ID = "0123456789abcdef"
PEOPLE = count_hierarchy(b"sex\nF\nM\n", ["sex"], domain=domain_of_values({"sex": ["F", "M"]}), name="people")
PLAN = ReleasePlan.of(Experiment(epsilon=0.5), PEOPLE, whom="person")
CELL, DATA = f"cells/{ID}", "data/0"


def sound() -> bytes:
    """A notebook as the app saves it, with everything that one may have."""
    domain = domain_of_values({"region": ["N", "S"]})
    data = count_hierarchy(b"region\nN\nN\nS\n", ["region"], domain=domain, name="survey.csv")
    how = call(
        count_hierarchy, File("survey.csv"), ["region"], domain=call(domain_of_values, {"region": ["N", "S"]})
    ).named("data")  # fmt: skip
    cell = Cell(
        id=ID, name="Errors", note="of *three*", page="lab", view="error", settings={"eps": ("2.0",)},
        data=DataNote(name="survey.csv", fingerprint=data.fingerprint, levels=("region",)),
        figure={"data": [{"type": "scatter", "y": [1.5, None]}], "layout": {"title": {"text": "<b>x</b>"}}},
        columns={"level": ("all", "N"), "rmse": (0.1, float("inf"))}, answer="a", code="1", version="0.1.0",
        made=WHEN.isoformat(), badges=("formula",), seed=7, plan=PLAN,
    )  # fmt: skip
    study = Study(
        notebook=Notebook("Survey", (cell,)), settings={"eps": 2.0, "lab_post": ("none",), "explain": False},
        tables=(Table("upload", data, how.giving(data), WHEN),), version="0.1.0", plan=PLAN,
        noted=(Noted(data.fingerprint, PLAN),),
        ranges={"0123abcd": Listed("ages.csv", ((1, 10), ((2, 3, 0.5), (7, 7, 1.0))))},
    )  # fmt: skip
    return save(study, with_data=True)


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(sound())) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(content: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED, **info: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, one in content.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = how
            for key, value in info.items():
                setattr(entry, key, value)
            file.writestr(entry, one)
    return out.getvalue()


def summed(content: dict[str, bytes], **manifest: Any) -> bytes:
    """A notebook of these members whose checksums are right."""
    told = json.loads(members()["manifest.json"])
    told["members"] = {name: hashlib.sha256(one).hexdigest() for name, one in content.items() if name[:3] != "man"}
    told |= manifest
    return zipped({**content, "manifest.json": json.dumps(told).encode()})


def with_member(name: str, content: bytes, *, times: int = 1) -> Callable[[], bytes]:
    return lambda: summed({**members(), name: content * times})


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[], bytes]:
    """A notebook in which the JSON of one member was changed, and the checksums with it."""

    def make() -> bytes:
        content = members()
        told = json.loads(content[name])
        content[name] = json.dumps(change(told)).encode()
        return summed(content)

    return make


def cell(**more: Any) -> Callable[[], bytes]:
    return changed("notebook.json", lambda told: {**told, "cells": [{**told["cells"][0], **more}]})


def told(name: str, **more: Any) -> Callable[[], bytes]:
    return changed(name, lambda told: {**told, **more})


def ranges(*found: Any, word: str = "0123abcd", **more: Any) -> Callable[[], bytes]:
    """A notebook with one table of ranges."""
    return told("settings.json", ranges=[{"word": word, "name": "x", "ranges": list(found), **more}])


def nodes(**columns: Any) -> Callable[[], bytes]:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd")
    return with_member(f"{DATA}/nodes.parquet", out.getvalue())


def overflowing() -> bytes:
    """Leaves that together hold 2^64 records, which is 0 to whoever adds them up in 64 bits."""
    tree, leaves = Tree.from_branching_factors((4096,)), np.full(4096, 1 << 52)
    labels = labels_of(tree, [np.arange(4096, dtype=np.int32)], [[f"{leaf}" for leaf in range(4096)]], ["leaf"])
    data = Dataset("x", tree, labels, np.array([0, *leaves]), DomainSource.PUBLIC, ReadReport(rows=0, counted=0))
    return save(Study(tables=(Table("shelf", data, None, WHEN),), version="0.1.0"), with_data=True)


def long_list(n_rows: int) -> bytes:
    """Many rows in few bytes: runs of one value."""
    zeros = np.zeros(n_rows, np.int64)
    return nodes(parent=zeros, code=zeros, count=zeros)()


def flipped(at: float) -> bytes:
    content = bytearray(sound())
    content[int(at * len(content))] ^= 0xFF
    return bytes(content)


def with_entries(n: int) -> bytes:
    """A zip of very many empty members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for i in range(n):
            file.writestr(f"{i}", b"")
    return out.getvalue()


def lying_size() -> bytes:
    """A member whose directory says that it is small, and which unpacks to much more."""
    content = bytearray(zipped({**members(), "settings.json": b" " * 30_000_000}))
    at = content.rfind(b"settings.json") - 46
    content[at + 24 : at + 28] = struct.pack("<L", 100)
    return bytes(content)


def figure(**layout: Any) -> Callable[[], bytes]:
    return with_member(f"{CELL}/figure.json", json.dumps({"data": [], "layout": layout}).encode())


def drawing(kind: Any) -> Callable[[], bytes]:
    return with_member(f"{CELL}/figure.json", json.dumps({"data": [{"type": kind}]}).encode())


DEEP = b"[" * 100_000 + b"]" * 100_000
NODES = {"parent": [-1, 0, 0, 0], "code": [0, 0, 1, 2], "count": [3, 2, 1, 0]}
SYMLINK = (stat.S_IFLNK | 0o777) << 16
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "NOTEBOOK_FOREIGN"),
    "text": (lambda: b"region,count\nN,3\n", "NOTEBOOK_FOREIGN"),
    "pickle": (lambda: pickle.dumps([1]), "NOTEBOOK_FOREIGN"),
    "YAML": (lambda: b"!!python/object/apply:os.system ['true']", "NOTEBOOK_FOREIGN"),
    "a zip of something else": (lambda: zipped({"xl/workbook.xml": b"<a/>"}), "NOTEBOOK_FOREIGN"),
    "a zip with another manifest": (lambda: zipped({"manifest.json": b'{"format": "x"}'}), "NOTEBOOK_FOREIGN"),
    "only the manifest": (lambda: summed({}), "NOTEBOOK_DAMAGED"),
    "cut in half": (lambda: sound()[: len(sound()) // 2], "NOTEBOOK_DAMAGED"),
    "cut at its end": (lambda: sound()[:-1], "NOTEBOOK_DAMAGED"),
    "bytes behind it": (lambda: sound() + b"\0" * 100, "NOTEBOOK_DAMAGED"),
    "two files in one": (lambda: sound() + sound(), "NOTEBOOK_DAMAGED"),
    "a bomb": (with_member("settings.json", b" ", times=900_000_000), "NOTEBOOK_TOO_LARGE"),
    "a smaller bomb": (with_member("notebook.json", b" ", times=60_000_000), "NOTEBOOK_TOO_LARGE"),
    "tables that take much memory": (
        lambda: summed({**members(), **{f"cells/{i:016x}/table.json": b" " * 60_000_000 for i in range(4)}}),
        "NOTEBOOK_TOO_LARGE",
    ),
    "an ipynb": (lambda: b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "NOTEBOOK_FOREIGN"),
    "a bomb that lies": (lying_size, "NOTEBOOK_DAMAGED"),
    "a hundred thousand members": (lambda: with_entries(60_000), "NOTEBOOK_TOO_LARGE"),
    "a path upwards": (with_member("../../etc/passwd", b"x"), "NOTEBOOK_FOREIGN"),
    "an absolute path": (with_member("/etc/passwd", b"x"), "NOTEBOOK_FOREIGN"),
    "a path of Windows": (with_member("C:\\x", b"x"), "NOTEBOOK_FOREIGN"),
    "a name with a newline": (with_member("settings.json\n", b"{}"), "NOTEBOOK_FOREIGN"),
    "a folder": (with_member("cells/", b""), "NOTEBOOK_FOREIGN"),
    "a symbolic link": (lambda: zipped(members(), external_attr=SYMLINK), "NOTEBOOK_FOREIGN"),
    "packed otherwise": (lambda: zipped(members(), zipfile.ZIP_BZIP2), "NOTEBOOK_FOREIGN"),
    "a member nobody refers to": (with_member("data/7/about.json", b"{}"), "NOTEBOOK_DAMAGED"),
    "a wrong checksum": (lambda: zipped({**members(), "settings.json": b"{}"}), "NOTEBOOK_DAMAGED"),
    "a future format": (lambda: summed(members(), format_version=FORMAT_VERSION + 1), "CONFIG_VERSION"),
    "format 0": (lambda: summed(members(), format_version=0), "CONFIG_VERSION"),
    "format true": (lambda: summed(members(), format_version=True), "CONFIG_VERSION"),
    "an unknown word in the manifest": (lambda: summed(members(), path="../x"), "CONFIG_UNKNOWN_KEY"),
    "deep JSON": (with_member("notebook.json", DEEP), "CONFIG_TOO_DEEP"),
    "no JSON": (with_member("notebook.json", b"{"), "CONFIG_NOT_JSON"),
    "not a number": (with_member("settings.json", b'{"settings": {"eps": NaN}, "version": "1"}'), "CONFIG_VALUE"),
    "infinity": (with_member("settings.json", b'{"settings": {"eps": 1e999}, "version": "1"}'), "CONFIG_VALUE"),
    "a million digits": (
        with_member("settings.json", b'{"settings": {"eps": %s}, "version": "1"}' % (b"9" * 10**6)), "CONFIG_VALUE",
    ),
    "a key twice": (
        with_member("settings.json", b'{"settings": {"eps": 1, "eps": 100}, "version": "1"}'), "CONFIG_DUPLICATE_KEY",
    ),
    "a setting that is a list of numbers": (told("settings.json", settings={"eps": [1]}), "CONFIG_TYPE"),
    "a setting that is an object": (told("settings.json", settings={"eps": {}}), "CONFIG_TYPE"),
    "a setting with a strange name": (told("settings.json", settings={"../x": 1}), "CONFIG_UNKNOWN_KEY"),
    "a noted plan of no data set": (told("notebook.json", noted=["../x"]), "STUDY_NOTED"),
    "a noted plan that is not there": (told("notebook.json", noted=["0" * 64] * 2), "NOTEBOOK_DAMAGED"),
    "noted plans that are none": (with_member("noted/0/plan.json", b"{}"), "CONFIG_NOT_JSON"),
    "too many noted plans": (
        lambda: summed({
            **members(), **{f"noted/{at}/plan.json": PLAN.to_json().encode() for at in range(13)},
            "notebook.json": json.dumps({**json.loads(members()["notebook.json"]), "noted": ["0" * 64] * 13}).encode(),
        }),
        "STUDY_NOTED",
    ),
    "ranges by a path": (ranges([1, 2], word="../../x1"), "STUDY_RANGES"),
    "ranges by a word twice": (
        changed("settings.json", lambda one: {**one, "ranges": one["ranges"] * 2}), "STUDY_RANGES",
    ),
    "too many tables of ranges": (
        told("settings.json", ranges=[{"word": f"{i:08x}", "name": "", "ranges": [[1, 2]]} for i in range(9)]),
        "STUDY_RANGES",
    ),
    "ranges with a name of two lines": (ranges([1, 2], name="a\nb"), "STUDY_RANGES"),
    "ranges with an unknown word": (ranges([1, 2], path="x"), "CONFIG_UNKNOWN_KEY"),
    "ranges that are none": (ranges(), "RANGE_BOUNDS"),
    "ranges that are text": (ranges("1-2"), "RANGE_BOUNDS"),
    "a range of floats": (ranges([1.0, 2.0]), "RANGE_BOUNDS"),
    "a range of true": (ranges([True, 2]), "RANGE_BOUNDS"),
    "a range turned around": (ranges([2, 1]), "RANGE_BOUNDS"),
    "a range behind all bins": (ranges([1, 10**18]), "RANGE_BOUNDS"),
    "a range twice": (ranges([1, 2], [1, 2]), "RANGE_BOUNDS"),
    "a weight beyond bounds": (ranges([[1, 2, 1e300]]), "RANGE_BOUNDS"),
    "a sum of nothing": (ranges([]), "RANGE_BOUNDS"),
    "a sum that is always 0": (ranges([[1, 2, 1.0], [1, 2, -1.0]]), "RANGE_BOUNDS"),
    "ten thousand ranges": (ranges(*([i, i] for i in range(1, 10_001))), "RANGE_BOUNDS"),
    "a sum of ten thousand ranges": (ranges([[i, i, 1.0] for i in range(1, 10_001)]), "RANGE_BOUNDS"),
    "an unknown word in a cell": (cell(path="/etc/passwd"), "CONFIG_UNKNOWN_KEY"),
    "a word missing": (
        changed("notebook.json", lambda one: {key: one[key] for key in ("title", "cells")}), "CONFIG_MISSING_KEY",
    ),
    "a seed that is true": (cell(seed=True), "CONFIG_TYPE"),
    "cells that are text": (told("notebook.json", cells=["x"]), "CONFIG_TYPE"),
    "a cell twice": (
        changed("notebook.json", lambda one: {**one, "cells": one["cells"] * 2}), "NOTEBOOK_DAMAGED",
    ),
    "a page upwards": (cell(page="../lab"), "CELL_PAGE"),
    "a name of two lines": (cell(name="a\nb"), "CELL_NAME"),
    "a title with a control character": (told("notebook.json", title="\x00"), "NOTEBOOK_TITLE"),
    "half a pair of surrogates": (cell(note="\ud800"), "CELL_TEXT"),
    "a cell of an unknown table": (told("notebook.json", tables=[{"slot": "upload"}]), "CONFIG_MISSING_KEY"),
    "a table in a strange place": (
        told("notebook.json", tables=[{"slot": "root", "how": None, "when": WHEN.isoformat()}]), "STUDY_SLOT",
    ),
    "a table counted by os.system": (
        told("notebook.json", tables=[{"slot": "upload", "when": WHEN.isoformat(), "how": {
            "call": "system", "args": ["true"], "kwargs": {}, "name": "x", "about": ""}}]), "RECIPE",
    ),
    "a table counted by code": (
        told("notebook.json", tables=[{"slot": "upload", "when": WHEN.isoformat(), "how": {
            "call": "count_hierarchy", "args": [], "kwargs": {"x=1)\nimport os#": 1}, "name": "x", "about": ""}}]),
        "RECIPE",
    ),
    "a plan that is none": (with_member(f"{CELL}/plan.json", b"{}"), "CONFIG_NOT_JSON"),
    "a plan of NaN": (
        with_member("plan.json", PLAN.to_json().replace('"epsilon": 0.5', '"epsilon": NaN').encode()), "CONFIG_VALUE",
    ),
    "a plan that is not there": (
        lambda: summed({name: one for name, one in members().items() if name != "plan.json"}), "NOTEBOOK_DAMAGED",
    ),
    "a link in a figure": (figure(title={"text": "<a href='http://192.0.2.1'>x</a>"}), "CELL_FIGURE"),
    "a style in a figure": (figure(title={"text": '<span style="color:#000000;top:0">x</span>'}), "CELL_FIGURE"),
    "a colour by name in a figure": (figure(title={"text": '<span style="color:url(x)">x</span>'}), "CELL_FIGURE"),
    "markup in a colour": (figure(title={"text": '<span style="color:#000000"><a>x</a></span>'}), "CELL_FIGURE"),
    "a script in a figure": (figure(title={"text": "< script>alert(1)</script>"}), "CELL_FIGURE"),
    "a picture in a figure": (figure(images=[{"source": "http://192.0.2.1/b.png"}]), "CELL_FIGURE"),
    "a map": (drawing("scattermapbox"), "CELL_FIGURE"),
    "a trace of a strange kind": (drawing({"a": 1}), "CELL_FIGURE"),
    "another chart": (with_member(f"{CELL}/figure.json", b'{"$schema": "x", "data": {"url": "y"}}'), "CELL_FIGURE"),
    "a table of unequal columns": (with_member(f"{CELL}/table.json", json.dumps({"columns": [
        {"name": "a", "kind": "int", "values": [1]}, {"name": "b", "kind": "int", "values": []}]}).encode()),
        "CELL_TABLE"),
    "a table with text among numbers": (with_member(f"{CELL}/table.json", json.dumps({"columns": [
        {"name": "a", "kind": "float", "values": ["Inf"]}]}).encode()), "CELL_TABLE"),
    "a column twice": (with_member(f"{CELL}/table.json", json.dumps({"columns": [
        {"name": "a", "kind": "int", "values": [1]}] * 2}).encode()), "CELL_TABLE"),
    "nodes that are no Parquet": (with_member(f"{DATA}/nodes.parquet", b"PAR1" * 100), "DATA_STORED"),
    "nodes with text": (nodes(**{**NODES, "code": list("abcd")}), "DATA_STORED"),
    "nodes in lists": (nodes(**{**NODES, "code": [[0]] * 4}), "DATA_STORED"),
    "a column more": (nodes(**NODES, more=[1, 2, 3, 4]), "DATA_STORED"),
    "a missing count": (nodes(**{**NODES, "count": [3, 2, 1, None]}), "DATA_STORED"),
    "a negative count": (nodes(**{**NODES, "count": [-3, -2, -1, 0]}), "DATA_STORED"),
    "counts that do not add up": (nodes(**{**NODES, "count": [4, 2, 1, 0]}), "DATA_STORED"),
    "other counts": (nodes(**{**NODES, "count": [4, 2, 2, 0]}), "DATA_STORED"),
    "a label that is not there": (nodes(**{**NODES, "code": [0, 0, 1, 3]}), "DATA_STORED"),
    "no tree": (nodes(**{**NODES, "parent": [-1, 0, 1, 1]}), "TREE_SHAPE"),
    "a hundred million nodes": (lambda: long_list(100_000_000), "TOO_MANY_NODES"),
    "levels that are text": (told(f"{DATA}/about.json", level_start=["0", 1, 4]), "DATA_STORED"),
    "levels behind the end": (told(f"{DATA}/about.json", level_start=[0, 1, 10**15]), "DATA_STORED"),
    "no levels": (told(f"{DATA}/about.json", level_start=[]), "TREE_SHAPE"),
    "a label that turns around": (told(f"{DATA}/about.json", labels=[["N", "\u202eS", "x"]]), "DATA_STORED"),
    "labels in lines, one of which turns around": (told(f"{DATA}/about.json", labels=["N\n\u202eS\nx"]), "DATA_STORED"),
    "labels in too few lines": (told(f"{DATA}/about.json", labels=["N"]), "DATA_STORED"),
    "labels that are no text": (told(f"{DATA}/about.json", labels=[3]), "DATA_STORED"),
    "counts that only add up beyond what a number holds": (overflowing, "DATA_STORED"),
    "labels that are numbers": (told(f"{DATA}/about.json", labels=[["N", 1, "x"]]), "DATA_STORED"),
    "a domain of its own": (told(f"{DATA}/about.json", domain="secret"), "DATA_STORED"),
    "another fingerprint": (told(f"{DATA}/about.json", fingerprint="0" * 64), "DATA_STORED"),
}  # fmt: skip
"""Name -> what makes the file, and the code it is refused with."""


def main(folder: str) -> None:
    """Write them all."""
    for name, (make, _) in HOSTILE.items():
        (Path(folder) / f"{name.replace(' ', '_')}.treedp").write_bytes(make())


if __name__ == "__main__":
    main(sys.argv[1])
