"""Error curves: lines are formulas, markers are simulations with 95 % bars, at most one band."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.draft import Draft, Trace, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    END,
    GREY,
    MORE,
    PINK,
    axis,
    limits,
    look,
    new_figure,
    your_value_marker,
)
from treedp_core.figures.base.text import apart, plot_text
from treedp_core.tree import FloatArray
from treedp_core.words import Z95, hover, privacy_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulated:
    """One series of a figure of errors: a formula, a simulation, or both.

    Parameters
    ----------
    label : str
        For the legend; escaped by the figure.
    mechanism : str
        Name in `MECHANISMS`: gives the colour. Any other name (a bound, a reference) is drawn grey.
    variant : tuple of str
        Post-processing names: give the dash and the marker.
    formula : (n,), optional
        The line or the bars. Infinite values are said to be so.
    simulated, standard_error : (m,), optional
        Markers with 95 % bars.
    stale : bool
        Grey out the simulation, because it was run with other settings.
    """

    label: str
    mechanism: str
    variant: tuple[str, ...]
    formula: FloatArray | None = None
    simulated: FloatArray | None = None
    standard_error: FloatArray | None = None
    stale: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Simulated):
    """A series over a setting: the formula was evaluated at `x` (n,), the simulation at `simulated_x` (m,)."""

    x: FloatArray
    simulated_x: FloatArray | None = None

    @property
    def markers_x(self) -> FloatArray:
        """Where the simulation was evaluated, (m,)."""
        return self.x if self.simulated_x is None else self.simulated_x


def error_curves(
    series: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = True,
    log_y: bool = True,
    marker_x: float | None = None,
    marker_text: str = "your ε",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    costs: Collection[str] = (),
) -> Draft:
    """Draft error curves over a setting.

    Parameters
    ----------
    series : sequence of Curve
        May be empty: then the axes stand alone.
    marker_x, marker_text : float, str
        Where to draw the line at "your" value, in data units.
    x_range, y_range : pair of float, optional
        Axis limits in data units; without them they are round numbers around the finite values.
    costs : collection of str
        The axes, "x" or "y", that hold an epsilon, delta or rho: when pointed at it is rounded up, never down.

    >>> x = np.array([0.1, 1.0])
    >>> curve = Curve(label="Laplace", mechanism="laplace", variant=(), x=x, formula=2 / x)
    >>> fig = error_curves([curve], x_title="ε", y_title="RMSE (records)", marker_x=1.0).figure()
    >>> [trace.mode for trace in fig.data], [round(10.0**v, 6) for v in fig.layout.yaxis.range]
    (['lines'], [1.0, 50.0])
    """
    x_bounds = x_range or _x_limits(series, log_x)
    values = [v for c in series for v in (c.formula, c.simulated, upper_end(c.simulated, c.standard_error))]
    y_bounds = y_range or limits(values, log=log_y, default=(1.0, 1000.0))
    traces = [_line(c, log_y) for c in series if c.formula is not None]
    traces += [_simulated_curve(c, log_y) for c in series if c.simulated is not None]
    fig = new_figure(
        [_round_up(trace, costs) for trace in traces],
        xaxis=axis(x_title, log=log_x, bounds=x_bounds),
        yaxis=axis(y_title, log=log_y, bounds=y_bounds, grid=True),
    )
    return fig if marker_x is None else your_value_marker(fig, marker_x, marker_text, log_x)


LEFT: Final = (0.0, 0.4)
RIGHT: Final = (0.48, 1.0)
BESIDE: Final = ((0.0, 0.31), (0.55, 1.0))
"""Panels of which both have an upright axis with a title."""
LONG_NAME: Final = 18
"""Letters up to which a name at a line's end has one row."""
MOST_NAMED: Final = 4
"""Lines that are named at their ends, in two rows each: there is no room for more in a low window."""
BESIDE_AXES: Final = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
WORST_SHOWN: Final = 5.0
"""How many times the best the panel beside reaches at most: what is worse leaves it at the top."""


