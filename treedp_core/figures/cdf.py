"""CDFs: one release beside the truth, error curves of whole pipelines, and what consistency and better trees gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.curves import LEFT, RIGHT
from treedp_core.figures.base.draft import Draft, Trace, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    ROW,
    SKY,
    VIOLET,
    Look,
    axis,
    limits,
    new_figure,
    your_value_marker,
)
from treedp_core.figures.base.text import plot_text
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.cdf.bands import Reach
from treedp_core.studies.cdf.compare import BINARY, EQUAL, HISTOGRAM, YOURS, Width
from treedp_core.studies.cdf.experiment import Gain
from treedp_core.studies.cdf.matrices.workload import terms_of, text_of
from treedp_core.studies.cdf.pipelines import PipelineCurve
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import Z95, hover, margin, privacy_text, ratio, short

MAX_SLICES: Final = 700
LOOKS: Final = {
    "tree": Look(BLUE, "solid", "circle"),
    "tree, least squares": Look(BLUE, "dot", "circle-open"),
    "best": Look(BLUE, "longdash", "star"),
    "binary": Look(ORANGE, "dash", "square"),
    "histogram": Look(GREEN, "dot", "diamond"),
    "range queries": Look(PINK, "dashdot", "cross"),
    "Gaussian tree": Look(SKY, "dash", "star"),
    "matrix": Look(VIOLET, "solid", "hexagon"),
    "bound": Look(GREY, "solid", "line-ew-open"),
    "bound, δ": Look(GREY, "dash", "line-ew-open"),
}
"""The identity of every kind of pipeline; anything else is grey."""


@dataclass(frozen=True, eq=False)
class CdfLines:
    """One release of cumulative counts; arrays are (K,).

    Parameters
    ----------
    edges : (K + 1,)
        Of the bins, ascending, in the column's unit.
    truth, noisy : (K,)
    consistent : (K,) or None
    band : pair of (K,) or None
        Low and high, holding everywhere at once.
    truth_name : str
        What the exact counts are called.
    """

    edges: FloatArray
    truth: AnyArray
    noisy: AnyArray
    consistent: AnyArray | None = None
    band: tuple[AnyArray, AnyArray] | None = None
    truth_name: str = "true"


def band_figure(
    lines: CdfLines, widths: Sequence[Width], *, x_title: str, chosen: tuple[float, float] | None = None
) -> Draft:
    """Return half widths of bands by value, and above them the cumulative counts with the band of one's own.

    Next to a CDF a band of every tree is a stroke: how far it reaches is seen on an axis of its own. The chosen range
    is shaded. Many bins are thinned to the extremes in each of 700 slices. Where ranges of one's own were asked for,
    each stands at what its answer is off by at most, from its first bin to its last.

    >>> one = CdfLines(np.array([0.0, 1.0, 2.0]), np.array([3, 5]), np.array([4.0, 5.0]), np.array([4, 5]))
    >>> fig = band_figure(one, [Width("yours", "2", np.array([2.5, 0.0]))], x_title="age").figure()
    >>> [(trace.name, trace.yaxis) for trace in fig.data]
    [('true (NOT PRIVATE)', 'y2'), ('noisy', 'y2'), ('consistent', 'y2'), ('yours (2) ± 2.5', None)]
    """
    at = thinned(lines.noisy)
    x = _places(lines, at)
    traces = _band(lines, at, x) if lines.band is not None else []
    traces += [
        _line(x, lines.truth, at, of_truth(lines.truth_name), GREY, "solid", width=4.0),
        _line(x, lines.noisy, at, "noisy", BEFORE, "dot", width=1.5),
    ]
    if lines.consistent is not None:
        traces.append(_line(x, lines.consistent, at, "consistent", AFTER, "solid", width=2.0))
    above = [trace | {"yaxis": "y2"} for trace in traces]
    top = limits([one.half if one.own is None else one.own.each for one in widths], log=False, default=(0.0, 1.0))
    below = [_width(lines, one) if one.own is None else _own_width(lines, one, one.own) for one in widths]
    fig = new_figure(
        [*above, *below],
        xaxis=axis(x_title, log=False, bounds=_bounds(lines)),
        yaxis=axis("± records (95 %)", log=False, bounds=top, grid=True) | {"domain": BELOW},
    )
    fig.update_layout(
        yaxis2=axis("records", log=False, bounds=_cdf_bounds(lines), grid=True)
        | {"domain": ABOVE, "anchor": "x", "nticks": 4},
        legend2={**fig.layout["legend"], "y": BELOW[1] + 0.01},
    )
    return _shade(fig, chosen)


BELOW: Final = (0.0, 0.5)
ABOVE: Final = (0.73, 1.0)
MAX_WAY: Final = 14
"""Characters up to which the legend says what noise is put on: three entries stand in one line of a narrow window."""
WIDTH_LOOKS: Final = {
    YOURS: Look(AFTER, "solid", ""), EQUAL: Look(PINK, "dashdot", ""), BINARY: LOOKS["binary"],
    HISTOGRAM: LOOKS["histogram"],
}  # fmt: skip


def _width(lines: CdfLines, one: Width) -> Trace:
    at = thinned(one.half)
    line = _line(_places(lines, at), one.half, at, "", GREY, "solid", width=2.0)
    told = f"%{{fullData.name}}<br>up to {hover('x', 'exact')}: ± {hover('y', 'estimate')}<extra></extra>"
    return line | _look_of(one) | {"hovertemplate": told}


def _own_width(lines: CdfLines, one: Width, own: Reach) -> Trace:
    """Each range as a stroke from its first bin to its last; a weighted sum has several at one height."""
    x, y, said = list[float | None](), list[float | None](), list[str]()
    for asked, off in zip(own.ranges, own.each.tolist(), strict=True):
        for first, stop, _ in terms_of(asked):
            x += [float(lines.edges[first - 1]), float(lines.edges[stop]), None]
            y += [off, off, None]
            said += [text_of(asked)] * 3
    told = f"%{{fullData.name}}<br>bins %{{customdata}}: ± {hover('y', 'estimate')} by itself<extra></extra>"
    ends = {"size": 5, "color": WIDTH_LOOKS[one.name].colour}
    return scatter(x=x, y=y, customdata=said, mode="lines+markers", marker=ends, hovertemplate=told) | _look_of(one)


def _look_of(one: Width) -> Trace:
    look = WIDTH_LOOKS[one.name]
    tree = f" ({one.way})" if one.name == YOURS and len(one.way) <= MAX_WAY else ""
    return {
        "name": plot_text(f"{one.name}{tree} ± {margin(one.asked)}"),
        "line": {"color": look.colour, "dash": look.dash, "width": 3.0 if one.name == YOURS else 2.0},
        "legend": "legend2",
    }


def _places(lines: CdfLines, at: AnyArray) -> AnyArray:
    """Where the curves have their points."""
    return np.concatenate([lines.edges[:1], lines.edges[at + 1]])


def _bounds(lines: CdfLines) -> tuple[float, float]:
    return float(lines.edges[0]), float(lines.edges[-1])


def _shade(fig: Draft, chosen: tuple[float, float] | None) -> Draft:
    if chosen is not None:
        fig.add_shape(
            type="rect", x0=chosen[0], x1=chosen[1], y0=0, y1=1, yref="paper", fillcolor=rgba(PINK, 0.18),
            line={"width": 0}, layer="below",
        )  # fmt: skip
    return fig


def _cdf_bounds(lines: CdfLines) -> tuple[float, float]:
    """Limits that hold the CDFs; noise makes them wider only where one would see it."""
    slack = 0.05 * float(lines.truth[-1])
    low, high = float(lines.noisy.min()), float(lines.noisy.max())
    seen = np.array([low if low < -slack else 0.0, high if high > float(lines.truth[-1]) + slack else 0.0])
    return limits([lines.truth, lines.consistent, seen], log=False, default=(0.0, 1.0))


def cdf_errors(lines: CdfLines, *, x_title: str, chosen: tuple[float, float] | None = None) -> Draft:
    """Return how far the noisy and the consistent cumulative counts are off, with the band, minus the true counts.

    >>> one = CdfLines(np.array([0.0, 1.0, 2.0]), np.array([3, 5]), np.array([4.0, 5.0]), np.array([4, 5]))
    >>> cdf_errors(one, x_title="age").figure().data[0].y.tolist()
    [0.0, 1.0, 0.0]
    """
    at = thinned(lines.noisy - lines.truth)
    off = CdfLines(
        lines.edges,
        np.zeros(lines.truth.size),
        lines.noisy - lines.truth,
        None if lines.consistent is None else lines.consistent - lines.truth,
        None if lines.band is None else (lines.band[0] - lines.truth, lines.band[1] - lines.truth),
    )
    x = _places(off, at)
    traces = _band(off, at, x) if off.band is not None else []
    traces.append(_line(x, off.noisy, at, f"noisy − {lines.truth_name}", BEFORE, "dot", width=1.5))
    if off.consistent is not None:
        traces.append(_line(x, off.consistent, at, f"consistent − {lines.truth_name}", AFTER, "solid", width=2.0))
    bounds = limits([off.noisy, off.consistent, *(off.band or ())], log=False, default=(-1.0, 1.0))
    fig = new_figure(
        traces,
        xaxis=axis(x_title, log=False, bounds=_bounds(off)),
        yaxis=axis("error (records)", log=False, bounds=bounds, grid=True),
    )
    fig.add_hline(y=0, line={"color": GREY, "width": 2})
    return _shade(fig, chosen).update_layout(height=300)


def thinned(values: AnyArray) -> IntArray:
    """Return the positions of values (n,) to draw: all, or of each slice its last, smallest and largest value.

    >>> thinned(np.array([1.0, 5.0, 3.0])).tolist(), len(thinned(np.zeros(10**6))) <= 3 * 700
    ([0, 1, 2], True)
    """
    if values.size <= 3 * MAX_SLICES:
        return np.arange(values.size)
    width = -(-values.size // MAX_SLICES)
    n = -(-values.size // width)
    padded = np.concatenate([values, np.full(n * width - values.size, values[-1])]).reshape(n, width)
    starts = np.arange(n) * width
    ends = np.minimum(starts + width, values.size) - 1
    picked = np.concatenate([starts + padded.argmin(axis=1), starts + padded.argmax(axis=1), ends])
    return np.unique(np.minimum(picked, values.size - 1))


def _line(x: FloatArray, values: AnyArray, at: IntArray, name: str, colour: str, dash: str, *, width: float) -> Trace:
    y = np.concatenate([[0.0], np.asarray(values[at], dtype=float)])
    return scatter(
        x=x, y=y, mode="lines", name=name, line={"color": colour, "dash": dash, "width": width},
        hovertemplate=f"%{{fullData.name}}<br>up to {hover('x', 'exact')}: {hover('y', 'estimate')}<extra></extra>",
    )  # fmt: skip


def _band(lines: CdfLines, at: IntArray, x: FloatArray) -> list[Trace]:
    assert lines.band is not None
    low, high = (np.concatenate([[0.0], np.asarray(end[at], dtype=float)]) for end in lines.band)
    bare: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    filled = {"fill": "tonexty", "fillcolor": rgba(AFTER, 0.24), "name": "95 % band", "showlegend": True}
    return [scatter(y=low, showlegend=False, **bare), scatter(y=high, **filled, **bare)]


WORST_SHOWN: Final = 5.0
"""How many times the least the bars at your epsilon reach at most; what is worse is cut there, and keeps its number."""


def pipeline_figure(curves: Sequence[PipelineCurve], epsilon: float, y_title: str = "RMSE (records)") -> Draft:
    """Return error curves of pipelines, both axes logarithmic, and beside them their errors at one epsilon, ranked.

    >>> x = np.array([0.1, 1.0])
    >>> two = [PipelineCurve("Histogram", "histogram", x, 4 / x), PipelineCurve("Tree", "tree", x, 3 / x)]
    >>> fig = pipeline_figure(two, 1.0).figure()
    >>> fig.data[0].line.color, fig.data[-1].x.tolist(), [one.text for one in fig.layout.annotations[1:]]
    ('#009E73', [3.0, 4.0], ['Tree: 3', 'Histogram: 4'])
    """
    x = np.concatenate([c.x for c in curves])
    fig = new_figure(
        [_curve(c) for c in curves],
        xaxis=axis("privacy budget ε", log=True, bounds=(float(x.min()) / 1.05, float(x.max()) * 1.05)),
        yaxis=axis(
            y_title, log=True,
            bounds=limits([c.y for c in curves], log=True, default=(1, 1000)), grid=True,
        ),
    )  # fmt: skip
    your_value_marker(fig, epsilon)
    at = [(float(c.y[c.x.tolist().index(epsilon)]), c) for c in curves]
    at.sort(key=lambda one: one[0])
    top = min(WORST_SHOWN * at[0][0], at[-1][0]) * 1.04
    fig.update_layout(
        xaxis={"domain": list(LEFT)},
        showlegend=False,
        xaxis2={
            **axis("the same at your ε (records)", log=False, bounds=(0.0, top)),
            "domain": list(RIGHT),
            "anchor": "y2",
        },
        yaxis2={"visible": False, "range": [len(at) - 0.6, -0.8], "anchor": "x2"},
    )
    rows = [(curve.label, error, _look(curve)) for error, curve in at]
    return _ranked(fig, rows, start=0.0, top=top, axes="x2 y2").update_layout(margin={"t": 12})


def _ranked(
    fig: Draft,
    rows: Sequence[tuple[str, float, Look]],
    *,
    start: float,
    top: float,
    axes: str = "x y",
    beside: bool = False,
    told: Callable[[float], str] = short,
) -> Draft:
    """Add a line with a dot at its end for each value, the first on top, named above or `beside` it; cut at the top."""
    xref, yref = axes.split()
    for row, (name, value, look) in enumerate(rows):
        fig.add_shape(
            type="line", x0=start, x1=min(value, top), y0=row, y1=row, xref=xref, yref=yref, layer="below",
            line={"color": look.colour, "width": 3},
        )  # fmt: skip
        fig.add_annotation(
            name=ROW, x=min(value, top) if beside else start, y=row, xref=xref, yref=yref, xanchor="left",
            showarrow=False,
            text=f"{plot_text(name)}: {told(value)}{' →' if value > top else ''}",
            **({"yanchor": "middle", "xshift": 9} if beside else {"yanchor": "bottom", "xshift": 4, "yshift": 4}),
        )  # fmt: skip
    marker = {"size": 9, "color": [look.colour for *_, look in rows], "symbol": [look.symbol for *_, look in rows]}
    return fig.add_trace(
        scatter(
            x=np.array([min(value, top) for _, value, _ in rows]), y=np.arange(len(rows), dtype=float), mode="markers",
            marker=marker, xaxis=xref, yaxis=yref, showlegend=False, cliponaxis=False,
            hovertext=[f"{plot_text(name)}: {told(value)}" for name, value, _ in rows], hoverinfo="text",
        )
    )  # fmt: skip


def _look(curve: PipelineCurve) -> Look:
    return LOOKS.get(curve.kind, Look(GREY, "dot", "x"))


def _curve(curve: PipelineCurve) -> Trace:
    look = _look(curve)
    return scatter(
        x=curve.x, y=curve.y, mode="lines+markers", name=plot_text(curve.label),
        customdata=[privacy_text(x) for x in curve.x.tolist()],
        line={"color": look.colour, "dash": look.dash, "width": 2.5},
        marker={"symbol": look.symbol, "color": look.colour, "size": 7},
        hovertemplate=f"%{{fullData.name}}<br>ε = %{{customdata}}: {hover('y', 'short')}<extra>formula</extra>",
    )  # fmt: skip


def gain_figure(gains: Sequence[Gain], *, x_title: str) -> Draft:
    """Return dumbbells: each pipeline's distance from the true CDF before and after consistency, the first on top.

    >>> fig = gain_figure([Gain("paper", 18.54, 0.0, 10.72, 0.0)], x_title="distance").figure()
    >>> [trace.name for trace in fig.data if trace.mode == "markers"]
    ['as released', 'made consistent']
    """
    labels = [plot_text(one.label, 60) for one in gains]
    rows = np.arange(len(gains), dtype=float)
    before, after = (np.array([getattr(one, name) for one in gains]) for name in ("before", "after"))
    joints = np.full(3 * len(gains), np.nan)
    joints[0::3], joints[1::3] = before, after
    bars = scatter(
        x=joints, y=np.repeat(rows, 3), mode="lines", line={"color": GREY, "width": 3}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    dots = [
        _dots(values, rows, np.array([getattr(one, se) for one in gains]), name, colour, symbol)
        for values, se, name, colour, symbol in (
            (before, "before_se", "as released", BEFORE, "square"),
            (after, "after_se", "made consistent", AFTER, "circle"),
        )
    ]
    ends = [1.05 * (one.before + Z95 * one.before_se) for one in gains]
    high = limits([np.array(ends)], log=False, default=(0.0, 1.0))[1]
    fig = new_figure([bars, *dots], xaxis=axis(x_title, log=False, bounds=(0.0, high)))
    fig.update_xaxes(showgrid=True)
    fig.update_yaxes(
        tickvals=rows, ticktext=labels, range=[len(gains) - 0.4, -0.6], automargin=True, showgrid=False, zeroline=False
    )
    return fig.update_layout(height=110 + 58 * len(gains))


def _dots(x: FloatArray, y: FloatArray, se: FloatArray, name: str, colour: str, symbol: str) -> Trace:
    bars = {"type": "data", "array": Z95 * se, "color": colour, "thickness": 1.5}
    return scatter(
        x=x, y=y, mode="markers", name=name, error_x=bars, marker={"color": colour, "symbol": symbol, "size": 12},
        hovertemplate=f"%{{fullData.name}}: {hover('x', 'short')}<extra></extra>",
    )  # fmt: skip


LONGEST: Final = 0.6
"""Of the axis: the rest is for the name of the longest bar."""


def ratio_bars(labels: Sequence[str], ratios: Sequence[float], *, x_title: str) -> Draft:
    """Return bars of ratios to a lower bound, which is at 1, the first on top; what is beyond the axis is cut there.

    >>> ratio_bars(["binary"], [1.28], x_title="mean variance").layout["annotations"][0]["text"]
    'binary: 1.28'
    """
    top = 1.0 + 1.04 * (min(WORST_SHOWN, max(ratios)) - 1.0 or 1.0)
    fig = new_figure([], xaxis=axis(x_title, log=False, bounds=(1.0, 1.0 + (top - 1.0) / LONGEST)))
    fig.update_yaxes(visible=False, range=[len(ratios) - 0.6, -0.6])
    own = Look(AFTER, "solid", "circle")
    rows = [(name, value, own) for name, value in zip(labels, ratios, strict=True)]
    return _ranked(fig, rows, start=1.0, top=top, beside=True, told=ratio).update_layout(margin={"t": 4, "b": 4})
