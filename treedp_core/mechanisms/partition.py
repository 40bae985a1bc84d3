"""Private partition: bins in a row that are nearly alike become one bucket, before anything is counted.

Where counts are small beside the noise, one noisy count of many bins tells more of each than a noisy count of its own.
Which bins are alike is asked privately, and only of fixed intervals: bins 1-4, 5-8, ..., then 1-16, 17-32, and so on.
Source: after Li, Hay, Miklau and Wang (2014); the intervals, their noise and the proof are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy import ProtectedUnit
from treedp_core.privacy.rounding import quotient_below
from treedp_core.tree import AnyArray, FloatArray, IntArray

STEP: Final = 4
"""Each length over the one before: with 2 twice as much is asked for, and spikes are merged more often."""
LEAST_BINS: Final = STEP + 1
"""The whole is never asked for, so that there are two buckets at least."""
_SAFE: Final = 2.0**62


@dataclass(frozen=True)
class Partition:
    """A stage that spends part of a budget on where buckets begin.

    Parameters
    ----------
    n_bins : int
        K, at least 5.
    unit : ProtectedUnit
    epsilon : float
        What the stage spends; the rest of a release is another stage.
    cost : float
        Of one more bucket: the standard deviation of its count's noise later on, in records.
    """

    n_bins: int
    unit: ProtectedUnit
    epsilon: float
    cost: float

    def __post_init__(self) -> None:
        checks.integer("n_bins", self.n_bins, low=1, high=checks.MAX_NODES, code="TREE_SHAPE")
        if self.n_bins < LEAST_BINS:
            said = f"A private partition takes {LEAST_BINS} bins or more, and there are {self.n_bins}"
            raise checks.InputError("TREE_SHAPE", f"{said}; choose another tree.")
        checks.epsilon(self.epsilon)
        checks.number("cost", self.cost, low=0)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Bins of the intervals that are asked for: 4, 16, ..., less than K."""
        found = [STEP]
        while found[-1] * STEP < self.n_bins:
            found.append(found[-1] * STEP)
        return tuple(found)

    def sizes(self, length: int) -> IntArray:
        """Return the number of bins of each interval of a length, (n_intervals,): the last one ends with the bins."""
        begin = np.arange(0, self.n_bins, length)
        return np.minimum(begin + length, self.n_bins) - begin

    def deviations(self, counts: AnyArray) -> list[AnyArray]:
        """Return n times the sum of |count - mean| over the n bins of every interval, (n_intervals,) for each length.

        In whole numbers: sum_i |n x_i - s|, where s is the sum of the interval.
        """
        largest = 2.0 * self.n_bins * float(counts.sum(dtype=float))
        whole = np.asarray(counts, dtype=np.int64 if largest < _SAFE else object)
        found = []
        for length in self.lengths:
            size, begin = self.sizes(length), np.arange(0, self.n_bins, length)
            of = np.arange(self.n_bins) // length
            found.append(np.add.reduceat(np.abs(size[of] * whole - np.add.reduceat(whole, begin)[of]), begin))
        return found

    def sensitivity(self) -> Fraction:
        """Return how far one unit moves all deviations from the mean together, in records, at most.

        Notes
        -----
        One record more in bin j of an interval of n bins with the sum s moves n |x_j - mean| = |n x_j - s| by at most
        n - 1, and each of the n - 1 others by at most 1: together by at most 2 (n - 1), that is 2 - 2/n of deviation;
        exactly so where all bins were equal. It lies in one interval of each length, and 2 - 2/n grows with n, so an
        interval that is cut short moves less than a whole one: S = sum of 2 - 2/n over n = 4, 16, ... < K. A record
        that is replaced, or whose bin is unknown and changes, is one less and one more. In two intervals of n and n'
        bins that is at most 4 - 2/n - 2/n'; in one interval the sum stays, and two bins move by 1: at most 2. Bins that
        share an interval share all longer ones. So no more is moved than from one whole interval of the largest length
        L to the first bin behind it, whose own intervals have at most K - L bins, or from a whole interval of the
        length below to another within L. Both are attained by equal counts. m records move m times as much at most, one
        after the other.

        >>> from treedp_core.privacy import NeighbouringRelation
        >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
        >>> Partition(8, unit, 1.0, 1.0).sensitivity()
        Fraction(3, 2)
        """
        *shorter, longest = self.lengths
        if self.unit.moved(1) == 1:
            each = sum((2 - Fraction(2, n) for n in self.lengths), Fraction(0))
        else:
            behind = ((n, min(n, self.n_bins - longest)) for n in self.lengths)
            beyond = sum((4 - Fraction(2, n) - Fraction(2, k) for n, k in behind), Fraction(0))
            each = max(beyond, sum((4 - Fraction(4, n) for n in shorter), Fraction(2)))
        return self.unit.contributions * each

    def law(self, size: int) -> DiscreteLaplace:
        """Return the noise on n times the deviation of an interval of n bins: a scale of n S / epsilon.

        The output's log odds then change by at most sum of (change of n times the deviation) epsilon / (n S), which is
        epsilon.
        """
        return DiscreteLaplace(quotient_below(self.epsilon, size * self.sensitivity()))

    def release(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Return where buckets begin, and K, (n_buckets + 1,); a simulation unless `rng` is a secure source of bits.

        Parameters
        ----------
        counts : (K,)
            True counts of the bins, whole and at least 0.

        >>> from treedp_core.privacy import NeighbouringRelation
        >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
        >>> stage = Partition(8, unit, 1.0, 2.0)
        >>> stage.release(np.array([0, 0, 0, 0, 90, 0, 0, 0]), np.random.default_rng(1)).tolist()
        [0, 4, 5, 6, 7, 8]
        """
        noisy = [
            exact + np.concatenate([self.law(n).sample(rng, many) for n, many in _runs(self.sizes(length))])
            for length, exact in zip(self.lengths, self.deviations(counts), strict=True)
        ]
        return self.cheapest(noisy)

    def cheapest(self, noisy: list[AnyArray]) -> IntArray:
        """Return the cheapest partition into such intervals and single bins: it sees noisy deviations only.

        A bucket costs its deviation, at least 0, and `cost`; a single bin has none, so only `cost`.

        Parameters
        ----------
        noisy : list of (n_intervals,)
            As `deviations`, with noise.
        """
        least: FloatArray = np.full(self.n_bins, self.cost)
        begins = np.ones(self.n_bins, dtype=bool)
        for length, deviation in zip(self.lengths, noisy, strict=True):
            size = self.sizes(length)
            apart = np.add.reduceat(least, np.arange(0, least.size, STEP))
            joined = np.maximum(deviation.astype(np.float64) / size, 0.0) + self.cost
            joins = (joined <= apart) & (size > length // STEP)
            least = np.where(joins, joined, apart)
            place = np.arange(self.n_bins)
            begins[(place % length > 0) & joins[place // length]] = False
        return np.append(np.flatnonzero(begins), self.n_bins)


def _runs(sizes: IntArray) -> list[tuple[int, int]]:
    """Sizes of intervals in a row and how many have each, (n_intervals,): the last one may be shorter than the rest."""
    whole = int((sizes == sizes[0]).sum())
    return [(int(sizes[0]), whole)] + ([(int(sizes[-1]), 1)] if whole < sizes.size else [])
