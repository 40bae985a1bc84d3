"""A target held against simulated releases: what theory promised, seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.errors import squared_relative
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.reliability import draw_errors, reach_of, reliability
from treedp_core.studies.budget.targets import Ask, Target
from treedp_core.tree import FloatArray
from treedp_core.watch import generator

MOST_TRIALS: Final = 20_000
DRAWS: Final = 20_000_000
BATCH: Final = 2_000_000
SEED: Final = 0x5EED_0F_C0F1


@dataclass(frozen=True)
class Confirmation:
    """What simulated releases reached.

    Parameters
    ----------
    target : Target
    seen : float
        For a target on single counts the part of releases in which the least reliable count, or a count on average, was
        within reach; else the error.
    standard_error : float
    trials : int
    """

    target: Target
    seen: float
    standard_error: float
    trials: int


def confirm(problem: Problem, amounts: FloatArray, target: Target) -> Confirmation:
    """Return what releases that spend `amounts` (n_levels,) reach of a target, on the problem's counts.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> raw = Problem(Tree.from_branching_factors((2,)), np.array([40, 20, 20]), "laplace", unit, least_squares=False)
    >>> found = confirm(raw, np.array([0.0, 1.0]), Target(1, Ask.RMSE, 2.0))
    >>> abs(found.seen - 2**0.5) < 4 * found.standard_error
    True
    """
    tree, level = problem.tree, problem.tree.level(target.level)
    nodes = np.arange(*level.indices(tree.n_nodes))
    on_counts = target.ask in (Ask.EVERY_NODE, Ask.AVERAGE_NODE)
    reach = reach_of(problem, target.value if on_counts else 1.0, target.at_least)[nodes] * (1.0 + 1e-9)
    if target.ask is Ask.EVERY_NODE:
        probability = reliability(problem, amounts, target.value, target.at_least).probability[nodes]
        nodes, reach = nodes[[np.argmin(probability)]], reach[[np.argmin(probability)]]
    weight = np.ones(nodes.size)
    if target.ask is Ask.RMSRE:
        weight = squared_relative(weight, np.asarray(problem.counts)[nodes], problem.tolerance)
    trials = int(min(MOST_TRIALS, max(400, DRAWS // tree.n_nodes)))
    each, batch = np.empty(trials), max(1, BATCH // tree.n_nodes)
    for number, begin in enumerate(range(0, trials, batch)):
        problem.watch.check()
        size = min(batch, trials - begin)
        errors = draw_errors(problem, amounts, generator("confirmation of targets", SEED, number), size)[:, nodes]
        value = np.abs(errors) <= reach if on_counts else np.square(errors) * weight
        each[begin : begin + size] = value.mean(axis=1)
    mean, error = float(each.mean()), float(each.std()) / trials**0.5
    if on_counts:
        return Confirmation(target, mean, max(error, 1.0 / trials), trials)
    return Confirmation(target, mean**0.5, error / (2.0 * mean**0.5) if mean else 0.0, trials)
