"""The smallest budget that meets targets on levels, and how it is split.

Before least squares every target needs a certain amount on its own level, found by bisection from the exact law; the
amounts together are the answer. After least squares all targets share the budget: sequential quadratic programming on
the logarithms of the amounts, from several starts, with errors taken as normal; then the best splits are scaled until
every target holds under the law that the errors really have (`reliability`). For Gaussian noise the problem is convex
and a bound says how much smaller the budget could be; for other noise nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import level_law
from treedp_core.privacy.rounding import smallest, smallest_root
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.quotient import gradient, sweeps
from treedp_core.studies.budget.splits.optimum import SMALLEST, corners, simple_splits
from treedp_core.studies.budget.targets.finalize_split import MOST, Truth, admitted
from treedp_core.studies.budget.targets.target import Bound, Target
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch
from treedp_core.words import setting_text

LOW: Final = 1e-7
NEXT_TO_NOTHING: Final = 1e-7
"""Of a budget, in either currency: noise for much less is too large to be drawn."""
"""Smallest amount tried on a level."""
TINY: Final = 1e-300
LARGE: Final = 600.0
MANY_NODES: Final = 50_000
"""Trees with more nodes go through the programme from their two best starts only."""
MANY_CLASSES: Final = 200
"""Trees with more variance classes are searched under the normal law only, and scaled under the true one."""


@dataclass(frozen=True, eq=False)
class Inverse:
    """The smallest budget found that meets all targets.

    Parameters
    ----------
    total : float
        Epsilon or rho; the exact charge of `amounts` is no more.
    shares : tuple of float
        Of the levels, summing to 1 as decimals: what "custom" shares of `total` give each level is `amounts`.
    amounts : (n_levels,)
        Its split; public levels 0.
    values : tuple of float
        Of each target: 1 when it holds with nothing to spare, less when it has room.
    binding : tuple of int
        Levels whose targets decide the budget.
    lower_bound : float or None
        No smaller total meets the targets (proved); None where nothing is proved.
    standard_error : float
        Of a value that was simulated; 0 where none was (see `reliability`).
    """

    total: float
    shares: tuple[float, ...]
    amounts: FloatArray
    values: tuple[float, ...]
    binding: tuple[int, ...]
    lower_bound: float | None
    standard_error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.standard_error == 0

    @property
    def is_proved(self) -> bool:
        """Whether no total smaller by more than 0.1 % meets the targets."""
        return self.lower_bound is not None and self.total <= self.lower_bound * (1 + 1e-3)


def smallest_budget(problem: Problem, targets: Sequence[Target], watch: Watch | None = None) -> Inverse:
    """Return the smallest budget whose split meets every target.

    Parameters
    ----------
    problem : Problem
        Its counts are the prior; its metric is not used, its threshold is (for RMSRE).
    targets : sequence of Target
        At least one.
    watch : Watch, optional
        Told of the progress in hundredths.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    InputError
        ``TARGET_RANGE`` for a level the tree does not have or no targets; ``TARGET_INFEASIBLE``, naming the levels
        that bind, when the largest budget of this app is not enough; ``ONE_LEVEL``.

    >>> from treedp_core.studies.budget.targets.target import Ask
    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> raw = Problem(Tree.from_branching_factors((2,)), np.array([20, 10, 10]), "laplace", unit, least_squares=False)
    >>> round(smallest_budget(raw, [Target(1, Ask.RMSE, 2.0)]).total ** 2, 6)  # 2 / epsilon^2 = 4
    0.5
    """
    if not targets:
        raise InputError("TARGET_RANGE", "Expected a target for at least one level, got none.")
    _ = problem.levels_to_split
    problem = problem if watch is None else problem.watched(watch)
    bounds = [Bound(problem, target) for target in targets]
    high = MOST[problem.currency]
    found = _after_least_squares(problem, bounds) if problem.least_squares else _raw(problem, bounds)
    if not found.total <= high:
        names = ", ".join(str(level) for level in found.binding)
        which = "; ".join(b.target.described for b in bounds if b.target.level in found.binding)
        raise InputError(
            "TARGET_INFEASIBLE",
            f"The targets need more than {problem.currency.value} = {setting_text(high)}; binding level: {names} "
            f"({which}).",
        )
    return found


# ---- before least squares


def _raw(problem: Problem, bounds: list[Bound]) -> Inverse:
    amounts, binding = _each_alone(problem, bounds, MOST[problem.currency])
    if not problem.charge(np.where(np.isinf(amounts), 1e9, amounts)) <= MOST[problem.currency]:
        return Inverse(np.inf, (), amounts, (np.inf,) * len(bounds), binding, None)

    def values(found: FloatArray) -> tuple[float, ...]:
        return tuple(raw_value(bound, float(found[bound.target.level])) for bound in bounds)

    least = float(problem.charge(amounts)) * (1.0 - 1e-11)  # each amount was found to a relative 1e-12
    total, shares, amounts = admitted(problem, amounts, lambda found: max(values(found)) <= 1.0)
    return Inverse(total, shares, amounts, values(amounts), binding, least)


def _each_alone(problem: Problem, bounds: list[Bound], high: float) -> tuple[FloatArray, tuple[int, ...]]:
    """What each level needs by itself, inf where `high` is not enough; and the levels that decide."""
    amounts = np.zeros(problem.paid.size)
    needs = [needed(bound, high) for bound in bounds]
    for bound, amount in zip(bounds, needs, strict=True):
        amounts[bound.target.level] = max(amounts[bound.target.level], amount)
    tight = [b.target.level for b, a in zip(bounds, needs, strict=True) if a > 0 and a == amounts[b.target.level]]
    worst = [level for level in tight if np.isinf(amounts[level])]
    return amounts, tuple(sorted(set(worst or tight)))


def needed(bound: Bound, high: float) -> float:
    """Return the smallest amount on the target's own level, before least squares, to a relative 1e-12.

    inf if `high` is not enough.
    """
    if not bound.problem.paid[bound.target.level]:
        return 0.0
    if raw_value(bound, high) > 1.0:
        return np.inf
    return smallest(lambda amount: raw_value(bound, amount) <= 1.0, LOW, high, 1e-12)


def raw_value(bound: Bound, amount: float) -> float:
    """Return the value of a target before least squares, where its own level gets an amount."""
    problem, level = bound.problem, bound.target.level
    problem.watch.check()
    if not problem.paid[level]:
        return 0.0
    if not 0 < amount < np.inf:
        return np.inf
    l1, l2 = (float(one[level]) for one in problem.sensitivities)
    law = level_law(problem.law, amount, l1, l2)
    return np.inf if law is None else bound.of_law(law)


# ---- after least squares


def _after_least_squares(problem: Problem, bounds: list[Bound]) -> Inverse:
    if not any(problem.paid[b.target.level] for b in bounds):
        nothing = np.zeros(problem.paid.size)
        return Inverse(0.0, tuple(nothing.tolist()), nothing, (0.0,) * len(bounds), (), 0.0)
    truth = Truth(problem, bounds)
    equal = (problem.paid > 0).astype(float)
    nothing = equal * (NEXT_TO_NOTHING / float(problem.charge(equal)))
    if max(value for value, _ in _values(problem, bounds, nothing)) <= 1.0 and truth.met(nothing):
        problem.watch.step(100)  # a public total tells all that is asked for
        total, shares, amounts = admitted(problem, nothing, truth.met)
        found, error = truth.values(amounts)
        return Inverse(total, shares, amounts, tuple(found), truth.binding(amounts), 0.0, error)
    crumbs = problem.paid * SMALLEST
    alone = _each_alone(problem, bounds, LARGE)[0]  # each level by itself also does, and must not be beaten
    starts = [alone] if np.isfinite(alone).all() and alone.any() else []
    starts += [split for _, split in simple_splits(problem, 1.0)]
    watch = problem.watch
    enough = [just_enough(problem, bounds, start + crumbs) for start in watch.over(starts, 20)]
    enough.sort(key=lambda end: float(problem.charge(end)))
    tried = enough if problem.tree.n_nodes <= MANY_NODES else enough[:2]
    better = [_programme(problem, bounds, split) + crumbs * split.sum() for split in watch.over(tried, 20)]
    ends = enough + [just_enough(problem, bounds, split) for split in better]
    ends.sort(key=lambda end: float(problem.charge(end)))
    few = truth.is_normal or truth.is_simulated or problem.quotient.n_classes > MANY_CLASSES
    amounts = truth.tidied(ends[0]) if few else truth.best(ends, float(problem.charge(ends[0])))
    watch.step(40)
    amounts = truth.legible(truth.enough(amounts))
    watch.step(20)
    least = float(problem.charge(amounts))
    if not least <= MOST[problem.currency]:
        return Inverse(np.inf, (), amounts, (np.inf,) * len(bounds), truth.binding(amounts), None)
    convex = problem.noise.normal and all(b.convex for b in bounds)
    lower = _proved(problem, bounds, least, np.maximum(amounts, crumbs * least)) if convex else None
    total, shares, amounts = admitted(problem, amounts, truth.met)
    found, error = truth.values(amounts)
    return Inverse(total, shares, amounts, tuple(found), truth.binding(amounts), lower, error)


def _values(
    problem: Problem, bounds: list[Bound], amounts: FloatArray, every_close: bool = False
) -> list[tuple[float, FloatArray]]:
    """Value of each bound and its derivative by each amount; with `every_close` of each class that decides one."""
    problem.watch.check()
    q, slope = problem.precision.with_slope(amounts)
    found = sweeps(problem.quotient, q)
    variance = found.variance
    pairs = [pair for bound in bounds for pair in bound.of_variances(variance, every_close)]
    return [(value, gradient(problem.quotient, found, weights) * slope) for value, weights in pairs]


def just_enough(problem: Problem, bounds: list[Bound], shares: FloatArray) -> FloatArray:
    """Return shares (n_levels,) scaled by the smallest factor that meets every bound, errors taken as normal.

    Errors fall as all amounts grow together.
    """

    def room(factor: float) -> float:
        problem.watch.check()
        variance = sweeps(problem.quotient, problem.precision(factor * shares)).variance
        worst = max(value for bound in bounds for value, _ in bound.of_variances(variance))
        return math.log(max(worst, TINY)) if math.isfinite(worst) else worst

    def met(factor: float) -> bool:
        return room(factor) <= 0.0

    low = high = 1.0
    while not met(high) and high < 1e12:
        low, high = high, 4.0 * high
    while low == high or met(low):
        low, high = low / 4.0, min(high, low) if low != high else high
        if low < 1e-15:
            break
    return np.asarray(smallest_root(room, low, high, 1e-11) * shares)


def _programme(problem: Problem, bounds: list[Bound], start: FloatArray) -> FloatArray:
    """Minimise the total over log amounts and log total, subject to every bound and to the price of the split."""
    from scipy.optimize import minimize  # slow to import, and only searches need it

    levels = np.flatnonzero(problem.paid)
    prices = [problem.paid[levels]]
    if (problem.price == 2).any():
        prices.append(2.0 * (problem.price[levels] == 2))
    size = float(problem.charge(start))

    def amounts(x: FloatArray) -> FloatArray:
        split = np.zeros(start.size)
        split[levels] = size * np.exp(np.clip(x[:-1], -20.0, 20.0))
        return split

    @lru_cache(maxsize=4)
    def values_at(point: bytes) -> list[tuple[float, FloatArray]]:
        return _values(problem, bounds, amounts(np.frombuffer(point)))

    def room(x: FloatArray) -> FloatArray:
        met = [-np.log(max(value, TINY)) for value, _ in values_at(x.tobytes())]
        return np.array(met + [x[-1] - np.log(price @ amounts(x)[levels] / size) for price in prices])

    def slope(x: FloatArray) -> FloatArray:
        split = amounts(x)
        rows = [np.append(-g[levels] * split[levels] / max(v, TINY), 0.0) for v, g in values_at(x.tobytes())]
        return np.array(rows + [np.append(-price * split[levels] / (price @ split[levels]), 1.0) for price in prices])

    begin = np.append(np.log(np.maximum(start[levels], 1e-9 * size) / size), 0.0)
    towards = np.eye(begin.size)[-1]
    found: Any = minimize(
        cast(Any, lambda x: x[-1]),
        begin,
        jac=cast(Any, lambda x: towards),
        method="SLSQP",
        constraints=cast(Any, {"type": "ineq", "fun": room, "jac": slope}),
        options=cast(Any, {"maxiter": 150, "ftol": 1e-6}),
    )
    return amounts(found.x) if np.isfinite(found.x).all() else start


def _proved(problem: Problem, bounds: list[Bound], total: float, amounts: FloatArray) -> float:
    """A total below which no split meets all bounds.

    For multipliers m >= 0 that sum to 1 the combined value is convex and homogeneous of order -1 in the split; where
    all bounds hold it is at most 1, so total times its smallest value over splits of `total` is a lower bound. The
    tangent plane bounds that value, and a linear programme finds the multipliers that make most of it.
    """
    from scipy.optimize import linprog

    rows = _values(problem, bounds, amounts, every_close=True)
    steep = -np.array([slope for _, slope in rows])
    edges = corners(problem, total)
    at = np.array([value for value, _ in rows]) + steep @ amounts
    found = linprog(
        np.append(-at, 1.0),  # variables: the multipliers, and the largest steep . edge
        A_ub=np.column_stack([(steep @ edges.T).T, -np.ones(len(edges))]),
        b_ub=np.zeros(len(edges)),
        A_eq=np.append(np.ones(len(rows)), 0.0)[None],
        b_eq=[1.0],
    )
    return max(0.0, -float(found.fun) * total) if found.fun is not None else 0.0
