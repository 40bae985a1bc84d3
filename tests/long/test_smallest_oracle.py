"""The smallest epsilon against a slow oracle, many random cases; `TREEDP_CASES=2000` tries all of them."""

from __future__ import annotations

import os

import numpy as np

from oracles_smallest import smallest_epsilon
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Problem, Target, smallest_budget
from treedp_core.tree import Tree

CASES = int(os.environ.get("TREEDP_CASES", "60"))


def compared(number: int, every: float | None) -> tuple[float, float, float]:
    """Total found and proved bound, each over the oracle's total, and the relative gap."""
    rng = np.random.default_rng((number, 40))
    height = int(rng.integers(2, 5))
    branching = tuple(rng.integers(2, 11, height).tolist())
    relation = list(NeighbouringRelation)[int(rng.integers(len(NeighbouringRelation)))]
    unit = ProtectedUnit(relation, known_levels=int(rng.integers(1, height + 1)))
    sizes = np.exp(rng.uniform(np.log(3), np.log(30), height + 1)).tolist()
    asked = [i for i in range(int(unit.total_is_public), height + 1) if rng.random() < 0.7] or [height]
    tree = Tree.from_branching_factors(branching)
    problem = Problem(tree, np.full(tree.n_nodes, 100), "laplace", unit)
    targets = [
        Target(i, Ask.RMSE, sizes[i]) if every is None else Target(i, Ask.EVERY_NODE, sizes[i], every, in_records=True)
        for i in asked
    ]
    found = smallest_budget(problem, targets)
    slow = smallest_epsilon(
        branching, {i: sizes[i] for i in asked}, rng, every=every, relation=relation.value,
        known_levels=unit.known_levels,
    )  # fmt: skip
    return found.total / slow, found.lower_bound / slow, found.gap


def test_the_total_is_never_above_the_oracle_and_the_bound_never_above_either() -> None:
    found = np.array([compared(i, None) for i in range(CASES)])
    assert found[:, 0].max() <= 1 + 1e-5 and found[:, 1].max() <= 1 + 1e-6
    assert found[:, 2].max() <= 1e-3


def test_every_count_within_records_is_never_dearer_than_the_oracle_says() -> None:
    found = np.array([compared(i, 0.95) for i in range(CASES // 20)])
    assert found[:, 0].max() <= 1 + 1e-3 and found[:, 1].max() <= 1 + 1e-6
    assert found[:, 2].max() <= 0.15
