"""Errors level by level: formula beside simulation, and boxes of signed errors before and after post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treedp_core.errors.compare import LevelBoxes
from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.curves import Simulated, markers, shown, upper_end
from treedp_core.figures.base.draft import Draft, Trace, scatter, trace
from treedp_core.figures.base.style import AFTER, BEFORE, GREEN, GREY, PINK, axis, limits, look, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.tree import FloatArray
from treedp_core.words import hover


def error_by_level(series: Sequence[Simulated], level_names: Sequence[str], *, y_title: str) -> Draft:
    """Draft errors of each level (n_levels,), series side by side: a bar at the formula, a marker at the simulation.

    The axis is logarithmic: infinite errors are written ∞ at its top, errors of 0 are written 0 at its bottom,
    with an arrow that says that they lie beyond it.

    >>> series = [Simulated(label="Laplace", mechanism="laplace", variant=(), formula=np.array([0.0, 2.0, np.inf]))]
    >>> fig = error_by_level(series, ["all", "state", "county"], y_title="RMSE (records)").figure()
    >>> [trace.mode for trace in fig.data], fig.data[1].text
    (['lines', 'text'], ('0<br>↓', '↑<br>∞'))
    """
    values = [v for s in series for v in (s.formula, s.simulated, upper_end(s.simulated, s.standard_error))]
    bounds = limits(values, log=True, default=(1.0, 1000.0))
    names = [plot_text(name, 24) for name in level_names]
    width = min(0.8 / max(len(series), 1), 0.3)
    traces: list[Trace] = []
    for j, one in enumerate(series):
        x = np.arange(len(level_names), dtype=np.float64) + (j - (len(series) - 1) / 2) * width
        if one.formula is not None:
            traces.append(_bars(one, x, 0.42 * width, names))
        if one.simulated is not None:
            traces.append(markers(one, x, True, _HOVER, name=plot_text(one.label), text=names))
        traces += _off_axis(one, x, bounds)
    return new_figure(traces, xaxis=level_axis(level_names), yaxis=axis(y_title, log=True, bounds=bounds, grid=True))


def error_boxes(groups: Sequence[LevelBoxes], level_names: Sequence[str]) -> Draft:
    """Draft boxes of signed errors by level, one colour for each group: the first orange (before), the second blue.

    Boxes are quartiles with the median, dashed lines are means, whiskers hold 95 % of the nodes.

    >>> one = np.zeros(2)
    >>> fig = error_boxes([LevelBoxes("before", one - 2, one - 1, one, one + 1, one + 2, one)], ["all", "state"])
    >>> fig.data[0]["q1"].tolist(), fig.layout["yaxis"]["range"]
    ([-1.0, -1.0], [-2.5, 2.5])
    """
    low, high = limits([v for g in groups for v in (g.low, g.high)], log=False, default=(-1.0, 1.0))
    reach = max(-low, high)
    width = min(0.8 / max(len(groups), 1), 0.3)
    offsets = [(j - (len(groups) - 1) / 2) * width for j in range(len(groups))]
    colours = (BEFORE, AFTER, GREEN, PINK)
    traces = [
        _box(g, np.arange(len(level_names), dtype=np.float64) + offset, 0.85 * width, colours[j % 4])
        for j, (g, offset) in enumerate(zip(groups, offsets, strict=True))
    ]
    y = axis("error (records)", log=False, bounds=(-reach, reach), grid=True)
    return new_figure(traces, xaxis=level_axis(level_names), yaxis=y | {"zeroline": True, "zerolinecolor": GREY})


def level_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis of levels by position, so that equal names stay apart; long names are cut."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": [plot_text(name, 18) for name in names]}
    ticks["ticklabeloverflow"] = "allow"
    return axis("level (root first)", log=False, bounds=(-0.5, len(names) - 0.5)) | ticks


_HOVER = f"%{{fullData.name}}<br>%{{text}}: {hover('y', 'short')}"


def _bars(one: Simulated, x: FloatArray, half: float, names: list[str]) -> Trace:
    style = look(one.mechanism, one.variant)
    assert one.formula is not None
    y = shown(one.formula, True)
    return scatter(
        x=np.column_stack([x - half, x, x + half, np.full(x.size, np.nan)]).ravel(),
        y=np.column_stack([y, y, y, np.full(x.size, np.nan)]).ravel(),
        mode="lines",
        name=plot_text(one.label),
        legendgroup=plot_text(one.label),
        line={"color": style.colour, "width": 4},
        text=[name for name in names for _ in range(4)],
        hovertemplate=_HOVER + "<extra>formula</extra>",
    )


def _off_axis(one: Simulated, x: FloatArray, bounds: tuple[float, float]) -> list[Trace]:
    """The values the axis cannot show, as text just inside its ends."""
    values = one.formula if one.formula is not None else one.simulated
    if values is None:
        return []
    low, high = bounds
    infinite, zero = np.isposinf(values), np.asarray(values) == 0
    if not (infinite | zero).any():
        return []
    there = np.flatnonzero(infinite | zero)
    return [
        scatter(
            x=x[there],
            y=np.where(infinite[there], high, low),
            mode="text",
            text=np.where(infinite[there], "↑<br>∞", "0<br>↓").tolist(),
            textposition=np.where(infinite[there], "bottom center", "top center").tolist(),
            textfont={"color": look(one.mechanism).colour, "size": 18},
            legendgroup=plot_text(one.label),
            showlegend=False,
            name=plot_text(one.label),
            hovertemplate="%{fullData.name}<br>%{text}<extra></extra>",
        )
    ]


def _box(group: LevelBoxes, x: FloatArray, width: float, colour: str) -> Trace:
    return trace(
        "box",
        x=x,
        lowerfence=group.low,
        q1=group.lower_quartile,
        median=group.median,
        q3=group.upper_quartile,
        upperfence=group.high,
        mean=group.mean,
        name=plot_text(group.label),
        width=width,
        line={"color": colour, "width": 1.5},
        fillcolor=rgba(colour, 0.35),
        boxpoints=False,
    )
