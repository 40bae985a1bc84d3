"""A target held against simulated releases: what theory promised, seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.errors import squared_relative
from treedp_core.privacy.rounding import crossing
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.targets.finalize_split import MOST, TINY, Truth
from treedp_core.studies.budget.targets.inverse import just_enough, needed, raw_value
from treedp_core.studies.budget.targets.joint_probability import close_in_one, may_miss, releases
from treedp_core.studies.budget.targets.reliability import within_reach
from treedp_core.studies.budget.targets.target import Ask, Bound, Target, asked_nodes, reach_of_target
from treedp_core.tree import FloatArray
from treedp_core.words import fixed, plus_minus, short

# What a split reaches of targets: the error of each, and what a split of a given shape would need.

CLOSE: Final = 0.005
"""Errors on single counts are found to half a per cent."""
FAR: Final = 1e4
EXACT_NODES: Final = 1000
"""On larger trees errors after least squares are taken as normal here: these numbers are only for comparison."""


def equal_split(problem: Problem, targets: Sequence[Target]) -> FloatArray:
    """Return the least equal split that meets every target, (n_levels,); inf where none does."""
    shares = (problem.paid > 0).astype(np.float64)
    bounds = [Bound(problem, target) for target in targets]
    if not problem.least_squares:
        return shares * max(needed(bound, MOST[problem.currency]) for bound in bounds)
    enough = just_enough(problem, bounds, shares)
    return enough if problem.tree.n_nodes > EXACT_NODES else Truth(problem, bounds).enough(enough)


def equal_needs(problem: Problem, targets: Sequence[Target]) -> float:
    """Return what an equal split needs to meet every target, in the currency; inf where none does.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.studies.budget.targets.target import Ask
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> raw = Problem(Tree.from_branching_factors((2,)), np.zeros(3), "laplace", unit, least_squares=False)
    >>> round(equal_needs(raw, [Target(1, Ask.RMSE, 2.0)]) ** 2, 6)  # twice the square root of 1/2
    2.0
    """
    try:
        equal = equal_split(problem, targets)
    except InputError:  # on counts of 0 nothing is large enough to be asked about, or close enough
        return math.inf
    return float(problem.charge(equal)) if np.isfinite(equal).all() else math.inf


def error_of(problem: Problem, amounts: FloatArray, target: Target) -> float:
    """Return the error that a split (n_levels,) has where the target bounds it, in the target's own unit.

    For a target on single counts the smallest relative error that holds with its confidence.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.studies.budget.targets.target import Ask
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> raw = Problem(Tree.from_branching_factors((2,)), np.array([40, 20, 20]), "laplace", unit, least_squares=False)
    >>> round(error_of(raw, np.array([0.0, 1.0]), Target(1, Ask.RMSE, 5.0)) ** 2, 6)
    2.0
    """

    def value(size: float) -> float:
        bound = Bound(problem, replace(target, value=size))
        if not problem.least_squares:
            return raw_value(bound, float(amounts[target.level]))
        return Truth(problem, [bound]).values(amounts, normal=problem.tree.n_nodes > EXACT_NODES)[0][0]

    if not Bound(problem, target).uses_reach:
        return target.value * float(value(target.value) ** 0.5)

    def room(size: float) -> float:
        return float(np.log(max(value(size), TINY)))

    return crossing(room, target.value, CLOSE, reach=FAR)


MOST_TRIALS: Final = 20_000
DRAWS: Final = 20_000_000
SEED: Final = 0x5EED_0F_C0F1


@dataclass(frozen=True)
class Confirmation:
    """What simulated releases reached.

    Parameters
    ----------
    target : Target
    seen : float
        For a target on single counts the part of releases in which the least reliable count, a count on average, or
        enough of the counts, were within reach; else the error.
    standard_error : float
    trials : int
    """

    target: Target
    seen: float
    standard_error: float
    trials: int

    @property
    def text(self) -> str:
        """The same in a few words.

        >>> Confirmation(Target(1, Ask.EVERY_NODE, 0.1), 0.951, 0.001, 20_000).text
        '0.951 ± 0.002'
        """
        shown = fixed(self.seen, 4).rstrip("0").rstrip(".") if self.target.on_counts else short(self.seen)
        return f"{shown} {plus_minus(self.standard_error).strip()}"


def confirm(problem: Problem, amounts: FloatArray, target: Target, prior: Problem | None = None) -> Confirmation:
    """Return what releases that spend `amounts` (n_levels,) reach of a target, on the problem's counts.

    `prior` is the problem on the counts that say which nodes are asked about, where they are others.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> raw = Problem(Tree.from_branching_factors((2,)), np.array([40, 20, 20]), "laplace", unit, least_squares=False)
    >>> found = confirm(raw, np.array([0.0, 1.0]), Target(1, Ask.RMSE, 2.0))
    >>> abs(found.seen - 2**0.5) < 4 * found.standard_error
    True
    """
    return confirm_all(problem, amounts, [target], prior)[0]


def confirm_all(
    problem: Problem, amounts: FloatArray, targets: Sequence[Target], prior: Problem | None = None
) -> tuple[Confirmation, ...]:
    """Return what the same releases, which spend `amounts` (n_levels,), reach of each target: see `confirm`."""
    judges = [_judge(problem, amounts, target, prior or problem) for target in targets]
    trials = int(min(MOST_TRIALS, max(400, DRAWS // problem.tree.n_nodes)))
    every: list[list[FloatArray]] = [[] for _ in targets]
    for errors in releases(problem, amounts, "confirmation of targets", SEED, trials):
        for found, judge in zip(every, judges, strict=True):
            found.append(judge(errors))
    return tuple(_told(target, np.concatenate(found)) for target, found in zip(targets, every, strict=True))


def _judge(problem: Problem, amounts: FloatArray, target: Target, prior: Problem) -> Callable[[FloatArray], FloatArray]:
    """What of each release of errors (trials, n_nodes) is averaged, (trials,): a part that is close, or a square."""
    nodes, every_reach = asked_nodes(prior, target), reach_of_target(problem, target)
    if not target.on_counts:
        weight = np.ones(nodes.size)
        if target.ask is Ask.RMSRE:
            weight = squared_relative(weight, np.asarray(problem.counts)[nodes], problem.tolerance)
        return lambda errors: np.asarray((np.square(errors[:, nodes]) * weight).mean(axis=1))
    if target.ask is Ask.EVERY_NODE:
        nodes = nodes[[int(np.argmin(within_reach(problem, amounts, every_reach, nodes)))]]
    reach, allowed = every_reach[nodes], may_miss(nodes.size, target.part)
    if target.ask is Ask.SHARE:
        return lambda errors: (nodes.size - close_in_one(errors, nodes, reach) <= allowed).astype(np.float64)
    return lambda errors: close_in_one(errors, nodes, reach) / nodes.size


def _told(target: Target, each: FloatArray) -> Confirmation:
    trials, mean = each.size, float(each.mean())
    error = float(each.std()) / trials**0.5
    if target.on_counts:
        return Confirmation(target, mean, max(error, 1.0 / trials), trials)
    return Confirmation(target, mean**0.5, error / (2.0 * mean**0.5) if mean else 0.0, trials)
