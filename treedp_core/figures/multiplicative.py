"""Multiplicative error: growth with the levels, a labelled tree, released against true counts, printed budgets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.colour import INK, SEQUENTIAL, colour_scale, rgba
from treedp_core.figures.base.curves import name_ends
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    Look,
    axis,
    bent,
    bent_ticks,
    limits,
    new_figure,
    your_value_marker,
)
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.records.export.columns import Columns
from treedp_core.studies.multiplicative.blocks import Blocks
from treedp_core.studies.multiplicative.by_subtraction import Subtracted
from treedp_core.studies.multiplicative.curves import CURVES
from treedp_core.studies.multiplicative.ranking import Found
from treedp_core.studies.multiplicative.run import Run, drawn
from treedp_core.studies.multiplicative.simple import SIMPLE
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import alike, hover, privacy_text, short, whole

LOOKS: Final = {
    "tuned": Look(BLUE, "solid", "circle"),
    "provable": Look(BLUE, "dash", "circle"),
    "paper": Look(BLUE, "dot", "circle"),
    "gaussian": Look(PINK, "solid", "diamond"),
    "shrunk_gaussian": Look(PINK, "dash", "diamond"),
    "optimal": Look(ORANGE, "solid", "square"),
    "shrunk_optimal": Look(ORANGE, "dash", "square"),
    "laplace": Look(GREEN, "solid", "x"),
    "shrunk_laplace": Look(GREEN, "dash", "x"),
    "pure_bound": Look(GREY, "dot", "x"),
    "approximate_bound": Look(GREY, "dashdot", "x"),
}
"""The identity of every curve: one colour a mechanism, dashes for its variants, grey for lower bounds."""
GROWTH_HEIGHT: Final = 640
CLOSE: Final = 0.3
TEXT_BLOCKS: Final = 64
_UNLABELLED: Final = "rgba(127,127,127,0.18)"
_EDGE: Final = "rgba(127,127,127,0.6)"


def growth_figure(
    found: Found,
    crossings: Iterable[tuple[float, float]] = (),
    *,
    n_levels: float | None = None,
    marker_text: str = "your levels",
) -> Draft:
    """Return the worst-case alpha-RMSE by number of levels, both axes logarithmic, with rings where curves cross.

    Parameters
    ----------
    found : mapping of str to pair of (n,)
        By curve name: numbers of levels, and errors in records.
    crossings : iterable of pair of float
        Number of levels and error, in records.

    >>> one = {"laplace": (np.array([2.0, 1e6]), np.array([3.0, 3e6]))}
    >>> [trace["name"] for trace in growth_figure(one, [(9.0, 12.0)]).data]
    ['Laplace', 'crossing']
    """
    x = np.concatenate([np.array([2.0, 1e6]), *(levels for levels, _ in found.values())])
    y = limits([np.maximum(error, 0.1) for _, error in found.values()], log=True, default=(1.0, 1e6))
    traces = [
        _curve(points, LOOKS[name], CURVES[name].label, 3.5 if name == "tuned" else 2)
        for name, points in found.items()
        if np.isfinite(points[1]).any()
    ]
    places = np.array(sorted(crossings), dtype=float)
    if places.size:
        sides = ["bottom center"]  # numbers of neighbours stand on both sides of the curve
        for gap in np.diff(np.log10(places[:, 0])).tolist():
            sides.append("top center" if gap < CLOSE and sides[-1] == "bottom center" else "bottom center")
        told = [short(math.ceil(place), 2) for place in places[:, 0].tolist()]
        traces.append(_rings(places, 11, told, textposition=sides))
    fig = new_figure(
        traces,
        xaxis=axis("number of levels d", log=True, bounds=(float(x.min()) / 1.05, float(x.max()) * 1.05)),
        yaxis=axis("worst-case α-RMSE (records)", log=True, bounds=y, grid=True),
    )
    # On a narrow screen the twelve names of the legend stand one below the other and take half of this height.
    fig.update_layout(height=GROWTH_HEIGHT)
    return fig if n_levels is None else your_value_marker(fig, n_levels, marker_text)


FEW: Final = {
    "best": ("Best simple rule", "the smallest error of noise on every count, shrunk or not, and least squares"),
    "laplace": ("Laplace", "Laplace noise on every count, equal budgets"),
    "tuned": ("Thresholds", "large counts are found first, threshold by threshold; tuned plan"),
    "approximate_bound": ("Lower bound", "no mechanism does better on a binary tree"),
}
"""The four lines that decide: what each is called at its end, and what it means."""
MOST_DECADES: Final = 5
"""Numbers on the axis of `accuracy_bars` at most."""
LOW: Final = 0.08
"""Height of a name of 12 px in the lowest window, of that of the plot."""


def few_figure(
    found: Found, crossings: Iterable[tuple[float, float]] = (), *, n_levels: float | None = None, marker_text: str
) -> Draft:
    """Return the four lines of `ranking.deciding` by number of levels, named at their ends, with the turn ringed.

    >>> one = {"laplace": (np.array([2.0, 1e4]), np.array([3.0, 3e4]))}
    >>> [trace["name"] for trace in few_figure(one, [(9.0, 12.0)], marker_text="").data]
    ['Laplace', 'crossing: 9 levels']
    """
    looks = LOOKS | {"best": LOOKS["shrunk_optimal"], "approximate_bound": LOOKS["pure_bound"]}
    lines = {name: points for name, points in found.items() if np.isfinite(points[1]).any()}
    traces = [_curve(points, looks[name], FEW[name][0], 3, f": {FEW[name][1]}") for name, points in lines.items()]
    y = limits([np.maximum(error, 0.11) for _, error in lines.values()], log=True, default=(1.0, 1e4))
    turns = []
    for levels, error in crossings:
        told = f"crossing: {short(math.ceil(levels), 2)} levels"
        traces.append(_rings(np.array([[levels, error]]), 14, [""], told, cliponaxis=False))
        turns.append((told, GREY, error))
    fig = new_figure(
        traces,
        xaxis=axis("number of levels d", log=True, bounds=(2 / 1.05, 1e4 * 1.05)),
        yaxis=axis("worst-case α-RMSE (records)", log=True, bounds=y, grid=True),
    )
    ends = [(FEW[name][0], looks[name].colour, float(error[-1])) for name, (_, error) in lines.items()]
    name_ends(fig, [*ends, *turns], height=LOW, is_low=True)
    if n_levels is not None and n_levels <= 1e4:
        your_value_marker(fig, n_levels, marker_text)
    return fig


def accuracy_bars(table: Columns, *marks: float) -> Draft:
    """Return from which count on each mechanism keeps its promise, smallest first; a table of `accuracy_table`.

    `marks` are thresholds of one's own, the smallest and the largest.

    >>> table = {"mechanism": ["Laplace", "Gaussian"], "τ (records)": [30.0, math.nan]}
    >>> accuracy_bars(table).data[0]["text"]
    ['30', '–']
    """
    least = np.array(table["τ (records)"], dtype=float)
    names = [plot_text(name) for name in table["mechanism"]]
    low, high = limits([least, np.array(marks)], log=True, default=(1.0, 1000.0))
    lengths = bar(
        x=np.log10(np.where(np.isfinite(least), np.maximum(least, low), low) / low), y=names, orientation="h",
        text=alike(least.tolist()), textposition="outside", cliponaxis=False,
        marker={"color": [GREY if "bound" in name else BLUE if "hreshold" in name else ORANGE for name in names]},
        hovertemplate="%{y}: counts of %{text} and more<extra></extra>",
    )  # fmt: skip
    n = round(math.log10(high / low)) + 1
    decades = np.arange(0, n, -(-n // MOST_DECADES))  # more numbers would be tilted in a narrow window
    fig = new_figure(
        [lengths],
        xaxis=axis("least count kept (records)", log=False, bounds=(0.0, 1.06 * math.log10(high / low)))
        | {"tickvals": decades, "ticktext": [count_text(low * 10.0**k) for k in decades.tolist()]},
        yaxis={"autorange": "reversed", "automargin": True, "showgrid": False, "ticks": ""},
    )
    named = (("smallest τ", "right"), ("largest τ", "left")) if len(marks) > 1 else (("your τ", "left"),)
    line = {"dash": "dot", "color": GREY, "width": 1.5}
    for tau, (text, side) in zip(marks, named, strict=False):
        x = math.log10(tau / low)
        fig.add_shape(type="line", x0=x, x1=x, y0=0, y1=1, yref="paper", line=line)
        fig.add_annotation(
            x=x, y=1, yref="paper", xanchor=side, yanchor="bottom", text=plot_text(text), showarrow=False,
            font={"color": GREY},
        )  # fmt: skip
    return fig.update_layout(margin={"t": 28 if marks else 12}, bargap=0.3)


def _curve(points: tuple[FloatArray, FloatArray], look: Look, name: str, width: float, told: str = "") -> Trace:
    return scatter(
        x=points[0], y=np.where(points[1] > 0, points[1], np.nan), mode="lines", name=plot_text(name),
        line={"color": look.colour, "dash": look.dash, "width": width},
        hovertemplate="%{fullData.name}" + told
        + f"<br>{hover('x', 'short')} levels: {hover('y', 'short')} records<extra></extra>",
    )  # fmt: skip


def _rings(places: FloatArray, size: int, text: Sequence[str], name: str = "crossing", **more: object) -> Trace:
    return scatter(
        x=places[:, 0], y=places[:, 1], mode="markers+text", name=name, text=text,
        marker={"symbol": "circle-open", "size": size, "color": GREY, "line": {"width": 2}},
        hovertemplate=f"curves cross at about {hover('x', 'about')} levels<extra></extra>", **more,
    )  # fmt: skip


def labelled_tree(blocks: Blocks, values: Sequence[float]) -> Draft:
    """Return a tree whose blocks are coloured by the value they were given; `values` are all there are, none of a run.

    >>> one = np.ones(1)
    >>> blocks = Blocks(0 * one, one, 0 * one, one, 9 * one, 9 * one, 8 * one, np.array([2]))
    >>> [trace["name"] for trace in labelled_tree(blocks, [8.0, 3.0]).data]
    ['labelled']
    """
    done = np.isfinite(blocks.value)
    traces = [] if done.all() else [_bars(blocks, ~done, "no value yet", {"color": _UNLABELLED}, INK)]
    ticks = np.log10(1.0 + np.unique(np.array([*values] or [1.0])))
    low, high = float(ticks[0]), float(ticks[-1])
    low -= 0.12 * (high - low) or 0.5  # so that the smallest value is told from the background
    if ticks.size > 8:
        ticks = ticks[np.unique(np.linspace(0, ticks.size - 1, 8).round().astype(int))]
    if done.any():
        colours = {
            "color": np.log10(1.0 + blocks.value[done]),
            "colorscale": colour_scale(SEQUENTIAL),
            "cmin": low,
            "cmax": high,
            "colorbar": {
                "title": {"text": "released", "side": "top"}, "thickness": 12, "outlinewidth": 0,
                "tickvals": ticks, "ticktext": [short(10.0**tick - 1.0) for tick in ticks.tolist()],
            },
        }  # fmt: skip
        traces.append(_bars(blocks, done, "labelled", colours))
    wide, deep = float((blocks.left + blocks.width).max()), float((blocks.top + blocks.height).max())
    fig = new_figure(traces, xaxis={"visible": False, "range": [0, wide]}, yaxis=_levels_axis(deep))
    small = blocks.count.size <= TEXT_BLOCKS
    fig.update_layout(barmode="overlay", bargap=0, showlegend=False, margin={"t": 12})
    fig.update_layout(uniformtext={"mode": "hide", "minsize": 12})  # what does not fit is told on hovering
    return fig.update_layout(height=380 if small else 440)


def _levels_axis(deep: float) -> dict[str, Any]:
    plain = axis("level", log=False, bounds=(deep, 0.0))
    if deep > 12:
        return plain | {"showline": False}
    rows = np.arange(deep)
    return plain | {
        "tickvals": rows + 0.5, "ticktext": [whole(int(row)) for row in rows], "showline": False, "ticks": "",
    }  # fmt: skip


def _bars(blocks: Blocks, chosen: AnyArray, name: str, marker: dict[str, Any], ink: str | None = None) -> Trace:
    count, value, mark = blocks.count[chosen], blocks.value[chosen], blocks.mark[chosen]
    top, height = blocks.top[chosen], blocks.height[chosen]
    small = blocks.count.size <= TEXT_BLOCKS
    outline = {
        "color": np.array([_EDGE, BEFORE, BEFORE])[mark],
        "width": np.array([0.5 if small else 0.2, 1.5, 3.0 if small else 2.0])[mark],
    }
    given = [f"{short(v)}" if v == v else "no value yet" for v in value.tolist()]
    numbers = [count_text(n) if n == m else f"{count_text(n)} down to {count_text(m)}"
               for n, m in zip(count.tolist(), blocks.least[chosen].tolist(), strict=True)]  # fmt: skip
    spans = [f"level {whole(int(a))}" if h == 1 else f"levels {whole(int(a))} to {whole(int(a + h - 1))}"
             for a, h in zip(top.tolist(), height.tolist(), strict=True)]  # fmt: skip
    hover = [f"{s}<br>true count {n}<br>released {g}" for s, n, g in zip(spans, numbers, given, strict=True)]
    text = [f"{n}<br>→ {g}" if v == v else n for n, g, v in zip(numbers, given, value.tolist(), strict=True)]
    return bar(
        x=blocks.left[chosen], width=blocks.width[chosen], offset=0.0, base=top.tolist(), y=height, name=name,
        marker={**marker, "line": outline}, hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
        text=text if small else None, textposition="inside", insidetextanchor="middle", textangle=0,
        constraintext="both", insidetextfont=None if ink is None else {"color": ink},
    )  # fmt: skip


def thresholds_against(made: Run, rival: str) -> Draft:
    """Return released against true counts of one run, beside those of a simple rule."""
    nodes = made.nodes
    return true_and_released(
        nodes.truth, nodes.released, nodes.simple[rival].released, alpha=made.alpha, error=made.error,
        simple_name=SIMPLE[rival].label,
    )  # fmt: skip


def true_and_released(
    truth: FloatArray, released: FloatArray, simple: FloatArray, *, alpha: float, error: float | None, simple_name: str
) -> Draft:
    """Return released against true counts of two rules, with the band of errors that alpha forgives.

    Parameters
    ----------
    truth, released, simple : (n,)
        In records; of more than 400 nodes, 400 are drawn, the smallest and the largest among them.
    alpha : float
        The band is (1 - alpha) w to (1 + alpha) w.
    error : float or None
        Widens the band to a second one, by that many records.

    >>> y = np.array([0.0, 10.0])
    >>> fig = true_and_released(y, y, y, alpha=0.5, error=3.0, simple_name="Shrunk Gaussian")
    >>> [trace["name"] for trace in fig.data if trace.get("showlegend") is not False]
    ['α-band and error', 'α-band', 'Shrunk Gaussian', 'Thresholds']
    """
    at = drawn(truth)
    top = float(max(truth.max(initial=1.0), released.max(initial=1.0), simple.max(initial=1.0)))
    grid = np.concatenate([[0.0], np.geomspace(0.5, max(top, 1.0) * 1.3, 80)])
    traces = [] if error is None else _forgiven(grid, alpha, error, "α-band and error", 0.10)
    traces += _forgiven(grid, alpha, 0.0, "α-band", 0.22)
    traces.append(
        scatter(x=bent(grid), y=bent(grid), mode="lines", line={"color": GREY, "width": 1.5}, hoverinfo="skip",
                   showlegend=False)
    )  # fmt: skip
    for values, name, colour, symbol in (
        (simple, simple_name, BEFORE, "square-open"),
        (released, "Thresholds", AFTER, "circle"),
    ):
        traces.append(
            scatter(
                x=bent(truth[at]), y=bent(values[at]), mode="markers", name=plot_text(name),
                marker={"color": colour, "symbol": symbol, "size": 7, "opacity": 0.85},
                customdata=np.stack([truth[at], values[at]], axis=1),
                hovertemplate=f"%{{fullData.name}}<br>true {hover('customdata[0]', 'whole')}"
                f"<br>released {hover('customdata[1]', 'estimate')}<extra></extra>",
            )
        )  # fmt: skip
    return new_figure(
        traces,
        xaxis=_bent_axis("true count w (records; NOT PRIVATE)", float(truth.max(initial=1.0)) * 1.2),
        yaxis=_bent_axis("released (records)", top * 1.2) | {"showgrid": True},
    )


def _forgiven(grid: FloatArray, alpha: float, error: float, name: str, opacity: float) -> list[Any]:
    low, high = np.maximum((1.0 - alpha) * grid - error, 0.0), (1.0 + alpha) * grid + error
    bare: dict[str, Any] = {"x": bent(grid), "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fill = {"fill": "tonexty", "fillcolor": rgba(GREEN, opacity), "name": name, "showlegend": True}
    return [scatter(y=bent(low), showlegend=False, **bare), scatter(y=bent(high), **fill, **bare)]


def _bent_axis(title: str, high: float) -> dict[str, Any]:
    return axis(title, log=False, bounds=(-0.12, float(np.log10(1.0 + high)))) | bent_ticks(high)


def schedule_figure(table: Mapping[str, AnyArray], *, promised: float, chosen: int) -> Draft:
    """Return what a schedule's budgets sum to by number of rounds, beside what was promised, on a logarithmic axis.

    Parameters
    ----------
    table : mapping of str to (n,)
        "rounds", and what is "printed" and "corrected" for so many, in epsilon.

    >>> columns = {"rounds": np.array([1, 2]), "printed": np.array([0.1, 3.0]), "corrected": np.array([0.1, 0.2])}
    >>> schedule_figure(columns, promised=1.0, chosen=2).data[0]["name"]
    'as printed'
    """
    rounds, looks = (
        table["rounds"],
        (("printed", "as printed", BEFORE, "solid"), ("corrected", "corrected", AFTER, "dash")),
    )
    traces = [
        scatter(
            x=rounds, y=table[kind], mode="lines+markers", name=name, marker={"size": 6},
            customdata=[privacy_text(total) for total in table[kind].tolist()],
            line={"color": colour, "dash": dash, "width": 2.5},
            hovertemplate="%{fullData.name}<br>%{x} rounds: ε = %{customdata}<extra></extra>",
        )
        for kind, name, colour, dash in looks
    ]  # fmt: skip
    bounds = limits([*(table[kind] for kind, *_ in looks), np.array([promised])], log=True, default=(0.1, 10.0))
    fig = new_figure(
        traces,
        xaxis=axis("number of rounds ℓ", log=False, bounds=(0.0, float(rounds.max()) + 1.0)),
        yaxis=axis("sum of εᵢ over the rounds", log=True, bounds=bounds, grid=True),
    )
    fig.add_hline(y=promised, line={"color": GREY, "width": 2, "dash": "dot"})
    note = {"text": "promised ε", "showarrow": False, "font": {"color": GREY}}
    fig.add_annotation(x=1, xref="paper", y=float(np.log10(promised)), xanchor="right", yanchor="bottom", **note)
    return your_value_marker(fig, float(chosen), "your ℓ", log=False)


SUBTRACTED: Final = {
    "twice": ("Of errors only known", Look(GREEN, "dot", "circle")),
    "node": ("By subtraction", Look(GREEN, "solid", "circle")),
    "each": ("Each by itself", LOOKS["gaussian"]),
    "tree": ("Best for the tree", LOOKS["optimal"]),
    "least": ("Cumulative at least", LOOKS["pure_bound"]),
}
"""Lines of `subtraction_figure` by what they are of `Subtracted`, from the top."""


def subtraction_figure(
    found: Subtracted, sigma: float, n_levels: int, thresholds: tuple[FloatArray, FloatArray]
) -> Draft:
    """Return errors of the worst node by number of levels, in records, where one count by itself has noise `sigma`.

    Beside them stands the error of `thresholds` beyond a part of the count: numbers of levels (k,) and errors (k,).
    """
    x = found.n_levels.astype(float)
    lines = {name: (x, sigma * np.asarray(getattr(found, name))) for name in SUBTRACTED} | {"provable": thresholds}
    looks = {**SUBTRACTED, "provable": ("Thresholds, beyond α", LOOKS["provable"])}
    bounds = limits([error for _, error in lines.values()], log=True, default=(1.0, 100.0))
    bounds = bounds[0], 4.0 * bounds[1]  # room for what the marker of one's own levels says
    fig = new_figure(
        [
            _curve(lines[name], look, label, 3.0 if name in ("node", "tree", "provable") else 2.0)
            for name, (label, look) in looks.items()
        ],
        xaxis=axis("number of levels d", log=False, bounds=(2.0, float(x.max()))),
        yaxis=axis("error of the worst node (records)", log=True, bounds=bounds, grid=True) | {"dtick": 1},
    )
    ends = [(label, look.colour, float(lines[name][1][-1])) for name, (label, look) in looks.items()]
    name_ends(fig, ends, height=LOW, is_low=True)
    return your_value_marker(fig, n_levels, f"yours: {whole(n_levels)} levels", False) if n_levels <= x.max() else fig


def forgiven_figure(table: Columns) -> Draft:
    """Return which error of a node leaves no α-RMSE of what was released: a table of `forgiven_table`."""
    records, *columns = (np.array(column, dtype=float) for column in table.values())
    looks = (("Directly", LOOKS["optimal"]), ("By subtraction", SUBTRACTED["node"][1]))
    low, high = limits(columns, log=True, default=(1.0, 1e4))
    return new_figure(
        [
            scatter(
                x=records, y=np.where(values > 0, values, np.nan), mode="lines", name=name,
                line={"color": look.colour, "dash": look.dash, "width": 3},
                hovertemplate=f"{name}: {hover('y', 'short')} of {hover('x', 'short')} records<extra></extra>",
            )
            for (name, look), values in zip(looks, columns, strict=True)
        ],
        xaxis=axis("records of the node", log=True, bounds=(1.0, float(records.max()))),
        yaxis=axis("off without any α-RMSE (records)", log=True, bounds=(low, 2.0 * high), grid=True),
    )  # fmt: skip
