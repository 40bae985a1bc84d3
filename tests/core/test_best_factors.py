"""Branching factors for given budgets against all trees listed, a constrained search, and releases drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import minimize

from refusals import refuses
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching.factors import (
    best_factors,
    best_factors_from_two,
    best_whole,
    bound_on_trees,
    mean_variance,
    number_of_trees,
    sandwich,
    shares_checked,
    variances_of,
)
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Shape

SHARES = [(0.6, 0.4), (0.5, 0.3, 0.2), (0.1, 0.2, 0.3, 0.4), (0.02, 0.97)]


def digits(factors: tuple[int, ...], n_bins: int) -> np.ndarray:
    """How often the covers of all prefixes use a level's nodes: digits of each number below K, one by one."""
    sums = np.zeros(len(factors))
    for j in range(n_bins):
        rest = j
        for level in reversed(range(len(factors))):
            sums[level] += rest % factors[level]
            rest //= factors[level]
    return sums


def trees(n_bins: int, height: int) -> Iterator[tuple[int, ...]]:
    """Every padded tree: factors from 2 to K, a product of at least K."""
    lower = itertools.product(range(2, n_bins + 1), repeat=height - 1)
    return ((first, *rest) for rest in lower if (first := math.ceil(n_bins / math.prod(rest))) >= 2)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("n_bins", [9, 23, 30])
def test_the_best_whole_tree_is_the_best_of_all_that_are_listed(shares: tuple[float, ...], n_bins: int) -> None:
    noise = 8.0 / np.square(shares)
    listed = {one: digits(one, n_bins) @ noise / n_bins for one in trees(n_bins, len(shares))}
    found = best_whole(n_bins, noise)
    assert found.is_sure and found.value == pytest.approx(min(listed.values()), rel=1e-12)
    assert listed[found.shape.branching_factors] == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("n_bins", [64, 360, 1000])
def test_without_padding_it_is_the_best_of_all_factorisations(n_bins: int) -> None:
    noise = 8.0 / np.square((0.5, 0.3, 0.2))
    listed = [
        (a, b, n_bins // a // b)
        for a in range(2, n_bins)
        for b in range(2, n_bins)
        if n_bins % (a * b) == 0 and n_bins // a // b > 1
    ]
    least = min(sum((n - 1) / 2 * v for n, v in zip(one, noise, strict=True)) for one in listed)
    assert best_whole(n_bins, noise, padded=False).value == pytest.approx(least, rel=1e-12)


def test_of_many_bins_the_search_ends_close_to_the_real_factors() -> None:
    """A first level that is not filled may make a padded tree a little better than they are."""
    for shares in SHARES[:3]:
        noise = 8.0 / np.square(shares)
        found = best_whole(10**9, noise)
        real = float(noise @ (np.array(best_factors(10**9, shares)) - 1.0)) / 2.0
        assert not found.is_sure and found.value == pytest.approx(real, rel=0.005)
    with refuses("TREE_SHAPE", "divisors"):
        best_whole(963_761_198_400, np.ones(3), padded=False)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("n_bins", "shares"), [(256, (0.6, 0.4)), (16, (0.9, 0.1)), (40, (0.7, 0.2, 0.1))])
