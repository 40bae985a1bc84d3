"""The chart of branching factors as a picture: what `branching.live_chart` shows before its slider is moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, GREEN, GREY, PINK, axis, new_figure
from treedp_core.figures.branching import LEFT_PART, RIGHT_PART, RMSE, TICKS, start_of
from treedp_core.studies.branching import BestBranching
from treedp_core.studies.branching.question import BETAS, HeightBest
from treedp_core.tree.text import product_text
from treedp_core.words import above_least, short
from treedp_core.words import whole as in_full

PARTS: Final = (("added up", PINK, 0.9), ("opened on the next level", BEFORE, 0.9), ("not looked at", GREY, 0.3))


def still_chart(
    curve: Mapping[str, Sequence[float]],
    best: BestBranching,
    trees: Sequence[tuple[HeightBest, float]],
    *,
    n_bins: int,
) -> Draft:
    """Return the error over beta with the best whole one marked, and beside it the tree of that beta.

    Parameters
    ----------
    curve, best, trees, n_bins
        As of `branching.live_chart`.
    """
    beta, top = start_of(best), 1.1 * max(curve[RMSE])
    at, error = min(zip(curve["beta"], curve[RMSE], strict=True), key=lambda one: abs(one[0] - beta))
    line = scatter(
        x=list(curve["beta"]), y=list(curve[RMSE]), mode="lines", name="RMSE of a query",
        line={"color": AFTER, "width": 2.5}, hovertemplate="β = %{x:.3~g}<br>%{y:,.4~g} records<extra></extra>",
    )  # fmt: skip
    dot = scatter(
        x=[at], y=[error], mode="markers+text", name=f"β = {beta}", marker={"color": PINK, "size": 13},
        text=[f"β = {beta}: {short(error)} records<br>{above_least(error, min(curve[RMSE]))}"],
        textposition="bottom center", textfont={"color": PINK}, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip
    left = axis("children per node β", log=True, bounds=(float(BETAS[0]), float(BETAS[1])))
    fig = new_figure(
        [line, *_trees(trees, top), dot, *_levels(n_bins, beta)],
        xaxis=left | {"domain": list(LEFT_PART), "tickvals": list(TICKS), "ticktext": [str(one) for one in TICKS]},
        yaxis=axis("typical error (records)", log=False, bounds=(0.0, top), grid=True),
    )
    _optimum(fig, best)
    n_levels = _height(n_bins, beta)
    fig.update_layout(
        barmode="overlay", legend={"traceorder": "normal"},
        xaxis2={"domain": list(RIGHT_PART), "range": [0, 1], "visible": False, "anchor": "y2"},
        yaxis2={"range": [n_levels - 0.4, -0.6], "visible": False, "anchor": "x2"},
    )  # fmt: skip
    fig.add_annotation(
        x=RIGHT_PART[0], xref="paper", y=0, yref="paper", xanchor="left", yanchor="top", showarrow=False,
        text=f"The first {in_full(_end(n_bins))} bins: {_added(n_bins, beta)} nodes of {n_levels} "
        f"{'level' if n_levels == 1 else 'levels'}", font={"color": PINK},
    )  # fmt: skip
    return fig


def _trees(trees: Sequence[tuple[HeightBest, float]], top: float) -> list[Trace]:
    shown = [(one, f) for one, f in trees if BETAS[0] <= one.mean_factor <= BETAS[1] and f <= top]
    return [scatter(
        x=[one.mean_factor for one, _ in shown], y=[f for _, f in shown], mode="markers", name="whole trees for K",
        text=[product_text(one.shape.branching_factors) for one, _ in shown],
        marker={"symbol": "square", "size": 9, "color": BEFORE},
        hovertemplate="%{text}<br>%{y:,.4~g} records<extra></extra>",
    )]  # fmt: skip


def _optimum(fig: Draft, best: BestBranching) -> None:
    """The band of what is within 5 % of the least, and a line at the optimum."""
    if not math.isfinite(best.beta):
        return
    low, high = max(best.low, BETAS[0]), min(best.high, BETAS[1])
    fig.add_shape(type="rect", x0=low, x1=high, y0=0, y1=1, yref="y domain", fillcolor=rgba(GREEN, 0.14),
                  line={"width": 0}, layer="below")  # fmt: skip
    fig.add_shape(type="line", x0=best.beta, x1=best.beta, y0=0, y1=1, yref="y domain",
                  line={"color": GREY, "dash": "dot", "width": 1.5})  # fmt: skip
    fig.add_annotation(x=math.log10(best.beta), y=1, yref="y domain", yanchor="top", xanchor="right", showarrow=False,
                       text=f"β* = {short(best.beta)}", font={"color": GREY})  # fmt: skip


def _levels(n_bins: int, beta: int) -> list[Trace]:
    """The children of the node that the end of a range falls into, level by level."""
    height, end = _height(n_bins, beta), _end(n_bins)
    blocks: list[list[tuple[float, float, int]]] = [[], [], []]
    for level in range(height):
        bins = beta ** (height - 1 - level)
        n = -(-n_bins // bins) if level == 0 else beta
        added, opened = end // bins % beta, end % bins != 0
        for child in range(n):
            part = 0 if child < added else 1 if child == added and opened else 2
            blocks[part].append((child / n, (1 - min(0.12, n / 400)) / n, level))
    return [
        bar(
            base=[left for left, _, _ in found], x=[width for _, width, _ in found], y=[level for *_, level in found],
            orientation="h", width=0.5, marker={"color": colour, "opacity": opacity}, name=name, xaxis="x2", yaxis="y2",
            hoverinfo="name",
        )
        for found, (name, colour, opacity) in zip(blocks, PARTS, strict=True)
    ]  # fmt: skip


def _height(n_bins: int, beta: int) -> int:
    """Levels of a tree of that many children over the bins."""
    height = 1
    while beta**height < n_bins:
        height += 1
    return height


def _end(n_bins: int) -> int:
    return max(1, 2 * n_bins // 3)


def _added(n_bins: int, beta: int) -> int:
    height, end = _height(n_bins, beta), _end(n_bins)
    return sum(end // beta ** (height - 1 - level) % beta for level in range(height))