def beside_best(fig: Draft, series: Sequence[Curve], *, title: str) -> Draft:
    """Move error curves to the left and show them divided by the best at each x beside, on a linear axis.

    Lines that are a few per cent apart cannot be told apart over decades. What is only simulated stands there, too. Few
    are named at their ends, many in a legend. The figure is changed and returned; it stays as it is where fewer than
    two curves have formulas.

    Parameters
    ----------
    fig : Draft
        What `error_curves` made of the same series.
    title : str
        Of the new panel's upright axis.

    >>> x = np.array([1.0, 10.0])
    >>> two = [
    ...     Curve(label=name, mechanism="", variant=(), x=x, formula=x**power) for name, power in (("A", 1), ("B", 0))
    ... ]
    >>> beside = beside_best(error_curves(two, x_title="ε", y_title="RMSE"), two, title="error ÷ the best").data[2:]
    >>> [line["y"].tolist() for line in beside]
    [[1.0, 10.0], [1.0, 1.0]]
    """
    drawn = [curve for curve in series if curve.formula is not None and np.array_equal(curve.x, series[0].x)]
    if len(drawn) < 2:
        return fig
    ratios = over_best(np.array([curve.formula for curve in drawn]))
    tried = [_simulated_over(drawn, curve) for curve in series if curve.formula is None and curve.simulated is not None]
    reached = np.concatenate([[1.0], ratios.ravel(), *(one.simulated for one in tried if one.simulated is not None)])
    top = min(WORST_SHOWN, 1 + 1.15 * max(float(np.nanmax(reached)) - 1, 0.2))
    for curve, y in zip(drawn, ratios, strict=True):
        line = _line(replace(curve, formula=y), False)
        fig.add_trace(line | BESIDE_AXES)
    for curve in tried:
        fig.add_trace(_simulated_curve(curve, False) | BESIDE_AXES)
    fig.update_layout(
        xaxis={"domain": BESIDE[0]},
        xaxis2={**fig.layout["xaxis"], "domain": BESIDE[1], "anchor": "y2"},
        yaxis2={**axis(title, log=False, bounds=(1 - 0.04 * (top - 1), top), grid=True), "anchor": "x2"},
    )
    named = [*zip(drawn, ratios, strict=True), *((one, one.simulated) for one in tried if one.simulated is not None)]
    if len(named) <= MOST_NAMED:
        ends = [(one.label, look(one.mechanism, one.variant).colour, float(y[-1])) for one, y in named]
        name_ends(fig, ends, height=0.15, upright="y2", is_low=True)
    for shape in fig.layout.get("shapes", ()):
        fig.add_shape(**shape | {"xref": "x2"})
    return fig


def _simulated_over(drawn: Sequence[Curve], curve: Curve) -> Curve:
    """A simulation without a formula, divided by the best of the formulas at the same places."""
    finite = np.array(
        [np.where(np.isfinite(one.formula), one.formula, np.inf) for one in drawn if one.formula is not None]
    )
    least = np.interp(curve.markers_x, drawn[0].x, finite.min(axis=0))
    error = curve.standard_error
    return replace(
        curve, simulated=np.asarray(curve.simulated) / least, standard_error=None if error is None else error / least
    )


