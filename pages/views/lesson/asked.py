"""A question with its field, what is kept of an answer, and what is said to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from pages.ui import classroom
from pages.ui.dragged import dragged
from pages.ui.refusals import refusal
from pages.ui.setting import in_a_row
from pages.views.lesson import settings as s
from treedp_core.checks import InputError
from treedp_core.studies.lesson import Question, Step, answers, drag_for_browser, mark, number_of, with_answer


def ask(question: Question, button: str, *, bare: bool = False, beside: Callable[[], None] | None = None) -> None:
    """Show a question, unless `bare`, with a field or choices and a button; a refused answer changes nothing."""
    key = _field(question.key)
    with in_a_row():
        label = "Answer" if bare else question.text
        if question.choices:
            named = question.choices.__getitem__
            st.segmented_control(label, range(len(question.choices)), format_func=named, key=key, help=question.hint)
        else:
            hint = question.unit or "a number"
            st.text_input(label, key=key, max_chars=24, placeholder=hint, help="With a decimal point or comma.")
        about = "It is checked by its formula." if bare else "Your number is run, and you see what it leads to."
        st.button(button, key=f"{key}_go", on_click=_take, args=(question.key, key), help=about)
        if beside is not None:
            beside()
    error = st.session_state.pop(f"_{key}_refused", None)
    if error is not None:
        refusal(error)


def drag(step: Step) -> None:
    """Show the axis on which a step's guess is dragged: it goes into the field, and stands where the field says."""
    key = _field(step.name)
    try:
        typed: float | None = number_of(str(st.session_state.get(key) or ""))
    except InputError:
        typed = None
    dragged(drag_for_browser(step.name, typed), key=f"les_drag_{step.name}", on_guess=partial(_write, key))


def reaction(question: Question, given: Mapping[str, float]) -> None:
    """Show what is said to the answer that was given, if one was."""
    if question.key in given:
        marked = mark(question, given[question.key])
        tell = st.success if marked.is_right else st.warning
        tell(marked.said)


def _field(question: str) -> str:
    return f"les_in_{question.replace('.', '_')}"


def _write(key: str, guess: float) -> None:
    st.session_state[key] = f"{guess:.12g}"


def _take(name: str, key: str) -> None:
    held = st.session_state.get(key)
    try:
        value = float(held) if isinstance(held, int) else number_of(str(held or ""))
        had_one = name in answers(s.ANSWERS.value)
        s.ANSWERS.set(with_answer(s.ANSWERS.value, name, value))
        if name in s.PLACES:
            classroom.guess(name, value, had_one=had_one)
        st.session_state[f"more_lesson_{name.partition('.')[0]}_basic"] = True  # the exercises are there
    except InputError as error:
        st.session_state[f"_{key}_refused"] = error
