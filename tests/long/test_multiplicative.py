"""Shrinkage, bounds, conversions and growth curves against quadrature, plain loops and dense linear algebra."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_multiplicative as oracle
from refusals import refuses
from treedp_core import postprocess
from treedp_core.allocation import minimax
from treedp_core.errors import METRICS, Tolerance
from treedp_core.experiment import Experiment, draw_once, run
from treedp_core.noise import DiscreteLaplace, Gaussian, Laplace
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.multiplicative import Setting, accuracy_table, ranking
from treedp_core.studies.multiplicative.accuracy import accurate_threshold, clamped_alpha_rmse, noise_accurate_threshold
from treedp_core.studies.multiplicative.curves import CURVES, break_even, clamp_bound, growth, theorem_error
from treedp_core.studies.multiplicative.lower_bounds import least_possible_threshold, packing_bound
from treedp_core.studies.multiplicative.simple import shrunk_alpha_rmse, worst_shrunk_alpha_rmse
from treedp_core.tree import Tree
from treedp_core.watch import generator

SIGMA = 4.2246788893268353
"""Of one count at epsilon 1, delta 1e-6, solved elsewhere from the exact Gaussian trade-off."""
LAWS = [(Gaussian(3.0), oracle.normal(3.0)), (Laplace(2.0), oracle.laplace(2.0))]


def alpha_rmse(law: Laplace, alpha: float, count: float) -> float:
    """Of a count with noise of that law, in records."""
    return math.sqrt(law.excess_square(alpha * count))


# --- shrinkage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "frozen"), LAWS)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("count", [0.0, 1.0, 5.0, 30.0])
def test_alpha_rmse_is_the_integral_over_the_noise(law: Laplace, frozen: object, alpha: float, count: float) -> None:
    assert alpha_rmse(law, alpha, count) == pytest.approx(
        oracle.alpha_rmse(frozen, alpha, count, shrink=False), rel=1e-7
    )
    assert shrunk_alpha_rmse(law, alpha, count) == pytest.approx(
        oracle.alpha_rmse(frozen, alpha, count, shrink=True), rel=1e-7
    )


def test_alpha_rmse_by_hand() -> None:
    """Laplace(1), alpha w = 2: E[max(|Z| - 2, 0)^2] = 2 e^-2. Gaussian(1) at w = 0: all of the variance."""
    assert alpha_rmse(Laplace(1.0), 0.5, 4.0) == pytest.approx(math.sqrt(2) / math.e, rel=1e-14)
    assert alpha_rmse(Gaussian(1.0), 0.5, 0.0) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("law", "frozen"), LAWS)
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.25, 0.5])
def test_the_worst_count_is_found(law: Laplace, frozen: object, alpha: float) -> None:
    reach, sigma = 12.0 * float(frozen.std()), float(frozen.std())  # type: ignore[attr-defined]
    grid = max(oracle.worst_on_grid(frozen, alpha, reach, reach / 36), (1 - alpha) * sigma / math.sqrt(2))
    assert grid <= worst_shrunk_alpha_rmse(law, alpha) * (1 + 1e-9) <= 1.01 * grid


@pytest.mark.parametrize(
    ("alpha", "excess"), [(0.3, 0.0), (0.5, 0.0), (0.9, 0.0), (0.25, 0.004), (0.2, 0.035), (0.1, 0.18)]
)
def test_how_much_worse_than_the_ends(alpha: float, excess: float) -> None:
    """The published excess of Gaussian noise over (1 - alpha) sigma / sqrt(2), to its last digit."""
    ratio = worst_shrunk_alpha_rmse(Gaussian(1.0), alpha) / ((1 - alpha) / math.sqrt(2))
    assert ratio - 1 == pytest.approx(excess, abs=0.005 if alpha == 0.1 else 0.0006)


def test_shrinking_never_hurts_the_worst_case() -> None:
    for alpha in np.linspace(0.0, 0.99, 34):
        for law in (Gaussian(2.0), Laplace(1.0), DiscreteLaplace(0.3)):
            assert worst_shrunk_alpha_rmse(law, float(alpha)) <= math.sqrt(law.variance) * (1 + 1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("shrunk", [False, True])
def test_closed_forms_agree_with_draws(factor: float, shrunk: bool) -> None:
    """400 000 draws; 7 standard errors at each of 6 counts: a false alarm below 1e-10. Other scales are rejected."""
    law, alpha, rng = Laplace(2.0), 0.4, generator(61)
    z = []
    for count in (0.0, 1.0, 3.0, 8.0, 12.0, 20.0):
        y = count + factor * law.sample(rng, 400_000)
        estimate = np.maximum((1 - alpha) * y, 0) if shrunk else y
        losses = np.maximum(np.abs(estimate - count) - alpha * count, 0) ** 2
        exact = (shrunk_alpha_rmse if shrunk else alpha_rmse)(law, alpha, count) ** 2
        z.append((losses.mean() - exact) / (losses.std() / math.sqrt(losses.size)))
    assert (np.abs(z).max() < 7) == (factor == 1.0)


TREE = Tree.from_branching_factors((3, 2))
COUNTS = TREE.counts_of_leaves(np.array([0, 5, 40, 0, 1, 200]))
BASE = Experiment("laplace", ("shrink",), "uniform", "alpha_rmse", 1.0, relation="add_or_remove_one", alpha=0.5)


def test_the_post_processor_shrinks_by_the_experiments_alpha() -> None:
    before, after = draw_once(BASE, TREE, COUNTS)
    np.testing.assert_array_equal(after.estimate, np.maximum(0.5 * before.estimate, 0))
    assert after.variance is None and after.guarantee is before.guarantee
    again = postprocess.apply(TREE, before, "shrink", tolerance=Tolerance(alpha=0.75))
    np.testing.assert_array_equal(again.estimate, np.maximum(0.25 * before.estimate, 0))


def test_a_public_total_is_not_shrunk() -> None:
    _, after = draw_once(replace(BASE, relation="replace_one"), TREE, COUNTS)
    assert after.estimate[0] == COUNTS[0] == 246


@pytest.mark.statistical
def test_experiments_with_shrinkage_have_the_exact_error() -> None:
    """50 000 trials of Laplace noise of scale 3 on three levels; worst node of each level within 7 standard errors."""
    found = run(replace(BASE, trials=50_000), TREE, COUNTS).simulation
    exact = shrunk_alpha_rmse(Laplace(3.0), 0.5, COUNTS.astype(float))
    assert found is not None
    worst = np.maximum.reduceat(exact, TREE.level_start[:-1])
    assert (np.abs(found.level - worst) < 7 * found.level_se).all()
    assert (np.abs(found.level - 1.3 * worst) > 7 * found.level_se).all()


# --- the theorem and conversions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "epsilon", "delta", "d"), [(0.5, 1, 1e-6, 1000), (0.1, 0.2, 1e-9, 30), (0.9, 4, 1e-3, 10**6)]
)
def test_the_theorem_with_its_best_eta(alpha: float, epsilon: float, delta: float, d: int) -> None:
    ours = float(theorem_error(alpha, epsilon, delta, d))
    assert ours == pytest.approx(oracle.theorem_error(alpha, epsilon, delta, d), rel=1e-3)


@pytest.mark.parametrize("law", [Laplace(3.0), Gaussian(2.0), DiscreteLaplace(0.4)])
@pytest.mark.parametrize("eta", [0.3, 0.01])
def test_low_alpha_rmse_is_accurate(law: Laplace, eta: float) -> None:
    """Lemma 3.2 on noise whose miss probability is known exactly; the exact threshold is smaller, and is tight."""
    tau = accurate_threshold(alpha_rmse(law, 0.25, 0.0), 0.25, 0.5, eta)
    counts = np.arange(0, 400.0)
    assert (law.tail(0.5 * np.maximum(counts, tau)) <= eta).all()
    exact = noise_accurate_threshold(law, 0.5, eta)
    assert exact <= tau
    assert law.tail(0.5 * exact) <= eta
    assert law.tail(0.5 * exact * (1 - 1e-9)) > eta * (1 - 1e-6)


@pytest.mark.parametrize("law", [Laplace(3.0), Gaussian(20.0)])
def test_relative_errors_are_bounded_without_a_square_root_of_two(law: Laplace) -> None:
    tolerance = Tolerance(alpha=0.3, threshold=7.0)
    counts = np.arange(0.0, 200.0)
    bounds = np.array([alpha_rmse(law, 0.3, w) / 7.0 + 0.3 for w in counts])
    smoothed = law.mean_absolute / np.maximum(counts, 7.0)
    rmsre = np.sqrt(law.variance) / np.maximum(counts, tolerance.threshold)
    assert (smoothed <= bounds).all() and (rmsre <= bounds).all()
    assert METRICS["alpha_rmse"].uses == ("alpha",)


def test_the_clamp_keeps_the_error_of_an_accurate_mechanism() -> None:
    """By hand at one level: eps/2 = 1, delta/2 = 1e-6, R = ln(1 + (e - 1)/2e-6) = 13.6637; eta = 1/100."""
    reach = float(clamp_bound(2.0, 2e-6, 1))
    expected = math.sqrt(50.0**2 + 4 * 0.01 * math.log(1 + (math.e - 1) / 2e-6) ** 2)
    assert clamped_alpha_rmse(0.5, 100.0, 0.01, reach) == pytest.approx(expected, rel=1e-9)


def test_accuracy_by_hand() -> None:
    """Laplace of scale 10: alpha tau = 10 ln 100; the lower bounds are below everything."""
    table = accuracy_table(Setting(0.5, 1.0, 1e-6), 10, 0.01)
    tau = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    assert tau["Laplace"] == pytest.approx(20 * math.log(100))
    assert table["τ (records)"][:-2] == sorted(table["τ (records)"][:-2])
    assert max(table["τ (records)"][-2:]) <= min(table["τ (records)"][:-2])


def test_more_levels_never_lower_a_lower_bound() -> None:
    tables = [accuracy_table(Setting(0.5, 1.0, 1e-8), n, 0.01) for n in (5, 50, 1000, 10**6)]
    for row in (-2, -1):
        bounds = [table["τ (records)"][row] for table in tables]
        assert bounds == sorted(bounds)
        assert bounds[0] > 0


# --- lower bounds ----------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(eta=st.floats(1e-6, 0.5), shares=st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_one_step_of_the_decoding(eta: float, shares: list[float]) -> None:
    """However the two children err together, each with probability at most eta, the mean logarithm is above -H."""
    together = eta * shares[0]
    first, second = ((eta - together) * s for s in shares[1:])
    assert oracle.decoding_step(together, first, second, eta) >= -oracle.entropy(eta) - 1e-9


@pytest.mark.parametrize(("epsilon", "d"), [(1.0, 2), (1.0, 5), (1.0, 40), (0.3, 60), (5.0, 100)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_pure_packing_bounds_against_a_search(alpha: float, epsilon: float, d: int) -> None:
    ours, slow = float(packing_bound(alpha, epsilon, d)), oracle.packing(alpha, epsilon, 0.0, d)
    assert ours <= slow * (1 + 1e-9)
    assert ours == pytest.approx(slow, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta", "d"), [(1.0, 1e-6, 30), (0.3, 1e-4, 20), (0.1, 1e-9, 60)])
def test_approximate_packing_bounds_against_a_search(epsilon: float, delta: float, d: int) -> None:
    ours = float(packing_bound(0.25, epsilon, d, delta))
    slow = max(oracle.packing(0.25, epsilon, delta, n) for n in range(2, d + 1))
    assert ours <= slow * (1 + 1e-9)
    assert ours == pytest.approx(slow, rel=0.02)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_no_mechanism_is_below_a_lower_bound(alpha: float, epsilon: float) -> None:
    levels = np.unique(np.round(np.geomspace(2.0, 1e6, 41)))
    found = growth(Setting(alpha, epsilon, 1e-6), levels).error
    pure = [name for name, curve in CURVES.items() if curve.is_pure and not curve.is_bound]
    for name in pure:
        assert (found[name] >= found["pure_bound"]).all()
    for name, curve in CURVES.items():
        there = ~np.isnan(found[name])
        if not curve.is_bound:
            assert (found[name] >= found["approximate_bound"])[there].all(), name
    large = found["pure_bound"] > 100
    assert (found["shrunk_laplace"][large] < 30 * found["pure_bound"][large]).all()


@pytest.mark.parametrize(("alpha", "eta"), [(0.5, 0.01), (0.1, 0.2), (0.8, 0.3)])
def test_accurate_mechanisms_need_a_threshold(alpha: float, eta: float) -> None:
    """Laplace noise for d levels is accurate from d ln(1/eta) / (alpha eps) on: above the bound, within 100 times."""
    bound = least_possible_threshold(alpha, eta, 0.5, 1000)
    attained = noise_accurate_threshold(Laplace(1000 / 0.5), alpha, eta)
    assert 0 < bound <= attained < 100 * bound
    assert least_possible_threshold(alpha, eta, 0.5, 1000, 1e-6) <= bound


def test_the_least_threshold_does_not_fall_as_a_tree_grows() -> None:
    """The upper levels of a tree are a tree; with delta the bound of a single height peaks near 30 levels here."""
    bounds = [least_possible_threshold(0.5, 0.01, 1.0, d, 1e-8) for d in (2, 10, 30, 100, 500, 10**6)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > 15


@pytest.mark.parametrize("branching", [(2,), (2, 2), (3, 2), (2, 5, 3), (4, 1, 2)])
def test_the_factorisation_norm_is_attained_and_cannot_be_beaten(branching: tuple[int, ...]) -> None:
    """Primal: the minimax shares as a dense factorisation. Dual: the best weighted nuclear norm. Both are gamma_2."""
    exact = math.sqrt(minimax.squared_norm(branching))
    assert exact == pytest.approx(math.sqrt(1 + sum((n - 1) / (n + 1) for n in branching)), rel=1e-12)
    assert oracle.primal_norm(branching, minimax.precisions(branching)) == pytest.approx(exact, rel=1e-9)
    assert oracle.best_dual_norm(branching) == pytest.approx(exact, rel=1e-6)
    equal = oracle.primal_norm(branching, np.full(len(branching) + 1, 1.0))
    assert equal > exact * (1 + 1e-9) or set(branching) <= {1} or len(branching) == 1


# --- growth and crossings --------------------------------------------------------------------------------------------


def test_curves_at_four_levels_by_hand() -> None:
    setting = Setting(0.5, 2.0, 1e-5, 3)
    sigma = gaussian_sigma(2.0, 1e-5)
    found = {name: float(values[0]) for name, values in growth(setting, [4]).error.items()}
    assert found["laplace"] == pytest.approx(math.sqrt(2) * 4 / 2)
    assert found["shrunk_laplace"] == pytest.approx(0.5 * 4 / 2)
    assert found["gaussian"] == pytest.approx(gaussian_sigma(2.0, 1e-5, 2.0), rel=1e-9)
    assert found["shrunk_gaussian"] == pytest.approx(0.5 * 2 * sigma / math.sqrt(2))
    assert found["optimal"] == pytest.approx(sigma * math.sqrt(1 + 3 * 2 / 4))
    assert found["shrunk_optimal"] == pytest.approx(found["optimal"] * 0.5 / math.sqrt(2))
    assert found["paper"] == pytest.approx(float(theorem_error(0.5, 2.0, 1e-5, 4)))


def test_curves_cover_two_to_a_million_levels() -> None:
    found = ranking.curves(Setting())
    assert set(found) == set(CURVES)
    for levels, error in found.values():
        assert (levels[0], levels[-1], levels.shape) == (2, 10**6, error.shape)
    for name in ("tuned", "provable"):
        error = found[name][1]
        assert (np.diff(error) > -1e-6 * error[1:]).all()
    assert found["tuned"][1][-1] < 2 * found["tuned"][1][0]


def test_no_plan_where_a_constant_is_as_good() -> None:
    found = growth(Setting(0.5, 0.01, 1e-6, max_total=100.0), [10, 1000], ("tuned", "provable", "gaussian"))
    assert np.isnan(found.error["tuned"]).all() and np.isnan(found.error["provable"]).all()
    assert break_even(Setting(0.5, 0.01, 1e-6, max_total=100.0), "tuned", "gaussian") is None


@pytest.mark.parametrize(
    ("better", "worse"), [("gaussian", "laplace"), ("provable", "gaussian"), ("tuned", "shrunk_gaussian")]
)
def test_break_even_is_the_first_level_that_wins(better: str, worse: str) -> None:
    n = break_even(Setting(), better, worse)
    assert n is not None
    found = growth(Setting(), [n - 1, n, n + 1], (better, worse)).error
    assert (found[better] < found[worse]).tolist() == [False, True, True]


def test_crossings_are_read_off_well() -> None:
    """Gaussian below Laplace: sigma sqrt(d) < sqrt(2) d, d > sigma^2 / 2 = 8.92; shrunk, both times a constant:
    minimax sigma sqrt((d + 2) / 3) / sqrt(2) / 2 < d / 2, 2 d^2 > sigma^2 (d + 2) / 3, d > 4.3."""
    setting = Setting(0.5, 1.0, 1e-6)
    places = ranking.crossings(ranking.curves(setting))
    assert places["gaussian", "laplace"][0] == pytest.approx(SIGMA**2 / 2, rel=2e-3)
    b = SIGMA**2 / 6
    assert places["shrunk_optimal", "shrunk_laplace"][0] == pytest.approx((b + math.sqrt(b * b + 8 * b)) / 2, rel=0.03)
    assert ("paper", "shrunk_optimal") not in places
    told = ranking.crossing_table(places, None)
    assert told["from this many levels on"][ranking.PAIRS.index(("gaussian", "laplace"))] == "≈ 9"


@pytest.mark.parametrize(("text", "levels"), [("2", 2), ("1000000", 10**6), ("10^4", 10_000), (" 2 ^ 3 ", 8)])
def test_levels_are_read(text: str, levels: int) -> None:
    assert ranking.levels_from_text(text) == levels


def test_curves_that_are_searched_have_few_points() -> None:
    """Each of their points takes milliseconds, so that all curves are there within the time of one look."""
    found = ranking.curves(Setting(0.25, 1.0, 1e-6))
    assert {name for name, (levels, _) in found.items() if levels.size < 20} == {"tuned", "provable"}
    assert all(levels[0] == 2 and levels[-1] == 10**6 for levels, _ in found.values())


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.25, (14.18, 14.70)), (0.5, (12.83, 13.35)), (0.75, (12.19, 12.71)), (0.9, (11.94, 12.47))],
)
def test_where_the_papers_constants_pay(alpha: float, expected: tuple[float, float]) -> None:
    """Published powers of ten, against plain Gaussian noise and the optimal factorisation of binary trees."""
    for worse, power in zip(("gaussian", "optimal"), expected, strict=True):
        n = break_even(Setting(alpha), "paper", worse, high=10**15)
        assert n is not None and math.log10(n) == pytest.approx(power, abs=0.01)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: Setting(alpha=1.0), "ALPHA_RANGE"),
        (lambda: Setting(alpha=0.0), "ALPHA_RANGE"),
        (lambda: Setting(delta=0.0), "DELTA_REQUIRED"),
        (lambda: Setting(epsilon=-1.0), "EPS_RANGE"),
        (lambda: Setting(branching_factor=1), "BRANCHING_RANGE"),
        (lambda: Setting(max_total=0), "TOTAL_RANGE"),
        (lambda: growth(Setting(), [1]), "LEVELS_RANGE"),
        (lambda: growth(Setting(), [2.5]), "LEVELS_RANGE"),
        (lambda: growth(Setting(), [4], ("nothing",)), "VALUE_UNKNOWN"),
        (lambda: break_even(Setting(), "nothing", "laplace"), "VALUE_UNKNOWN"),
        (lambda: break_even(Setting(), "laplace", "gaussian", high=1), "LEVELS_RANGE"),
        (lambda: packing_bound(1.0, 1.0, 10), "ALPHA_RANGE"),
        (lambda: packing_bound(0.5, 1.0, 0), "LEVELS_RANGE"),
        (lambda: packing_bound(0.5, 1.0, [2, 1e18]), "LEVELS_RANGE"),
        (lambda: least_possible_threshold(0.5, 0.5, 1.0, 10), "ETA_RANGE"),
        (lambda: theorem_error(0.5, 1.0, 0.0, 10), "DELTA_REQUIRED"),
        (lambda: accurate_threshold(1.0, 0.5, 0.5, 0.1), "ALPHA_RANGE"),
        (lambda: accurate_threshold(-1.0, 0.25, 0.5, 0.1), "ERROR_RANGE"),
        (lambda: accurate_threshold(1.0, 0.25, 0.5, 0.0), "ETA_RANGE"),
        (lambda: clamped_alpha_rmse(0.5, -1.0, 0.1, 5.0), "THRESHOLD_RANGE"),
        (lambda: shrunk_alpha_rmse(Laplace(1.0), 0.5, -1.0), "COUNT_RANGE"),
        (lambda: shrunk_alpha_rmse(Laplace(1.0), 1.0, 1.0), "ALPHA_RANGE"),
        (lambda: run(replace(BASE, postprocess=("shrink", "least_squares")), TREE, COUNTS), "VARIANCE_NEEDED"),
    ],
)
def test_refusals(call: Callable[[], object], code: str) -> None:
    with refuses(code):
        call()
