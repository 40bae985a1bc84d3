"""Families made whole: against exhaustive search, against the printed loop, and on ragged levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_top_down import divisions, printed_loop, smallest_cost, smallest_radius
from refusals import refuses
from treedp_core.postprocess.families import (
    BLOCK_CELLS,
    RULES,
    controlled_rounding,
    groups,
    int_opt,
    project_families,
    simplex,
    water_filling,
)

PHIS = {
    "absolute": abs, "squared": lambda z: z * z, "fourth": lambda z: z**4,
    "one-sided": lambda z: max(z, 0.0) ** 2 + 3 * max(-z, 0.0),
}  # fmt: skip
SMALL = [(n, low, high) for n, low, high in ((1, -5, 6), (2, -4, 6), (3, -3, 4), (4, -2, 3))]


def small_families(n: int, low: int, high: int) -> np.ndarray:
    return np.array(list(product(range(low, high + 1), repeat=n)))


@pytest.mark.parametrize(("n", "low", "high"), SMALL)
def test_both_rules_equal_exhaustive_search_on_all_small_families(n: int, low: int, high: int) -> None:
    """Water filling attains the smallest cost for every convex phi; both rules the smallest largest distance."""
    rows = small_families(n, low, high)
    for total in range(6):
        everything = np.array(list(divisions(total, n)))
        change = everything[None] - rows[:, None]
        filled, printed = (RULES[name](rows, np.full(len(rows), total)) for name in ("water_filling", "intopt"))
        for y in (filled, printed):
            assert (y >= 0).all() and (y.sum(axis=1) == total).all()
            assert (np.abs(y - rows).max(axis=1) == np.abs(change).max(axis=2).min(axis=1)).all()
        for phi in PHIS.values():
            cost = np.vectorize(phi, otypes=[float])
            np.testing.assert_array_equal(cost(filled - rows).sum(axis=1), cost(change).sum(axis=2).min(axis=1))


@pytest.mark.parametrize(("n", "low", "high"), SMALL)
def test_the_printed_rule_is_the_printed_loop_on_all_small_families(n: int, low: int, high: int) -> None:
    rows = small_families(n, low, high)
    for total in range(0, 9, 2):
        found = int_opt(rows, np.full(len(rows), total)).tolist()
        assert found == [printed_loop(row, total) for row in rows.tolist()]


@given(st.lists(st.integers(-40, 60), min_size=1, max_size=12), st.integers(0, 200))
def test_the_printed_rule_is_the_printed_loop(x: list[int], total: int) -> None:
    assert int_opt(np.array(x), np.array(total)).tolist() == printed_loop(x, total)


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=8), st.integers(0, 60))
def test_water_filling_has_the_smallest_radius_and_equals_itself_on_floats(x: list[int], total: int) -> None:
    y = water_filling(np.array(x), np.array(total))
    assert int(np.abs(y - x).max()) == smallest_radius(x, total)
    assert y.tolist() == water_filling(np.array(x, dtype=float), np.array(total)).tolist()


@given(st.lists(st.integers(-12, 20).map(lambda k: k / 4), min_size=1, max_size=4), st.integers(0, 7))
def test_water_filling_of_reals_is_best_for_every_convex_cost(x: list[float], total: int) -> None:
    y = water_filling(np.array(x), np.array(total)).tolist()
    assert sum(y) == total and min(y) >= 0
    for phi in PHIS.values():
        assert sum(phi(b - a) for a, b in zip(x, y, strict=True)) == pytest.approx(smallest_cost(x, total, phi))


def test_the_published_example_of_ties() -> None:
    """By hand: shift 1, z = (1, 1, 1, 5); the first pass takes 3 from the first 3 and 0 from the next ones."""
    assert printed_loop([3, 3, 3, -5], 5) == [0, 1, 4, 0]
    assert int_opt(np.array([3, 3, 3, -5]), np.array(5)).tolist() == [0, 1, 4, 0]
    assert water_filling(np.array([3, 3, 3, -5]), np.array(5)).tolist() == [1, 2, 2, 0]


def test_values_that_take_the_loop_hundreds_of_thousands_of_steps() -> None:
    """From x = (10^5, 0, 0, 0) all but the total must go, one radius at a time in the loop."""
    for total in (0, 1):
        assert int_opt(np.array([10**5, 0, 0, 0]), np.array(total)).tolist() == [total, 0, 0, 0]


@pytest.mark.parametrize("rule", list(RULES.values()))
def test_large_numbers_are_exact(rule: object) -> None:
    """Beyond 32 bits, and beside small rows whose sums fit into 32 bits."""
    big = 2**51
    y = rule(np.array([[big, 5, -big], [1, 2, 3]]), np.array([big + 7, 6]))  # type: ignore[operator]
    expected = printed_loop([big, 5, -big], big + 7) if rule is int_opt else [big + 1, 6, 0]
    assert y.tolist() == [expected, [1, 2, 3]]


@pytest.mark.parametrize("rule", [*RULES.values(), controlled_rounding])
@pytest.mark.parametrize("sign", [1, -1])
def test_families_whose_sums_do_not_fit_are_refused(rule: object, sign: int) -> None:
    """2,000 values of 2^53 - 1 add up to more than 2^63; one row among small ones is enough, and so is a total."""
    largest = 2**53 - 1
    too_many = np.ones((3, 2000), dtype=np.int64)
    too_many[1] = sign * largest
    for rows, total in (
        (too_many, 2000),
        (np.array([[sign * 2**61, sign * 2**61, 2**20]]), 5),
        (np.ones((1, 2)), 2.0**63),
    ):
        for kind in (np.int64, np.float64):
            with refuses("VALUE_RANGE"):
                rule(rows.astype(kind), np.full(len(rows), total))  # type: ignore[operator]


@pytest.mark.parametrize("rule", list(RULES.values()))
@pytest.mark.parametrize("row", [(2**62 - 8, 0, 0), (2**61 - 4, 2**61 - 5, 1), (2**61, 5 - 2**61, 1)])
def test_the_largest_sums_that_fit_are_exact(rule: object, row: tuple[int, ...]) -> None:
    """Totals of 0 to 3 come out exactly, and no value is further off than the smallest radius that any family needs."""
    for total in range(4):
        y = rule(np.array([row]), np.array([total]))[0].tolist()  # type: ignore[operator]
        assert sum(y) == total and min(y) >= 0
        reach = max(abs(a - b) for a, b in zip(y, row, strict=True))
        low, high = (sum(max(0, x - reach + 1) for x in row), min(x + reach - 1 for x in row))
        assert not (high >= 0 and low <= total <= sum(x + reach - 1 for x in row))  # no smaller radius would do


@pytest.mark.parametrize("rule", list(RULES.values()))
def test_blocks_do_not_show(rule: object) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(-9, 20, (3 * BLOCK_CELLS // 7, 7))
    total = rng.integers(0, 60, len(rows))
    whole = rule(rows, total)  # type: ignore[operator]
    pick = rng.integers(0, len(rows), 50)
    assert (whole[pick] == [rule(rows[i], total[i]) for i in pick]).all()  # type: ignore[operator]


def test_ragged_families_are_projected_each_by_itself_with_trials_in_front() -> None:
    rng = np.random.default_rng(4)
    n_children = np.array([3, 0, 1, 4, 3, 0, 2])
    noisy, total = rng.integers(-5, 12, (6, 13)), rng.integers(0, 20, (6, 7))
    begin = np.cumsum(n_children) - n_children
    for rule in RULES.values():
        out = project_families(rule, noisy, total, groups(n_children))
        for trial in range(6):
            for family, size in enumerate(n_children):
                here = slice(begin[family], begin[family] + size)
                if size:
                    assert out[trial, here].tolist() == rule(noisy[trial, here], total[trial, family]).tolist()


@given(st.lists(st.floats(-20, 30), min_size=1, max_size=7), st.floats(0, 50))
def test_the_simplex_projection_satisfies_its_optimality_conditions(x: list[float], total: float) -> None:
    """y = max(x - level, 0) for one level, and the right sum: necessary and sufficient for a convex problem."""
    y = simplex(np.array(x), np.array(total))
    assert y.sum() == pytest.approx(total, abs=1e-9) and (y >= 0).all()
    active = y > 0
    if active.any():
        level = (np.array(x) - y)[active]
        assert np.ptp(level) < 1e-9
        assert (np.array(x)[~active] <= level[0] + 1e-9).all()


@given(st.lists(st.floats(0, 9), min_size=1, max_size=8), st.booleans())
def test_controlled_rounding_takes_floors_and_ceilings(x: list[float], up: bool) -> None:
    total = int(np.ceil(sum(x)) if up else np.floor(sum(x)))
    y = controlled_rounding(np.array(x), np.array(total))
    assert y.sum() == total
    assert (np.abs(y - x) < 1 + 1e-9).all()


@pytest.mark.parametrize("total", [-1, np.nan])
def test_a_negative_total_is_refused(total: float) -> None:
    with refuses("TOTAL_RANGE", "at least 0"):
        water_filling(np.array([1, 2]), np.array(total))


@pytest.mark.parametrize("rule", list(RULES.values()))
@pytest.mark.parametrize("large", [2**28 - 1, 2**29 - 1, 2**30 - 1, 2**31 - 1])
def test_families_at_the_edge_of_32_bits(rule: object, large: int) -> None:
    """A single child takes its parent's total, however far its noisy count is from it; two share what fits."""
    assert rule(np.array([-large]), np.array(5)).tolist() == [5]  # type: ignore[operator]
    assert rule(np.array([-large]), np.array(large)).tolist() == [large]  # type: ignore[operator]
    assert rule(np.array([-large, large]), np.array(large)).tolist() == [0, large]  # type: ignore[operator]


@pytest.mark.parametrize("rule", [water_filling, int_opt, simplex, controlled_rounding])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_are_no_counts_are_refused(rule: object, value: float) -> None:
    with refuses("VALUE_RANGE", "finite"):
        rule(np.array([value, 1.0, 2.0]), np.array(3))  # type: ignore[operator]
