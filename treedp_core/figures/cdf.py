"""CDFs: one release beside the truth, error curves of whole pipelines, and what consistency and better trees gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.colour import rgba
from treedp_core.figures.style import (
    AFTER,
    BEFORE,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    Look,
    axis,
    limits,
    new_figure,
    your_value_marker,
)
from treedp_core.figures.text import plot_text
from treedp_core.studies.cdf.gains import Gain
from treedp_core.studies.cdf.pipelines import PipelineCurve
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import privacy_text, short

MAX_SLICES: Final = 700
LOOKS: Final = {
    "tree": Look(BLUE, "solid", "circle"),
    "tree, least squares": Look(BLUE, "dot", "circle-open"),
    "best": Look(BLUE, "longdash", "star"),
    "binary": Look(ORANGE, "dash", "square"),
    "histogram": Look(GREEN, "dot", "diamond"),
    "range queries": Look(PINK, "dashdot", "cross"),
}
"""The identity of every kind of pipeline; anything else is grey."""


@dataclass(frozen=True, eq=False)
class CdfLines:
    """One release of cumulative counts; arrays are (K,).

    Parameters
    ----------
    edges : (K + 1,)
        Ascending; the last is infinite where a last bin holds what lies outside the bounds.
        Of the bins, in the column's unit.
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


def cdf_figure(lines: CdfLines, *, x_title: str, chosen: tuple[float, float] | None = None) -> go.Figure:
    """Return true, noisy and consistent cumulative counts, with a band, and the chosen range shaded.

    Large CDFs are thinned to the extremes of the noisy counts in each of 700 slices.

    >>> one = CdfLines(np.array([0.0, 1.0, 2.0]), np.array([3, 5]), np.array([4.0, 5.0]), np.array([4, 5]))
    >>> [trace.name for trace in cdf_figure(one, x_title="age").data]
    ['true (NOT PRIVATE)', 'noisy', 'consistent']
    """
    at = thinned(lines.noisy)
    x = _places(lines, at)
    traces = _band(lines, at, x) if lines.band is not None else []
    traces += [
        _line(x, lines.truth, at, f"{lines.truth_name} (NOT PRIVATE)", GREY, "solid", 4.0),
        _line(x, lines.noisy, at, "noisy", BEFORE, "dot", 1.5),
    ]
    if lines.consistent is not None:
        traces.append(_line(x, lines.consistent, at, "consistent", AFTER, "solid", 2.0))
    fig = new_figure(
        traces,
        xaxis=axis(x_title, log=False, bounds=_bounds(lines)),
        yaxis=axis("records up to here", log=False, bounds=_cdf_bounds(lines), grid=True),
    )
    return _shade(fig, chosen)


def _places(lines: CdfLines, at: AnyArray) -> AnyArray:
    """Where the curves have their points; nowhere for records outside the bounds."""
    x = np.concatenate([lines.edges[:1], lines.edges[at + 1]])
    return np.where(np.isfinite(x), x, np.nan)


def _bounds(lines: CdfLines) -> tuple[float, float]:
    finite = lines.edges[np.isfinite(lines.edges)]
    return float(finite[0]), float(finite[-1])


def _shade(fig: go.Figure, chosen: tuple[float, float] | None) -> go.Figure:
    if chosen is not None:
        fig.add_vrect(x0=chosen[0], x1=chosen[1], fillcolor=rgba(PINK, 0.18), line_width=0, layer="below")
    return fig


def _cdf_bounds(lines: CdfLines) -> tuple[float, float]:
    """Limits that hold the CDFs; noise makes them wider only where one would see it."""
    slack = 0.05 * float(lines.truth[-1])
    low, high = float(lines.noisy.min()), float(lines.noisy.max())
    seen = np.array([low if low < -slack else 0.0, high if high > float(lines.truth[-1]) + slack else 0.0])
    return limits([lines.truth, lines.consistent, seen], log=False, default=(0.0, 1.0))


