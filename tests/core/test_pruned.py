"""Pruned top-down with least squares on visited nodes: against dense algebra, and against noise on every node."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, norm

from oracles_top_down import table_of_array
from refusals import refuses
from treedp_core import checks, postprocess
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.experiment import prepare as prepared
from treedp_core.noise import Laplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.studies.topdown import made_up, plan
from treedp_core.studies.topdown.draw import compare
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.sparse import SparseRun, most_cells, release
from treedp_core.tree import Tree
from treedp_core.watch import Watch, generator

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
RHO = epsilon_to_rho(1.0, 1e-6, False)


Quantile = Callable[[float, float], float]


def normal(p: float, deviation: float) -> float:
    """What a normal error exceeds with probability p, in standard deviations, at least 0."""
    return max(0.0, norm.isf(p))


def double_exponential(p: float, deviation: float) -> float:
    """The same of a Laplace error."""
    return max(0.0, laplace.isf(p) / np.sqrt(2.0))


def whole_normal(p: float, deviation: float) -> float:
    """The same of a discrete Gaussian error: the middle above the smallest whole number that it exceeds so rarely."""
    if deviation == 0 or p >= 0.5:
        return 0.0
    mass = np.exp(-0.5 * (np.arange(0, 60 * deviation + 60) / deviation) ** 2)
    above = np.append(mass[::-1].cumsum()[::-1][1:], 0.0) / (2 * mass.sum() - 1)
    return float((np.flatnonzero(above <= p)[0] + 0.5) / deviation)


def by_hand(
    tree: Tree, noisy: np.ndarray, variance: np.ndarray, far: Quantile = normal
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of one release by dense weighted least squares on the visited nodes, and which were visited."""
    parent, deviation = tree.parent.tolist(), np.sqrt(variance)
    n_siblings = [1 if p < 0 else parent.count(p) for p in parent]
    visited, passed = np.zeros(tree.n_nodes, bool), np.zeros(tree.n_nodes, bool)
    for v, p in enumerate(parent):  # parents come first
        visited[v] = p < 0 or passed[p]
        stands_out = np.isinf(variance[v]) or noisy[v] > far(0.8 / n_siblings[v], deviation[v]) * deviation[v]
        passed[v] = visited[v] and stands_out
    unknown = [v for v in range(tree.n_nodes) if visited[v] and not (passed[v] and v in parent)]
    below = np.zeros((tree.n_nodes, len(unknown)))
    for column, v in enumerate(unknown):
        while v >= 0:
            below[v, column], v = 1.0, parent[v]
    rows = [v for v in range(tree.n_nodes) if visited[v] and np.isfinite(variance[v])]
    weighted = below[rows] / np.sqrt(variance[rows])[:, None]
    covariance = np.linalg.inv(weighted.T @ weighted)
    best = below @ covariance @ weighted.T @ (noisy[rows] / np.sqrt(variance[rows]))
    error = np.sqrt(np.einsum("ij,jk,ik->i", below, covariance, below))
    told = np.zeros(tree.n_nodes, bool)
    for v, p in enumerate(parent):
        stands_out = best[v] > far(0.03 / n_siblings[v], deviation[v]) * error[v]
        told[v] = passed[v] and (p < 0 or told[p]) and stands_out
    return np.where(told, best, 0.0), visited


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("law", ["normal", "double_exponential"])
def test_estimates_equal_dense_weighted_least_squares_on_the_visited_nodes(law: str, seed: int) -> None:
    far, laws = (normal, ()) if law == "normal" else (double_exponential, (Laplace(1.0),) * 4)
    rng = np.random.default_rng(seed)
    ragged = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 2, 0, 3, 0, 1])])
    tree = [Tree.from_branching_factors((2, 3, 2)), Tree.from_branching_factors((1, 4, 1)), ragged][seed % 3]
    variance = rng.uniform(1, 9, tree.n_nodes)
    counts = tree.counts_of_leaves(np.where(rng.random(tree.n_leaves) < 0.6, 0, rng.integers(1, 40, tree.n_leaves)))
    noisy = counts + rng.normal(0, np.sqrt(variance), (4, tree.n_nodes))
    if seed % 5 == 0:  # a level that nobody measured
        variance[tree.level(1)], noisy[:, tree.level(1)] = np.where(tree.is_leaf[tree.level(1)], 4.0, np.inf), np.nan
        noisy[:, tree.is_leaf] = np.nan_to_num(noisy[:, tree.is_leaf], nan=3.0)
    function, after = postprocess.prepare(tree, variance, ["pruned"], laws=laws[: tree.n_levels])
    found = function(noisy.reshape(2, 2, -1)).reshape(4, -1)
    assert after is None
    for row, mine in zip(noisy, found, strict=True):
        expected, visited = by_hand(tree, row, variance, far)
        np.testing.assert_allclose(mine, expected, atol=1e-9)
        elsewhere = np.where(visited, row, 1e6)
        np.testing.assert_array_equal(function(elsewhere), mine)  # what is never visited enters nowhere


