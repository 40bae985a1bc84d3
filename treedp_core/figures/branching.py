"""Branching factors: error over beta with the tree of yours, and errors of every height."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, GREEN, GREY, PINK, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.records.export.columns import Columns
from treedp_core.studies.branching import BestBranching
from treedp_core.studies.branching.question import BETAS, HeightBest
from treedp_core.tree.text import product_text
from treedp_core.words import above_least, hover, plural, short
from treedp_core.words import whole as in_full

TICKS: Final = (2, 4, 8, 16, 32, 64)
SIDES: Final = (1.9, 67.0)
"""Ends of the axis of beta: marks at the first and last one are whole."""
ROOM: Final = 1.25
"""Height of the panel over the curve's: above it stand names of trees and the best beta."""
LETTER: Final = 0.115
"""Doublings of beta that a letter of a tree's name is wide, where the figure is narrow."""
LONGEST: Final = 12
"""Letters of a name."""
BESIDE: Final = 0.01
"""How far below the curve, as a part of the panel, a tree's name is no longer above it."""
RMSE: Final = "RMSE (records)"
PARTS: Final = (("added up", PINK, 0.9), ("opened on the next level", BEFORE, 0.9), ("not looked at", GREY, 0.3))
HEADED: Final = 48
"""Margin above the panels for two lines, in px: `style.present` makes it larger."""
IN_FULL: Final = 10**7
"""Bins up to which their number is written in full."""
GAP: Final = 0.12
"""Between two blocks, as a part of one; less where there are many."""


def error_over_beta(
    curve: Mapping[str, Sequence[float]],
    best: BestBranching,
    trees: Sequence[tuple[HeightBest, float]],
    whole: Sequence[float],
    *,
    n_bins: int,
    beta: int,
) -> Draft:
    """Return the error over beta with your beta marked, and beside it the tree of that beta.

    For every beta there are the same traces, marks and axes.

    Parameters
    ----------
    curve : mapping
        "RMSE (records)" along branching factors "beta", (n,) each.
    best : BestBranching
    trees : sequence of (HeightBest, float)
        Whole trees and their exact error, in records.
    whole : (BETAS[1] - BETAS[0] + 1,)
        The error at the whole branching factors, in records.
    n_bins : int
        K.
    beta : int
        Yours.
    """
    highest, error = max(curve[RMSE]), whole[beta - BETAS[0]]
    line = scatter(
        x=curve["beta"], y=curve[RMSE], mode="lines", name="RMSE of a query", line={"color": AFTER, "width": 2.5},
        hovertemplate=f"β = {hover('x', 'short')}<br>{hover('y', 'short')} records<extra></extra>",
    )  # fmt: skip
    yours = scatter(
        x=[beta, beta], y=[error, 0.0], mode="markers", name="your β", hoverinfo="skip", cliponaxis=False,
        marker={"color": PINK, "opacity": 1, "size": 11, "symbol": ["circle", "triangle-up"]},
    )  # fmt: skip
    left = axis("children per node β", log=True, bounds=SIDES)
    del left["minor"]
    fig = new_figure(
        [line, _squares(trees, curve, best, (beta, error)), yours, *_levels(n_bins, beta)],
        xaxis=left | {"domain": [0.0, 0.56], "tickvals": TICKS, "ticktext": [str(one) for one in TICKS]},
        yaxis=axis("typical error (records)", log=False, bounds=(0.0, ROOM * highest)),
    ).update_layout(
        barmode="overlay", showlegend=False, margin={"t": HEADED},
        xaxis2={"domain": [0.62, 1.0], "range": [0, 1], "visible": False, "anchor": "y2"},
        yaxis2={"range": [1, 0], "visible": False, "anchor": "x2"},
    )  # fmt: skip
    _optimum(fig, best)
    _heading(fig, "", f"β = {beta}: {short(error)} records", above_least(error, min(whole)))
    end = in_full(_end(n_bins)) if n_bins <= IN_FULL else short(_end(n_bins))
    added = f"{plural(_added(n_bins, beta), 'node')} of {plural(_height(n_bins, beta), 'level')}"
    _heading(fig, "2", f"The first {end} bins:", added)
    return fig


