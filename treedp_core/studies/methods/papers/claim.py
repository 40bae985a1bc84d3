"""A claim of a paper: what it says, our verdict, and the numbers that show the verdict, computed whenever asked."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.noise.law import IntegerLaw, Law
from treedp_core.privacy import NeighbouringRelation
from treedp_core.tree import Tree
from treedp_core.watch import generator

# Losses, sums and errors by listing, integrals and draws: what formulas of papers and of this library are held to.

REACH: Final = 40
DRAWS: Final = 4_000


def loss(law: IntegerLaw, moved: int = 1) -> float:
    """Return the largest log ratio of the probabilities of whole noise and of that noise moved, by listing values.

    >>> from treedp_core.noise import DiscreteLaplace
    >>> round(loss(DiscreteLaplace(0.5)), 12)
    0.5
    """
    values = np.arange(-REACH, REACH + 1)
    return float(np.abs(np.log(law.pmf(values)) - np.log(law.pmf(values - moved))).max())


def loss_of_density(law: Law) -> float:
    """Return the largest log ratio of a density and of that density moved by 1, from shares of narrow intervals."""
    edges = np.linspace(-12.0, -1.0, 1_101)  # below 0 the shares of a symmetric law have all their digits
    here, there = (np.diff(law.cdf(edges + shift)) for shift in (0.0, 1.0))
    return float(np.abs(np.log(there / here)).max())


def renyi(sigma_square: float, order: float) -> float:
    """Return the Rényi divergence of a discrete Gaussian from itself moved by 1, by listing values."""
    values = np.arange(-REACH, REACH + 1)
    weights = np.exp(-np.square(values - np.array([[0.0], [1.0]])) / (2.0 * sigma_square))
    one, other = weights / weights.sum(axis=1, keepdims=True)
    return float(np.log((one**order * other ** (1.0 - order)).sum()) / (order - 1.0))


@lru_cache(maxsize=16)
def drawn_rmse(mechanism: str, n_levels: int) -> float:
    """Return the root mean square error of a chain's counts at ε = 1, δ = 1e-6, by draws; a record comes or goes."""
    relation = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    ready = prepare(
        Experiment(mechanism, delta=1e-6, relation=relation), Tree.from_branching_factors((1,) * (n_levels - 1))
    )
    errors = ready.noise.draw(generator("papers: a chain", mechanism, n_levels, 7), DRAWS)
    return math.sqrt(float(np.square(errors).mean()))


def moved_prefixes(n_bins: int) -> int:
    """Return how much the first K - 1 cumulative counts of a replaced record change at most: all pairs of bins."""
    counts = np.tri(n_bins, n_bins - 1, -1, dtype=np.int64)[:, ::-1]
    return max(int(np.abs(counts - one).sum(axis=1).max()) for one in counts)


def summed_variance(n_bins: int, variance: float) -> float:
    """Return the summed variance of K - 1 cumulative counts whose bins have noise of a variance: a matrix's squares."""
    return float(np.square(np.tri(n_bins - 1)).sum() * variance)


def best_bins(n_bins: int, steps: int = 300) -> float:
    """Return the least summed variance of K - 1 cumulative counts over budgets of single bins, by trying many.

    A record leaves one of the K bins and enters another, and the last is not measured: any two budgets sum to at most
    1 (at ε = 1).
    """
    best = math.inf
    for large in np.linspace(0.5, 1.0 if n_bins == 2 else 0.98, steps):
        for place in range(n_bins - 1):  # at most one bin has more than a half
            budget = np.full(n_bins - 1, max(1.0 - large, 1e-9))
            budget[place] = large
            best = min(best, float((np.arange(n_bins - 1, 0, -1) * 2.0 / budget**2).sum()))
    return best


def least_sum(parts: tuple[float, ...], steps: int = 20_001) -> float:
    """Return the least of the sum of part / share^2 over two shares that sum to 1, by trying many."""
    share = np.linspace(0.02, 0.98, steps)
    return float((parts[0] / share**2 + parts[1] / (1.0 - share) ** 2).min())


