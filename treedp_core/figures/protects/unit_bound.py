"""A bound on the records of one unit: what it leaves out and the noise it needs, against the bound and by level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import (
    AFTER,
    BEFORE,
    GREEN,
    GREY,
    axis,
    bent,
    bent_ticks,
    limits,
    new_figure,
    numbers_apart,
)
from treedp_core.figures.base.text import plot_text
from treedp_core.records.unit_rows import UnitRows
from treedp_core.studies.protects.unit_bound import BoundErrors, unit_table
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import hover, short, whole

LEFT: Final = (0.0, 0.5)
RIGHT: Final = (0.66, 1.0)
HEADROOM: Final = 0.3
"""Of the height of the curves: what is free above them for the name of the bound."""
BESIDE: Final = 0.85
"""Of the longest bar: what numbers take beside it."""
LEFT_OUT: Final = "left out"
NOISE: Final = "noise"
MOST_NUMBERS: Final = 3
"""Along the axis of the levels, as steps between them."""


@dataclass(frozen=True)
class Measure:
    """What bounds and errors are measured in: the name of the axis of bounds, the noun of errors, the size of one."""

    bounds: str = "records of one unit, at most"
    noun: str = "records"
    step: float = 1.0

    def told(self, bound: float) -> str:
        """Return a bound in words."""
        return whole(int(bound)) if self.step == 1.0 else short(self.step * bound)


RECORDS: Final = Measure()


def bound_figure(found: BoundErrors, bound: int, level_names: Sequence[str], measure: Measure = RECORDS) -> Draft:
    """Return the errors against the bound on the left, and those of each level with one bound on the right.

    Parameters
    ----------
    found : BoundErrors
    bound : int
        One of its bounds.
    level_names : sequence of str
        (n_levels,), escaped here.
    measure : Measure
        Its names are escaped here.
    """
    step, found = measure.step, _measured(found, measure.step)
    left_out, noise, rmse = (found.added_up(one) for one in (found.left_out, found.noise, found.rmse))
    last = int(found.bounds[min(found.at(max(found.rows.largest, bound, 2)), found.bounds.size - 1)])
    seen = found.bounds <= last
    low, high = limits([noise[seen], rmse[seen]], log=True, default=(0.1, 10.0))
    best = found.best
    lines: list[Trace] = [
        _line(step * found.bounds[seen], values[seen], name, colour, dash, width, measure=measure)
        for values, name, colour, dash, width in (
            (left_out, LEFT_OUT, BEFORE, "dash", 2.5),
            (noise, NOISE, GREEN, "dot", 2.5),
            (rmse, "RMSE", AFTER, "solid", 3.0),
        )
    ]  # fmt: skip
    lines.append(
        scatter(
            x=step * found.bounds[[best]], y=rmse[[best]], mode="markers",
            name=f"best: {measure.told(int(found.bounds[best]))}",
            marker={"color": AFTER, "size": 11, "symbol": "diamond"}, hoverinfo="skip", cliponaxis=False,
        )
    )  # fmt: skip
    span = (step / 1.05, step * 1.05 * last)
    fig = new_figure(
        [*lines, *_bars(found, found.at(bound), level_names), _numbers(found, found.at(bound))],
        xaxis=axis(plot_text(measure.bounds, 40), log=True, bounds=span) | {"domain": list(LEFT), "anchor": "y"},
        yaxis=axis(plot_text(measure.noun, 24), log=True, bounds=(low, high * (high / low) ** HEADROOM), grid=True),
    )
    _rule(fig, step * bound, span, f"at most {measure.told(bound)}")
    return _with_levels(fig, found, found.at(bound), level_names)


def rows_figure(rows: UnitRows, bound: int) -> Draft:
    """Return how many units have how many records, those beyond the bound in another colour."""
    columns = unit_table(rows)
    records, units = (np.array(one) for one in columns.values())
    top = float(max(units, default=1))
    bars = [
        bar(
            x=records[mask], y=bent(units[mask]), name=name, marker={"color": rgba(colour, 0.75)}, width=0.9,
            customdata=units[mask],
            hovertemplate=f"{hover('x', 'whole')} records: {hover('customdata', 'whole')} units<extra></extra>",
        )
        for mask, name, colour in (
            (records <= bound, "counted whole", AFTER), (records > bound, f"more than {whole(bound)}", BEFORE),
        )
    ]  # fmt: skip
    return new_figure(
        bars,
        xaxis=axis("records of one unit", log=False, bounds=(0.0, float(max(records, default=1)) + 1.0)),
        yaxis=axis("units", log=False, bounds=(0.0, 1.05 * float(bent(np.array(top)))), grid=True) | bent_ticks(top),
    ).update_layout(barmode="overlay", bargap=0)


def _measured(found: BoundErrors, step: float) -> BoundErrors:
    """The same errors, each step of which is so large."""
    return replace(found, left_out=step * found.left_out, noise=step * found.noise)


def _line(x: AnyArray, y: FloatArray, name: str, colour: str, dash: str, width: float, *, measure: Measure) -> Trace:
    return scatter(
        x=x, y=np.where(y > 0, y, np.nan), mode="lines", name=name,
        line={"color": colour, "dash": dash, "width": width},
        hovertemplate=f"at most {hover('x', 'whole' if measure.step == 1.0 else 'short')}: {name} "
        f"{hover('y', 'short')} {plot_text(measure.noun, 24)}<extra></extra>",
    )  # fmt: skip


def _bars(found: BoundErrors, at: int, level_names: Sequence[str]) -> list[Trace]:
    """What each level lacks, and its noise."""
    rows, names = np.arange(len(level_names)), [plot_text(name, 16) for name in level_names]
    return [
        bar(
            x=bent(np.where(np.isfinite(values), values, 0.0)), y=rows, orientation="h", xaxis="x2", yaxis="y2",
            showlegend=False, name=name, marker={"color": rgba(colour, 0.75)}, customdata=names,
            hovertext=[_told(one, name) for one in values.tolist()],
            hovertemplate=f"%{{customdata}}, {name}: %{{hovertext}}<extra></extra>",
        )
        for values, name, colour in ((found.left_out[:, at], LEFT_OUT, BEFORE), (found.noise[:, at], NOISE, GREEN))
    ]  # fmt: skip


def _numbers(found: BoundErrors, at: int) -> Trace:
    """Both numbers of each level, beside the longer bar."""
    both = np.stack([found.left_out[:, at], found.noise[:, at]])
    told = ["\u00a0" + " · ".join(map(_told, pair, (LEFT_OUT, NOISE))) for pair in both.T.tolist()]
    return scatter(
        x=bent(np.where(np.isfinite(both), both, 0.0).max(axis=0)), y=np.arange(len(told)), mode="text", text=told,
        textposition="middle right", xaxis="x2", yaxis="y2", showlegend=False, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip


def _told(value: float, name: str) -> str:
    if value == 0:
        return "exact" if name == NOISE else "nothing"
    return short(value) if math.isfinite(value) else "not released"


def _with_levels(fig: Draft, found: BoundErrors, at: int, level_names: Sequence[str]) -> Draft:
    """Add the axes of the levels: their width does not depend on the bound, so that bars can be compared."""
    finite = found.noise[:, at][np.isfinite(found.noise[:, at])]
    high = float(max([*found.left_out[:, 0], *finite, 1.0]))
    names, ticks = [plot_text(name, 16) for name in level_names], bent_ticks(high)
    return fig.update_layout(
        barmode="group", bargap=0.3,
        xaxis2=axis("left out · noise, by level", log=False, bounds=(0.0, (1.0 + BESIDE) * float(bent(np.array(high)))))
        | numbers_apart(ticks["tickvals"], ticks["ticktext"], MOST_NUMBERS)
        | {"domain": list(RIGHT), "anchor": "y2", "tickangle": 0},
        yaxis2={
            "anchor": "x2", "tickvals": list(range(len(names))), "ticktext": names, "automargin": True,
            "range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip


def _rule(fig: Draft, bound: float, span: tuple[float, float], told: str) -> None:
    """Mark the bound on the left side, its name beside it."""
    at_left = math.log(bound / span[0]) < 0.6 * math.log(span[1] / span[0])
    fig.add_shape(
        type="line", x0=bound, x1=bound, y0=0, y1=1, yref="y domain", line={"color": GREY, "width": 1.5, "dash": "dot"}
    )
    fig.add_annotation(
        x=math.log10(bound), y=1, yref="y domain", xanchor="left" if at_left else "right", yanchor="top",
        xshift=4 if at_left else -4, text=plot_text(told), showarrow=False, font={"color": GREY},
    )  # fmt: skip
