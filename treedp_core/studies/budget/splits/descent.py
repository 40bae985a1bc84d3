"""Local searches over splits of the budget: softmax descent, the multiplicative update, and small transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import AnyArray, FloatArray

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
