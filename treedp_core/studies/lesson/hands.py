"""How a class guessed: numbers and how often each was said, grouped for a histogram, and what stands behind them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from treedp_core.checks import InputError
from treedp_core.studies.lesson.question import Question, Wrong, mark, number_of
from treedp_core.studies.lesson.steps import BINS, CHILDREN, step_named
from treedp_core.words import lower_first, percent, plural, short

MOST_HANDS: Final = 1_000
MOST_BARS: Final = 10
"""Bars of a histogram; more numbers than that are put together."""
_HANDS: Final = re.compile(r"\s*([^:;×=\s]+)\s*%?\s*[:×=]\s*(\d{1,4})(?:\s*[;,]\s*|\s+|$)")


@dataclass(frozen=True)
class Bar:
    """One bar: what was guessed, how often, and whether it is right."""

    label: str
    number: int
    is_right: bool


def hands(text: str) -> dict[float, int]:
    """Return how often each number was guessed, from a show of hands that was typed: number, colon, how many.

    Raises
    ------
    InputError
        ``LESSON_HANDS``.

    >>> hands("50: 12, 100: 3"), hands("2,8: 4; 2: 9; 2: 1")
    ({50.0: 12, 100.0: 3}, {2.0: 10, 2.8: 4})
    """
    found: Counter[float] = Counter()
    at, text = 0, text.strip()
    while at < len(text):
        one = _HANDS.match(text, at)
        if one is None or len(found) >= MOST_HANDS:
            raise InputError("LESSON_HANDS", "Expected guesses and how many had them, such as 50: 12, 100: 3.")
        found[number_of(one[1])] += int(one[2])
        at = one.end()
    if not 0 < found.total() <= MOST_HANDS:
        raise InputError("LESSON_HANDS", "Expected one to 1 000 hands, such as 50: 12, 100: 3.")
    return dict(sorted(found.items()))


def bars(step: str, counts: Mapping[float, int]) -> tuple[Bar, ...]:
    """Return the bars of a histogram from small to large, that of the right answer among them, guessed or not."""
    asked = step_named(step).predict
    right = sum(n for guess, n in counts.items() if asked.is_right(guess))
    wrong = {guess: n for guess, n in counts.items() if not asked.is_right(guess)}
    below = _grouped({guess: n for guess, n in wrong.items() if guess < asked.answer}, len(wrong))
    above = _grouped({guess: n for guess, n in wrong.items() if guess > asked.answer}, len(wrong))
    return (*below, Bar(short(asked.answer), right, True), *above)


def _grouped(counts: Mapping[float, int], n_wrong: int) -> list[Bar]:
    """Return bars of wrong guesses to one side, each number for itself where all of them have room."""
    values = sorted(counts)
    room = max(1, MOST_BARS // 2)
    if n_wrong < MOST_BARS or len(values) <= room:
        groups = [[one] for one in values]
    else:
        groups = [list(map(float, part)) for part in np.array_split(np.array(values), room)]
    names = (short(one[0]) if len(one) == 1 else f"{short(one[0])} to {short(one[-1])}" for one in groups)
    return [Bar(name, sum(counts[v] for v in one), False) for name, one in zip(names, groups, strict=True)]


def most_frequent(counts: Mapping[float, int], default: float) -> float:
    """Return the number that most guessed.

    >>> most_frequent({1.0: 2, 3.0: 5}, 0.0)
    3.0
    """
    return max(counts, key=lambda guess: counts[guess], default=default)


def said_of_hands(step: str, counts: Mapping[float, int]) -> str:
    """Return how many were right, and the idea behind the wrong answer that most had.

    >>> said_of_hands("gives", {50.0: 3, 100.0: 1}).split(".")[0]
    '**1 of 4** right (25 %)'
    """
    asked = step_named(step).predict
    n = sum(counts.values())
    if n == 0:
        return f"Nobody guessed. Right: {asked.solution}. {asked.right}"
    right = sum(one for guess, one in counts.items() if asked.is_right(guess))
    start = f"**{right} of {n}** right ({percent(right / n)}). Right: {asked.solution}. {asked.right}"
    ideas = _ideas(asked, counts)
    if not ideas:
        return start
    idea, often = ideas.most_common(1)[0]
    return f"{start} {plural(often, 'guess', 'guesses')} near {asked.written(idea.value)}: {lower_first(idea.why)}"


def _ideas(asked: Question, counts: Mapping[float, int]) -> Counter[Wrong]:
    """Return how many guesses have which wrong idea behind them."""
    found: Counter[Wrong] = Counter()
    for guess, n in counts.items():
        said = mark(asked, guess).said
        for one in asked.wrong:
            if not asked.is_right(guess) and said == mark(asked, one.value).said:
                found[one] += n
                break
    return found


# ---- how a guess is dragged before anything is shown: along which axis, or which curve bends with it


@dataclass(frozen=True)
class Drag:
    """An axis on which a guess is dragged.

    Parameters
    ----------
    title : str
        Of the axis.
    low, high : float
        Its ends; a guess beyond them can be typed.
    by : float
        How finely.
    ticks : tuple of float
    shape : "place", "bell" or "root"
        A place on the axis; a law as wide as the guess; a curve from one bin to a hundred, upright.
    log : bool
    stops : tuple of float
        Where it stops, if not everywhere.
    start : float
        Where a curve begins.
    """

    title: str
    low: float
    high: float
    by: float
    ticks: tuple[float, ...]
    shape: Literal["place", "bell", "root"] = "place"
    log: bool = False
    stops: tuple[float, ...] = ()
    start: float = 0.0


_RANGE: Final = step_named("ranges").predict.given
_FIRST: Final = int(step_named("tree").predict.given["bins"])
_PERCENT: Final = (0, 25, 50, 75, 100)
_SCALES: Final = tuple(2.0**power for power in range(-1, 7))
DRAGS: Final = {
    "gives": Drag("how sure afterwards (%)", 0, 100, 1, _PERCENT),
    "noise": Drag("off by (records): drag how wide the noise is", 0.1, 10, 0.1, (-10, -5, 0, 5, 10), "bell"),
    "who": Drag(
        "scale of the noise of each bin", _SCALES[0], _SCALES[-1], 0.5, _SCALES, log=True, stops=_SCALES
    ),
    "ranges": Drag(
        f"one bin on the left, {short(_RANGE['bins'])} bins on the right: drag how far off their sum is (records)",
        1, 1000, 1, (1, 10, 100, 1000), "root", log=True, start=_RANGE["sd"],
    ),
    "tree": Drag(f"counts for the first {_FIRST} bins", 0, _FIRST, 1, tuple(_FIRST * i / 4 for i in range(5))),
    "children": Drag("children of each node", CHILDREN[0], BINS, 1, CHILDREN, log=True, stops=CHILDREN),
    "spend": Drag("share of the bins (%)", 0, 100, 1, _PERCENT),
    "adds": Drag("best guess of the total (records)", 20, 34, 0.5, (20, 22, 24, 26, 28, 30, 32, 34)),
}  # fmt: skip
"""Step -> its axis."""


def drag_for_browser(step: str, value: float | None) -> dict[str, object]:
    """Return a step's axis as its script takes it, with the guess so far.

    >>> drag_for_browser("spend", 50.0)["value"]
    50.0
    """
    one, asked = DRAGS[step], step_named(step).predict
    return {
        "step": step, "label": asked.text, "title": one.title, "unit": asked.unit, "low": one.low, "high": one.high,
        "by": one.by, "ticks": one.ticks, "shape": one.shape, "log": one.log, "stops": one.stops or None,
        "start": one.start, "value": value,
    }  # fmt: skip
