"""Pictures of a top-down release and of repeated ones, drawn from what the study found."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from treedp_core.figures.base.curves import upper_end
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import BLUE, GREY, ORANGE, PINK, axis, bent, bent_ticks, limits, new_figure
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.figures.topdown import LOOKS
from treedp_core.figures.trees.draw import one_draw
from treedp_core.figures.trees.icicle import drafted
from treedp_core.studies.topdown import Drawn
from treedp_core.studies.topdown.draw import KEPT, LOST, SPURIOUS, Pairs, Rows
from treedp_core.studies.topdown.marginals import Marginals
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import Z95, hover, whole

MAX_BLOCKS: Final = 200
"""Blocks of a tree."""


def level_of_release(mine: Drawn, level: int) -> Draft:
    """Return the true and the released counts of one level, within what noise moves them by."""
    here = mine.levels[level]
    return one_draw(
        here.truth, here.released, sigma=float(mine.plan.sigmas[level]), mechanism="discrete_gaussian",
        variant=RULES[mine.wanted.rule].steps, name=mine.subject.namer(level),
    )  # fmt: skip


def tree_of_release(mine: Drawn, root: int, *, after: bool) -> Draft:
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
    return drafted(
        tree, labels, truth, (values - truth).astype(float), root=root, max_nodes=MAX_BLOCKS,
        colour_range=(-clip, clip), colour_title="error", text=values, released=values,
    )  # fmt: skip


def marginals_of(found: Marginals) -> Draft:
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
                hovertemplate=f"{hover('y', 'short')} records<extra>%{{fullData.name}}</extra>",
            )
        )  # fmt: skip
    ends = [upper_end(rmse, se) for rmse, se in zip(found.rmse, found.se, strict=True)]
    ticks = {"tickvals": x, "ticktext": [plot_text(name, 40) for name in found.names]}
    return new_figure(
        traces,
        xaxis=axis("marginal", log=False, bounds=(-0.5, x.size - 0.5)) | ticks,
        yaxis=axis("RMSE of a cell (records)", log=True, bounds=limits([*found.rmse, *ends], log=True,
                                                                       default=(1.0, 1000.0)), grid=True),
    )  # fmt: skip


# ---- a top-down release beside the truth: rows with what became of them, and true against released counts


COLOURS: Final = {KEPT: BLUE, LOST: ORANGE, SPURIOUS: PINK}
SYMBOLS: Final = {KEPT: "circle", LOST: "x", SPURIOUS: "diamond"}
SMALLEST: Final = 5.0
"""Size of a marker of one node, in pixels."""
LARGEST: Final = 16.0


NO_ONE: Final = 2.0
"""Powers of ten from which on an axis to both sides has no room for 1 between 0 and 10."""


def rows_beside(found: Rows) -> Draft:
    """Return places as rows: true records to the left, released ones to the right, both on log(1 + records).

    >>> from treedp_core.studies.topdown.draw import Rows
    >>> fig = rows_beside(Rows(("a › b", "a › c"), np.array([9, 2]), np.array([8, 0]), 2))
    >>> [trace["name"] for trace in fig.data], fig.data[2]["text"][0].strip()
    (['true', 'kept', 'lost'], 'lost')
    >>> rows_beside(Rows(("South › " * 9 + "block 7",), *2 * (np.array([1]),), 1)).layout["yaxis"]["ticktext"][0][-9:]
    '› block 7'
    """
    y, fates = np.arange(len(found.names)), np.array(found.fates)
    traces = [_bars(y, found.truth, -1.0, "true", GREY)]
    for fate, colour in COLOURS.items():
        here = np.flatnonzero(fates == fate)
        if not here.size:
            continue
        if fate == LOST:
            traces.append(_words(y[here], 0.0, LOST, colour, "middle right"))
            continue
        traces.append(_bars(y[here], found.released[here], 1.0, fate, colour))
        if fate == SPURIOUS:
            traces.append(_words(y[here], 0.0, SPURIOUS, colour, "middle left"))
    top = 1.22 * float(np.log10(1.0 + max([1.0, *found.truth.tolist(), *found.released.tolist()])))
    scale = bent_ticks(10.0**top - 1.0)
    kept = [0, *range(1 + (top > NO_ONE), len(scale["ticktext"]))]
    at, told = scale["tickvals"][kept], [scale["ticktext"][i] for i in kept]
    fig = new_figure(
        traces,
        xaxis=axis("true (NOT PRIVATE)  ← records →  released", log=False, bounds=(-top, top), grid=True)
        | {
            "tickvals": [*(-at[:0:-1]), *at], "ticktext": [*told[:0:-1], *told], "zeroline": True,
            "zerolinecolor": GREY,
        },
        yaxis={
            "tickvals": y, "ticktext": [_end(name) for name in found.names], "automargin": True,
            "range": [y.size - 0.4, -0.6], "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip
    return fig.update_layout(barmode="overlay", bargap=0.2, showlegend=False, margin={"l": 8, "r": 8, "t": 8, "b": 8})


def _end(name: str, limit: int = 36) -> str:
    """The end of a long name: places next to each other begin alike."""
    return plot_text(name if len(name) <= limit else f"…{name[1 - limit :]}", limit)


def _bars(y: AnyArray, records: AnyArray, side: float, name: str, colour: str) -> Trace:
    values = bent(np.maximum(records, 0))
    return bar(
        x=side * values, y=y, orientation="h", name=name, customdata=records,
        text=[count_text(n) if n else "" for n in records.tolist()], textposition="outside", cliponaxis=False,
        marker={"color": colour},
        hovertemplate=f"{hover('customdata', 'whole')} records<extra>%{{fullData.name}}</extra>",
    )  # fmt: skip


def _words(y: AnyArray, x: float, text: str, colour: str, place: str) -> Trace:
    """What became of rows, written where their bar would be."""
    return scatter(
        x=np.full(y.size, x), y=y, mode="text", name=text, text=[f"\u2002{text}\u2002"] * y.size, textposition=place,
        textfont={"color": colour, "weight": 700}, hoverinfo="skip",
    )  # fmt: skip


def true_against_released(found: Pairs) -> Draft:
    """Return released against true counts, both on log(1 + records): markers grow with the nodes they stand for.

    >>> fig = true_against_released(Pairs(np.array([0, 2, 7]), np.array([3, 0, 7]), np.array([1, 40, 5])))
    >>> [trace["name"] for trace in fig.data]
    ['as it is', 'kept', 'lost', 'never existed']
    """
    top = 1.04 * float(np.log10(1.0 + max([9.0, *found.truth.tolist(), *found.released.tolist()])))
    traces: list[Any] = [
        scatter(x=[0.0, top], y=[0.0, top], mode="lines", name="as it is", line={"color": GREY, "dash": "dot"},
                   hoverinfo="skip")
    ]  # fmt: skip
    masks = {
        KEPT: (found.truth != 0) & (found.released != 0), LOST: found.released == 0,
        SPURIOUS: (found.truth == 0) & (found.released != 0),
    }  # fmt: skip
    most = float(found.n_nodes.max(initial=1))
    for fate, here in masks.items():
        if here.any():
            traces.append(_markers(found, here, fate, most))
    scale, bounds = bent_ticks(10.0**top - 1.0), (-0.06 * top, top)
    fig = new_figure(
        traces, xaxis=axis("true count (records, NOT PRIVATE)", log=False, bounds=bounds, grid=True) | scale,
        yaxis=axis("released count (records)", log=False, bounds=bounds, grid=True) | scale,
    )  # fmt: skip
    for fate, x, y, anchor in ((LOST, 0.98, 0.07, "right"), (SPURIOUS, 0.06, 0.98, "left")):
        if masks[fate].any():
            text = f"{whole(int(found.n_nodes[masks[fate]].sum()))} {fate}"
            fig.add_annotation(x=x, y=y, xref="paper", yref="paper", xanchor=anchor, text=text, showarrow=False,
                               font={"color": COLOURS[fate], "size": 15})  # fmt: skip
    return fig.update_layout(showlegend=False, margin={"l": 8, "r": 12, "t": 8, "b": 8})


def _markers(found: Pairs, here: AnyArray, fate: str, most: float) -> Trace:
    n_nodes = found.n_nodes[here]
    size: FloatArray = SMALLEST + (LARGEST - SMALLEST) * np.sqrt((n_nodes - 1.0) / max(1.0, most - 1.0))
    return scatter(
        x=bent(found.truth[here]), y=bent(found.released[here]), mode="markers", name=fate,
        customdata=np.column_stack([found.truth[here], found.released[here], n_nodes]),
        marker={"color": COLOURS[fate], "symbol": SYMBOLS[fate], "size": size, "opacity": 0.6},
        hovertemplate=f"true {hover('customdata[0]', 'whole')}, released {hover('customdata[1]', 'whole')}"
        f"<br>{hover('customdata[2]', 'whole')} nodes<extra>{fate}</extra>",
    )  # fmt: skip
