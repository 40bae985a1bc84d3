"""The file of a notebook: what is saved comes back bit for bit, and what is no notebook is refused in one sentence."""

from __future__ import annotations

import json
import math
import pickle
import sys
import zipfile
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hostile_notebooks import HOSTILE, PEOPLE, PLAN, flipped, sound, zipped
from pages.ui.jobs.workers import Limits, Workers
from pages.ui.notebook import session_study
from pages.ui.tables.worker_read import READ_BYTES
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.notebook import Cell, DataNote, Notebook
from treedp_core.notebook.code import File, Ran, call
from treedp_core.notebook.file import archive as memory
from treedp_core.notebook.file import drawing
from treedp_core.notebook.file.archive import file_name, open_study, save
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.saved_plans import Noted
from treedp_core.notebook.study import Given, Study, Table, given_again, note_of
from treedp_core.plans import ReleasePlan
from treedp_core.records import (
    Dataset,
    DomainSource,
    ReadOptions,
    ReadReport,
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.dataset import labels_of
from treedp_core.records.recipe import MARKS
from treedp_core.tree import Tree
from treedp_core.watch import Watch

LINE = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=40)
NAMED = LINE.filter(lambda text: text.strip())
PROSE = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], include_characters="\n\t"), max_size=200)
WORD = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
DIGEST = st.binary(min_size=32, max_size=32).map(bytes.hex)
TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5))]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | LINE.filter(lambda text: "<" not in text),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=3), max_leaves=8,
)  # fmt: skip
CALLS: list[Ran[Any]] = [
    call(domain_taken_from_the_data).named("domain"),
    call(domain_of_values, {"a b": ["x", "y"], "c": ["1"]}).named("domain"),
    call(domain_of_paths, File("areas, all.csv", "AREAS"), ["a"], options=ReadOptions("latin-1", ";")).saying("why"),
    call(domain_of_paths, File("areas.xlsx"), ["a"], options=ReadOptions(sheet="2026")),
    call(count_bins, File("x.csv"), "age", lower=0.0, upper=100.0, n_bins=4, branching=(2, 2), weight=None),
]
TOLD = ReleasePlan.of(Experiment(epsilon=0.5, metric="rmsre"), PEOPLE, whom="person", reads_counts=True)
"""A plan that tells of true counts."""


@st.composite
def trees(draw: Any) -> Tree:
    sizes, child_counts = 1, []
    for _ in range(draw(st.integers(0, 3))):
        counts = draw(st.lists(st.integers(0, 3), min_size=sizes, max_size=sizes))
        if not (sizes := sum(counts)):
            break
        child_counts.append(np.array(counts))
    return Tree.from_child_counts(child_counts)


@st.composite
def recipes(draw: Any) -> Recipe:
    unit = draw(LINE)
    bounds = draw(st.sampled_from([(), (0.0, 1.5), (-2.0, 1e9)]))
    marks = draw(st.dictionaries(NAMED, st.sampled_from(sorted(MARKS)), max_size=2))
    left_out = draw(st.dictionaries(LINE, st.lists(NAMED, min_size=1, max_size=3).map(tuple), max_size=2))
    return Recipe(draw(LINE), unit, draw(st.integers(0, 3)) if unit else 0, *draw(st.tuples(*[st.booleans()] * 3)),
                  bounds, tuple(sorted(marks.items())), tuple(sorted(left_out.items())),
                  *draw(st.tuples(LINE, LINE, LINE)))  # fmt: skip


