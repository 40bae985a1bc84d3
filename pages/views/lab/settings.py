"""Settings of the Error lab that a link can carry, and its ready-made comparisons."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui.controls import POST_HELP, SHARES_HELP, accounted
from pages.ui.presets import Preset
from pages.ui.setting import Setting, choice, number, several, tuned_on, words
from pages.ui.setting import whole as whole_number
from pages.ui.settings import DELTA, MADE_BRANCHING, SOURCE
from pages.ui.shared import fits
from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.studies.sweep.series import VIEWS
from treedp_core.words import whole

COMPARED: Final = several("lab_mechanisms", ("discrete_laplace",), MECHANISMS, label="Mechanisms")
POST: Final = several("lab_post", ("none", "least_squares"), CHAINS, label="Post-processing", help=POST_HELP)
OFTEN: Final = ("none", "least_squares")
"""What Basic offers."""
METRIC: Final = choice("lab_metric", "rmse", METRICS, label="Metric")
VIEW: Final = choice(
    "lab_view", "epsilon", VIEWS, label="View",
    help="“One draw” is a single simulated release beside the true counts: NOT PRIVATE.",
)  # fmt: skip
TRIALS: Final = whole_number(
    "lab_trials", 400, 1, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=(100, 400, 1600, 6400), label="Repetitions",
    look="segments", format=whole,
    help="Simulated releases for each marker. Four times as many halve the 95 % bars.",
)  # fmt: skip
ALLOCATION: Final = choice("lab_allocation", "uniform", ALLOCATIONS, label="Budget split", look="select")
SHARES: Final = words("lab_shares", "", shares_from_text, label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP)
TUNED: Final = tuned_on("lab_tuned")
ACCOUNTING: Final = accounted("lab_accounting")
LEVEL: Final = whole_number(
    "lab_level", checks.MAX_LEVEL_COLUMNS, 0, 64, label="Level", look="select",
    help="Which level of the tree is drawn; 0 is the root.",
)  # fmt: skip
SERIES: Final = whole_number(
    "lab_series", 0, 0, len(MECHANISMS) * len(CHAINS), label="Series", look="select", width=240,
    help="One draw shows one series at a time.",
)  # fmt: skip
TARGET: Final = number(
    "lab_target",
    0.0,
    partial(checks.number, "lab_target", low=0, high=1e12, code="TARGET_RANGE"),
    code="TARGET",
    low=0,
    width=280,
    label="Target error",
    help="The smallest ε whose formula for the whole tree is at most this; 0 asks for nothing.",
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    COMPARED, POST, METRIC, VIEW, TRIALS, ALLOCATION, SHARES, TUNED, ACCOUNTING, LEVEL, SERIES, TARGET,
)  # fmt: skip

PRESETS: Final = (
    Preset(
        "Uniform vs minimax",
        "Gaussian noise with least squares, level by level, split by minimax: the largest node error is the least "
        "possible; where all nodes of a level have as many children, every noisy node has it. "
        "Then choose the split “Uniform” and compare.",
        (
            COMPARED.to(("gaussian",)), POST.to(("none", "least_squares")), METRIC.to("rmse"), VIEW.to("level"),
            ALLOCATION.to("minimax"),
        ),
        lambda: DELTA.set(fits()),
    ),
    Preset(
        "What least squares buys",
        "Discrete Laplace noise with and without least squares, level by level: no level loses, and it is free.",
        (
            COMPARED.to(("discrete_laplace",)), POST.to(("none", "least_squares")), METRIC.to("rmse"),
            VIEW.to("level"), ALLOCATION.to("uniform"),
        ),
    ),
    Preset(
        "Deep binary tree",
        "A generated tree with 12 binary splits: more and more levels share the budget, and the error grows with them.",
        (
            SOURCE.to("generate"), MADE_BRANCHING.to(",".join(["2"] * 12)),
            COMPARED.to(("laplace", "discrete_laplace")), POST.to(("none", "least_squares")), METRIC.to("rmse"),
            VIEW.to("n_levels"), ALLOCATION.to("uniform"),
        ),
    ),
)  # fmt: skip
