"""Lower bounds on trees of any shape, and the factorisation norm from both sides: brute force, linear programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from scipy.sparse import coo_matrix, vstack

from oracles_tree import level_starts, random_parents
from treedp_core.allocation.minimax import certificate, squared_norm
from treedp_core.checks import InputError
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.multiplicative import tree_bounds
from treedp_core.studies.multiplicative.lower_bounds import packing_bound
from treedp_core.studies.multiplicative.tree_bounds import (
    additive_bound,
    bounds_table,
    embedded_levels,
    norm_at_least,
    tree_packing_bound,
)
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

RAGGED = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 2, 0, 3, 0, 1])])


def children_of(parent: list[int]) -> list[list[int]]:
    return [[u for u, p in enumerate(parent) if p == v] for v in range(len(parent))]


def embeds(children: list[list[int]], v: int, levels: int) -> bool:
    """Whether a complete binary tree of so many levels fits below v, by its definition."""
    if levels == 1 or any(embeds(children, u, levels) for u in children[v]):
        return True
    return sum(embeds(children, u, levels - 1) for u in children[v]) >= 2


def choices(children: list[list[int]], v: int) -> set[tuple[int, ...]]:
    """Choices above each leaf, sorted, of every binary tree that embeds below v."""
    found = {(0,)} if not children[v] else set().union(*(choices(children, u) for u in children[v]))
    for i, u in enumerate(children[v]):
        for w in children[v][:i]:
            found |= {tuple(sorted(s + 1 for s in (*one, *two)))
                      for one in choices(children, u) for two in choices(children, w)}  # fmt: skip
    return found


def by_enumeration(children: list[list[int]], epsilon: float) -> float:
    """Largest k sqrt(eta) / 2 over k, eta where the best embedded tree's sum is e^(k epsilon)."""
    every, best = choices(children, 0), 0.0

    def log_sum(eta: float) -> float:
        nats = -eta * math.log(eta) - (1 - eta) * math.log(1 - eta)
        return math.log(max(math.fsum(math.exp(-s * nats) for s in one) for one in every))

    for k in range(1, math.ceil(log_sum(1e-12) / epsilon) + 1):
        if log_sum(1e-9) > k * epsilon:
            over = log_sum(0.5) > k * epsilon
            eta = 0.5 if over else brentq(lambda x: log_sum(x) - k * epsilon, 1e-9, 0.5)  # noqa: B023
            best = max(best, 0.5 * k * math.sqrt(eta))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_any_tree_equal_those_of_all_binary_trees_that_embed(seed: int) -> None:
    parent = random_parents(np.random.default_rng(seed), 8)
    tree, children = Tree(np.array(parent), np.array(level_starts(parent))), children_of(list(parent))
    assert embedded_levels(tree) == max(h for h in range(1, 9) if embeds(children, 0, h))
    ours, listed = tree_packing_bound(tree, 0.25, 0.02) / 0.75, by_enumeration(children, 0.02)
    assert 0.995 * listed <= ours <= listed * (1 + 1e-9)


def test_on_complete_trees_it_is_the_bound_of_the_walk() -> None:
    for h, epsilon in ((4, 0.05), (9, 0.1)):
        ours = tree_packing_bound(Tree.from_branching_factors((2,) * h), 0.5, epsilon)
        walk = float(packing_bound(0.5, epsilon, h + 1))
        assert 0.995 * walk <= ours <= walk * 1.001
        wide = Tree.from_branching_factors((7,) * min(h, 4))
        assert embedded_levels(wide) == min(h, 4) + 1


