"""Answers of a hand-out, checked: for students who work in a notebook.

>>> from treedp_core import lesson
>>> lesson.check("noise.1", 1.0, seat=3)
'Too small. Scale 1 / ε, then times √2.'
"""

from __future__ import annotations

from treedp_core.studies.lesson import mark, number_of, question_named


def ask(key: str, seat: int) -> str:
    """Return the question of that name as a seat has it.

    Raises
    ------
    InputError
        ``LESSON_KEY`` for a name that no question has.
    """
    return question_named(key, seat).text


def check(key: str, answer: float | str | None, seat: int) -> str:
    """Return "Right." with the reason, or what is not right; a text may have a decimal comma.

    A choice is answered by its place, from 1.

    Raises
    ------
    InputError
        ``LESSON_KEY`` for a name that no question has, ``LESSON_NUMBER`` for what is no number.
    """
    asked = question_named(key, seat)
    if answer is None:
        return "No answer yet."
    value = number_of(answer) if isinstance(answer, str) else float(answer)
    marked = mark(asked, value - 1 if asked.choices else value)
    return f"Right. {marked.said}" if marked.is_right else marked.said
