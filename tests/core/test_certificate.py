"""The certificate of a release: against intervals node by node, and never below what it claims over many releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from oracles_top_down import product_data
from refusals import refuses
from treedp_core.noise import DiscreteGaussian
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.studies.topdown import Plan, Wanted, draw, made_up, plan, product_of_columns
from treedp_core.studies.topdown.certificate import of_survivors, on_tree, reach_of_all
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.studies.topdown.sparse import release
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import count_leaves

RAGGED = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 2, 0, 3, 0, 1])])
TREES = (
    (2,) * 6, (3,) * 4, (8, 8), (5, 2, 4), (30, 3), (2, 25), (4, 4, 4), RAGGED,
)  # fmt: skip
ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
UNITS = (
    ProtectedUnit(NeighbouringRelation.REPLACE_ONE), ADD, ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, 2),
)  # fmt: skip


def laid_out(domain: Tree | tuple[int, ...]) -> Tree:
    return domain if isinstance(domain, Tree) else Tree.from_branching_factors(domain)


def reach_by_sums(sigma: float, n: int, share: float) -> int:
    """The smallest t by which n discrete Gaussian noises stay with this probability, from their listed masses."""
    far = math.ceil(60 * sigma) + 60
    mass = np.exp(-0.5 * (np.arange(-far, far + 1) / sigma) ** 2)
    mass /= mass.sum()
    t = 0
    while n * np.log1p(-2 * mass[far + t + 1 :].sum()) < math.log(share):
        t += 1
    return t


def by_hand(
    tree: Tree, sigmas: np.ndarray, noisy: np.ndarray, released: np.ndarray, looked: np.ndarray, sure: float
) -> tuple[list[float], list[float]]:
    """Ends of every count's interval, node after node."""
    low, high = [0.0] * tree.n_nodes, [math.inf] * tree.n_nodes
    share = sure ** (1 / sum(s > 0 for s in sigmas))
    for level in range(tree.n_levels):
        nodes = [v for v in range(tree.n_nodes) if tree.level_of[v] == level]
        n = sum(looked[v] for v in nodes)
        t = reach_by_sums(sigmas[level], n, share) if sigmas[level] and n else 0
        for v in nodes:
            most = high[tree.parent[v]] if level else math.inf
            if looked[v]:
                low[v] = max(0.0, noisy[v] - t)
                most = max(low[v], min(most, noisy[v] + t))
            high[v] = most
    return low, high


def bounds(ends: tuple[list[float], list[float]], released: np.ndarray) -> np.ndarray:
    return np.array([max(r - a, b - r) for a, b, r in zip(*ends, released.tolist(), strict=True)])


def going_on(tree: Tree, released: np.ndarray) -> np.ndarray:
    """Which nodes are looked at where children of 0 are not drawn."""
    looked = np.ones(tree.n_nodes, dtype=bool)
    for v in range(1, tree.n_nodes):
        looked[v] = looked[tree.parent[v]] and released[tree.parent[v]] > 0
    return looked


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.7, 40.0])
def test_no_smaller_reach_holds_as_surely(sigma: float) -> None:
    for n in (1, 7, 4096, 10**9):
        for share in (0.5, 0.95, 0.999999):
            assert reach_of_all(DiscreteGaussian(sigma), n, share) == reach_by_sums(sigma, n, share)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("domain", TREES)
def test_bounds_are_the_further_ends_of_intervals_node_by_node(domain: Any, rule: str) -> None:
    tree, rng = laid_out(domain), np.random.default_rng(len(rule))
    for unit in UNITS:
        ready = plan(domain, 0.4, unit=unit)
        noise = noise_on_tree(ready, tree)
        counts = tree.counts_of_leaves(rng.integers(0, 30, tree.n_leaves) * (rng.random(tree.n_leaves) < 0.4))
        noisy = noise.draw(rng) + counts
        released = RULES[rule].on(noise)(noisy)
        for descends in (False, True):
            looked = going_on(tree, released) if descends else np.ones(tree.n_nodes, dtype=bool)
            found = on_tree(ready, tree, noisy, released, 0.8, descends=descends)
            assert found.nodes is not None
            expected = bounds(by_hand(tree, ready.sigmas, noisy, released, looked, 0.8), released)
            np.testing.assert_allclose(found.nodes, expected)
            levels = [expected[tree.level(i)].max() for i in range(tree.n_levels)]
            np.testing.assert_allclose(found.by_level, levels)
            assert found.leaves.tolist() == found.nodes[tree.is_leaf & (released > 0)].tolist()


@dataclass(frozen=True)
class Taped(DiscreteGaussian):
    """Noise that remembers what was drawn."""

    drawn: list[np.ndarray] = field(default_factory=list, compare=False)

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        out = super().sample(rng, size)
        self.drawn.append(out.copy().reshape(-1))
        return out


