"""What a step of the lesson shows: empty axes before a guess, then its curve with the guess and the right answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, bar, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, GREEN, GREY, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.studies.lesson import Revealed, bars, most_frequent, revealed, step_named

LOOKS: Final = ((AFTER, "solid"), (BEFORE, "dash"), (GREY, "dot"))


def before_the_guess() -> Draft:
    """Return empty axes, which tell nothing.

    >>> len(before_the_guess().data)
    0
    """
    blank = axis("", log=False, bounds=(0.0, 1.0)) | {"showticklabels": False, "ticks": ""}
    fig = new_figure([], xaxis=blank, yaxis=blank)
    fig.add_annotation(
        x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, text="?", font={"color": GREY, "size": 72}
    )
    return fig


def of_guess(step: str, guess: float) -> Draft:
    """Return the curve that a guess leads to, see `revealed`."""
    return _curve(step, guess, "your guess")


def of_class(step: str, counts: Mapping[float, int]) -> go.Figure:
    """Return how often a class guessed what, beside the curve that its most frequent guess leads to.

    Parameters
    ----------
    step : str
    counts : mapping of float to int
        How often each number was guessed.
    """
    asked = step_named(step).predict
    guess = most_frequent(counts, asked.answer)
    fig = _curve(step, guess, "" if asked.is_right(guess) else "most of you")
    fig.update_layout(xaxis={"domain": [0.58, 1.0]}, legend={"x": 0.58})
    found = bars(step, counts)
    for is_right, name, colour in ((False, "wrong", BEFORE), (True, "right", GREEN)):
        shown = [one if one.is_right == is_right else None for one in found]
        fig.add_trace(
            bar(
                x=[plot_text(one.label) for one in found], y=[one.number if one else None for one in shown],
                text=[str(one.number) if one else "" for one in shown], textposition="outside", cliponaxis=False,
                name=name, showlegend=False, marker={"color": colour}, xaxis="x2", yaxis="y2",
            )
        )  # fmt: skip
    highest = max(one.number for one in found)
    across = axis(f"guessed ({asked.unit or 'a number'})", log=False, bounds=(-0.6, len(found) - 0.4))
    up = axis("guesses", log=False, bounds=(0.0, 1.15 * max(1, highest)), grid=True)
    fig.update_layout(
        barmode="overlay",
        xaxis2=across | {"domain": [0.0, 0.46], "type": "category", "anchor": "y2"},
        yaxis2=up | {"anchor": "x2", "dtick": math.ceil(max(1, highest) / 3)},
    )
    return fig.figure()


def _curve(step: str, guess: float, whose: str) -> Draft:
    """Draw the curve of a step, with a guess and the right answer marked on it."""
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
    lower = 0.9 if math.isfinite(found.guess) else 1.0
    for x, text, colour, height in ((found.guess, whose, BEFORE, 1.0), (found.right, "right", GREEN, lower)):
        _mark(fig, found, x, text, colour, height)
    return fig


def _mark(fig: Draft, found: Revealed, x: float, text: str, colour: str, height: float) -> None:
    """Mark a place of the x axis, if it is on it."""
    low, high = float(found.x.min()), float(found.x.max())
    if not (text and math.isfinite(x) and low <= x <= high):
        return
    where = math.log10(x) if found.log else x
    part = (where - math.log10(low)) / math.log10(high / low) if found.log else (x - low) / (high - low)
    side = "left" if part < 0.8 else "right"
    fig.add_shape(type="line", x0=x, x1=x, y0=0, y1=height, yref="paper", line={"color": colour, "width": 2})
    fig.add_annotation(
        x=where, y=height, yref="paper", xanchor=side, yanchor="top", xshift=4 if side == "left" else -4,
        text=text, showarrow=False, font={"color": colour},
    )  # fmt: skip


def points_of_steps(points: Mapping[str, Sequence[int]]) -> Draft:
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
    return fig
