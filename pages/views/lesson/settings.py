"""Settings of the page Lesson: where one is, which seat one has, and what one has answered; never an answer key."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, control
from treedp_core.views.inputs import parameter
from treedp_core.views.lesson import LessonInputs

STEP: Final = control(
    parameter(LessonInputs, "step"), label="Step", help="Eight steps, then a card of ten questions."
)  # fmt: skip
ANSWERS: Final = control(parameter(LessonInputs, "said"))
SEAT: Final = control(
    parameter(LessonInputs, "seat"), label="Seat", low=0, high=9999, step=1,
    help="Exercises have other numbers at each seat, so neighbours differ. Your teacher's sheet has the solutions.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (STEP, ANSWERS, SEAT)
