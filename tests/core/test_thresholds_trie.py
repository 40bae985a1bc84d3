"""Sparse deep trees against a dictionary of all prefixes, and against dense trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles_thresholds as oracle
from refusals import refuses
from treedp_core.tree import Tree
from treedp_core.tree.path_tree import PathTree

WIDTHS = st.sampled_from([1, 2, 3, 8, 9, 17])


@st.composite
def leaves(draw) -> tuple[np.ndarray, np.ndarray]:
    n, width, high = draw(st.integers(1, 30)), draw(WIDTHS), draw(st.sampled_from([1, 3, 200, 300, 70_000]))
    g = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = g.integers(0, high + 1, (n, width))
    for i in range(1, n):  # share beginnings, as real paths do
        shared = int(g.integers(0, width + 1))
        codes[i, :shared] = codes[int(g.integers(0, i)), :shared]
    return codes, g.integers(0, 5, n)


def nodes_by_prefix(paths: PathTree, codes: np.ndarray, counts: np.ndarray) -> dict[tuple[int, ...], int]:
    """Every (edge, level) of the compressed tree as a prefix with its count: leaves below an edge share the prefix."""
    kept = sorted({tuple(row) for row, count in zip(codes.tolist(), counts.tolist(), strict=True) if count})
    leaf_edges = [e for e in range(paths.n_edges) if paths.end[e] == e + 1]
    assert len(leaf_edges) == len(kept)
    found = {}
    for edge in range(paths.n_edges):
        first = sum(leaf < edge for leaf in leaf_edges)  # preorder: leaves to the left of the edge
        for level in range(int(paths.top[edge]), int(paths.bottom[edge]) + 1):
            found[kept[first][:level]] = int(paths.weight[edge])
    return found


@given(leaves())
def test_every_prefix_has_its_count(case: tuple[np.ndarray, np.ndarray]) -> None:
    codes, counts = case
    paths, expected = PathTree.from_leaves(codes, counts), oracle.prefixes(codes.tolist(), counts.tolist())
    if not expected:
        assert (paths.n_edges, paths.total) == (1, 0)
        return
    assert nodes_by_prefix(paths, codes, counts) == expected
    assert paths.n_edges <= 2 * paths.n_leaves - 1
    for edge in range(1, paths.n_edges):
        above = int(paths.parent[edge])
        assert above < edge < paths.end[above]
        assert paths.top[edge] == paths.bottom[above] + 1


@st.composite
def counted_trees(draw) -> tuple[Tree, np.ndarray]:
    g = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes, per_level = 1, []
    for _ in range(draw(st.integers(1, 5))):
        children = g.integers(0, 3, sizes)
        children[int(g.integers(0, sizes))] = 1
        per_level.append(children)
        sizes = int(children.sum())
    tree = Tree.from_child_counts(per_level)
    own = g.integers(0, 3, tree.n_nodes) * (g.random(tree.n_nodes) < 0.4)
    return tree, tree.add_up(own)


@given(counted_trees())
def test_a_tree_is_compressed_without_loss(case: tuple[Tree, np.ndarray]) -> None:
    tree, counts = case
    for dense in (False, True):
        paths = PathTree.from_tree(tree, counts, dense=dense)
        edge = paths.node_edge
        assert edge is not None
        assert ((edge >= 0) == ((counts > 0) | dense | (np.arange(tree.n_nodes) == 0))).all()
        stored = edge >= 0
        assert (paths.weight[edge[stored]] == counts[stored]).all()
        for node in np.flatnonzero(stored):
            below = oracle.subtree(tree.parent.tolist(), int(node))
            e = int(edge[node])
            assert paths.top[e] <= tree.level_of[node] <= paths.bottom[e]
            assert paths.reach[e] == max(tree.level_of[v] for v in below)
            inside = {int(edge[v]) for v in below if edge[v] >= 0}
            assert inside == set(range(e, int(paths.end[e])))
            if tree.level_of[node] == paths.top[e] and node:
                assert paths.parent[e] == edge[tree.parent[node]]


def test_chains_of_equal_counts_are_one_edge() -> None:
    tree = Tree.from_branching_factors((2, 1, 1, 1))
    paths = PathTree.from_tree(tree, tree.counts_of_leaves(np.array([3, 0])))
    assert (paths.n_edges, paths.top.tolist(), paths.bottom.tolist()) == (1, [0], [4])


def test_a_million_levels_take_no_memory() -> None:
    codes = np.zeros((2, 999_999), dtype=np.uint8)
    codes[1, -1] = 1
    paths = PathTree.from_leaves(codes, np.array([4, 2]))
    assert (paths.n_levels, paths.weight.tolist(), paths.top.tolist()) == (1_000_000, [6, 4, 2], [0, 999_999, 999_999])


def test_copies_are_trees_of_their_own() -> None:
    tree = Tree.from_branching_factors((2, 2))
    paths = PathTree.from_tree(tree, np.array([6, 3, 3, 1, 2, 3, 0])).copies(3)
    assert np.flatnonzero(paths.parent < 0).tolist() == [0, 5, 10]
    assert paths.end[:5].tolist() == [5, 4, 3, 4, 5]
    assert (paths.end[5:10] - 5).tolist() == paths.end[:5].tolist()
    assert paths.parent[6:10].tolist() == [5, 6, 6, 5]


@pytest.mark.parametrize(
    ("codes", "counts", "code"),
    [
        (np.zeros((2, 0), dtype=int), [1, 1], "LEAF_CODES"), (np.zeros(3, dtype=int), [1, 1, 1], "LEAF_CODES"),
        (np.zeros((2, 3)), [1, 1], "LEAF_CODES"), (-np.ones((2, 3), dtype=int), [1, 1], "LEAF_CODES"),
        (np.zeros((2, 3), dtype=int), [1], "LEAF_CODES"), (np.zeros((2, 3), dtype=int), [1, -1], "COUNT_RANGE"),
        (np.zeros((2, 3), dtype=int), [1, 0.5], "COUNT_RANGE"),
        (np.zeros((2, 3), dtype=int), [1, np.nan], "COUNT_RANGE"),
        (np.zeros((2, 3), dtype=int), [1, 2.0**60], "COUNT_RANGE"),
    ],
)  # fmt: skip
def test_leaves_that_are_refused(codes, counts, code) -> None:
    with refuses(code):
        PathTree.from_leaves(codes, np.array(counts))


@pytest.mark.parametrize("counts", [[1, 1, 1], [3, 1], [-1, 0, 0], [0.5, 0, 0]])
def test_counts_of_no_tree_are_refused(counts) -> None:
    with refuses("COUNT_RANGE" if len(counts) == 3 else "COUNTS_SHAPE"):
        PathTree.from_tree(Tree.from_branching_factors((2,)), np.array(counts))


def test_no_leaves_are_data_without_records_and_no_refusal() -> None:
    """One record more or less must not make the difference between a refusal and a release."""
    none = PathTree.from_leaves(np.zeros((0, 3), dtype=int), np.zeros(0, dtype=int))
    empty = PathTree.from_leaves(np.zeros((1, 3), dtype=int), np.zeros(1, dtype=int))
    for name in ("weight", "top", "bottom", "parent", "end", "reach"):
        assert getattr(none, name).tolist() == getattr(empty, name).tolist()
    assert (none.total, none.n_levels) == (0, 4)
