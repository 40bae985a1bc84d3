"""Stability histogram: noise on the counts above 0 alone, and only what clears a threshold is told.

A count of 0 is never told, so that nothing need be known of which nodes there could be: the domain need not be public.
What one unit can add where nothing was is told with a probability of at most delta, whatever is then drawn.
Source: Korolova, Kenthapadi, Mishra and Ntoulas (2009), here for whole-number noise, by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace
from treedp_core.noise.law import IntegerLaw
from treedp_core.privacy import Accounting, Guarantee, NeighbouringRelation, Precision, ProtectedUnit, Spread
from treedp_core.privacy.accounting import largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.rounding import quotient_below, sqrt_above
from treedp_core.tree import AnyArray, FloatArray, IntArray

LAWS: Final = ("discrete_laplace", "discrete_gaussian")
COMPOSED: Final = 64
"""Levels up to which the noise is the smallest by numerical accounting, above by the formula."""
POINTS: Final = 600
_BELOW: Final = 1.0 - 1e-9


@dataclass(frozen=True)
class Stability:
    """Noise and threshold of every level, and the promise.

    Parameters
    ----------
    law : Law
        On whole numbers.
    threshold : int
        Noisy counts from here on are told, others are 0, in records.
    guarantee : Guarantee
    """

    law: IntegerLaw
    threshold: int
    guarantee: Guarantee

    def release(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Return what is told of true counts (n_nodes,), and 0 where nothing is; a simulation unless `rng` is safe.

        >>> made = stability(ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), 1, 1.0, 1e-6, "discrete_laplace")
        >>> made.threshold, made.release(np.array([0, 1, 500]), np.random.default_rng(1)).tolist()
        (15, [0, 0, 501])
        """
        here = np.asarray(counts).astype(np.int64)
        noisy = here + self.law.sample(rng, here.shape).astype(np.int64)
        return np.where((here > 0) & (noisy >= self.threshold), noisy, 0)

    def told(self, counts: AnyArray) -> FloatArray:
        """Return the probability that each of true counts is told, shape of `counts`.

        >>> made = stability(ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), 1, 1.0, 1e-6, "discrete_laplace")
        >>> made.told(np.array([0, 15, 30])).round(3).tolist()
        [0.0, 0.731, 1.0]
        """
        c = np.asarray(counts, dtype=np.float64)
        return np.where(c > 0, self.law.cdf(c - self.threshold), 0.0)  # the law is symmetric

    def error(self, counts: AnyArray, alpha: float = 0.0) -> FloatArray:
        """Return the exact alpha-RMSE of true counts, in records, shape of `counts`: beyond alpha times the count.

        >>> made = stability(ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), 1, 1.0, 1e-6, "discrete_laplace")
        >>> made.error(np.array([0, 1, 500])).round(3).tolist()
        [0.0, 1.0, 1.357]
        """
        c = np.asarray(counts, dtype=np.float64)
        forgiven, told_from = alpha * c, self.threshold - c
        above = self._squares(np.maximum(told_from, np.floor(forgiven) + 1.0), forgiven)
        below = self.law.excess_square(forgiven) / 2.0 - self._squares(
            np.maximum(-told_from, np.floor(forgiven)) + 1.0, forgiven
        )
        lost = self.law.cdf(told_from - 1.0) * np.square(c - forgiven)
        return np.where(c > 0, np.sqrt(above + np.maximum(below, 0.0) + lost), 0.0)

    def _squares(self, start: FloatArray, least: FloatArray) -> FloatArray:
        """Sum of (j - least)^2 P(Z = j) over j >= start, whole and above 0."""
        mass, first, second = self.law.upper(start)
        gap = start - least
        return np.asarray(second + 2.0 * gap * first + gap * gap * mass)

    def worst(self, alpha: float) -> float:
        """Return the largest alpha-RMSE of any count, in records; among 600 counts where more could be it.

        Far above the threshold a count is told for certain, and the larger it is the more alpha forgives.
        """
        far = self.threshold + math.ceil(9.0 * math.sqrt(self.law.variance)) + 10
        return float(self.error(np.unique(np.linspace(1, far, min(far, POINTS)).round()), alpha).max())


def stability(unit: ProtectedUnit, n_levels: int, epsilon: float, delta: float, law: str) -> Stability:
    """Return the noise and the threshold of a tree's levels at equal budgets; a public root has neither.

    Parameters
    ----------
    unit : ProtectedUnit
    n_levels : int
        Those that are told of: one for leaves alone, whose sums are then the other levels.
    epsilon, delta : float
        The promise of all levels together; half of delta is for Gaussian noise.
    law : str
        "discrete_laplace" or "discrete_gaussian".

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_REQUIRED``, ``VALUE_UNKNOWN``.

    Notes
    -----
    One unit that comes adds at most m to the counts of a level, in at most m nodes where nothing was; each of them is
    told with a probability of at most P(Z >= threshold - m), which is kept to delta / (levels m). One that is replaced,
    or whose unknown columns change, also leaves nodes, which counts as much again. But for that, the two outputs differ
    by the noise only.
    """
    n, slack = checks.integer("n_levels", n_levels, low=1, high=checks.MAX_NODES), checks.delta(delta)
    if slack == 0:
        raise InputError(
            "DELTA_REQUIRED",
            "A stability histogram needs delta > 0: a count that was 0 may be told; choose delta, for example 1e-6.",
        )
    loss, m = checks.epsilon(epsilon), unit.contributions
    one_sided = 1 if unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE else 2
    if checks.one_of("law", law, LAWS) == "discrete_laplace":
        noise: IntegerLaw = DiscreteLaplace(quotient_below(loss, one_sided * m * n))
        left = slack
    else:
        left = slack / 2
        noise = _gaussian(unit, n, loss, left, one_sided)
    rare = left * _BELOW / (n * m * one_sided)
    above = int(noise.reach(2.0 * rare)) + 1
    way = None if law == "discrete_laplace" else Accounting.NUMERICAL if n <= COMPOSED else Accounting.FORMULA
    promise = Guarantee(unit, loss, slack, precision=Precision.EXACT, spread=Spread.STACKED, accounting=way)
    return Stability(noise, m + above, promise)


def _gaussian(unit: ProtectedUnit, n: int, epsilon: float, delta: float, sides: int) -> DiscreteGaussian:
    square = Fraction(sides * unit.contributions**2 * n)
    moved = unit if sides == 1 else ProtectedUnit(NeighbouringRelation.REPLACE_ONE, unit.contributions)

    def laws(rho: float) -> list[DiscreteGaussian]:
        return [DiscreteGaussian(sqrt_above(square / (2 * Fraction(rho))))] * n

    few = n <= COMPOSED
    return laws(largest_total(laws, moved, epsilon, delta) if few else epsilon_to_rho(epsilon, delta, False))[0]