def taped(ready: Plan) -> Plan:
    return replace(ready, laws=tuple(law and Taped(law.sigma) for law in ready.laws))  # type: ignore[attr-defined]


@pytest.mark.parametrize("rule", ["intopt", "water_filling", "pruned"])
@pytest.mark.parametrize("unit", UNITS[:2])
def test_without_zeros_laid_out_the_certificate_is_that_of_the_whole_tree(rule: str, unit: ProtectedUnit) -> None:
    """What was drawn is put on the tree, elsewhere stands what must not matter."""
    sizes = (4, 3, 5)
    tree, ready = laid_out(sizes), plan(sizes, 0.3, unit=unit)
    emptied = 0
    for seed in range(12):
        rng, tape = np.random.default_rng(seed), taped(ready)
        leaves = np.minimum(rng.pareto(0.6, tree.n_leaves).astype(int), 200) * (rng.random(tree.n_leaves) < 0.2)
        codes = np.repeat(np.arange(tree.n_leaves), leaves)
        run = release(count_leaves(np.unravel_index(codes, sizes), sizes), tape, rng, rule)  # type: ignore[arg-type]
        counts = tree.counts_of_leaves(leaves)
        noisy, released, looked = np.full(tree.n_nodes, 1e6), np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, bool)
        looked[0], above = True, []
        for level, (law, here) in enumerate(zip(tape.laws, run.visited, strict=True)):
            if level:
                drawn = [int(tree.first_child[v]) + code for v in above for code in range(sizes[level - 1])]
                looked[drawn] = True
            else:
                drawn = [0]
            noise = np.concatenate(law.drawn) if law and law.drawn else np.zeros(len(drawn))  # type: ignore[attr-defined]
            noisy[drawn] = counts[drawn] + noise
            first = [int(tree.first_child[above[p]]) if level else 0 for p in here.parent.tolist()]
            above = [a + code for a, code in zip(first, here.code.tolist(), strict=True)]
            released[above] = here.count
        found = of_survivors(ready, run.visited, 0.9)
        expected = bounds(by_hand(tree, ready.sigmas, noisy, released, looked, 0.9), released)
        np.testing.assert_allclose(found.by_level, [expected[tree.level(i)].max() for i in range(tree.n_levels)])
        np.testing.assert_allclose(found.leaves, expected[tree.is_leaf & (released > 0)])
        assert found.looked_at == tuple(int(looked[tree.level(i)].sum()) for i in range(tree.n_levels))
        assert found.leaves.size == run.table.n_leaves
        emptied += int((~looked).sum())
        if rule != "pruned":
            whole = on_tree(ready, tree, noisy, released, 0.9, descends=True)
            assert whole.by_level.tolist() == found.by_level.tolist() and whole.reach == found.reach
    assert emptied


@pytest.mark.parametrize("rule", ["intopt", "ls_water_filling", "nnls", "pruned"])
def test_a_release_says_its_certificate_laid_out_or_not(rule: str) -> None:
    dense = product_of_columns(product_data([(0, 0, 1)] * 60 + [(1, 2, 0)] * 5), (0, 1, 2))
    one = draw(dense, Wanted(0.5, 1e-6, ADD, None, Spread.STACKED, rule), 7)
    found = one.certificate(0.9)
    assert found.nodes is not None and found.by_level.shape == (4,) and (found.reach[0] > 0)
    assert all(level.max_error <= most for level, most in zip(one.levels, found.by_level, strict=True))
    if rule in ("intopt", "pruned"):
        sparse = draw(made_up((10,) * 9, 3000, 7), Wanted(0.5, 1e-6, ADD, None, Spread.STACKED, rule), 7)
        other = sparse.certificate(0.9)
        assert other.leaves.size == sparse.levels[-1].n_released
        assert all(level.max_error <= most for level, most in zip(sparse.levels, other.by_level, strict=True))
        assert other.looked_at[-1] < 10**7  # of 10^9 possible ones


def test_more_confidence_is_never_a_smaller_bound_and_certainty_is_refused() -> None:
    one = draw(product_of_columns(product_data(), (0, 1, 2)), Wanted(0.5, 1e-6, ADD, None, Spread.STACKED, "intopt"), 7)
    levels = np.array([one.certificate(sure).by_level for sure in (0.01, 0.5, 0.9, 0.99, 0.999999)])
    assert (np.diff(levels, axis=0) >= 0).all()
    for sure in (0.0, 1.0, math.nan, -1.0):
        with refuses("CONFIDENCE_RANGE"):
            one.certificate(sure)
