"""Exact errors of CDFs, ranges and nodes: the paper's equations, least squares, budgets, and the smallest possible."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from oracles_cdf import (
    best_epsilons,
    best_factors,
    cover,
    least_squares_means,
    least_upper_bound,
    optimal_error,
    refined_error,
    refined_node_variance,
    theorem_iv1,
    upper_bound_error,
)
from oracles_tree import generalised_least_squares
from refusals import refuses
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf.error import Criterion, cdf_lower_bound, optimal_shares, total_squared_error
from treedp_core.studies.cdf.error.criterion import histogram_error, range_queries_error
from treedp_core.studies.cdf.error.least_squares import gradient, mean_variance
from treedp_core.studies.cdf.error.prefixes import (
    least_squares_functional_variance,
    least_squares_prefix_variances,
    prefix_variances,
    range_variance,
)
from treedp_core.tree import Tree
from treedp_core.tree.workloads import Shape, Workload

REPLACE = NeighbouringRelation.REPLACE_ONE
ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)


def padded_shapes(n: int, seed: int, largest: int = 60) -> list[Shape]:
    rng, shapes = np.random.default_rng(seed), []
    while len(shapes) < n:
        factors = tuple(int(k) for k in rng.integers(2, 6, int(rng.integers(1, 5))))
        if math.prod(factors) <= largest:
            shapes.append(Shape(factors, int(rng.integers(2, math.prod(factors) + 1))))
    return shapes


# ---- without a tree


def test_simple_mechanisms_are_sums_of_their_noise_variances() -> None:
    """Lemma III.1: K - 1 prefixes, each 2 ((K-1)/eps)^2; III.2: prefix i holds i bins of variance 2 (2/eps)^2."""
    for n_bins in (2, 3, 7, 256):
        for epsilon, n in ((1.0, 1), (0.3, 900)):
            each = 2 * ((n_bins - 1) / epsilon) ** 2
            assert range_queries_error(n_bins, epsilon, n) == pytest.approx((n_bins - 1) * each / n**2, rel=1e-12)
            bins = sum(i * 2 * (2 / epsilon) ** 2 for i in range(1, n_bins))
            assert histogram_error(n_bins, epsilon, n) == pytest.approx(bins / n**2, rel=1e-12)
            assert (histogram_error(n_bins, epsilon, n) < range_queries_error(n_bins, epsilon, n)) == (n_bins >= 4)


@pytest.mark.parametrize("n_bins", [2, 3, 4, 5, 6])
def test_equal_bin_budgets_are_the_best_from_four_bins_on(n_bins: int) -> None:
    """Replacing a record moves two bins (or one measured and the last): max over pairs of the sum of budgets <= 1."""
    uses = np.arange(n_bins - 1, 0, -1)

    def error(budgets: np.ndarray) -> float:
        pairs = [a + b for a, b in combinations(budgets, 2)]
        return float((2 * uses / budgets**2).sum() * max([*pairs, *budgets]) ** 2)

    rng = np.random.default_rng(5)
    best = min(error(np.exp(rng.normal(scale=0.3, size=n_bins - 1))) for _ in range(20_000))
    equal = histogram_error(n_bins, 1.0, 1)
    assert best < equal * 0.99 if n_bins <= 3 else equal <= best * (1 + 1e-9)


# ---- Theorem IV.1 and what follows


@pytest.mark.parametrize(
    ("factors", "epsilons"),
    [((2, 3), (1, 2)), ((16, 16), (1, 1)), ((2, 2, 2), (1, 1, 1)), ((5, 2, 3), (3, 2, 4))],
)
def test_theorem_iv1_in_exact_arithmetic(factors: tuple[int, ...], epsilons: tuple[int, ...]) -> None:
    shares = [Fraction(e, sum(epsilons)) for e in epsilons]
    got = total_squared_error(Shape.full(factors), [float(e) for e in shares], 30)
    assert got == pytest.approx(float(theorem_iv1(factors, shares, 30)), rel=1e-13)


@pytest.mark.parametrize("shape", padded_shapes(20, 6), ids=str)
def test_padded_theorem_iv1_by_enumeration_of_covers(shape: Shape) -> None:
    budgets = np.random.default_rng(7).uniform(0.2, 1.0, shape.height)
    covers = (cover(shape.branching_factors, n) for n in range(1, shape.n_bins))
    expected = sum(8 / budgets[level - 1] ** 2 for nodes in covers for level, _ in nodes if level) / 10**2
    assert total_squared_error(shape, budgets.tolist(), 10) == pytest.approx(expected, rel=1e-12)


def test_a_user_who_contributes_more_records_leaves_the_error_as_it_is() -> None:
    """L samples a user: sensitivity L times larger, N L records instead of N."""
    one = total_squared_error(Shape((3, 3), 8), (0.4, 0.6), 50)
    many = total_squared_error(Shape((3, 3), 8), (0.4, 0.6), 50 * 12, ProtectedUnit(REPLACE, 12))
    assert many == pytest.approx(one, rel=1e-12)
    assert histogram_error(8, 0.5, 50 * 12, ProtectedUnit(REPLACE, 12)) == pytest.approx(
        histogram_error(8, 0.5, 50), rel=1e-12
    )
    assert range_queries_error(8, 0.5, 50 * 12, ProtectedUnit(REPLACE, 12)) == pytest.approx(
        range_queries_error(8, 0.5, 50), rel=1e-12
    )


def test_theorem_iv2_budgets_cannot_be_improved_and_are_the_closed_form() -> None:
    """(2, 9): (n - 1)^(1/3) is 1 and 2, so a third and two thirds."""
    assert best_epsilons((2, 9), 0.9).tolist() == pytest.approx([0.3, 0.6])
    rng = np.random.default_rng(8)
    for factors in ((2, 9), (3, 4, 7), (2, 2, 30)):
        shape = Shape.full(factors)
        best = total_squared_error(shape, best_epsilons(factors, 1.0).tolist(), 1)
        for _ in range(200):
            other = rng.dirichlet(np.ones(len(factors)))
            assert total_squared_error(shape, other.tolist(), 1) >= best * (1 - 1e-12)


def test_theorem_iv2_factors_solve_its_equations() -> None:
    """All n_i / epsilon_i^2 equal, product K; moving along the constraint does not improve."""
    epsilons = np.array([0.5, 0.3, 0.2])
    n = best_factors(epsilons.tolist(), 4096)
    assert n.prod() == pytest.approx(4096, rel=1e-12)
    assert (n / epsilons**2) == pytest.approx((n / epsilons**2)[0] * np.ones(3), rel=1e-12)
    value = ((n - 1) / epsilons**2).sum()
    for i, j in ((0, 1), (1, 2), (0, 2)):
        moved = n.copy()
        moved[i], moved[j] = n[i] * 1.1, n[j] / 1.1
        assert ((moved - 1) / epsilons**2).sum() > value


def test_lemma_iv2_is_attained_by_equal_factors_and_bounds_the_error_within_a_factor_of_two() -> None:
    least = least_upper_bound(81, 2)
    assert upper_bound_error((9, 9), (0.5, 0.5)) == pytest.approx(least, rel=1e-12)
    for factors, share in (((3, 27), 0.5), ((9, 9), 0.3), ((27, 3), 0.7)):
        bound = upper_bound_error(factors, (share, 1 - share))
        assert bound >= least * (1 - 1e-12)
        assert bound / 2 <= total_squared_error(Shape.full(factors), (share, 1 - share), 1) <= bound


def test_theorem_iv3_and_why_it_needs_factors_of_at_least_three() -> None:
    assert optimal_error(256, 2) == pytest.approx(total_squared_error(Shape.full((16, 16)), (0.5, 0.5), 1), rel=1e-12)
    rng = np.random.default_rng(9)
    for _ in range(300):
        a, b = np.exp(rng.uniform(math.log(3), math.log(9), 2))
        third = 216 / (a * b)
        if third >= 3:
            roots = sum((n - 1) ** (1 / 3) for n in (a, b, third)) ** 3
            assert 4 * 216 * roots >= optimal_error(216, 3) * (1 - 1e-12)
    unequal = 4 * 9 * ((2 - 1) ** (1 / 3) + (4.5 - 1) ** (1 / 3)) ** 3
    assert unequal < optimal_error(9, 2)


def test_lemma_iv4_and_proposition_b1_by_combining_variances() -> None:
    """A node's own reading v and its beta children u: 1/u' = 1/v + 1/(beta u)."""
    for branching, height in ((2, 3), (5, 2), (3, 4)):
        v = 8.0 * height**2
        refined = [v]
        for _ in range(height - 1):
            refined.append(1 / (1 / v + 1 / (branching * refined[-1])))
        by_level = refined[::-1]
        for level in range(1, height + 1):
            assert refined_node_variance(branching, level, height, 1 / height) == pytest.approx(by_level[level - 1])
        left = sum(
            by_level[level - 1] for n in range(1, branching**height) for level, _ in cover((branching,) * height, n)
        )
        assert refined_error(branching, height, 1.0) == pytest.approx(left / 2, rel=1e-12)


# ---- least squares


@pytest.mark.parametrize("shape", padded_shapes(40, 10), ids=str)
@pytest.mark.parametrize("root", ["known", "noisy", "not measured"])
def test_closed_forms_after_least_squares_equal_dense_algebra(shape: Shape, root: str) -> None:
    rng = np.random.default_rng([11, shape.n_bins])
    variance = np.exp(rng.normal(size=shape.height + 1))
    variance[1:-1][rng.random(shape.height - 1) < 0.25] = np.inf
    variance[0] = {"known": 0.0, "noisy": variance[0], "not measured": np.inf}[root]
    expected = least_squares_means(shape.branching_factors, shape.n_bins, variance.tolist())
    got = [mean_variance(shape, variance, workload) for workload in (Workload.CDF, Workload.RANGES, Workload.NODES)]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_bins_past_the_last_are_publicly_empty() -> None:
    """Leaving their nodes out is the same as knowing that they are 0: general least squares on the whole tree."""
    shape = Shape((2, 3), 4)
    whole = Tree.from_branching_factors((2, 3))
    variance = np.array([0.0, 1.5, 1.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0])
    noisy = np.array([9.0, 4.0, 6.0, 1.0, 2.0, 2.0, 3.0, 0.0, 0.0])
    estimate, spread = generalised_least_squares(whole.parent.tolist(), noisy, variance)
    tree = shape.tree()
    got = least_squares_functional_variance(tree, np.repeat([0.0, 1.5, 0.5], tree.level_sizes), np.eye(4))
    np.testing.assert_allclose(got, spread[3:7], rtol=1e-9)
    assert estimate[3:7].sum() == pytest.approx(9.0)


def test_the_known_total_alone_cuts_the_histograms_error_to_a_third() -> None:
    """4 (K^2 - 1) / (3 epsilon^2) against 4 K (K - 1) / epsilon^2."""
    for n_bins in (2, 5, 997):
        criterion, shape = Criterion(least_squares=True), Shape((n_bins,), n_bins)
        total = criterion.mean_variance(shape, criterion.budget(shape, (0, 1), 0.5)) * n_bins
        assert total == pytest.approx(4 * (n_bins**2 - 1) / (3 * 0.5**2), rel=1e-12)
        assert total / histogram_error(n_bins, 0.5, 1) == pytest.approx((n_bins + 1) / (3 * n_bins), rel=1e-12)


@pytest.mark.parametrize("shape", padded_shapes(25, 12), ids=str)
def test_each_prefix_and_any_weighted_sum_on_a_built_tree(shape: Shape) -> None:
    rng = np.random.default_rng([13, shape.n_bins])
    level_variance = np.exp(rng.normal(size=shape.height + 1))
    level_variance[0] *= rng.integers(2)
    tree = shape.tree()
    variance = np.repeat(level_variance, tree.level_sizes)
    plain, best = prefix_variances(tree, variance), least_squares_prefix_variances(tree, variance)
    for n in range(1, shape.n_bins):
        nodes = cover(shape.branching_factors, n)
        assert plain[n - 1] == pytest.approx(sum(level_variance[level] for level, _ in nodes), rel=1e-12)
    prefixes = np.tril(np.ones((shape.n_bins, shape.n_bins)))
    np.testing.assert_allclose(least_squares_functional_variance(tree, variance, prefixes), best, rtol=1e-9, atol=1e-12)
    for criterion, mean in ((Criterion(), plain), (Criterion(least_squares=True), best)):
        assert criterion.of_variances(shape, level_variance) == pytest.approx(mean.mean(), rel=1e-9)
    ranges = [(i, j) for i in range(shape.n_bins) for j in range(i + 1, shape.n_bins + 1)]
    mean = np.mean([range_variance(tree, variance, i, j) for i, j in ranges])
    assert Criterion(workload=Workload.RANGES).of_variances(shape, level_variance) == pytest.approx(mean, rel=1e-9)


def test_levels_not_measured_leave_prefixes_unknown_without_least_squares() -> None:
    tree = Tree.from_branching_factors((2, 2))
    variance = np.repeat([0.0, np.inf, 1.0], tree.level_sizes)
    assert prefix_variances(tree, variance).tolist() == [1.0, np.inf, np.inf, 0.0]
    assert np.isfinite(least_squares_prefix_variances(tree, variance)).all()
    shape = Shape.full((2, 2))
    assert Criterion().of_variances(shape, np.array([0.0, np.inf, 1.0])) == np.inf
    assert mean_variance(shape, np.array([0.0, 1.0, np.inf]), Workload.CDF) == np.inf


def test_every_sensitivity_and_law_comes_from_the_unit() -> None:
    shape = Shape.full((3, 3))
    one = Criterion("discrete_laplace")
    variance = one.level_variances(one.budget(shape, (0, 1, 1), 1.0))
    assert variance.tolist() == [0.0, *[pytest.approx(DiscreteLaplace(0.25).variance, rel=1e-12)] * 2]
    added = Criterion("laplace", unit=ADD)
    assert added.level_variances(added.budget(shape, (1, 1, 1), 3.0)).tolist() == pytest.approx([2.0, 2.0, 2.0])
    three = Criterion("gaussian", unit=ProtectedUnit(REPLACE, 3))
    assert three.level_variances(three.budget(shape, (0, 1, 1), 1.0))[1:].tolist() == pytest.approx([18.0, 18.0])
    assert three.variance_of_one() == pytest.approx(9.0)


# ---- optimal budgets


@pytest.mark.parametrize("workload", list(Workload))
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_plain_budgets_are_optimal_for_every_workload(workload: Workload, law: str) -> None:
    rng = np.random.default_rng(14)
    for shape, unit in ((Shape((4, 3, 5), 47), ProtectedUnit(REPLACE)), (Shape((3, 4), 12), ADD)):
        criterion = Criterion(law, workload, unit=unit)
        best = optimal_shares(shape, criterion)
        assert best.shares.sum() == pytest.approx(1.0)
        used = best.shares > 0
        found = criterion.mean_variance(shape, criterion.budget(shape, best.shares, 1.0))
        assert best.value == pytest.approx(found, rel=1e-9)
        for _ in range(100):
            shares = np.zeros(best.shares.size)
            shares[used] = rng.dirichlet(np.ones(int(used.sum())))
            assert criterion.mean_variance(shape, criterion.budget(shape, shares, 1.0)) >= best.value * (1 - 1e-9)


@pytest.mark.parametrize("unit", [ProtectedUnit(REPLACE), ADD], ids=["replace", "add"])
@pytest.mark.parametrize("workload", list(Workload))
def test_gaussian_budgets_after_least_squares_are_certified(workload: Workload, unit: ProtectedUnit) -> None:
    """The bound is below every other split, and an optimiser with gradients of its own finds nothing better."""
    rng = np.random.default_rng(15)
    for shape in (Shape((2, 2, 2, 2, 2), 32), Shape((3, 4, 2), 21)):
        criterion = Criterion("gaussian", workload, True, unit)
        best = optimal_shares(shape, criterion)
        assert best.lower_bound is not None
        assert best.lower_bound <= best.value <= best.lower_bound * (1 + 1e-5)
        free = shape.height + (unit is ADD)

        def value(logs: np.ndarray, shape: Shape = shape, criterion: Criterion = criterion) -> float:
            shares = np.zeros(shape.height + 1)
            shares[-logs.size :] = np.exp(logs) / np.exp(logs).sum()
            return criterion.mean_variance(shape, criterion.budget(shape, shares, 1.0))

        for _ in range(50):
            assert value(rng.normal(size=free)) >= best.lower_bound
        other = minimize(value, np.zeros(free), method="BFGS")
        assert best.lower_bound <= other.fun <= best.value * 1.001


def test_laplace_budgets_after_least_squares_beat_simple_ones_and_claim_nothing() -> None:
    for shape in (Shape.full((16, 16)), Shape((2, 2, 2, 2), 13), Shape((3, 30), 90)):
        criterion = Criterion("laplace", least_squares=True)
        best = optimal_shares(shape, criterion)
        assert best.lower_bound is None and "not certified" in best.method
        tried = [criterion.equal_shares(shape), np.eye(shape.height + 1)[-1]]
        tried += [np.concatenate([[0.0], p]) for p in np.random.default_rng(16).dirichlet(np.ones(shape.height), 300)]
        values = [criterion.mean_variance(shape, criterion.budget(shape, shares, 1.0)) for shares in tried]
        assert best.value <= min(values) * (1 + 1e-9)


def test_laplace_budgets_are_not_a_convex_problem() -> None:
    """Why no certificate is given: a shape and two splits whose midpoint is worse than both."""
    shape, criterion = Shape.full((2, 2, 2)), Criterion("laplace", Workload.NODES, True)
    rng = np.random.default_rng(17)

    def value(shares: np.ndarray) -> float:
        return criterion.mean_variance(shape, criterion.budget(shape, [0.0, *shares], 1.0))

    pairs = rng.dirichlet(np.full(3, 0.3), (3000, 2)).clip(1e-6)
    assert any(value((a + b) / 2) > max(value(a), value(b)) for a, b in pairs)


def test_gradient_by_complex_steps_equals_differences() -> None:
    for shape in (Shape((3, 4, 2), 21), Shape.full((2, 5))):
        for workload in Workload:
            for root in (np.inf, 0.7):
                precision = np.array([root, *np.linspace(0.5, 2.0, shape.height)])
                value, slope = gradient(shape, precision, workload)
                with np.errstate(divide="ignore"):
                    assert value == pytest.approx(mean_variance(shape, 1 / precision, workload), rel=1e-12)
                for k in range(1 if root == np.inf else 0, shape.height + 1):
                    step = np.zeros(precision.size)
                    step[k] = 1e-6
                    up, down = (mean_variance(shape, 1 / (precision + s), workload) for s in (step, -step))
                    assert slope[k] == pytest.approx((up - down) / 2e-6, rel=1e-6)


# ---- how far from optimal


def test_the_bound_by_hand_for_two_and_three_bins() -> None:
    """K = 2: one count moved by 1, variance 1/2. K = 3: Q = [[2, -1], [-1, 2]], tr Q^-1 = 4/3; means over K."""
    two, three = cdf_lower_bound(2), cdf_lower_bound(3, gap=1e-4)
    assert two.lower == pytest.approx(0.25) and two.attained == pytest.approx(0.25)
    assert three.lower <= 4 / 9 <= three.attained <= 4 / 9 * (1 + 2e-4)


@pytest.mark.parametrize("n_bins", [4, 9, 32])
def test_the_attained_value_belongs_to_a_private_mechanism(n_bins: int) -> None:
    """Noise of precision Q on the cumulative counts is 1-zCDP if every move d of a record has d'Qd <= 2."""
    bound = cdf_lower_bound(n_bins)
    for j in range(n_bins):
        for k in range(j + 1, n_bins):
            moved = np.zeros(n_bins - 1)
            moved[j:k] = 1.0
            assert moved @ bound.precision @ moved <= 2 * (1 + 1e-9)
    assert np.trace(np.linalg.inv(bound.precision)) / n_bins == pytest.approx(bound.attained, rel=1e-9)
    assert bound.lower <= bound.attained <= 1.005 * bound.lower


