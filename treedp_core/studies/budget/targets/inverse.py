"""The smallest budget that meets targets on levels, and how it is split.

Before least squares every target needs a certain amount on its own level, found by bisection from the exact law; the
amounts together are the answer. After least squares all targets share the budget: branch and bound over which levels
are measured and how much they spend (`branch_and_bound`), with errors of single counts taken as normal; then the best
splits are scaled until every target holds under the law that the errors really have (`reliability`). A bound that holds
for that law (`relaxation`) says how much smaller the budget could be at most. Where the nodes of a level are alike,
levels are searched one by one (`level_chain`), and each box of splits has laws of its own (`box_limits`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import level_law
from treedp_core.privacy.rounding import smallest, smallest_root
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.quotient import sweeps
from treedp_core.studies.budget.splits.branch_and_bound import AT_ONCE, EFFORT, GAP, POLISHED, Certified, Search
from treedp_core.studies.budget.splits.level_chain import BOXES, BOXES_AT_ONCE, LevelChain
from treedp_core.studies.budget.splits.optimum import SMALLEST, simple_splits
from treedp_core.studies.budget.targets.box_limits import LawLimits
from treedp_core.studies.budget.targets.finalize_split import MOST, TRUE_ROUNDS, Truth, admitted
from treedp_core.studies.budget.targets.relaxation import Requirements, least_total
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
"""Trees with more nodes are not searched while a hand moves."""
MANY_CLASSES: Final = 200
"""Trees with more variance classes are searched less, under the normal law only, and scaled under the true one."""
MANY_ENDS: Final = 5
"""Local optima that are held against each other under the true law."""
ROUNDS_AT_ONCE: Final = 2
CLOSE: Final = 1e-3
LINEAR_GAP: Final = 1e-5
GUIDED: Final = 60
BOXES_OF_LAWS: Final = 800
"""Boxes looked at where each has laws of errors of its own."""
MEASURED: Final = 0.01
LEAST_SAVED: Final = 1e-3
FAR: Final = 100.0
"""Times the smallest total: a level that nothing but itself determines costs that or more."""
"""Linear programmes where some targets are not convex, so that a search cannot end by itself."""
POLISHED_AT_ONCE: Final = 16
FEWEST_POLISHED: Final = 3


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
    lower_bound : float
        No smaller total meets the targets (proved).
    standard_error : float
        Of a value that was simulated; 0 where none was (see `reliability`).
    otherwise : tuple of float
        For each level the smallest total found of a split that does not measure it, if this one does, or that does, if
        this one does not; inf where none was found. Before least squares every level with a target is measured.
    """

    total: float
    shares: tuple[float, ...]
    amounts: FloatArray
    values: tuple[float, ...]
    binding: tuple[int, ...]
    lower_bound: float
    standard_error: float = 0.0
    otherwise: tuple[float, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.standard_error == 0

    @property
    def gap(self) -> float:
        """How much smaller the total could be at most, as a part of it."""
        return max(0.0, 1.0 - self.lower_bound / self.total) if self.total > 0 else 0.0

    @property
    def saved(self) -> tuple[float, ...]:
        """For each level that is not measured what part of the total that saves beside splits that do; else 0."""
        each = zip(self.amounts.tolist(), self.otherwise, strict=False)
        found = [0.0 if amount else 1.0 - self.total / other for amount, other in each]
        return tuple(part if LEAST_SAVED < part < 1.0 else 0.0 for part in found)

    @property
    def is_proved(self) -> bool:
        """Whether no total smaller by more than 0.1 % meets the targets."""
        return self.total <= self.lower_bound * (1 + 1e-3)


def smallest_budget(
    problem: Problem, targets: Sequence[Target], watch: Watch | None = None, *, quick: bool = False
) -> Inverse:
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
    found = _after_least_squares(problem, bounds, quick=quick) if problem.least_squares else _raw(problem, bounds)
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
        return Inverse(np.inf, (), amounts, (np.inf,) * len(bounds), binding, 0.0)

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


def _after_least_squares(problem: Problem, bounds: list[Bound], *, quick: bool) -> Inverse:
    if not any(problem.paid[b.target.level] for b in bounds):
        nothing = np.zeros(problem.paid.size)
        return Inverse(0.0, tuple(nothing.tolist()), nothing, (0.0,) * len(bounds), (), 0.0)
    truth = Truth(problem, bounds)
    known = _for_nothing(problem, truth)
    if known is not None:
        return known
    alone = _each_alone(problem, bounds, LARGE)[0]  # each level by itself also does, and must not be beaten
    watch = problem.watch
    starts = [alone] if np.isfinite(alone).all() and alone.any() else []
    starts += [split for _, split in simple_splits(problem, 1.0)]
    wanted = Requirements(problem, bounds)
    effort = EFFORT if wanted.homogeneous else GUIDED
    search, before = _search(problem, wanted, effort, quick=quick, steps=40), []
    if search.chain is not None and not quick:  # what a hand was shown is never better than what comes after it
        first = _search(problem, wanted, effort, quick=True).run(starts)
        starts, before = [first.amounts, *starts], _met(problem, bounds, first)[:1]
    seen = search.run(starts)
    lower = seen.lower if wanted.all_proved else 0.0
    ends = _met(problem, bounds, seen)
    few = truth.is_normal or truth.is_simulated or problem.quotient.n_classes > MANY_CLASSES
    if not few:
        ends, before, rounds = ([], ends[:1], 0) if quick else (ends[:MANY_ENDS], before, TRUE_ROUNDS)
        ends = [truth.descend(search, wanted, end, rounds) for end in ends]
        ends += [truth.descend(search, wanted, end, ROUNDS_AT_ONCE) for end in before]
    amounts = truth.legible(_cheapest(truth, ends))
    watch.step(20)
    if not float(problem.charge(amounts)) <= MOST[problem.currency]:
        return Inverse(np.inf, (), amounts, (np.inf,) * len(bounds), truth.binding(amounts), 0.0)
    total, shares, amounts = admitted(problem, amounts, truth.met)
    if not wanted.all_proved or (search.chain is not None and not truth.is_normal):
        lower = max(lower, _proved(problem, bounds, total, [seen.amounts, *starts], quick=quick))
    else:
        watch.step(40)
    lower = max(lower, least_total(problem, bounds))
    found, error = truth.values(amounts)
    beside = _otherwise(search, truth, amounts, seen.ends, all_ends=not (few or quick))
    other = tuple((total * beside).tolist())
    return Inverse(total, shares, amounts, tuple(found), truth.binding(amounts), lower, error, other)


def _for_nothing(problem: Problem, truth: Truth) -> Inverse | None:
    """What next to nothing buys, if that is enough: a public total tells all that is asked for."""
    equal = (problem.paid > 0).astype(float)
    nothing = equal * (NEXT_TO_NOTHING / float(problem.charge(equal)))
    if max(truth.values(nothing, normal=True)[0]) > 1.0 or not truth.met(nothing):
        return None
    problem.watch.step(100)
    total, shares, amounts = admitted(problem, nothing, truth.met)
    found, error = truth.values(amounts)
    return Inverse(total, shares, amounts, tuple(found), truth.binding(amounts), 0.0, error)


def _cheapest(truth: Truth, ends: list[FloatArray]) -> FloatArray:
    """The cheapest of some splits (n_levels,) scaled until every target holds; those that are near it are all tried."""

    def charge(split: FloatArray) -> float:
        return float(truth.problem.charge(split))

    least = min(map(charge, ends))
    near = [end for end in ends if charge(end) <= least * (1.0 + CLOSE)]
    return min((truth.enough(truth.tidied(end)) for end in near), key=charge)


def _met(problem: Problem, bounds: list[Bound], seen: Certified) -> list[FloatArray]:
    """The best split and some local optima, scaled until they meet every bound, the cheapest first."""
    crumbs = problem.paid * SMALLEST
    ends = [just_enough(problem, bounds, end + crumbs * end.sum()) for end in (seen.amounts, *seen.ends[:MANY_ENDS])]
    return sorted(ends, key=lambda end: float(problem.charge(end)))


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


def _otherwise(
    search: Search, truth: Truth, amounts: FloatArray, ends: Sequence[FloatArray], *, all_ends: bool
) -> FloatArray:
    """What other local optima cost beside amounts (n_levels,), that measure a level which these do not, or not one."""
    problem = truth.problem
    measured = amounts > 0
    best = np.full(measured.size, np.inf)
    unit = float(problem.charge(truth.nearly(amounts))) if all_ends else search.value
    for end in ends:
        differs = (end > MEASURED * end.max()) != measured
        cost = float(problem.charge(end))
        if all_ends and differs.any() and (cost < best[differs] * search.value).any():
            cost = float(problem.charge(truth.nearly(end)))
        best = np.where(differs, np.minimum(best, cost / unit), best)
    return np.asarray(np.where((problem.paid > 0) & (best < FAR), np.maximum(best, 1.0), np.inf))


def _search(problem: Problem, wanted: Requirements, effort: int, *, quick: bool, steps: int = 0) -> Search:
    size = max(1.0, problem.quotient.n_classes / MANY_CLASSES)
    most, polished = (AT_ONCE, POLISHED_AT_ONCE) if quick else (effort, POLISHED)
    return Search(
        problem, wanted, wanted.concave, wanted.homogeneous, gap=LINEAR_GAP if problem.noise.normal else GAP,
        effort=max(AT_ONCE, int(most / size)), most_polished=max(FEWEST_POLISHED, int(polished / size)), steps=steps,
        chain=_chain(problem, wanted), at_once=quick,
    )  # fmt: skip


def _proved(problem: Problem, bounds: list[Bound], total: float, starts: list[FloatArray], *, quick: bool) -> float:
    """A total below which no split meets those of the targets of which that can be proved.

    A split of that total is known.
    """
    wanted = Requirements(problem, bounds, only_proved=True, most=total)
    if not wanted.concave.size:
        problem.watch.step(40)
        return 0.0
    chain = _chain(problem, wanted, LawLimits.of(problem, bounds))
    if chain is not None:
        boxes = BOXES_OF_LAWS if chain.narrower else BOXES
        return chain.bound(lambda split: total, GAP, BOXES_AT_ONCE if quick else boxes, steps=40)
    return 0.0 if quick else min(total, _search(problem, wanted, EFFORT, quick=False, steps=40).run(starts).lower)


def _chain(problem: Problem, wanted: Requirements, narrower: LawLimits | None = None) -> LevelChain | None:
    """What bounds the total level by level, where each level has one kind of node."""
    limits = wanted.limits if LevelChain.fits(problem) else None
    return None if limits is None or np.isinf(limits).all() else LevelChain(problem, limits, narrower)
