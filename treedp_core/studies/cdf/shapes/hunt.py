"""A local search for good shapes: which level has which factor matters, and K need not fill the tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, permutations, product
from typing import Final

import numpy as np

from treedp_core.privacy import Currency
from treedp_core.studies.cdf.error.budgets import LevelShares, improved_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.studies.cdf.shapes.primes import divisors, prime_factors
from treedp_core.studies.cdf.shapes.recursion import best_padded_ways, best_ways, is_feasible
from treedp_core.studies.cdf.shapes.search import Cost, cheapest
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload, level_weights
from treedp_core.watch import Watch

Factors = tuple[int, ...]

SMALL: Final = 100_000
"""Bins up to which the search is wider."""
MODERATE: Final = 10**12
"""Bins up to which the cheapest padded sets of every height are searched; beyond, equal factors are good enough."""


@dataclass
class Hunt:
    """Values of the shapes looked at so far, at total budget 1, continuous noise.

    Parameters
    ----------
    bins, criterion, padded
        As in `best_shapes`.
    by_rule : bool
        Whether levels get the best budgets, where a rule gives them (without least squares); otherwise equal ones.
    """

    bins: int
    criterion: Criterion
    padded: bool
    by_rule: bool
    values: dict[Factors, float] = field(default_factory=dict)

    def value(self, factors: Factors) -> float:
        """Mean variance at total budget 1."""
        if factors not in self.values:
            shape = Shape(factors, self.bins)
            self.values[factors] = self._by_rule(shape) if self.by_rule else equal_budgets(shape, self.criterion)[1]
        return self.values[factors]

    def _by_rule(self, shape: Shape) -> float:
        degree = 2 if self.criterion.currency is Currency.EPSILON else 1
        weights = level_weights(shape, self.criterion.workload)[int(self.criterion.unit.total_is_public) :]
        return self.criterion.variance_of_one() * float((weights ** (1.0 / (degree + 1))).sum()) ** (degree + 1)

    def of_every_height(self) -> None:
        """Look at the best factors of each height: exact ones where there is a recursion, else the cheapest sets."""
        degree = 2 if self.criterion.currency is Currency.EPSILON else 1
        cost = Cost(0.0, 1.0 / (degree + 1)) if self.by_rule else Cost(float(degree), 1.0)
        ways = self._exact(1.0 / (degree + 1) if self.by_rule else 1.0)
        for height in range(1, self.bins.bit_length() + 1):
            for factors in ways.get(height, ()):
                self.value(factors)
            if not ways and self.padded and self.bins > MODERATE:
                self.orders_of(_balanced(self.bins, height))
            elif not ways:
                for _, factors in cheapest(self.bins, cost, padded=self.padded, n_best=4, height=height):
                    self.orders_of(factors)

    def _exact(self, power: float) -> Mapping[int, tuple[Factors, ...]]:
        """The best factors of each height where there is a recursion, otherwise nothing."""
        workload, least_squares = self.criterion.workload, self.criterion.least_squares
        if workload is Workload.NODES:
            return {}
        if self.padded and not least_squares and self.bins <= SMALL:
            return {h: (factors,) for h, factors in best_padded_ways(self.bins, workload, power).items()}
        if not self.padded and is_feasible(self.bins):
            return best_ways(self.bins, workload, least_squares=least_squares, power=power)
        return {}

    def orders_of(self, factors: Factors) -> None:
        """Look at several orders of a set of factors."""
        for order in _orders(factors):
            self.value(trimmed(order, self.bins) if self.padded else order)

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


@dataclass
class FittedHunt(Hunt):
    """The same for least squares with nearly the best budgets of every shape; the watch is asked before each."""

    watch: Watch = field(default_factory=Watch)
    fitted: dict[Factors, LevelShares] = field(default_factory=dict)

    def value(self, factors: Factors) -> float:
        """Mean variance at total budget 1, by one local search for the budgets."""
        if factors not in self.values:
            self.watch.check()
            self.fitted[factors] = improved_shares(Shape(factors, self.bins), self.criterion)
            self.values[factors] = self.fitted[factors].value
        return self.values[factors]

    def shares(self, factors: Factors) -> LevelShares:
        """The budgets that the local search found."""
        self.value(factors)
        return self.fitted[factors]

    def reordered(self, start: Factors) -> Factors:
        """The best order of the same factors that exchanging two of them, again and again, leads to."""
        while True:
            pairs = combinations(range(len(start)), 2)
            around = {trimmed(_exchanged(start, i, j), self.bins) for i, j in pairs} - {start}
            best = min(sorted(around), key=self.value, default=start)
            if self.value(best) >= self.value(start) * (1.0 - 1e-12):
                return start
            start = best


def equal_budgets(shape: Shape, criterion: Criterion) -> tuple[FloatArray, float]:
    """Return shares (n_levels,) that are equal for every measured level, and the mean variance at total budget 1.

    A root whose noisy count costs more than it is worth is not measured.
    """
    degree = 2 if criterion.currency is Currency.EPSILON else 1
    one, height, public = criterion.variance_of_one(), shape.height, criterion.unit.total_is_public
    equal = np.full(height + 1, one * criterion.equal_parts(height) ** degree)
    equal[0] *= not public
    shares, value = criterion.equal_shares(shape), criterion.of_variances(shape, equal)
    if not public:
        without = np.full(height + 1, one * criterion.equal_parts(height, root=False) ** degree)
        without[0] = np.inf
        other = criterion.of_variances(shape, without)
        if other < value:
            return np.array([0.0, *[1.0 / height] * height]), other
    return shares, value


def _balanced(bins: int, height: int) -> Factors:
    """Factors b and b + 1, as few larger ones as the bins allow."""
    b = max(2, int(bins ** (1.0 / height)))
    return next(f for j in range(height + 1) if math.prod(f := (b,) * (height - j) + (b + 1,) * j) >= bins)


def finest(bins: int, padded: bool) -> list[Factors]:
    """Trees with many levels: where every level gets its best budget, a level more never hurts."""
    if padded:
        return [trimmed((n,) * bins.bit_length(), bins) for n in (2, 3, 4)]
    primes = tuple(p for p, e in prime_factors(bins).items() for _ in range(e))
    return [primes, primes[::-1]]


def _exchanged(factors: Factors, i: int, j: int) -> Factors:
    order = list(factors)
    order[i], order[j] = order[j], order[i]
    return tuple(order)


def _orders(factors: Factors) -> Iterable[Factors]:
    if len(factors) <= 4:
        return set(permutations(factors))
    return {factors, factors[::-1]}


def trimmed(factors: Factors, bins: int) -> Factors:
    """The same with the first factor as small as the bins allow; first factors that need not branch are dropped."""
    while True:
        rest = math.prod(factors[1:])
        first = -(-bins // rest)
        if first >= 2:
            return (first, *factors[1:])
        factors = factors[1:]


def _neighbours(factors: Factors, bins: int) -> Iterator[Factors]:
    """Change one factor by one (several of few), swap, merge or split neighbours; the first follows from the others."""
    if 1 < len(factors) <= 4:
        for moves in product((-1, 0, 1), repeat=len(factors) - 1):
            moved = tuple(n + d for n, d in zip(factors[1:], moves, strict=True))
            if any(moves) and min(moved) > 1:
                yield trimmed((factors[0], *moved), bins)
    for i, n in enumerate(factors):
        before, behind = factors[:i], factors[i + 1 :]
        if i and n > 2:
            yield trimmed((*before, n - 1, *behind), bins)
        if i:
            yield trimmed((*before, n + 1, *behind), bins)
        if behind:
            yield trimmed((*before, behind[0], n, *behind[1:]), bins)
            yield trimmed((*before, n * behind[0], *behind[1:]), bins)
        for a in range(2, min(n - 1, 7)):
            yield trimmed((*before, a, -(-n // a), *behind), bins)
            yield trimmed((*before, -(-n // a), a, *behind), bins)


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
