"""Settings of the page Lesson: where one is, which seat one has, and what one has answered; never an answer key."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, control, whole
from treedp_core.studies.lesson import CARD, STEPS, entry_checked
from treedp_core.views.parameters import many

MOST: Final = 60
"""Answers that are kept."""
PLACES: Final = {one.name: str(i) for i, one in enumerate(STEPS, 1)} | {CARD: "Card"}


STEP: Final = choice("step", STEPS[0].name, PLACES, label="Step", help="Eight steps, then a card of ten questions.")
ANSWERS: Final = control(many("les_said", entry_checked, MOST))
SEAT: Final = whole(
    "les_seat", 7, 0, 9999, label="Seat",
    help="Exercises have other numbers at each seat, so neighbours differ. Your teacher's sheet has the solutions.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (STEP, ANSWERS, SEAT)
