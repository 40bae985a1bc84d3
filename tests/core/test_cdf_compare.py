"""What the page CDF and ranges shows, computed: bins, a release beside the truth, pipelines beside the bound."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from oracles_cdf import least_mean_square
from oracles_pages import dataset
from refusals import refuses
from treedp_core.privacy import gaussian_sigma
from treedp_core.records import count_bins
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import PUBLISHED, SECTION_VI, CdfSettings, consistency_gains, plan_cdf
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.compare import EQUAL, YOURS, draw, half_widths
from treedp_core.studies.cdf.error import Criterion, cdf_lower_bound
from treedp_core.studies.cdf.error.bound import any_mechanism, ranges_lower_bound
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix
from treedp_core.studies.cdf.matrices.p_identity import identity_matrix
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.cdf.pipelines import above_bound, distance_table, has_bound
from treedp_core.tree import Tree
from treedp_core.tree.workloads import Workload
from treedp_core.views.cdf.words import band_answer
from treedp_core.watch import Cancelled, Watch
from treedp_core.words import margin


def distances(n_bins: int, workload: Workload = Workload.CDF) -> tuple[list[str], list[float]]:
    best = best_shape(n_bins, Criterion("gaussian", workload, least_squares=True))
    labels, ratios = distance_table(n_bins, best, workload=workload).values()
    return labels, ratios


@pytest.mark.parametrize("branching", [None, (2, 4)])
def test_records_without_a_bin_are_counted_apart(branching: tuple[int, ...] | None) -> None:
    data = count_bins(b"size\n1\n3\n-1\nten\n", "size", lower=0, upper=8, n_bins=8, branching=branching)
    bins = bins_of(data)
    assert bins.has_other and bins.numeric
    assert bins.edges.tolist() == [*range(9)] and bins.counts.tolist() == [0, 1, 0, 1, 0, 0, 0, 0, 2]


def test_a_hierarchy_is_read_as_leaves_in_their_order() -> None:
    bins = bins_of(dataset(Tree.from_branching_factors((2, 3)), [1, 2, 3, 4, 5, 6]))
    assert not bins.numeric
    assert bins.truth.tolist() == [1, 3, 6, 10, 15, 21]


def test_leaves_on_different_levels_are_no_bins() -> None:
    ragged = Tree.from_child_counts([np.array([2]), np.array([0, 2])])
    data = dataset(ragged, [1, 2, 3])
    with refuses("CDF_SHAPE"):
        bins_of(data)


def test_labels_that_only_look_like_intervals_give_no_edges() -> None:
    data = dataset(Tree.from_branching_factors((2,)), [1, 2], prefix="[5, 1)")
    assert not bins_of(data).numeric


@pytest.mark.parametrize("workload", [Workload.CDF, Workload.RANGES])
def test_no_tree_is_below_the_bound(workload: Workload) -> None:
    for bins in (2, 3, 16, 100):
        labels, ratios = distances(bins, workload)
        assert min(ratios) >= 1 - 1e-9
        assert ratios == sorted(ratios, reverse=True)
        assert len(labels) == len(ratios)


def test_the_distance_from_the_bound_for_ranges_by_listing_them() -> None:
    """Eight bins: noise of one law on each but the last, which is the rest; of a range its bins or all others add."""
    labels, ratios = distances(8, Workload.RANGES)
    rows = dict(zip(labels, ratios, strict=True))
    ranges = [(start, stop) for start in range(8) for stop in range(start + 1, 9)]
    mean = sum(stop - start if stop < 8 else start for start, stop in ranges) / len(ranges)  # sensitivity √2, ρ = 1
    noisy = np.full(8, 1.0)
    fitted = sum(noisy[start:stop].sum() * (1 - (stop - start) / 8) for start, stop in ranges) / len(ranges)
    assert rows["Histogram, least squares"] / rows["Histogram"] == pytest.approx(fitted / mean)
    lower = ranges_lower_bound(8, 1e-3).lower
    assert rows["Histogram, least squares"] == pytest.approx(fitted / lower, rel=0.003)


def test_two_bins_have_a_bound_by_hand() -> None:
    """K = 2, rho = 1: one number of sensitivity 1, variance 1 / 2, mean over 2 prefixes 1 / 4; the histogram has twice
    that, sigma^2 = 2 / (2 rho) = 1 for the first prefix."""
    labels, ratios = distances(2)
    assert dict(zip(labels, ratios, strict=True))["Histogram"] == pytest.approx(2.0)
    assert ratios[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("workload", ["cdf", "ranges"])
@pytest.mark.parametrize("n_bins", [2, 3, 8, 32])
def test_no_mechanism_that_we_know_is_below_the_bound_for_any(n_bins: int, workload: str) -> None:
    """Laplace noise by the best matrices, discrete Laplace noise on bins, and Gaussian noise by the optimal matrix."""
    bound = {"cdf": cdf_lower_bound, "ranges": ranges_lower_bound}[workload](n_bins, 0.003)
    sought = identity_matrix(Wanted(n_bins, workload), True)
    bins = WholeMatrix(np.eye(n_bins, dtype=np.int32), True, Wanted(n_bins, workload))
    for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0):
        pure = any_mechanism(bound.lower, epsilon)
        assert pure <= sought.mean_variance * 2 * (sought.pair_sum() / epsilon) ** 2
        assert pure <= bins.mean_variance / (math.cosh(epsilon / 2) - 1)
        for delta in (1e-9, 1e-6, 1e-2):
            assert any_mechanism(bound.lower, epsilon, delta) < pure
            assert (
                any_mechanism(bound.lower, epsilon, delta) <= bound.attained * 2 * gaussian_sigma(epsilon, delta) ** 2
            )


def test_the_bound_for_any_mechanism_by_hand() -> None:
    """Two bins are one number that moves by 1: of three ranges two have its error, of two cumulative counts one.

    Whole-number noise has twice the bound in it: 1 / (cosh(epsilon) - 1) is the variance of discrete Laplace noise.
    """
    for epsilon in (0.1, 1.0, 10.0):
        half = 1 / (2 * (math.cosh(epsilon) - 1))
        assert any_mechanism(cdf_lower_bound(2).lower, epsilon) == pytest.approx(half / 2, rel=1e-6)
        assert any_mechanism(ranges_lower_bound(2).lower, epsilon) == pytest.approx(half * 2 / 3, rel=1e-6)
        assert any_mechanism(1.0, epsilon, 1e-6, 3) == pytest.approx(9 * any_mechanism(1.0, epsilon, 1e-6))
    assert any_mechanism(1.0, math.log(3), 0.01) == pytest.approx(0.6975 / 2 / 0.55**2), "kappa = 0.55"
    assert 0 < any_mechanism(1.0, 100.0) < 1e-43


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize(
    ("n_bins", "epsilon", "delta", "side"), [(2, 1.0, 1e-3, 14), (3, 2.0, 0.01, 5), (3, 3.0, 1e-3, 4)]
)
def test_the_best_noise_there_is_obeys_the_bound_for_any_mechanism(
    n_bins: int, epsilon: float, delta: float, side: int, ranges: bool
) -> None:
    lower = (ranges_lower_bound if ranges else cdf_lower_bound)(n_bins, 1e-3).lower
    least = least_mean_square(n_bins, epsilon, delta, side, ranges)
    assert any_mechanism(lower, epsilon, delta) <= least < 4 * any_mechanism(lower, epsilon, delta)


def test_a_gaussian_release_beside_the_bound() -> None:
    """K = 2 at rho = 1 by hand: the histogram's first prefix has variance sigma^2 = 1, half of it after least squares
    with the known total; the bound is 1 / 4 over two prefixes."""
    for least_squares, expected in ((False, 2.0), (True, 1.0)):
        plan = plan_cdf(CdfSettings(2, (2,), "gaussian", 1.0, 1e-6, least_squares=least_squares))
        assert has_bound(plan)
        assert above_bound(plan, 0.25) == pytest.approx(expected, rel=1e-6)
    assert not has_bound(plan_cdf(CdfSettings(2, (2,), "laplace")))


def test_a_million_bins_feel_instant() -> None:
    """One release with consistency; about 0.4 s on an idle core."""
    counts = np.ones(2**20, dtype=np.int64)
    data = Bins("many", "x", counts, np.arange(2**20 + 1.0), "f")
    plan = plan_cdf(CdfSettings(data.n_bins, (16,) * 5))
    start = time.process_time()  # of this process: the machine may be busy with others
    made = draw(plan, data.counts, "squared", 7)
    assert time.process_time() - start < 3.0
    assert made.consistent is not None
    assert made.consistent[-1] == 2**20
    assert (np.diff(made.consistent) >= 0).all()


@pytest.mark.statistical
def test_the_experiment_repeats_the_paper_and_a_mutant_does_not() -> None:
    """Paper and ours are means of 100 runs; |z| <= 5 each, false alarm 4 * 6e-7 for a normal mean. Seed 7.

    The mutant has twice the noise (epsilon 0.1 / 2): at least one of its four means must be more than 5 off.
    """

    def apart(settings: CdfSettings) -> list[float]:
        gain = consistency_gains([settings], 900, 100, 7)[0]
        pairs = [(PUBLISHED[name], getattr(gain, name)) for name in PUBLISHED]
        return [abs(paper - ours.mean) / (ours.se * math.sqrt(2)) for paper, ours in pairs]

    right = SECTION_VI[0]
    assert max(apart(right)) < 5
    assert max(apart(CdfSettings(997, (997,), "laplace", 0.1 / 2, least_squares=False))) > 5


def test_a_search_for_the_bound_stops_when_told() -> None:
    with pytest.raises(Cancelled):
        distance_table(300, best_shape(300, Criterion("gaussian")), Watch(cancelled=lambda: True))


@pytest.mark.parametrize("allocation", ["uniform", "optimal", "cube_root"])
def test_a_split_is_shown_beside_equal_budgets(allocation: str) -> None:
    """The same tree, noise and total: what differs is the split; the best one is better where it is worst."""
    factors = (4, 64)
    settings = CdfSettings(256, factors, "laplace", 1.0, allocation=allocation, least_squares=False)
    mine = draw(plan_cdf(settings), np.ones(256, dtype=np.int64), "squared", 1)
    found = {one.name: one for one in half_widths(mine)}
    assert (EQUAL in found) is (allocation != "uniform")
    if allocation == "uniform":
        return
    equal = plan_cdf(replace(settings, allocation="uniform"))
    np.testing.assert_allclose(found[EQUAL].half / found[EQUAL].largest, np.sqrt(equal.variance / equal.variance.max()))
    if allocation == "optimal":
        assert found[YOURS].largest < found[EQUAL].largest
        assert f"tree with equal budgets needs ± {margin(found[EQUAL].largest)}" in band_answer([*found.values()], 256)
