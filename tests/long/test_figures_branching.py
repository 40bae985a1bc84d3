"""The live curve of branching factors, as the browser reads it."""

from __future__ import annotations

import math
import re
from typing import Any

import altair as alt
import pytest

from treedp_core.figures.branching import live_chart
from treedp_core.studies.branching import best_branching
from treedp_core.studies.branching.question import BETAS, Question, beside_curve, by_height, curve
from treedp_core.studies.cdf.error import Criterion


def spec_of(question: Question, *, presented: bool = False) -> dict[str, Any]:
    whole = [1.0 + b / 100 for b in range(BETAS[0], BETAS[1] + 1)]
    trees = beside_curve(question, by_height(question, []), 1.0)
    best = best_branching(question.criterion)
    return live_chart(curve(question, 1.0), best, trees, whole, n_bins=question.n_bins, presented=presented)


def layers(spec: dict[str, Any], group: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["layer"][group]["layer"]
    return found


@pytest.mark.parametrize("presented", [False, True])
def test_the_chart_is_one(presented: bool) -> None:
    """Altair checks every part against the schema, which the page leaves out as it takes long."""
    alt.LayerChart.from_dict(spec_of(Question(997, Criterion()), presented=presented), validate=True)


def test_the_slider_lives_in_the_browser() -> None:
    bound = [one for one in spec_of(Question(2**20, Criterion()))["params"] if "bind" in one]
    assert [(one["name"], one["value"], one["bind"]["min"], one["bind"]["max"]) for one in bound] == [
        ("beta", 17, 2, 64)
    ]


@pytest.mark.parametrize("n_bins", [2, 3, 64, 997, 1024, 2**20, 10**15])
def test_the_tree_of_a_beta_adds_up_the_digits_of_where_the_range_ends(n_bins: int) -> None:
    """The browser's expressions, followed here in Python for every beta: together the nodes cover the range."""
    blocks = next(one for one in layers(spec_of(Question(n_bins, Criterion())), 1) if one["mark"]["type"] == "rect")
    asked = {one["as"]: one["calculate"] for one in blocks["transform"] if isinstance(one.get("as"), str)}
    end = max(1, 2 * n_bins // 3)
    for beta in range(BETAS[0], BETAS[1] + 1):
        height = evaluated(asked["height"], beta, {})
        assert beta**height >= n_bins > (beta ** (height - 1) if height > 1 else 1)
        covered = 0
        for level in range(height):
            row: dict[str, Any] = {"level": level, "height": height}
            for name in ("bins", "children", "added"):
                row[name] = evaluated(asked[name], beta, row)
            assert row["added"] <= row["children"] <= beta
            covered += row["added"] * row["bins"]
        assert covered == end


def evaluated(expression: str, beta: int, datum: dict[str, Any]) -> int:
    """A whole number that an expression of the chart gives."""
    python = re.sub(
        r"(.+) \? (.+) : (.+)", r"(\2) if (\1) else (\3)", re.sub(r"datum\.(\w+)", r"datum['\1']", expression)
    )
    known = {"beta": beta, "datum": datum, "ceil": math.ceil, "floor": math.floor, "log": math.log, "pow": pow}
    return int(eval(python, {"__builtins__": {}}, known))