@pytest.mark.parametrize("tree", [RAGGED, Tree.from_child_counts([np.array([2]), *[np.array([0, 2])] * 6])])
def test_the_norm_is_certified_from_both_sides(tree: Tree) -> None:
    found = certificate(tree)
    matrix = np.array(
        [[float(leaf == v or v in tree.ancestors(leaf)) for leaf in tree.leaves] for v in range(tree.n_nodes)]
    )
    weighted = np.sqrt(found.nodes)[:, None] * matrix * np.sqrt(found.leaves)
    assert found.nodes.sum() == pytest.approx(1) and found.leaves.sum() == pytest.approx(1)
    assert found.lower == pytest.approx(np.linalg.norm(weighted, "nuc"), rel=1e-9) and found.lower <= found.upper
    assert found.upper <= 1.0002 * found.lower
    values, vectors = np.linalg.eigh(weighted.T @ weighted)  # a mechanism that attains the upper bound
    strategy = values[:, None] ** 0.25 * vectors.T / np.sqrt(found.leaves)
    estimate = matrix @ np.linalg.inv(strategy)
    worst = np.sqrt((estimate**2).sum(axis=1).max() * (strategy**2).sum(axis=0).max())
    assert worst <= found.upper * (1 + 1e-6)
    rng = np.random.default_rng(1)
    for _ in range(200):  # and no other one does better than the lower bound
        mine = strategy * rng.uniform(0.8, 1.25, strategy.shape)
        other = np.sqrt(((matrix @ np.linalg.inv(mine)) ** 2).sum(axis=1).max() * (mine**2).sum(axis=0).max())
        assert other >= found.lower


def test_level_uniform_trees_have_their_closed_form_and_large_ones_are_refused() -> None:
    for factors in ((2, 2, 2), (3, 4)):
        found = certificate(Tree.from_branching_factors(factors))
        assert found.lower**2 <= squared_norm(factors) <= found.upper**2 <= 1.001 * found.lower**2
    with pytest.raises(InputError, match="pairs of a node and a leaf"):
        certificate(Tree.from_branching_factors((1500,)))


def least_squares_noise(epsilon: float, delta: float, side: int, workload: np.ndarray) -> float:
    """Least worst RMSE of whole-number noise that ignores the data, |noise| <= side, by a linear program."""
    n = workload.shape[1]
    grid = np.stack(np.meshgrid(*[np.arange(-side, side + 1)] * n, indexing="ij"), -1).reshape(-1, n)
    number = {tuple(z): i for i, z in enumerate(grid.tolist())}
    size, rows, count = len(grid), [], 0
    shifts = [sign * np.eye(n, dtype=int)[j] for j in range(n) for sign in (1, -1)]
    total = size * (1 + len(shifts)) + 1  # masses, what exceeds for every shift, and the worst square
    limit = []
    for i, shift in enumerate(shifts):
        for at, z in enumerate(grid):
            near = number.get(tuple((z + shift).tolist()))
            row = [(at, 1.0), (size * (1 + i) + at, -1.0)] + ([] if near is None else [(near, -math.exp(epsilon))])
            rows += [(count, column, value) for column, value in row]
            limit.append(0.0)
            count += 1
        rows += [(count, size * (1 + i) + at, 1.0) for at in range(size)]
        limit.append(delta)
        count += 1
    for query in workload:
        rows += [(count, at, float(query @ z) ** 2) for at, z in enumerate(grid)] + [(count, total - 1, -1.0)]
        limit.append(0.0)
        count += 1
    at, column, value = zip(*rows, strict=True)
    inside = coo_matrix((value, (at, column)), shape=(count, total))
    cost, one = np.eye(total)[-1], coo_matrix(np.r_[np.ones(size), np.zeros(total - size)][None])
    found = linprog(cost, vstack([inside]), limit, one, [1.0])
    assert found.success
    return math.sqrt(found.fun)


@pytest.mark.parametrize(
    ("epsilon", "delta", "side"), [(1.0, 1e-3, 14), (0.5, 0.01, 20), (3.0, 1e-2, 8), (0.1, 0.01, 60)]
)
def test_no_noise_beats_the_bound_for_any_mechanism(epsilon: float, delta: float, side: int) -> None:
    """One count: the linear program finds the best noise there is, cut off at a side that delta pays for."""
    least, bound = least_squares_noise(epsilon, delta, side, np.ones((1, 1))), additive_bound(1.0, epsilon, delta)
    assert bound <= least < 3.0 * bound


