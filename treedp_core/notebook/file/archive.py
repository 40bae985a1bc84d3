"""The file of a notebook, `.treedp`: a zip of JSON and Parquet that is read as if a stranger had made it.

With data it holds TRUE COUNTS; without data it holds settings, fingerprints and what does not depend on counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.notebook import range_lists
from treedp_core.notebook.cell import Cell, DataNote, Notebook
from treedp_core.notebook.code import Ran
from treedp_core.notebook.file import call_json, drawing
from treedp_core.notebook.file.container import MAX_FILE, limit_of, packed, unpacked, written
from treedp_core.notebook.file.drawing import Drawing
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.saved_plans import Noted
from treedp_core.notebook.study import Asked, SettingValue, Study, Table
from treedp_core.notebook.validators import Value, text
from treedp_core.plans import ReleasePlan
from treedp_core.records import Dataset
from treedp_core.records.parquet_file import about, nodes_of, restored
from treedp_core.records.strict_json import Json, members, parse
from treedp_core.watch import Watch
from treedp_core.words import whole

# What opening a notebook takes up in memory: nothing is saved that could not be opened again.

MOST_BYTES: Final = 1 << 30
"""Of memory that opening a file may take up, besides the file itself."""
_HELD: Final = (23, 18, 1)
"""Bytes of an opened data set for each node, each label and each byte of its labels."""
_PASSING: Final = (26, 0, 4)
"""The same of the one that is being read, besides."""
_JSON: Final = 10
"""Bytes for each byte of JSON besides."""


def opening_bytes(tables: Sequence[Table], json_bytes: int) -> int:
    """Return how many bytes of memory opening a notebook takes up at most, besides the file itself.

    Parameters
    ----------
    tables : sequence of Table
        Its data sets.
    json_bytes : int
        Of cells and settings.
    """
    sizes = [_size(table.data) for table in tables]
    held = sum(_times(_HELD, size) for size in sizes)
    return held + max((_times(_PASSING, size) for size in sizes), default=0) + _JSON * json_bytes


def admit(tables: Sequence[Table], json_bytes: int) -> None:
    """Refuse to save what could not be opened again; arguments as of `opening_bytes`.

    Raises
    ------
    InputError
        ``NOTEBOOK_TOO_LARGE``.

    >>> admit([], 30 << 20)
    >>> admit([], 150 << 20)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Opening this notebook would take more than 1 024 MB of memory; save fewer data
    sets or cells in it, or save it without data.
    """
    if opening_bytes(tables, json_bytes) > MOST_BYTES:
        raise InputError(
            "NOTEBOOK_TOO_LARGE",
            f"Opening this notebook would take more than {whole(MOST_BYTES >> 20)} MB of memory; save fewer data sets "
            "or cells in it, or save it without data.",
        )


def _times(each: Sequence[int], size: Sequence[int]) -> int:
    return sum(one * n for one, n in zip(each, size, strict=True))


def _size(data: Dataset) -> tuple[int, int, int]:
    """Nodes, labels, and letters of labels with what stands between them."""
    words = data.labels.vocabularies
    n_labels = sum(map(len, words))
    return data.tree.n_nodes, n_labels, n_labels + sum(int(np.strings.str_len(one).sum()) for one in words)


SUFFIX: Final = ".treedp"
TRUE_COUNTS: Final = "TRUE COUNTS"
NOTICES: Final = {
    True: f"NOT PRIVATE: this file holds {TRUE_COUNTS} of the data sets it was saved with.",
    False: "This file holds no counts of a file. Its fingerprints let whoever holds a guess of the data test it.",
}
STEPS: Final = 1
_LONG: Final = ("figure", "columns", "plan")
"""Fields of a cell that are members of their own."""
_KINDS: Final = {"int": int, "float": float, "bool": bool, "text": str}
_NOT_FINITE: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


def save(study: Study, *, with_data: bool) -> bytes:
    """Return the file of a study; without data it has no counts, nor what may depend on them.

    Raises
    ------
    InputError
        ``NOTEBOOK_TOO_LARGE``; ``DATA_STORED`` for a label that cannot be read again.

    Examples
    --------
    >>> content = save(Study(notebook=Notebook("Survey"), settings={"eps": 0.5}, version="0.1.0"), with_data=False)
    >>> open_study(content).settings
    {'eps': 0.5}
    """
    kept = study if with_data else study.without_data()
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in kept.settings.items()}
    content: dict[str, bytes] = {
        "settings.json": written({
            "settings": settings, "version": kept.version, "ranges": range_lists.written(kept.ranges),
        }),
        "notebook.json": written({
            "title": kept.notebook.title,
            "cells": [_short(one) for one in kept.notebook.cells],
            "tables": [_table(one) for one in kept.tables],
            "asked": [{"slot": one.slot, "note": _note(one.note), "how": _how(one.how)} for one in kept.asked],
            "plan": kept.plan is not None,
            "noted": [one.fingerprint for one in kept.noted],
        }),
    }  # fmt: skip
    for one in kept.notebook.cells:
        if one.figure is not None:
            content[f"cells/{one.id}/figure.json"] = one.figure.text
        if one.columns is not None:
            content[f"cells/{one.id}/table.json"] = written(_columns(one.columns))
        if one.plan is not None:
            content[f"cells/{one.id}/plan.json"] = one.plan.to_json().encode()
    if kept.plan is not None:
        content["plan.json"] = kept.plan.to_json().encode()
    for at, noted in enumerate(kept.noted):
        content[f"noted/{at}/plan.json"] = noted.plan.to_json().encode()
    admit(kept.tables, sum(map(len, content.values())))
    for at, table in enumerate(kept.tables):
        content[f"data/{at}/about.json"] = written(about(table.data))
        content[f"data/{at}/nodes.parquet"] = nodes_of(table.data)
    return packed(content, NOTICES[bool(kept.tables)], kept.version)


def file_name(title: str, *, with_data: bool) -> str:
    """Return what the file of a notebook is called: who sees its name sees whether it holds true counts.

    >>> file_name("Survey: 2020/21", with_data=True)
    'Survey 2020 21 TRUE COUNTS.treedp'
    """
    plain = " ".join(re.sub(r"[^\w .-]|\.(?=[. ])", " ", title).split())[:80].strip(". ") or "Notebook"
    return f"{plain}{f' {TRUE_COUNTS}' if with_data else ''}{SUFFIX}"


def open_study(content: bytes, *, watch: Watch | None = None) -> Study:
    """Return the study of a file.

    Raises
    ------
    InputError
        ``NOTEBOOK_FOREIGN``, ``NOTEBOOK_DAMAGED``, ``NOTEBOOK_TOO_LARGE``, ``CONFIG_…``, ``DATA_STORED``, ``RECIPE``
        and those of `Cell`, `Notebook` and `Study`: the first thing that is not as TreeDP writes it.
    """
    found = unpacked(content)
    settings, version, ranges = _settings(_json(found, "settings.json"))
    told = members(
        _json(found, "notebook.json"), "The notebook", title=str, cells=list,
        tables=list, asked=list, plan=bool, noted=list,
    )  # fmt: skip
    study = Study(
        notebook=Notebook(told["title"], tuple(_cell(one, found) for one in told["cells"])),
        settings=settings,
        tables=tuple(_restored(one, at, found) for at, one in enumerate(told["tables"])),
        asked=tuple(_asked(one) for one in told["asked"]),
        version=version,
        plan=_plan(found, "plan.json") if told["plan"] else None,
        ranges=ranges,
        noted=tuple(Noted(one, _plan(found, f"noted/{at}/plan.json")) for at, one in enumerate(told["noted"])),
    )
    if found:
        raise InputError("NOTEBOOK_DAMAGED", f"This notebook is damaged: nothing refers to {echo(next(iter(found)))}.")
    if watch is not None:
        watch.step(STEPS)
    return study


def open_file(path: Path, *, watch: Watch | None = None) -> Study:
    """Return the study of a file on this computer.

    Raises
    ------
    InputError
        Those of `open_study`; ``FILE_MISSING``.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except OSError:
        raise InputError("FILE_MISSING", f"The notebook {echo(path.name)} cannot be read.") from None
    return open_study(content, watch=watch)


