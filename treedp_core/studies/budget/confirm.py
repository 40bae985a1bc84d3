"""A target held against simulated releases: what theory promised, seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.errors import squared_relative
from treedp_core.studies.budget.in_one_release import close_in_one, may_miss, releases
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.reliability import within_reach
from treedp_core.studies.budget.targets import Ask, Target, asked_nodes, reach_of_target
from treedp_core.tree import FloatArray

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
    tree, nodes = problem.tree, asked_nodes(prior or problem, target)
    reach = reach_of_target(problem, target)[nodes]
    if target.ask is Ask.EVERY_NODE:
        worst = [int(np.argmin(within_reach(problem, amounts, reach_of_target(problem, target), nodes)))]
        nodes, reach = nodes[worst], reach[worst]
    weight = np.ones(nodes.size)
    if target.ask is Ask.RMSRE:
        weight = squared_relative(weight, np.asarray(problem.counts)[nodes], problem.tolerance)
    trials = int(min(MOST_TRIALS, max(400, DRAWS // tree.n_nodes)))
    on_counts, allowed = target.on_counts, may_miss(nodes.size, target.part)
    every = []
    for errors in releases(problem, amounts, "confirmation of targets", SEED, trials):
        close = close_in_one(errors, nodes, reach)
        if target.ask is Ask.SHARE:
            every.append((nodes.size - close <= allowed).astype(np.float64))
        else:
            every.append(close / nodes.size if on_counts else (np.square(errors[:, nodes]) * weight).mean(axis=1))
    each = np.concatenate(every)
    mean, error = float(each.mean()), float(each.std()) / trials**0.5
    if on_counts:
        return Confirmation(target, mean, max(error, 1.0 / trials), trials)
    return Confirmation(target, mean**0.5, error / (2.0 * mean**0.5) if mean else 0.0, trials)