@pytest.mark.parametrize("n_bins", [5, 16, 64])
def test_no_tree_and_no_random_strategy_is_below_the_bound(n_bins: int) -> None:
    lower = cdf_lower_bound(n_bins).lower
    criterion = Criterion("gaussian", least_squares=True)
    binary = optimal_shares(Shape((2,) * math.ceil(math.log2(n_bins)), n_bins), criterion).value
    assert lower <= binary <= 1.5 * lower
    for factors in ((n_bins,), (4,) * math.ceil(math.log(n_bins, 4)), (3, n_bins)):
        assert optimal_shares(Shape(factors, n_bins), criterion).value >= lower
    rng = np.random.default_rng(18)
    for _ in range(30):  # any linear queries, scaled to be 1-zCDP, estimated with the known total
        queries = rng.normal(size=(2 * n_bins, n_bins))
        norm = max(((queries[:, j] - queries[:, k]) ** 2).sum() for j, k in combinations(range(n_bins), 2))
        free = np.linalg.svd(np.ones((1, n_bins)))[2][1:].T
        white = queries @ free * math.sqrt(2 / norm)
        sums = np.tril(np.ones((n_bins, n_bins))) @ free
        assert np.trace(sums @ np.linalg.inv(white.T @ white) @ sums.T) / n_bins >= lower


