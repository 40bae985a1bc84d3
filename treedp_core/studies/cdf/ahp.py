"""AHP (Zhang, Chen, Xu, Meng and Xie, 2014): bins that look alike in noisy counts, wherever they are, counted together.

Half of epsilon counts every bin. Noisy counts below a threshold become 0, all are sorted, and the row is cut into
groups; the other half counts each group, spread evenly over its bins. One record is in one bin and in one group, so
both stages together cost epsilon. The groups here are the cheapest ones, where the paper's own search is greedy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy import ProtectedUnit
from treedp_core.privacy.rounding import quotient_below
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import float_below

SHARE: Final = Fraction(1, 2)
"""Part of epsilon that finds the groups."""
SMALL: Final = 0.35
"""Noisy counts below so many scales times the root of ln K become 0: the paper's eta."""
MOST_SORTED: Final = 1 << 10
"""Bins up to which the cheapest groups, of quadratic work, take milliseconds."""


def ahp(counts: IntArray, unit: ProtectedUnit, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Return estimates of true counts of bins, (K,), that spend epsilon.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> ahp(np.array([500, 0, 0, 500, 0, 0]), unit, 4.0, np.random.default_rng(1)).round().astype(int).tolist()
    [500, 0, 0, 500, 0, 0]
    """
    total = Fraction(checks.epsilon(epsilon))
    first = float_below(total * SHARE)
    finds, measures = (_law(part, unit) for part in (first, float_below(total - Fraction(first))))
    noisy = np.asarray(counts + finds.sample(rng, counts.size), dtype=np.float64)
    noisy[noisy < SMALL * math.sqrt(math.log(counts.size)) / finds.inverse_scale] = 0.0
    of = groups(noisy, measures.variance)
    sizes = np.bincount(of)
    sums = np.zeros(sizes.size, dtype=np.int64)
    np.add.at(sums, of, counts)
    return np.asarray(((sums + measures.sample(rng, sizes.size)) / sizes)[of])


def groups(noisy: FloatArray, variance: float) -> IntArray:
    """Return the group of each bin, 0, 1, ..., (K,), from noisy counts (K,): runs of the sorted ones.

    A group costs the squared distances of its noisy counts from their mean, and the error that noise of this variance
    on its sum leaves in its bins: the variance over their number. The cheapest groups are found, in O(K^2).
    """
    n, order = noisy.size, np.argsort(-noisy, kind="stable")
    sums, squares = (np.concatenate([[0.0], np.cumsum(noisy[order] ** power)]) for power in (1, 2))
    cheapest, begins = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    for end in range(1, n + 1):
        size = np.arange(end, 0, -1)
        cost = cheapest[:end] + squares[end] - squares[:end] + (variance - np.square(sums[end] - sums[:end])) / size
        begins[end] = np.argmin(cost)
        cheapest[end] = cost[begins[end]]
    starts, end = np.zeros(n, dtype=np.int64), n
    while end:
        starts[end := int(begins[end])] = 1
    of: AnyArray = np.empty(n, dtype=np.int64)
    of[order] = np.cumsum(starts) - 1
    return of


def _law(epsilon: float, unit: ProtectedUnit) -> DiscreteLaplace:
    """The noise of counts of disjoint parts of the records: each record moves as many of them as `unit.moved` says."""
    return DiscreteLaplace(quotient_below(epsilon, unit.moved(1) * unit.contributions))