@st.composite
def datasets(draw: Any) -> Dataset:
    tree = draw(trees())
    n = tree.n_leaves
    leaves = draw(st.lists(st.integers(0, 2**49), min_size=n, max_size=n))
    counts = tree.counts_of_leaves(np.array(leaves, dtype=np.int64))
    sizes = tree.level_sizes[1:].tolist()
    words = [draw(st.lists(NAMED, min_size=size, max_size=size)) for size in sizes]
    codes = [np.array(draw(st.permutations(range(size))), dtype=np.int32) for size in sizes]
    recipe = draw(recipes())
    numbers = draw(st.tuples(*[st.integers(0, 9)] * 7))
    report = ReadReport(7, 6, *numbers, notices=(("CODE", draw(NAMED)),), recipe=recipe)
    names = draw(st.lists(NAMED, min_size=len(sizes), max_size=len(sizes)))
    source = draw(st.sampled_from(DomainSource))
    return Dataset(draw(LINE), tree, labels_of(tree, codes, words, names), counts, source, report, draw(DIGEST))


def columns() -> st.SearchStrategy[dict[str, Any]]:
    kinds = [st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=True), st.booleans(), PROSE]
    return st.integers(0, 4).flatmap(
        lambda rows: st.dictionaries(
            LINE, st.one_of([st.lists(kind | st.none(), min_size=rows, max_size=rows) for kind in kinds]), max_size=3
        )
    )


def cells() -> st.SearchStrategy[Cell]:
    return st.builds(
        Cell, id=st.binary(min_size=8, max_size=8).map(bytes.hex), name=NAMED, note=PROSE, page=WORD,
        view=WORD | st.just(""), part=WORD | st.just(""),
        settings=st.dictionaries(WORD, st.lists(LINE, max_size=3), max_size=3),
        data=st.none() | st.builds(DataNote, name=LINE, fingerprint=DIGEST, levels=st.lists(LINE, max_size=3),
                                   bounds=st.none() | st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))),
        figure=st.none() | st.fixed_dictionaries({"data": st.just([]), "layout": st.dictionaries(WORD.filter(
            lambda word: word not in ("href", "images", "src", "source", "url")), JSON, max_size=3)}),
        columns=st.none() | columns(), caption=PROSE, answer=PROSE, alt=PROSE,
        badges=st.lists(st.sampled_from(["formula", "simulation", "NOT PRIVATE", "not reviewed"]), unique=True),
        plan=st.sampled_from([None, PLAN]), label=LINE, code=PROSE,
        seed=st.none() | st.integers(0, 2**31 - 1), version=st.just("0.1.0"),
        made=TIMES.map(datetime.isoformat), holds_counts=st.booleans(),
    )  # fmt: skip


def listed() -> st.SearchStrategy[dict[str, Listed]]:
    """Tables of ranges of a session, by their words."""
    pair = st.tuples(st.integers(1, 2**20), st.integers(1, 2**20)).map(lambda ends: (min(ends), max(ends)))
    weight = st.floats(0.5, 1e6) | st.floats(-1e6, -0.5)
    sums = st.lists(st.tuples(pair, weight).map(lambda one: (*one[0], one[1])), min_size=1, max_size=3,
                    unique_by=lambda one: one[1]).map(tuple)  # fmt: skip
    ranges = st.lists(pair | sums, min_size=1, max_size=4, unique=True).map(tuple)
    return st.dictionaries(st.from_regex("[0-9a-f]{8}", fullmatch=True), st.builds(Listed, LINE, ranges), max_size=3)


def noted() -> st.SearchStrategy[list[Noted]]:
    """Noted plans; the second tells of true counts."""
    return st.lists(st.builds(Noted, DIGEST, st.sampled_from([PLAN, TOLD])), max_size=3)


@st.composite
def studies(draw: Any) -> Study:
    values = (
        st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | LINE
        | st.lists(LINE, max_size=3).map(tuple)
    )  # fmt: skip
    tables = []
    for slot in draw(st.lists(st.sampled_from(["upload", "file", "cdf", "bud_prior", "shelf"]), max_size=3)):
        data, how = draw(datasets()), draw(st.none() | st.sampled_from(CALLS))
        tables.append(Table(slot, data, how and how.giving(data), draw(TIMES)))
    return Study(
        notebook=Notebook(draw(LINE), tuple(draw(st.lists(cells(), max_size=3, unique_by=lambda one: one.id)))),
        settings=draw(st.dictionaries(WORD, values, max_size=5)),
        tables=tuple(tables), version="0.1.0", plan=draw(st.sampled_from([None, PLAN])), ranges=draw(listed()),
        noted=tuple(draw(noted())),
    )  # fmt: skip


