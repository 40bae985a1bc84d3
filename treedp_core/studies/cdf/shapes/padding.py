"""The best padded shape of every height without least squares, by an exact recursion over the leaves below a node.

Levels are added from the leaves up. What a level adds to the mean variance depends on its factor n and on the leaves s
below each of its nodes alone, so of all ways to the same s with as many levels only the cheapest is kept, and the root
may stand over any s below K: its factor is the least that reaches K. Ways lead from s to its multiples. Those from
a <= s < 2 a end at 2 a or beyond, so they are made together, along whichever of n and s takes more values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import Workload, family_weights


@lru_cache(maxsize=64)
def best_padded_ways(n_bins: int, workload: Workload, power: float = 1.0) -> Mapping[int, tuple[int, ...]]:
    """Return for every height the branching factors, from the root down, with the least mean variance.

    Parameters
    ----------
    n_bins : int
        K, at most `hunt.SMALL`: time grows like K (ln K)^2.
    workload : Workload
        Prefixes or ranges.
    power : float
        1 for equal budgets; 1 / (a + 1) for the best ones, whose variance is sum_l w_l^(1 / (a + 1)), to the power
        a + 1 (a = 2 in epsilon, 1 in rho).

    >>> best_padded_ways(997, Workload.CDF)[3], best_padded_ways(2520, Workload.RANGES)[2]
    ((10, 10, 10), (87, 29))
    """

    def weight(n: IntArray, s: IntArray) -> FloatArray:
        return np.asarray(family_weights(n_bins, n, s, workload) ** power)

    most = (n_bins - 1).bit_length()
    least = np.full((most, n_bins), np.inf)  # levels below, leaves below
    last = np.zeros((most, n_bins), dtype=np.int64)  # the factor that was added last
    least[0, 1] = 0.0
    for n, s in _steps(n_bins):
        cost = least[:-1, s] + weight(n, s)
        below = least[1:, n * s]
        least[1:, n * s] = np.minimum(below, cost)
        last[1:, n * s] = np.where(cost < below, n, last[1:, n * s])
    s = np.arange(1, n_bins)
    first = -(-n_bins // s)
    ends = np.argmin(least[:, 1:] + weight(first, s), axis=1) + 1
    return MappingProxyType({height + 1: _factors(n_bins, int(s), height, last) for height, s in enumerate(ends)})


def _steps(n_bins: int) -> Iterator[tuple[IntArray, IntArray]]:
    """All n >= 2 and s with n s < K, as arrays (n_steps,): no s before all that lead to it."""
    a = 1
    while 2 * a < n_bins:
        most = (n_bins - 1) // a
        if a <= math.isqrt(n_bins):
            for s in range(a, min(2 * a, (n_bins + 1) // 2)):
                n = np.arange(2, (n_bins - 1) // s + 1)
                yield n, np.full_like(n, s)
        else:
            for m in range(2, most + 1):
                s_all = np.arange(a, min(2 * a, (n_bins - 1) // m + 1))
                yield np.full_like(s_all, m), s_all
        a *= 2


def _factors(n_bins: int, s: int, height: int, last: IntArray) -> tuple[int, ...]:
    found = [-(-n_bins // s)]
    for level in range(height, 0, -1):
        found.append(int(last[level, s]))
        s //= found[-1]
    return tuple(found)
