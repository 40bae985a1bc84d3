"""Which branching factors are best for given level budgets, what the paper's approximation adds, how many trees are.

Before least squares the mean variance of a cumulative count is sum_i v_i (n_i - 1) / 2, v_i the noise variance of a
node of level i (Theorem IV.1 of Rameshwar et al.): v_i ~ 1 / epsilon_i^2 for Laplace noise, 1 / rho_i for Gaussian. So
with product K the factors are best where n_i v_i is the same on every level (Theorem IV.2 (ii)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import Currency
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.budgets import check_costs_add_up
from treedp_core.studies.cdf.shapes.primes import divisors, prime_factors
from treedp_core.studies.cdf.shapes.recursion import is_feasible
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import Shape, Workload, digit_sums, family_weights, n_bins_checked
from treedp_core.words import whole

MOST_LEVELS: Final = 40
MOST_SURE: Final = 1 << 16
"""Bins up to which every padded tree is looked at."""
_FEW: Final = 8
"""Levels up to which a search among more bins begins from every rounding of the real factors."""


def power_of(criterion: Criterion) -> int:
    """Return to which power a level's budget divides its variance: 2 in epsilon, 1 in rho."""
    return 2 if criterion.currency is Currency.EPSILON else 1


def best_factors(n_bins: float, shares: Sequence[float], power: int = 2) -> list[float]:
    """Return the real factors with product K that are best for given budgets (Theorem IV.2 (ii)).

    n_i = K^(1/h) epsilon_i^2 / (prod_j epsilon_j^2)^(1/h); in rho the power is 1. Some may be below 2, or below 1.

    >>> [round(n, 2) for n in best_factors(256, (0.6, 0.4))]
    [24.0, 10.67]
    """
    logs = power * np.log(np.asarray(shares, dtype=float))
    return [float(n) for n in np.exp(logs - logs.mean() + math.log(n_bins) / logs.size)]


def best_factors_from_two(n_bins: int, shares: Sequence[float], power: int = 2) -> list[float]:
    """Return the best real factors of at least 2: n_i = max(2, c epsilon_i^2) with product K.

    In r_i = ln n_i the error is convex and r_i >= ln 2 a half space, so this, where the conditions of Karush, Kuhn and
    Tucker hold, is the minimum: levels with the smallest budgets get 2 until the theorem gives all others at least 2.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` where so many levels of 2 children have more leaves than there are bins.

    >>> [round(n, 2) for n in best_factors_from_two(16, (0.9, 0.1))]
    [8.0, 2.0]
    """
    if 2 ** len(shares) > n_bins:
        raise _too_many(n_bins, len(shares))
    order = np.argsort(shares, kind="stable")
    found = np.full(len(shares), 2.0)
    for at_two in range(len(shares)):
        rest = order[at_two:]
        factors = best_factors(n_bins / 2**at_two, [shares[i] for i in rest], power)
        if min(factors) >= 2.0 * (1.0 - 1e-12):
            found[rest] = factors
            break
    return [float(n) for n in found]


def _too_many(n_bins: int, height: int) -> InputError:
    return InputError(
        "TREE_SHAPE",
        f"Expected so few shares that {whole(n_bins)} bins are enough for levels of 2 children, got {height}.",
    )


def shares_checked(shares: Sequence[float]) -> tuple[float, ...]:
    """Return shares of the levels below the root, each above 0, or refuse them (``BUDGET_SPLIT``)."""
    if not 1 <= len(shares) <= MOST_LEVELS:
        raise InputError("BUDGET_SPLIT", f"Expected a share for each of 1 to {MOST_LEVELS} levels, got {len(shares)}.")
    of = [
        checks.number(f"the share of level {i}", one, low=0.0, high=1.0, open_low=True, code="BUDGET_SPLIT")
        for i, one in enumerate(shares, start=1)
    ]
    if math.fsum(of) > 1.0 + 1e-9:
        raise InputError("BUDGET_SPLIT", "Expected shares that sum to at most 1.")
    return tuple(of)


def variances_of(criterion: Criterion, shares: Sequence[float], total: float) -> FloatArray:
    """Return the noise variance of a node of each level below the root, (n_shares,), records squared.

    Raises
    ------
    InputError
        ``RELATION`` where costs of levels do not add up; ``EPS_RANGE`` and ``RHO_RANGE``.
    """
    check_costs_add_up(criterion)
    shape = Shape.full((2,) * len(shares))
    budget = criterion.budget(shape, (0.0, *shares), total * min(1.0, math.fsum(shares)))
    return criterion.level_variances(budget)[1:]


