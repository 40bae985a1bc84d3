"""The best split of the budget over levels: the one that greedy allocation aims at.

Gaussian noise. The precision of a level is linear in its rho, and variances after least squares are convex in the
precisions, so the loss is convex in the split. The multiplicative update ``rho_l <- rho_l sqrt(h_l)``, h = minus the
gradient (Yu, 2010, for A- and L-optimal designs), climbs down to the one best value, and the tangent plane proves how
far it still is: the loss f is homogeneous of order -1, so ``f_best >= 2 f - max over admissible splits r of h . r``.

Laplace noise. The precision grows with the square of epsilon; after least squares the loss is not convex, and often
all budget on one level is best. A local search starts near every level alone, from equal shares, from every simple
split and from the greedy one; the best end point is kept, and never called certified. Without least squares the loss
is convex for all four laws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.descent import SMALLEST, descend, multiply, tangent_bound, transfer
from treedp_core.studies.budget.splits.greedy import greedy
from treedp_core.tree import FloatArray

Named = tuple[str, FloatArray]

COMPARED_PHASES: Final = 1000
SMALL_QUOTIENT: Final = 2000
COMPARED: Final = 20
"""Hundredths of the work that the comparison with greedy and simple splits stands for."""
SHORT: Final = 8
"""Rounds of a short descent."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best split found.

    Parameters
    ----------
    amounts : (n_levels,)
        What each level spends; public levels 0. Their charge is the total.
    error : float
        The metric's value for the tree.
    lower_bound : float or None
        No split with this total has a smaller error (proved by convexity); None where nothing is proved.
    found_from : str
        The start that led to it.
    """

    amounts: FloatArray
    error: float
    lower_bound: float | None
    found_from: str

    @property
    def gap(self) -> float | None:
        """How much smaller the error could be at most, as a part of it; None where nothing is proved."""
        if self.lower_bound is None:
            return None
        return max(0.0, 1.0 - self.lower_bound / self.error) if self.error > 0 else 0.0

    @property
    def certified(self) -> bool:
        """Whether it is proved that no split has an error smaller by more than 0.01 %."""
        return self.gap is not None and self.gap <= 1e-4


def optimum(problem: Problem, total: float) -> Optimum:
    """Return the best split of `total` over the levels.

    Parameters
    ----------
    problem : Problem
        Its watch is told of the progress in hundredths.
    total : float
        Epsilon or rho, > 0.

    Raises
    ------
    Cancelled
        When the problem's watch says so.
    InputError
        ``EPS_RANGE``, ``RHO_RANGE``; ``ONE_LEVEL``; ``NO_FORMULA`` when the metric has no closed form.

    Notes
    -----
    Never worse than any entry of `ALLOCATIONS` or greedy allocation with 20 slices; on trees with at most 2,000
    variance classes greedy with 1,000 slices is compared as well.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> problem = Problem(Tree.from_branching_factors((2,)), np.array([2, 1, 1]), "gaussian", unit, "rmse")
    >>> best = optimum(problem, 1.0)
    >>> best.certified, best.amounts.round(3).tolist()  # by hand: the leaves get sqrt(3) - 1
    (True, [0.268, 0.732])
    """
    total = problem.total_checked(total)
    candidates = simple_splits(problem, total)
    slices = [("greedy", greedy(problem, total))]
    if problem.squares and problem.least_squares and problem.quotient.n_classes <= SMALL_QUOTIENT:
        slices.append(("greedy, 1000 slices", greedy(problem, total, COMPARED_PHASES)))
    # a descent cannot leave 0, so it begins where greedy ended, before anything was given back
    candidates += [(name, found.after_each_step[-1]) for name, found in slices]
    best_so_far = _best(problem, candidates)
    candidates += [(name, found.amounts) for name, found in slices]
    problem.watch.step(COMPARED)
    if problem.squares and not problem.loss(best_so_far[1]).any():  # one leaf below a public total: nothing errs
        return _finish(problem, total, candidates, 0.0)
    if not problem.squares:
        candidates.append((best_so_far[0], transfer(problem, total, best_so_far[1])))
        return _finish(problem, total, candidates, None)
    lower = None
    if not problem.least_squares or problem.noise.convex:
        found, lower = _convex(problem, total, best_so_far[1])
        candidates.append(("convexity", found))
    if problem.least_squares and not problem.noise.normal:
        candidates += _from_everywhere(problem, total, [*_corners(problem, total), *candidates], 100 - COMPARED)
    return _finish(problem, total, candidates, lower)


def simple_splits(problem: Problem, total: float) -> list[Named]:
    """Return every data-free split of `ALLOCATIONS` as amounts whose charge is `total`."""
    named = [(one.name, one.shares) for one in ALLOCATIONS.values() if one.name != "custom"]
    shares = [(name, f(problem.tree, problem.unit, problem.currency, ())) for name, f in named]
    return [(name, problem.scaled(one, total)) for name, one in shares if (one * problem.paid).any()]


def _corners(problem: Problem, total: float) -> list[Named]:
    """Nine tenths on one level, the rest shared."""
    levels = np.flatnonzero(problem.paid)
    spread = problem.paid * 0.1 / levels.size
    return [(f"level {i}", problem.scaled(spread + 0.9 * np.eye(spread.size)[i], total)) for i in levels]


def _from_everywhere(problem: Problem, total: float, starts: list[Named], steps: int) -> list[Named]:
    """Where descents from all starts end; on a large quotient only the two best of short descents go on."""
    watch = problem.watch
    starts = [start for i, start in enumerate(starts) if not any(np.allclose(start[1], s[1]) for s in starts[:i])]
    if problem.quotient.n_classes > SMALL_QUOTIENT:
        steps //= 2
        short = [(name, descend(problem, total, start, SHORT)) for name, start in watch.over(starts, steps)]
        order = np.argsort(problem.loss(np.array([split for _, split in short])), kind="stable")
        starts = [short[i] for i in order[:2]]
    return [(name, descend(problem, total, start)) for name, start in watch.over(starts, steps)]


def _convex(problem: Problem, total: float, start: FloatArray) -> tuple[FloatArray, float]:
    """Best split and a lower bound of the error, where the loss is convex in the split.

    Discrete Gaussian noise has a smaller variance than continuous noise of the same rho, by at most the ratio at the
    whole total; the bound of the continuous problem is lowered by that.
    """
    if not problem.least_squares:
        found = descend(problem, total, start)
        loss, slope = problem.loss_and_gradient(np.maximum(found, SMALLEST * total))
        return found, float(np.sqrt(max(0.0, tangent_bound(problem, total, found, loss, slope))))
    ideal = problem.with_law("gaussian")
    found, lower = multiply(ideal, total, descend(ideal, total, start))
    everything = np.full(problem.paid.size, total)
    paid = problem.paid > 0
    ratio = (problem.precision(everything)[paid] / ideal.precision(everything)[paid]).max()
    return found, float(np.sqrt(max(0.0, lower / ratio)))


def _best(problem: Problem, candidates: list[Named]) -> Named:
    losses = problem.loss(np.array([split for _, split in candidates]))
    return candidates[int(np.argmin(losses))]


def _finish(problem: Problem, total: float, candidates: list[Named], lower: float | None) -> Optimum:
    name, split = _best(problem, [(name, problem.tidied(split, total)) for name, split in candidates])
    return Optimum(split, problem.error(split), lower, name)
