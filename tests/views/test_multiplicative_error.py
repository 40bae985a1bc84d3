"""Multiplicative error as its views find it: worst cases and one run, without a page."""

from __future__ import annotations

import html
import math
from typing import Any

import pytest

import test_views
from oracles_pages import RAGGED, dataset
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.studies.multiplicative.curves import CURVES
from treedp_core.studies.multiplicative.run import PLANS
from treedp_core.studies.multiplicative.simple import SOURCES
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Finding, Tables, multiplicative
from treedp_core.views.multiplicative import RunInputs, WorstCaseInputs, words


def worst(name: str, **inputs: Any) -> Finding:
    """What a view of worst cases finds at a δ that fits."""
    return VIEWS[f"multiplicative.{name}"].found(WorstCaseInputs(**{"delta": 1e-6} | inputs), Tables(RAGGED))


def lines(found: Finding) -> dict[str, Any]:
    """The traces of a figure by name."""
    assert found.figure is not None
    return {html.unescape(trace["name"]): trace for trace in found.figure.data}


def test_growth_shows_the_lines_that_decide() -> None:
    """At 10 000 levels: Laplace sqrt(2) d / epsilon, and what was computed when the page was designed."""
    found = worst("growth", levels="7")
    traces = lines(found)
    assert set(traces) == {"Best simple rule", "Laplace", "Thresholds", "Lower bound", "crossing: 2\u202f700 levels"}
    ends = {name: trace["y"][-1] for name, trace in traces.items()}
    assert ends["Laplace"] == pytest.approx(math.sqrt(2) * 1e4)
    assert ends["Best simple rule"] == pytest.approx(86.2, rel=1e-3)
    assert ends["Thresholds"] == pytest.approx(47.84, rel=2e-3)
    assert ends["Lower bound"] == pytest.approx(0.6, abs=0.05)
    assert 2500 < traces["crossing: 2\u202f700 levels"]["x"][0] < 2900
    low, high = found.figure.layout["yaxis"]["range"]  # type: ignore[union-attr]
    assert high - low <= 6
    told = found.answer.replace("\u202f", " ")
    assert (
        "At **7 levels** the best simple rule, Shrunk optimal factorisation, has the smallest error in the worst case"
        in told
    )
    assert "pay from about **2 700 levels** on." in told


def test_growth_has_every_line() -> None:
    traces = lines(worst("growth", every_curve=True, delta=1e-8))
    assert set(traces) == {curve.label for curve in CURVES.values()} | {"crossing"}
    assert traces["Laplace"]["y"][-1] == pytest.approx(math.sqrt(2) * 1e6)  # sqrt(2) d / epsilon
    assert traces["Shrunk Laplace"]["y"][-1] == pytest.approx(0.5 * 1e6)  # (1 - alpha) sqrt(2 / 2) d / epsilon
    assert traces["Gaussian"]["y"][-1] == pytest.approx(1000 * traces["Gaussian"]["y"][0] / math.sqrt(2))


def test_where_no_plan_exists_its_line_is_left_out() -> None:
    names = set(lines(worst("growth", epsilon=0.05, total=100.0, delta=1e-8)))
    assert "Thresholds" not in names and "Best simple rule" in names


def test_the_ranking_is_sorted_and_says_what_is_known() -> None:
    found = worst("growth.ranked", levels="100000", delta=1e-8)
    ranks, errors = found.table, found.table["worst-case α-RMSE (records)"]
    known = dict(zip(ranks["mechanism"], ranks["its error is"], strict=True))
    assert list(errors[:9]) == sorted(errors[:9])
    assert ranks["mechanism"][0] == "Thresholds, tuned plan"
    assert known["Thresholds, tuned plan"] == "simulated"
    assert known["Thresholds, provable plan"] == known["Gaussian"] == "proven"
    assert list(ranks["its error is"][9:]) == ["lower bound"] * 2
    assert "the best simple rule, Shrunk optimal factorisation, has" in found.answer


def test_the_printed_budgets_overspend() -> None:
    """alpha 1/2, r = 4/3, 20 rounds: 1 + r^20 (20 / 3 - 1) = 1787.9."""
    found = worst("meaning.printed")
    assert found.table["printed"][19] == pytest.approx(1 + (4 / 3) ** 20 * (20 / 3 - 1))
    assert max(found.table["corrected"]) <= 1
    assert "1 790 times" in found.alt.replace("\u202f", " ")
    assert "break the promise from **ℓ = 4**" in found.answer  # 1 + r^3 (1 - 1) = 1, 1 + r^4 / 3 > 1
    each = multiplicative.printed_rounds(WorstCaseInputs(), Tables()).table
    assert sum(each["εᵢ as printed"]) == pytest.approx(found.table["printed"][19])


