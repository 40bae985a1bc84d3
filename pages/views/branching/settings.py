"""Settings of the Branching factor page: its controls, and what a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, control
from treedp_core.studies.methods.terms import text
from treedp_core.views.branching import BranchingInputs
from treedp_core.views.inputs import parameter

BINS: Final = control(
    parameter(BranchingInputs, "bins"), own="", label="Bins K", width=150,
    placeholder="as in the data",
    help=f"{text('bins')} Digits or a power: 997, 1 000 000, 2^20. From 2 to 10^15. Empty: the leaves of the data set "
    "in use.",
)  # fmt: skip
NOISE: Final = control(
    parameter(BranchingInputs, "noise"), label="Noise",
    help="Laplace adds up in ε, Gaussian in ρ (zCDP), which favours levels.",
)  # fmt: skip
WORKLOAD: Final = control(
    parameter(BranchingInputs, "workload"),
    label="Queries",
    look="select",
    width=140,
    help="The mean over all cumulative counts, all ranges, or all nodes.",
)
POST: Final = control(
    parameter(BranchingInputs, "postprocess"), label="Post-processing", look="select", width=170,
    help="Least squares with the known total costs no budget.",
)  # fmt: skip
BUDGET: Final = control(
    parameter(BranchingInputs, "budgets"),
    label="Budget split",
    help="Uniform: the same for all levels, or the best for each tree.",
)
PADDED: Final = control(
    parameter(BranchingInputs, "padded"), label="Padding",
    help=f"{text('padding')} Without it branching factors multiply to K exactly.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (BINS, NOISE, WORKLOAD, POST, BUDGET, PADDED)
PRESETS: Final = (
    Preset("2²⁰: a million", "A power of 16: 16⁵ fits without padding.", (BINS.to("2^20"),)),
    Preset("3⁶: powers of 3", "A power of a small prime: few trees fit without padding.", (BINS.to("3^6"),)),
    Preset("2¹¹: a prime number of levels", "No whole root: padding or unequal levels are needed.", (BINS.to("2^11"),)),
    Preset("997: a prime", "Without padding only the histogram is left.", (BINS.to("997"),)),
)
"""Numbers of bins that show something."""
