"""Stability histogram: noise on the counts above 0 alone, and only what clears a threshold is told.

A count of 0 is never told, so that nothing need be known of which nodes there could be: the domain need not be public.
What one unit can add where nothing was is told with a probability of at most delta, whatever is then drawn.
Source: Korolova, Kenthapadi, Mishra and Ntoulas (2009), here for whole-number noise, by level.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Law
from treedp_core.noise.law import IntegerLaw
from treedp_core.privacy import Accounting, Guarantee, NeighbouringRelation, Precision, ProtectedUnit, Spread
from treedp_core.privacy.accounting import largest_total
from treedp_core.privacy.conversions import epsilon_to_rho, rho_to_delta
from treedp_core.privacy.losses import LossLaw, of_changes
from treedp_core.privacy.rounding import quotient_below, sqrt_above
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import float_above

# ---- what Gaussian noise and a threshold lose together where one record's nodes are common, left or new.
#
# A node that is left or new has no noise that tells two data sets apart, so delta is not lost twice: where no node is
# left, all of it is the noise's, and where all are, it is what is told of them.


COMPOSED: Final = 64
"""Levels up to which losses are composed; those of more are by the formula."""
_ABOVE: Final = 1.0 + 1e-12
_JUST_BELOW: Final = 1.0 - 1e-12
"""Rounded numbers are off by less."""
Case = tuple[int, int, int]
"""Nodes that are common, left and new, at the most."""


def delta_of(noise: DiscreteGaussian, unit: ProtectedUnit, told: range, epsilon: float, untold: float) -> float:
    """Return delta, rounded up, of any two data sets that one record tells apart, some of its nodes left or new.

    Parameters
    ----------
    noise : DiscreteGaussian
        Of every level.
    unit : ProtectedUnit
        Of one record.
    told : range
        Levels that are told of.
    epsilon : float
    untold : float
        -log P(nothing is told of a node with one record).

    Notes
    -----
    With a nodes left, b new and c common, in the words of `mechanisms.stability`, q = 1 - e^(-a untold), and

        delta = q + (1 - q) delta_c(epsilon - b untold + a untold),

    where delta_c is that of the noise on c counts. This grows with a and b beside the same c, and with c, so that a
    group of numbers has the most of each: beyond `COMPOSED` levels, and of new nodes where others are left.

    >>> noise, unit = DiscreteGaussian(4.4), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> delta_of(noise, unit, range(1), 1.0, 1e-6) < 1e-6  # of one node: what is told of it, if it is left
    True
    """
    composed = len(told) <= COMPOSED
    return max(_lost(noise, epsilon, untold, case, composed) for case in _cases(unit, told))


def _cases(unit: ProtectedUnit, told: range) -> Iterator[Case]:
    """Yield cases that cover all in which not all nodes are common."""
    n = len(told)
    ways = [(n, n)]
    if unit.relation is not NeighbouringRelation.REPLACE_ONE:
        apart = sum(level >= unit.known_levels for level in told) if unit.by_pairs else 0
        ways = [(n, 0), (0, n), (apart, apart)]
    for leave, come in ways:
        for fewest, left in _groups(leave):
            for first, new in ((0, 0), (min(come, 1), come)) if leave else _groups(come):
                if left or new:
                    yield leave + come - fewest - first, left, new


def _groups(most: int) -> list[tuple[int, int]]:
    """0, and the ends of groups of the numbers up to one: each by itself where they are few."""
    ends = np.unique(np.linspace(0, most, min(most, COMPOSED) + 1).round().astype(int)).tolist()
    return [(0, 0), *((below + 1, last) for below, last in pairwise(ends))]


def _lost(noise: DiscreteGaussian, epsilon: float, untold: float, case: Case, composed: bool) -> float:
    common, left, new = case
    loss = epsilon + (left * _JUST_BELOW - new * _ABOVE) * untold
    if loss < 0:
        return 1.0
    rho = common / (2 * Fraction(noise.sigma) ** 2)
    delta = rho_to_delta(float_above(rho), loss) if common else 0.0
    if common and composed:
        delta = min(delta, _losses(noise, common).delta(loss))
    return _ABOVE * (-math.expm1(-left * untold) + math.exp(-left * untold) * delta)


@lru_cache(maxsize=128)
def _losses(noise: DiscreteGaussian, common: int) -> LossLaw:
    return of_changes([(noise, 1)] * common)


LAWS: Final = ("discrete_laplace", "discrete_gaussian")
POINTS: Final = 600
_LITTLE: Final = 2.0**-10
"""Part of epsilon that new nodes may lose beside Gaussian noise."""
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

        >>> made = stability(
        ...     ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), range(1), 1.0, 1e-6, "discrete_laplace"
        ... )
        >>> made.threshold, made.release(np.array([0, 1, 500]), np.random.default_rng(1)).tolist()
        (15, [0, 0, 501])
        """
        here = np.asarray(counts).astype(np.int64)
        noisy = here + self.law.sample(rng, here.shape).astype(np.int64)
        return np.where((here > 0) & (noisy >= self.threshold), noisy, 0)

    def told(self, counts: AnyArray) -> FloatArray:
        """Return the probability that each of true counts is told, shape of `counts`.

        >>> made = stability(
        ...     ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), range(1), 1.0, 1e-6, "discrete_laplace"
        ... )
        >>> made.told(np.array([0, 15, 30])).round(3).tolist()
        [0.0, 0.731, 1.0]
        """
        c = np.asarray(counts, dtype=np.float64)
        return np.where(c > 0, self.law.cdf(c - self.threshold), 0.0)  # the law is symmetric

    def error(self, counts: AnyArray, alpha: float = 0.0) -> FloatArray:
        """Return the exact alpha-RMSE of true counts, in records, shape of `counts`: beyond alpha times the count.

        >>> made = stability(
        ...     ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), range(1), 1.0, 1e-6, "discrete_laplace"
        ... )
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


def stability(unit: ProtectedUnit, levels: range, epsilon: float, delta: float, law: str) -> Stability:
    """Return the noise and the threshold of a tree's levels at equal budgets; a public root has neither.

    Parameters
    ----------
    unit : ProtectedUnit
    levels : range
        Levels of the tree that are told of, the root's is 0: the last one for leaves alone, whose sums are then the
        other levels.
    epsilon, delta : float
        The promise of all levels together.
    law : str
        "discrete_laplace" or "discrete_gaussian".

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_REQUIRED``, ``VALUE_UNKNOWN``.

    Notes
    -----
    Let D and D' differ in one unit's records, and call a node *left* where only D has records, *new* where only D' has.
    Let E: a left node is told; q = P(E) under D. Outside E, all that is told of D is of common nodes. There the two
    differ by the noise only, while each new node is untold under D' with a probability of P(Z < t - c), c its count:

        P(D in S) <= q + P(D in S, not E), and for what is told of common nodes alone
        P(D' in S) >= P(common' in S) prod over new nodes of P(Z < t - c).

    Laplace noise of scale b: common nodes that change by x lose x / b, and a new node loses -log P(Z < t - c), which
    the threshold keeps to c / b, its own change over b. So the total is at most the L1 change of all told levels over
    b: m times the levels where records come or go, 2 m times the levels where they are replaced, 2 m times the
    *unknown* ones where unknown columns change (`ProtectedUnit.charge`). Hence delta = q, the same for all relations:
    whether records go or move, m of them leave each level. Where they leave is the worst at one node, or at m: as
    -log P(Z < t - c) is convex in c, no split between is worse; at a root that is told it is one node.
    Both are attained, so that a lower threshold breaks the promise.

    Gaussian noise on the nodes of one record: `delta_of` says what is lost for each number of nodes that are left or
    new, the noise is made for all of delta where none is, and the threshold for the others. Of several records some
    may leave a node and others stay: there new nodes lose -log(1 - q) in all, so the noise is made for
    epsilon + log(1 - q) and for delta - q, with q at most half of delta.

    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN)  # a known root, and leaves
    >>> made = stability(unit, range(2), 1.0, 1e-3, "discrete_laplace")
    >>> made.law, made.threshold
    (DiscreteLaplace(inverse_scale=0.5), 16)
    """
    told = range(max(levels.start, int(unit.total_is_public)), levels.stop)
    checks.integer("levels", len(told), low=1, high=checks.MAX_NODES)
    whole = checks.delta(delta)
    if whole == 0:
        raise InputError(
            "DELTA_REQUIRED",
            "A stability histogram needs delta > 0: a count that was 0 may be released; set one, such as 1e-6.",
        )
    loss, way = checks.epsilon(epsilon), None
    if checks.one_of("law", law, LAWS) == "discrete_laplace":
        noise: IntegerLaw = DiscreteLaplace(quotient_below(loss, _charged(unit, told) * unit.contributions))
        rare = whole
    else:
        rare = min(whole / 2, -math.expm1(-_LITTLE * loss)) if unit.contributions > 1 else 0.0
        noise = _gaussian(unit, told, (loss + math.log1p(-rare)) * _BELOW, (whole - rare) * _BELOW)
        rare = rare or whole
        way = Accounting.NUMERICAL if len(told) <= COMPOSED else Accounting.FORMULA
    promise = Guarantee(unit, loss, whole, precision=Precision.EXACT, spread=Spread.STACKED, accounting=way)
    return Stability(noise, _threshold(noise, unit, told, loss * _BELOW, rare * _BELOW), promise)


def _charged(unit: ProtectedUnit, told: range) -> Fraction:
    """Levels whose counts move by the records of one unit; twice where they leave one node and come to another."""
    sides = 2 if unit.relation is NeighbouringRelation.REPLACE_ONE else 1
    return sides * unit.exact_charge([int(level in told) for level in range(told.stop)])


def _threshold(noise: IntegerLaw, unit: ProtectedUnit, told: range, epsilon: float, rare: float) -> int:
    """Return the least count from which on no more than `rare` is told of what m records left.

    Beside Gaussian noise of one record that is what is lost with the noise, too.
    """
    m = unit.contributions

    def untold(threshold: int, count: int) -> float:
        return -math.log1p(-0.5 * float(noise.tail(threshold - count - 1.0)))

    def keeps(threshold: int) -> bool:
        alone, together = untold(threshold, 1), untold(threshold, m)
        if isinstance(noise, DiscreteGaussian) and m == 1:
            return delta_of(noise, unit, told, epsilon, alone) <= rare
        below = range(max(told.start, 1), told.stop)
        left = (0 in told) * together + len(below) * max(m * alone, together)
        pays = not isinstance(noise, DiscreteLaplace) or max(alone, together / m) <= noise.inverse_scale * _BELOW
        return pays and -math.expm1(-left) <= rare

    high = m + 1 + int(noise.reach(2.0 * rare / (len(told) * m)))
    while not keeps(high):
        high *= 2
    return bisect_left(range(high), True, lo=m + 1, key=keeps)


def _gaussian(unit: ProtectedUnit, told: range, epsilon: float, delta: float) -> DiscreteGaussian:
    square = _charged(unit, told) * unit.contributions**2

    def law(rho: float) -> DiscreteGaussian:
        return DiscreteGaussian(sqrt_above(square / (2 * Fraction(rho))))

    def laws(rho: float) -> list[Law | None]:
        return [law(rho) if level in told else None for level in range(told.stop)]

    if len(told) > COMPOSED:
        return law(epsilon_to_rho(epsilon, delta, False))
    return law(largest_total(laws, unit, epsilon, delta))
