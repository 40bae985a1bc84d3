"""What a step of the lesson shows: empty axes before a guess, then its curve with the guess and the right answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go

from treedp_core.figures.colour import rgba
from treedp_core.figures.draft import Draft, bar, scatter
from treedp_core.figures.style import AFTER, BEFORE, GREEN, GREY, axis, limits, new_figure
from treedp_core.figures.text import plot_text
from treedp_core.studies.lesson import Revealed, revealed

LOOKS: Final = ((AFTER, "solid"), (BEFORE, "dash"), (GREY, "dot"))


def before_the_guess() -> go.Figure:
    """Return empty axes, which tell nothing.

    >>> len(before_the_guess().data)
    0
    """
    blank = axis("", log=False, bounds=(0.0, 1.0)) | {"showticklabels": False, "ticks": ""}
    fig = new_figure([], xaxis=blank, yaxis=blank)
    fig.add_annotation(
        x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, text="?", font={"color": GREY, "size": 72}
    )
    return fig.figure()


def of_guess(step: str, guess: float) -> go.Figure:
    """Return the curve that a guess leads to, see `revealed`."""
    found = revealed(step, guess)
    lines = [
        scatter(x=found.x, y=y, mode="lines", name=plot_text(name), line={"color": colour, "dash": dash, "width": 3})
        for (name, y), (colour, dash) in zip(found.lines, LOOKS, strict=False)
    ]
    low, high = limits([y for _, y in found.lines], log=False, default=(0.0, 1.0))
    ends = (float(found.x.min()), float(found.x.max()))
    fig = new_figure(
        lines,
        xaxis=axis(found.x_title, log=found.log, bounds=ends),
        yaxis=axis(found.y_title, log=False, bounds=(low, 1.15 * high), grid=True),
    )
    fig.update_layout(showlegend=len(lines) > 1)
    for x, text, colour, height in ((found.guess, "your guess", BEFORE, 1.0), (found.right, "right", GREEN, 0.9)):
        _mark(fig, found, x, text, colour, height)
    return fig.figure()


def _mark(fig: Draft, found: Revealed, x: float, text: str, colour: str, height: float) -> None:
    """Mark a place of the x axis, if it is on it."""
    low, high = float(found.x.min()), float(found.x.max())
    if not (math.isfinite(x) and low <= x <= high):
        return
    where = math.log10(x) if found.log else x
    part = (where - math.log10(low)) / math.log10(high / low) if found.log else (x - low) / (high - low)
    side = "left" if part < 0.8 else "right"
    fig.add_shape(type="line", x0=x, x1=x, y0=0, y1=height, yref="paper", line={"color": colour, "width": 2})
    fig.add_annotation(
        x=where, y=height, yref="paper", xanchor=side, yanchor="top", xshift=4 if side == "left" else -4,
        text=text, showarrow=False, font={"color": colour},
    )  # fmt: skip


def points_of_steps(points: Mapping[str, Sequence[int]]) -> go.Figure:
    """Return how many exercises of each step are solved, beside how many there are, from `points_table`."""
    right, of = points["right"], points["exercises"]
    steps = list(range(1, len(of) + 1))
    bars = [
        bar(x=steps, y=list(counts), name=name, marker={"color": rgba(colour, 0.6)})
        for counts, name, colour in ((of, "exercises", GREY), (right, "right", GREEN))
    ]
    fig = new_figure(
        bars,
        xaxis=axis("step", log=False, bounds=(0.4, len(of) + 0.6)) | {"dtick": 1},
        yaxis=axis("exercises", log=False, bounds=(0.0, max(of) + 0.5), grid=True) | {"dtick": 1},
    )
    fig.update_layout(barmode="overlay")
    return fig.figure()
