"""Top-down releases: largest errors under their bound, spurious and lost nodes, bias by count, rules side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from treedp_core.errors.compare import BiasBySize, Ways
from treedp_core.figures.base.curves import Curve, error_curves
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    axis,
    limits,
    new_figure,
)
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.figures.trees.levels import level_axis
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.tree import FloatArray
from treedp_core.words import Z95, hover, percent_set

LOOKS: Final = (
    (BLUE, "circle", "solid"),
    (ORANGE, "square", "dash"),
    (GREEN, "diamond", "dot"),
    (PINK, "cross", "dashdot"),
    (GREY, "x", "longdash"),
    (YELLOW, "triangle-up", "longdashdot"),
    (SKY, "star", "solid"),
)
"""Colour, marker and dash of the compared series, in their order."""


def error_under_bound(
    level_names: Sequence[str],
    observed: Sequence[float] | FloatArray,
    bound: FloatArray,
    exact: FloatArray,
    certified: FloatArray,
    *,
    confidence: float,
    bound_applies: bool = True,
) -> Draft:
    """Return the largest error of each level of one release below what theory allows, and what it certifies itself.

    Parameters
    ----------
    observed, bound, exact, certified : (n_levels,)
        Largest absolute error; Theorem 1's bound; the same bound by exact tails; the release's certificate. All in
        records.
    confidence : float
        With which the bounds hold for each level, and the certificate for all levels at once.
    bound_applies : bool
        Else the theorem's bounds are drawn dotted, as those of another way.

    >>> fig = error_under_bound(
    ...     ["all", "a"],
    ...     np.array([0.0, 3.0]),
    ...     np.array([0.0, 9.0]),
    ...     np.array([0.0, 8.0]),
    ...     np.array([0.0, 5.0]),
    ...     confidence=0.95,
    ... )
    >>> [trace["name"] for trace in fig.data]
    ['Theorem 1, 95 %', 'by exact tails, 95 %', 'largest error (NOT PRIVATE)', 'certificate, all levels, 95 %']
    """
    observed = np.asarray(observed, dtype=float)
    x = np.arange(len(level_names), dtype=np.float64)
    sure = percent_set(confidence)
    dash = "solid" if bound_applies else "dot"
    names = [plot_text(name, 40) for name in level_names]
    traces: list[Any] = [
        _steps(x, bound, f"Theorem 1, {sure}", BEFORE, dash, names),
        _steps(x, exact, f"by exact tails, {sure}", AFTER, dash, names),
        scatter(
            x=x, y=observed, mode="markers", name=of_truth("largest error"), text=names,
            marker={"color": GREEN, "size": 12},
            hovertemplate=f"%{{text}}<br>{hover('y', 'short')} records<extra>largest error</extra>",
        ),
        _steps(x, certified, f"certificate, all levels, {sure}", PINK, "solid", names),
    ]  # fmt: skip
    high = limits([observed, bound, exact, certified], log=False, default=(0.0, 1.0))[1]
    return new_figure(
        traces,
        xaxis=level_axis(level_names),
        yaxis=axis("largest error (records)", log=False, bounds=(-0.02 * high, high), grid=True),
    )


def _steps(x: FloatArray, y: FloatArray, name: str, colour: str, dash: str, names: list[str]) -> Trace:
    gap = np.full(x.size, np.nan)
    return scatter(
        x=np.column_stack([x - 0.35, x, x + 0.35, gap]).ravel(), y=np.column_stack([y, y, y, gap]).ravel(),
        mode="lines", name=name, line={"color": colour, "width": 3, "dash": dash},
        text=[one for one in names for _ in range(4)],
        hovertemplate=f"%{{text}}<br>{hover('y', 'short')} records<extra>%{{fullData.name}}</extra>",
    )  # fmt: skip


def spurious_and_lost(level_names: Sequence[str], spurious: Sequence[int], lost: Sequence[int]) -> Draft:
    """Return bars by level (n_levels,): nodes without records that a release fills, nodes with records that it empties.

    >>> fig = spurious_and_lost(["all", "a"], [0, 2], [0, 1])
    >>> [(trace["name"], trace["y"].tolist()) for trace in fig.data]
    [('spurious (false positives)', [0.0, 2.0]), ('lost (false negatives)', [0.0, 1.0])]
    """
    x = np.arange(len(level_names), dtype=np.float64)
    names = [plot_text(name, 40) for name in level_names]
    traces = [
        bar(
            x=x + shift, y=np.asarray(values, dtype=float), width=0.36, name=name,
            marker={"color": colour, "pattern": {"shape": pattern}}, customdata=names,
            text=[count_text(v) for v in np.asarray(values).tolist()], textposition="outside", cliponaxis=False,
            hovertemplate=f"%{{customdata}}: {hover('y', 'whole')} nodes<extra>%{{fullData.name}}</extra>",
        )
        for values, shift, name, colour, pattern in (
            (spurious, -0.19, "spurious (false positives)", BEFORE, ""),
            (lost, 0.19, "lost (false negatives)", AFTER, "/"),
        )
    ]  # fmt: skip
    high = limits([1.08 * np.asarray(spurious, dtype=float), 1.08 * np.asarray(lost, dtype=float)], log=False,
                  default=(0.0, 1.0))[1]  # fmt: skip
    return new_figure(
        traces, xaxis=level_axis(level_names), yaxis=axis("nodes", log=False, bounds=(0.0, max(1.0, high)), grid=True)
    )


def bias_by_count(found: Mapping[str, BiasBySize]) -> Draft:
    """Return the mean error by size of the true count, one line a rule, with 95 % bars.

    Parameters
    ----------
    found : mapping
        Label -> bias of the same counts.

    >>> sizes, none = np.array([0, 1]), np.zeros(2)
    >>> fig = bias_by_count({"IntOpt": BiasBySize(sizes, sizes, np.array([8.0, 2.0]), np.array([0.5, -0.5]), none)})
    >>> fig.data[0]["y"].tolist(), fig.layout["xaxis"]["ticktext"]
    ([0.5, -0.5], ['0', '1'])
    """
    sizes = next(iter(found.values())).names
    x = np.arange(len(sizes), dtype=np.float64)
    traces = []
    for i, (label, one) in enumerate(found.items()):
        colour, symbol, dash = LOOKS[i % len(LOOKS)]
        shift = 0.05 * (i - (len(found) - 1) / 2)
        traces.append(
            scatter(
                x=x + shift, y=one.bias, mode="lines+markers", name=plot_text(label),
                line={"color": colour, "dash": dash, "width": 1.5}, marker={"symbol": symbol, "size": 8},
                error_y={"type": "data", "array": Z95 * one.standard_error, "color": colour, "thickness": 1.5},
                hovertemplate=f"{hover('y', 'signed')} records<extra>%{{fullData.name}}</extra>",
            )
        )  # fmt: skip
    ends = [one.bias + sign * Z95 * one.standard_error for one in found.values() for sign in (-1, 1)]
    low, high = limits(ends, log=False, default=(-1.0, 1.0))
    ticks = {"tickvals": x, "ticktext": [plot_text(size) for size in sizes]}
    y = axis("released − true, mean (records)", log=False, bounds=(low, high), grid=True)
    return new_figure(
        traces,
        xaxis=axis("true count of a leaf (records)", log=False, bounds=(-0.5, len(sizes) - 0.5)) | ticks,
        yaxis=y | {"zeroline": True, "zerolinecolor": GREY},
    )


def dots(ways: Ways, *, x_title: str, chosen: int = -1) -> Draft:
    """Return means with 95 % bars, a row each, the first on top; that of a position is filled.

    >>> ways = Ways(("IntOpt", "water filling"), np.array([8.9, 8.0]), np.array([0.1, 0.1]))
    >>> fig = dots(ways, x_title="RMSE (records)", chosen=0)
    >>> fig.data[0]["x"].tolist(), fig.layout["yaxis"]["ticktext"]
    ([8.9, 8.0], ['IntOpt', 'water filling'])
    """
    reach = Z95 * np.where(np.isfinite(ways.se), ways.se, 0.0)
    y = np.arange(ways.mean.size, dtype=float)
    symbols = ["circle" if i == chosen else "circle-open" for i in range(y.size)]
    dot = scatter(
        x=ways.mean, y=y, mode="markers", showlegend=False,
        error_x={"type": "data", "array": reach, "color": AFTER, "thickness": 2},
        marker={"color": AFTER, "size": 12, "symbol": symbols, "line": {"color": AFTER, "width": 2}},
        hovertemplate=f"{hover('x', 'short')}<extra></extra>",
    )  # fmt: skip
    low, high = _room(ways.mean - reach, ways.mean + reach)
    fig = new_figure([dot], xaxis=axis(x_title, log=False, bounds=(low, high)))
    fig.update_xaxes(showgrid=True)
    fig.update_yaxes(
        tickvals=y, ticktext=[plot_text(name, 60) for name in ways.names], range=[y.size - 0.4, -0.6],
        automargin=True, showgrid=False, zeroline=False,
    )  # fmt: skip
    return fig.update_layout(height=110 + 34 * y.size)


def epsilon_curves(table: Mapping[str, FloatArray], rho: float) -> Draft:
    """Return epsilon against rho by every conversion, from the columns (n_rhos,) of `epsilons`; rho is marked."""
    return error_curves(
        _conversions(table, ("bound", "discrete_gaussian", "gaussian")), x_title="ρ", y_title="ε", marker_x=rho,
        marker_text="your ρ", costs=("x", "y"),
    )  # fmt: skip


def extra_noise_curves(table: Mapping[str, FloatArray], rho: float) -> Draft:
    """Return the noise that the standard conversion wastes against rho, from the columns (n_rhos,) of `extra_noise`."""
    curves = _conversions(table, ("discrete_gaussian", "gaussian"))
    high = max(float(curve.formula.max()) for curve in curves if curve.formula is not None)
    return error_curves(
        curves, x_title="ρ", y_title="extra noise (%)", log_y=False, y_range=(0.0, float(math.ceil(high / 10) * 10)),
        marker_x=rho, marker_text="your ρ", costs=("x",),
    )  # fmt: skip


def _conversions(table: Mapping[str, FloatArray], colours: Sequence[str]) -> list[Curve]:
    ways = [(way, y) for way, y in table.items() if way != "rho"]
    return [
        Curve(label=way, mechanism=name, variant=(), x=table["rho"], formula=y)
        for (way, y), name in zip(ways, colours, strict=True)
    ]


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
