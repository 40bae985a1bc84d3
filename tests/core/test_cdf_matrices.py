"""Matrices for cumulative counts against the definition: dense numpy, whole numbers, and every pair of neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product as every
from typing import Any

import numpy as np
import pytest
from scipy.linalg import toeplitz

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, Precision, ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.compare import draw
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.matrices.circular import CircularRoot
from treedp_core.studies.cdf.matrices.integer_strategy import optimal_matrix
from treedp_core.studies.cdf.matrices.plan import MatrixPlan, matrix_ledger, mean_variance, sensitivity
from treedp_core.studies.cdf.matrices.public_total import CentredRoot
from treedp_core.studies.cdf.matrices.reflection import SymmetricRoot
from treedp_core.studies.cdf.matrices.square_root import RootMatrix, exact_product
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.cdf.pipelines import distance_table, error_curves
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import equal_tree

ADD, REPLACE, UNKNOWN = (
    NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.REPLACE_UNKNOWN
)  # fmt: skip
GOOD = CdfSettings(64, (), "discrete_gaussian", 1.0, 1e-6, relation=ADD.value, strategy="root")


def dense(matrix: RootMatrix) -> Any:
    """The whole matrix (K, K), in Python's numbers."""
    return np.tril(toeplitz(matrix.coefficients)).astype(object)


