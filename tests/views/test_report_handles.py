"""A report's figure at another value of its slider is what the view finds there; what draws noise stays still."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from oracles_figures import near, unpack
from oracles_pages import dataset
from sample_data.catalogue import count_sample
from treedp_core.checks import InputError
from treedp_core.figures.base.differences import applied
from treedp_core.notebook import Cell
from treedp_core.notebook.code import call, given
from treedp_core.notebook.export import sliders
from treedp_core.notebook.export.cell_summary import as_html
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.sliders import ROOM, Handle
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Finding
from treedp_core.views.cells import handles
from treedp_core.views.cells.handles import handles_of
from treedp_core.views.cells.rerun import Rerun, Sources, rerun_of
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.views.inputs import Inputs, parameters_of
from treedp_core.views.parameters import Parameter
from treedp_core.watch import Watch
from treedp_core.words import unbroken

SOURCES = Sources(sample=cache(partial(call, count_sample)))
MOVING = {
    "lab.epsilon", "lab.level", "lab.n_levels", "consistency.expected_by_level", "protects.beliefs", "protects.tests",
    "ranges", "start.example", "lesson.example", "branching", "start.laws", "start.beliefs", "lesson.beliefs",
    "protects.bound", "cdf.error", "cdf.error.absolute", "cdf.optimal",
    "cdf.optimal.any", "branching.factors", "branching.sandwich", "plan.plan", "plan.handover",
    "topdown.epsilon", "topdown.noise", "multiplicative.prefixes",
}  # fmt: skip
"""Views on the sample of a small town whose figures are formulas of ε."""
OF_COUNTS = {"lab.draw", "consistency", "start", "cdf.release", "topdown.release", "multiplicative.run", "data",
             "budget.strategies", "budget.custom", "budget.map"}  # fmt: skip


@pytest.fixture(autouse=True)
def much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "SECONDS", 600.0)


@pytest.fixture
def few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parameter, "choices", lambda self, value: sorted({*self.grid[::9], value}))


def cell_of(name: str, sources: Sources = SOURCES, **settings: str) -> Cell | None:
    """A cell as a page pins it at first, or with other settings; None where there is nothing to pin."""
    entry, texts = VIEWS[name], {key: (text,) for key, text in settings.items()}
    try:
        inputs, tables = sources.of_view(entry, entry.inputs.of_texts(texts), sources.sample("small_town"))
        work = None if entry.slow is None else entry.slow(inputs, tables.value)
        work = work if work is not None and work.is_quick else None
        value = None if work is None else work.on(tables.value)(watch=Watch())
        found = ViewCall(entry, inputs, tables, entry.found(inputs, tables.value, value), work, value)
        return found.cell(
            (), id=f"{len(name):016x}", name=name, page=entry.page, view=entry.view, version="0.1.0",
            settings=texts | inputs.texts(), about=found.finding.provenance.line(),
        )  # fmt: skip
    except InputError:
        return None


def in_report(cell: Cell, found: dict[str, list[Handle]]) -> dict[str, Any]:
    """What the report of a cell has for its script."""
    page = report_of([cell], "T", handles=found).decode()
    drawn: dict[str, Any] = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    assert page.count('type="range"') == len(drawn.get("handles", ()))
    return drawn


def values_of(slider: dict[str, Any], rerun: Rerun) -> Iterator[tuple[str, Inputs]]:
    """Each third value of a slider, and the inputs there."""
    name, parameter = next(
        (name, one) for name, one in parameters_of(type(rerun.inputs)).items() if one.label == slider["label"]
    )
    said = {parameter.in_words(value): value for value in parameter.choices(getattr(rerun.inputs, name))}
    assert all(("%" in text) == (name == "prior") for text in said), "as the page says it"
    for text in {*slider["values"][::3], slider["values"][-1]}:
        yield text, replace(rerun.inputs, **{name: said[text]})


@pytest.mark.parametrize("name", sorted(MOVING))
def test_a_report_shows_at_each_value_what_the_view_finds_there(name: str) -> None:
    cell = cell_of(name)
    assert cell is not None
    drawn = in_report(cell, handles_of([cell], SOURCES, 600.0))
    assert drawn["handles"][0]["label"] == "Privacy budget ε"
    assert len(json.dumps([one["frames"] for one in drawn["handles"]])) <= 1.01 * ROOM
    rerun = rerun_of(cell, SOURCES)
    for slider in drawn["handles"]:
        assert slider["frames"][slider["at"]] == []
        for text, inputs in values_of(slider, rerun):
            shown = applied(drawn, slider["frames"][slider["values"].index(text)])
            finding = rerun.entry.found(inputs, rerun.tables.value)
            assert finding.figure is not None
            expected = json.loads(finding.figure.to_json())
            assert near(unpack(shown["data"]), unpack(expected["data"])), (slider["label"], text)
            of_page = {name: shown["layout"][name] for name in ("width", "height", "autosize")}
            assert near(unpack(shown["layout"]), unpack(expected["layout"] | of_page)), (slider["label"], text)
            assert shown["words"]["answer"] == as_html(unbroken(finding.answer))
            assert shown["words"]["caption"].startswith(as_html(unbroken(finding.caption))[:-4])
            assert finding.provenance.line() in shown["words"]["facts"]


@pytest.mark.usefixtures("few_values")
def test_what_shows_true_counts_or_draws_noise_stays_still() -> None:
    """Of all views on a sample, just those that are formulas of ε move."""
    cells = {name: cell for name in VIEWS if (cell := cell_of(name)) is not None and cell.figure is not None}
    moving = set()
    for name, cell in cells.items():
        if any(handles_of([cell], SOURCES, 600.0).values()):
            assert cell.badges == ("formula",), name
            assert not any(NOT_PRIVATE in one for one in (cell.label, cell.caption, cell.answer, *(cell.columns or ())))
            moving.add(name)
    assert cells.keys() >= OF_COUNTS
    assert moving == MOVING


@pytest.mark.parametrize(
    "other", [{"badges": ("formula", "simulation")}, {"is_simulated": True}, {"label": f"{NOT_PRIVATE}: tuned."},
              {"badges": ("formula", NOT_PRIVATE)}, {"badges": ()}, {"badges": ("formula", "not reviewed")}],
    ids=str,
)  # fmt: skip
def test_one_value_that_is_no_formula_keeps_the_figure_still(
    other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_of("ranges")
    assert cell is not None

    def sometimes(inputs: Any, *tables: Any, **more: Any) -> Finding:
        found: Finding = VIEWS["ranges"].find(inputs, *tables, **more)
        return replace(found, **other) if inputs.epsilon == 2 else found

    def changed(*of: Any) -> Rerun:
        rerun = rerun_of(*of)
        return replace(rerun, entry=replace(rerun.entry, find=sometimes))

    assert handles_of([cell], SOURCES)[cell.id]
    monkeypatch.setattr(handles, "rerun_of", changed)
    assert not handles_of([cell], SOURCES).get(cell.id)


@pytest.mark.usefixtures("few_values")
def test_what_moves_does_not_depend_on_counts() -> None:
    """Two tables of one shape and one total: every value of every slider shows the same of both."""
    tree = Tree.from_branching_factors((3, 4))
    counts = [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100]
    both = [
        Sources(sample=cache(partial(given, dataset(tree, one, name="own"), count_sample)))
        for one in (counts, counts[::-1])
    ]
    for name in sorted(MOVING):
        one, other = (
            [(handle.values, [(cell.figure, cell.answer, cell.caption, cell.alt) for cell in handle.cells])
             for handle in handles_of([mine], sources, 600.0)[mine.id]]
            for sources in both if (mine := cell_of(name, sources)) is not None
        )  # fmt: skip
        assert one == other, name


def test_a_cell_that_cannot_be_made_again_stays_still() -> None:
    cell = cell_of("lab.epsilon", lab_metric="rmse", eps="1.3")
    assert cell is not None
    assert handles_of([cell], SOURCES)[cell.id][0].values.count("1.3") == 1, "where it stands is one of them"
    elsewhere = Sources(sample=partial(_missing))
    assert not any(handles_of([cell], elsewhere).values())
    for wrong in (replace(cell, answer="Other."), replace(cell, view="draw"), replace(cell, page="sweep", view="")):
        assert not any(handles_of([wrong], SOURCES).values())
    assert not any(handles_of([cell], SOURCES, 0.0).values()), "no time"


def _missing(name: str) -> Any:
    raise InputError("DATA_MISSING", "Not here.")


def test_fewer_values_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cell_of("protects.beliefs")
    assert cell is not None
    found = handles_of([cell], SOURCES, 600.0)
    many = in_report(cell, found)["handles"]
    monkeypatch.setattr(sliders, "ROOM", 60_000)
    fewer = in_report(cell, found)["handles"]
    assert sum(len(one["values"]) for one in fewer) < sum(len(one["values"]) for one in many)
    assert [one["values"][one["at"]] for one in fewer] == [one["values"][one["at"]] for one in many]
    monkeypatch.setattr(sliders, "ROOM", 10)
    assert "handles" not in in_report(cell, found)
