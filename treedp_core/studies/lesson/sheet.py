"""What a class gets on paper and as files: the teacher's sheet, ready to print, and the students' hand-out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from treedp_core.checks import InputError
from treedp_core.studies.lesson.exercises import EXERCISES, exercises
from treedp_core.studies.lesson.question import Question, number_of
from treedp_core.studies.lesson.steps import CARD, STEPS, Step, step_named
from treedp_core.words import bare

MAX_SEATS: Final = 100
_STYLE: Final = (
    "body{font:11pt/1.4 sans-serif;max-width:18cm;margin:1cm auto}h2{margin-bottom:0;break-after:avoid}"
    "p,ul{margin:.4em 0}li{break-inside:avoid}.solutions{display:flex;flex-wrap:wrap;gap:4mm;align-items:start}"
    "table{border-collapse:collapse;font-size:7.5pt;break-inside:avoid}"
    "td,th{border:1px solid;padding:.4mm 1mm;text-align:left}@page{size:A4;margin:1.5cm}"
)


def teacher_sheet(seats: Sequence[int], base: str) -> str:
    """Return the teacher's sheet as one HTML file that opens offline and prints on A4.

    Goals, minutes, links, what each wrong answer means, and the solutions of each seat.

    Parameters
    ----------
    seats : sequence of int
        At most 100.
    base : str
        Address of the app, without a slash at its end, for links.

    Raises
    ------
    InputError
        ``LESSON_SEATS`` for too many.
    """
    if len(seats) > MAX_SEATS:
        raise InputError("LESSON_SEATS", f"Expected at most {MAX_SEATS} seats.")
    total = sum(one.minutes for one in STEPS)
    body = "".join(_of_step(i, one, base) for i, one in enumerate(STEPS, 1))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>TreeDP lesson: teacher\'s sheet</title>'
        f"<style>{_STYLE}</style><h1>Lesson: teacher's sheet</h1>"
        f"<p>{total} minutes for {len(STEPS)} steps, then a card of ten questions. Every step: let them guess, run it, "
        "talk about the wrong answers, then the exercises. Numbers are accepted with a decimal comma, and to 3 %.</p>"
        f"{body}<h2>Solutions by seat</h2>{_solutions([*EXERCISES, CARD], seats)}</html>"
    )


def _of_step(number: int, step: Step, base: str) -> str:
    link = f"{base}/lesson?step={step.name}"
    asked = exercises(step.name, 0)
    ideas = _ideas(step.predict) + "".join(
        f"<p><b>Exercise {number}.{i}, seat 0:</b> {escape(one.text)} <b>{escape(one.solution)}</b>. "
        f"{escape(one.right)}</p>{_ideas(one)}"
        for i, one in enumerate(asked, 1)
    )
    return (
        f"<section><h2>{number}. {escape(step.title)} ({step.minutes} minutes)</h2><p><b>Goal:</b> {escape(step.aim)} "
        f'<a href="{escape(link)}">{escape(link)}</a></p><p>{escape(step.text)}</p>'
        f"<p><b>Predict:</b> {escape(step.predict.text)} <b>{escape(step.predict.solution)}</b>. "
        f"{escape(step.predict.right)}</p>{ideas}"
        f"<p><b>Keep:</b> {escape(step.keep)}</p></section>"
    )


def _ideas(question: Question) -> str:
    """What each wrong answer to a question means."""
    rows = "".join(f"<li>{escape(question.written(one.value))}: {escape(one.why)}</li>" for one in question.wrong)
    return f"<ul>{rows}</ul>"


def _solutions(steps: Iterable[str], seats: Sequence[int]) -> str:
    """The right answers of each seat: a narrow table for each step, several of them side by side."""
    tables = []
    for number, step in enumerate(steps, 1):
        name = "card" if step == CARD else f"{number}"
        by_seat = [(seat, exercises(step, seat)) for seat in seats]
        if by_seat:
            head = "".join(f"<th>{name}.{i}</th>" for i in range(1, len(by_seat[0][1]) + 1))
            rows = "".join(
                f"<tr><th>{seat}</th>{''.join(f'<td>{escape(one.solution)}</td>' for one in asked)}</tr>"
                for seat, asked in by_seat
            )
            tables.append(f"<table><tr><th>seat</th>{head}</tr>{rows}</table>")
    return f'<div class="solutions">{"".join(tables)}</div>'


def hand_out(seat: int) -> bytes:
    """Return the students' hand-out as a Jupyter notebook (nbformat 4.5): questions, empty cells, automatic checks.

    >>> json.loads(hand_out(3))["nbformat"]
    4
    """
    start = f"# Counts on a tree, privately\n\nSeat {seat}. Write each answer in place of `None`, and run its cell."
    cells = [_markdown("head", start)]
    cells.append(_code("import", "from treedp_core import lesson"))
    for number, step in enumerate(STEPS, 1):
        cells.append(_markdown(step.name, f"## {number}. {step.title}\n\n{step.text}"))
        for question in exercises(step.name, seat):
            options = "".join(f"\n{i}. {one}" for i, one in enumerate(question.choices, 1))
            key = question.key.replace(".", "-")
            cells.append(_markdown(f"{key}-question", question.text + ("\n" + options if options else "")))
            cells.append(_code(key, f"answer = None\nlesson.check({question.key!r}, answer, seat={seat})"))
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def _markdown(name: str, text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}


def _code(name: str, text: str) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": text}


# ---- what somebody has answered so far: kept as text, marked anew whenever it is shown


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
    return (*kept[: MAX_ENTRIES - 1], f"{key}:{bare(value)}")


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
