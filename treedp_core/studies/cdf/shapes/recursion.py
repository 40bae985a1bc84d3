"""The best shape of every height whose factors multiply to K, by an exact recursion over the leaves below a node.

Levels are added from the leaves up. With s leaves below a node of level l, n children per node above it and
t = s_l + ... + s_h, the mean variance is a sum over levels of w(n, s) / t after least squares with equal budgets, of
w(n, s) without (t = 1), and of w(n, s)^(1 / (a + 1)), to the power a + 1, with the best budgets (a = 2 in epsilon, 1 in
rho); a noisy root adds less the larger t is. What is added later depends on s and falls as t grows. So of two ways to
the same s with as many levels the one with the smaller sum and the larger t is better, and only those that no other
beats are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import numpy as np

from treedp_core.studies.cdf.shapes.primes import divisors, prime_factors
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import Workload, family_weights

Weight = Callable[[FloatArray, float], FloatArray]
"""w(n, s) for many n."""

MOST_STEPS: Final = 100_000
"""Pairs of divisors, one dividing the other, times the largest height, up to which the recursion is made."""


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways from the leaves to one s: sums, t, levels so far, and their numbers; (n_ways,) each."""

    cost: FloatArray
    t: FloatArray
    height: IntArray
    node: IntArray

    @classmethod
    def joined(cls, parts: list[_Ways]) -> _Ways:
        """Return all ways of several."""
        return cls(*(np.concatenate(fields) for fields in zip(*(vars(p).values() for p in parts), strict=True)))

    def unbeaten(self) -> _Ways:
        """Return the ways that no other of the same height beats in both cost and t."""
        order = np.lexsort((self.cost, -self.t, self.height))
        cost, height = self.cost[order], self.height[order]
        keep = np.ones(order.size, dtype=bool)
        for start, stop in pairwise([*np.flatnonzero(np.diff(height, prepend=-1)).tolist(), order.size]):
            least = np.minimum.accumulate(cost[start:stop])
            keep[start + 1 : stop] = cost[start + 1 : stop] < least[:-1]
        return _Ways(*(field[order[keep]] for field in vars(self).values()))


def is_feasible(n_bins: int) -> bool:
    """Whether K has few enough divisors for the recursion to take no more than about a second.

    >>> is_feasible(2**30), is_feasible(6**10), is_feasible(963_761_198_400)
    (True, True, False)
    """
    exponents = prime_factors(n_bins).values()
    return math.prod((e + 1) * (e + 2) // 2 for e in exponents) * sum(exponents) <= MOST_STEPS


@lru_cache(maxsize=64)
def best_ways(
    n_bins: int, workload: Workload, *, least_squares: bool, power: float = 1.0
) -> Mapping[int, tuple[tuple[int, ...], ...]]:
    """Return for every height the best branching factors from the root down: one, or one for each kind of root.

    Parameters
    ----------
    n_bins : int
        K; see `is_feasible`.
    workload : Workload
        Prefixes or ranges.
    least_squares : bool
        Whether least squares follows: then budgets are equal, and the root is known, measured or not measured.
    power : float
        1 for equal budgets; 1 / (a + 1) for the best ones without least squares.

    >>> best_ways(256, Workload.CDF, least_squares=False)[2]
    ((16, 16),)
    """
    weight = _weight_of(n_bins, workload, least_squares=least_squares, power=power)
    before, factor = [-1], [0]  # of every way: the way before its last factor, and that factor
    zero = np.zeros(1, dtype=np.int64)
    sizes = np.array(divisors(n_bins), dtype=np.int64)
    arrived: dict[int, list[_Ways]] = {1: [_Ways(np.zeros(1), np.ones(1), zero, zero)]}
    for s in sizes[:-1].tolist():
        here = _Ways.joined(arrived.pop(s)).unbeaten()
        larger = sizes[(sizes > s) & (sizes % s == 0)]
        for n, w in zip((larger // s).tolist(), weight(larger / s, float(s)).tolist(), strict=True):
            node = np.arange(len(before), len(before) + here.node.size)
            before.extend(here.node.tolist())
            factor.extend([n] * here.node.size)
            here_t = here.t if least_squares else np.ones_like(here.t)
            t = here.t + float(s * n) if s * n < n_bins else here.t
            arrived.setdefault(s * n, []).append(
                _Ways(here.cost + w / here_t, t if least_squares else here_t, here.height + 1, node)
            )
    end = _Ways.joined(arrived[n_bins])
    totals = [end.cost]
    if least_squares:
        totals += [end.cost + _root(n_bins, workload) / (end.t / n_bins + measured) for measured in (0.0, 1.0)]
    found: dict[int, dict[tuple[int, ...], None]] = {}
    for height in np.unique(end.height).tolist():
        mine = np.flatnonzero(end.height == height)
        at = [int(end.node[mine[np.argmin(total[mine])]]) for total in totals]
        found[height] = dict.fromkeys(_factors(one, before, factor) for one in at)
    return MappingProxyType({height: tuple(ways) for height, ways in found.items()})


def _factors(way: int, before: Sequence[int], factor: Sequence[int]) -> tuple[int, ...]:
    found = []
    while way > 0:
        found.append(factor[way])
        way = before[way]
    return tuple(found)


def _root(n_bins: int, workload: Workload) -> float:
    """What a noisy root adds to the mean variance, over its own variance after least squares."""
    k = float(n_bins)
    return (k + 1.0) * (2.0 * k + 1.0 if workload is Workload.CDF else k + 2.0) / (6.0 * k * k)


def _weight_of(n_bins: int, workload: Workload, *, least_squares: bool, power: float) -> Weight:
    """Return w(n, s)^power for prefixes or ranges, in units of a level's noise variance, for K = prod n.

    Prefixes: (n - 1) / 2, after least squares (n - 1)(n s^2 + 1) / (6 n s). A range is the difference of two prefixes:
    twice that, less what they share.
    """
    bins = float(n_bins)

    def plain(n: FloatArray, s: float) -> FloatArray:
        prefixes = (n - 1.0) / 2.0
        if workload is Workload.RANGES:
            prefixes = 2.0 * prefixes - s * (n - 1.0) * (2.0 * n - 1.0) / (3.0 * (bins + 1.0))
        return np.asarray(prefixes**power)

    def fitted(n: FloatArray, s: float) -> FloatArray:
        prefixes = (n - 1.0) * (n * s * s + 1.0) / (6.0 * n * s)
        if workload is Workload.RANGES:
            prefixes = 2.0 * prefixes - s * s * (n * n - 1.0) / (6.0 * (bins + 1.0))
        return np.asarray(prefixes)

    return fitted if least_squares else plain


# ---- the best padded shape of every height without least squares, by an exact recursion over the leaves below a node.
#
# Levels are added from the leaves up. What a level adds to the mean variance depends on its factor n and on the leaves
# s below each of its nodes alone, so of all ways to the same s with as many levels only the cheapest is kept, and the
# root may stand over any s below K: its factor is the least that reaches K. Ways lead from s to its multiples. Those
# from a <= s < 2 a end at 2 a or beyond, so they are made together, along whichever of n and s takes more values.


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
    return MappingProxyType(
        {height + 1: _padded_factors(n_bins, int(s), height, last) for height, s in enumerate(ends)}
    )


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


def _padded_factors(n_bins: int, s: int, height: int, last: IntArray) -> tuple[int, ...]:
    found = [-(-n_bins // s)]
    for level in range(height, 0, -1):
        found.append(int(last[level, s]))
        s //= found[-1]
    return tuple(found)