def test_a_public_root_stays_exact_and_leaves_must_be_measured() -> None:
    tree = Tree.from_branching_factors((2, 2))
    function, _ = postprocess.prepare(tree, np.array([0.0, *[4.0] * 6]), ["pruned"])
    found = function(np.array([50.0, 40, 2, 45, 3, 1, 1]))
    assert found[0] == 50 and found[1] > 40 and found[3] > 40 and not found[5:].any()
    with refuses("LEAVES_NEEDED"):
        postprocess.prepare(tree, np.array([1.0, 1, 1, np.inf, 1, 1, 1]), ["pruned"])


def flat(run: SparseRun) -> np.ndarray:
    """All nodes of a run in level order."""
    places, out = [np.zeros(1, dtype=np.int64)], []
    for level, size in zip(run.levels, (1, *run.plan.sizes), strict=True):
        here = places[-1][level.parent] * size + level.code if out else np.zeros(level.count.size, dtype=np.int64)
        out.append(np.zeros(run.plan.cells[len(out)]))
        out[-1][here] = level.count
        places.append(here)
    return np.concatenate(out)


class Noted(SimpleNamespace):
    """A law that notes what it draws."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Draw, and keep a copy."""
        self.log.append(self.law.sample(rng, size))
        return np.array(self.log[-1])


@pytest.mark.parametrize("unit", [ProtectedUnit(NeighbouringRelation.REPLACE_ONE), ADD], ids=["public", "protected"])
@pytest.mark.parametrize("seed", range(8))
def test_noise_on_visited_nodes_only_is_noise_on_every_node_of_which_the_rest_is_not_read(
    unit: ProtectedUnit, seed: int
) -> None:
    """The drawn noises, at the nodes in the order in which they are visited; elsewhere there may be any."""
    sizes, rng = (3, 4, 2), np.random.default_rng(seed)
    leaves = np.where(rng.random(sizes) < 0.7, 0, rng.integers(1, 30, sizes))
    tree, ready = Tree.from_branching_factors(sizes), plan(sizes, 0.3, unit=unit)
    logs: list[list[np.ndarray]] = [[] for _ in ready.laws]
    laws: Any = [law and Noted(law=law, log=log, variance=law.variance, reach=law.reach, integer=True)
                 for law, log in zip(ready.laws, logs, strict=True)]  # fmt: skip
    run = release(table_of_array(leaves), replace(ready, laws=tuple(laws)), generator(seed), "pruned")
    noisy = np.full(tree.n_nodes, -1e6)
    counts, variance = tree.counts_of_leaves(leaves.ravel()), noise_on_tree(ready, tree).variance
    noisy[0] = counts[0] + (logs[0][0][0] if logs[0] else 0)
    for level, log in enumerate(logs[1:], 1):
        drawn = np.concatenate([np.zeros((0, sizes[level - 1])), *log])
        n, deviation = sizes[level - 2] if level > 1 else 1, np.sqrt(variance[tree.level(level - 1).start])
        bound = whole_normal(0.8 / n, deviation) * deviation
        above = [v for v in range(tree.level(level - 1).start, tree.level(level - 1).stop) if noisy[v] > bound]
        for v, row in zip(above, drawn, strict=True):
            noisy[tree.children(v)] = counts[tree.children(v)] + row
    all_but_exact = np.maximum(variance, 1e-6)  # dense algebra has no place for a public total
    np.testing.assert_allclose(flat(run), by_hand(tree, noisy, all_but_exact, whole_normal)[0], atol=1e-3)


