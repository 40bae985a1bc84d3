"""A question with its field, what is kept of an answer, and what is said to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import Setting, control, in_a_row
from pages.ui.inputs.settings import PRESENT
from pages.ui.inputs.text import alert, prose
from pages.ui.page.scripts import script
from pages.ui.server import classroom
from treedp_core.checks import InputError
from treedp_core.studies.lesson import Question, Step, answers, drag_for_browser, mark, number_of, with_answer
from treedp_core.views.inputs import parameter
from treedp_core.views.lesson import PLACES, LessonInputs
from treedp_core.words import bare

# Settings of the page Lesson: where one is, which seat one has, and what one has answered; never an answer key.

STEP: Final = control(
    parameter(LessonInputs, "step"), label="Step", help="Eight steps, then a card of ten questions."
)  # fmt: skip
ANSWERS: Final = control(parameter(LessonInputs, "said"))
SEAT: Final = control(
    parameter(LessonInputs, "seat"), label="Seat", low=0, high=9999, step=1,
    help="Exercises have other numbers at each seat, so neighbours differ. Your teacher's sheet has the solutions.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (STEP, ANSWERS, SEAT)


HAND_IN: Final = "Hand in my guess"
"""The button of a question whose answer the whole class waits for."""
RUN: Final = "Run my guess"
CHECK: Final = "Check"
_THEN: Final = {
    HAND_IN: "Counted without your name, and shown once your teacher reveals it.",
    RUN: "Your number is run, and you see what it leads to.",
    CHECK: "It is checked by its formula.",
}
"""What each button does, in words."""


def ask(question: Question, button: str, *, bare: bool = False, beside: Callable[[], None] | None = None) -> None:
    """Show a question, unless `bare`, with a field or choices and a button; a refused answer changes nothing.

    In a presentation the question has the whole width, above its field, so that the figure below is higher.
    """
    key, is_above = _field(question.key), PRESENT.value and not bare
    if is_above:
        prose(question.text)
    with in_a_row():
        label = "Answer" if bare else question.text
        seen: Literal["collapsed", "visible"] = "collapsed" if is_above else "visible"
        if question.choices:
            named = question.choices.__getitem__
            st.segmented_control(label, range(len(question.choices)), format_func=named, key=key, help=question.hint,
                                 label_visibility=seen)  # fmt: skip
        else:
            told = f"{'Hint: ' + question.hint + ' ' if bare else ''}With a decimal point or comma."
            st.text_input(label, key=key, max_chars=24, placeholder=question.unit or "a number", help=told,
                          label_visibility=seen)  # fmt: skip
        st.button(button, key=f"{key}_go", on_click=_take, args=(question.key, key), help=_THEN[button])
        if beside is not None:
            beside()
    error = st.session_state.pop(f"_{key}_refused", None)
    if error is not None:
        refusal(error)


def is_refused(name: str) -> bool:
    """Whether the last answer to a question was refused, and that is still to be said."""
    return f"_{_field(name)}_refused" in st.session_state


def drag(step: Step) -> None:
    """Show the axis on which a step's guess is dragged: it goes into the field, and stands where the field says."""
    key = _field(step.name)
    try:
        typed: float | None = number_of(str(st.session_state.get(key) or ""))
    except InputError:
        typed = None
    _axis(drag_for_browser(step.name, typed), key=f"les_drag_{step.name}", on_guess=partial(_write, key))


def reaction(question: Question, given: Mapping[str, float]) -> None:
    """Show what is said to the answer that was given, if one was."""
    if question.key in given:
        marked = mark(question, given[question.key])
        tell = st.success if marked.is_right else st.warning
        alert(tell, marked.said)


def _field(question: str) -> str:
    return f"les_in_{question.replace('.', '_')}"


def _write(key: str, guess: float) -> None:
    st.session_state[key] = bare(guess)


def _take(name: str, key: str) -> None:
    held = st.session_state.get(key)
    try:
        value = float(held) if isinstance(held, int) else number_of(str(held or ""))
        had_one = name in answers(ANSWERS.value)
        ANSWERS.set(with_answer(ANSWERS.value, name, value))
        if name in PLACES:
            classroom.guess(name, value, had_one=had_one)
        st.session_state[f"more_lesson_{name.partition('.')[0]}_basic"] = True  # the exercises are there
    except InputError as error:
        st.session_state[f"_{key}_refused"] = error


def _axis(told: Mapping[str, Any], *, key: str, on_guess: Callable[[float], None]) -> None:
    """Show an axis, as `treedp_core.studies.lesson.drag_for_browser` writes it; what rests on it is told beforehand."""
    script("guess", isolate_styles=False)(
        data=dict(told), key=key, height="stretch",
        on_guessed_change=partial(_take_guess, key, told["low"], told["high"], on_guess),
    )  # fmt: skip


def _take_guess(key: str, low: float, high: float, on_guess: Callable[[float], None]) -> None:
    """Pass a guess on, if it is one: a browser may send anything."""
    sent: Any = st.session_state[key].guessed
    if type(sent) in (int, float) and math.isfinite(sent) and low <= sent <= high:
        on_guess(float(sent))
