"""One step of the lesson: a few words, a guess, what it leads to, exercises, and the way on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.pictures import one_range, with_or_without
from pages.ui.inputs import glossary
from pages.ui.inputs.settings import PRESENT
from pages.ui.inputs.text import prose, small_print
from pages.ui.page import address, navigation
from pages.ui.page.page import Told
from pages.ui.page.view import see
from pages.ui.server import classroom
from pages.ui.session import uploads
from pages.ui.session.download import download
from pages.ui.tables.experiment_inputs import inputs_now
from pages.views.lesson import exercises as s
from pages.views.lesson.class_guesses import ask_hands, has_hands, said_to_class, show_hands, teach, teachers_keys, wait
from pages.views.lesson.exercises import CHECK, HAND_IN, RUN, ask, drag, is_refused, reaction
from treedp_core.studies.lesson import (
    CARD,
    STEPS,
    answers,
    exercises,
    hand_out,
    minutes_left,
    score,
    step_named,
    steps_done,
    teacher_sheet,
)
from treedp_core.views import VIEWS
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.views.lesson import PLACES, LessonInputs
from treedp_core.views.ranges import ExampleInputs
from treedp_core.words import plural

EXAMPLE: Final = ReleaseInputs(epsilon=step_named("noise").predict.given["epsilon"])
"""What *With or without you* shows in the lesson: the ε of its second step."""


def show(name: str) -> Told:
    """Show a step: nothing of the answer before there is a guess."""
    step, given = step_named(name), answers(s.ANSWERS.value)
    glossary.said(step.text, step.predict.text)
    is_asked = step.name not in given and not has_hands(step) and not is_refused(step.name)
    if is_asked or not PRESENT.value:  # later a presentation has the room for its figure
        prose(step.text)
    if classroom.is_open() and classroom.is_teacher():
        teach(step)
        _onward(name, partial(teachers_keys, step))
        return Told(f"{plural(minutes_left(name), 'minute')} left · a class", "formula")
    button = HAND_IN if classroom.waits(name) else RUN
    ask(step.predict, button, beside=partial(ask_hands, step))
    guess = given.get(name)
    if show_hands(step):
        pass
    elif guess is not None and classroom.waits(name):
        wait(step, guess, partial(drag, step))
    elif guess is None:
        frame.found_moving(see(VIEWS[f"lesson.{name}.before"], inputs_now(LessonInputs)), partial(drag, step))
    else:
        frame.found(see(VIEWS[f"lesson.{name}"], inputs_now(LessonInputs)))
        if told := said_to_class(step):  # beside the figure's answer, which goes into pins and files
            prose(told)
    _onward(name, after=partial(_exercises_left, name))
    is_told = guess is not None and not classroom.waits(name)
    return Told(_where(name), "formula", more=partial(_more, name, has_picture=is_told))


def _more(name: str, *, has_picture: bool) -> None:
    """Show the exercises of a step, and once its guess has been run a picture that explains."""
    _exercises(name)
    if has_picture and name in ("gives", "noise"):
        with_or_without(EXAMPLE, "lesson")
    elif has_picture and name in ("ranges", "tree"):
        one_range(ExampleInputs(), "lesson", key="les_ranges")


def show_card() -> Told:
    """Show the final card: ten questions, and how many are right."""
    prose("Ten questions about all eight steps stand under *More*. Take your time; formulas check each answer.")
    st.session_state.setdefault(f"more_lesson_{CARD}_basic", True)  # it is what one comes for
    frame.found(see(VIEWS[f"lesson.{CARD}"], inputs_now(LessonInputs)))
    _onward(CARD)
    return Told(_where(CARD), "formula", more=_of_card)


def _of_card() -> None:
    """Show the card's questions, and what a class takes along."""
    _exercises(CARD)
    st.header("For a class", anchor=False)
    seat = s.SEAT.value
    with st.container(horizontal=True, gap="small"):
        download(
            "Hand-out", partial(hand_out, seat), name=f"treedp-lesson-seat-{seat}.ipynb", key="les_hand_out",
            mime="application/x-ipynb+json", help="A notebook with the exercises of this seat, empty cells and checks.",
        )  # fmt: skip
        if not uploads.is_class() or classroom.is_teacher():
            download(
                "Teacher's sheet", partial(_sheet, address.app()), name="treedp-lesson-teacher.html", key="les_sheet",
                help="Goals, minutes, what wrong answers mean, and the SOLUTIONS of seats 0 to 39; prints on A4.",
                mime="text/html",
            )  # fmt: skip


def _sheet(app: str) -> bytes:
    return teacher_sheet(range(40), app).encode()


def _exercises(name: str) -> None:
    """Show the exercises of a step, with points and hints."""
    s.SEAT.draw()
    points = score(s.ANSWERS.value, s.SEAT.value, name)
    st.header(f"Exercises: {points.right} of {points.of} right", anchor=False)
    given = answers(s.ANSWERS.value)
    for question in exercises(name, s.SEAT.value):
        with st.container(border=True):
            prose(question.text)
            ask(question, CHECK, bare=True)
            reaction(question, given)


def _exercises_left(name: str) -> None:
    """Say where the exercises of a step are, and how many of them are solved."""
    points = score(s.ANSWERS.value, s.SEAT.value, name)
    if not PRESENT.value:
        small_print(f"Exercises: {points.right} of {points.of}", width="content")


def _onward(name: str, before: Callable[[], None] | None = None, after: Callable[[], None] | None = None) -> None:
    names = list(PLACES)
    at = names.index(name)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if before is not None:
            before()
        for label, to, icon in (("Back", at - 1, "arrow_back"), ("Next", at + 1, "arrow_forward")):
            inside = 0 <= to < len(names)
            st.button(
                label, key=f"les_{label.lower()}", icon=f":material/{icon}:", disabled=not inside,
                on_click=s.STEP.set, args=(names[to] if inside else name,), help="Nothing has to be answered first.",
            )  # fmt: skip
        if name != CARD:
            step = step_named(name)
            navigation.link(step.page, "Open this in the lab", dict(step.opened))
        if after is not None:
            after()


def _where(name: str) -> str:
    done = steps_done(s.ANSWERS.value)
    over = " · the class has ended" if uploads.is_class() and not classroom.is_open() else ""
    left = f"{plural(minutes_left(name), 'minute')} left"
    return f"{left} · {done} of {len(STEPS)} predicted · seat {s.SEAT.value}{over}"
