"""How a class guessed: numbers and how often each was said, grouped for a histogram, and what stands behind them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.studies.lesson.question import Question, Wrong, mark, number_of
from treedp_core.studies.lesson.steps import step_named
from treedp_core.words import lower_first, percent, plural, short

MOST_HANDS: Final = 1_000
MOST_BARS: Final = 10
"""Bars of a histogram; more numbers than that are put together."""
_HANDS: Final = re.compile(r"\s*+([^:;×=\s]+)\s*+%?\s*+[:×=]\s*+(\d{1,4})(?:\s*[;,]\s*|\s+|$)")


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