def _heading(fig: Draft, panel: str, *lines: str) -> None:
    """Write two lines above a panel."""
    fig.add_annotation(
        text=f"<b>{'<br>'.join(lines)}</b>", font={"color": PINK, "size": 14}, align="left", showarrow=False, x=0, y=1,
        xref=f"x{panel} domain", yref=f"y{panel} domain", xanchor="left", yanchor="bottom", yshift=8,
    )  # fmt: skip


def _optimum(fig: Draft, best: BestBranching) -> None:
    """The band of what is within 5 % of the least, and above the curve where that is."""
    if not math.isfinite(best.beta):
        return
    low, high = max(best.low, BETAS[0]), min(best.high, BETAS[1])
    fig.add_shape(
        type="rect", x0=low, x1=high, y0=0, y1=1, yref="y domain", fillcolor=rgba(GREEN, 0.14), line={"width": 0},
        layer="below",
    )  # fmt: skip
    fig.add_shape(
        type="line", x0=best.beta, x1=best.beta, y0=0.9, y1=1, yref="y domain",
        line={"color": GREY, "dash": "dot", "width": 1.5},
    )  # fmt: skip
    side: dict[str, Any] = {"xanchor": "right", "xshift": -3} if best.beta > 4 else {"xanchor": "left", "xshift": 3}
    fig.add_annotation(
        x=math.log10(best.beta), y=1, yref="y domain", yanchor="top", showarrow=False, font={"color": GREY},
        text=f"β* = {short(best.beta)}", **side,
    )  # fmt: skip


def _squares(
    trees: Sequence[tuple[HeightBest, float]],
    curve: Mapping[str, Sequence[float]],
    best: BestBranching,
    yours: tuple[float, float],
) -> Trace:
    """Whole trees at the geometric mean of their branching factors, the best first; those with room for it have a name.

    It stands on the side of the curve that its tree is on, away from it, and on no mark of a tree or of yours.
    """
    highest = max(curve[RMSE])
    near = BESIDE * ROOM * highest
    shown = [(one, f) for one, f in trees if BETAS[0] <= one.mean_factor <= BETAS[1] and f <= 1.1 * highest]
    shown.sort(key=lambda one: one[1])
    marks = [*((one.mean_factor, f, 3 * near) for one, f in shown), (*yours, near)]
    names = [product_text(one.shape.branching_factors) for one, _ in shown]
    said, places, taken = [], [], [(-math.inf, math.log2(SIDES[0])), (math.log2(SIDES[1]), math.inf)]
    for (tree, f), name in zip(shown, names, strict=True):
        at, width = math.log2(tree.mean_factor), LETTER * len(name)
        is_above = f > float(np.interp(at, np.log2(curve["beta"]), curve[RMSE])) - near
        falls, is_flat = tree.mean_factor < best.low, best.low <= tree.mean_factor <= best.high
        side = "center" if is_flat else "right" if falls == is_above else "left"
        start = at + {"center": -width / 2, "right": LETTER, "left": -width - LETTER}[side]
        stop = start + width
        is_said = f <= highest and len(name) <= LONGEST and all(stop < low or high < start for low, high in taken)
        for x, y, room in marks:
            is_beside = start - LETTER < math.log2(x) < stop + LETTER
            is_said &= not (is_beside and (y > f + room if is_above else y < f - room))
        taken += [(start - LETTER, stop + LETTER)] * is_said
        said.append(name if is_said else "")
        places.append(f"{'top' if is_above else 'bottom'} {side}")
    return scatter(
        x=[one.mean_factor for one, _ in shown], y=[f for _, f in shown], mode="markers+text", name="whole trees for K",
        text=said, customdata=names, textposition=places, textfont={"color": BEFORE}, cliponaxis=False,
        marker={"symbol": "square", "size": 9, "color": BEFORE},
        hovertemplate=f"%{{customdata}}<br>{hover('y', 'short')} records<extra></extra>",
    )  # fmt: skip