def _json(found: dict[str, bytes], name: str) -> Json:
    return parse(_member(found, name), most=limit_of(name), what=echo(name))


def _member(found: dict[str, bytes], name: str) -> bytes:
    if name not in found:
        raise InputError("NOTEBOOK_DAMAGED", f"This notebook is damaged: {echo(name)} is missing.")
    return found.pop(name)


def _settings(said: Json) -> tuple[dict[str, SettingValue], str, dict[str, Listed]]:
    told = members(said, "The settings", settings=dict, version=str, ranges=list)
    version = text("the version", told["version"], 40, "CELL_VERSION")
    return (
        {key: _setting(key, value) for key, value in told["settings"].items()},
        version,
        range_lists.read(told["ranges"]),
    )


def _setting(key: str, value: Json) -> SettingValue:
    if not _KEY.fullmatch(key):
        raise InputError("CONFIG_UNKNOWN_KEY", f"The settings have {echo(key)}, which is no name of one.")
    if isinstance(value, list) and all(isinstance(one, str) for one in value) and len(value) <= 1_000:
        return tuple(_typed(key, one) for one in value)
    if isinstance(value, str):
        return _typed(key, value)
    if isinstance(value, (bool, int, float)):
        return value
    raise InputError("CONFIG_TYPE", f"Expected the setting {echo(key)} to be a number, text, or a list of texts.")


def _typed(key: str, value: str) -> str:
    """What was typed; it may be any text that can be written down."""
    if len(value) > 2_000 or _SURROGATE.search(value):
        raise InputError("CONFIG_VALUE", f"Expected the setting {echo(key)} to be a text of at most 2000 characters.")
    return value


