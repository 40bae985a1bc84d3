"""Branching factors: error over beta with a slider that the browser follows, its tree, and errors of every height."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import altair as alt
import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    GREEN,
    GREY,
    PINK,
    PRESENTED_LINE,
    PRESENTED_TEXT,
    axis,
    limits,
    new_figure,
)
from treedp_core.figures.base.text import plot_text
from treedp_core.records.export.columns import Columns
from treedp_core.studies.branching import BestBranching
from treedp_core.studies.branching.question import BETAS, HeightBest
from treedp_core.tree.text import product_text
from treedp_core.words import above_least, short
from treedp_core.words import whole as in_full

TICKS: Final = (2, 4, 8, 16, 32, 64)
STEEP_BELOW: Final = 6
"""Branching factors below which every curve that starts high falls steeply."""


def live_chart(
    curve: Mapping[str, Sequence[float]],
    best: BestBranching,
    trees: Sequence[tuple[HeightBest, float]],
    whole: Sequence[float],
    *,
    n_bins: int,
    presented: bool = False,
) -> dict[str, Any]:
    """Return the chart as the browser reads it: the error over beta with a slider that no server takes part in.

    Beside the curve stands the tree of the slider's beta, with the nodes that are added up for a range.

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
    presented : bool
        Whether it is for a projector.
    """
    top = 1.1 * max(curve[RMSE])
    x = alt.X(
        "b:Q", scale=_range(alt.Scale(type="log", base=2, domain=list(BETAS)), "0", LEFT),
        title="children per node β", axis=alt.Axis(values=list(TICKS), grid=False, format="d"),
    )  # fmt: skip
    y = alt.Y(
        "f:Q", scale=alt.Scale(domain=[0, top]), title="error (records)" if presented else "typical error (records)",
        axis=alt.Axis(tickCount=6, orient="left", grid=False),
    )  # fmt: skip
    line = alt.Chart(_rows(b=curve["beta"], f=curve[RMSE])).mark_line(color=AFTER, strokeWidth=2.5).encode(x=x, y=y)
    layers = [*_optimum(best, x), line, *_trees(trees, top, x, y), *_drag(best, whole, x, y)]
    beside = alt.layer(
        alt.layer(*layers), alt.layer(*_tree_of_beta(n_bins, room=0.45 if presented else 0.2))
    ).resolve_scale(x="independent", y="independent")
    chart = cast(alt.LayerChart, beside)  # no facets were asked for
    if presented:  # text as large as in the other presented figures
        for group in chart.layer:
            for layer in group.layer:
                if layer.mark.type == "text":
                    layer.mark.fontSize = PRESENTED_TEXT
                    if layer.mark.baseline == "line-bottom":  # of two lines, the second would stand on the tree
                        layer.mark.dy = -1.2 * PRESENTED_TEXT
                if layer.mark.type == "line":
                    layer.mark.strokeWidth = PRESENTED_LINE
        chart = chart.configure_axis(labelFontSize=PRESENTED_TEXT, titleFontSize=PRESENTED_TEXT)
    spec: dict[str, Any] = chart.to_dict(validate=False)  # a test does, which takes as long as all the rest
    return spec


RMSE: Final = "RMSE (records)"
LEFT_PART: Final = (0.0, 0.56)
RIGHT_PART: Final = (0.62, 1.0)
"""Parts of the width that the curve and the tree have in a picture."""
LEFT: Final = "(width < 600 ? 0.46 : 0.56) * width"
RIGHT: Final = "(width < 600 ? 0.52 : 0.62) * width"


def _range(scale: alt.Scale, start: str, stop: str) -> alt.Scale:
    """A scale over a part of the width."""
    scale["range"] = [alt.ExprRef(expr=start), alt.ExprRef(expr=stop)]
    return scale


def _tree_of_beta(n_bins: int, room: float) -> list[Any]:
    """The tree of the slider's beta, level by level: the children of the node that the end of a range falls into.

    Those before it are added up, it is opened on the next level. The range is all up to two thirds of the bins. All is
    computed by the browser, for any beta. The words above it take such a part of its height as `room`.
    """
    end = max(1, 2 * n_bins // 3)
    levels = max(1, (n_bins - 1).bit_length())
    x = alt.X("left:Q", scale=_range(alt.Scale(domain=[0, 1]), RIGHT, "width"), axis=None)
    y = alt.Y("above:Q", scale=alt.Scale(domain=[1, -room]), axis=None)
    rows = (
        alt.Chart(alt.sequence(0, levels, as_="level"))
        .transform_calculate(height=f"ceil(log({n_bins}) / log(beta) - 1e-9)")
        .transform_filter("datum.level < datum.height")
        .transform_calculate(bins="pow(beta, datum.height - 1 - datum.level)")
        .transform_calculate(
            children=f"datum.level == 0 ? ceil({n_bins} / datum.bins) : beta",
            added=f"floor({end} / datum.bins) % beta",
            above="(datum.level + 0.12) / datum.height",
            below="(datum.level + 0.62) / datum.height",
            next="(datum.level + 1.12) / datum.height",
            opened=f"{end} % datum.bins != 0",
        )
    )
    one = rows.transform_calculate(child="sequence(0, datum.children)").transform_flatten(["child"])
    one = one.transform_calculate(
        left="datum.child / datum.children",
        right="(datum.child + 1 - min(0.12, datum.children / 400)) / datum.children",
        part="datum.child < datum.added ? 'added' : datum.child == datum.added && datum.opened ? 'opened' : 'not'",
    )
    colour = alt.Color(
        "part:N", legend=None, scale=alt.Scale(domain=["added", "opened", "not"], range=[PINK, BEFORE, GREY])
    )
    faint = alt.condition("datum.part == 'not'", alt.value(0.3), alt.value(0.9))
    blocks = one.mark_rect(cornerRadius=1).encode(
        x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("below:Q"), color=colour, opacity=faint
    )
    lines = []
    for side in ("0", "1"):
        ends = rows.transform_filter("datum.opened").transform_calculate(
            left=f"(datum.added + {side}) / datum.children", right=side, above="datum.below"
        )
        lines.append(
            ends.mark_rule(color=BEFORE, opacity=0.6).encode(x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("next:Q"))
        )
    return [*lines, blocks, _added_in_words(rows, end).encode(x=x, y=y, text=alt.Text("words:N"))]


def _added_in_words(rows: alt.Chart, end: int) -> alt.Chart:
    """How many nodes are added up for the first bins, and how many levels share the budget."""
    told = rows.transform_aggregate(n="sum(added)", levels="count()").transform_calculate(
        left="0",
        above="-0.03",
        words=f"'The first {in_full(end)} bins:\\n' + datum.n + ' nodes of ' + datum.levels + "
        "(datum.levels == 1 ? ' level' : ' levels')",
    )
    text: alt.Chart = told.mark_text(
        align="left", baseline="line-bottom", fontSize=13, color=PINK, fontWeight="bold", lineBreak="\n"
    )
    return text


def start_of(best: BestBranching) -> int:
    """Return where the slider stands at first: the whole optimum, if the chart shows it.

    >>> start_of(BestBranching(16.8, 17, 9.9, 30.4)), start_of(BestBranching(math.inf, None, math.inf, math.inf))
    (17, 16)
    """
    return best.whole if best.whole is not None and BETAS[0] <= best.whole <= BETAS[1] else 16


def _rows(**columns: Sequence[object]) -> alt.Data:
    """Rows as text: Altair copies what is not with every layer, again and again."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    untyped: Any = alt.Data
    return cast(alt.Data, untyped(values=json.dumps(rows), format=alt.JsonDataFormat(type="json")))