@pytest.mark.parametrize("n_bins", [2, 3, 7, 64, 300])
def test_the_root_is_the_dense_matrix(n_bins: int) -> None:
    matrix = RootMatrix(n_bins)
    whole = dense(matrix)
    rows = np.cumsum(np.linalg.inv(whole.astype(float)), axis=0)
    counts = np.random.default_rng(n_bins).integers(0, 10_000, n_bins)
    assert (whole @ counts == matrix.encode(counts)).all()
    np.testing.assert_allclose(matrix.variance, np.square(rows).sum(1), rtol=3e-6)
    for last in (0, n_bins // 2, n_bins - 1):
        np.testing.assert_allclose(matrix.row(last), rows[last], atol=1e-5 * np.abs(rows).max())
    noise = np.random.default_rng(1).normal(size=(3, n_bins))
    np.testing.assert_allclose(matrix.decode(noise), noise @ rows.T, atol=1e-5 * np.abs(rows).max())


def assert_released_as(
    matrix: SymmetricRoot | CentredRoot | CircularRoot, entries: IntArray, rows: FloatArray,
    of_squares: tuple[float, float], of_rows: tuple[float, float],
) -> None:  # fmt: skip
    """Hold what a matrix says and does against its whole entries and the rows that undo them.

    `of_squares` is the relative and absolute tolerance of variances, `of_rows` that of one row and of all.
    """
    n_bins, most, squares = len(rows), np.abs(rows).max(), np.square(rows).sum(axis=1)
    np.testing.assert_allclose(matrix.variance, squares, rtol=of_squares[0], atol=of_squares[1] * squares.max())
    np.testing.assert_allclose(matrix.row(n_bins // 2), rows[n_bins // 2], atol=of_rows[0] * most)
    noise = np.random.default_rng(1).normal(size=(3, n_bins))
    np.testing.assert_allclose(matrix.decode(noise), noise @ rows.T, atol=of_rows[1] * most)
    behind = np.vstack([np.zeros(n_bins), rows])
    ranges = [np.square(behind[j] - behind[i]).sum() for j in range(n_bins + 1) for i in range(j)]
    if not isinstance(matrix, CentredRoot):  # which is for cumulative counts alone
        assert matrix.mean_range_variance == pytest.approx(np.mean(ranges), rel=of_squares[0], abs=0.0)
    counts = np.random.default_rng(2).integers(0, 2**52, n_bins)
    assert matrix.encode(counts).tolist() == [sum(a * c for a, c in zip(row, counts.tolist(), strict=True))
                                              for row in entries.tolist()]  # fmt: skip


@pytest.mark.parametrize(("n_bins", "for_ranges"), [*every((2, 3, 7, 64, 129, 300), (False, True))])
def test_the_symmetric_root_is_the_dense_matrix(n_bins: int, for_ranges: bool) -> None:
    """Its whole entries, column by column, beside the fourth root of G by dense eigenvectors; errors by its inverse."""
    matrix, i = SymmetricRoot(n_bins, for_ranges), np.arange(n_bins)
    entries = np.array([matrix.encode(column) for column in np.eye(n_bins, dtype=np.int64)]).T
    least, most = np.minimum.outer(i, i), np.maximum.outer(i, i)
    values, vectors = np.linalg.eigh((least + 1.0) * (n_bins - most) / (n_bins + 1) if for_ranges else n_bins - most)
    root = (vectors * values**0.25) @ vectors.T
    root /= np.linalg.norm(root, axis=0)
    np.testing.assert_allclose(entries / math.sqrt(matrix.column_square()), root, atol=3e-4)
    squares = [sum(v * v for v in column) for column in entries.T.tolist()]
    assert max(squares) == matrix.column_square() < 1.002 * min(squares)
    products = entries.astype(float).T @ entries
    assert products.min() > 0 and max(squares) * 2 == matrix.pair_square()
    rows = np.cumsum(np.linalg.inv(entries.astype(float)), axis=0)
    assert_released_as(matrix, entries, rows, (1e-9, 0.0), (1e-12, 1e-11))


@pytest.mark.parametrize(("workload", "times"), [("cdf", 1.005), ("ranges", 1.0006)])
def test_the_symmetric_root_is_near_a_bound_that_no_matrix_is_below(workload: str, times: float) -> None:
    """The bound is at most the error of the optimal matrix; beyond 1 024 bins it is all there is."""
    for n_bins in (2, 10, 97, 1500, 2800):
        matrix = SymmetricRoot(n_bins, workload == "ranges")
        error = mean_variance(Wanted(n_bins, workload), ProtectedUnit(ADD))
        assert matrix.lower * (1 - 1e-9) <= error < times * matrix.lower
        if n_bins < 100:
            best = optimal_matrix(Wanted(n_bins, workload), False)
            assert 0.997 * best.lower < matrix.lower <= best.mean_variance * best.column_square() / 2
    told = dict(zip(*matrix_ledger(plan_cdf(replace(GOOD, workload=workload, contributions=3))).values(), strict=True))
    share = float(told["mean variance above the least possible"].removesuffix("\u202f%").removesuffix(" %"))
    assert 0 < share < 100 * (times - 1)


@pytest.mark.parametrize(("n_bins", "relation", "least", "times"), [
    (64, ADD, 2.65010, 1.0006), (256, ADD, 4.20916, 1.0006), (1024, ADD, 6.1779, 1.0006),
    (64, REPLACE, 4.22681, 1.0035), (256, REPLACE, 7.12894, 1.0025), (1024, REPLACE, 10.8258, 1.0025),
])  # fmt: skip
def test_ranges_are_near_the_bound(n_bins: int, relation: NeighbouringRelation, least: float, times: float) -> None:
    """The lower bounds are certified by the search for the optimal matrix."""
    assert least < mean_variance(Wanted(n_bins, "ranges"), ProtectedUnit(relation)) < times * least


@pytest.mark.parametrize("n_bins", [2, 3, 8, 61])
def test_sensitivities_are_those_of_the_whole_matrix_over_all_neighbours(n_bins: int) -> None:
    for matrix in (RootMatrix(n_bins), CircularRoot(n_bins)):
        columns = [matrix.encode(one).tolist() for one in np.eye(n_bins, dtype=np.int64)]
        added = max(sum(v * v for v in column) for column in columns)
        moved = max(sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) for one, two in every(columns, columns))
        assert matrix.column_square() == added
        assert matrix.pair_square() == moved
        for relation, square, times in every((ADD, REPLACE, UNKNOWN), (1,), (1, 3)):
            need = {ADD: added, REPLACE: moved, UNKNOWN: max(added, moved)}[relation] * square * times**2
            assert Fraction(sensitivity(matrix, ProtectedUnit(relation, times))) ** 2 >= need


@pytest.mark.parametrize(("n_bins", "with_total"), [*every((2, 3, 7, 64, 129, 300), (False, True))])
def test_the_circular_root_is_the_dense_matrix(n_bins: int, with_total: bool) -> None:
    """Every column is the first one turned; its errors by the inverse, with a public total by the generalised one."""
    matrix = CircularRoot(n_bins, with_total)
    entries = np.array([matrix.encode(column) for column in np.eye(n_bins, dtype=np.int64)]).T
    assert all((np.roll(entries[:, 0], j) == entries[:, j]).all() for j in range(n_bins))
    assert matrix.column_square() <= matrix.pair_square() * (1 + 1e-5)
    columns = entries.astype(float)
    free = np.linalg.svd(np.ones((1, n_bins)))[2][1:].T
    known = free @ np.linalg.pinv(columns @ free)
    rows = np.cumsum(known if with_total else np.linalg.inv(columns), axis=0)
    assert_released_as(matrix, entries, rows, (1e-9, 1e-12), (1e-11, 1e-11))


@pytest.mark.parametrize("n_bins", [2, 3, 10, 97, 256, 1000, 5000, 65_536])
def test_the_circular_root_is_near_its_own_bound(n_bins: int) -> None:
    """The bound is below what the best matrix attains, and no more than the ranges at the edge are left out of it."""
    matrix, unit = CircularRoot(n_bins), ProtectedUnit(REPLACE)
    error = mean_variance(Wanted(n_bins, "ranges"), unit)
    assert 1 - 1e-6 < error / matrix.lower * (n_bins + 1) / (n_bins + 2) < 1.001
    if n_bins < 100:
        best = optimal_matrix(Wanted(n_bins, "ranges"), True)
        assert matrix.lower * (1 - 1e-6) <= best.mean_variance * best.pair_square() / 2


def test_a_circular_root_says_how_far_it_is_from_the_bound() -> None:
    settings = replace(GOOD, workload="ranges", relation=REPLACE.value, contributions=3)
    told = dict(zip(*matrix_ledger(plan_cdf(settings)).values(), strict=True))
    assert told["mean variance above the least possible"].startswith("1.")
    unknown = matrix_ledger(plan_cdf(replace(settings, relation=UNKNOWN.value)))
    assert "mean variance above the least possible" not in unknown["of the release"]


@pytest.mark.parametrize(("n_bins", "known"), [(4, 0.954157), (64, 2.485729), (100, 2.810010), (256, 3.561200),
                                               (1024, 4.835397)])  # fmt: skip
def test_known_errors_when_a_record_is_added(n_bins: int, known: float) -> None:
    """Derived elsewhere from the real matrix."""
    one = RootMatrix(n_bins)
    assert one.variance.mean() * one.column_square() / 2 == pytest.approx(known, rel=1e-5)
    assert mean_variance(Wanted(n_bins), ProtectedUnit(ADD)) < 0.99 * known


@pytest.mark.parametrize("n_bins", [2, 3, 7, 64, 129, 300])
def test_the_centred_root_is_the_dense_matrix(n_bins: int) -> None:
    """Its whole entries, column by column; errors by generalised inverses, the total as known; all pairs of columns."""
    matrix = CentredRoot(n_bins)
    entries = np.array([matrix.encode(column) for column in np.eye(n_bins, dtype=np.int64)]).T
    columns = entries.astype(float)
    products = columns.T @ columns
    lengths = np.diag(products)
    apart = (np.add.outer(lengths, lengths) - 2 * products).max(axis=1)
    assert apart.max() * (1 - 1e-12) <= matrix.pair_square() <= apart.max() * (1 + 1e-8)
    assert apart.max() < 1.03 * apart.min()
    assert matrix.column_square() == max(sum(v * v for v in column) for column in entries.T.tolist())
    free = np.linalg.svd(np.ones((1, n_bins)))[2][1:].T
    rows = np.cumsum(free, axis=0) @ np.linalg.pinv(columns @ free)
    assert_released_as(matrix, entries, rows, (1e-6, 1e-9), (1e-9, 1e-8))


def test_a_bound_is_that_of_a_matrix_itself() -> None:
    """That of a symmetric root is for a record that is added; a centred one has none, and so nothing says it has."""
    assert SymmetricRoot(8).lower > 0 and not hasattr(CentredRoot(8), "lower")
    replaced = matrix_ledger(plan_cdf(replace(GOOD, relation=REPLACE.value)))
    assert "mean variance above the least possible" not in replaced["of the release"]


@pytest.mark.parametrize("n_bins", [2100, 5000])
def test_columns_of_many_bins_are_no_farther_apart_than_is_said(n_bins: int) -> None:
    matrix = CentredRoot(n_bins)
    kernel, e, i = matrix._kernel_squared.tolist(), matrix.weights.tolist(), range(n_bins)
    farthest = max(
        e[j] ** 2 * (kernel[0] + kernel[2 * j + 1]) + e[k] ** 2 * (kernel[0] + kernel[2 * k + 1])
        - 2 * e[j] * e[k] * (kernel[abs(j - k)] + kernel[j + k + 1])
        for j in (*i[:30], *i[30::97]) for k in i
    )  # fmt: skip
    assert farthest <= matrix.pair_square() <= 1.004 * farthest


def test_blocks_bound_columns_of_any_weights() -> None:
    """Weights that jump within blocks, all pairs: what is said of blocks is by their extremes."""
    n_bins = 2600
    matrix, i = CentredRoot(n_bins), np.arange(n_bins)
    vars(matrix)["weights"] = np.where((i > 1050) & (i < 1550), np.where(i % 3, 300, 4000), 1)
    kernel, e = matrix._kernel_squared.astype(float), matrix.weights.astype(float)
    products = np.outer(e, e) * (kernel[np.abs(np.subtract.outer(i, i))] + kernel[np.add.outer(i, i) + 1])
    own = np.diag(products)
    farthest = (np.add.outer(own, own) - 2 * products).max()
    assert farthest <= matrix.pair_square() <= 1.001 * farthest


@pytest.mark.parametrize(("n_bins", "least"), [(64, 3.01545), (100, 3.52945), (128, 3.82975), (256, 4.73451)])
def test_when_a_record_is_replaced_it_is_near_the_bound(n_bins: int, least: float) -> None:
    """Lower bounds that were sought elsewhere."""
    assert least * (1 - 2e-4) < mean_variance(Wanted(n_bins), ProtectedUnit(REPLACE)) < 1.0225 * least


@pytest.mark.parametrize(("n_bins", "relation"), [*every((5, 40, 1000, 30_000), (ADD, REPLACE))])
def test_no_triangular_root_is_as_good_whatever_the_relation(n_bins: int, relation: NeighbouringRelation) -> None:
    plain, unit = RootMatrix(n_bins), ProtectedUnit(relation)
    assert mean_variance(Wanted(n_bins), unit) < float(plain.variance.mean()) * sensitivity(plain, unit) ** 2 / 2


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("n_bins", [256, 1024, 2**18])
def test_no_tree_is_as_good(n_bins: int, relation: NeighbouringRelation) -> None:
    unit = ProtectedUnit(relation)
    fitted = Criterion("gaussian", least_squares=True, unit=unit)
    for factor in (2, 4, 8, 16):
        tree = equal_tree(n_bins, factor)
        alone = fitted.mean_variance(tree, fitted.budget(tree, fitted.equal_shares(tree), 1.0))
        assert mean_variance(Wanted(n_bins), unit) < 0.84 * alone


@pytest.mark.parametrize("mechanism", ["gaussian", "discrete_gaussian"])
@pytest.mark.parametrize("relation", [ADD, REPLACE, UNKNOWN])
def test_simulated_errors_have_the_variance_of_the_formula(mechanism: str, relation: NeighbouringRelation) -> None:
    """Four standard errors: 0.9 and 1.1 times the variance are rejected."""
    plan = plan_cdf(replace(GOOD, mechanism=mechanism, relation=relation.value, contributions=2))
    drawn = plan.errors(np.random.default_rng(5), 6000)
    squares = np.square(drawn).mean(axis=1)
    mean, reach = squares.mean(), 4 * squares.std() / np.sqrt(squares.size)
    true = plan.variance.mean()
    assert abs(mean - true) < reach
    assert abs(mean - 0.9 * true) > reach < abs(mean - 1.1 * true)
    between = np.square(drawn[:, 39] - drawn[:, 9])
    assert abs(between.mean() - plan.range_variance(10, 40)) < 4 * between.std() / np.sqrt(between.size)


@pytest.mark.parametrize("mechanism", ["gaussian", "discrete_gaussian"])
@pytest.mark.parametrize("relation", [ADD, REPLACE, UNKNOWN])
def test_simulated_ranges_have_the_variance_of_the_formula(mechanism: str, relation: NeighbouringRelation) -> None:
    """Of the matrix for ranges: all 2 080 of a drawn release, and one of them; 0.9 and 1.1 times are rejected."""
    plan = plan_cdf(replace(GOOD, mechanism=mechanism, relation=relation.value, contributions=2, workload="ranges"))
    assert isinstance(plan, MatrixPlan)
    drawn = plan.errors(np.random.default_rng(5), 12_000)
    ends = np.hstack([np.zeros((len(drawn), 1)), drawn])
    n = ends.shape[1]  # the squares of all differences of n numbers
    of_all = (n * np.square(ends).sum(axis=1) - np.square(ends.sum(axis=1))) / (n * (n - 1) / 2)
    mean = plan.law.variance * plan.matrix.mean_range_variance
    one = np.square(ends[:, 40] - ends[:, 9])
    for squares, true in ((of_all, mean), (one, plan.range_variance(9, 40))):
        reach = 4 * squares.std() / np.sqrt(squares.size)
        for times in (0.9, 1.0, 1.1):
            assert (abs(squares.mean() - times * true) < reach) == (times == 1.0)


@pytest.mark.parametrize("counts", [[0] * 64, [10**15] + [0] * 63, list(range(64))])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_release_is_the_truth_plus_the_decoded_noise(counts: list[int], relation: NeighbouringRelation) -> None:
    plan = plan_cdf(replace(GOOD, relation=relation.value))
    made = plan.release(np.array(counts), np.random.default_rng(3))
    noise = plan.errors(np.random.default_rng(3), 1)[0]
    np.testing.assert_allclose(made.cumulative - np.cumsum(counts), noise, atol=1e-6 + 1e-15 * max(counts))
    assert made.n_records == (sum(counts) if relation is REPLACE else None)
    assert "Simulation of a release" in made.sentence()


def test_what_is_promised_is_what_was_asked_for() -> None:
    for relation in (ADD, REPLACE, UNKNOWN):
        plan = plan_cdf(replace(GOOD, relation=relation.value))
        promise = plan.guarantee
        assert promise.precision is Precision.EXACT and promise.rho is not None
        assert 0.999 < promise.epsilon <= 1.0
        assert Fraction(plan.sensitivity) ** 2 <= 2 * Fraction(promise.rho) * Fraction(plan.law.sigma) ** 2  # type: ignore[attr-defined]
    assert dict(zip(*matrix_ledger(plan).values(), strict=True))["matrix"] == "Square-root matrix"


def test_a_band_and_a_fit_come_with_it() -> None:
    plan = plan_cdf(replace(GOOD, relation=REPLACE.value))
    counts = np.arange(64)
    mine = draw(plan, counts, "squared", 3)
    truth = np.cumsum(counts)
    assert (mine.band.low <= truth).all() and (truth <= mine.band.high).all()
    assert mine.consistent is not None and mine.consistent[-1] == counts.sum()


def test_it_stands_beside_trees_at_the_same_promise() -> None:
    best = best_shape(64, Criterion(least_squares=True))
    curves = {one.kind: one for one in error_curves(64, (0.5, 1.0), 1, best, 1e-6)}
    settings = replace(GOOD, mechanism="gaussian", relation=REPLACE.value)
    for at, epsilon in enumerate((0.5, 1.0)):
        variance = plan_cdf(replace(settings, epsilon=epsilon)).variance
        assert curves["matrix"].y[at] ** 2 == pytest.approx(variance.mean())
    rows = dict(zip(*distance_table(64, best).values(), strict=True))
    least = 3.0152  # certified elsewhere; the bound here is at most 0.3 % below it
    above = mean_variance(Wanted(64), ProtectedUnit(REPLACE)) / least
    assert above * (1 - 1e-4) <= rows["Square-root matrix (any number of bins)"] <= 1.003 * above
    large = {one.kind for one in error_curves(2**21, (1.0,), 1, best_shape(2**21, Criterion()), 1e-6)}
    assert "matrix" not in large


@pytest.mark.parametrize(("settings", "code"), [
    (replace(GOOD, n_bins=1), "TREE_SHAPE"), (replace(GOOD, n_bins=2**20 + 1), "TREE_SHAPE"),
    (replace(GOOD, mechanism="laplace"), "STRATEGY_NOISE"), (replace(GOOD, delta=0.0), "DELTA_REQUIRED"),
    (replace(GOOD, epsilon=1e-4), "NOISE_RANGE"), (replace(GOOD, strategy="cube"), "VALUE_UNKNOWN"),
    (replace(GOOD, workload="bins"), "VALUE_UNKNOWN"),
])  # fmt: skip
def test_what_cannot_be_released_is_refused(settings: CdfSettings, code: str) -> None:
    with refuses(code):
        plan_cdf(settings)
    plan = plan_cdf(GOOD)
    for start, stop in ((3, 3), (0, 65), (-1, 4)):
        with pytest.raises(InputError, match="Expected"):
            plan.range_variance(start, stop)


def test_products_are_exact_beyond_64_bits() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(-(2**20), 2**20, 50), rng.integers(-(2**52), 2**52, 70).astype(object) * 2**12
    by_hand = [sum(int(a[i]) * b[k - i] for i in range(50) if 0 <= k - i < 70) for k in range(70)]
    assert exact_product(a, b, 70).tolist() == by_hand
