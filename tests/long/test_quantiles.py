"""Quantiles are of the records in the bins, whoever is protected; the others are a number of their own.

What is true is counted here record by record; nothing of the code that is tested is used for it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from refusals import refuses
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import count_bins
from treedp_core.studies.cdf import CdfSettings, plan_cdf, quantiles
from treedp_core.studies.cdf import quantile as margins_of
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.compare import draw, quantile_table, release_table
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.studies.cdf.partition import DividedPlan
from treedp_core.studies.cdf.quantile import exact_quantiles, told

RELATIONS = [one.value for one in NeighbouringRelation]
LAWS = {"laplace": 0.0, "discrete_laplace": 0.0, "gaussian": 1e-6, "discrete_gaussian": 1e-6}
SHAPES = {
    "even": np.full(12, 25), "one bin": np.array([0] * 7 + [300] + [0] * 4),
    "both ends": np.array([150] + [0] * 10 + [150]), "few": np.array([0, 1, 0, 2, 1, 0, 0, 1, 0, 3, 0, 0]),
}  # fmt: skip
BLANKS = (0.0, 0.05, 0.5)


def true_bin(counts: np.ndarray[Any, Any], p: float) -> int:
    """The bin of the smallest value that a share p of all records does not exceed, record by record."""
    records = [i for i, n in enumerate(counts) for _ in range(n)]
    return records[math.ceil(p * len(records) - 1e-9) - 1]


def counted(text: str, upper: float = 64, n_bins: int = 64, **more: Any) -> Bins:
    return bins_of(count_bins(text.encode(), "age", lower=0, upper=upper, n_bins=n_bins, **more))


def ages(blanks: int = 500) -> str:
    """901 ages, 31 the middle one, and cells without a number."""
    numbers = [10] * 450 + [31] + [50] * 450
    return "age\n" + "".join(f"{one}\n" for one in numbers) + "?\n" * blanks


def released(data: Bins, epsilon: float = 50.0, **more: Any) -> Any:
    plan = plan_cdf(CdfSettings(data.n_bins, (data.n_bins,), epsilon=epsilon, has_other=data.has_other, **more))
    return draw(plan, data.counts, "squared", 7)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("blanks", [0, 500])
def test_records_without_a_number_do_not_move_a_median(relation: str, blanks: int) -> None:
    data = counted(ages(blanks))
    assert data.edges.tolist() == list(range(65)) and data.truth.tolist()[-1] == 901 and data.counts[-1] == blanks
    found = released(data, relation=relation)
    table = quantile_table(data, found)
    assert table["quantile"][2] == "50 %" and table["released"][2] == 31.0
    (name,) = [one for one in table if "NOT PRIVATE" in one]
    assert table[name][2] == 31.0 and ("within the bounds" in name) == bool(blanks)
    assert table["from"][2] <= 31.0 < table["to"][2] <= 51.0
    count, off = found.others
    assert abs(count - blanks) <= 3 and 0 < off < 4
    assert found.consistent[-1] == found.release.inside and abs(found.release.inside - 901) <= 3


@pytest.mark.parametrize("outside", ["other", "clamp"])
def test_numbers_beyond_the_bounds_are_apart_or_cut(outside: str) -> None:
    data = counted("age\n" + "5\n" * 3 + "20\n" * 2 + "99\n" * 4, outside=outside)
    truth = exact_quantiles(data.truth, [0.5])[0]
    assert data.is_cut == (outside == "clamp")
    assert truth.bin == (5 if outside == "other" else 20)
    assert data.truth_name == ("cut to the bounds" if data.is_cut else "true within the bounds")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(st.integers(-20, 100) | st.sampled_from(["", "?", "n/a"]), min_size=1, max_size=60),
    p=st.sampled_from([0.05, 0.25, 0.5, 0.75, 0.95, 1.0]),
    cut=st.booleans(),
    edges=st.none() | st.just([0, 5, 18, 64]),
)
def test_a_quantile_is_a_record_in_the_bins(values: list[Any], p: float, cut: bool, edges: list[int] | None) -> None:
    """Sorted by hand, what is beyond the bounds left out or cut to them: the bin holds the value that reaches p."""
    numbers = [one for one in values if isinstance(one, int)]
    if not numbers:
        return
    inside = [min(max(one, 0), 64) for one in numbers] if cut else [one for one in numbers if 0 <= one <= 64]
    text = "age,row\n" + "".join(f"{one},1\n" for one in values)
    bounds: dict[str, Any] = {"edges": edges} if edges else {"lower": 0, "upper": 64, "n_bins": 64}
    data = bins_of(count_bins(text.encode(), "age", outside="clamp" if cut else "other", **bounds))
    assert data.truth[-1] == len(inside) and data.total == len(values) and data.is_cut == cut
    found = exact_quantiles(data.truth, [p])
    assert len(found) == bool(inside)
    for one in found:
        value = sorted(inside)[math.ceil(p * len(inside) - 1e-9) - 1]
        low, high = data.edges[one.bin : one.bin + 2]
        assert low <= value < high or value == high == 64
        assert low <= told(data, one) <= one.value(data.edges) <= high  # type: ignore[operator]


@pytest.mark.parametrize("branching", [None, (8, 8)])
def test_others_beside_a_deeper_tree_are_apart_too(branching: tuple[int, ...] | None) -> None:
    data = counted(ages(), branching=branching)
    assert data.has_other and data.n_within == 64 and data.counts[-1] == 500 and data.truth[-1] == 901


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_records_in_the_bins_have_no_quantiles_and_nothing_breaks(relation: str) -> None:
    none = Bins("n", "x", np.array([0, 0, 0, 40]), np.arange(4.0), "f", has_other=True)
    found = released(none, 1.0, relation=relation)
    if found.release.inside == 0:
        assert found.quantiles == () and found.median is None
        assert all(column == [] for column in quantile_table(none, found).values())
    plan, lost = found.plan, replace(found.release, cumulative=np.array([2.0, 1.0, -3.2]))
    assert lost.inside == 0 and lost.consistent().tolist() == [0, 0, 0]
    assert quantiles(plan, lost, lost.consistent()) == ()
    few = replace(lost, cumulative=np.array([0.2, 0.9, 1.4]))
    (all_of_it,) = quantiles(plan, few, few.consistent(), (0.5,))
    assert (all_of_it.first, all_of_it.last) == (0, 2)


def test_exact_counts_leave_no_room_for_a_quantile() -> None:
    """No noise: what is first to reach p, by hand, also where a cumulative count is p of all exactly."""
    plan = plan_cdf(CdfSettings(4, (4,), "laplace", 1.0))
    object.__setattr__(plan, "variance", np.zeros(4))
    object.__setattr__(plan, "covariance", np.zeros(4))
    release = plan.release(np.array([2, 3, 0, 5]), np.random.default_rng(1))
    release = replace(release, cumulative=np.array([2.0, 5.0, 5.0, 10.0]))
    found = quantiles(plan, release, release.consistent(), (0.1, 0.5, 0.75, 1.0))
    assert [(one.bin, one.first, one.last) for one in found] == [(0, 0, 0), (1, 1, 1), (3, 3, 3), (3, 3, 3)]
    edges = np.array([0.0, 1.0, 2.0, 12.0, 32.0])
    assert [one.value(edges) for one in found] == [0.5, 2.0, 22.0, 32.0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 30), min_size=2, max_size=9),
    others=st.none() | st.integers(0, 40),
    relation=st.sampled_from(RELATIONS),
    law=st.sampled_from(sorted(LAWS)),
    averaged=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_covariance_is_that_of_the_weights_of_the_noise(
    counts: list[int], others: int | None, relation: str, law: str, averaged: bool, seed: int
) -> None:
    """What each noise value does to the cumulative counts is found by setting it to 1, one after the other."""
    cells = np.array(counts if others is None else [*counts, others])
    n = cells.size
    factors = (2, -(-n // 2)) if n > 2 else (n,)
    plan = plan_cdf(
        CdfSettings(
            n, factors, law, 1.0, LAWS[law], least_squares=averaged, relation=relation, has_other=others is not None
        )
    )
    assert not isinstance(plan, MatrixPlan | DividedPlan) and hasattr(plan, "noise")
    k = plan.settings.n_within
    each = plan.cumulative(np.eye(plan.tree.n_nodes))[:, :k]
    by_hand = (each * plan.noise.variance[:, None]).T @ each
    np.testing.assert_allclose(plan.covariance, by_hand[:, -1], atol=1e-8 * (1.0 + by_hand.max()))
    np.testing.assert_allclose(plan.variance, np.diag(by_hand), atol=1e-8 * (1.0 + by_hand.max()))
    found = draw(plan, cells, "squared", seed)
    assert (np.diff(found.consistent, prepend=0) >= 0).all() and found.consistent[-1] == found.release.inside >= 0
    assert (found.band.low <= found.band.high).all() and found.band.low.min() >= 0
    assert [one.first <= one.bin <= one.last for one in found.quantiles] == [True] * len(found.quantiles)
    assert len(found.quantiles) == (5 if found.release.inside else 0)


@pytest.mark.parametrize("strategy", ["root", "optimal", "identity"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("other", [False, True])
def test_the_covariance_of_a_matrix_is_that_of_its_rows(strategy: str, relation: str, other: bool) -> None:
    law = "discrete_laplace" if strategy == "identity" else "discrete_gaussian"
    plan = plan_cdf(CdfSettings(9, (), law, 1.0, LAWS[law], relation=relation, strategy=strategy, has_other=other))
    if isinstance(plan, MatrixPlan):
        each = plan.matrix.decode(np.eye(plan.matrix.n_rows))[:, : 9 - other]
        by_hand = plan.law.variance * each.T @ each
        np.testing.assert_allclose(plan.covariance, by_hand[:, -1], atol=1e-6 * by_hand.max())


# ---- coverage


def covered(plan: Any, counts: np.ndarray[Any, Any], p: float, releases: int, seed: int) -> int:
    """How many of so many releases have the true bin in their interval."""
    rng, inside = np.random.default_rng(seed), counts[: plan.settings.n_within]
    exact, errors = np.cumsum(inside), plan.errors(rng, releases)
    base = plan.release(counts, rng)
    wanted, found = true_bin(inside, p), 0
    for error in errors:
        one = replace(base, cumulative=exact + error)
        (quantile,) = quantiles(plan, one, np.maximum(exact, 1), (p,))
        found += quantile.first <= wanted <= quantile.last
    return found


RELEASES = 250


@pytest.mark.statistical
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("law", sorted(LAWS))
def test_intervals_hold_the_quantile_as_often_as_they_say(relation: str, law: str) -> None:
    """250 releases in each of 3 relations x 4 laws x 3 shares of blanks x 4 shapes x 2 probabilities: 288 cells.

    A cell fails below 0.95 by z standard errors, z being where 3 of one cell is among 288: 4.7 (false alarm of all
    together 0.1 %, as 3 standard errors have of one).
    """
    cells = 288
    z = -norm.ppf(norm.sf(3.0) / cells)
    least = math.floor(RELEASES * 0.95 - z * math.sqrt(RELEASES * 0.95 * 0.05))
    for share, (name, inside), p in product(BLANKS, SHAPES.items(), (0.5, 0.9)):
        others = round(share / (1 - share) * inside.sum())
        plan = plan_cdf(CdfSettings(13, (4, 4), law, 1.0, LAWS[law], relation=relation, has_other=True))
        counts = np.append(inside, others)
        assert covered(plan, counts, p, RELEASES, 11) >= least, (share, name, p)


@pytest.mark.statistical
@pytest.mark.parametrize("law", sorted(LAWS))
def test_margins_of_0_7_of_the_scale_do_not_hold_the_quantile(law: str, monkeypatch: Any) -> None:
    """The same test fails when margins are 0.7 of what they are: where two halves lie far apart and one bin decides."""
    inside = np.array([600, 600, 0, 0, 0, 0, 0, 0, 0, 0, 600, 600])
    plan = plan_cdf(CdfSettings(13, (4, 4), law, 0.1, LAWS[law], relation="add_or_remove_one", has_other=True))
    counts, releases = np.append(inside, 30), 4000
    least = releases * 0.95 - 3 * math.sqrt(releases * 0.95 * 0.05)
    assert covered(plan, counts, 0.5, releases, 12) >= least
    right = margins_of.reach
    monkeypatch.setattr("treedp_core.studies.cdf.quantile.reach", lambda *of: 0.7 * right(*of))
    assert covered(plan, counts, 0.5, releases, 12) < least


@pytest.mark.statistical
def test_quantiles_behind_a_partition_are_held_though_buckets_hide_bins() -> None:
    """150 releases, each with a partition of its own; below the 1e-6 quantile of binomial(150, 0.95) is a failure."""
    inside = np.array([40] * 8 + [0] * 16 + [3, 7, 90, 1, 0, 0, 2, 5])
    counts, held = np.append(inside, 400), 0
    plan = plan_cdf(CdfSettings(33, (), epsilon=2.0, strategy="partition", has_other=True, relation=RELATIONS[0]))
    for seed in range(150):
        found = draw(plan, counts, "squared", seed)
        assert found.plan.edges.tolist()[-2:] == [32, 33]
        held += found.median is not None and found.median.first <= true_bin(inside, 0.5) <= found.median.last
    assert held >= binom.ppf(1e-6, 150, 0.95)


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0, 9.0])
def test_margins_are_never_exceeded_more_often_than_once_in_twenty(law: str, scale: float) -> None:
    """Sums of up to eight values, exactly: whole-number laws by convolution, and a Laplace value by its own formula."""
    multiple = margins_of._multiple
    if law == "laplace":
        one = Laplace(scale)
        assert math.exp(-multiple(one) * math.sqrt(one.variance) / scale) == pytest.approx(0.05)
    elif law == "gaussian":
        assert 2 * norm.sf(multiple(Gaussian(scale))) == pytest.approx(0.05, rel=1e-6)
    else:
        x = np.arange(-200.0, 201.0)
        single = np.exp(-np.abs(x) / scale if law == "discrete_laplace" else -x * x / 2 / scale**2)
        total = single = single / single.sum()
        m = multiple(DiscreteLaplace(0.5) if law == "discrete_laplace" else DiscreteGaussian(1.0))
        for _ in range(8):
            at = np.arange(total.size) - total.size // 2
            off = m * math.sqrt(float((total * at * at).sum())) + 1.0
            assert total[np.abs(at) > off].sum() <= 0.05
            total = np.convolve(total, single)


# ---- refusals, and what is asked of whom


def test_own_ranges_hold_no_others() -> None:
    asked = CdfSettings(9, (), "discrete_gaussian", 1.0, 1e-6, strategy="optimal", workload="own", ranges=((3, 9),))
    plan_cdf(asked)
    with refuses("RANGE_BOUNDS"):
        plan_cdf(replace(asked, has_other=True))


def test_a_probability_is_one() -> None:
    plan = plan_cdf(CdfSettings(3, (3,)))
    release = plan.release(np.array([1, 2, 3]), np.random.default_rng(1))
    for p in (0.0, 1.5, math.nan):
        with refuses("PROBABILITY_RANGE"):
            quantiles(plan, release, release.consistent(), (p,))


def test_others_are_in_no_column_of_a_release() -> None:
    data = counted(ages())
    table = release_table(data, released(data))
    assert {len(column) for column in table.values()} == {64} and np.isfinite(table["up to"]).all()
