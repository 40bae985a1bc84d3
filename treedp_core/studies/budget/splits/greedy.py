"""Greedy allocation of the budget over levels, slice by slice (Dawson et al., Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import FloatArray, IntArray

PHASES: Final = 20
MAX_PHASES: Final = 10_000
START: Final = 1e-5
TIE: Final = 1e-12
"""Losses this close, relative to the smallest, count as equal: the lowest level wins."""


@dataclass(frozen=True, eq=False)
class GreedySplit:
    """Where the slices of the budget went, and why.

    Parameters
    ----------
    start : (n_levels,)
        What each level had before the first slice.
    slice : float
        Size of a slice, in the currency of the law.
    steps : (phases,)
        Which level got each slice.
    losses : (phases, n_levels)
        The tree's expected loss had the slice gone to each level; inf where it was not allowed to.
    amounts : (n_levels,)
        What each level is to spend: what it has in the end, but for levels that got no slice, which are not measured
        where least squares derives them; public levels 0. See `Problem.tidied`.
    """

    start: FloatArray
    slice: float
    steps: IntArray
    losses: FloatArray
    amounts: FloatArray

    @property
    def after_each_step(self) -> FloatArray:
        """What each level had after each slice, (n_phases, n_levels): Algorithm 3, before anything is given back."""
        given = np.cumsum(self.steps[:, None] == np.arange(self.start.size), axis=0)
        return np.asarray(self.start + self.slice * given)

    @property
    def slices_by_level(self) -> list[tuple[int, int]]:
        """How many slices each level got: pairs of level and number, root first."""
        return list(enumerate(np.bincount(self.steps, minlength=self.start.size).tolist()))


def greedy(problem: Problem, total: float, phases: int = PHASES) -> GreedySplit:
    """Return the greedy split of `total` over the levels that cost budget.

    Each level begins with the same small amount, together charged ``START * total`` (the infinitesimal budget of
    Algorithm 3: START * total / n_levels each, when all levels are charged alike). The rest is cut into `phases`
    slices; each goes to the level where it lowers the tree's loss most, ties (within a relative 1e-12) to the lowest
    level. Under REPLACE_UNKNOWN, where unknown levels are charged twice, they get at most half of the slices. In the
    end levels without a slice give that small amount back where least squares derives them.

    Parameters
    ----------
    problem : Problem
    total : float
        Epsilon or rho, > 0.
    phases : int
        1 to 10,000.

    Raises
    ------
    InputError
        ``PHASES_RANGE``, ``EPS_RANGE`` or ``RHO_RANGE``; ``ONE_LEVEL``; ``NO_FORMULA`` when no closed form is known.

    Examples
    --------
    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> tree = Tree.from_branching_factors((2,))
    >>> greedy(Problem(tree, np.array([200, 100, 100]), "laplace", unit), 1.0, phases=4).steps.tolist()
    [1, 1, 1, 1]
    """
    phases = checks.integer("the number of phases", phases, low=1, high=MAX_PHASES, code="PHASES_RANGE")
    total = problem.total_checked(total)
    levels = np.flatnonzero(problem.levels_to_split)
    amounts = problem.scaled(problem.paid, START * total)
    piece = (1.0 - START) * total / phases
    before, losses = amounts.copy(), np.full((phases, amounts.size), np.inf)
    steps = np.empty(phases, dtype=np.int64)
    slices_left_at_double_price = phases // 2
    candidates = piece * np.eye(amounts.size)[levels]
    for phase in range(phases):
        losses[phase, levels] = problem.loss(amounts + candidates)
        if slices_left_at_double_price == 0:
            losses[phase, problem.price == 2] = np.inf
        steps[phase] = np.flatnonzero(losses[phase] <= losses[phase].min() * (1.0 + TIE))[0]
        amounts[steps[phase]] += piece
        slices_left_at_double_price -= int(problem.price[steps[phase]] == 2)
    return GreedySplit(before, piece, steps, losses, problem.tidied(amounts, total, START))