def cdf_errors(lines: CdfLines, *, x_title: str, chosen: tuple[float, float] | None = None) -> go.Figure:
    """Return how far the noisy and the consistent cumulative counts are off, with the band, minus the true counts.

    >>> one = CdfLines(np.array([0.0, 1.0, 2.0]), np.array([3, 5]), np.array([4.0, 5.0]), np.array([4, 5]))
    >>> cdf_errors(one, x_title="age").data[0].y.tolist()
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
    traces.append(_line(x, off.noisy, at, f"noisy − {lines.truth_name}", BEFORE, "dot", 1.5))
    if off.consistent is not None:
        traces.append(_line(x, off.consistent, at, f"consistent − {lines.truth_name}", AFTER, "solid", 2.0))
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


def _line(x: FloatArray, values: AnyArray, at: IntArray, name: str, colour: str, dash: str, width: float) -> go.Scatter:
    y = np.concatenate([[0.0], np.asarray(values[at], dtype=float)])
    return go.Scatter(
        x=x, y=y, mode="lines", name=name, line={"color": colour, "dash": dash, "width": width},
        hovertemplate="%{fullData.name}<br>up to %{x:,.6~g}: %{y:,.1f}<extra></extra>",
    )  # fmt: skip


def _band(lines: CdfLines, at: IntArray, x: FloatArray) -> list[go.Scatter]:
    assert lines.band is not None
    low, high = (np.concatenate([[0.0], np.asarray(end[at], dtype=float)]) for end in lines.band)
    bare: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    filled = {"fill": "tonexty", "fillcolor": rgba(AFTER, 0.24), "name": "95 % band", "showlegend": True}
    return [go.Scatter(y=low, showlegend=False, **bare), go.Scatter(y=high, **filled, **bare)]


def pipeline_curves(curves: Sequence[PipelineCurve], *, y_title: str, marker_x: float | None = None) -> go.Figure:
    """Return error curves of pipelines over epsilon, both axes logarithmic.

    >>> one = PipelineCurve("Histogram", "histogram", np.array([0.1, 1.0]), np.array([400.0, 4.0]))
    >>> pipeline_curves([one], y_title="error").data[0].line.color
    '#009E73'
    """
    x = np.concatenate([c.x for c in curves])
    fig = new_figure(
        [_curve(c) for c in curves],
        xaxis=axis(
            "privacy budget ε (more private ← → more accurate)", log=True,
            bounds=(float(x.min()) / 1.05, float(x.max()) * 1.05),
        ),
        yaxis=axis(y_title, log=True, bounds=limits([c.y for c in curves], log=True, default=(1, 1000)), grid=True),
    )  # fmt: skip
    return fig if marker_x is None else your_value_marker(fig, marker_x)


def _curve(curve: PipelineCurve) -> go.Scatter:
    look = LOOKS.get(curve.kind, Look(GREY, "dot", "x"))
    return go.Scatter(
        x=curve.x, y=curve.y, mode="lines+markers", name=plot_text(curve.label),
        customdata=[privacy_text(x) for x in curve.x.tolist()],
        line={"color": look.colour, "dash": look.dash, "width": 2.5},
        marker={"symbol": look.symbol, "color": look.colour, "size": 7},
        hovertemplate="%{fullData.name}<br>ε = %{customdata}: %{y:,.3~r}<extra>formula</extra>",
    )  # fmt: skip


def gain_figure(gains: Sequence[Gain], *, x_title: str) -> go.Figure:
    """Return dumbbells: each pipeline's distance from the true CDF before and after consistency, the first on top.

    >>> fig = gain_figure([Gain("paper", 18.54, 0.0, 10.72, 0.0)], x_title="distance")
    >>> [trace.name for trace in fig.data if trace.mode == "markers"]
    ['as released', 'made consistent']
    """
    labels = [plot_text(one.label, 60) for one in gains]
    rows = np.arange(len(gains), dtype=float)
    before, after = (np.array([getattr(one, name) for one in gains]) for name in ("before", "after"))
    joints = np.full(3 * len(gains), np.nan)
    joints[0::3], joints[1::3] = before, after
    bars = go.Scatter(
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
    ends = [1.05 * (one.before + 1.96 * one.before_se) for one in gains]
    high = limits([np.array(ends)], log=False, default=(0.0, 1.0))[1]
    fig = new_figure([bars, *dots], xaxis=axis(x_title, log=False, bounds=(0.0, high)))
    fig.update_xaxes(showgrid=True)
    fig.update_yaxes(
        tickvals=rows, ticktext=labels, range=[len(gains) - 0.4, -0.6], automargin=True, showgrid=False, zeroline=False
    )
    return fig.update_layout(height=110 + 58 * len(gains))


def _dots(x: FloatArray, y: FloatArray, se: FloatArray, name: str, colour: str, symbol: str) -> go.Scatter:
    bars = {"type": "data", "array": 1.96 * se, "color": colour, "thickness": 1.5}
    return go.Scatter(
        x=x, y=y, mode="markers", name=name, error_x=bars, marker={"color": colour, "symbol": symbol, "size": 12},
        hovertemplate="%{fullData.name}: %{x:,.4~g}<extra></extra>",
    )  # fmt: skip


def ratio_bars(labels: Sequence[str], ratios: Sequence[float], *, x_title: str) -> go.Figure:
    """Return bars of ratios to a lower bound, which is at 1, the first on top, on a logarithmic axis.

    >>> ratio_bars(["binary"], [1.28], x_title="mean variance").data[0].text.tolist()
    ['1.28']
    """
    x = np.array(ratios, dtype=float)
    rows = np.arange(x.size, dtype=float)
    bars = go.Scatter(
        x=x, y=rows, mode="markers+text", text=np.array([short(value) for value in ratios], dtype=object),
        textposition="middle right", marker={"size": 12, "color": AFTER}, showlegend=False,
        hovertemplate="%{y}: %{x:.4~g} times the bound<extra></extra>",
    )  # fmt: skip
    fig = new_figure([bars], xaxis=axis(x_title, log=True, bounds=(0.9, float(x.max()) * 1.6)))
    for row, value in zip(rows.tolist(), x.tolist(), strict=True):
        fig.add_shape(type="line", x0=1, x1=value, y0=row, y1=row, line={"color": AFTER, "width": 3}, layer="below")
    fig.update_yaxes(
        tickvals=rows, ticktext=[plot_text(label, 60) for label in labels], range=[x.size - 0.4, -0.6], automargin=True
    )
    your_value_marker(fig, 1.0, "lower bound")
    return fig.update_layout(height=110 + 40 * x.size)