def factorisations(n_bins: int, least: int = 2) -> list[tuple[int, ...]]:
    """Return every way to write K as a product of factors, smallest first.

    >>> factorisations(12)
    [(2, 2, 3), (2, 6), (3, 4), (12,)]
    """
    found = [
        (n, *rest)
        for n in range(least, math.isqrt(n_bins) + 1)
        if n_bins % n == 0
        for rest in factorisations(n_bins // n, n)
    ]
    return [*found, (n_bins,)]


def least_g(n_bins: int, height: int | None = None) -> tuple[int, int]:
    """Return the least h^2 sum (n_i - 1) of all factorisations of K, of one height if it is given, and its height."""
    listed = (one for one in factorisations(n_bins) if height is None or len(one) == height)
    return min((len(one) ** 2 * (sum(one) - len(one)), len(one)) for one in listed)


def median_is_off(each: float, copies: int) -> float:
    """Return the probability that the median of independent answers is off, by listing which of them are."""
    middle = [sorted(which)[copies // 2] * _chance(which, each) for which in itertools.product((0, 1), repeat=copies)]
    return math.fsum(middle)


def fewer_than_half(each: float, copies: int) -> float:
    """Return the probability that fewer than half of independent answers are off, by listing which of them are."""
    listed = itertools.product((0, 1), repeat=copies)
    return math.fsum(_chance(which, each) for which in listed if 2 * sum(which) < copies)


def _chance(which: tuple[int, ...], each: float) -> float:
    return math.prod(each if one else 1.0 - each for one in which)


def int_opt_steps(noisy: tuple[int, ...], total: int) -> int:
    """Return how many counts IntOpt changes one after the other, as it is printed."""
    x = np.array(noisy, dtype=np.int64)
    left = total - int(x.sum())
    z = np.maximum(-(-left // x.size), -x)
    most, order, at, steps = int(np.abs(z).max()), np.argsort(x, kind="stable"), 0, 0
    while z.sum() > left:
        i = order[at]
        z[i] = max(z[i] - int(z.sum() - left), -x[i], -most)
        at, steps = (at + 1) % x.size, steps + 1
        most += at == 0
    return steps


EXACT: Final = 1e-6
"""Relative difference that rounding may leave."""


class Verdict(enum.Enum):
    """What became of a claim; the value is how it is called."""

    REPRODUCED = "reproduced"
    CORRECTED = "corrected"
    SHARPENED = "sharpened"
    NOT_APPLICABLE = "not applicable"
    OPEN = "open"


@dataclass(frozen=True)
class Number:
    """One number of a claim.

    Parameters
    ----------
    what : str
        In words.
    today : float
        Computed by the functions of this library.
    paper : float
        What the paper's text or formula gives.
    within : float
        Relative difference at which both are the same; for simulations three standard errors over the paper's number.
    more : bool
        Whether a larger number is the better one: of a lower bound.
    """

    what: str
    today: float
    paper: float
    within: float = EXACT
    more: bool = False

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return math.isclose(self.today, self.paper, rel_tol=self.within, abs_tol=1e-9)

    @property
    def is_better(self) -> bool:
        """Whether today's is the better one by more than the tolerance."""
        return not self.agrees and (self.today > self.paper) == self.more


@dataclass(frozen=True)
class Claim:
    """A theorem, algorithm, figure or table of a paper.

    Parameters
    ----------
    place : str
        Where in the paper.
    says : str
        What it says, in a sentence.
    verdict : Verdict
    compute : function or None
        Returns its numbers; None where there is nothing to compute.
    why : str
        What was corrected or sharpened, or why it does not apply.
    opens : (page, settings)
        What shows it in the app; no page where none does.
    paper : str
        Key of `PAPERS`.
    """

    place: str
    says: str
    verdict: Verdict
    compute: Callable[[], tuple[Number, ...]] | None = None
    why: str = ""
    opens: tuple[str, Mapping[str, str]] = field(default=("", {}))
    paper: str = ""

    def bears(self, numbers: tuple[Number, ...]) -> bool:
        """Whether numbers bear the verdict out.

        Reproduced: all agree. Corrected: some differ from the paper's. Sharpened: some are better and none is worse.
        Open: there are some.
        """
        if self.verdict is Verdict.NOT_APPLICABLE:
            return not numbers
        if not numbers or any(math.isnan(one.today) for one in numbers):
            return False
        if self.verdict is Verdict.OPEN:
            return True
        if self.verdict is Verdict.REPRODUCED:
            return all(one.agrees for one in numbers)
        if self.verdict is Verdict.CORRECTED:
            return any(not one.agrees for one in numbers)
        return any(one.is_better for one in numbers) and all(one.is_better or one.agrees for one in numbers)
