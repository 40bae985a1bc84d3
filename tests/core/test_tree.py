"""Trees against node-by-node recursion, on random ragged shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_tree import leaf_matrix, level_starts, random_parents
from refusals import refuses
from treedp_core.checks import MAX_NODES
from treedp_core.tree import Tree

SHAPES = st.tuples(st.integers(1, 60), st.integers(0, 10_000))


def build(shape: tuple[int, int]) -> tuple[Tree, list[int]]:
    parent = random_parents(np.random.default_rng(shape[1]), shape[0])
    return Tree(np.array(parent), np.array(level_starts(parent))), parent


def leaves_in_order(parent: list[int], node: int) -> list[int]:
    below = [v for v, p in enumerate(parent) if p == node]
    return [leaf for child in below for leaf in leaves_in_order(parent, child)] if below else [node]


@given(SHAPES)
def test_sums_of_children_and_spreading_to_children(shape: tuple[int, int]) -> None:
    tree, parent = build(shape)
    values = np.random.default_rng(1).integers(-9, 9, (2, tree.n_nodes))
    for level in range(tree.height):
        here, below = tree.level(level), tree.level(level + 1)
        sums = tree.sum_children(level, values[:, below])
        for v in range(here.start, here.stop):
            mine = [u for u, p in enumerate(parent) if p == v]
            assert sums[:, v - here.start].tolist() == values[:, mine].sum(axis=1).tolist()
        given_down = tree.spread(level, values[:, here])
        assert given_down.tolist() == values[:, [parent[u] for u in range(below.start, below.stop)]].tolist()


@given(SHAPES)
def test_counts_of_leaves_are_sums_over_the_leaves_below(shape: tuple[int, int]) -> None:
    tree, parent = build(shape)
    leaf_values = np.random.default_rng(2).integers(0, 100, (3, tree.n_leaves))
    counts = tree.counts_of_leaves(leaf_values)
    own = np.zeros((3, tree.n_nodes), dtype=int)
    own[:, tree.leaves] = leaf_values
    by_number = own[:, [v for v in range(tree.n_nodes) if v not in parent]]
    assert counts.tolist() == (by_number @ leaf_matrix(parent).T.astype(int)).tolist()


@given(SHAPES)
def test_every_node_covers_its_range_of_leaves(shape: tuple[int, int]) -> None:
    tree, parent = build(shape)
    for v in range(tree.n_nodes):
        covered = tree.leaves[tree.leaf_start[v] : tree.leaf_start[v] + tree.leaf_count[v]]
        assert covered.tolist() == leaves_in_order(parent, v)


@given(SHAPES, st.integers(0, 59))
def test_prefix_covers_are_exact_disjoint_and_smallest(shape: tuple[int, int], prefix: int) -> None:
    tree, parent = build(shape)
    prefix = min(prefix, tree.n_leaves)
    cover = tree.prefix_cover(prefix).tolist()
    covered = [leaf for v in cover for leaf in leaves_in_order(parent, v)]
    wanted = tree.leaves[:prefix].tolist()
    assert sorted(covered) == sorted(wanted)
    inside = {v for v in range(tree.n_nodes) if set(leaves_in_order(parent, v)) <= set(wanted)}
    assert set(cover) == {v for v in inside if parent[v] not in inside}


@given(SHAPES, st.integers(0, 59), st.integers(1, 5))
def test_ancestors_children_and_descendants(shape: tuple[int, int], node: int, n_levels: int) -> None:
    tree, parent = build(shape)
    node = node % tree.n_nodes
    path = [node]
    while parent[path[0]] >= 0:
        path.insert(0, parent[path[0]])
    assert tree.ancestors(node) == path
    generation, expected = [node], []
    while generation and len(expected) < n_levels:
        expected.append(generation)
        generation = [u for u, p in enumerate(parent) if p in generation]
    assert [list(range(s.start, s.stop)) for s in tree.descendants(node, n_levels)] == expected


@given(SHAPES)
def test_the_top_of_a_tree_is_a_prefix(shape: tuple[int, int]) -> None:
    tree, parent = build(shape)
    for n_levels in range(1, tree.n_levels + 1):
        top = tree.top(n_levels)
        assert top.parent.tolist() == parent[: top.n_nodes]
        assert top.n_levels == n_levels


@pytest.mark.parametrize("families", [[2, 2, 2], [9, 9], [1, 1], [0, 3, 1], [40, 50], [30, 0, 45], [8, 8]])
def test_every_way_of_summing_agrees(families: list[int]) -> None:
    """Equal, long, short and empty families take different routes through the code."""
    tree = Tree.from_child_counts([np.array([len(families)]), np.array(families)])
    below = np.random.default_rng(3).normal(size=(2, sum(families)))
    ends = np.cumsum(families)
    expected = np.stack([below[:, e - k : e].sum(axis=1) for e, k in zip(ends, families, strict=True)], axis=1)
    np.testing.assert_allclose(tree.sum_children(1, below), expected, atol=1e-12)


def test_constructors_agree() -> None:
    uniform = Tree.from_branching_factors((2, 3))
    counted = Tree.from_child_counts([np.array([2]), np.array([3, 3])])
    assert counted.parent.tolist() == uniform.parent.tolist() == [-1, 0, 0, 1, 1, 1, 2, 2, 2]
    assert uniform.branching_factors == (2, 3)
    assert Tree.from_child_counts([np.array([2]), np.array([0, 2])]).branching_factors is None


def test_a_tree_is_read_only_and_may_be_one_node() -> None:
    tree = Tree.from_branching_factors(())
    assert (tree.n_nodes, tree.n_levels, tree.height, tree.n_leaves, tree.leaves.tolist()) == (1, 1, 0, 1, [0])
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 3


@pytest.mark.parametrize(
    ("parent", "level_start"),
    [
        ([], [0]), ([0], [0, 1]), ([-1, 0, 0], [0, 1, 2]), ([-1, 0, 1], [0, 1, 3]), ([-1, 0, 0, 2, 1], [0, 1, 3, 5]),
        ([-1, 0, 5], [0, 1, 3]), ([-1, 0], [0, 1, 1, 2]),
    ],
)  # fmt: skip
def test_refuses_arrays_that_are_no_tree_in_level_order(parent: list[int], level_start: list[int]) -> None:
    with refuses("TREE_SHAPE"):
        Tree(np.array(parent, dtype=int), np.array(level_start))


class Unread(list[int]):
    """Branching factors, too many to be looked at one by one."""

    def __len__(self) -> int:
        return MAX_NODES

    def __iter__(self) -> Iterator[int]:
        pytest.fail("Looked at.")


@pytest.mark.parametrize(
    ("factors", "code"),
    [
        ([2, 2, "x"], "TREE_SHAPE"), ([0], "TREE_SHAPE"), ([-1], "TREE_SHAPE"), ([1.5], "TREE_SHAPE"),
        ([float("nan")], "TREE_SHAPE"), ([True], "TREE_SHAPE"), ([10] * 13, "TOO_MANY_NODES"),
        ([10**9], "TOO_MANY_NODES"), ([MAX_NODES], "TOO_MANY_NODES"), (Unread([1]), "TREE_SHAPE"),
    ],
)  # fmt: skip
def test_refuses_branching_factors_before_allocating(factors: list[object], code: str) -> None:
    with refuses(code):
        Tree.from_branching_factors(factors)  # type: ignore[arg-type]
