"""How far linear answers of a release are off at most, nineteen times in twenty: in closed form, and never less.

The error of a weighted sum of counts is a sum of independent, weighted noise values. Sums of Gaussian noise are
Gaussian. Sums of Laplace noise are symmetric and log-concave, and of such laws with one variance the single Laplace
value exceeds ln 20 / sqrt 2 standard deviations most often: once in twenty times. Whole-number noise lies on steps of
at most one record, and one record more makes up for them, whatever the scale (checked by exact convolution). Of any
other noise only the variance is known (Chebyshev).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.studies.cdf.partition import DividedPlan
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import normal_quantile

CONFIDENCE: Final = 0.95


def reach(plan: AnyPlan, variance: AnyArray) -> FloatArray:
    """Return how far answers with these error variances are off at most, each by itself, in records, as they come.

    >>> from treedp_core.studies.cdf.release import CdfSettings, plan_tree
    >>> plan = plan_tree(CdfSettings(2, (2,), "laplace", least_squares=False))  # scale 2, so exp(-reach / 2) = 1 / 20
    >>> reach(plan, np.array([0.0, 8.0])).round(3).tolist()
    [0.0, 5.991]
    """
    spread = np.sqrt(np.maximum(variance, 0.0))
    laws = _laws(plan)
    step = not isinstance(plan, MatrixPlan) and any(law.integer for law in laws)
    return np.where(spread > 0, max(map(_multiple, laws), default=0.0) * spread + step, 0.0)


def _laws(plan: AnyPlan) -> list[Law]:
    if isinstance(plan, MatrixPlan):
        return [plan.law]
    noise = plan.inner.noise if isinstance(plan, DividedPlan) else plan.noise
    return [law for law in noise.laws if law is not None]


def _multiple(law: Law) -> float:
    """Standard deviations that sums of noise of a law exceed once in twenty times at most."""
    match law:
        case Gaussian() | DiscreteGaussian():
            return normal_quantile(CONFIDENCE)
        case Laplace() | DiscreteLaplace():
            return -math.log(1.0 - CONFIDENCE) / math.sqrt(2.0)
    return math.sqrt(1.0 / (1.0 - CONFIDENCE))
