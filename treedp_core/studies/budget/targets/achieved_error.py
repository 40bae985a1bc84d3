"""What a split reaches of targets: the error of each, and what a split of a given shape would need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy.rounding import crossing
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.targets.finalize_split import MOST, TINY, Truth
from treedp_core.studies.budget.targets.inverse import just_enough, needed, raw_value
from treedp_core.studies.budget.targets.target import Bound, Target
from treedp_core.tree import FloatArray

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