def zipf(levels: int, records: int, seed: int) -> tuple[Tree, np.ndarray]:
    """A binary tree whose leaves are Zipf (1.2), in any order."""
    rng, tree = np.random.default_rng(seed), Tree.from_branching_factors((2,) * (levels - 1))
    share = np.arange(1, tree.n_leaves + 1) ** -1.2
    return tree, tree.counts_of_leaves(rng.permutation(rng.multinomial(records, share / share.sum())))


@pytest.mark.statistical
@pytest.mark.parametrize(("levels", "trials"), [(13, 20), (17, 1)])
def test_a_hundredth_of_the_false_positives_at_little_more_error(levels: int, trials: int) -> None:
    tree, counts = zipf(levels, 20_000, 0)
    variance = np.full(tree.n_nodes, levels / (2 * RHO))
    noisy = counts + generator(levels).normal(0, np.sqrt(variance), (trials, tree.n_nodes))
    found = {}
    for steps in (("pruned",), ("least_squares", "top_down_water_filling")):
        error = postprocess.prepare(tree, variance, steps)[0](noisy) - counts
        found[steps[0]] = np.sqrt(np.mean(error**2)), np.mean(((counts == 0) & (error > 0)).sum(axis=-1))
    assert found["pruned"][0] <= 1.2 * found["least_squares"][0]
    assert found["pruned"][1] <= found["least_squares"][1] / 100


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["laplace", "discrete_laplace"])
def test_empty_families_tell_what_is_said_under_laplace_noise_too(mechanism: str) -> None:
    """Of 100 empty children of a kept node 0.03 are told in the mean, as under normal noise; 0.4 by normal quantiles.

    Two levels at epsilon = 1: of 4000 releases some 120 nodes are told; more than 175 by chance have probability 1e-6.
    """
    tree = Tree.from_branching_factors((101,))
    counts = tree.counts_of_leaves(np.array([1_000, *[0] * 100]))
    ready = prepared(Experiment(mechanism, ("pruned",), epsilon=1.0, relation=ADD.relation.value), tree)
    raw, told = ready.release(counts, generator(3), 4_000)
    by_normal = postprocess.prepare(tree, ready.noise.variance, ["pruned"])[0](raw.estimate)
    n = int((told.estimate[:, 2:] > 0).sum())
    assert 50 < n < 175
    assert (by_normal[:, 2:] > 0).sum() > 5 * n
    np.testing.assert_array_equal(postprocess.apply(tree, raw, "pruned").estimate, told.estimate)


def test_a_domain_of_two_to_the_64_leaves_takes_what_was_visited() -> None:
    people = made_up((16,) * 16, 20_000, 1)
    ready, told = plan((16,) * 16, RHO), []
    tracemalloc.start()
    run = release(people.table, ready, generator(1), "pruned", Watch(told.append))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    levels = compare(run)
    assert run.plan.cells[-1] == 2**64 and levels[-1].n_cells == 2**64
    assert sum(told) < 200_000 and peak < 40e6
    assert levels[1].lost < levels[1].n_true and sum(level.spurious for level in levels) < 100


def test_a_release_that_would_visit_too_much_is_refused_by_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = np.zeros((50, 50), dtype=int)
    leaves[0, 0] = 1
    table, ready = table_of_array(leaves), plan((50, 50), 0.1)
    monkeypatch.setattr(checks, "MAX_CELL_DRAWS", most_cells(ready.cells, ready.sizes, 1))
    refused = 0
    for seed in range(20):
        try:
            release(table, ready, generator(seed), "pruned")
        except InputError as refusal:
            refused += refusal.code == "TOO_MANY_CELLS"
    assert 0 < refused < 20
