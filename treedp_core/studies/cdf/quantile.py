"""Quantiles of the records in the bins, and between which bins the true ones lie.

With F(k) records in the first k of K bins, the p-quantile lies in bin q, the first whose g(k) = F(k) - p F(K) is at
least 0. All of g is linear in the noise, that of F(K) included where it is no public number, so the variance of each
error is exact, and a margin is known that it exceeds in 2.5 % at most to either side. Say a bin may reach p unless its
noisy g lies below 0 by more than its margin, and that it may fall short unless it lies above by more.

    q reaches p, so it is not behind the first bin that may reach p, but in 2.5 %;
    the bin before q falls short, so q is not behind the bin after the last that may fall short, but in 2.5 %.

Each is the error of a single bin, which no record chooses by its noise: no band for all bins at once is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.studies.cdf.partition import DividedPlan
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.release import CdfRelease
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import normal_quantile

# ---- how far linear answers of a release are off at most, nineteen times in twenty: in closed form, and never less.
#
# The error of a weighted sum of counts is a sum of independent, weighted noise values. Sums of Gaussian noise are
# Gaussian. Sums of Laplace noise are symmetric and log-concave, and of such laws with one variance the single Laplace
# value exceeds ln 20 / sqrt 2 standard deviations most often: once in twenty times. Whole-number noise lies on steps of
# at most one record, and one record more makes up for them, whatever the scale (checked by exact convolution). Of any
# other noise only the variance is known (Chebyshev).


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


@dataclass(frozen=True)
class Quantile:
    """A quantile of the records in the bins, and between which bins the true one lies.

    Parameters
    ----------
    probability : float
    bin : int
        First bin whose cumulative share reaches the probability, from 0.
    part : float
        How far into it, from 0 to 1, where records are spread evenly over their bin.
    first, last : int
        The true one lies in one of these bins, with 95 % by itself.
    """

    probability: float
    bin: int
    part: float
    first: int
    last: int

    def value(self, edges: FloatArray) -> float:
        """Return it in the unit of the bins' edges, (K + 1,)."""
        low, high = edges[self.bin], edges[self.bin + 1]
        return float(low + self.part * (high - low))


def quantiles(
    plan: AnyPlan, release: CdfRelease, cumulative: AnyArray, probabilities: Sequence[float] = (0.25, 0.5, 0.75)
) -> tuple[Quantile, ...]:
    """Return quantiles of a release, read off consistent cumulative counts; none where no record is left in the bins.

    Parameters
    ----------
    plan, release
        The release must be one of this plan.
    cumulative : (K,)
        Consistent cumulative counts.
    probabilities : sequence of float
        Each in (0, 1].

    Raises
    ------
    InputError
        ``PROBABILITY_RANGE``.
    """
    asked = [
        checks.number("a probability", p, low=0, high=1, open_low=True, code="PROBABILITY_RANGE") for p in probabilities
    ]
    if not cumulative[-1] > 0:
        return ()
    return tuple(_between(_read_off(cumulative, p), *_ends(plan, release, p)) for p in asked)


def exact_quantiles(truth: AnyArray, probabilities: Sequence[float]) -> tuple[Quantile, ...]:
    """Return the quantiles of true cumulative counts (K,); none of no records."""
    return tuple(_read_off(truth, p) for p in probabilities) if truth[-1] > 0 else ()


def _read_off(cumulative: AnyArray, probability: float) -> Quantile:
    target = probability * float(cumulative[-1])
    at = int(np.searchsorted(cumulative, target * (1.0 - 1e-12)))
    before = float(cumulative[at - 1]) if at else 0.0
    part = (target - before) / (float(cumulative[at]) - before)
    return Quantile(probability, at, min(1.0, max(0.0, part)), at, at)


def _ends(plan: AnyPlan, release: CdfRelease, p: float) -> tuple[int, int]:
    """The first and the last bin that may hold a quantile; only where variances are known, bins tell anything."""
    known = np.flatnonzero(np.isfinite(plan.variance))
    variance, found = plan.variance[known], release.cumulative[known]
    above = found - p * found[-1]
    margin = reach(plan, variance - 2.0 * p * plan.covariance[known] + p * p * variance[-1])
    zero = -1e-11 * (1.0 + np.abs(found))  # as far as floats tell
    may, short = np.flatnonzero(above + margin >= zero), np.flatnonzero(above - margin < zero)
    first, behind = int(may[0]), int(short[-1]) + 1 if short.size else 0
    last = int(known[min(behind, known.size - 1)])
    return min(int(known[first - 1]) + 1 if first else 0, last), last


def _between(one: Quantile, first: int, last: int) -> Quantile:
    """A quantile moved to the nearest bin that may hold it."""
    part = one.part if first <= one.bin <= last else float(one.bin > last)
    return Quantile(one.probability, min(max(one.bin, first), last), part, first, last)


def told(data: Bins, one: Quantile) -> float | str:
    """Return a quantile in the column's unit, rounded down, as none is finer than its bin; a category by its name.

    >>> bins = Bins("", "pay", np.array([2, 1]), np.array([0.0, 5.0, 105.0]), "")
    >>> told(bins, Quantile(0.25, 0, 0.75, 0, 0)), told(bins, Quantile(0.9, 1, 0.7, 1, 1))
    (3.0, 5.0)
    """
    if not data.numeric:
        return data.category(one.bin)
    low, high = data.ends(one.bin, one.bin + 1)
    place = math.floor(math.log10(high - low) + 1e-9)
    step = 10.0**place
    return max(low, round(math.floor(one.value(data.edges) / step + 1e-9) * step, -place))


def interval(data: Bins, one: Quantile) -> tuple[float, float] | tuple[str, str]:
    """Return where the bins begin and end that may hold a quantile, in the column's unit; categories by name."""
    if not data.numeric:
        return data.category(one.first), data.category(one.last)
    return data.ends(one.first, one.last + 1)
