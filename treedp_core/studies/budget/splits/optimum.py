"""The best split of the budget over levels: the one that greedy allocation aims at.

Gaussian noise. The precision of a level is linear in its rho, and variances after least squares are convex in the
precisions, so the loss is convex in the split. The multiplicative update ``rho_l <- rho_l sqrt(h_l)``, h = minus the
gradient (Yu, 2010, for A- and L-optimal designs), climbs down to the one best value, and the tangent plane proves how
far it still is: the loss f is homogeneous of order -1, so ``f_best >= 2 f - max over admissible splits r of h . r``.

Laplace noise. The precision grows with the square of epsilon; after least squares the loss is not convex, and often
all budget on one level is best. Branch and bound (`branch_and_bound`) starts near every level alone, from equal shares,
from every simple split and from the greedy one, and says how much smaller the loss of any split could be. Without least
squares the loss is convex for all four laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.quotient import gradient, sweeps
from treedp_core.studies.budget.splits.branch_and_bound import POLISHED, Certified, Search
from treedp_core.studies.budget.splits.greedy import greedy
from treedp_core.tree import AnyArray, FloatArray

# ---- local searches over splits of the budget: softmax descent, the multiplicative update, and small transfers


Blocks = Sequence[tuple[AnyArray, float]]
"""Groups of levels and what each group spends together."""

SMALLEST: Final = 1e-9
"""Share of the total that a search leaves on every level, so that errors stay finite."""
GAP: Final = 1e-8
ROUNDS: Final = 500


def blocks_of(problem: Problem, total: float) -> list[Blocks]:
    """Return the faces of the admissible splits that can hold a best one.

    All levels share the total; or, where unknown levels cost double and would take more than half of it, they share
    one half and the known levels the other.
    """
    paid, double = problem.paid > 0, problem.price == 2
    faces: list[Blocks] = [[(paid, total)]]
    if double.any():
        faces.append([(paid & ~double, total / 2), (double, total / 2)])
    return faces


def admissible(problem: Problem, amounts: FloatArray, total: float) -> bool:
    """Whether amounts (n_levels,) are charged no more than the total, up to rounding."""
    return float(problem.charge(amounts)) <= total * (1.0 + 1e-9)


def descend(problem: Problem, total: float, start: FloatArray, rounds: int = 200) -> FloatArray:
    """Return the end point of a gradient descent on the logarithm of the loss from a split (n_levels,)."""
    for blocks in blocks_of(problem, total):
        found = _softmax_descent(problem, blocks, np.maximum(start, SMALLEST * total), rounds)
        if admissible(problem, found, total):
            return found
    return problem.scaled(found, total)


def _softmax_descent(problem: Problem, blocks: Blocks, start: FloatArray, rounds: int) -> FloatArray:
    from scipy.optimize import minimize  # slow to import, and only searches need it

    def amounts(z: FloatArray) -> FloatArray:
        split = np.zeros(start.size)
        for levels, total in blocks:
            weight = np.exp(z[levels] - z[levels].max())
            split[levels] = total * np.maximum(weight / weight.sum(), SMALLEST)
        return split

    def value(z: FloatArray) -> tuple[float, FloatArray]:
        split = amounts(z)
        loss, slope = problem.loss_and_gradient(split)
        slope = slope / loss
        by_z = np.zeros(start.size)
        for levels, total in blocks:
            by_z[levels] = split[levels] * (slope[levels] - slope[levels] @ split[levels] / total)
        return float(np.log(loss)), by_z

    begin = np.where(problem.paid > 0, np.log(np.maximum(start, np.finfo(float).tiny)), 0.0)
    options: dict[str, Any] = {"maxiter": rounds, "ftol": 1e-12, "gtol": 1e-9}
    found: Any = minimize(cast(Any, value), begin, jac=True, method="L-BFGS-B", options=cast(Any, options))
    return amounts(found.x)


def multiply(problem: Problem, total: float, start: FloatArray) -> tuple[FloatArray, float]:
    """Return the best split (n_levels,) of a convex loss and a lower bound of the loss of every split.

    The update a <- a h^power, h = minus the gradient, scaled to the total, until the bound is within a relative 1e-8
    (at most 500 rounds). Power 1/2 never climbs; larger powers are tried as long as they do not climb either. The
    bound holds whatever the rounds reached.
    """
    best, lowest, bound = start, np.inf, 0.0
    for blocks in blocks_of(problem, total):
        split, loss, lower = _multiplied(problem, total, blocks, start)
        bound = max(bound, lower)
        if admissible(problem, split, total) and loss < lowest:
            best, lowest = split, loss
        if bound >= lowest * (1.0 - GAP):
            break
    return best, bound


def _multiplied(problem: Problem, total: float, blocks: Blocks, start: FloatArray) -> tuple[FloatArray, float, float]:
    split = _on(blocks, np.maximum(start, SMALLEST * total))
    loss, slope = problem.loss_and_gradient(split)
    bound, power = tangent_bound(problem, total, split, loss, slope), 0.5
    for _ in range(ROUNDS):
        if bound >= loss * (1.0 - GAP):
            break
        grown = split * np.power(np.maximum(-slope * total / loss, 1e-9), power)
        tried = _on(blocks, np.maximum(grown, 1e-12 * total))
        tried_loss, tried_slope = problem.loss_and_gradient(tried)
        if tried_loss > loss and power > 0.5:
            power = 0.5
            continue
        if np.abs(tried - split).max() <= 1e-15 * total:
            break
        split, loss, slope, power = tried, tried_loss, tried_slope, min(1.5 * power, 64.0)
        bound = max(bound, tangent_bound(problem, total, split, loss, slope))
    return split, loss, bound


def _on(blocks: Blocks, amounts: FloatArray) -> FloatArray:
    split = np.zeros(amounts.size)
    for levels, total in blocks:
        split[levels] = total * amounts[levels] / amounts[levels].sum()
    return split


def tangent_bound(problem: Problem, total: float, amounts: FloatArray, loss: float, slope: FloatArray) -> float:
    """Return the smallest value over all admissible splits of a convex loss's tangent plane at `amounts` (n_levels,).

    It is loss + h . amounts - max of h . split, h = minus the slope; a corner of the admissible splits is best.
    """
    paid = problem.paid > 0
    return float(loss - slope[paid] @ amounts[paid] + (corners(problem, total)[:, paid] @ slope[paid]).min())


def corners(problem: Problem, total: float) -> FloatArray:
    """Return the corners (n, n_levels) of admissible splits: all on a single-priced level, or half of it there.

    The other half is then on a double-priced one.
    """
    single, double = np.flatnonzero(problem.price == 1), np.flatnonzero(problem.price == 2)
    unit = np.eye(problem.price.size)
    halves = [total / 2.0 * (unit[i] + unit[j]) for i in single for j in double]
    return np.array([*(total * unit[i] for i in single), *halves])


def transfer(problem: Problem, total: float, start: FloatArray) -> FloatArray:
    """Return a split (n_levels,) that no transfer of 0.1 % of the total between two levels improves; for any metric."""
    split, loss = problem.scaled(start, total), np.inf
    levels = np.flatnonzero(problem.paid)
    step = total / 10.0
    while step > total / 1000.0:
        moves = step * np.array([np.eye(split.size)[i] - np.eye(split.size)[j] for i in levels for j in levels])
        tried = [split, *(split + move for move in moves if (split + move)[problem.paid > 0].min() >= 0)]
        tried = [tried[0], *(one for one in tried[1:] if admissible(problem, one, total))]
        losses = problem.loss(np.array(tried))
        best = int(np.argmin(losses))
        if losses[best] < loss * (1.0 - 1e-9):
            split, loss = tried[best], float(losses[best])
        else:
            step /= 2.0
    return split


Named = tuple[str, FloatArray]

COMPARED_PHASES: Final = 1000
SMALL_QUOTIENT: Final = 2000
COMPARED: Final = 20
"""Hundredths of the work that the comparison with greedy and simple splits stands for."""
MANY_CLASSES: Final = 200
"""Trees with more variance classes are searched less."""
PROGRAMMES: Final = 600
FEWEST: Final = 12


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
        No split with this total has a smaller error (proved, by convexity or by branch and bound); None where nothing
        is.
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
    if problem.least_squares and not problem.noise.convex:
        sought = _bounded(problem, total, [*_corners(problem, total), *candidates], best_so_far)
        candidates += [("branch and bound", split) for split in (sought.amounts, *sought.ends)]
        lower = float(np.sqrt(sought.lower))
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


def _bounded(problem: Problem, total: float, starts: list[Named], best: Named) -> Certified:
    """Best split and a lower bound of the loss by branch and bound; from the best starts on a large quotient."""
    size = max(1.0, problem.quotient.n_classes / MANY_CLASSES)
    if size > 1.0:
        order = np.argsort(problem.loss(np.array([split for _, split in starts])), kind="stable")
        starts = [starts[i] for i in order[: max(2, int(len(starts) / size))]]
    unit = float(problem.loss(best[1]))  # in which losses are measured, so that none is out of scale

    def wanted(q: FloatArray) -> tuple[FloatArray, Callable[[int], FloatArray]]:
        found = sweeps(problem.quotient, q)
        value = unit / float(found.variance @ problem.class_weight)
        return np.array([value]), lambda i: -gradient(problem.quotient, found, problem.class_weight) * value**2 / unit

    search = Search(
        problem, wanted, np.array([True]), total=total, effort=max(FEWEST, int(PROGRAMMES / size)),
        most_polished=max(FEWEST, int(POLISHED / size)), steps=100 - COMPARED,
    )  # fmt: skip
    found = search.run([split for _, split in [best, *starts]])
    return replace(found, value=found.value * unit, lower=found.lower * unit)


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
