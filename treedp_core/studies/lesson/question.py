"""A question, what is right, the idea behind each wrong answer, and what is said to either."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from treedp_core.checks import InputError
from treedp_core.words import lower_first, short, whole

CLOSE: Final = 0.03
"""Part of the answer by which a number may be off: two digits are enough."""
_NUMBER: Final = re.compile(r"[+\-−]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d{1,2})?", re.ASCII)


def _of_one(unit: str) -> str:
    """Return what one of a unit is called.

    >>> _of_one("levels"), _of_one("children"), _of_one("%")
    ('level', 'child', '%')
    """
    return "child" if unit == "children" else unit.removesuffix("s")


@dataclass(frozen=True)
class Wrong:
    """A wrong answer, and what whoever gives it seems to think: told to him, and to his teacher."""

    value: float
    why: str


@dataclass(frozen=True)
class Question:
    """A question with one right number.

    Parameters
    ----------
    key : str
        Its name in what is kept of a lesson.
    text : str
        Markdown, no answer in it.
    answer : float
        From the formula; with `choices` the place of the right one.
    tolerance : float
        By how much a number may be off; 0 for a choice.
    right : str
        What is said to the right answer: why it is right.
    wrong : tuple of Wrong
    hint : str
    unit : str
        Of the number.
    choices : tuple of str
        Where one is chosen.
    given : mapping
        The numbers in the question, by name: tests compute the answer from them in another way.
    """

    key: str
    text: str
    answer: float
    tolerance: float
    right: str
    wrong: tuple[Wrong, ...]
    hint: str
    unit: str
    choices: tuple[str, ...]
    given: Mapping[str, float]

    @property
    def solution(self) -> str:
        """The right answer in words, for the teacher."""
        return self.written(self.answer)

    def written(self, value: float) -> str:
        """Return an answer in words."""
        if self.choices:
            return self.choices[int(value)]
        number = whole(round(value)) if value == round(value) else short(value)
        return f"{number} {_of_one(self.unit) if value == 1 else self.unit}".strip()

    def named(self, key: str) -> Question:
        """Return the same question under another name."""
        return replace(self, key=key)

    def within(self, tolerance: float) -> Question:
        """Return the same question with another tolerance, without the wrong ideas that happen to lead there."""
        other = replace(self, tolerance=tolerance)
        return replace(other, wrong=tuple(one for one in self.wrong if not other.is_right(one.value)))

    def is_right(self, value: float) -> bool:
        """Whether an answer is close enough."""
        return math.isfinite(value) and abs(value - self.answer) <= self.tolerance * (1.0 + 1e-9)


@dataclass(frozen=True)
class Marked:
    """Whether an answer is right, and what is said to it."""

    is_right: bool
    said: str


def number(
    text: str, answer: float, *, right: str, wrong: tuple[Wrong, ...], hint: str, unit: str = "",
    given: Mapping[str, float] | None = None, exact: bool = False,
) -> Question:  # fmt: skip
    """Return a question, not named yet, whose answer is a number, `exact` a whole one that must be met."""
    tolerance = 0.0 if exact else CLOSE * abs(answer)
    asked = Question("", text, answer, tolerance, right, wrong, hint, unit, (), given or {})
    return asked.within(tolerance)


def mark(question: Question, value: float) -> Marked:
    """Return what is said to an answer: to a right one why, to a wrong one what seems to be behind it.

    >>> asked = number("2 + 2?", 4.0, right="Yes.", wrong=(Wrong(22.0, "They are added."),), hint="", exact=True)
    >>> mark(asked, 4.0).said, mark(asked, 22.0).said, mark(asked, 3.0).said
    ('Yes.', 'Not quite: they are added.', 'Too small. ')
    """
    if question.is_right(value):
        return Marked(True, question.right)
    for one in question.wrong:
        if abs(value - one.value) <= (question.tolerance or CLOSE * abs(one.value) * (not question.choices)):
            return Marked(False, f"Not quite: {lower_first(one.why)}")
    way = "" if question.choices else "Too small. " if value < question.answer else "Too large. "
    return Marked(False, f"{way}{question.hint}")


def number_of(text: str) -> float:
    """Return the number that somebody typed, with a decimal point or comma.

    Raises
    ------
    InputError
        ``LESSON_NUMBER``.

    >>> number_of(" 2,5 "), number_of("73 %"), number_of("−1")
    (2.5, 73.0, -1.0)
    """
    plain = re.sub(r"[\s\u202f%]", "", text)
    if len(plain) > 24 or not _NUMBER.fullmatch(plain):
        raise InputError("LESSON_NUMBER", "Expected a number, such as 2.5 or 2,5.")
    return float(plain.replace(",", ".").replace("−", "-"))


def counted(n: float) -> str:
    """Return a whole number of a question in words."""
    return whole(round(n))
