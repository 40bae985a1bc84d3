"""What every view owes its readers: a finding or a reason, badges that are true, and the name of all it was made from.

Here each view meets one relation and one odd table; `make contract` tries all of them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

import test_views
from oracles_pages import DEGENERATE, dataset, with_units
from treedp_core.checks import InputError
from treedp_core.figures.base.draft import Draft, unchecked
from treedp_core.figures.lesson import of_class
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.lesson import STEPS, step_named
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Entry, Finding, lesson
from treedp_core.views.inputs import parameters_of
from treedp_core.views.protects.unit_bound import BoundInputs

pytestmark = pytest.mark.usefixtures("quick_crossings")

ENTRIES = [pytest.param(one, id=name) for name, one in VIEWS.items()]
RELATIONS = [one.value for one in NeighbouringRelation]
COUNTS = [70, 1, 2, 30, 4, 0, 9, 50, 8, 0, 3, 77] * 2
SMALL = dataset(Tree.from_branching_factors((2, 3, 4)), COUNTS, name="small")
OTHER = dataset(Tree.from_branching_factors((2, 3, 4)), COUNTS[::-1], name="small")
FLAT = dataset(Tree.from_branching_factors((24,)), COUNTS, name="small")
FLAT_OTHER = dataset(Tree.from_branching_factors((24,)), COUNTS[::-1], name="small")
KINDS: dict[str, Callable[[], Dataset]] = {
    **{name: lambda data=data: data for name, data in DEGENERATE.items()},  # type: ignore[misc]
    "10^5 leaves": cache(lambda: dataset(Tree.from_branching_factors((10,) * 5), [i % 21 for i in range(10**5)])),
}
BADGES = {"formula", "simulation", "NOT PRIVATE"}
MOVED: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-8, "relation": "add_or_remove_one", "seed": 12345}
"""Each is moved to this from what a view begins with."""
SAME = {
    **{name: {"seed"} for name in ("budget.custom", "budget.map", "budget.strategies", "budget.targets")},
    **{name: {"seed"} for name in ("ranges", "start.example", "lesson.example")},
}
"""What decides only what a split is tuned on, where other noise may give the same split, and what a browser draws."""
PRESSED = ("lab", "topdown")
"""Pages whose figures have more on them once a simulation was run."""
BEGIN = {"delta": 1e-6, "trials": 20, "phases": 10, "data": "current", "source": "current"}


def look(entry: Entry, data: Dataset, *, is_pressed: bool = False, **inputs: Any) -> Finding:
    """What a view finds, as `test_views.look`; of what it has no parameter for nothing is said."""
    known = parameters_of(entry.inputs)
    begin = {name: value for name, value in BEGIN.items() if name in known and known[name].accepts(value)}
    given = begin | {name: inputs[name] for name in inputs if name in known}
    data = with_units(data) if entry.inputs is BoundInputs else data
    return test_views.look(entry, data, is_pressed=is_pressed, **given)


def shown(found: Finding) -> tuple[str, ...]:
    """All that is seen of a finding but its provenance."""
    figure = "" if found.figure is None else found.figure.figure().to_json()
    return figure, repr(found.table), found.answer, found.caption


@cache
def begun_with(name: str) -> Finding:
    """What a view finds as it begins, on a table that it is of."""
    return look(VIEWS[name], of_page(VIEWS[name]))


def of_page(entry: Entry, *, other: bool = False) -> Dataset:
    """A table that the view is of: one column, where it is of columns."""
    return {False: (SMALL, OTHER), True: (FLAT, FLAT_OTHER)}[
        entry.page == "cdf" or entry.name in test_views.OF_COLUMNS
    ][other]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_setting_is_named_just_where_what_is_shown_follows_it(entry: Entry) -> None:
    """What stands under a first screen may name what only the first screen follows."""
    data = of_page(entry)
    begun = begun_with(entry.name)
    for name in set(MOVED) & set(parameters_of(entry.inputs)) - SAME.get(entry.name, set()):
        moved = look(entry, data, **{name: MOVED[name]})
        is_named = moved.provenance.line() != begun.provenance.line()
        follows = shown(moved) != shown(begun)
        assert is_named or not follows, f"{name} moves what is shown and is not named"
        assert follows or not is_named or entry.section, f"{name} is named and moves nothing"


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_follows_the_counts_of_a_file_is_marked(entry: Entry) -> None:
    begun, other = begun_with(entry.name), look(entry, of_page(entry, other=True))
    if shown(other) != shown(begun):
        assert "NOT PRIVATE" in begun.badges


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_table_is_named_just_where_what_is_shown_follows_it(entry: Entry) -> None:
    """What stands under a first screen need not name it once more."""
    shape = (12,) if of_page(entry) is FLAT else (3, 4)
    data = dataset(Tree.from_branching_factors(shape), COUNTS[11::-1], name="other")
    begun, other = begun_with(entry.name), look(entry, data)
    is_named = other.provenance.line() != begun.provenance.line()
    assert is_named == (shown(other) != shown(begun)) or entry.section


def is_as_plotly_checks_it(draft: Draft) -> None:
    """What the app shows unchecked is what plotly makes of it with its check, which refuses names it does not know."""
    with unchecked():
        shown = json.loads(draft.to_json())
    assert shown == json.loads(draft.to_json())


def choices(entry: Entry) -> Iterator[dict[str, Any]]:
    """All that one input of a view may be set to by a list, a switch or a press, one after the other."""
    for name, one in parameters_of(entry.inputs).items():
        if isinstance(one.default, bool):
            yield {name: not one.default}
        elif one.options is not None:
            yield from ({name: (option,) if one.is_many else option} for option in one.options)


def test_a_property_that_plotly_does_not_know_or_would_read_as_parts_is_noticed() -> None:
    for layout in ({"hight": 1}, {"xaxis": {"tite": "x"}}, {"xaxis": {"title_text": "x"}}, {"height": "12"}):
        with pytest.raises((ValueError, AssertionError)):
            is_as_plotly_checks_it(Draft([], layout))


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_figure_is_as_plotly_checks_it_with_what_is_run_or_guessed_and_whatever_is_chosen(
    entry: Entry, every: bool
) -> None:
    guess = {"said": (f"{entry.view}:3",), "step": entry.view} if entry.find is lesson.run else {}
    is_pressed = entry.page in PRESSED
    for chosen in ({}, *choices(entry)) if every else ({},) if guess or is_pressed else ():
        try:
            found = look(entry, of_page(entry), is_pressed=is_pressed, **guess | chosen)
        except InputError:
            continue
        if found.figure is not None:
            is_as_plotly_checks_it(found.figure)


@pytest.mark.parametrize("step", [one.name for one in STEPS])
def test_a_figure_of_a_class_is_as_plotly_checks_it(step: str) -> None:
    guesses = {3.0: 2, step_named(step).predict.answer: 1}
    checked = json.loads(of_class(step, guesses).to_json())
    with unchecked():
        assert json.loads(of_class(step, guesses).to_json()) == checked


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_view_finds_something_or_says_why_not(entry: Entry, every: bool) -> None:
    nth = list(VIEWS).index(entry.name)
    for kind, relation in product(KINDS, RELATIONS) if every else [([*KINDS][nth % 6], RELATIONS[nth // 6 % 3])]:
        try:
            found = look(entry, KINDS[kind](), relation=relation)
        except InputError as error:
            assert error.code not in ("INTERNAL", "") and str(error).endswith((".", "?")), error
            continue
        assert set(found.badges) <= BADGES
        assert found.is_empty or found.answer or found.figure is not None or len(found.table) > 0
        if found.figure is not None:
            is_as_plotly_checks_it(found.figure)
            assert found.alt
