"""The lesson in a class: what its teacher shows of the guesses, how students wait for that, and a show of hands.

What a class guessed has no code, no file and no pin: it is shown, and then forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.settings import PRESENT
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.server import classroom
from treedp_core.checks import InputError
from treedp_core.figures.lesson import before_the_guess, of_class
from treedp_core.studies.lesson import Step, hands, said_of_hands
from treedp_core.words import plural

TEACHER_EVERY: Final = 2.0
STUDENT_EVERY: Final = 4.0
"""Seconds after which a page looks whether something is new: a class of thirty looks eight times a second."""
_HANDS: Final = "_hands_of_step"


def teach(step: Step) -> None:
    """Show a step as its teacher has it: what is asked, and once it is revealed how the class guessed."""
    room = classroom.guesses()
    prose(step.predict.text)
    if room.is_shown(step.name):
        _histogram(step, room.of(step.name))
    else:
        told = "Nothing is shown before you reveal it; students may change their guess until then."
        frame.alone(before_the_guess(), key=f"les_{step.name}_blank", answer=told)


def teachers_keys(step: Step) -> None:
    """Show what a teacher does at a step, and how many guesses are in."""
    room = classroom.guesses()
    is_shown = room.is_shown(step.name)
    st.button(
        "Reveal", key="les_show", type="primary", icon=":material/visibility:", disabled=is_shown, on_click=_show,
        args=(step.name,), help="To the whole class; no guess is counted any more.",
    )  # fmt: skip
    with st.container(width="content"):
        st.fragment(_number, run_every=None if is_shown else TEACHER_EVERY)(step.name)
    with st.popover("Class", icon=":material/groups:", help="Its word, its time, and its end", width="content"):
        prose(f"Word: {lit(classroom.door().word)}")
        left = plural(room.minutes_left(), "minute")
        small_print(f"In a presentation Q shows the QR code. It ends by itself in {left}.")
        st.button(
            "End the class", key="les_end", icon=":material/stop_circle:", on_click=_end,
            help="All guesses are forgotten at once, and nobody else comes in.",
        )  # fmt: skip


def wait(step: Step, guess: float, drag: Callable[[], None]) -> None:
    """Show a student that a guess is in, and how to change it, until the teacher reveals the step."""
    said = lit(step.predict.written(guess))
    told = f"Your guess, {said}, is in. You may change it until your teacher reveals it."
    frame.staged(drag)
    frame.say(told)
    st.fragment(_look, run_every=STUDENT_EVERY)(step.name)


def said_to_class(step: Step) -> str:
    """Return what a student is told of all guesses, once they are shown."""
    room = classroom.guesses()
    if not classroom.is_open() or not room.is_shown(step.name):
        return ""
    return f"Of your class, {said_of_hands(step.name, room.of(step.name)).partition('. ')[0]}."


def ask_hands(step: Step) -> None:
    """Ask for a show of hands, where a presentation has no class to collect guesses from."""
    if not PRESENT.value or classroom.is_open():
        return
    key = f"les_hands_{step.name}"
    with st.container(width=400):
        st.text_input(
            "Or a show of hands", key=key, max_chars=200, placeholder="or hands, 50: 12, 100: 3",
            on_change=_take_hands, args=(step.name, key), help="Each guess and how many had it; it is not kept.",
            label_visibility="collapsed",
        )  # fmt: skip


def has_hands(step: Step) -> bool:
    """Whether there is a show of hands, or one was refused."""
    return step.name in st.session_state.get(_HANDS, {}) or _refused(step.name) in st.session_state


def show_hands(step: Step) -> bool:
    """Show a show of hands, or why it was refused; whether there is one."""
    error = st.session_state.pop(_refused(step.name), None)
    if error is not None:
        refusal(error)
    counts = st.session_state.get(_HANDS, {}).get(step.name)
    if counts is None or not PRESENT.value:
        return False
    _histogram(step, counts)
    return True


def _take_hands(name: str, key: str) -> None:
    kept: dict[str, dict[float, int]] = st.session_state.setdefault(_HANDS, {})
    kept.pop(name, None)
    try:
        if str(st.session_state[key] or "").strip():
            kept[name] = hands(str(st.session_state[key]))
    except InputError as error:
        st.session_state[_refused(name)] = error


def _refused(name: str) -> str:
    return f"_les_hands_refused_{name}"


def _histogram(step: Step, counts: dict[float, int]) -> None:
    said = said_of_hands(step.name, counts)
    frame.alone(of_class(step.name, counts), key=f"les_{step.name}_class", answer=said)


def _number(name: str) -> None:
    """Say how many guesses are in."""
    prose(f"**{plural(classroom.guesses().number(name), 'guess', 'guesses')}** in", width="content")


def _look(name: str) -> None:
    """Have the page run again once the guesses are shown, or the class has ended."""
    if not classroom.waits(name):
        st.rerun()


def _show(name: str) -> None:
    if classroom.is_teacher():
        classroom.guesses().show(name)


def _end() -> None:
    if classroom.is_teacher():
        classroom.guesses().end()
