"""Searches over splits: they stop within one evaluation when told to, and count to a hundred."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Problem, Target, smallest_budget
from treedp_core.studies.budget.figure4 import curves
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

TREE = Tree.from_branching_factors((3, 2, 2))
COUNTS = TREE.counts_of_leaves(np.arange(12) ** 2)
UNIT = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)


def problem(law: str = "discrete_laplace", squares: bool = True, metric: str = "rmsre") -> Problem:
    return Problem(TREE, COUNTS, law, UNIT, metric, least_squares=squares)


SEARCHES: dict[str, Callable[[Watch], Any]] = {
    "optimum, Laplace": lambda watch: optimum(problem().watched(watch), 1.0),
    "optimum, Gaussian": lambda watch: optimum(problem("gaussian").watched(watch), 1.0),
    "optimum, raw": lambda watch: optimum(problem(squares=False).watched(watch), 1.0),
    "optimum, no variances": lambda watch: optimum(problem("laplace", False, "alpha_rmse").watched(watch), 1.0),
    "targets": lambda watch: smallest_budget(problem(), [Target(2, Ask.RMSE, 3.0), Target(1, Ask.RMSE, 2.0)], watch),
    "targets, every count": lambda watch: smallest_budget(
        problem(), [Target(2, Ask.EVERY_NODE, 9.0, in_records=True)], watch
    ),
    "targets, raw": lambda watch: smallest_budget(problem(squares=False), [Target(2, Ask.RMSE, 3.0)], watch),
    "curves": lambda watch: curves(problem(), problem(), (1.0, 2.0), 5, watch=watch),
    "curves by subtree": lambda watch: curves(problem(), problem(), (1.0, 2.0), 5, 1, watch),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("after", [0, 1, 25])
def test_a_search_stops_at_the_next_evaluation(name: str, after: int) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > after

    with pytest.raises(Cancelled):
        SEARCHES[name](Watch(cancelled=cancelled))
    assert len(asked) == after + 1


@pytest.mark.parametrize("name", ["optimum, Laplace", "targets", "targets, every count", "curves", "curves by subtree"])
def test_progress_ends_at_a_hundred(name: str) -> None:
    steps: list[int] = []
    SEARCHES[name](Watch(step=steps.append))
    assert sum(steps) == 100
    assert len(steps) > 3


def test_a_watched_problem_keeps_what_was_computed() -> None:
    one = problem()
    kept = one.quotient
    assert one.watched(Watch()).quotient is kept
    assert not one.watch.cancelled()