def _short(cell: Cell) -> dict[str, Any]:
    """A cell without its long parts, which are noted only."""
    plain = {one.name: getattr(cell, one.name) for one in fields(cell)}
    plain |= {name: plain[name] is not None for name in _LONG}
    plain["settings"] = {key: list(values) for key, values in cell.settings.items()}
    plain["badges"] = list(cell.badges)
    plain["data"] = None if cell.data is None else _note(cell.data)
    return plain


def _cell(said: Json, found: dict[str, bytes]) -> Cell:
    words = (
        "id", "name", "note", "page", "view", "part", "about", "caption", "answer", "alt", "label",
        "credit", "code", "version", "made",
    )  # fmt: skip
    told = members(
        said, "A cell", **dict.fromkeys(words, str), settings=dict, badges=list,
        holds_counts=bool, data=(dict, type(None)), seed=(int, type(None)), figure=bool, columns=bool, plan=bool,
    )  # fmt: skip
    place = f"cells/{told['id'][:16]}"
    told["data"] = None if told["data"] is None else _noted(told["data"])
    told["figure"] = _figure(found, f"{place}/figure.json") if told["figure"] else None
    told["columns"] = _read_columns(_json(found, f"{place}/table.json")) if told["columns"] else None
    told["plan"] = _plan(found, f"{place}/plan.json") if told["plan"] else None
    return Cell(**told)


def _figure(found: dict[str, bytes], name: str) -> Drawing:
    text = found.get(name, b"")
    drawing.checked(_json(found, name), text)
    return Drawing(text)


def _plan(found: dict[str, bytes], name: str) -> ReleasePlan:
    return ReleasePlan.from_json(_member(found, name))


def _note(note: DataNote) -> dict[str, Any]:
    plain = {one.name: getattr(note, one.name) for one in fields(note)}
    return {**plain, "levels": list(note.levels), "bounds": None if note.bounds is None else list(note.bounds)}


def _noted(said: Json) -> DataNote:
    told = members(
        said, "A note of data", **dict.fromkeys(("name", "fingerprint", "source_digest", "domain", "weight"), str),
        levels=list, bounds=(list, type(None)),
    )  # fmt: skip
    return DataNote(**told)


def _columns(columns: Mapping[str, tuple[Value, ...]]) -> dict[str, Any]:
    return {"columns": [
        {"name": name, "kind": _kind(values), "values": [_plain(one) for one in values]}
        for name, values in columns.items()
    ]}  # fmt: skip


def _kind(values: tuple[Value, ...]) -> str:
    first = next((type(one) for one in values if one is not None), str)
    return next(name for name, kind in _KINDS.items() if kind is first)


def _plain(value: Value) -> Value:
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _read_columns(said: Json) -> dict[str, tuple[Value, ...]]:
    columns = members(said, "A table", columns=list)["columns"]
    found: dict[str, tuple[Value, ...]] = {}
    for one in columns:
        told = members(one, "A column", name=str, kind=str, values=list)
        if told["name"] in found or told["kind"] not in _KINDS:
            raise InputError("CELL_TABLE", f"A table has the column {echo(told['name'])} twice or of an unknown kind.")
        found[told["name"]] = tuple(_valued(value, told["kind"]) for value in told["values"])
    return found


def _valued(value: Json, kind: str) -> Value:
    if kind == "float" and isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if value is None or type(value) is _KINDS[kind]:
        return value  # type: ignore[return-value]  # one of the four
    raise InputError("CELL_TABLE", f"A column of {kind} holds {echo(str(value)[:40])}.")


def _table(table: Table) -> dict[str, Any]:
    return {"slot": table.slot, "how": _how(table.how), "when": table.when.isoformat()}


def _how(ran: Ran[Any] | None) -> dict[str, Any] | None:
    return None if ran is None else call_json.written(ran)


def _restored(said: Json, at: int, found: dict[str, bytes]) -> Table:
    told = members(said, "A table of the notebook", slot=str, how=(dict, type(None)), when=str)
    nodes = found.pop(f"data/{at}/nodes.parquet", b"")
    data = restored(_json(found, f"data/{at}/about.json"), nodes)
    how = None if told["how"] is None else call_json.read(told["how"]).giving(data)
    return Table(told["slot"], data, how, _when(told["when"]))


def _when(said: str) -> datetime:
    try:
        return datetime.fromisoformat(said[:40])
    except ValueError:
        raise InputError("STUDY_WHEN", f"Expected the time a table was counted, got {echo(said)}.") from None


def _asked(said: Json) -> Asked:
    told = members(said, "A data set that is asked for", slot=str, note=dict, how=(dict, type(None)))
    return Asked(told["slot"], _noted(told["note"]), None if told["how"] is None else call_json.read(told["how"]))
