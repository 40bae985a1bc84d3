"""Multiplicative error in numbers: what each mechanism attains, what none can beat, and where the curves cross.

The error is the alpha-RMSE of Ghazi et al. (Definition 1.4), E[max(|error| - alpha count, 0)^2]^(1/2), of the worst
node of the worst data, when one record is added or removed.
"""

from __future__ import annotations

from treedp_core.studies.multiplicative.accuracy import (
    accuracy_table,
    accurate_threshold,
    clamped_alpha_rmse,
    noise_accurate_threshold,
)
from treedp_core.studies.multiplicative.curves import CURVES, Curve, Setting
from treedp_core.studies.multiplicative.growth import Growth, break_even, growth
from treedp_core.studies.multiplicative.lower_bounds import least_possible_threshold, packing_bound
from treedp_core.studies.multiplicative.shrinkage import alpha_rmse, shrunk_alpha_rmse, worst_shrunk_alpha_rmse
from treedp_core.studies.multiplicative.theorem import theorem_error

__all__ = [
    "CURVES",
    "Curve",
    "Growth",
    "Setting",
    "accuracy_table",
    "accurate_threshold",
    "alpha_rmse",
    "break_even",
    "clamped_alpha_rmse",
    "growth",
    "least_possible_threshold",
    "noise_accurate_threshold",
    "packing_bound",
    "shrunk_alpha_rmse",
    "theorem_error",
    "worst_shrunk_alpha_rmse",
]
