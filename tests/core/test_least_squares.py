"""Tree least squares against dense algebra, on random ragged trees and any variances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from oracles_tree import exact_least_squares_variances, generalised_least_squares, level_starts, random_parents
from refusals import refuses
from treedp_core.postprocess import least_squares
from treedp_core.studies.budget.quotient import quotient, sweeps
from treedp_core.tree import Tree


def tree_of(parent: list[int]) -> Tree:
    return Tree(np.array(parent), np.array(level_starts(parent)))


def agree(parent: list[int], noisy: np.ndarray, variance: np.ndarray) -> None:
    estimator, got_variance = least_squares.prepare(tree_of(parent), variance)
    estimate, expected_variance = generalised_least_squares(parent, noisy, variance)
    got = estimator(np.where(np.isinf(variance), np.nan, noisy))
    determined = np.isfinite(expected_variance)
    np.testing.assert_array_equal(np.isfinite(got_variance), determined)
    np.testing.assert_allclose(got[determined], estimate[determined], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got_variance[determined], expected_variance[determined], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(150))
def test_equals_dense_generalised_least_squares_on_ragged_trees(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    parent = random_parents(rng, int(rng.integers(1, 40)))
    variance = np.exp(rng.normal(scale=2, size=len(parent)))
    agree(parent, 5 * rng.normal(size=len(parent)), variance)


@pytest.mark.parametrize("seed", range(150))
def test_nodes_not_measured_and_a_root_known_exactly(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    parent = random_parents(rng, int(rng.integers(2, 25)))
    variance = np.exp(rng.normal(scale=1, size=len(parent)))
    variance[rng.random(len(parent)) < 0.4] = np.inf
    if seed % 2:
        variance[0] = 0.0
    agree(parent, 5 * rng.normal(size=len(parent)), variance)


@pytest.mark.parametrize("seed", range(80))
def test_inner_nodes_known_exactly(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    parent = random_parents(rng, int(rng.integers(2, 20)))
    truth = tree_of(parent).add_up(np.where(tree_of(parent).is_leaf, rng.integers(0, 9, len(parent)), 0)).astype(float)
    variance = np.exp(rng.normal(size=len(parent)))
    variance[rng.random(len(parent)) < 0.3] = 0.0
    agree(parent, truth + np.sqrt(variance) * rng.normal(size=len(parent)), variance)


def test_a_chain_by_hand() -> None:
    """Four readings of one number: (10 + 6/2 + 8/3 + 5/4) / (1 + 1/2 + 1/3 + 1/4) = 203/25."""
    estimator, variance = least_squares.prepare(Tree.from_branching_factors((1, 1, 1)), np.array([1.0, 2, 3, 4]))
    np.testing.assert_allclose(estimator(np.array([10.0, 6, 8, 5])), np.full(4, 203 / 25), rtol=1e-14)
    np.testing.assert_allclose(variance, np.full(4, 12 / 25), rtol=1e-14)


def test_a_root_with_two_leaves_by_hand() -> None:
    """Minimise (x+y-8)^2 + (x-3)^2 + (y-4)^2: the gap of 1 is shared, so x = 10/3, y = 13/3, root 23/3."""
    estimator, variance = least_squares.prepare(Tree.from_branching_factors((2,)), np.ones(3))
    expected = [Fraction(23, 3), Fraction(10, 3), Fraction(13, 3)]
    np.testing.assert_allclose(estimator(np.array([8.0, 3, 4])), [float(f) for f in expected], rtol=1e-14)
    np.testing.assert_allclose(variance, np.full(3, 2 / 3), rtol=1e-14)


def test_trials_in_front_give_the_same_as_one_by_one_and_the_input_is_kept() -> None:
    rng = np.random.default_rng(4)
    tree = tree_of(random_parents(rng, 60))
    estimator, _ = least_squares.prepare(tree, np.exp(rng.normal(size=60)))
    noisy = rng.normal(size=(3, 2, 60))
    before = noisy.copy()
    together = estimator(noisy)
    np.testing.assert_array_equal(noisy, before)
    np.testing.assert_allclose(together[2, 1], estimator(noisy[2, 1]), rtol=1e-13, atol=1e-13)


def test_extreme_variances_lose_no_digits() -> None:
    """A near-zero budget on one level (variance 1e11) must not spoil the other level's estimate."""
    estimator, variance = least_squares.prepare(
        Tree.from_branching_factors((2, 2)), np.repeat([1e11, 1e11, 2.0], [1, 2, 4])
    )
    leaves = np.array([3.0, 1.0, 4.0, 1.0])
    estimate = estimator(np.concatenate([[9.0, 9.0, 9.0], leaves]))
    np.testing.assert_allclose(estimate[3:], leaves, atol=1e-9)
    np.testing.assert_allclose(variance, np.repeat([8.0, 4.0, 2.0], [1, 2, 4]), rtol=1e-9)