def test_the_search_for_the_bound_can_be_watched_and_stopped() -> None:
    rounds = []
    cdf_lower_bound(12, 0.01, lambda: rounds.append(1))
    assert 1 < len(rounds) < 60

    def stop() -> None:
        raise KeyboardInterrupt

    for n_bins in (12, 1025):  # 1024 bins of a column, and one for the records that have no place in them
        with pytest.raises(KeyboardInterrupt):
            cdf_lower_bound(n_bins, 0.01, stop)


# ---- refusals


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: histogram_error(1, 1.0, 10), "TREE_SHAPE"),
        (lambda: histogram_error(10, 0.0, 10), "EPS_RANGE"),
        (lambda: histogram_error(10, 1.0, 0), "RECORDS_RANGE"),
        (lambda: histogram_error(10, 1.0, 10, ADD), "TOTAL_NOT_PUBLIC"),
        (lambda: total_squared_error(Shape.full((2, 3)), (1.0,), 10), "BUDGET_SPLIT"),
        (lambda: total_squared_error(Shape.full((2, 3)), (1.0, 0.0), 10), "BUDGET_SPLIT"),
        (lambda: total_squared_error(Shape.full((2, 3)), (0.5, 0.5), 0), "RECORDS_RANGE"),
        (lambda: Criterion("uniform"), "VALUE_UNKNOWN"),
        (lambda: Criterion().budget(Shape.full((2, 3)), (1, 1), 1.0), "BUDGET_SPLIT"),
        (lambda: Criterion().budget(Shape.full((2, 3)), (0, 1, 1), 0.0), "EPS_RANGE"),
        (lambda: Criterion("gaussian").budget(Shape.full((2, 3)), (0, 1, 1), -1.0), "RHO_RANGE"),
        (lambda: cdf_lower_bound(1026), "BOUND_SIZE"),
        (
            lambda: least_squares_prefix_variances(Tree.from_branching_factors((2,)), np.array([0, 1, np.inf])),
            "VARIANCE_NEEDED",
        ),
        (lambda: cdf_lower_bound(1), "BOUND_SIZE"),
        (
            lambda: optimal_shares(
                Shape.full((2, 3)), Criterion(unit=ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN))
            ),
            "RELATION",
        ),
    ],
)
def test_refuses_in_one_sentence(call: object, code: str) -> None:
    with refuses(code):
        call()  # type: ignore[operator]


def test_shares_too_small_to_square_are_levels_not_measured() -> None:
    """The search drives shares of many a level towards 0; warnings are errors here."""
    shape = Shape((2,) * 40, 2**40)
    criterion = Criterion("laplace", Workload.CDF, least_squares=True)
    equal = criterion.mean_variance(shape, criterion.budget(shape, criterion.equal_shares(shape), 1.0))
    assert optimal_shares(shape, criterion).value < equal
