"""The best whole shapes for K bins under any criterion, with their exact error: a ranked list.

Candidates are the best shapes of every height and equal branching, then what a local search finds from them. The best
of a height is exact, and so the first of the list the best of all, without least squares (`recursion`: with padding
up to 10^5 bins), and after it without padding for equal budgets; else the list is the best that was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from treedp_core import checks
from treedp_core.privacy import Currency
from treedp_core.studies.cdf.error.budgets import LevelShares, check_costs_add_up, optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.studies.cdf.shapes.hunt import SMALL, Factors, FittedHunt, Hunt, equal_budgets, finest, trimmed
from treedp_core.studies.cdf.shapes.primes import is_prime, prime_factors
from treedp_core.studies.cdf.shapes.search import Cost, cheapest
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload, n_bins_checked
from treedp_core.watch import Watch
from treedp_core.words import whole

NOTHING = 1e-6
"""A level with no larger share is left out of the shape where that does not raise the mean variance."""


@dataclass(frozen=True, eq=False)
class RankedShape:
    """A shape with its level shares and its mean variance where the total budget is 1 (epsilon or rho)."""

    shape: Shape
    shares: FloatArray
    value: float


def best_shapes(
    n_bins: int,
    criterion: Criterion,
    *,
    padded: bool = True,
    optimal_budgets: bool = False,
    n_best: int = 10,
    watch: Watch | None = None,
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
        Whether every shape gets its best level budgets; after least squares they are searched for the shapes that are
        best with equal budgets and for what a local search from there finds.
    n_best : int
        Length of the list, at most 100.
    watch : Watch, optional
        Told in hundredths how far the search for the best budgets after least squares is, and may end it; the rest is
        quick.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for K, ``RELATION`` where there are no optimal budgets.
    Cancelled
        When the watch says so.

    >>> best_shapes(997, Criterion())[0].shape.branching_factors
    (10, 10, 10)
    >>> best_shapes(997, Criterion(), padded=False)[0].shape.branching_factors
    (997,)
    """
    bins = n_bins_checked(n_bins)
    many = checks.integer("n_best", n_best, low=1, high=100)
    if optimal_budgets:
        check_costs_add_up(criterion)
    hunt = _searched(bins, criterion, padded, optimal_budgets, many)
    if optimal_budgets and criterion.least_squares:
        return _by_value(_fitted(hunt, many, watch or Watch()))
    of = _optimal if optimal_budgets else _equal
    return _by_value([of(Shape(factors, bins), criterion) for factors in hunt.ranked(many)])


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


def _fitted(hunt: Hunt, many: int, watch: Watch) -> list[RankedShape]:
    """Shapes with their best budgets after least squares: those best with equal ones, the finest, and their neighbours.

    In rho a level more never hurts prefixes and ranges: without padding also the best order of the primes that
    exchanging two of them finds. In epsilon, where the best trees have few levels, also what a local search with nearly
    the best budgets finds.
    """
    fitted = FittedHunt(hunt.bins, hunt.criterion, hunt.padded, False, watch=watch)
    in_rho, small = hunt.criterion.currency is Currency.RHO, hunt.bins <= SMALL
    for factors in watch.over([*hunt.ranked(many), *finest(hunt.bins, hunt.padded)], 30):
        fitted.value(factors)
    if in_rho and not hunt.padded and small and hunt.criterion.workload is not Workload.NODES:
        fitted.reordered(min(finest(hunt.bins, padded=False), key=fitted.value))
    if not in_rho and small:
        of_heights = {len(factors): factors for factors in fitted.ranked(many)[::-1]}
        for start in watch.over(list(dict.fromkeys([*fitted.ranked(2), *of_heights.values()])), 30):
            fitted.climb(fitted.reordered(start))
        for start in fitted.ranked(2):
            fitted.climb(fitted.reordered(start))
    kinds: dict[Factors, Factors] = {}
    for factors in fitted.ranked(len(fitted.values)):
        fewer, _ = _measured(factors, hunt.bins, fitted.shares)
        kinds.setdefault(tuple(sorted(fewer)), fewer)
        if len(kinds) == many:
            break

    def searched(factors: Factors) -> LevelShares:
        watch.check()
        return fitted.shares(factors) if in_rho else optimal_shares(Shape(factors, hunt.bins), hunt.criterion)

    polished = [_measured(factors, hunt.bins, searched) for factors in watch.over(list(kinds.values()), 40)]
    found = _by_value([RankedShape(Shape(f, hunt.bins), best.shares, best.value) for f, best in polished])
    return list({tuple(sorted(one.shape.branching_factors)): one for one in found[::-1]}.values())


def _measured(factors: Factors, bins: int, best_of: Callable[[Factors], LevelShares]) -> tuple[Factors, LevelShares]:
    """The same tree with levels that get nothing merged into the next, where that is no worse, and its best budgets."""
    best, merged = best_of(factors), list[int]()
    for level, n in enumerate(factors):
        if level and best.shares[level] <= NOTHING:
            merged[-1] *= n
        else:
            merged.append(n)
    if len(merged) == len(factors):
        return factors, best
    fewer, again = _measured(trimmed(tuple(merged), bins), bins, best_of)
    return (fewer, again) if again.value <= best.value * (1.0 + NOTHING) else (factors, best)


def _by_value(shapes: list[RankedShape]) -> list[RankedShape]:
    return sorted(shapes, key=lambda ranked: ranked.value)


def _equal(shape: Shape, criterion: Criterion) -> RankedShape:
    return RankedShape(shape, *equal_budgets(shape, criterion))


def _optimal(shape: Shape, criterion: Criterion) -> RankedShape:
    best = optimal_shares(shape, criterion)
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
    return [_optimal(shape, criterion) if by_rule else _equal(shape, criterion) for shape in shapes]


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
