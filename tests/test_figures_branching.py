"""The live curve of branching factors, as the browser reads it."""

from __future__ import annotations

from typing import Any

from treedp_core.figures.branching import live_chart
from treedp_core.studies.branching import best_branching
from treedp_core.studies.branching.curve import BETAS, beside_curve, curve
from treedp_core.studies.branching.question import Question, by_height
from treedp_core.studies.cdf.error import Criterion


def spec_of(question: Question, *, presented: bool = False) -> dict[str, Any]:
    whole = [1.0 + b / 100 for b in range(BETAS[0], BETAS[1] + 1)]
    trees = beside_curve(question, by_height(question, []))
    return live_chart(curve(question.criterion), best_branching(question.criterion), trees, whole, presented=presented)


def test_the_slider_lives_in_the_browser() -> None:
    bound = [one for one in spec_of(Question(2**20, Criterion()))["params"] if "bind" in one]
    assert [(one["name"], one["value"], one["bind"]["min"], one["bind"]["max"]) for one in bound] == [
        ("beta", 17, 2, 64)
    ]


def test_the_live_curve_is_larger_in_a_presentation() -> None:
    large = spec_of(Question(2**20, Criterion()), presented=True)
    assert {one["mark"]["fontSize"] for one in large["layer"] if one["mark"]["type"] == "text"} == {24}
    assert large["config"]["axis"]["labelFontSize"] == 24


def test_names_of_trees_stand_beside_a_steep_curve_and_above_a_flat_one() -> None:
    spec = spec_of(Question(2**20, Criterion()))
    texts = [one for one in spec["layer"] if one["mark"]["type"] == "text" and one["mark"].get("fontSize") == 12]
    named = {one["mark"].get("align"): [row["label"] for row in one["data"]["values"]] for one in texts}
    assert named[None][:2] == ["32⁴", "16⁵"]
    assert "4⁷ · 3⁴" in named["left"]
