"""Settings of the Error lab that a link can carry, and its ready-made comparisons."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, choice, control
from pages.ui.inputs.settings import DELTA, MADE_BRANCHING, SOURCE
from pages.ui.tables.experiment_inputs import fits
from treedp_core.studies.sweep.series import VIEWS
from treedp_core.views.inputs import parameter
from treedp_core.views.lab import LabInputs
from treedp_core.words import whole

COMPARED: Final = control(parameter(LabInputs, "mechanisms"), label="Mechanisms")
POST: Final = control(parameter(LabInputs, "postprocess"), label="Post-processing", help=POST_HELP)
OFTEN: Final = ("none", "least_squares")
"""What Basic offers."""
METRIC: Final = control(parameter(LabInputs, "metric"), label="Metric")
VIEW: Final = choice(
    "lab_view", "epsilon", VIEWS, label="View",
    help="“One draw” is a single simulated release beside the true counts: NOT PRIVATE.",
)  # fmt: skip
TRIALS: Final = control(
    parameter(LabInputs, "trials"), label="Repetitions", look="segments", format=whole, step=1,
    help="Simulated releases for each marker. Four times as many halve the 95 % bars.",
)  # fmt: skip
ALLOCATION: Final = control(parameter(LabInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(
    parameter(LabInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP
)  # fmt: skip
TUNED: Final = control(parameter(LabInputs, "tuned_on"))
ACCOUNTING: Final = control(parameter(LabInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
LEVEL: Final = control(
    parameter(LabInputs, "level"), label="Level", look="select",
    help="Which level of the tree is drawn; 0 is the root.",
)  # fmt: skip
SERIES: Final = control(
    parameter(LabInputs, "series"), label="Series", look="select", width=240,
    help="One draw shows one series at a time.",
)  # fmt: skip
TARGET: Final = control(
    parameter(LabInputs, "target"), low=0, width=280, label="Target error",
    help="The smallest ε whose formula for the whole tree is at most this; 0 asks for nothing.",
)  # fmt: skip

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