def _levels(n_bins: int, beta: int) -> list[Trace]:
    """The tree of beta, level by level: the children of the node that the end of a range falls into.

    Those before it are added up, it is opened on the next level. The range is all up to two thirds of the bins.
    """
    height, end = _height(n_bins, beta), _end(n_bins)
    step = 1 / max(height - 0.5, 1.5)
    blocks: list[list[tuple[float, float, float]]] = [[], [], []]
    x: list[float | None] = []
    y: list[float | None] = []
    for level in range(height):
        bins = beta ** (height - 1 - level)
        n = -(-n_bins // bins) if level == 0 else beta
        added, opened, width = end // bins % beta, end % bins != 0, (1 - min(GAP, n / 400)) / n
        for child in range(n):
            part = 0 if child < added else 1 if child == added and opened else 2
            blocks[part].append((round(child / n, 4), round(width, 4), round((level + 0.25) * step, 4)))
        for side in (0, 1) if opened else ():
            x += [round((added + side) / n, 4), side, None]
            y += [round((level + 0.5) * step, 4), round((level + 1) * step, 4), None]
    lines = scatter(
        x=x, y=y, mode="lines", name="opened", line={"color": BEFORE, "width": 1}, opacity=0.6, hoverinfo="skip",
        xaxis="x2", yaxis="y2",
    )  # fmt: skip
    return [lines, *(
        bar(
            base=[left for left, _, _ in part], x=[width for _, width, _ in part], y=[at for *_, at in part],
            orientation="h", width=round(0.5 * step, 4), marker={"color": colour, "opacity": opacity}, name=name,
            xaxis="x2", yaxis="y2", hoverinfo="name",
        )
        for part, (name, colour, opacity) in zip(blocks, PARTS, strict=True)
    )]  # fmt: skip


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


def factors_by_level(real: Sequence[float], whole: Sequence[int]) -> Draft:
    """Return branching factors by level for given budgets: real ones (n_shares,), and those of the best whole tree.

    >>> fig = factors_by_level([26.1, 9.4, 4.2], [26, 10, 4])
    >>> [trace["name"] for trace in fig.data]
    ['best whole tree', 'Theorem IV.2 (ii)']
    """
    levels = np.arange(1, len(real) + 1)
    mine = scatter(
        x=levels, y=np.array(whole, dtype=float), mode="markers+lines", name="best whole tree",
        line={"color": BEFORE, "width": 1, "dash": "dot"}, marker={"symbol": "square", "size": 11, "color": BEFORE},
        hovertemplate=f"level %{{x}}: {hover('y', 'whole')} children<extra></extra>",
    )  # fmt: skip
    theirs = scatter(
        x=levels, y=np.array(real), mode="markers", name="Theorem IV.2 (ii)",
        marker={"symbol": "circle-open", "size": 15, "color": AFTER, "line": {"width": 2.5}},
        hovertemplate=f"level %{{x}}: {hover('y', 'short')}<extra></extra>",
    )  # fmt: skip
    bounds = limits([np.array([*real, *whole], dtype=float)], log=True, default=(1.0, 10.0))
    fig = new_figure(
        [mine, theirs],
        xaxis=axis("level below the root", log=False, bounds=(0.5, len(real) + 0.5)),
        yaxis=axis("children of a node above it", log=True, bounds=bounds, grid=True),
    )
    return fig.update_xaxes(dtick=1 if len(real) <= 24 else 5)


def sandwich_by_height(rows: Mapping[str, Sequence[float]], trees: Sequence[tuple[int, float]]) -> Draft:
    """Return the error of equal real factors by height between half of its approximation and all of it.

    Parameters
    ----------
    rows : mapping
        "height", "half of it", "exact", "approximation": RMSE in records, (n,) each.
    trees : sequence
        Height and RMSE of the best whole tree of each height.

    >>> rows = {"height": [1, 2], "half of it": [7.0, 4.0], "exact": [9.9, 5.5], "approximation": [10.0, 5.6]}
    >>> [trace["name"] for trace in sandwich_by_height(rows, [(2, 5.6)]).data]
    ['½ Ē₂', '½ Ē₂ to Ē₂', 'E₂, equal real factors', 'best whole tree of each height']
    """
    x = np.array(rows["height"], dtype=float)
    low, exact, high = (np.array(rows[name]) for name in ("half of it", "exact", "approximation"))
    edge: dict[str, Any] = {"mode": "lines", "line": {"color": AFTER, "width": 1}}
    told = f"%{{x}} levels: {hover('y', 'short')} records<extra></extra>"
    traces = [
        scatter(x=x, y=low, name="½ Ē₂", showlegend=False, hovertemplate=told, **edge),
        scatter(
            x=x, y=high, name="½ Ē₂ to Ē₂", fill="tonexty", fillcolor=rgba(AFTER, 0.18), hovertemplate=told, **edge
        ),
        scatter(
            x=x, y=exact, mode="lines", name="E₂, equal real factors", line={"color": AFTER, "width": 2.5},
            hovertemplate=told,
        ),
        scatter(
            x=[height for height, _ in trees], y=[rmse for _, rmse in trees], mode="markers",
            name="best whole tree of each height", marker={"symbol": "square", "size": 9, "color": BEFORE},
            hovertemplate=told,
        ),
    ]  # fmt: skip
    bounds = limits([low, high, np.array([rmse for _, rmse in trees])], log=True, default=(1.0, 10.0))
    fig = new_figure(
        traces,
        xaxis=axis("levels below the root (height)", log=False, bounds=(0.5, float(x.max()) + 0.5)),
        yaxis=axis("RMSE of a cumulative count (records)", log=True, bounds=bounds, grid=True),
    )
    return fig.update_xaxes(dtick=1 if x.max() <= 24 else 5)


def error_by_height(table: Columns) -> Draft:
    """Return the error of the best tree of each height, as a multiple of the best of all.

    Parameters
    ----------
    table : mapping
        Of `height_table`: levels below the root, ascending, (n,); branching factors as text, (n,); at least 1, (n,).

    >>> fig = error_by_height({"height": [1, 2], "tree": ["64", "8 · 8"], "÷ best": [3.0, 1.0]})
    >>> [trace["name"] for trace in fig.data]
    ['best tree of each height', 'best of all']
    """
    heights, shapes, ratios = table.values()
    x, y = np.array(heights, dtype=float), np.array(ratios, dtype=float)
    names = np.array([plot_text(shape, 40) for shape in shapes], dtype=object)
    best = int(np.argmin(y))
    bounds = (0.8, limits([y], log=True, default=(1.0, 10.0))[1])
    told = (
        f"%{{text}}<br>{hover('x', 'whole')} levels below the root<br>{hover('y', 'short')} × the best<extra></extra>"
    )
    line = scatter(
        x=x, y=y, text=names, mode="lines+markers", name="best tree of each height", hovertemplate=told,
        line={"color": AFTER, "width": 2.5}, marker={"symbol": "circle", "size": 9, "color": AFTER},
    )  # fmt: skip
    mark = scatter(
        x=x[best : best + 1], y=y[best : best + 1], text=names[best : best + 1], mode="markers+text",
        name="best of all", hovertemplate=told, textposition="top center", textfont={"color": BEFORE},
        marker={"symbol": "square", "size": 13, "color": BEFORE},
    )  # fmt: skip
    fig = new_figure(
        [line, mark],
        xaxis=axis("levels below the root (height)", log=False, bounds=(0.5, float(x.max()) + 0.5)),
        yaxis=axis("typical error (RMSE) ÷ the best", log=True, bounds=bounds, grid=True),
    )
    return fig.update_xaxes(dtick=1 if x.max() <= 24 else 5)
