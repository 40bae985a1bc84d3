"""The best whole shapes for K bins under any criterion, with their exact error: a ranked list.

Candidates are the best shapes of every height and equal branching, then what a local search finds from them. The best
of a height is exact, and so the first of the list the best of all, without least squares (`padded` up to 10^5 bins,
`recursion` without padding), and after it without padding for equal budgets; else the list is the best that was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treedp_core import checks
from treedp_core.privacy import Currency
from treedp_core.studies.branching.hunt import SMALL, Factors, FittedHunt, Hunt, equal_budgets, finest, trimmed
from treedp_core.studies.branching.primes import is_prime, prime_factors
from treedp_core.studies.branching.search import Cost, cheapest
from treedp_core.studies.cdf.error.budgets import LevelShares, improved_shares, optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload, n_bins_checked
from treedp_core.words import whole

Shares = Callable[[Shape, Criterion], LevelShares]
SEARCHED = 3
"""Shapes of the list whose budgets are searched from many starts."""
NOTHING = 1e-6
"""A level with no larger share is left out of the shape where that does not raise the mean variance."""


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
        best with equal budgets and for what a local search from there finds.
    n_best : int
        Length of the list, at most 100.

    >>> best_shapes(997, Criterion())[0].shape.branching_factors
    (10, 10, 10)
    >>> best_shapes(997, Criterion(), padded=False)[0].shape.branching_factors
    (997,)
    """
    bins = n_bins_checked(n_bins)
    many = checks.integer("n_best", n_best, low=1, high=100)
    hunt = _searched(bins, criterion, padded, optimal_budgets, many)
    finalists = hunt.ranked(many)
    if not optimal_budgets:
        found = [_equal(Shape(factors, bins), criterion) for factors in finalists]
    else:
        best_of: Shares = optimal_shares
        if criterion.least_squares:
            finalists, best_of = _fitted(hunt, finalists, many)
        shapes = [
            _optimal(Shape(factors, bins), criterion, optimal_shares if place < SEARCHED else best_of)
            for place, factors in enumerate(finalists)
        ]
        found = list({tuple(sorted(one.shape.branching_factors)): one for one in _by_value(shapes)[::-1]}.values())
    return _by_value(found)[:many]


def best_shape(n_bins: int, criterion: Criterion) -> Shape:
    """Return the best padded shape found for K bins with equal budgets.

    >>> best_shape(997, Criterion()).branching_factors
    (10, 10, 10)
    """
    return best_shapes(n_bins, criterion, n_best=1)[0].shape


def _searched(bins: int, criterion: Criterion, padded: bool, optimal: bool, many: int) -> Hunt:
    """All shapes worth a look: of every height, equal branching, and from the best of them by local search."""
    by_rule = optimal and not criterion.least_squares
    hunt = Hunt(bins, criterion, padded, by_rule)
    hunt.value((bins,))
    hunt.of_every_height()
    degree = 2 if criterion.currency is Currency.EPSILON else 1
    cost = Cost(0.0, 1.0 / (degree + 1)) if by_rule else Cost(float(degree), 1.0)
    for _, factors in cheapest(bins, cost, padded=padded, n_best=max(2 * many, 40) if bins <= SMALL else many):
        hunt.orders_of(factors)
    if padded:
        for n in range(2, 25):
            hunt.value(trimmed((n,) * max(1, math.ceil(math.log(bins, n) - 1e-9)), bins))
    for start in hunt.ranked(12 if bins <= SMALL else 3):
        hunt.climb(start)
    return hunt


