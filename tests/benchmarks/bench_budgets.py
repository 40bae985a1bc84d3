"""Row 5: greedy allocation and the best split against full passes over the tree, one for each candidate."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench_core import irregular
from timing import paired_ratio, seconds
from treedp_core.errors import Tolerance
from treedp_core.postprocess import least_squares
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Problem, Target, greedy, smallest_budget
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.tree import Tree

IDS = ("5",)
UNIT = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)


def rows(quick: bool) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """The rows, as they are measured."""
    tree = irregular((60, 40, 1 if quick else 4.5), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    counts = tree.counts_of_leaves(rng.poisson(rng.lognormal(0, 1.5, tree.n_leaves)))
    n_classes = problem(tree, counts).quotient.n_classes
    note = f"{tree.n_nodes:,} ragged nodes, {n_classes:,} classes"
    for phases, target in ((20, 1 / 8), (100, 1 / 15)):
        ratio = against_full_passes(tree, counts, phases, 1 if quick else 3)
        yield "5", f"greedy, {phases} slices, incl. build / full passes", ratio, target, note
    yield best(tree, counts, "discrete_laplace", note)
    yield best(tree, counts, "gaussian", note)
    for name, branching, asked, law, target in (
        ("RMSE, 6 levels", (2,) * 5, {i: (Ask.RMSE, 10.0) for i in range(6)}, "discrete_laplace", 1e-3),
        ("RMSE, 10 levels", (2,) * 9, {i: (Ask.RMSE, 10.0) for i in range(10)}, "discrete_laplace", 1e-3),
        ("every count, 5 levels", (4, 5, 3, 3), {i: (Ask.EVERY_NODE, 20.0) for i in range(1, 5)}, "laplace", 1e-3),
        ("every count, 3 levels", (4, 5), {i: (Ask.EVERY_NODE, 8.0) for i in (1, 2)}, "discrete_laplace", 0.02),
        ("every count, 3 levels", (4, 5), {i: (Ask.EVERY_NODE, 30.0) for i in (1, 2)}, "discrete_gaussian", 0.05),
    ):
        if quick and len(branching) > 6:
            continue
        yield smallest(name, branching, asked, law, target)


def problem(tree: Tree, counts: np.ndarray, law: str = "discrete_laplace") -> Problem:
    """Nothing is kept between two of them, so that each pays for its own quotient."""
    return Problem(tree, counts, law, UNIT, "rmsre", Tolerance(threshold=10.0))


def full_pass(tree: Tree, counts: np.ndarray) -> float:
    """One tree error by the variances of all nodes, every level spending the same."""
    variance = least_squares.prepare(tree, np.ones(tree.n_nodes))[1]
    relative = variance / np.square(np.maximum(counts, 10.0))
    return float((np.add.reduceat(relative, tree.level_start[:-1]) / tree.level_sizes).mean())


def against_full_passes(tree: Tree, counts: np.ndarray, phases: int, rounds: int) -> float:
    """Greedy with its build against as many of those passes as it has candidates; ten are timed for all of them."""
    passes = phases * tree.n_levels

    def ten() -> None:
        for _ in range(10):
            full_pass(tree, counts)

    return paired_ratio(lambda: greedy(problem(tree, counts), 1.0, phases), ten, rounds) / (passes / 10)


def best(tree: Tree, counts: np.ndarray, law: str, note: str) -> tuple[str, str, float, float, str]:
    """The best split, with its build, against naive greedy allocation with 20 slices; no worse than 1000 slices."""
    passes = 20 * tree.n_levels
    naive = min(seconds(lambda: full_pass(tree, counts)) for _ in range(10)) * passes
    found = optimum(problem(tree, counts, law), 1.0)
    ours = min(seconds(lambda: optimum(problem(tree, counts, law), 1.0)) for _ in range(3))
    fine = problem(tree, counts, law)
    worse = found.error / fine.error(greedy(fine, 1.0, 1000).amounts) - 1
    assert worse <= 1e-4
    name = f"best split, {law.replace('_', ' ')}, incl. build / 20 naive slices"
    return "5", name, ours / naive, 0.8, f"{note}; error {worse:+.1e} against 1000 slices"


def smallest(
    name: str, branching: tuple[int, ...], asked: dict[int, tuple[Ask, float]], law: str, target: float | None
) -> tuple[str, str, float, float | None, str]:
    """How far the smallest budget that is found can be from the least one, as a part of it, and its CPU seconds."""
    tree = Tree.from_branching_factors(branching)
    one = Problem(tree, np.full(tree.n_nodes, 100), law, UNIT)
    targets = [Target(level, ask, size, 0.95, in_records=True) for level, (ask, size) in asked.items()]
    begin = time.process_time()
    found = smallest_budget(one, targets)
    spent = time.process_time() - begin
    return "5", f"smallest budget, {name}, {law.replace('_', ' ')}: gap", found.gap, target, f"{spent:.1f} CPU s"
