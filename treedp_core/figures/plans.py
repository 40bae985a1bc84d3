"""A release plan in pictures: what each level costs, and how far off its counts may be."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import BLUE, GREY, ORANGE, axis, limits, new_figure, your_value_marker
from treedp_core.figures.base.text import plot_text
from treedp_core.figures.budget import EDGE, level_colour
from treedp_core.plans import ReleasePlan
from treedp_core.plans.thresholds.statement import Thresholds
from treedp_core.plans.thresholds.verify import round_costs
from treedp_core.plans.words import noun
from treedp_core.words import margin, privacy_text, short

NONE: Final = 1e-4
"""Records up to which an error is none, and not drawn."""
MOST_NAMED: Final = 12
"""Rows that all have their names and numbers; of more, `FEW` names and no numbers."""
FEW: Final = 9
_GAP: Final = 0.06
_LEFT: Final = 0.34


def plan_levels(plan: ReleasePlan) -> Draft:
    """Return the cost of each level beside the margin of its noise and its expected error.

    A level that is published exactly has neither; of one that is not measured only an error may be known. Of thresholds
    the cost of each round beside its threshold and the count that it gives.
    """
    if plan.thresholds is not None:
        return _rounds(plan, plan.thresholds)
    rows = np.arange(len(plan.levels), dtype=np.float64)
    costs = [one.amount or 0.0 for one in plan.levels]
    said = ["public" if one.is_public else privacy_text(one.amount or 0.0) if one.amount else "not measured"
            for one in plan.levels]  # fmt: skip
    bars = bar(
        x=np.array(costs), y=rows, orientation="h", width=0.6, showlegend=False, text=said,
        textposition=["auto" if cost else "outside" for cost in costs],
        cliponaxis=False, constraintext="none", hovertemplate="%{customdata}: %{text}<extra></extra>",
        customdata=_names(plan),
        marker={"color": [level_colour(i, rows.size) for i in range(rows.size)], "line": {"width": 1, "color": EDGE}},
    )  # fmt: skip
    margins = [
        (i, one.margin, margin(one.margin))
        for i, one in enumerate(plan.levels)
        if one.margin is not None and one.margin > NONE
    ]
    errors = [
        (i, one.error, short(one.error))
        for i, one in enumerate(plan.levels)
        if one.error is not None and one.error > NONE
    ]
    dots = [
        _dots(margins, f"95 % margin of one {'sum' if plan.is_of_sums else 'count'}", BLUE, "circle", "middle right"),
        _dots(errors, "RMSE after post-processing", ORANGE, "diamond-open", "middle left"),
    ]
    known = [np.array([value for _, value, _ in values]) for values in (margins, errors)]
    low, high = limits(known, log=True, default=(1.0, 100.0))
    fig = new_figure(
        [bars, *dots],
        xaxis=axis(f"{plan.symbol} of the level", log=False, bounds=(0.0, 1.35 * max([*costs, 1e-9])))
        | {"domain": [0.0, _LEFT]},
        yaxis=_row_axis(_names(plan)),
    )
    second = axis(noun(plan), log=True, bounds=(low / 1.6, high * 1.6), grid=True)
    second |= {"domain": [_LEFT + _GAP, 1.0], "anchor": "y"}
    return fig.update_layout(xaxis2=second, legend={"x": _LEFT + _GAP})


def _rounds(plan: ReleasePlan, one: Thresholds) -> Draft:
    """Draw the rounds of thresholds, and last what a node gets that no round labels."""
    costs = [float(cost) for cost in round_costs(one)]
    n, names = len(costs), [*_names(plan), "no round"]
    rows = np.arange(n + 1, dtype=np.float64)
    bars = bar(
        x=np.array([*costs, 0.0]), y=rows, orientation="h", width=0.6, showlegend=False, cliponaxis=False,
        text=[*map(privacy_text, costs), ""] if n <= MOST_NAMED else None, constraintext="none",
        textposition="outside" if n <= MOST_NAMED else "none",
        hovertemplate="%{customdata}<extra></extra>",
        customdata=[*(f"{name}: ε = {privacy_text(cost)}" for name, cost in zip(names, costs, strict=False)), ""],
        marker={"color": [level_colour(i, n + 1) for i in range(n + 1)], "line": {"width": 1, "color": EDGE}},
    )  # fmt: skip
    values = [(i, r.value, short(r.value)) for i, r in enumerate(one.rounds)]
    values.append((n, one.default_value, short(one.default_value)))
    tests = [(i, r.threshold, "") for i, r in enumerate(one.rounds)]
    drawn = values if n <= MOST_NAMED else [(i, x, "") for i, x, _ in values]
    dots = [
        _dots(tests, "threshold", BLUE, "line-ns-open", "middle right"),
        _dots(drawn, "count given", ORANGE, "diamond-open", "middle left"),
    ]
    known = [np.array([value for _, value, _ in found]) for found in (tests, values)]
    low, high = limits(known, log=True, default=(1.0, 100.0))
    fig = new_figure(
        [bars, *dots],
        xaxis=axis("ε of the round", log=False, bounds=(0.0, 1.35 * max(costs))) | {"domain": [0.0, _LEFT]},
        yaxis=_row_axis(names),
    )
    second = axis(noun(plan), log=True, bounds=(low / 2.5, high * 1.6), grid=True)
    second |= {"domain": [_LEFT + _GAP, 1.0], "anchor": "y"}
    return fig.update_layout(xaxis2=second, legend={"x": _LEFT + _GAP})


def spending(plan: ReleasePlan) -> Draft:
    """Return how the cost grows level by level to what the plan promises, the largest over what a unit can do."""
    steps = plan.running_costs()
    before = [0.0, *steps[:-1]]
    rows = np.arange(len(steps), dtype=np.float64)
    last = len(plan.levels) if plan.thresholds is None else rows.size
    told = [privacy_text(after) if after > start else "" for start, after in zip(before, steps, strict=True)]
    bars = bar(
        x=np.array(steps) - np.array(before), base=before, y=rows, orientation="h", width=0.6,
        showlegend=False, text=told, textposition="none",
        marker={"color": [level_colour(i, last) if i < last else GREY for i in range(len(steps))],
                "line": {"width": 1, "color": EDGE}},
        customdata=[*_names(plan), "tuning"][: len(steps)],
        hovertemplate="%{customdata}: %{text} so far<extra></extra>",
    )  # fmt: skip
    is_left = [start > plan.charged / 2 for start in before]  # the line at what is promised stands on the right
    numbers = scatter(
        x=[start if left else after for start, after, left in zip(before, steps, is_left, strict=True)], y=rows,
        mode="text", text=told if rows.size <= MOST_NAMED else [""] * rows.size,
        textposition=["middle left" if left else "middle right" for left in is_left],
        showlegend=False, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip
    names = [*_names(plan), "the prior it was tuned on"][: len(steps)]
    fig = new_figure(
        [bars, numbers],
        xaxis=axis(f"{plan.symbol}, added up", log=False, bounds=(0.0, 1.35 * max(plan.charged, steps[-1], 1e-9))),
        yaxis=_row_axis(names),
    )
    return your_value_marker(fig, plan.charged, "promised", log=False)


def _names(plan: ReleasePlan) -> list[str]:
    if plan.thresholds is not None:
        return [f"round {i}" for i in range(1, len(plan.thresholds.rounds) + 1)]
    return [plot_text(one.name, 24) for one in plan.levels]


def _row_axis(names: list[str]) -> dict[str, Any]:
    """The rows from the top down, by their names; of many some."""
    by = 1 if len(names) <= MOST_NAMED else -(-len(names) // FEW)
    rows = np.arange(0, len(names), by, dtype=np.float64)
    return {"tickvals": rows, "ticktext": names[::by], "range": [len(names) - 0.4, -0.6], "automargin": True,
            "showgrid": False, "ticks": "", "zeroline": False}  # fmt: skip


def _dots(values: list[tuple[int, float, str]], name: str, colour: str, symbol: str, side: str) -> Trace:
    return scatter(
        x=np.array([value for _, value, _ in values]), y=np.array([float(i) for i, _, _ in values]),
        mode="markers+text", xaxis="x2", name=name, marker={"color": colour, "symbol": symbol, "size": 10},
        text=[text for _, _, text in values], textposition=side, cliponaxis=False,
        hovertemplate=f"{name}: %{{text}}<extra></extra>",
    )  # fmt: skip
