"""Pictures of a top-down release and of repeated ones, drawn from what the study found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.curves import upper_end
from treedp_core.figures.draft import scatter
from treedp_core.figures.draw import one_draw
from treedp_core.figures.icicle import icicle
from treedp_core.figures.places import true_against_released
from treedp_core.figures.style import axis, limits, new_figure
from treedp_core.figures.text import plot_text
from treedp_core.figures.topdown import LOOKS, bias_by_count, dots, error_under_bound, spurious_and_lost
from treedp_core.studies.topdown import Drawn, OrderResult, RuleResult, tables, ways_of_orders, ways_of_rules
from treedp_core.studies.topdown.marginals import Marginals
from treedp_core.studies.topdown.rows import pairs
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import Z95

MAX_BLOCKS: Final = 200
"""Blocks of a tree."""


def level_of_release(mine: Drawn, level: int) -> go.Figure:
    """Return the true and the released counts of one level, within what noise moves them by."""
    here = mine.levels[level]
    return one_draw(
        here.truth, here.released, sigma=float(mine.plan.sigmas[level]), mechanism="discrete_gaussian",
        variant=RULES[mine.wanted.rule].steps, name=mine.subject.namer(level),
    ).figure()  # fmt: skip


def pairs_of_level(mine: Drawn, level: int) -> go.Figure:
    """Return the true against the released counts of one level."""
    return true_against_released(pairs(mine.levels[level]))


def bounds_of_release(mine: Drawn, confidence: float) -> go.Figure:
    """Return the largest error of each level below what theory allows with such a probability."""
    seen, allowed, exact = list(tables.bound_table(mine, 1 - confidence).values())[1:]
    return error_under_bound(
        mine.subject.level_names, np.asarray(seen, dtype=float), allowed, exact, confidence=confidence,
        bound_applies=RULES[mine.wanted.rule].is_bounded,
    )  # fmt: skip


def wrong_nodes(mine: Drawn) -> go.Figure:
    """Return how many nodes of each level are filled although empty, or emptied although not."""
    found = tables.wrong_table(mine)
    return spurious_and_lost(mine.subject.level_names, found["spurious"], found["lost"])


def bias_of_release(mine: Drawn) -> go.Figure:
    """Return the mean error of leaves by their true count, in one release."""
    return bias_by_count({RULES[mine.wanted.rule].label: mine.bias})


def tree_of_release(mine: Drawn, root: int, *, after: bool) -> go.Figure:
    """Return the tree of a release below a node, coloured by the signed error of what was measured or released.

    Raises
    ------
    ValueError
        The release is too large for a picture.
    """
    if mine.picture is None:
        raise ValueError("The release is too large for a picture.")
    tree, labels, truth, released = mine.picture
    values = released if after or mine.noisy is None else mine.noisy
    clip = 4.0 * mine.plan.usual_sigma or 1.0
    return icicle(
        tree, labels, truth, (values - truth).astype(float), root=root, max_nodes=MAX_BLOCKS,
        colour_range=(-clip, clip), colour_title="error", text=values, released=values,
    )  # fmt: skip


def rules_of(found: Sequence[RuleResult], measure: str, *, x_title: str, chosen: str = "") -> go.Figure:
    """Return one measure of every projection as dots; that of the chosen rule is filled."""
    names = [one.rule for one in found]
    return dots(ways_of_rules(found, measure), x_title=x_title, chosen=names.index(chosen) if chosen in names else -1)


def bias_of_rules(found: Sequence[RuleResult]) -> go.Figure:
    """Return the bias of leaves by their true count, for every projection."""
    return bias_by_count({RULES[one.rule].label: one.bias for one in found})


def orders_of(found: Sequence[OrderResult], columns: Sequence[str], measure: str, *, x_title: str) -> go.Figure:
    """Return one measure of every order of the columns as dots, the smallest on top; the present order is filled."""
    ways = ways_of_orders(found, columns, measure)
    ranked = ways.ranked()
    return dots(ways.in_order(ranked), x_title=x_title, chosen=ranked.index(0))


def marginals_of(found: Marginals) -> go.Figure:
    """Return the error of every marginal, a mark for each way on a logarithmic axis; bars of 95 %."""
    x, traces = np.arange(len(found.names), dtype=np.float64), []
    for i, (way, rmse, se) in enumerate(zip(found.ways, found.rmse, found.se, strict=True)):
        colour, symbol, _ = LOOKS[i % len(LOOKS)]
        reach = Z95 * np.where(np.isfinite(se), se, 0.0)
        bars = {"type": "data", "array": reach, "color": colour, "thickness": 1.5, "visible": found.is_simulated[i]}
        traces.append(
            scatter(
                x=x + 0.1 * (i - (len(found.ways) - 1) / 2), y=rmse, mode="markers", name=plot_text(way), error_y=bars,
                marker={"symbol": symbol, "size": 10, "color": colour},
                hovertemplate="%{y:,.3~g} records<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    ends = [upper_end(rmse, se) for rmse, se in zip(found.rmse, found.se, strict=True)]
    ticks = {"tickvals": x, "ticktext": [plot_text(name, 40) for name in found.names]}
    return new_figure(
        traces,
        xaxis=axis("marginal", log=False, bounds=(-0.5, x.size - 0.5)) | ticks,
        yaxis=axis("RMSE of a cell (records)", log=True, bounds=limits([*found.rmse, *ends], log=True,
                                                                       default=(1.0, 1000.0)), grid=True),
    ).figure()  # fmt: skip
