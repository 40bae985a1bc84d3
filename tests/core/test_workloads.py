"""Prefixes, ranges and how often a level's noise enters them, against covers formed from sets of leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from oracles_cdf import cover, cover_matrix, plain_means
from refusals import refuses
from treedp_core.tree import Tree
from treedp_core.tree.workloads import (
    Shape,
    Workload,
    digit_sums,
    level_weights,
    n_records_checked,
    prefix_estimates,
    range_count,
    range_cover,
)

SHAPES = [
    Shape(factors, n_bins)
    for factors in [(2, 3), (3, 2, 2), (5,), (2, 2, 2, 2), (4, 3), (3, 5, 2)]
    for n_bins in sorted({2, math.prod(factors) // 2 + 1, math.prod(factors) - 1, math.prod(factors)})
]


def ids(shape: Shape) -> str:
    return f"{'x'.join(map(str, shape.branching_factors))} over {shape.n_bins}"


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_a_prefix_is_the_sum_over_its_cover(shape: Shape) -> None:
    """Lemma IV.1; noisy values that do not add up tell covers apart, whole numbers make the comparison exact."""
    tree = shape.tree()
    values = np.random.default_rng(1).integers(-50, 50, (3, tree.n_nodes))
    got = prefix_estimates(tree, values)
    for n in range(1, shape.n_bins + 1):
        nodes = [(0, 0)] if n == shape.n_bins else cover(shape.branching_factors, n)
        expected = sum(values[:, tree.level_start[level] + position] for level, position in nodes)
        np.testing.assert_array_equal(got[:, n - 1], expected)
        at = tree.prefix_cover(n).tolist()
        assert sorted(at) == sorted(tree.level_start[level] + position for level, position in nodes)


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_the_tree_holds_each_bin_once_and_no_other_leaf(shape: Shape) -> None:
    tree = shape.tree()
    assert tree.n_leaves == shape.n_bins
    assert tree.level_sizes.tolist() == list(shape.level_sizes)
    np.testing.assert_array_equal(tree.leaves, np.arange(tree.n_nodes - shape.n_bins, tree.n_nodes))
    counts = tree.counts_of_leaves(np.arange(shape.n_bins))
    for level, size in enumerate(shape.leaves_below):
        sums = [sum(range(i, min(i + size, shape.n_bins))) for i in range(0, shape.n_bins, size)]
        assert counts[tree.level(level)].tolist() == sums


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_digit_sums_count_how_often_nodes_stand_in_covers(shape: Shape) -> None:
    matrices = cover_matrix(shape.branching_factors, shape.n_bins)
    assert digit_sums(shape) == [int(matrices[level].sum()) for level in range(1, shape.height + 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_level_weights_give_the_mean_variance_of_prefixes_and_ranges(shape: Shape) -> None:
    variance = np.random.default_rng(2).uniform(0.5, 4.0, shape.height + 1)
    prefixes, ranges = plain_means(shape.branching_factors, shape.n_bins, variance.tolist())
    assert level_weights(shape, Workload.CDF) @ variance == pytest.approx(prefixes, rel=1e-12)
    assert level_weights(shape, Workload.RANGES) @ variance == pytest.approx(ranges, rel=1e-12)
    nodes = np.repeat(variance, shape.level_sizes)[1:].mean()
    assert level_weights(shape, Workload.NODES) @ variance == pytest.approx(nodes, rel=1e-12)


def test_a_range_is_a_difference_of_prefixes_and_its_cover_says_of_which_nodes() -> None:
    tree = Shape((3, 4), 11).tree()
    values = np.random.default_rng(3).integers(-9, 9, tree.n_nodes)
    cumulative = prefix_estimates(tree, values)
    for start in range(11):
        for stop in range(start + 1, 12):
            added, taken = range_cover(tree, start, stop)
            assert not set(added.tolist()) & set(taken.tolist())
            assert range_count(cumulative, start, stop) == values[added].sum() - values[taken].sum()


def test_true_counts_give_the_true_cdf_and_huge_k_stays_exact() -> None:
    tree = Shape((10, 10, 10), 997).tree()
    bins = np.random.default_rng(4).integers(0, 9, 997)
    np.testing.assert_array_equal(prefix_estimates(tree, tree.counts_of_leaves(bins)), np.cumsum(bins))
    n_bins = 10**15 - 7
    shape = Shape((18,) * 12, n_bins)
    # the sum over j of sum_i d_i(j) s_i is the sum over j of j, exactly
    assert sum(s * d for s, d in zip(shape.leaves_below[1:], digit_sums(shape), strict=True)) == math.comb(n_bins, 2)


REFUSED: list[tuple[Any, Any, str]] = [
    (Shape, ((2, 3), 7), "TREE_SHAPE"), (Shape, ((2, 3), 1), "TREE_SHAPE"), (Shape, ((2, 3), 0), "TREE_SHAPE"),
    (Shape, ((2, 1, 3), 5), "TREE_SHAPE"), (Shape, ((), 2), "TREE_SHAPE"), (Shape, ((2.5, 4), 5), "TREE_SHAPE"),
    (Shape, ((2,), 1.5), "TREE_SHAPE"), (Shape, ((10**19,), 5), "TREE_SHAPE"), (Shape.full, ((1,),), "TREE_SHAPE"),
    (lambda: Shape((1000,) * 3, 10**9).tree(), (), "TOO_MANY_NODES"),
    (lambda: Shape((10**9,), 10**9).tree(), (), "TOO_MANY_NODES"), (n_records_checked, (0,), "RECORDS_RANGE"),
    (range_count, (np.arange(4.0), 2, 2), "RANGE_BOUNDS"), (range_count, (np.arange(4.0), 0, 5), "RANGE_BOUNDS"),
    (prefix_estimates, (Tree.from_child_counts([np.array([2]), np.array([0, 2])]), np.ones(5)), "TREE_SHAPE"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "arguments", "code"), REFUSED)
def test_refuses_in_one_sentence(call: Any, arguments: Any, code: str) -> None:
    with refuses(code):
        call(*arguments)
