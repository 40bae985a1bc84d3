"""What somebody has answered so far: kept as text, marked anew whenever it is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treedp_core.checks import InputError
from treedp_core.studies.lesson.exercises import EXERCISES, exercises
from treedp_core.studies.lesson.question import Question, number_of
from treedp_core.studies.lesson.steps import CARD, STEPS, step_named

MAX_ENTRIES: Final = 60


@dataclass(frozen=True)
class Score:
    """Points of exercises: answered, right, and all there are."""

    answered: int
    right: int
    of: int


def question_named(key: str, seed: int) -> Question:
    """Return the question of that name as one seat has it.

    Raises
    ------
    InputError
        ``LESSON_KEY`` for a name that none has.
    """
    name = key.partition(".")[0]
    if key in EXERCISES:
        return step_named(key).predict
    known = exercises(name, seed) if name in EXERCISES or name == CARD else ()
    found = next((one for one in known if one.key == key), None)
    if found is None:
        raise InputError("LESSON_KEY", "Expected the name of a question of the lesson.")
    return found


def entry_checked(text: str) -> str:
    """Return an entry "question:answer", or refuse it.

    Raises
    ------
    InputError
        ``LESSON_KEY`` or ``LESSON_NUMBER``.

    >>> entry_checked("noise.1:2.8")
    'noise.1:2.8'
    """
    key, _, value = text.partition(":")
    question_named(key, 0)
    number_of(value)
    return text


def answers(entries: Iterable[str]) -> dict[str, float]:
    """Return what was answered to which question, the last answer to each.

    >>> answers(("noise:2", "noise:2,8"))
    {'noise': 2.8}
    """
    found = {}
    for entry in entries:
        key, _, value = entry.partition(":")
        found[key] = number_of(value)
    return found


def with_answer(entries: Iterable[str], key: str, value: float) -> tuple[str, ...]:
    """Return the entries with one more answer, in place of an earlier one to the same question.

    >>> with_answer(("noise:2",), "noise", 2.5)
    ('noise:2.5',)
    """
    kept = [one for one in entries if one.partition(":")[0] != key]
    if not math.isfinite(value):
        raise InputError("LESSON_NUMBER", "Expected a number, such as 2.5 or 2,5.")
    return (*kept[: MAX_ENTRIES - 1], f"{key}:{value:.12g}")


def score(entries: Iterable[str], seed: int, step: str) -> Score:
    """Return the points in a step's exercises, or on the final card."""
    given, asked = answers(entries), exercises(step, seed)
    marks = [one.is_right(given[one.key]) for one in asked if one.key in given]
    return Score(len(marks), sum(marks), len(asked))


def points_table(entries: tuple[str, ...], seed: int) -> dict[str, list[int]]:
    """Return the exercises of each step, and how many of them are answered and right."""
    told = [score(entries, seed, one.name) for one in STEPS]
    return {
        "step": list(range(1, len(STEPS) + 1)),
        "exercises": [one.of for one in told],
        "answered": [one.answered for one in told],
        "right": [one.right for one in told],
    }


def steps_done(entries: Iterable[str]) -> int:
    """Return how many predictions have been made."""
    return len(answers(entries).keys() & {one.name for one in STEPS})
