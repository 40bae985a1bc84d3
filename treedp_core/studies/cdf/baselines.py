"""Published mechanisms for bins in a row, by name, so that they stand beside our own: Laplace noise, pure epsilon.

What AHP errs depends on the records, so it is simulated. MWEM is among the ways to marginals, and DAWA is an exhibit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.rounding import quotient_below
from treedp_core.registry import NO_CARD, MethodCard, Table, table
from treedp_core.studies.cdf.error.budgets import optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.workloads import Shape, equal_tree
from treedp_core.words import float_below

# ---- AHP (Zhang, Chen, Xu, Meng and Xie, 2014): bins that look alike in noisy counts, wherever they are, counted
# together.
#
# Half of epsilon counts every bin. Noisy counts below a threshold become 0, all are sorted, and the row is cut into
# groups; the other half counts each group, spread evenly over its bins. One record is in one bin and in one group, so
# both stages together cost epsilon. The groups here are the cheapest ones, where the paper's own search is greedy.


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


MOST_SOUGHT: Final = 1 << 12
"""Bins up to which best budgets of levels are sought for a table: seconds beyond."""


@dataclass(frozen=True)
class Baseline:
    """A table entry.

    `error` gives the mean variance of K cumulative counts at epsilon = 1, in records squared; where no formula does,
    `release` gives estimates of true counts of bins (K,), for up to `most_bins` of them, that spend an epsilon.
    """

    name: str
    label: str
    help: str
    error: Callable[[int, ProtectedUnit], float] | None
    card: MethodCard = NO_CARD
    release: Callable[[IntArray, ProtectedUnit, float, np.random.Generator], FloatArray] | None = None
    most_bins: int = checks.MAX_NODES


def h2_error(n_bins: int, unit: ProtectedUnit) -> float:
    """Return the mean variance of K cumulative counts by a binary tree with equal budgets and least squares.

    >>> round(h2_error(256, ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)), 1)
    173.2
    """
    return _equal(equal_tree(n_bins, 2), unit)


def hb_error(n_bins: int, unit: ProtectedUnit) -> float:
    """Return the mean variance of K cumulative counts by a tree with as many children as `hb_children` says.

    >>> round(hb_error(256, ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)), 1)
    95.8
    """
    return _equal(equal_tree(n_bins, hb_children(n_bins)), unit)


def hb_children(n_bins: int) -> int:
    """Return the number of children b that makes (b - 1) h^3 - 2 (b + 1) h^2 / 3 least, for h levels below the root.

    >>> [hb_children(n) for n in (4, 256, 1024)]
    [4, 16, 32]
    """

    def variance(b: int) -> float:
        h = equal_tree(n_bins, b).height
        return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3

    # of all b with as many levels the least is the best
    roots = [math.exp(math.log(n_bins) / h) for h in range(1, n_bins.bit_length() + 1)]
    return min({max(2, math.ceil(root - 1e-9)) for root in roots}, key=variance)


@lru_cache(maxsize=16)
def greedy_h_error(n_bins: int, unit: ProtectedUnit) -> float:
    """Return the mean variance of K cumulative counts by a binary tree with the best budgets of its levels.

    GreedyH seeks them from the leaves up, so it does no better.
    """
    found = optimal_shares(equal_tree(n_bins, 2), Criterion(least_squares=True, unit=unit))
    return float(found.value)


def privelet_error(n_bins: int, unit: ProtectedUnit) -> float:
    """Return the mean variance of K cumulative counts by Haar wavelets, on 2^h >= K bins.

    Each of h levels asks for left half minus right half of every interval of n bins, and the total is asked for once.
    Records of one unit move that by 1 + h; where one is replaced by 2 h, and a public total is known. The difference
    of an interval is in the error of a cumulative count that ends r bins inside it min(r, n - r) / n times.

    >>> round(privelet_error(256, ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)), 1)
    171.3
    """
    height = (n_bins - 1).bit_length()
    scale = unit.contributions * (2 * height if unit.by_pairs else 1 + height)
    squares = 0.0 if unit.total_is_public else _squares(n_bins) / 4.0**height
    for level in range(1, height + 1):
        n, half = 2**level, 2 ** (level - 1)
        turns, rest = divmod(n_bins, n)
        a_turn = _squares(half) + _squares(half - 1)
        part = _squares(rest) if rest <= half else a_turn - _squares(n - rest - 1)
        squares += (turns * a_turn + part) / n**2
    return 2.0 * scale**2 * squares / n_bins


def _squares(n: int) -> int:
    """1 + 4 + 9 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) // 6


def _equal(shape: Shape, unit: ProtectedUnit) -> float:
    return Criterion(least_squares=True, unit=unit).at_equal_shares(shape)