def test_real_factors_are_where_a_constrained_search_ends(n_bins: int, shares: tuple[float, ...], power: int) -> None:
    """In ln n, with product K; with and without 2 children at least."""
    weight = 1.0 / np.array(shares) ** power
    for least, found in (
        (None, best_factors(n_bins, shares, power)),
        (math.log(2), best_factors_from_two(n_bins, shares, power)),
    ):
        start = np.full(len(shares), math.log(n_bins) / len(shares))
        ends = minimize(
            lambda r: float(weight @ np.exp(r)), start, method="SLSQP", bounds=[(least, None)] * len(shares),
            constraints={"type": "eq", "fun": lambda r: r.sum() - math.log(n_bins)},
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        assert math.prod(found) == pytest.approx(n_bins)
        assert float(weight @ found) <= float(ends.fun) * (1 + 1e-9)
        assert np.log(found) == pytest.approx(ends.x, abs=2e-3)


def test_best_factors_have_the_product_that_is_asked_for() -> None:
    found = best_factors(4096, (0.5, 0.3, 0.2))
    assert found == pytest.approx([41.42976674605144, 14.914716028578518, 6.628762679368234])
    assert best_factors(4096, (0.5, 0.25), 1) == pytest.approx([math.sqrt(8192), math.sqrt(2048)])


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_error_is_that_of_releases_and_not_a_tenth_more_or_less(mechanism: str) -> None:
    """N is public: the last count is exact."""
    shares, trials = (0.5, 0.3, 0.2), 12_000
    criterion = Criterion(mechanism)
    settings = CdfSettings(50, (), mechanism, 1.0, 1e-6, "custom", (0.0, *shares), least_squares=False)
    total = plan_cdf(CdfSettings(50, (50,), mechanism, 1.0, 1e-6)).total
    found = best_whole(50, variances_of(criterion, shares, total))
    plan = plan_cdf(CdfSettings(**{**vars(settings), "branching_factors": found.shape.branching_factors}))
    squares = np.square(plan.errors(np.random.default_rng(5), trials)).mean(axis=1)
    within = 4.5 * squares.std() / math.sqrt(trials) / found.value
    assert within < 0.1
    assert abs(squares.mean() / found.value - 1.0) < within


def test_noise_follows_who_is_protected_and_what_is_spent() -> None:
    shares = (0.5, 0.25)
    assert variances_of(Criterion(), shares, 2.0) == pytest.approx([8.0, 32.0])
    added = Criterion(unit=ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, 3))
    assert variances_of(added, shares, 2.0) == pytest.approx([18.0, 72.0])
    assert variances_of(Criterion("gaussian"), shares, 2.0) == pytest.approx([1.0, 2.0])
    with refuses("RELATION"):
        variances_of(Criterion(unit=ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN)), shares, 1.0)


@pytest.mark.parametrize("shares", [(), (0.0, 1.0), (0.6, 0.6), (math.nan, 0.5), (math.inf,), (0.01,) * 41])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with refuses("BUDGET_SPLIT"):
        shares_checked(shares)


def test_more_levels_than_bins_are_refused() -> None:
    assert best_whole(5, np.ones(3)).shape.branching_factors == (2, 2, 2)
    for padded in (True, False):
        with refuses("TREE_SHAPE"):
            best_whole(4, np.ones(3), padded=padded)
    with refuses("TREE_SHAPE"):
        best_factors_from_two(7, (0.3, 0.3, 0.3))
    with refuses("TREE_SHAPE", "padding"):
        best_whole(997, np.ones(2), padded=False)


def test_the_number_of_trees_is_that_of_a_list_and_at_most_the_bound() -> None:
    def listed(k: int) -> int:
        return 1 + sum(listed(k // n) for n in range(2, k) if k % n == 0)

    for k in (2, 12, 64, 97, 210, 360, 1024):
        assert number_of_trees(k) == listed(k) <= bound_on_trees(k)
    assert number_of_trees(10**15) > 10**9


def test_the_approximation_is_at_most_twice_the_error() -> None:
    rng = np.random.default_rng(9)
    for _ in range(100):
        height = int(rng.integers(1, 5))
        factors, shares = rng.integers(2, 9, height), rng.dirichlet(np.ones(height))
        exact = digits(tuple(factors.tolist()), int(factors.prod())) @ (8 / shares**2) / factors.prod()
        assert mean_variance(Shape.full(factors.tolist()), 8 / shares**2) == pytest.approx(exact)
        above = float(4 * (factors / shares**2).sum())
        assert above / 2 * (1 - 1e-9) <= exact <= above
    rows = sandwich(4096, Criterion(), [1, 3, 12])
    assert rows["exact"] == pytest.approx([4 * 4095, 4 * 27 * 15, 4 * 12**3])
    assert rows["half of it"][2] == pytest.approx(rows["exact"][2])
    assert sandwich(4096, Criterion("gaussian"), [3])["exact"] == pytest.approx([9 * 15 / 2])
