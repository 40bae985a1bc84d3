"""Settings of the Error lab and the Consistency page that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, number, several, tuned_on, whole, words
from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.studies.sweep.series import VIEWS

TRIALS_GRID: Final = (100, 400, 1600, 6400)


def _target(value: object) -> float:
    return checks.number("lab_target", value, low=0, high=1e12, code="TARGET_RANGE")


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    several("lab_mechanisms", ("discrete_laplace",), MECHANISMS),
    several("lab_post", ("none", "least_squares"), CHAINS),
    choice("lab_metric", "rmse", METRICS),
    choice("lab_view", "epsilon", VIEWS),
    whole("lab_trials", 400, 1, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID),
    choice("lab_allocation", "uniform", ALLOCATIONS),
    words("lab_shares", "", shares_from_text),
    tuned_on("lab_tuned"),
    whole("lab_level", checks.MAX_LEVEL_COLUMNS, 0, 64),
    number("lab_target", 0.0, _target, code="TARGET"),
    choice("con_mechanism", "discrete_laplace", MECHANISMS),
    choice("con_post", "least_squares", CHAINS),
    choice("con_allocation", "uniform", ALLOCATIONS),
    words("con_shares", "", shares_from_text),
    tuned_on("con_tuned"),
    whole("con_node", 0, 0, checks.MAX_NODES),
)