BASELINES: Final[Table[Baseline]] = table(
    Baseline(
        "h2", "H2", "A binary tree, equal budgets, least squares.", h2_error,
        MethodCard(
            assumptions="Laplace noise; ranges of bins are asked for.",
            formula=r"b=2,\qquad\varepsilon_\ell=\varepsilon/(h+1),\qquad\hat x\ \text{by least squares}",
            source="Hay, Rastogi, Miklau and Suciu (2010).",
            strengths="Showing what least squares is worth: it was the first to use it.",
            limitations="Many levels share the budget: wider trees have smaller errors.",
        ),
    ),
    Baseline(
        "hb", "HB", "A tree whose branching factor fits the number of bins, equal budgets, least squares.", hb_error,
        MethodCard(
            assumptions="Laplace noise; all ranges are asked for equally often.",
            formula=r"b=\arg\min_b\ (b-1)\,h^3-\tfrac23\,(b+1)\,h^2,\qquad h=\lceil\log_bK\rceil",
            source="Qardaji, Yang and Li (2013), Equation 3.",
            strengths="A tree from a rule that needs no search.",
            limitations="One factor for all levels, equal budgets: our best found tree has a smaller error.",
        ),
    ),
    Baseline(
        "greedy_h", "GreedyH at its best", "A binary tree with the best budgets of its levels, least squares.",
        greedy_h_error,
        MethodCard(
            assumptions="Laplace noise; the counts wanted are known beforehand.",
            formula=r"(\varepsilon_0,\dots,\varepsilon_h)=\arg\min_{\sum\varepsilon_\ell=\varepsilon}\ "
            r"\tfrac1K\sum_j\operatorname{Var}\hat F_j",
            source="Li, Hay, Miklau and Wang (2014), with the best budgets of levels.",
            strengths="Binary trees: levels that are of little use get next to nothing.",
            limitations="Trees with other factors and matrices, at the same budget.",
        ),
    ),
    Baseline(
        "privelet", "Privelet", "Haar wavelets: noise on the differences of the halves of dyadic intervals.",
        privelet_error,
        MethodCard(
            assumptions="Laplace noise; the number of bins is padded to a power of two.",
            formula=r"\lambda=\frac{1+\log_2K}{\varepsilon},\qquad\operatorname{Var}\hat F_j=2\lambda^2\Bigl("
            r"\tfrac{j^2}{K^2}+\sum_{n=2,4,\dots,K}\tfrac{\min(r,\,n-r)^2}{n^2}\Bigr),\quad r=j\bmod n",
            source="Xiao, Wang and Gehrke (2010).",
            strengths="No least squares is needed: the transform is square.",
            limitations="As H2: as many levels as a binary tree has share the budget.",
        ),
    ),
    Baseline(
        "ahp", "AHP", "Bins that look alike in noisy counts, wherever they are, are counted together.", None,
        MethodCard(
            assumptions="Single bins are wanted; half of ε finds groups in sorted noisy counts, small ones as 0.",
            formula=r"\min_{\text{groups }G}\ \sum_G\Bigl(\sum_{j\in G}(\tilde x_j-\bar{\tilde x}_G)^2+"
            r"\frac{\operatorname{Var}Z}{|G|}\Bigr),\qquad\hat x_j=\frac{x_G+Z}{|G|}",
            source="Zhang, Chen, Xu, Meng and Xie (2014); the groups are the cheapest, where theirs are greedy.",
            strengths="Spikes: bins that are alike need not be in a row.",
            limitations="Smooth counts and many unlike ones: a private partition, or bins alone, have smaller errors.",
        ),
        release=ahp, most_bins=MOST_SORTED,
    ),
)  # fmt: skip


@lru_cache(maxsize=8)
def errors_over(bins: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the root mean squared error of cumulative counts of each at epsilon = 1, one record replaced.

    In records, over numbers of bins; beside them that of a 16-ary tree with the best budgets, which is no baseline.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    ours = [optimal_shares(equal_tree(n, 16), Criterion(least_squares=True, unit=unit)).value for n in bins]
    found = {one.label: [math.sqrt(one.error(n, unit)) for n in bins] for one in BASELINES.values() if one.error}
    return found | {"16-ary tree, optimal budgets": [math.sqrt(value) for value in ours]}


def baseline_table(n_bins: int, epsilon: float, contributions: int, best: Shape) -> dict[str, list[Any]]:
    """Return the errors of named mechanisms at one epsilon, one record replaced, the least first, and of our tree.

    Parameters
    ----------
    best : Shape
        Our tree, with equal budgets and least squares.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions)
    ours = _equal(best, unit)
    rows = [("Best found tree", "This library.", ours)]
    rows += [
        (one.label, one.card.source, one.error(n_bins, unit))
        for one in BASELINES.values()
        if one.error and (one is not BASELINES["greedy_h"] or n_bins <= MOST_SOUGHT)
    ]
    rows.sort(key=lambda row: row[2])
    return {
        "mechanism": [label for label, _, _ in rows],
        "RMSE of a cumulative count": [math.sqrt(value) / epsilon for _, _, value in rows],
        "÷ best found tree": [math.sqrt(value / ours) for _, _, value in rows],
        "source": [source for _, source, _ in rows],
    }