def name_ends(
    fig: Draft,
    ends: Sequence[tuple[str, str, float]],
    *,
    height: float = 0.06,
    upright: str = "y",
    is_low: bool = False,
) -> Draft:
    """Name lines at their right ends instead of in a legend: (label, colour, last value); the figure is changed.

    Labels that would cover each other are moved apart, each as high as that part of the axis, and a stroke leads from
    a line's end to its name; lines without a last value are not named. Where a figure `is_low`, long names
    have two rows.

    >>> fig = Draft([], {"yaxis": {"type": "log", "range": [0, 2]}})
    >>> [note["text"] for note in name_ends(fig, [("A", "#000", 10.0)]).layout["annotations"]]
    ['A']
    """
    axis_of = fig.layout[f"yaxis{upright[1:]}"]
    low, high = axis_of["range"]
    if axis_of.get("type") == "log":
        heights = [np.log10(y) if y > 0 else np.nan for _, _, y in ends]
    else:
        heights = [y for _, _, y in ends]
    names = [_rows(plot_text(label)) if is_low else [plot_text(label)] for label, _, _ in ends]
    places = apart(heights, height * (high - low), low, high)
    for at, rows, (_, colour, _), y in zip(places, names, ends, heights, strict=True):
        if np.isfinite(y):
            fig.add_annotation(
                name=END, x=1, xref="paper", xanchor="left", y=min(max(y, low), high), yref=upright, yanchor="middle",
                ax=14, axref="pixel", ay=at, ayref=upright, arrowhead=0, arrowwidth=1.5, arrowcolor=colour, standoff=2,
                align="left", text=MORE.join(rows), font={"color": colour},
            )  # fmt: skip
    longest = max((len(row) for rows in names for row in rows), default=0)
    return fig.update_layout(showlegend=False, margin={"r": 20 + 7 * longest, "t": 12})


def _rows(name: str) -> list[str]:
    """A long name in two rows, as a margin has no room for it in one: its mechanism, and what is done with its counts.

    >>> _rows("Discrete Laplace, least squares"), _rows("Laplace, pruned")
    (['Discrete Laplace,', 'least squares'], ['Laplace, pruned'])
    """
    first, comma, rest = name.partition(", ")
    return [first + ",", rest] if comma and len(name) > LONG_NAME else [name]


def over_best(values: FloatArray) -> FloatArray:
    """Return values (n_series, n) divided by the least finite one at each place; nan where there is none."""
    finite = np.where(np.isfinite(values), values, np.inf)
    least = finite.min(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isfinite(least) & (least > 0) & np.isfinite(values), values / least, np.nan)


def _round_up(trace: Trace, axes: Collection[str]) -> Trace:
    told: str = trace["hovertemplate"]
    for axis_name in axes:
        told = told.replace(f"%{{{axis_name}:,.3~r}}", f"%{{customdata[{'xy'.index(axis_name)}]}}")
    if told == trace["hovertemplate"]:
        return trace
    pairs = zip(trace["x"].tolist(), trace["y"].tolist(), strict=True)
    return trace | {"hovertemplate": told, "customdata": [[privacy_text(x), privacy_text(y)] for x, y in pairs]}


def _x_limits(series: Sequence[Curve], log: bool) -> tuple[float, float]:
    """The x axis ends just outside the points: the reader chose them."""
    parts = [x for c in series for x in (c.x, c.markers_x)]
    data = np.concatenate([np.zeros(0), *map(np.ravel, parts)])
    data = data[np.isfinite(data) & ((data > 0) | (not log))]
    if data.size == 0:
        return 0.1, 10.0
    low, high = float(data.min()), float(data.max())
    if log:
        pad = max((high / low) ** 0.02, 1.05)
        return low / pad, high * pad
    pad = 0.02 * (high - low) or 0.5
    return low - pad, high + pad


