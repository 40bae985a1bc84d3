"""Settings of the page CDF and ranges that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, flag, number, tuned_on, whole, words
from pages.views.cdf.model import ALLOCATIONS, FITS, SOURCES, TREES, VIEWS
from treedp_core import checks
from treedp_core.allocation.shares import shares_from_text
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.branching.question import bins_from_text
from treedp_core.tree.text import branching_factors_from_text

TRIALS_GRID: Final = (100, 400, 1600)


def _value(value: object) -> float:
    return checks.number("a bound of the range", value, low=-1e15, high=1e15, code="RANGE_BOUNDS")


def _bins_or_nothing(text: str) -> object:
    return bins_from_text(text) if text.strip() else None


def _factors_or_nothing(text: str) -> object:
    return branching_factors_from_text(text) if text.strip() else None


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    choice("cdf_source", "ages", SOURCES),
    choice("cdf_view", "release", VIEWS),
    choice("cdf_mechanism", "discrete_laplace", MECHANISMS),
    choice("cdf_tree", "best", TREES),
    words("cdf_factors", "", _factors_or_nothing),
    choice("cdf_allocation", "equal", ALLOCATIONS),
    words("cdf_shares", "", shares_from_text),
    tuned_on("cdf_tuned"),
    flag("cdf_post", True),
    choice("cdf_fit", "squared", FITS),
    number("cdf_from", 18.0, _value, code="RANGE_BOUNDS"),
    number("cdf_to", 65.0, _value, code="RANGE_BOUNDS"),
    words("cdf_bins", "", _bins_or_nothing),
    whole("cdf_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID),
)
