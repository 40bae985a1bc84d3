"""Consistent CDFs against brute force over all non-decreasing sequences, and on inputs too large for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from oracles_cdf import consistent_cost, total_cost
from refusals import refuses
from treedp_core.postprocess.isotonic import FITS, consistent_cdf, distance_from, fit_of_distance

COST: dict[str, Callable[[float, float], float]] = {
    "squared": lambda v, y: (v - y) ** 2,
    "absolute": lambda v, y: abs(v - y),
    "hamming": lambda v, y: float(v != y),
}


def vectorised(name: str) -> Callable[[np.ndarray, float], np.ndarray]:
    return lambda values, y: np.array([COST[name](v, y) for v in values])


def is_consistent(fit: np.ndarray, n_records: int) -> bool:
    return fit.dtype == np.int64 and fit[-1] == n_records and (np.diff(fit) >= 0).all() and fit[0] >= 0


def test_every_error_has_a_brute_force_here() -> None:
    assert set(FITS) == set(COST)


values = st.one_of(
    st.integers(-3, 8).map(float), st.integers(-6, 16).map(lambda n: n / 2), st.floats(-3, 8, allow_subnormal=False)
)


@settings(max_examples=600)
@given(y=st.lists(values, min_size=1, max_size=5), n_records=st.integers(0, 5), error=st.sampled_from(sorted(COST)))
def test_costs_equal_those_of_brute_force(y: list[float], n_records: int, error: str) -> None:
    best = consistent_cost(y, n_records, COST[error])
    for given_as in (error, vectorised(error)):
        fit = consistent_cdf(np.array(y), n_records, given_as)
        assert is_consistent(fit, n_records)
        assert total_cost(fit, y, COST[error]) == pytest.approx(best, rel=1e-9, abs=1e-9)


@settings(max_examples=200)
@given(y=st.lists(values, min_size=1, max_size=5), n_records=st.integers(0, 5), over=st.sampled_from([0.2, 1.0, 4.0]))
def test_a_distance_of_ones_own_costs_what_brute_force_finds(y: list[float], n_records: int, over: float) -> None:
    """Not symmetric, and not convex: capped at 2."""

    def one(v: float, x: float) -> float:
        return min(2.0, over * (v - x) if v > x else x - v)

    fit = fit_of_distance("own", "Own", "", lambda v, x: np.minimum(2.0, np.where(v > x, over * (v - x), x - v)))
    best = consistent_cost(y, n_records, one)
    solved = np.append(fit.solve(np.array(y[:-1]), n_records), n_records)
    assert is_consistent(solved, n_records)
    assert total_cost(solved.tolist(), y, one) == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert fit.distance is not None
    assert distance_from(solved, np.array(y), fit.distance) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("error", sorted(COST))
def test_entries_say_the_distance_that_they_minimise(error: str) -> None:
    y = np.array([2.0, 0.5, 3.25, 3.0, 1.0])
    fit = consistent_cdf(y, 4, error)
    assert distance_from(fit, y, error) == pytest.approx(total_cost(fit.tolist(), y.tolist(), COST[error]))
    assert distance_from(fit, y, error) == pytest.approx(consistent_cost(y.tolist(), 4, COST[error]))
    for wrong in (y[:-1], y[:, None], y * np.nan):
        with refuses("CDF_SHAPE"):
            distance_from(wrong, y, error)
    with refuses("VALUE_UNKNOWN"):
        distance_from(fit, y, "median")


def test_rounding_the_real_solution_is_not_optimal_for_the_absolute_error() -> None:
    """0.9, 0.4, 0.4: the real solution 0.4 rounds to 0, 0, 0 at a cost of 1.7; 1, 1, 1 costs 1.3."""
    y = np.array([0.9, 0.4, 0.4, 3.0])
    fit = consistent_cdf(y, 3, "absolute")
    assert fit.tolist() == [1, 1, 1, 3]
    assert total_cost(fit, y, COST["absolute"]) == pytest.approx(1.3)


def test_by_hand() -> None:
    assert consistent_cdf(np.array([3.0, 2.0, 1.0, 9.0]), 3).tolist() == [2, 2, 2, 3]
    assert consistent_cdf(np.array([0.5, 9.0]), 1).tolist() == [0, 1]  # a half is rounded down
    assert consistent_cdf(np.array([-7.0, 40.0, 2.0]), 5).tolist() == [0, 5, 5]
    assert consistent_cdf(np.array([1.0, 5.0, 2.0, 3.0, 4.0, 0.5, 9.0]), 6, "hamming").tolist() == [1, 1, 2, 3, 4, 4, 6]
    assert consistent_cdf(np.array([2.0, 2.0, 1.0, 2.0, 9.0]), 6, "hamming").tolist() == [2, 2, 2, 2, 6]
    assert consistent_cdf(np.array([12.3]), 4).tolist() == [4]
    assert consistent_cdf(np.array([1.0, -2.0, 7.0]), 0, "absolute").tolist() == [0, 0, 0]


@pytest.mark.parametrize("error", ["squared", "absolute"])
def test_no_small_change_improves_a_large_fit(error: str) -> None:
    """Shifting any stretch by one, where that stays consistent, costs at least as much: enough for convex errors.

    Together with all-whole shifts of the level sets: the fit must be optimal among suffix shifts of every level.
    """
    rng = np.random.default_rng(1)
    n_records, y = 10**7, np.sort(rng.uniform(0, 1e7, 4000)) + rng.laplace(scale=4000, size=4000)
    fit = consistent_cdf(y, n_records, error)
    assert is_consistent(fit, n_records)
    starts = np.flatnonzero(np.diff(fit[:-1], prepend=-1))
    ends = np.append(starts[1:], fit.size - 1)
    for a, b in zip(starts, ends, strict=True):
        here = total_cost(fit[a : b + 1], y[a : b + 1], COST[error])
        for cut in range(a, b):
            up, down = fit[a : b + 1].copy(), fit[a : b + 1].copy()
            up[cut - a :] += 1
            down[: cut - a + 1] -= 1
            for other in (up, down):
                if other.min() >= 0 and other[:-1].max() <= n_records:
                    assert total_cost(other, y[a : b + 1], COST[error]) >= here - 1e-6


def test_the_absolute_error_equals_the_trellis_on_a_random_walk() -> None:
    rng = np.random.default_rng(2)
    for scale in (0.3, 5.0, 60.0):
        y = np.linspace(0, 300, 400) + np.cumsum(rng.laplace(scale=scale, size=400))
        fast, slow = (consistent_cdf(y, 300, error) for error in ("absolute", lambda v, x: np.abs(v - x)))
        assert total_cost(fast, y, COST["absolute"]) == pytest.approx(total_cost(slow, y, COST["absolute"]), rel=1e-12)


def test_many_bins_and_records_at_once() -> None:
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.poisson(1000, 200_000)) + rng.laplace(scale=3000.0, size=200_000)
    for error in ("squared", "absolute"):
        assert is_consistent(consistent_cdf(y, 200_000_000, error), 200_000_000)


@pytest.mark.parametrize("scale", [0.0, 100.0, 3e4, 1e9], ids=["sorted", "in pieces", "in few pieces", "in one piece"])
def test_a_fit_in_pieces_is_the_fit_of_the_whole(scale: float) -> None:
    rng = np.random.default_rng(4)
    y = np.cumsum(rng.poisson(1000, 100_001)) + scale * rng.laplace(size=100_001)
    fit = np.ceil(np.clip(isotonic_regression(y[:-1]).x, 0, 10**8) - 0.5)
    np.testing.assert_array_equal(consistent_cdf(y, 10**8)[:-1], fit)


def test_the_input_is_kept() -> None:
    y = np.array([5.0, 1.0, 3.0, 9.0])
    before = y.copy()
    for error in COST:
        consistent_cdf(y, 9, error)
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize(
    ("y", "n_records", "error", "code"),
    [
        ([1.0, np.nan], 3, "squared", "CDF_SHAPE"), ([1.0, np.inf], 3, "squared", "CDF_SHAPE"),
        ([], 3, "squared", "CDF_SHAPE"), ([[1.0, 2.0]], 3, "squared", "CDF_SHAPE"),
        ([1.0, 2.0], -1, "squared", "RECORDS_RANGE"), ([1.0, 2.0], 1.5, "squared", "RECORDS_RANGE"),
        ([1.0, 2.0], 3, "median", "VALUE_UNKNOWN"), ([1.0] * 1001, 10**6, lambda v, y: np.abs(v - y), "TRELLIS_SIZE"),
        ([1.0, 2.0], 3, lambda v, y: v * np.nan, "ERROR_FUNCTION"),
        ([1.0, 2.0], 3, lambda v, y: np.ones(2), "ERROR_FUNCTION"),
    ],
)  # fmt: skip
def test_refuses_in_one_sentence(y: list[float], n_records: int, error: object, code: str) -> None:
    with refuses(code):
        consistent_cdf(np.array(y), n_records, error)  # type: ignore[arg-type]