def shown(values: FloatArray, log: bool) -> FloatArray:
    """Return values (n,) with gaps (nan) where the axis cannot show them."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & ((values > 0) | (not log)), values, np.nan)


def legend_name(label: str, values: FloatArray, log: bool) -> str:
    """Return the legend entry of a line (n,); it says where values are left out: infinite, or 0 on a log axis.

    >>> legend_name("A", np.array([np.inf, 1.0]), True), legend_name("A", np.array([np.inf]), True)
    ('A (∞ in part)', 'A (∞)')
    """
    name, values = plot_text(label), np.asarray(values, dtype=float)
    for what, missing in (("∞", np.isposinf(values)), ("0", (values == 0) & log)):
        if missing.any():
            name += f" ({what})" if missing.all() else f" ({what} in part)"
    return name


def _line(curve: Curve, log_y: bool) -> Trace:
    style = look(curve.mechanism, curve.variant)
    assert curve.formula is not None
    return scatter(
        x=np.asarray(curve.x, dtype=float),
        y=shown(curve.formula, log_y),
        mode="lines",
        name=legend_name(curve.label, curve.formula, log_y),
        legendgroup=plot_text(curve.label),
        line={"color": style.colour, "dash": style.dash, "width": 2.5},
        hovertemplate=_HOVER + "<extra>formula</extra>",
    )


_HOVER = (
    f"%{{fullData.name}}<br>%{{xaxis.title.text}}: {hover('x', 'short')}"
    f"<br>%{{yaxis.title.text}}: {hover('y', 'short')}"
)


def _simulated_curve(curve: Curve, log_y: bool) -> Trace:
    assert curve.simulated is not None
    return markers(
        curve, np.asarray(curve.markers_x, dtype=float), log_y, _HOVER,
        name=legend_name(curve.label, curve.simulated, log_y),
    )  # fmt: skip


def markers(one: Simulated, x: FloatArray, log_y: bool, hover: str, **more: object) -> Trace:
    """Return the simulation of a series at places x (m,): markers with 95 % bars, grey where it is stale."""
    style = look(one.mechanism, one.variant)
    colour = GREY if one.stale else style.colour
    assert one.simulated is not None
    return scatter(
        x=x,
        y=shown(one.simulated, log_y),
        mode="markers",
        legendgroup=plot_text(one.label),
        showlegend=one.formula is None,
        opacity=0.5 if one.stale else 1.0,
        marker={"color": colour, "symbol": style.symbol, "size": 9, "line": {"color": colour, "width": 1.5}},
        error_y=error_bars(one.simulated, one.standard_error, colour, log_y),
        hovertemplate=hover + f"<extra>{'simulation, earlier settings' if one.stale else 'simulation'}</extra>",
        **more,
    )


def upper_end(simulated: FloatArray | None, standard_error: FloatArray | None) -> FloatArray | None:
    """Return where the 95 % bars of a simulation (n,) end, so that axes make room for them."""
    return None if simulated is None or standard_error is None else simulated + Z95 * standard_error


def error_bars(values: FloatArray, standard_error: FloatArray | None, colour: str, log: bool) -> dict[str, Any] | None:
    """Return 95 % bars of values (n,); on a log axis they stop short of zero."""
    if standard_error is None:
        return None
    up = np.nan_to_num(Z95 * np.asarray(standard_error, dtype=float), nan=0.0, posinf=0.0)
    down = np.minimum(up, 0.999 * np.abs(np.nan_to_num(values, posinf=0.0))) if log else up
    return {"type": "data", "array": up, "arrayminus": down, "symmetric": False, "color": colour, "thickness": 1.5}


# ---- the error of ranges over their length, by three ways


LOOKS: Final = ((BEFORE, "dash"), (PINK, "dot"), (AFTER, "solid"))
UNIT: Final = ": st. dev. (records)"


def error_by_length(columns: Mapping[str, Sequence[float]]) -> Draft:
    """Return the standard deviation of ranges over the bins they hold, a line for each way of `of_lengths`."""
    ways = [name for name in columns if name.endswith(UNIT)]
    lines = [
        scatter(
            x=list(columns["bins"]), y=list(columns[name]), mode="lines", name=plot_text(name.removesuffix(UNIT)),
            line={"color": colour, "dash": dash, "width": 2.5},
        )
        for name, (colour, dash) in zip(ways, LOOKS, strict=True)
    ]  # fmt: skip
    heights = [np.array(columns[name]) for name in ways]
    return new_figure(
        lines,
        xaxis=axis("bins in the range", log=False, bounds=(0.0, float(max(columns["bins"])))),
        yaxis=axis("st. dev. (records)", log=True, bounds=limits(heights, log=True, default=(1.0, 10.0)), grid=True),
    )
