"""Settings of the page TopDown that a link can carry: columns by position, never by name."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, flag, number, several, tuned_on, whole, words
from pages.views.topdown.runs import MEASURES, ORDER_MEASURES
from treedp_core import checks
from treedp_core.allocation.shares import shares_from_text
from treedp_core.privacy.spread import Spread
from treedp_core.studies.topdown.model import ALLOCATIONS, RULES, SOURCES, VIEWS, rho_of
from treedp_core.tree.text import branching_factors_from_text

TRIALS_GRID: Final = (20, 100, 400)
CONFIDENCE_GRID: Final = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
POSITIONS: Final = tuple(str(i) for i in range(1, checks.MAX_LEVEL_COLUMNS + 1))


def _confidence(value: object) -> float:
    return checks.number("confidence", value, low=0.01, high=0.999999, code="CONFIDENCE_RANGE")


def _rho_or_nothing(text: str) -> object:
    return rho_of(text, 1.0, 1e-6) if text.strip() else None


def _shares_or_nothing(text: str) -> object:
    return shares_from_text(text) if text.strip() else None


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    choice("td_source", "trips", SOURCES),
    choice("td_view", "release", VIEWS),
    several("td_columns", (), POSITIONS),
    flag("td_product", False),
    words("td_sizes", "10^9"),
    whole("td_records", 100_000, 0, 1_000_000, code="RECORDS_RANGE"),
    words("td_rho", "", _rho_or_nothing),
    choice("td_allocation", "equal", ALLOCATIONS),
    words("td_shares", "", _shares_or_nothing),
    tuned_on("td_tuned"),
    choice("td_spread", "stacked", [spread.value for spread in Spread]),
    choice("td_rule", "intopt", RULES),
    number("td_confidence", 0.95, _confidence, grid=CONFIDENCE_GRID, code="CONFIDENCE"),
    whole("td_level", checks.MAX_LEVEL_COLUMNS, 0, 64),
    whole("td_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID),
    choice("td_measure", "rmse", MEASURES),
    choice("td_order_measure", "marginals", ORDER_MEASURES),
    words("td_small", "2,2", branching_factors_from_text),
)