def test_nor_for_a_root_and_two_leaves() -> None:
    workload = np.array([[1, 1], [1, 0], [0, 1]])
    least = least_squares_noise(1.5, 0.01, 6, workload)
    assert additive_bound(math.sqrt(4 / 3), 1.5, 0.01) <= least < 2.5 * additive_bound(math.sqrt(4 / 3), 1.5, 0.01)


@pytest.mark.parametrize(("epsilon", "told", "near"), [(1e-4, 0.009, 0.999), (0.02, 0.009, 0.9), (1.0, 0.01, 0.85)])
def test_the_constant_with_delta_is_all_but_attained_by_two_laws(epsilon: float, told: float, near: float) -> None:
    """Four outcomes, the far ones tell all with probability `told`; delta, means and variance by sums over them."""
    odds, t = math.exp(epsilon) / (1 + math.exp(epsilon)), (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    law = np.array([0.0, (1 - told) * (1 - odds), (1 - told) * odds, told])
    other, at = law[::-1], np.array([-1 / t, -1.0, 1.0, 1 / t])
    delta = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((law, other), (other, law)))
    assert delta == pytest.approx(told)
    means, squares = ((law @ at**k, other @ at**k) for k in (1, 2))
    apart, deviation = means[0] - means[1], math.sqrt(squares[0] - means[0] ** 2)
    bound = additive_bound(1.0, epsilon, told)
    assert near * deviation / apart < bound <= deviation / apart
    assert additive_bound(1.0, math.log(3), 0.01) == pytest.approx(math.sqrt(0.6975) / 1.1), "kappa = 0.55"


def test_gaussian_noise_obeys_the_bound_and_the_bound_grows_as_it_must() -> None:
    for epsilon in (0.01, 0.1, 1.0, 4.0):
        assert additive_bound(1.0, epsilon, 1e-6) <= gaussian_sigma(epsilon, 1e-6)
        assert additive_bound(2.0, epsilon, 1e-6) == pytest.approx(2 * additive_bound(1.0, epsilon, 1e-6))
    assert additive_bound(1.0, 0.01) == pytest.approx(100.0, rel=1e-3)
    assert additive_bound(1.0, 1.0, 0.01) < additive_bound(1.0, 1.0, 0.001) < additive_bound(1.0, 1.0)


def test_what_is_said_of_a_tree_is_below_what_its_best_mechanism_errs_and_norms_of_parts_are_smaller() -> None:
    chain = Tree.from_child_counts([np.array([2]), *[np.array([0, 2])] * 6])
    for tree in (RAGGED, chain, Tree.from_branching_factors((3, 4))):
        pure, slack, strict = bounds_table(tree, 0.25, 0.02, 1e-6)["error at least (records)"]
        assert 0 < slack <= pure and tree_packing_bound(tree, 0.25, 0.02) <= pure
        weaker = bounds_table(tree, 0.25, 0.02, 0.01)["error at least (records)"]
        assert weaker[0] == pure and weaker[1] == packing_bound(0.25, 0.02, embedded_levels(tree), 0.01) < slack
        sigma = gaussian_sigma(0.02, 1e-6)
        assert strict == additive_bound(norm_at_least(tree), 0.02, 1e-6) < certificate(tree).upper * sigma
        assert 0.99 * certificate(tree).upper <= norm_at_least(tree) <= certificate(tree).upper
        assert math.sqrt((embedded_levels(tree) + 2) / 3) <= certificate(tree).upper


def test_the_norm_of_a_tree_too_large_to_seek_it_is_that_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    sought = norm_at_least(RAGGED)
    monkeypatch.setattr(tree_bounds, "_MOST_CELLS", 1)
    part = norm_at_least(RAGGED)
    assert part == pytest.approx(math.sqrt((embedded_levels(RAGGED) + 2) / 3)) and part < sought * 1.01


def test_a_cancelled_bound_stops() -> None:
    with pytest.raises(Cancelled):
        bounds_table(RAGGED, 0.5, 0.1, 1e-6, Watch(cancelled=lambda: True))