def same_bits(one: Any, other: Any) -> bool:
    """Whether two values are of one type and equal, a NaN to a NaN, and 0.0 not to -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (one == other and math.copysign(1, one) == math.copysign(1, other)) or (one != one and other != other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same_bits(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same_bits, one, other))
    return bool(one == other)


def parts(data: Dataset) -> list[Any]:
    labels = data.labels
    return [
        data.name, data.tree.parent.tolist(), data.tree.level_start.tolist(), labels.codes.tolist(),
        str(labels.codes.dtype), data.source_digest, data.fingerprint, data.counts.tolist(), data.domain_source,
        [words.tolist() for words in labels.vocabularies], labels.level_names, data.report,
    ]  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(studies())
def test_what_is_saved_with_data_comes_back_bit_for_bit(study: Study) -> None:
    content = save(study, with_data=True)
    found = open_study(content)
    assert same_bits(dict(study.settings), dict(found.settings))
    assert found.notebook.title == study.notebook.title and found.plan == study.plan
    assert list(found.ranges.items()) == list(study.ranges.items()) and found.noted == study.noted
    for one, other in zip(study.notebook.cells, found.notebook.cells, strict=True):
        for field in fields(Cell):
            assert same_bits(getattr(one, field.name), getattr(other, field.name)), field.name
    for table, back in zip(study.tables, found.tables, strict=True):
        assert (table.slot, table.when, parts(table.data)) == (back.slot, back.when, parts(back.data))
        assert (table.how and table.how.snippet()) == (back.how and back.how.snippet())
        assert back.how is None or back.how.value is back.data
    assert save(found, with_data=True) == content


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(studies())
def test_without_data_the_file_holds_no_count(study: Study) -> None:
    content = save(study, with_data=False)
    found = open_study(content)
    assert found.tables == () and found.ranges == study.ranges
    assert found.noted == tuple(one for one in study.noted if one.plan == PLAN)
    assert [one.note for one in found.asked] == [one.note for one in study.tables]
    assert all(not one.holds_counts for one in found.notebook.cells)
    with zipfile.ZipFile(BytesIO(content)) as file:
        assert not [name for name in file.namelist() if name.startswith("data/")]
        kept = {one.id for one in study.notebook.cells if not one.holds_counts}
        told = [name for name in file.namelist() if name.startswith("cells/") and not name.endswith("plan.json")]
        assert {name.split("/")[1] for name in told} <= kept


def counted(content: bytes, slot: str = "upload", columns: tuple[str, ...] = ("region",)) -> Table:
    data = count_hierarchy(content, columns, domain=domain_taken_from_the_data(), name="survey.csv")
    return Table(slot, data, None, datetime.now(UTC))


def test_what_a_file_without_data_asks_for_is_known_again_by_its_fingerprint() -> None:
    content, more = b"region,place\nN,a\nS,b\n", b"region,place\nN,a\nN,a\n"
    mine = counted(content)
    (asked,) = open_study(save(Study(tables=(mine,), version="1"), with_data=False)).asked
    for tables, said in (
        ((), Given.MISSING),
        ((mine,), Given.SAME),
        ((counted(content, "shelf"), counted(more)), Given.SAME),
        ((counted(content, columns=("region", "place")),), Given.RECOUNTED),
        ((counted(more),), Given.OTHER),
        ((counted(content, "bud_prior"),), Given.MISSING),
    ):
        assert given_again([asked], tables) == (said,)
    (other,) = open_study(save(Study(tables=(counted(more),), version="1"), with_data=False)).asked
    assert given_again([asked, other], [mine]) == (Given.SAME, Given.MISSING)


def test_what_was_given_again_is_asked_for_once() -> None:
    mine = counted(b"region\nN\n")
    study = open_study(save(Study(tables=(mine,), version="1"), with_data=False))
    for _ in range(12):
        again = Study(tables=(mine, counted(b"region\nS\n")), asked=study.asked, version="1")
        study = open_study(save(again, with_data=False))
    assert len(study.asked) == 2


def test_a_plan_goes_without_data_unless_it_tells_of_true_counts() -> None:
    assert TOLD.label
    for plan, kept in ((PLAN, PLAN), (TOLD, None)):
        cell = Cell(id="0" * 16, name="n", page="plan", version="1", made="2026-11-22T15:00:00+00:00", plan=plan)
        study = Study(notebook=Notebook("n", (cell,)), plan=plan, version="1")
        found = open_study(save(study, with_data=False))
        assert (found.plan, found.notebook.cells[0].plan) == (kept, kept)


def test_a_noted_plan_is_written_once_however_often_autosave_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[ReleasePlan] = []
    to_json = ReleasePlan.to_json
    monkeypatch.setattr(ReleasePlan, "to_json", lambda plan: written.append(plan) or to_json(plan))
    other = ReleasePlan.of(Experiment(epsilon=0.25), PEOPLE, whom="person")
    noted = (Noted("0" * 64, PLAN), Noted("0" * 64, other), Noted("1" * 64, PLAN))
    signatures = {session_study.signature(Study(notebook=Notebook(), noted=noted, version="1")) for _ in range(3)}
    assert len(signatures) == 1 and len(written) == len(noted)
    assert len({one.mark for one in noted}) == len(noted)
    assert session_study.signature(Study(notebook=Notebook(), noted=noted[:1], version="1")) not in signatures


def test_no_true_count_is_in_a_file_without_data() -> None:
    leaf = 987_654_321_987
    data = count_hierarchy(
        f"region,count\nN,{leaf}\nS,1\n".encode(), ["region"], domain=domain_of_values([["N", "S"]]), weight="count",
        name="survey.csv",
    )  # fmt: skip
    tuned = {"bud_shares": ("1 2",), "bud_tuned": ("true_counts",), "bud_allocation": ("custom",), "eps": ("2.0",)}
    cell = Cell(
        id="0" * 16, name="n", page="budget", settings=tuned, data=note_of(data, None),
        figure={"data": [{"y": [leaf]}]}, columns={"count": (leaf,)}, answer=f"{leaf}", caption=f"{leaf}",
        alt=f"{leaf}", code=f"{leaf}",
        label=f"NOT PRIVATE: {leaf}", version="1", made="2026-11-22T15:00:00+00:00",
    )  # fmt: skip
    study = Study(
        notebook=Notebook("n", (cell,)), settings={key: value[0] for key, value in tuned.items()},
        tables=(Table("upload", data, None, datetime.now(UTC)),), version="1",
    )  # fmt: skip
    with zipfile.ZipFile(BytesIO(save(study, with_data=False))) as file:
        everything = b"".join(file.read(name) for name in file.namelist())
    assert str(leaf).encode() not in everything
    assert b"bud_shares" not in everything
    assert b"true_counts" not in everything
    assert b'"eps":2.0' in everything.replace(b'"2.0"', b"2.0")
    assert str(leaf).encode() in b"".join(zipfile.ZipFile(BytesIO(save(study, with_data=True))).read(name) for name in (
        "notebook.json", f"cells/{'0' * 16}/table.json"))  # fmt: skip


@pytest.mark.parametrize(("epsilon", "is_left_out"), [(0.987654321, True), (0.5, False)])
def test_an_epsilon_that_was_sought_on_true_counts_is_in_no_file_without_data(
    epsilon: float, is_left_out: bool
) -> None:
    cell = Cell(
        id="0" * 16, name="n", page="plan", settings={"eps": (str(epsilon),), "eps_tuned": ("0.987654321",)},
        about=f"ε = {epsilon}", code=f"epsilon={epsilon}", holds_counts=False, plan=PLAN, version="1",
        made="2026-11-22T15:00:00+00:00",
    )  # fmt: skip
    study = Study(
        notebook=Notebook("n", (cell,)), settings={"eps": epsilon, "eps_tuned": 0.987654321}, plan=PLAN, version="1"
    )
    found = open_study(save(study, with_data=False))
    with zipfile.ZipFile(BytesIO(save(study, with_data=False))) as file:
        everything = b"".join(file.read(name) for name in file.namelist())
    assert b"0.987654321" not in everything
    assert ("eps" in found.settings, found.plan is not None) == (not is_left_out, not is_left_out)
    assert (found.notebook.cells[0].code == "", found.notebook.cells[0].plan is None) == (is_left_out, is_left_out)
    assert open_study(save(study, with_data=True)).settings == study.settings


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence(name: str) -> None:
    make, code = HOSTILE[name]
    with pytest.raises(InputError) as refused:
        open_study(make())
    assert refused.value.code == code, str(refused.value)
    said = str(refused.value)
    assert "\n" not in said and said.endswith(".") and len(said) < 300 and said.count(". ") == 0


@pytest.mark.parametrize("at", [place / 40 for place in range(40)])
def test_a_flipped_byte_is_found(at: float) -> None:
    """Or it stood where nothing depends on it, such as a time in the zip."""
    try:
        found = open_study(flipped(at))
    except InputError as error:
        assert error.code.startswith(("NOTEBOOK_", "CONFIG_"))
    else:
        assert save(found, with_data=True) == sound()


def test_a_sound_one_opens_and_is_packed_for_a_person_to_see_what_is_in_it() -> None:
    assert save(open_study(sound()), with_data=True) == sound()
    with zipfile.ZipFile(BytesIO(sound())) as file:
        assert "TRUE COUNTS" in json.loads(file.read("manifest.json"))["notice"]
        assert file.testzip() is None


def test_a_zip_that_was_packed_anew_by_another_program_opens() -> None:
    with zipfile.ZipFile(BytesIO(sound())) as file:
        content = {name: file.read(name) for name in sorted(file.namelist())}
    assert save(open_study(zipped(content)), with_data=True) == sound()


def test_a_cell_may_be_large_and_alike_throughout() -> None:
    """What packs very tightly is stored as it is, as it would be refused for a bomb."""
    cell = Cell(id="0" * 16, name="n", page="lab", columns={"a": (0.0,) * 100_000}, code=" " * 2_000_000,
                version="1", made="2026-11-22T15:00:00+00:00")  # fmt: skip
    content = save(Study(notebook=Notebook("n", (cell,)), version="1"), with_data=True)
    assert open_study(content).notebook.cells == (cell,)


def invented(shape: tuple[int, ...]) -> Table:
    """A data set of very many nodes."""
    tree = Tree.from_branching_factors(shape)
    codes = [np.tile(np.arange(size, dtype=np.int32), n) for size, n in zip(shape, (1, *shape), strict=False)]
    words = [[f"{label:x}" for label in range(size)] for size in shape]
    labels = labels_of(tree, codes, words, [f"level {at}" for at in range(len(shape))])
    counts = tree.counts_of_leaves(np.arange(tree.n_leaves))
    data = Dataset("many", tree, labels, counts, DomainSource.PUBLIC, ReadReport(rows=1, counted=1))
    return Table("shelf", data, None, datetime.now(UTC))


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_opening_takes_no_more_memory_than_was_said_when_it_was_saved() -> None:
    """So what is saved can be opened: a worker is given that much, and 16 MB for what sizes do not say."""
    assert memory.MOST_BYTES == READ_BYTES
    study = Study(tables=(invented((400_000,)), invented((1_000, 400))), version="1")
    content = save(study, with_data=True)
    limits = Limits(memory.opening_bytes(study.tables, 0) + (16 << 20), 60, ("BROKEN", "."), ("FAILED", "."))
    workers = Workers(("treedp_core.notebook.file.archive",))
    try:
        found = workers.run(partial(open_study, content), Watch(), limits=limits)
    finally:
        workers.close()
    assert [one.data.fingerprint for one in found.tables] == [one.data.fingerprint for one in study.tables]


def test_what_could_not_be_opened_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(sound())
    codes = [np.arange(3, dtype=np.int32)]
    labels = labels_of(Tree.from_branching_factors((3,)), codes, [["N", "a\nb", "S"]], ["region"])
    two_lines = replace(study.tables[0].data, labels=labels)
    with pytest.raises(InputError, match="a label has more than one line"):
        save(replace(study, tables=(replace(study.tables[0], data=two_lines),)), with_data=True)
    monkeypatch.setattr(memory, "MOST_BYTES", 1 << 20)
    save(study, with_data=True)
    with pytest.raises(InputError, match="save fewer data sets or cells in it, or save it without data"):
        save(replace(study, tables=(invented((40_000,)),)), with_data=True)


@pytest.mark.parametrize(
    ("title", "with_data", "name"),
    [
        ("Survey", False, "Survey.treedp"),
        ("Survey", True, "Survey TRUE COUNTS.treedp"),
        ("../../etc/passwd", True, "etc passwd TRUE COUNTS.treedp"),
        ("\u202ecod.exe <b>", False, "cod.exe b.treedp"),
        ("", True, "Notebook TRUE COUNTS.treedp"),
    ],
)
def test_the_name_of_a_file_says_what_it_holds(title: str, with_data: bool, name: str) -> None:
    assert file_name(title, with_data=with_data) == name


@given(
    said=st.text(st.sampled_from('<>/\\"!? \n\u00a0abrsuphxEM0é'), max_size=12),
    key=st.sampled_from(("text", "href", "url", "source", 'sr"c', "src")),
    is_escaped=st.booleans(),
)
@example(said="<ba", key="text", is_escaped=False)
@settings(max_examples=500)
def test_a_glance_at_the_json_of_a_figure_lets_nothing_forbidden_pass(said: str, key: str, is_escaped: bool) -> None:
    figure = {"data": [], "layout": {"title": {key: f"n{said}"}}}
    text = json.dumps(figure, ensure_ascii=is_escaped).encode()
    if is_escaped:
        text = text.replace(b"src", b"\\u0073rc").replace(b"<", b"\\u003c")
    assert _refused(json.loads(text), text) == _refused(figure)


def _refused(figure: dict[str, Any], text: bytes | None = None) -> str:
    try:
        drawing.checked(figure, text)
    except InputError as error:
        return str(error)
    return ""


def test_a_figure_is_read_only_where_it_is_looked_at_and_travels_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = {"data": [{"type": "scatter", "y": [0.1, 2.5]}], "layout": {}}
    told = {"name": "A", "page": "lab", "version": "1", "made": "2026-11-22T15:00:00+00:00", "holds_counts": False}
    study = Study(notebook=Notebook("S", (Cell(id="0" * 16, figure=figure, **told),)), version="1")  # type: ignore[arg-type]
    content = save(study, with_data=False)
    (opened,) = open_study(content).notebook.cells
    monkeypatch.setattr(drawing.Drawing, "_figure", property(lambda _: pytest.fail("it was read")))
    there = pickle.loads(pickle.dumps(opened))
    assert there.figure.text == opened.figure.text  # type: ignore[union-attr]
    assert save(replace(study, notebook=Notebook("S", (there,))), with_data=False) == content
    monkeypatch.undo()
    assert there.figure == figure == opened.figure
    with pytest.raises(InputError, match="a JSON object"):
        Cell(id="0" * 16, figure={"data": [float("nan")]}, **told)  # type: ignore[arg-type]
