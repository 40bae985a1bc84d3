"""The lesson: what a guess leads to, step by step, and how many exercises are right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from treedp_core.figures.lesson import before_the_guess, of_guess, points_of_steps
from treedp_core.studies.lesson import (
    CARD,
    DRAWS,
    STEPS,
    answers,
    entry_checked,
    mark,
    points_table,
    question_table,
    reveal_table,
    revealed,
    score,
    step_named,
)
from treedp_core.views.entries import Entry, alone
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.views.inputs import Inputs, of
from treedp_core.views.parameters import choice, many, whole
from treedp_core.words import whole as in_full

# ---- one step of the lesson, before its guess and after it, and the final card


MOST: Final = 60
"""Answers that are kept."""
PLACES: Final = {one.name: str(i) for i, one in enumerate(STEPS, 1)} | {CARD: "Card"}
FIRST: Final = "Guess first: drag or type. Your own number is then run, and you see what it leads to."
NOTHING: Final = "Nothing is shown before the guess."
FORMULA: Final = ("formula",)


@dataclass(frozen=True, kw_only=True)
class LessonInputs(Inputs):
    """What a learner has said so far.

    Parameters
    ----------
    step : str
        Which step is shown, or the card.
    said : tuple of str
        Guesses and answers: see `treedp_core.studies.lesson.answers`.
    seat : int
        Whose numbers the exercises have.
    """

    step: str = of(choice("step", STEPS[0].name, PLACES, label="Step"))
    said: tuple[str, ...] = of(many("les_said", entry_checked, MOST))
    seat: int = of(whole("les_seat", 7, 0, 9999))


def before(inputs: LessonInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the question of a step, and an axis with nothing on it."""
    return Finding(
        figure=before_the_guess(), columns=partial(question_table, inputs.step), answer=FIRST, alt=NOTHING,
        caption=f"{NOTHING} Formula.", badges=FORMULA,
    )  # fmt: skip


def run(inputs: LessonInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what the guess of a step leads to, beside the right answer; as `before` while there is none."""
    name = inputs.step
    step, guess = step_named(name), answers(inputs.said).get(name)
    if guess is None:
        return before(inputs, tables)
    marked, found = mark(step.predict, guess), revealed(name, guess)
    right = "" if marked.is_right else f" The answer is {step.predict.solution}."
    said = f"{'**Right.** ' * marked.is_right}{marked.said.rstrip()}{right} {found.said} *Keep: {step.keep}*"
    return Finding(
        figure=of_guess(name, guess), columns=partial(reveal_table, name, guess), answer=said, alt=said, badges=FORMULA,
        caption="Your guess in orange, the right answer in green, where they are on the axis. Formula; the noise of "
        f"step 2 is {in_full(DRAWS)} draws.",
    )  # fmt: skip


def card(inputs: LessonInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return how many exercises of each step are right, and how many questions of the card."""
    points, steps = score(inputs.said, inputs.seat, CARD), points_table(inputs.said, inputs.seat)
    said = (
        f"**{points.right} of {points.of}** right on the card, {points.answered} answered; "
        f"{sum(steps['right'])} of {sum(steps['exercises'])} in the steps."
    )
    return Finding(
        figure=points_of_steps(steps), columns=lambda: steps, answer=said, alt=said, badges=FORMULA,
        caption="Exercises of each step, and how many of them you have solved. Formula.",
    )  # fmt: skip


_entry = partial(Entry, page="lesson", inputs=LessonInputs, apart=alone)
ENTRIES = (
    *(_entry(view=one.name, part=f"les_{one.name}_run", question=one.title, find=run)
      for one in STEPS),
    *(_entry(view=one.name, section="before", part=f"les_{one.name}", find=before) for one in STEPS),
    _entry(view=CARD, part="les_card", question="What have I learnt?", find=card),
)  # fmt: skip