def test_a_child_with_nearly_all_its_familys_variance_keeps_the_rest() -> None:
    """The root and node 2 say what node 1 is: its variances 1e17 tell nothing; 1 + 2/3 = 5/3, and no 1."""
    tree = Tree.from_branching_factors((2, 2))
    _, variance = least_squares.prepare(tree, np.array([1, 1e17, 1, 1e17, 1e17, 1, 1]))
    np.testing.assert_allclose(variance[1], 5 / 3, rtol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_variances_keep_their_digits_up_to_ratios_of_1e25(seed: int) -> None:
    """Against exact fractions, nodes of any variance; half of the seeds leave some inner nodes unmeasured."""
    rng = np.random.default_rng([5, seed])
    parent = random_parents(rng, int(rng.integers(3, 14)))
    tree = tree_of(parent)
    variance = 10.0 ** rng.uniform(-12, 13, len(parent))
    exact = exact_least_squares_variances(parent, variance)
    got = least_squares.prepare(tree, variance)[1]
    assert max(abs(Fraction(x) / y - 1) for x, y in zip(got.tolist(), exact, strict=True)) < 1e-12
    if seed % 2:
        lost = ~tree.is_leaf & (rng.random(len(parent)) < 0.5)
        exact = exact_least_squares_variances(parent, np.where(lost, 1e300, variance))  # as good as not measured
        got = least_squares.prepare(tree, np.where(lost, np.inf, variance))[1]
        assert max(abs(Fraction(x) / y - 1) for x, y in zip(got.tolist(), exact, strict=True)) < 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_variances_of_classes_keep_their_digits_up_to_ratios_of_1e25(seed: int) -> None:
    """The same on the quotient of the tree, where all nodes of a level have one variance."""
    rng = np.random.default_rng([6, seed])
    parent = random_parents(rng, int(rng.integers(3, 14)))
    tree = tree_of(parent)
    of_level = 10.0 ** rng.uniform(-12, 13, tree.n_levels)
    exact = exact_least_squares_variances(parent, np.repeat(of_level, tree.level_sizes))
    classes = quotient(tree)
    got = sweeps(classes, 1.0 / of_level).variance[classes.class_of]
    assert max(abs(Fraction(x) / y - 1) for x, y in zip(got.tolist(), exact, strict=True)) < 1e-12


@pytest.mark.parametrize("variance", [None, [1.0, -1.0, 1.0], [1.0, np.nan, 1.0], [1.0]])
def test_refuses_what_is_no_variance(variance: list[float] | None) -> None:
    with refuses("VARIANCE_NEEDED"):
        least_squares.prepare(Tree.from_branching_factors((2,)), None if variance is None else np.array(variance))


def test_two_estimates_of_one_count_are_combined_as_by_dense_algebra() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.normal(size=(2, 3, 40)) * 9
    variances = np.exp(rng.normal(scale=3, size=(2, 40)))
    estimate, variance = least_squares.combine_estimates(first, variances[0], second, variances[1])
    for i in range(40):  # one unknown, two measurements of it
        design, weight = np.ones((2, 1)), np.diag(1.0 / variances[:, i])
        precision = design.T @ weight @ design
        both = np.linalg.solve(precision, design.T @ weight @ np.stack([first[:, i], second[:, i]]))
        np.testing.assert_allclose(estimate[:, i], both[0], rtol=1e-9)
        assert variance[i] == pytest.approx(1.0 / precision.item(), rel=1e-12)


def test_an_exact_estimate_and_one_that_is_missing_are_told_from_the_rest() -> None:
    exact, missing, some = 0.0, np.inf, 4.0
    first, second = np.array([exact, missing, missing, some, exact, exact]), np.array([some] + [missing] * 4 + [exact])
    second[1] = some
    values = np.where(np.isinf(first), np.nan, 7.0), np.where(np.isinf(second), np.nan, 5.0)
    estimate, variance = least_squares.combine_estimates(values[0], first, values[1], second)
    np.testing.assert_array_equal(estimate, [7.0, 5.0, np.nan, 7.0, 7.0, 7.0])
    np.testing.assert_array_equal(variance, [exact, some, missing, some, exact, exact])


def test_combined_estimates_vary_as_told() -> None:
    rng, n = np.random.default_rng(12), 200_000
    drawn = rng.normal(scale=2.0, size=n), rng.laplace(scale=3.0, size=n)
    estimate, variance = least_squares.combine_estimates(drawn[0][:, None], np.array([4.0]), drawn[1][:, None],
                                                         np.array([18.0]))  # fmt: skip
    square = np.square(estimate[:, 0])
    distance = np.abs(square.mean() - variance * np.array([[0.9], [1.0], [1.1]])) / (square.std() / n**0.5)
    assert distance[1] < 4 < distance[[0, 2]].min()