def _optimum(best: BestBranching, x: alt.X) -> list[alt.Chart]:
    """The band of what is within 5 % of the least, and a line at the optimum."""
    if not math.isfinite(best.beta):
        return []
    low, high = max(best.low, BETAS[0]), min(best.high, BETAS[1])
    band = alt.Chart(_rows(b=[low], end=[high])).mark_rect(color=GREEN, opacity=0.14).encode(x=x, x2=alt.X2("end:Q"))
    at = alt.Chart(_rows(b=[best.beta], label=[f"β* = {short(best.beta)}"]))
    rule = at.mark_rule(color=GREY, strokeDash=[2, 3], strokeWidth=1.5).encode(x=x)
    side: dict[str, Any] = {"align": "right", "dx": -6} if best.beta > 4 else {"align": "left", "dx": 6}
    label = at.mark_text(**side, color=GREY, fontSize=13).encode(x=x, y=alt.value(8), text=alt.Text("label:N"))
    return [band, rule, label]


def _trees(trees: Sequence[tuple[HeightBest, float]], top: float, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Whole trees as labelled squares at the geometric mean of their branching factors."""
    shown = [(t, f) for t, f in trees if BETAS[0] <= t.mean_factor <= BETAS[1] and f <= top]
    if not shown:
        return []
    squares = alt.Chart(_rows_of(shown)).mark_point(shape="square", filled=True, size=80, color=BEFORE, opacity=1)
    tip = [alt.Tooltip("label:N", title="tree"), alt.Tooltip("f:Q", title="records", format=".4g")]
    return [squares.encode(x=x, y=y, tooltip=tip), *_labels(_spaced(shown), x, y)]


def _rows_of(trees: Sequence[tuple[HeightBest, float]]) -> alt.Data:
    return _rows(
        b=[tree.mean_factor for tree, _ in trees], f=[f for _, f in trees],
        label=[product_text(tree.shape.branching_factors) for tree, _ in trees],
    )  # fmt: skip


def _labels(trees: Sequence[tuple[HeightBest, float]], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Names above the squares; to their right where the curve falls so steeply that it would run through them."""
    places: dict[bool, dict[str, Any]] = {True: {"align": "left", "dx": 8, "dy": -7}, False: {"dy": -13}}
    layers = []
    for steep, place in places.items():
        named = [(tree, f) for tree, f in trees if (tree.mean_factor < STEEP_BELOW) is steep]
        label = alt.Chart(_rows_of(named)).mark_text(fontSize=12, color=BEFORE, **place)
        layers.append(label.encode(x=x, y=y, text=alt.Text("label:N")))
    return layers


def _spaced(shown: Sequence[tuple[HeightBest, float]]) -> list[tuple[HeightBest, float]]:
    """Those whose labels do not run into each other: short ones, far enough apart."""
    kept: list[tuple[HeightBest, float]] = []
    for tree, f in shown:
        short = len(product_text(tree.shape.branching_factors)) <= 12
        if short and all(abs(math.log2(tree.mean_factor / other.mean_factor)) > 0.9 for other, _ in kept):
            kept.append((tree, f))
    return kept


def _drag(best: BestBranching, whole: Sequence[float], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The dot that follows the slider, and what it means."""
    numbers = list(range(BETAS[0], BETAS[1] + 1))
    least = min(whole)
    words = [f"β = {b}:\n{short(f)} records\n{above_least(f, least)}" for b, f in zip(numbers, whole, strict=True)]
    beta = alt.param(
        name="beta", value=start_of(best), bind=alt.binding_range(min=BETAS[0], max=BETAS[1], step=1, name="Drag β  ")
    )
    at = alt.Chart(_rows(b=numbers, f=list(whole), words=words)).transform_filter("datum.b == beta")
    dot = at.mark_point(filled=True, size=190, color=PINK, opacity=1).encode(x=x, y=y).add_params(beta)
    rule = at.mark_rule(color=PINK, strokeWidth=1.5).encode(x=x)
    is_left = f"beta * beta < {math.prod(BETAS)}"  # in the left half: the words stand in the other one
    text = at.mark_text(
        align=alt.ExprRef(expr=f"{is_left} ? 'right' : 'left'"), fontWeight="bold", color=PINK, lineBreak="\n",
        fontSize=alt.ExprRef(expr="width < 600 ? 12 : 14"),
    ).encode(
        x=alt.value(alt.ExprRef(expr=f"{is_left} ? {LEFT} : 4")), y=alt.value(alt.ExprRef(expr="height - 56")),
        text=alt.Text("words:N"),
    )  # fmt: skip
    return [rule, dot, text]


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
    hover = "%{text}<br>%{x:d} levels below the root<br>%{y:,.3~r} × the best<extra></extra>"
    line = scatter(
        x=x, y=y, text=names, mode="lines+markers", name="best tree of each height", hovertemplate=hover,
        line={"color": AFTER, "width": 2.5}, marker={"symbol": "circle", "size": 9, "color": AFTER},
    )  # fmt: skip
    mark = scatter(
        x=x[best : best + 1], y=y[best : best + 1], text=names[best : best + 1], mode="markers+text",
        name="best of all", hovertemplate=hover, textposition="top center", textfont={"color": BEFORE},
        marker={"symbol": "square", "size": 13, "color": BEFORE},
    )  # fmt: skip
    fig = new_figure(
        [line, mark],
        xaxis=axis("levels below the root (height)", log=False, bounds=(0.5, float(x.max()) + 0.5)),
        yaxis=axis("typical error (RMSE) ÷ the best", log=True, bounds=bounds, grid=True),
    )
    return fig.update_xaxes(dtick=1 if x.max() <= 24 else 5)


# ---- the chart of branching factors as a picture: what `branching.live_chart` shows before its slider is moved


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
        [line, *_tree_marks(trees, top), dot, *_levels(n_bins, beta)],
        xaxis=left | {"domain": list(LEFT_PART), "tickvals": list(TICKS), "ticktext": [str(one) for one in TICKS]},
        yaxis=axis("typical error (records)", log=False, bounds=(0.0, top), grid=True),
    )
    _optimum_layer(fig, best)
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


def _tree_marks(trees: Sequence[tuple[HeightBest, float]], top: float) -> list[Trace]:
    shown = [(one, f) for one, f in trees if BETAS[0] <= one.mean_factor <= BETAS[1] and f <= top]
    return [scatter(
        x=[one.mean_factor for one, _ in shown], y=[f for _, f in shown], mode="markers", name="whole trees for K",
        text=[product_text(one.shape.branching_factors) for one, _ in shown],
        marker={"symbol": "square", "size": 9, "color": BEFORE},
        hovertemplate="%{text}<br>%{y:,.4~g} records<extra></extra>",
    )]  # fmt: skip


def _optimum_layer(fig: Draft, best: BestBranching) -> None:
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