def test_thresholds_of_levels_are_kept_where_the_answer_says_so() -> None:
    """Laplace noise on 4 levels: d ln(1/eta) / (alpha epsilon) = 8 ln 100 = 36.8 records."""
    found = worst("meaning", levels="4", node_thresholds="40, 36, 90")
    rows = dict(zip(found.table["mechanism"], found.table["your τ is kept on"], strict=True))
    assert rows["Laplace"] == "levels 0, 2 to 3" and f"**{rows[found.table['mechanism'][0]]}**" in found.answer
    assert "the tuned plan on no level." in found.answer
    assert "no plan is accurate for the smallest, τ = 36." in found.answer
    assert found.figure is not None and len(found.figure.layout["shapes"]) == 2
    large = worst("meaning", levels="4", node_thresholds="1000000000")
    assert "is made for the smallest, τ = 1e9, in 1 round," in large.answer
    assert len(large.figure.layout["shapes"]) == 1  # type: ignore[union-attr]
    assert "your τ is kept on" not in worst("meaning", levels="4").table
    with refuses("THRESHOLD_RANGE"):
        worst("meaning", levels="2", node_thresholds="3, 2, 1")


@pytest.mark.parametrize("name", ["growth", "meaning"])
def test_worst_cases_are_refused_for_what_no_curve_is_of(name: str) -> None:
    for wrong, code in (({"alpha": 0.0}, "ALPHA_RANGE"), ({"levels": "1000001"}, "LEVELS_RANGE")):
        with refuses(code):
            worst(name, **wrong)
    with pytest.raises(InputError, match="A tree of one level is a single count"):
        VIEWS[f"multiplicative.{name}"].found(WorstCaseInputs(), Tables())


def test_inputs_apart_from_their_table_find_what_they_found_of_it() -> None:
    """δ and the number of levels are all that worst cases take of a table."""
    inputs = WorstCaseInputs()
    alone = inputs.apart(RAGGED)
    assert alone.levels == str(RAGGED.tree.n_levels) and alone.delta == inputs.usable_delta(10_000)
    for entry in (VIEWS["multiplicative.growth"], VIEWS["multiplicative.meaning"]):
        of_table, of_none = entry.found(inputs, Tables(RAGGED)), entry.found(alone, Tables())
        assert of_table.answer == of_none.answer and repr(of_table.table) == repr(of_none.table)
        assert of_table.provenance == of_none.provenance and not entry.is_of_table(inputs)


OWN = dataset(Tree.from_branching_factors((3, 3)), [900] * 9, name="own.csv")


@pytest.mark.parametrize("plan", list(PLANS))
@pytest.mark.parametrize("source", list(SOURCES))
def test_every_plan_runs_on_every_tree(plan: str, source: str) -> None:
    inputs = RunInputs(source=source, plan=plan, relation="add_or_remove_one", delta=1e-8)
    found = multiplicative.step_by_step(inputs, Tables(OWN))
    assert not found.is_empty and found.is_simulated and "NOT PRIVATE" in found.badges


@pytest.mark.parametrize("alpha", [0.75, 0.95])
def test_any_slack_below_one_can_be_asked_for(alpha: float) -> None:
    for name, entry in VIEWS.items():
        if entry.page == "multiplicative" and not entry.section:
            more = {"source": "small"} if name.endswith("run") else {}
            found = test_views.look(entry, alpha=alpha, delta=1e-8, **more)
            assert found.answer and found.figure is not None


def test_a_round_without_an_answer_says_that_no_node_got_a_value() -> None:
    """As where a record lies on each of many leaves: it said that 0 nodes got one."""
    inputs = RunInputs(source="deep", deep_levels=1000, deep_records=1, delta=1e-6, step=10_000)
    found = multiplicative.step_by_step(inputs, Tables())
    assert "no node got a value" in found.answer and "none answered yes, so no node got a value." in found.alt
    assert "0 nodes got" not in found.answer + found.alt and "0 of 0 nodes" not in found.alt


def test_a_run_on_a_made_up_tree_is_of_no_table_and_one_on_the_table_is() -> None:
    """δ may depend on how many records the table in use has: the inputs say so once they are apart from it."""
    entry, million = VIEWS["multiplicative.run"], dataset(Tree.from_branching_factors((3,)), [10**6] * 3)
    alone = RunInputs().apart(million)
    assert alone is not None and alone.delta == RunInputs().usable_delta(3 * 10**6) < RunInputs().usable_delta(15_600)
    of_table, of_none = entry.found(RunInputs(), Tables(million)), entry.found(alone, Tables())
    assert repr(of_table.table) == repr(of_none.table) and of_table.provenance == of_none.provenance
    assert not entry.is_of_table(alone) and entry.is_of_table(RunInputs(source="current"))
    current = entry.found(RunInputs(source="current", delta=1e-8), Tables(OWN))
    assert "own.csv" in current.provenance.line()


def test_a_run_of_other_inputs_is_shown_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """While that of a large tree is on its way; before any run the tree is bare, and has no numbers."""
    inputs, tables = RunInputs(source="current", delta=1e-8), Tables(OWN)
    last = multiplicative.simulate(inputs, OWN)
    moved = RunInputs(source="current", delta=1e-8, epsilon=2.0)
    found = multiplicative.step_by_step(moved, tables, slow=last)
    assert found.notes == ("Shown meanwhile: Tuned plan, α = 0.5, ε = 1.",) and found.provenance.epsilon == 1.0
    assert multiplicative.step_by_step(inputs, tables, slow=last).notes == ()
    monkeypatch.setattr("treedp_core.views.multiplicative.run.LARGE", 5)
    bare = multiplicative.step_by_step(moved, tables)
    assert bare.is_empty and lines(bare).keys() == {"no value yet"}
    assert words.who_wins(last)