def mean_variance(shape: Shape, variances: FloatArray) -> float:
    """Return the mean variance of the cumulative counts shorter than K, over K, for variances (n_shares,).

    >>> mean_variance(Shape.full((16, 16)), np.array([32.0, 32.0]))
    480.0
    """
    return float(np.array(digit_sums(shape), dtype=float) @ variances) / shape.n_bins


@dataclass(frozen=True)
class WholeTree:
    """The best tree of whole factors, its mean variance, and whether every tree was looked at."""

    shape: Shape
    value: float
    is_sure: bool


def best_whole(n_bins: int, variances: FloatArray, *, padded: bool = True) -> WholeTree:
    """Return the best tree of whole factors, at least 2 each, for the noise variance of each level, (n_shares,).

    From the leaves up: with s leaves below a node what a level adds to the error depends on s and its factor alone, so
    for every s the best way to it is enough. The first factor is the least that reaches K: digits beyond do not occur.
    Of more than 65 536 bins, with padding, it is the best that a search found: from the real factors, rounded, by steps
    on one level or on two.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` where there is no such tree, or without padding too many to look at.

    >>> best_whole(1024, np.array([32.0, 88.9, 200.0])).shape.branching_factors
    (26, 10, 4)
    """
    bins, height = n_bins_checked(n_bins), len(variances)
    if 2 ** (height - 1) >= bins:
        raise _too_many(bins, height)
    if padded and bins > MOST_SURE:
        shape = _searched(bins, variances)
    elif not padded and not is_feasible(bins):
        raise InputError("TREE_SHAPE", f"{whole(bins)} has too many divisors to look at every tree: allow padding.")
    else:
        shape = Shape(_by_recursion(_ways(bins, padded), variances), bins)
    return WholeTree(shape, mean_variance(shape, variances), not padded or bins <= MOST_SURE)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Numbers s of leaves below a node, ascending from 1, and which level leads from one to another.

    Parameters
    ----------
    n_bins : int
    top, top_weight : (n_sizes,)
        First factor above s, and what it adds per unit of variance.
    lower, upper, factor, weight : (n_pairs,)
        Places of s and n s, n, and what such a level adds; in the order of `upper`.
    """

    n_bins: int
    top: IntArray
    top_weight: FloatArray
    lower: IntArray
    upper: IntArray
    factor: IntArray
    weight: FloatArray


@lru_cache(maxsize=4)
def _ways(n_bins: int, padded: bool) -> _Ways:
    if padded:
        sizes = np.arange(1, n_bins)
        n_factors = np.maximum((n_bins - 1) // sizes - 1, 0)
        lower = np.repeat(np.arange(sizes.size), n_factors)
        factor = np.arange(lower.size) - np.repeat(np.cumsum(n_factors) - n_factors, n_factors) + 2
        upper = sizes[lower] * factor - 1
        top = -(-n_bins // sizes)
        weight = family_weights(n_bins, factor, sizes[lower], Workload.CDF)
        top_weight = family_weights(n_bins, top, sizes, Workload.CDF)
    else:
        sizes = np.array(divisors(n_bins)[:-1], dtype=np.int64)
        upper, lower = (np.tri(sizes.size, k=-1, dtype=bool) & (sizes[:, None] % sizes == 0)).nonzero()
        factor, top = sizes[upper] // sizes[lower], n_bins // sizes
        weight, top_weight = (factor - 1) / 2.0, (top - 1) / 2.0
    order = np.argsort(upper, kind="stable")
    return _Ways(n_bins, top, top_weight, lower[order], upper[order], factor[order], np.asarray(weight)[order])


def _by_recursion(ways: _Ways, variances: FloatArray) -> tuple[int, ...]:
    cost = np.full(ways.top.size, np.inf)
    cost[0], taken = 0.0, []
    for variance in variances[:0:-1].tolist():
        sums = cost[ways.lower] + variance * ways.weight
        cost = np.full(cost.size, np.inf)
        np.minimum.at(cost, ways.upper, sums)
        best = np.flatnonzero(sums == cost[ways.upper])[::-1]
        pair = np.zeros(cost.size, dtype=np.int64)
        pair[ways.upper[best]] = best
        taken.append(pair)
    cost = cost + variances[0] * ways.top_weight
    at = int(np.argmin(cost))
    if not np.isfinite(cost[at]):
        raise InputError(
            "TREE_SHAPE", f"{whole(ways.n_bins)} has no {len(variances)} factors of at least 2: allow padding."
        )
    found = [int(ways.top[at])]
    for pair in reversed(taken):
        found.append(int(ways.factor[pair[at]]))
        at = int(ways.lower[pair[at]])
    return tuple(found)


def _searched(n_bins: int, variances: FloatArray) -> Shape:
    """The best tree near the real factors, by steps on one level or on two."""
    shares = (variances.max() / variances) ** 0.5
    real = best_factors_from_two(n_bins, (shares / shares.sum()).tolist())[1:] if 2 ** len(variances) <= n_bins else []
    low = [max(2, math.floor(n)) for n in real] or [2] * (len(variances) - 1)
    starts = product(*((n, n + 1) for n in low)) if len(low) < _FEW else [tuple(low), tuple(n + 1 for n in low)]
    known: dict[tuple[int, ...], tuple[float, Shape]] = {}

    def at(lower: tuple[int, ...]) -> tuple[float, Shape]:
        if lower not in known:
            first = -(-n_bins // math.prod(lower))
            shape = Shape((first, *lower), n_bins) if first >= 2 and min(lower, default=2) >= 2 else None
            known[lower] = (
                (math.inf, Shape((n_bins,), n_bins)) if shape is None else (mean_variance(shape, variances), shape)
            )
        return known[lower]

    here = min(starts, key=lambda one: at(one)[0])
    while True:
        one_step = [
            tuple(n + step * (i == j) for i, n in enumerate(here)) for j in range(len(here)) for step in (-1, 1)
        ]
        two = [
            tuple(n + (i == j) - (i == k) for i, n in enumerate(here))
            for j in range(len(here))
            for k in range(len(here))
        ]
        better = min([*one_step, *two], key=lambda one: at(one)[0], default=here)
        if at(better)[0] >= at(here)[0]:
            return at(here)[1]
        here = better


# ---- the paper's approximation, and how many trees there are


def sandwich(n_bins: int, criterion: Criterion, heights: Sequence[int]) -> dict[str, list[float]]:
    """Return the mean variance at total budget 1 of h equal real factors and budgets, its approximation, and half that.

    With n_i in place of n_i - 1 it is at most twice as much where each factor is at least 2 (before Lemma IV.2).

    >>> {name: values[0] for name, values in sandwich(256, Criterion(), [2]).items()}
    {'half of it': 256.0, 'exact': 480.0, 'approximation': 512.0}
    """
    one, power = criterion.variance_of_one(), power_of(criterion)
    rows = [(h, one * h * float(h) ** power / 2.0, n_bins ** (1.0 / h)) for h in heights]
    return {
        "half of it": [scale * n / 2.0 for _, scale, n in rows],
        "exact": [scale * (n - 1.0) for _, scale, n in rows],
        "approximation": [scale * n for _, scale, n in rows],
    }


def number_of_trees(n_bins: int) -> int:
    """Return how many level-uniform trees there are for K without padding: ordered factors of at least 2.

    Of h factors of at least 1 there are prod_p C(e_p + h - 1, h - 1), p^e_p being the powers of primes in K; those with
    factors 1 are taken away by inclusion and exclusion. The paper bounds it by Omega(K)^Omega(K) (Sec. V).

    >>> number_of_trees(12), number_of_trees(2**11), number_of_trees(997)
    (8, 1024, 1)
    """
    exponents = list(prime_factors(n_bins).values())
    return sum(
        (-1) ** (height - h) * math.comb(height, h) * math.prod(math.comb(e + h - 1, h - 1) for e in exponents)
        for height in range(1, sum(exponents) + 1)
        for h in range(1, height + 1)
    )


def bound_on_trees(n_bins: int) -> int:
    """Return Omega(K)^Omega(K), Omega being the number of prime factors of K.

    >>> bound_on_trees(12)
    27
    """
    omega = sum(prime_factors(n_bins).values())
    return int(omega**omega)
