"""One draw: the true and the released counts of one level, sorted by the true count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, Trace, scatter
from treedp_core.figures.base.style import GREY, axis, limits, look, new_figure
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import Z95, hover

MAX_POINTS = 400
MAX_TICKS = 10


def one_draw(
    truth: AnyArray,
    released: AnyArray,
    *,
    sigma: float | None = None,
    label: str = "released",
    mechanism: str = "",
    variant: tuple[str, ...] = (),
    name: Callable[[int], str] | None = None,
) -> Draft:
    """Return true counts as a line and released ones as markers, largest true count first.

    Where the largest count would dwarf the noise, the axis is logarithmic beyond one sigma, and linear within, so that
    counts of 0 and below stay in the picture.

    Parameters
    ----------
    truth, released : (n,)
        Counts of the nodes of one level. Beyond 400 nodes, 400 evenly spaced in the ranking are drawn (`thinned`).
    sigma : float, optional
        Standard deviation of the noise: draws the band truth ± `Z95` sigma.
    label, mechanism, variant
        Of the released counts, as in `Curve`.
    name : function, optional
        From the position of a node to its name, for hovering; called for the nodes drawn only.

    >>> fig = one_draw(np.array([5, 9, 1]), np.array([6, 8, 0]), sigma=1.0, mechanism="laplace")
    >>> fig.data[-1]["y"].tolist(), len(fig.data)
    ([8.0, 6.0, 0.0], 4)
    """
    sigma = sigma if sigma is not None and math.isfinite(sigma) else None
    rank, node = thinned(truth)
    x, true, noisy = rank.astype(float) + 1.0, truth[node].astype(float), released[node].astype(float)
    noisy[~np.isfinite(noisy)] = np.nan
    values, unit = np.append(true, noisy[np.isfinite(noisy)]), max(sigma or 0.0, 1.0)
    scale = _Scale(unit if np.max(values, initial=0.0) > 100 * unit else None)
    low, high = scale.limits(values)
    style = look(mechanism, variant)
    traces = [] if sigma is None else _band(x, true, Z95 * sigma, style.colour, scale)
    named = "" if name is None else "%{text}<br>"
    shared: dict[str, Any] = {"x": x, "text": None if name is None else [plot_text(name(i)) for i in node.tolist()]}
    traces += [
        scatter(
            y=scale(true), customdata=true, mode="lines", name="true count",
            line={"color": GREY, "width": 2.5, "shape": "hvh"},
            hovertemplate=named + f"{hover('customdata', 'whole')}<extra>true count</extra>", **shared,
        ),
        scatter(
            y=scale(noisy), customdata=noisy, mode="markers", name=plot_text(label),
            marker={"color": style.colour, "symbol": style.symbol, "size": 9 if node.size <= 60 else 5},
            hovertemplate=named + f"{hover('customdata', 'estimate')}<extra>released</extra>", **shared,
        ),
    ]  # fmt: skip
    fig = new_figure(
        traces,
        xaxis=axis("nodes, largest true count first", log=False, bounds=(0.5, len(truth) + 0.5)),
        yaxis=scale.axis("count (records)", low, high),
    )
    return fig.update_layout(legend={"traceorder": "normal"})  # a filled band would turn it round


def thinned(truth: AnyArray, max_points: int = MAX_POINTS) -> tuple[IntArray, IntArray]:
    """Return ranks and nodes (n,) to draw, by falling true count: all, or evenly spaced from the first to the last.

    The choice does not look at the released counts: extremes would outline them better, but nearly all of the markers
    would then lie outside a band that holds 95 % of the nodes.

    >>> [part.tolist() for part in thinned(np.array([1, 3, 2]))]
    [[0, 1, 2], [1, 2, 0]]
    >>> thinned(np.arange(9), max_points=3)[0].tolist()
    [0, 4, 8]
    """
    order = _by_falling_count(truth)
    n = order.size
    rank = np.arange(n) if n <= max_points else np.linspace(0, n - 1, max_points).round().astype(np.int64)
    return rank, order[rank]


def _by_falling_count(truth: AnyArray) -> IntArray:
    """Nodes by falling count, equal ones in their order. Most counts are small, and 16 bits sort four times as fast."""
    top = np.iinfo(np.uint16).max
    if not np.issubdtype(truth.dtype, np.integer) or truth.min(initial=0) < 0:
        return np.argsort(-truth, kind="stable")
    order = np.argsort((top - np.minimum(truth, top)).astype(np.uint16), kind="stable")
    large = order[: np.count_nonzero(truth >= top)]
    order[: large.size] = large[np.argsort(-truth[large], kind="stable")]
    return order


class _Scale:
    """Heights on the axis: the values, or arsinh(value / unit), which is linear near 0 and logarithmic far from it."""

    def __init__(self, unit: float | None) -> None:
        self.unit = unit

    def __call__(self, values: FloatArray) -> FloatArray:
        return values if self.unit is None else np.arcsinh(values / self.unit)

    def limits(self, values: FloatArray) -> tuple[float, float]:
        """Return limits in records: round ones on the plain axis, the ends of the values where 0 is no landmark."""
        if self.unit is None or values.size == 0:
            return limits([values], log=False, default=(0.0, 1.0))
        return float(values.min()), float(values.max())

    def axis(self, title: str, low: float, high: float) -> dict[str, Any]:
        """Return the axis from `low` to `high`, both in records."""
        ends = self(np.array([low, high]))
        pad = 0.03 * float(ends[1] - ends[0])
        if self.unit is None:
            pad = pad or 0.5
            return axis(title, log=False, bounds=(float(ends[0]) - pad, float(ends[1]) + pad), grid=True)
        least = max(2.0, 1e-9 * high)  # so wide that evenly spaced ticks are whole records
        bottom, top = (self.unit * np.sinh(ends + np.array([-pad, pad]))).tolist()
        bottom, top = min(bottom, low - least), max(top, high + least)
        ticks, bounds = _round_ticks(self.unit, bottom, top), self(np.array([bottom, top])).tolist()
        plain = axis(title, log=False, bounds=(bounds[0], bounds[1]), grid=True)
        return plain | {"tickvals": self(ticks), "ticktext": [count_text(tick) for tick in ticks.tolist()]}


def _round_ticks(unit: float, low: float, high: float) -> FloatArray:
    """Three to ten round numbers: 0 and powers of ten beyond two units, 2 and 5 times them too, or evenly spaced."""
    for steps, every in (((1,), 1), ((1,), 2), ((1,), 3), ((1, 2, 5), 1)):
        powers = [10.0**k for k in range(math.ceil(math.log10(2 * unit)), 19, every)]
        beyond = [sign * step * power for power in powers for step in steps for sign in (1, -1)]
        ticks = np.array([tick for tick in (0.0, *beyond) if low <= tick <= high])
        if 3 <= ticks.size <= MAX_TICKS:
            return ticks
    power = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = power * max(m for m in (1, 2, 5) if m * power <= (high - low) / 3)
    return np.array([step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)])


def _band(x: FloatArray, true: FloatArray, reach: float, colour: str, scale: _Scale) -> list[Trace]:
    bare = {"mode": "lines", "line": {"width": 0, "shape": "hvh"}, "hoverinfo": "skip", "showlegend": False, "x": x}
    return [
        scatter(y=scale(true - reach), **bare),
        scatter(y=scale(true + reach), fill="tonexty", fillcolor=rgba(colour, 0.16), **bare),
    ]
