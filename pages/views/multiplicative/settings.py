"""Settings of the page Multiplicative error that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, flag, number, whole, words
from pages.views.multiplicative.growth import VIEWS, levels_from_text
from treedp_core import checks
from treedp_core.studies.multiplicative.run import PLANS
from treedp_core.studies.multiplicative.trees import DEEP_LEAVES, DEEP_LEVELS, SOURCES

TOTAL_GRID: Final = tuple(10.0**k for k in range(2, 10))
ETA_GRID: Final = (1e-6, 1e-4, 0.001, 0.01, 0.05, 0.1)
MAX_ROUNDS: Final = 60
MAX_STEPS: Final = 10_000
"""The step that stands for the end of a run, however many steps it has."""


def _total(value: object) -> float:
    return checks.number("the largest total", value, low=100, high=1e12, code="TOTAL_RANGE")


def _eta(value: object) -> float:
    return checks.number("eta", value, low=1e-9, high=0.4, code="ETA_RANGE")


def _levels_or_nothing(text: str) -> object:
    return levels_from_text(text) if text.strip() else None


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    choice("mul_view", "growth", VIEWS),
    words("mul_levels", "", _levels_or_nothing),
    number("mul_total", 10_000.0, _total, grid=TOTAL_GRID, code="TOTAL_RANGE"),
    choice("mul_source", "small", SOURCES),
    choice("mul_plan", "tuned", PLANS),
    flag("mul_clamp", False),
    whole("mul_deep_levels", 100, 2, DEEP_LEVELS[-1], code="LEVELS_RANGE", grid=DEEP_LEVELS),
    whole("mul_deep_leaves", 1000, 2, DEEP_LEAVES[-1], grid=DEEP_LEAVES),
    whole("mul_step", MAX_STEPS, 0, MAX_STEPS),
    whole("mul_rounds", 20, 1, MAX_ROUNDS, code="ROUNDS_RANGE"),
    number("mul_eta", 0.01, _eta, grid=ETA_GRID, code="ETA"),
)
