"""Settings of the Budget split page that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, flag, number, tuned_on, whole, words
from treedp_core import checks
from treedp_core.allocation.published import PUBLISHED_SPLITS
from treedp_core.allocation.shares import shares_of_text, values_of_text
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.budget import STRATEGIES, Ask
from treedp_core.studies.budget.greedy import MAX_PHASES, PHASES

VIEWS: Final = {
    "strategies": "Strategies",
    "custom": "Your own split",
    "curves": "Error vs ε",
    "targets": "From targets to ε",
    "map": "Reliability map",
}
PRIORS: Final = {"noisy": "Noisy prior", "public": "Public or historic file", "true": "True counts (NOT PRIVATE)"}
JUDGED_BY: Final = tuple(name for name, one in METRICS.items() if one.expected is None and one.root)
"""Metrics that come from variances alone, before and after least squares."""
CUSTOM: Final = "custom"
CHOICES: Final = (*STRATEGIES, *PUBLISHED_SPLITS, CUSTOM)
PHASES_GRID: Final = (10, 20, 40, 80)
HEIGHTS: Final = ("5", "4", "3")
WITHIN_GRID: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
CONFIDENCE_GRID: Final = (0.5, 0.8, 0.9, 0.95, 0.99)


def _prior_epsilon(value: object) -> float:
    return checks.number("the ε of the prior", value, low=0, high=checks.EPSILON_HIGH, code="EPS_RANGE")


def _within(value: object) -> float:
    return checks.number("the relative error in %", value, low=0, high=1000, open_low=True, code="TARGET_RANGE")


def _confidence(value: object) -> float:
    return checks.number("confidence", value, low=0, high=1, open_low=True, open_high=True, code="TARGET_RANGE")


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    choice("bud_view", "strategies", VIEWS),
    choice("bud_mechanism", "discrete_laplace", MECHANISMS),
    flag("bud_least_squares", True),
    choice("bud_metric", "rmsre", JUDGED_BY),
    whole("bud_phases", PHASES, 1, MAX_PHASES, code="PHASES_RANGE", grid=PHASES_GRID),
    choice("bud_prior", "noisy", PRIORS),
    number("bud_prior_eps", 0.0, _prior_epsilon, code="EPS"),
    choice("bud_strategy", "greedy", CHOICES),
    words("bud_shares", "", shares_of_text),
    tuned_on("bud_tuned"),
    words("bud_locks", "", values_of_text),
    choice("bud_height", "5", HEIGHTS),
    flag("bud_partners", True),
    choice("bud_ask", Ask.AVERAGE_NODE.name.lower(), [ask.name.lower() for ask in Ask]),
    words("bud_targets", "", values_of_text),
    number("bud_within", 10.0, _within, grid=WITHIN_GRID, code="TARGET"),
    number("bud_confidence", 0.95, _confidence, grid=CONFIDENCE_GRID, code="TARGET"),
    whole("bud_node", 0, 0, checks.MAX_NODES),
)
