"""How likely each released count is within x % of the truth, and the nodes for which that is likely enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from treedp_core import checks
from treedp_core.budgets.problem import Problem
from treedp_core.errors import level_mean
from treedp_core.tree import AnyArray, FloatArray, Tree


@dataclass(frozen=True, eq=False)
class Reliability:
    """The probability of each node's released count to be close to its true count.

    Parameters
    ----------
    tree : Tree
    probability : (n_nodes,)
    exact : bool
        Exact for every law before least squares and for continuous Gaussian noise after it; otherwise the normal law
        with the exact variance.
    """

    tree: Tree
    probability: FloatArray
    exact: bool

    @property
    def method(self) -> str:
        """How the probabilities were found, as a phrase."""
        return "exact" if self.exact else "normal approximation with the exact variance"

    @property
    def level_mean(self) -> FloatArray:
        """Mean probability of each level's nodes, (n_levels,)."""
        return level_mean(self.tree, self.probability)

    def useful(self, confidence: float) -> AnyArray:
        """Return which nodes meet the target with that probability, (n_nodes,) bool: the useful tree.

        Raises
        ------
        InputError
            ``TARGET_RANGE``.
        """
        return self.probability >= checked_confidence(confidence)


def reliability(problem: Problem, amounts: FloatArray, within: float, at_least: float = 0.0) -> Reliability:
    """Return the probability that each released count is within a part `within` of the problem's count.

    Parameters
    ----------
    problem : Problem
        Its counts are taken as the truth.
    amounts : (n_levels,)
        What each level spends.
    within : float
        For example 0.1 for 10 %, > 0.
    at_least : float
        Counts below it are judged as if they were it (records); with 0 an empty node is right only if exactly 0.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> problem = Problem(Tree.from_branching_factors((1,)), np.array([20, 20]), "laplace", unit, least_squares=False)
    >>> reliability(problem, np.array([0.0, 1.0]), 0.1).probability.round(6).tolist()  # 1 - e^-2 for the leaf
    [0.0, 0.864665]
    """
    reach = reach_of(problem, within, at_least)
    spent = np.where(problem.paid > 0, amounts, 0.0)
    variance = problem.node_variance(spent)
    exact = not problem.least_squares or problem.law == "gaussian"
    if problem.least_squares:
        return Reliability(problem.tree, normal_within(reach, variance), exact)
    probability = np.where(variance == 0, 1.0, 0.0)
    for level, law in enumerate(problem.laws(spent)):
        if law is not None:
            nodes = problem.tree.level(level)
            probability[nodes] = 1.0 - law.tail(reach[nodes])
    return Reliability(problem.tree, probability, exact)


def reach_of(problem: Problem, within: float, at_least: float = 0.0) -> FloatArray:
    """Return how many records each node may be off, (n_nodes,)."""
    part = checks.number("the relative error", within, low=0, open_low=True, code="TARGET_RANGE")
    floor = checks.number("the smallest count", at_least, low=0, code="TARGET_RANGE")
    return np.asarray(part * np.maximum(np.asarray(problem.counts, dtype=np.float64), floor))


def normal_within(reach: FloatArray, variance: FloatArray) -> FloatArray:
    """Return P(|Z| <= reach) for normal errors of those variances, shape of both: 1 for variance 0, 0 for inf.

    >>> normal_within(np.array([1.959964]), np.array([1.0])).round(6).tolist()
    [0.95]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = special.erf(reach / np.sqrt(2.0 * variance))
    return np.asarray(np.where(variance == 0, 1.0, np.where(np.isinf(variance), 0.0, inside)))


def checked_confidence(confidence: float) -> float:
    """Return a probability strictly between 0 and 1, or refuse it."""
    return checks.number("confidence", confidence, low=0, high=1, open_low=True, open_high=True, code="TARGET_RANGE")