def _fitted(hunt: Hunt, finalists: list[Factors], many: int) -> tuple[list[Factors], Shares]:
    """Shapes worth their best budgets after least squares: those best with equal ones, and the finest trees.

    In rho a level more never hurts prefixes and ranges: without padding also the best order of the primes that
    exchanging two of them finds. In epsilon, where the best trees have few levels, also what a local search with nearly
    the best budgets finds; these come in the order of their errors, so that behind the first ones such budgets are good
    enough.
    """
    every = list(dict.fromkeys([*finalists, *finest(hunt.bins, hunt.padded)]))
    fitted = FittedHunt(hunt.bins, hunt.criterion, hunt.padded, False)
    in_rho = hunt.criterion.currency is Currency.RHO
    if in_rho and not hunt.padded and hunt.bins <= SMALL and hunt.criterion.workload is not Workload.NODES:
        every.append(fitted.reordered(min(finest(hunt.bins, padded=False), key=fitted.value)))
    if in_rho or hunt.bins > SMALL:
        return list(dict.fromkeys(every)), optimal_shares
    for factors in every:
        fitted.value(factors)
    of_heights = {len(factors): factors for factors in fitted.ranked(many)[::-1]}
    for start in dict.fromkeys([*fitted.ranked(2), *of_heights.values()]):
        fitted.climb(fitted.reordered(start))
    for start in fitted.ranked(2):
        fitted.climb(fitted.reordered(start))
    return fitted.ranked(many), improved_shares


def _by_value(shapes: list[RankedShape]) -> list[RankedShape]:
    return sorted(shapes, key=lambda ranked: ranked.value)


def _equal(shape: Shape, criterion: Criterion) -> RankedShape:
    return RankedShape(shape, *equal_budgets(shape, criterion))


def _optimal(shape: Shape, criterion: Criterion, best_of: Shares) -> RankedShape:
    """The shape with its best budgets; levels that get nothing are merged into the next."""
    best = best_of(shape, criterion)
    idle = np.flatnonzero(best.shares[1:-1] <= NOTHING) + 1
    if criterion.least_squares and idle.size:
        factors = shape.branching_factors
        merged: list[int] = []
        for level, n in enumerate(factors):
            if level in idle:
                merged[-1] *= n
            else:
                merged.append(n)
        smaller = Shape(trimmed(tuple(merged), shape.n_bins), shape.n_bins)
        again = best_of(smaller, criterion)
        if again.value <= best.value * (1.0 + NOTHING):
            return RankedShape(smaller, again.shares, again.value)
    return RankedShape(shape, best.shares, best.value)


def best_by_height(
    n_bins: int, criterion: Criterion, *, padded: bool = True, optimal_budgets: bool = False
) -> list[RankedShape]:
    """Return the best shape found of each height, from one level on to all factors 2; best budgets if a rule has them.

    Without a recursion for a height, the sets of factors that are cheapest without least squares are tried, in several
    orders; heights that K has no factors for are left out.

    >>> [ranked.shape.branching_factors for ranked in best_by_height(64, Criterion(), padded=False)][:3]
    [(64,), (8, 8), (4, 4, 4)]
    """
    bins = n_bins_checked(n_bins)
    by_rule = optimal_budgets and not criterion.least_squares
    hunt = Hunt(bins, criterion, padded, by_rule)
    hunt.of_every_height()
    best: dict[int, Factors] = {}
    for factors in sorted(hunt.values, key=hunt.value):
        best.setdefault(len(factors), factors)
    shapes = [Shape(best[height], bins) for height in sorted(best)]
    return [_optimal(shape, criterion, optimal_shares) if by_rule else _equal(shape, criterion) for shape in shapes]


def advice(n_bins: int) -> str:
    """Return one sentence on which exact trees there are for K bins.

    >>> advice(997)
    '997 is prime, so its only tree without padding is the histogram; allow padding for better trees.'
    """
    bins = n_bins_checked(n_bins)
    if is_prime(bins):
        n = whole(bins)
        return f"{n} is prime, so its only tree without padding is the histogram; allow padding for better trees."
    primes = " × ".join(f"{p}^{e}" if e > 1 else f"{p}" for p, e in prime_factors(bins).items())
    return f"{whole(bins)} = {primes}: branching factors without padding are products of these primes."
