"""Whole branching factors with a product of K, or of at least K, that minimise a sum over levels: exact, fast.

Without least squares and with one bin for each leaf, the mean variance of a prefix is half that of a level which spends
all, times J = h^a (sum phi(n_i))^(1/p) with phi(n) = (n - 1)^p: for Laplace noise a = 2, p = 1 with equal budgets and
a = 0, p = 1/3 with the best ones (Theorem IV.2); for Gaussian noise a = 1, p = 1 and a = 0, p = 1/2. As a function of
ln n, phi is convex from n = 1 / p on; with its convex hull below that, t factors with product X cost at least
t phi(X^(1/t)). So heights are tried in the order of that bound, factors in falling order from X^(1/t), and a loop ends
when its bound is too large.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from scipy.optimize import brentq

from treedp_core.studies.cdf.shapes.primes import divisors
from treedp_core.tree.workloads import n_bins_checked

_TINY: Final = 1e-12
_LN2: Final = math.log(2.0)


@dataclass(frozen=True)
class Cost:
    """J = height^height_power (sum of (n_i - 1)^power)^(1 / power).

    >>> Cost(2.0, 1.0).of((16, 16))
    120.0
    """

    height_power: float
    power: float

    def of(self, factors: tuple[int, ...]) -> float:
        """Return J of branching factors in any order."""
        return self.total(len(factors), sum(self.phi(n) for n in factors))

    def total(self, height: int, phi_sum: float) -> float:
        """Return J from the sum of phi over the levels."""
        return float(height**self.height_power * phi_sum ** (1.0 / self.power))

    def phi(self, n: float) -> float:
        """Return (n - 1)^p."""
        return float((n - 1.0) ** self.power)

    def hull(self, log_n: float) -> float:
        """Return the convex hull of phi over factors of at least 2, as a function of ln n; phi(2) below 2."""
        if log_n <= _LN2:
            return 1.0
        touch = _LN2 if self.power >= 0.5 else _touching_point(self.power)
        if log_n >= touch:
            return float((math.exp(log_n) - 1.0) ** self.power)
        share = (log_n - _LN2) / (touch - _LN2)
        return 1.0 + share * (self.phi(math.exp(touch)) - 1.0)

    def bound(self, log_product: float, height: int) -> float:
        """Return what phi adds up to at least over `height` factors with that product."""
        return height * self.hull(log_product / height)


def cheapest(
    n_bins: int, cost: Cost, *, padded: bool, n_best: int = 1, height: int | None = None
) -> list[tuple[float, tuple[int, ...]]]:
    """Return the cheapest sets of branching factors (non-decreasing) and their J, best first.

    Parameters
    ----------
    n_bins : int
        K, at most 10^18.
    cost : Cost
    padded : bool
        Whether the product may exceed K; sets from which a factor could be lowered are left out.
    n_best : int
        How many.
    height : int, optional
        Only sets of this many factors.

    >>> cheapest(997, Cost(2.0, 1.0), padded=True)
    [(243.0, (10, 10, 10))]
    >>> cheapest(997, Cost(2.0, 1.0), padded=False)
    [(996.0, (997,))]
    """
    bins = n_bins_checked(n_bins)
    highest = max(1, (bins - 1).bit_length())
    heights = range(1, highest + 1) if height is None else [height]
    log_bins = math.log(bins)
    ordered = sorted((cost.total(h, cost.bound(log_bins, h)), h) for h in heights)
    search = _Search(cost, n_best, None if padded else divisors(bins))
    for bound, h in ordered:
        if bound >= search.limit:
            break
        search.of_height(bins, h)
    return search.found


@dataclass
class _Search:
    """The best sets so far; `divisors` None admits products above K."""

    cost: Cost
    n_best: int
    divisors: list[int] | None
    found: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)
    height: int = 0
    room: float = math.inf
    """What phi may add up to at the present height for a set to be worth finding."""

    @property
    def limit(self) -> float:
        """What a set must stay below to be worth finding."""
        return self.found[-1][0] * (1.0 - _TINY) if len(self.found) == self.n_best else math.inf

    def of_height(self, bins: int, height: int) -> None:
        """Look at all sets of that many factors that may be worth it."""
        self.height = height
        self._make_room()
        self._descend(bins, height, 2, 0.0, ())

    def _descend(self, product: int, left: int, lowest: int, spent: float, chosen: tuple[int, ...]) -> None:
        """Choose the next of `left` factors, at least `lowest`, that must still multiply to `product` (or more)."""
        bound, hull, phi = self.cost.bound, self.cost.hull, self.cost.phi
        if left == 1:
            last = max(lowest, product) if self.divisors is None else product
            self._keep(spent + phi(last), (*chosen, last))
            return
        log_product = math.log(product)
        for n in self._candidates(product, left, lowest):
            log_n = math.log(n)
            rest = spent + bound(log_product - log_n, left - 1)
            if rest + hull(log_n) >= self.room:
                break
            own = phi(n)
            if rest + own < self.room:
                self._descend(-(-product // n), left - 1, n, spent + own, (*chosen, n))

    def _candidates(self, product: int, left: int, lowest: int) -> Iterator[int]:
        """Smallest of the remaining factors, downwards from the left-th root of their product."""
        root = _root(product, left)
        if self.divisors is None:
            yield from range(root if root**left == product else root + 1, lowest - 1, -1)
            return
        for i in range(bisect_right(self.divisors, root) - 1, -1, -1):
            n = self.divisors[i]
            if n < lowest:
                return
            if product % n == 0:
                yield n

    def _keep(self, phi_sum: float, factors: tuple[int, ...]) -> None:
        value = self.cost.total(self.height, phi_sum)
        if value >= self.limit or (value, factors) in self.found:
            return
        insort(self.found, (value, factors))
        del self.found[self.n_best :]
        self._make_room()

    def _make_room(self) -> None:
        self.room = (self.limit / self.height**self.cost.height_power) ** self.cost.power


def _root(x: int, k: int) -> int:
    """Whole part of the k-th root."""
    r = int(x ** (1.0 / k))
    while r**k > x:
        r -= 1
    while (r + 1) ** k <= x:
        r += 1
    return r


@lru_cache(maxsize=16)
def _touching_point(power: float) -> float:
    """Where the hull of phi, a line from n = 2 as a function of ln n, meets phi, if phi is convex only from 3 on."""

    def gap(u: float) -> float:
        n = math.exp(u)
        slope = power * n * (n - 1.0) ** (power - 1.0)
        return float(slope * (u - _LN2) - ((n - 1.0) ** power - 1.0))

    return float(brentq(gap, math.log(1.0 / power), math.log(100.0 / power)))
