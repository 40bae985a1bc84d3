"""Top-down releases: largest errors under their bound, spurious and lost nodes, bias by count, rules side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.curves import Z95
from treedp_core.figures.style import AFTER, BEFORE, GREY, axis, limits, new_figure
from treedp_core.figures.text import count_text, plot_text
from treedp_core.tree import AnyArray, FloatArray

LOOKS: Final = (
    ("#0072B2", "circle", "solid"),
    ("#D55E00", "square", "dash"),
    ("#009E73", "diamond", "dot"),
    ("#CC79A7", "cross", "dashdot"),
    ("#7A7A7A", "x", "longdash"),
    ("#E69F00", "triangle-up", "longdashdot"),
    ("#56B4E9", "star", "solid"),
)
"""Colour, marker and dash of the compared series, in their order."""


@dataclass(frozen=True, eq=False)
class BiasLine:
    """Mean error by size of the true count, with standard errors; arrays are (n_sizes,), nan where there is none."""

    label: str
    mean: FloatArray
    se: FloatArray


@dataclass(frozen=True, eq=False)
class Dot:
    """One row of a comparison: a mean and its standard error."""

    label: str
    mean: float
    se: float
    highlight: bool = False


def error_under_bound(
    level_names: Sequence[str],
    observed: FloatArray,
    bound: FloatArray,
    exact: FloatArray,
    *,
    confidence: float,
    bound_applies: bool = True,
    stale: bool = False,
) -> go.Figure:
    """Return the largest error of each level of one release below what theory allows.

    Parameters
    ----------
    observed, bound, exact : (n_levels,)
        Largest absolute error; Theorem 1's bound; the same bound by exact tails. All in records.
    confidence : float
        With which the bounds hold for each level.
    bound_applies : bool
        Else the bounds are drawn dotted, as those of another way.

    >>> fig = error_under_bound(
    ...     ["all", "a"], np.array([0.0, 3.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]), confidence=0.95
    ... )
    >>> [trace.name for trace in fig.data]
    ['Theorem 1, 95 %', 'by exact tails, 95 %', 'largest error (NOT PRIVATE)']
    """
    x = np.arange(len(level_names), dtype=np.float64)
    sure = f"{100 * confidence:g} %"
    dash = "solid" if bound_applies else "dot"
    names = [plot_text(name, 40) for name in level_names]
    traces: list[Any] = [
        _steps(x, bound, f"Theorem 1, {sure}", BEFORE, dash, names),
        _steps(x, exact, f"by exact tails, {sure}", AFTER, dash, names),
        go.Scatter(
            x=x, y=observed, mode="markers", name="largest error (NOT PRIVATE)", text=names,
            opacity=0.5 if stale else 1.0, marker={"color": GREY if stale else "#009E73", "size": 12},
            hovertemplate="%{text}<br>%{y:,.4~g} records<extra>largest error</extra>",
        ),
    ]  # fmt: skip
    high = limits([observed, bound, exact], log=False, default=(0.0, 1.0))[1]
    return new_figure(
        traces,
        xaxis=_levels(level_names),
        yaxis=axis("largest error (records)", log=False, bounds=(-0.02 * high, high), grid=True),
    )


def _steps(x: FloatArray, y: FloatArray, name: str, colour: str, dash: str, names: list[str]) -> go.Scatter:
    gap = np.full(x.size, np.nan)
    return go.Scatter(
        x=np.column_stack([x - 0.35, x, x + 0.35, gap]).ravel(), y=np.column_stack([y, y, y, gap]).ravel(),
        mode="lines", name=name, line={"color": colour, "width": 3, "dash": dash},
        text=[one for one in names for _ in range(4)],
        hovertemplate="%{text}<br>%{y:,.4~g} records<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def spurious_and_lost(level_names: Sequence[str], spurious: AnyArray, lost: AnyArray) -> go.Figure:
    """Return bars by level (n_levels,): nodes without records that a release fills, nodes with records that it empties.

    >>> fig = spurious_and_lost(["all", "a"], np.array([0, 2]), np.array([0, 1]))
    >>> [(trace.name, trace.y.tolist()) for trace in fig.data]
    [('spurious (false positives)', [0.0, 2.0]), ('lost (false negatives)', [0.0, 1.0])]
    """
    x = np.arange(len(level_names), dtype=np.float64)
    names = [plot_text(name, 40) for name in level_names]
    traces = [
        go.Bar(
            x=x + shift, y=np.asarray(values, dtype=float), width=0.36, name=name,
            marker={"color": colour, "pattern": {"shape": pattern}}, customdata=names,
            text=[count_text(v) for v in np.asarray(values).tolist()], textposition="outside", cliponaxis=False,
            hovertemplate="%{customdata}: %{y:,} nodes<extra>%{fullData.name}</extra>",
        )
        for values, shift, name, colour, pattern in (
            (spurious, -0.19, "spurious (false positives)", BEFORE, ""),
            (lost, 0.19, "lost (false negatives)", AFTER, "/"),
        )
    ]  # fmt: skip
    high = limits([1.08 * np.asarray(spurious, dtype=float), 1.08 * np.asarray(lost, dtype=float)], log=False,
                  default=(0.0, 1.0))[1]  # fmt: skip
    return new_figure(
        traces, xaxis=_levels(level_names), yaxis=axis("nodes", log=False, bounds=(0.0, max(1.0, high)), grid=True)
    )


def bias_by_count(sizes: Sequence[str], lines: Sequence[BiasLine]) -> go.Figure:
    """Return the mean error by size of the true count, one line a rule, with bars of 1.96 standard errors.

    >>> fig = bias_by_count(["0", "1"], [BiasLine("IntOpt", np.array([0.5, -0.5]), np.zeros(2))])
    >>> fig.data[0].y.tolist(), fig.layout.xaxis.ticktext
    ([0.5, -0.5], ('0', '1'))
    """
    x = np.arange(len(sizes), dtype=np.float64)
    traces = []
    for i, line in enumerate(lines):
        colour, symbol, dash = LOOKS[i % len(LOOKS)]
        shift = 0.05 * (i - (len(lines) - 1) / 2)
        traces.append(
            go.Scatter(
                x=x + shift, y=line.mean, mode="lines+markers", name=plot_text(line.label),
                line={"color": colour, "dash": dash, "width": 1.5}, marker={"symbol": symbol, "size": 8},
                error_y={"type": "data", "array": Z95 * line.se, "color": colour, "thickness": 1.5},
                hovertemplate="%{y:+,.3~g} records<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    ends = [line.mean + sign * Z95 * line.se for line in lines for sign in (-1, 1)]
    low, high = limits(ends, log=False, default=(-1.0, 1.0))
    ticks = {"tickvals": x, "ticktext": [plot_text(size) for size in sizes]}
    y = axis("released − true, mean (records)", log=False, bounds=(low, high), grid=True)
    return new_figure(
        traces,
        xaxis=axis("true count of a leaf (records)", log=False, bounds=(-0.5, len(sizes) - 0.5)) | ticks,
        yaxis=y | {"zeroline": True, "zerolinecolor": GREY},
    )


def dots(rows: Sequence[Dot], *, x_title: str) -> go.Figure:
    """Return means with bars of 1.96 standard errors, a row each, the first on top; highlighted rows are filled.

    >>> fig = dots([Dot("IntOpt", 8.9, 0.1, True), Dot("water filling", 8.0, 0.1)], x_title="RMSE (records)")
    >>> fig.data[0].x.tolist(), fig.layout.yaxis.ticktext
    ([8.9, 8.0], ('IntOpt', 'water filling'))
    """
    mean, se = (np.array([getattr(row, name) for row in rows], dtype=float) for name in ("mean", "se"))
    reach = Z95 * np.where(np.isfinite(se), se, 0.0)
    y = np.arange(mean.size, dtype=float)
    trace = go.Scatter(
        x=mean, y=y, mode="markers", showlegend=False,
        error_x={"type": "data", "array": reach, "color": AFTER, "thickness": 2},
        marker={"color": AFTER, "size": 12, "symbol": ["circle" if row.highlight else "circle-open" for row in rows],
                "line": {"color": AFTER, "width": 2}},
        hovertemplate="%{x:,.4~g}<extra></extra>",
    )  # fmt: skip
    low, high = _room(mean - reach, mean + reach)
    fig = new_figure([trace], xaxis=axis(x_title, log=False, bounds=(low, high)))
    fig.update_xaxes(showgrid=True)
    fig.update_yaxes(
        tickvals=y, ticktext=[plot_text(row.label, 60) for row in rows], range=[mean.size - 0.4, -0.6],
        automargin=True, showgrid=False, zeroline=False,
    )  # fmt: skip
    return fig.update_layout(height=110 + 34 * mean.size)


def _room(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """Ends of an axis with a tenth of room around the finite values; a mean need not be compared with 0."""
    ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    if not ends.size:
        return 0.0, 1.0
    first, last = float(ends.min()), float(ends.max())
    if first >= 0.0 and first < 0.5 * last:
        return 0.0, 1.08 * last
    pad = 0.1 * (last - first) or max(0.1 * abs(last), 0.5)
    return first - pad, last + pad


def _levels(names: Sequence[str]) -> dict[str, Any]:
    """Levels by position, so that equal names stay apart."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": [plot_text(name, 18) for name in names]}
    ticks["ticklabeloverflow"] = "allow"
    return axis("level (root first)", log=False, bounds=(-0.5, len(names) - 0.5)) | ticks
