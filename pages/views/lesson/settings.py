"""Settings of the page Lesson: where one is, which seat one has, and what one has answered; never an answer key."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, whole
from treedp_core.checks import InputError
from treedp_core.studies.lesson import CARD, STEPS, entry_checked

MOST: Final = 60
"""Answers that are kept."""
PLACES: Final = {one.name: str(i) for i, one in enumerate(STEPS, 1)} | {CARD: "Card"}


def _is_entry(text: object) -> bool:
    try:
        return bool(entry_checked(str(text)))
    except InputError:
        return False


STEP: Final = choice("step", STEPS[0].name, PLACES, label="Step", help="Eight steps, then a card of ten questions.")
ANSWERS: Final = Setting[tuple[str, ...]](
    "les_said", (), entry_checked, accepts=lambda held: len(held) <= MOST and all(map(_is_entry, held))
)
SEAT: Final = whole(
    "les_seat", 7, 0, 9999, label="Seat",
    help="Exercises have other numbers at each seat, so neighbours differ. Your teacher's sheet has the solutions.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (STEP, ANSWERS, SEAT)
