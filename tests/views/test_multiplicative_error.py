"""Multiplicative error as its views find it: worst cases and one run, without a page."""

from __future__ import annotations

import html
import math
from typing import Any

import pytest

from oracles_pages import RAGGED
from treedp_core.checks import InputError
from treedp_core.studies.multiplicative.curves import CURVES
from treedp_core.views import VIEWS, Finding, Tables, multiplicative
from treedp_core.views.multiplicative import WorstCaseInputs


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
    assert set(traces) == {"Best simple rule", "Laplace", "Thresholds", "Lower bound", "crossing"}
    ends = {name: trace["y"][-1] for name, trace in traces.items()}
    assert ends["Laplace"] == pytest.approx(math.sqrt(2) * 1e4)
    assert ends["Best simple rule"] == pytest.approx(86.2, rel=1e-3)
    assert ends["Thresholds"] == pytest.approx(47.84, rel=2e-3)
    assert ends["Lower bound"] == pytest.approx(0.6, abs=0.05)
    assert 2500 < traces["crossing"]["x"][0] < 2900
    low, high = found.figure.layout["yaxis"]["range"]  # type: ignore[union-attr]
    assert high - low <= 6
    told = found.answer.replace("\u202f", " ")
    assert "At **7 levels** the best simple rule, Shrunk optimal factorisation, errs least in the worst case" in told
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


@pytest.mark.parametrize("name", ["growth", "meaning"])
def test_worst_cases_are_refused_for_what_no_curve_is_of(name: str) -> None:
    for wrong, code in (({"alpha": 0.0}, "ALPHA_RANGE"), ({"levels": "1000001"}, "LEVELS_RANGE")):
        with pytest.raises(InputError) as caught:
            worst(name, **wrong)
        assert caught.value.code == code
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
