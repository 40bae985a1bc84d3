"""The best whole shapes for K bins under any criterion, with their exact error: a ranked list.

Candidates come from the exact search over sets of factors (`search`), with equal branching, and from a local search on
the exact error: which level has which factor matters as soon as K does not fill the tree, and after least squares.
`search` is exact for trees whose leaves all count; this list is the best that was found, not certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.branching.primes import divisors, is_prime, prime_factors
from treedp_core.branching.search import Cost, cheapest
from treedp_core.cdf_error.budgets import optimal_shares
from treedp_core.cdf_error.criterion import Criterion
from treedp_core.privacy import Currency
from treedp_core.tree import FloatArray
from treedp_core.workloads import Shape, level_weights, n_bins_checked

Factors = tuple[int, ...]

SMALL: Final = 100_000
"""Bins up to which the search is wider."""


@dataclass(frozen=True, eq=False)
class RankedShape:
    """A shape with its level shares and its mean variance where the total budget is 1 (epsilon or rho)."""

    shape: Shape
    shares: FloatArray
    value: float


def best_shapes(
    n_bins: int, criterion: Criterion, *, padded: bool = True, optimal_budgets: bool = False, n_best: int = 10
) -> list[RankedShape]:
    """Return the best shapes found, best first, one for each set of branching factors.

    Parameters
    ----------
    n_bins : int
        K, from 2 to 10^18.
    criterion : Criterion
        Continuous noise is used for ranking; discrete laws are ranked like their continuous counterparts.
    padded : bool
        Whether the tree may have more leaves than bins; otherwise the branching factors multiply to K, and a prime K
        leaves only the histogram.
    optimal_budgets : bool
        Whether every shape gets its best level budgets; after least squares they are optimised for the shapes that are
        best with equal budgets.
    n_best : int
        Length of the list, at most 100.

    >>> best_shapes(997, Criterion())[0].shape.branching_factors
    (10, 10, 10)
    >>> best_shapes(997, Criterion(), padded=False)[0].shape.branching_factors
    (997,)
    """
    bins = n_bins_checked(n_bins)
    many = checks.integer("n_best", n_best, low=1, high=100)
    hunt = _Hunt(bins, criterion, padded, optimal_budgets and not criterion.least_squares)
    for factors in _starts(bins, criterion, padded, optimal_budgets, many):
        hunt.value(factors)
    for start in hunt.ranked(12 if bins <= SMALL else 3):
        hunt.climb(start)
    finalists = hunt.ranked(many)
    if optimal_budgets and criterion.least_squares:
        finalists += [factors for factors in _finest(bins, padded) if factors not in finalists]
    shapes = [Shape(factors, bins) for factors in finalists]
    if not optimal_budgets:
        found = [RankedShape(s, criterion.equal_shares(s), hunt.value(s.branching_factors)) for s in shapes]
    else:
        best = ((shape, optimal_shares(shape, criterion)) for shape in shapes)
        found = [RankedShape(shape, level.shares, level.value) for shape, level in best]
    return sorted(found, key=lambda ranked: ranked.value)[:many]


def best_by_height(n_bins: int, criterion: Criterion, *, padded: bool = True) -> list[RankedShape]:
    """Return the best shape found of each height, equal budgets, from one level on to all factors 2.

    Of a height the sets of factors that are cheapest without least squares are tried, in several orders; heights that
    K has no factors for are left out.

    >>> [ranked.shape.branching_factors for ranked in best_by_height(64, Criterion(), padded=False)][:3]
    [(64,), (8, 8), (4, 4, 4)]
    """
    bins = n_bins_checked(n_bins)
    hunt, best = _Hunt(bins, criterion, padded, False), []
    for height in range(1, bins.bit_length() + 1):
        cost = Cost(2.0 if criterion.currency is Currency.EPSILON else 1.0, 1.0)
        sets = cheapest(bins, cost, padded=padded, n_best=4, height=height)
        orders = [_trimmed(order, bins) if padded else order for _, factors in sets for order in _orders(factors)]
        found = [order for order in orders if len(order) == height]
        if found:
            shape = Shape(min(found, key=hunt.value), bins)
            best.append(RankedShape(shape, criterion.equal_shares(shape), hunt.value(shape.branching_factors)))
    return best


def advice(n_bins: int) -> str:
    """Return one sentence on which exact trees there are for K bins.

    >>> advice(997)
    '997 is prime, so its only tree without padding is the histogram; allow padding for better trees.'
    """
    bins = n_bins_checked(n_bins)
    if is_prime(bins):
        return f"{bins:,} is prime, so its only tree without padding is the histogram; allow padding for better trees."
    primes = " × ".join(f"{p}^{e}" if e > 1 else f"{p}" for p, e in prime_factors(bins).items())
    return f"{bins:,} = {primes}: branching factors without padding are products of these primes."


@dataclass
class _Hunt:
    """Values of the shapes looked at so far."""

    bins: int
    criterion: Criterion
    padded: bool
    by_rule: bool
    values: dict[Factors, float] = field(default_factory=dict)

    def value(self, factors: Factors) -> float:
        """Mean variance at total budget 1: equal shares, or the optimal ones where a rule gives them."""
        if factors not in self.values:
            self.values[factors] = self._evaluate(Shape(factors, self.bins))
        return self.values[factors]

    def _evaluate(self, shape: Shape) -> float:
        degree = 2 if self.criterion.currency is Currency.EPSILON else 1
        public = self.criterion.unit.total_is_public
        one = self.criterion.variance_of_one()
        equal = one * self.criterion.equal_parts(shape.height) ** degree
        if self.criterion.least_squares:
            variance = np.full(shape.height + 1, equal)
            variance[0] *= not public
            return self.criterion.of_variances(shape, variance)
        weights = level_weights(shape, self.criterion.workload)[int(public) :]
        if self.by_rule:
            return one * float((weights ** (1.0 / (degree + 1))).sum()) ** (degree + 1)
        return equal * float(weights.sum())

    def ranked(self, n: int) -> list[Factors]:
        """The best shapes, one for each set of factors."""
        seen: set[Factors] = set()
        best: list[Factors] = []
        for factors in sorted(self.values, key=lambda f: (self.values[f], len(f), f)):
            kind = tuple(sorted(factors))
            if kind not in seen:
                seen.add(kind)
                best.append(factors)
            if len(best) == n:
                break
        return best

    def climb(self, start: Factors) -> None:
        """Go to the best neighbour until none is better."""
        while True:
            around = list(_neighbours(start, self.bins) if self.padded else _exact_neighbours(start))
            best = min(around, key=self.value, default=start)
            if self.value(best) >= self.value(start) * (1.0 - 1e-12):
                return
            start = best


def _starts(bins: int, criterion: Criterion, padded: bool, optimal: bool, many: int) -> Iterator[Factors]:
    """The histogram, the cheapest sets of factors in several orders, and equal branching."""
    yield (bins,)
    degree = 2 if criterion.currency is Currency.EPSILON else 1
    cost = Cost(0.0, 1.0 / (degree + 1)) if optimal and not criterion.least_squares else Cost(float(degree), 1.0)
    wanted = max(2 * many, 40) if bins <= SMALL else many
    for _, factors in cheapest(bins, cost, padded=padded, n_best=wanted):
        yield from (_trimmed(order, bins) if padded else order for order in _orders(factors))
    if padded:
        for n in range(2, 25):
            yield _trimmed((n,) * max(1, math.ceil(math.log(bins, n) - 1e-9)), bins)


def _finest(bins: int, padded: bool) -> list[Factors]:
    """Trees with many levels: where every level gets its best budget, a level more never hurts."""
    if padded:
        return [_trimmed((n,) * bins.bit_length(), bins) for n in (2, 3, 4)]
    primes = tuple(p for p, e in prime_factors(bins).items() for _ in range(e))
    return [primes, primes[::-1]]


def _orders(factors: Factors) -> Iterable[Factors]:
    if len(factors) <= 4:
        return set(permutations(factors))
    return {factors, factors[::-1]}


def _trimmed(factors: Factors, bins: int) -> Factors:
    """The same with the first factor as small as the bins allow; first factors that need not branch are dropped."""
    while True:
        rest = math.prod(factors[1:])
        first = -(-bins // rest)
        if first >= 2:
            return (first, *factors[1:])
        factors = factors[1:]


def _neighbours(factors: Factors, bins: int) -> Iterator[Factors]:
    """Change one factor by one, swap, merge or split neighbours; the first factor then follows from the others."""
    for i, n in enumerate(factors):
        before, behind = factors[:i], factors[i + 1 :]
        if i and n > 2:
            yield _trimmed((*before, n - 1, *behind), bins)
        if i:
            yield _trimmed((*before, n + 1, *behind), bins)
        if behind:
            yield _trimmed((*before, behind[0], n, *behind[1:]), bins)
            yield _trimmed((*before, n * behind[0], *behind[1:]), bins)
        for a in range(2, min(n - 1, 7)):
            yield _trimmed((*before, a, -(-n // a), *behind), bins)
            yield _trimmed((*before, -(-n // a), a, *behind), bins)


def _exact_neighbours(factors: Factors) -> Iterator[Factors]:
    """Swap or merge neighbours, split a factor, or move a prime to the neighbour; the product stays."""
    for i, n in enumerate(factors):
        before, behind = factors[:i], factors[i + 1 :]
        for a in divisors(n)[1:-1]:
            yield (*before, a, n // a, *behind)
            if behind:
                yield (*before, a, n // a * behind[0], *behind[1:])
            if before:
                yield (*before[:-1], before[-1] * a, n // a, *behind)
        if behind:
            yield (*before, behind[0], n, *behind[1:])
            yield (*before, n * behind[0], *behind[1:])
