"""Named baselines against dense algebra and published measurements; and what help says of the recommended chain."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product
from unittest.mock import patch

import numpy as np
import pytest

from treedp_core import postprocess
from treedp_core.allocation import split
from treedp_core.mechanisms import MECHANISMS
from treedp_core.noise import DiscreteLaplace
from treedp_core.postprocess.chains import CHAINS, RECOMMENDED
from treedp_core.postprocess.isotonic import consistent_cdf
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import baselines as study
from treedp_core.studies.cdf.baselines import BASELINES, ahp, baseline_table, groups, hb_children
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.partition import when_it_pays
from treedp_core.studies.cdf.release import CdfSettings, plan_tree
from treedp_core.studies.methods.comparison import compared
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree

ADD, REPLACE = (
    ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
)  # fmt: skip


def tree_rows(n_bins: int, b: int) -> list[np.ndarray]:
    """Rows of ones of every node of a padded tree that holds a bin, the root first."""
    size = 1
    while size < n_bins:
        size *= b
    rows = []
    while size >= 1:
        for low in range(0, n_bins, size):
            rows.append((np.arange(n_bins) // size == low // size).astype(float))
        size //= b
    return rows


def haar_rows(n_bins: int) -> list[np.ndarray]:
    """The total, and left half minus right half of every dyadic interval, on the next power of two."""
    size = 1 << (n_bins - 1).bit_length()
    rows, n = [np.ones(size)], size
    while n > 1:
        for low in range(0, size, n):
            at = np.arange(size)
            inside = (at >= low) & (at < low + n)
            rows.append(np.where(inside, np.where(at < low + n // 2, 1.0, -1.0), 0.0))
        n //= 2
    return rows


def dense_error(rows: list[np.ndarray], n_bins: int, unit: ProtectedUnit) -> float:
    """Mean variance at epsilon 1: all pairs of columns for the scale, least squares by dense algebra, N exact."""
    matrix = np.array(rows)
    if unit is ADD:
        scale = np.abs(matrix).sum(axis=0).max()
        weights = np.ones(len(rows))
    else:
        columns = matrix[1:].T
        scale = max(np.abs(a - b).sum() for a in columns[:n_bins] for b in columns[:n_bins])
        weights = np.array([1e6] + [1.0] * (len(rows) - 1))
    solved = np.linalg.pinv(matrix * weights[:, None]) * weights
    if unit is REPLACE:
        solved[:, 0] = 0.0
    prefixes = np.cumsum(solved, axis=0)[:n_bins]
    return float(2 * scale**2 * np.square(prefixes).sum() / n_bins)


@pytest.mark.parametrize("n_bins", [3, 4, 8, 13, 16, 27])
@pytest.mark.parametrize("unit", [ADD, REPLACE], ids=["added", "replaced"])
def test_each_is_its_dense_matrix(n_bins: int, unit: ProtectedUnit) -> None:
    privelet = dense_error(haar_rows(n_bins), n_bins, unit)
    assert BASELINES["privelet"].error(n_bins, unit) == pytest.approx(privelet, rel=1e-6)
    if n_bins in (8, 16):
        assert BASELINES["h2"].error(n_bins, unit) == pytest.approx(
            dense_error(tree_rows(n_bins, 2), n_bins, unit), rel=1e-6
        )
    if n_bins in (16, 27):
        b = hb_children(n_bins)
        hb = BASELINES["hb"].error(n_bins, unit)
        if b < n_bins:
            assert hb == pytest.approx(dense_error(tree_rows(n_bins, b), n_bins, unit), rel=1e-6)


@pytest.mark.parametrize("n_bins", [2, 3, 10, 100, 256, 997, 1024])
def test_the_children_of_hb_are_those_of_a_search_through_all(n_bins: int) -> None:
    def levels(b: int) -> int:
        h = 0
        while b**h < n_bins:
            h += 1
        return h

    costs = {b: (b - 1) * levels(b) ** 3 - 2 * (b + 1) * levels(b) ** 2 / 3 for b in range(2, n_bins + 1)}
    assert costs[hb_children(n_bins)] == min(costs.values())


@pytest.mark.parametrize(
    ("name", "n_bins", "measured", "error"),
    [("h2", 256, 203, 28), ("h2", 1024, 290, 23), ("hb", 256, 102, 8), ("hb", 1024, 236, 53)],
)
def test_they_are_what_the_published_code_was_measured_at(
    name: str, n_bins: int, measured: float, error: float
) -> None:
    assert abs(BASELINES[name].error(n_bins, ADD) - measured) < 2 * error


def test_best_budgets_are_no_worse_than_greedy_ones_and_our_tree_is_as_good() -> None:
    assert BASELINES["greedy_h"].error(256, ADD) <= 83.4 and BASELINES["greedy_h"].error(1024, ADD) <= 205.1
    best = best_shape(256, Criterion(least_squares=True))
    table = baseline_table(256, 2.0, 1, best)
    assert len(table["mechanism"]) == 1 + sum(one.error is not None for one in BASELINES.values())
    assert 0.99 < min(table["÷ best found tree"]) <= 1.0, "equal budgets against the best ones of a binary tree"
    h2 = table["mechanism"].index("H2")
    assert table["RMSE of a cumulative count"][h2] == pytest.approx(math.sqrt(BASELINES["h2"].error(256, REPLACE)) / 2)
    big = baseline_table(1 << 20, 1.0, 1, best_shape(1 << 20, Criterion(least_squares=True)))
    assert "GreedyH at its best" not in big["mechanism"]


def test_non_negative_least_squares_adds_up_its_bias_where_no_total_is_measured() -> None:
    """What its help says, and that least squares then water filling errs least: 40 of 1 024 bins hold records."""
    tree, rng = Tree.from_branching_factors((32, 32)), np.random.default_rng(5)
    bins = np.zeros(1024, dtype=np.int64)
    bins[rng.choice(1024, 40, replace=False)] = 300 * rng.pareto(1.0, 40)
    counts = tree.counts_of_leaves(bins)
    error: dict[tuple[str, bool], float] = {}
    for shares in ((0.0, 0.5, 0.5), (0.2, 0.4, 0.4)):
        noise = MECHANISMS["discrete_laplace"].plan(
            tree, split(tree, 1.0, Currency.EPSILON, ADD, "custom", shares), ADD
        )
        noisy = counts + noise.draw(np.random.default_rng(1), 10)
        for name in ("least_squares", "non_negative_least_squares", RECOMMENDED):
            step, _ = postprocess.prepare(tree, noise.variance, CHAINS[name].steps)
            off = np.cumsum(step(noisy)[:, tree.level(2)] - bins, axis=1)
            error[name, shares[0] > 0] = float(np.sqrt(np.square(off).mean()))
    fitted, biased, recommended = (
        error[name, False] for name in ("least_squares", "non_negative_least_squares", RECOMMENDED)
    )
    assert biased > 3 * fitted > 3 * recommended
    assert error["non_negative_least_squares", True] < biased / 3
    assert "no total is measured" in postprocess.POSTPROCESSORS["non_negative_least_squares"].help


def test_the_recommended_chain_says_so_is_at_first_sight_and_is_what_topdown_begins_with() -> None:
    assert CHAINS[RECOMMENDED].help.startswith("Recommended")
    assert [one.name for one in CHAINS.values() if one.basic] == ["none", "least_squares", "non_negative", RECOMMENDED]
    assert RULES["ls_water_filling"].steps == CHAINS[RECOMMENDED].steps


@pytest.mark.statistical
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_no_chain_of_whole_counts_errs_a_tenth_less_than_the_recommended_one(relation: str) -> None:
    """In 42 comparisons of 100 releases each: seven shapes of 256 bins, two sizes, three budgets (seen: 1.08)."""
    t, rng = (np.arange(256) + 0.5) / 256, np.random.default_rng(0)
    zipf = np.arange(1.0, 257.0) ** -1.2
    shapes = [np.exp(-(((t - 0.5) / 0.15) ** 2) / 2), 0.2 + t * (1 - t) ** 3 * (1 + np.sin(7 * t)),
              np.where(np.arange(256) % 37 == 5, 1.0, 1e-6), zipf, rng.permutation(zipf), np.ones(256),
              np.where(rng.random(256) < 0.03, 1.0, 0.0)]  # fmt: skip
    names = [name for name, one in CHAINS.items() if one.is_top_down and one.is_whole]
    assert RECOMMENDED in names and len(names) > 5
    times = []
    for shape, records, epsilon in product(shapes, (1_000, 100_000), (1.0, 0.1, 0.01)):
        bins = np.random.default_rng(1).multinomial(records, shape / shape.sum())
        plan = plan_tree(CdfSettings(256, (16, 16), epsilon=epsilon, relation=relation))
        noisy = plan.tree.counts_of_leaves(bins) + plan.noise.draw(np.random.default_rng(1), 100)
        error = {}
        for name in names:
            step, _ = postprocess.prepare(plan.tree, plan.noise.variance, CHAINS[name].steps)
            error[name] = np.square(np.cumsum(step(noisy)[:, plan.tree.leaves] - bins, axis=1)).mean() ** 0.5
        times.append(error[RECOMMENDED] / min(error.values()))
    assert len(times) == 42 and max(times) < 1.1


def test_help_of_the_recommended_chain_names_what_errs_less_than_it() -> None:
    """Counts that fall by a tenth from bin to bin: isotonic cumulative counts err at most 9/10 as much (seen: 0.77)."""
    bins = (2000 * 0.9 ** np.arange(256)).astype(np.int64)
    plan, truth = plan_tree(CdfSettings(256, (16, 16), epsilon=0.5)), np.cumsum(bins)
    step, _ = postprocess.prepare(plan.tree, plan.noise.variance, CHAINS[RECOMMENDED].steps)
    noisy = plan.tree.counts_of_leaves(bins) + plan.noise.draw(np.random.default_rng(2), 20)
    filled = np.cumsum(step(noisy)[:, plan.tree.level(2)], axis=1)
    isotonic = [consistent_cdf(one, int(truth[-1])) for one in plan.cumulative(noisy)]
    error, other = (float(np.square(np.array(found) - truth).mean()) ** 0.5 for found in (isotonic, filled))
    assert error < 0.9 * other
    assert "of the ways here that do so none had an error a tenth smaller" in CHAINS[RECOMMENDED].help
    assert "the fit of **CDF and ranges** has a smaller error" in CHAINS[RECOMMENDED].help


# ---- AHP


@pytest.mark.parametrize("seed", range(12))
def test_the_groups_of_ahp_are_the_cheapest_of_all_runs(seed: int) -> None:
    """Every way to cut the sorted noisy counts, priced by the definition."""
    rng = np.random.default_rng(seed)
    n, variance = int(rng.integers(2, 9)), float(rng.uniform(0.5, 60))
    noisy = rng.integers(0, 12, n).astype(float)
    row = sorted(noisy.tolist(), reverse=True)

    def price(runs: list[list[float]]) -> float:
        return sum(sum((x - sum(run) / len(run)) ** 2 for x in run) + variance / len(run) for run in runs)

    best = min(
        price([row[a:b] for a, b in zip((0, *cuts), (*cuts, n), strict=True)])
        for k in range(n) for cuts in combinations(range(1, n), k)
    )  # fmt: skip
    of = groups(noisy, variance)
    runs = [noisy[of == one].tolist() for one in range(of.max() + 1)]
    assert [x for run in runs for x in sorted(run, reverse=True)] == row
    assert price(runs) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("unit", [ADD, REPLACE, ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 3)])
def test_ahps_error_is_that_of_its_two_laws(unit: ProtectedUnit) -> None:
    """Groups that are far apart, and bins of one have its noise over their number; 0.9 and 1.1 times are rejected."""
    sizes, epsilon, half = np.array([4, 12, 1, 1, 2, 3, 5, 9]), 0.5, 0.25
    of = np.repeat(np.arange(8), sizes)
    counts = 90_000 - 10_000 * of
    moved = unit.contributions * (1 if unit.relation is ADD.relation else 2)
    q = math.exp(-half / moved)
    variance = 2 * q / (1 - q) ** 2
    with patch.object(study, "groups", lambda noisy, _: of):
        drawn = np.array([ahp(counts, unit, epsilon, np.random.default_rng(i)) - counts for i in range(4000)])
    squares = np.square(drawn[:, np.cumsum(sizes) - 1] * sizes) / variance
    assert (drawn[:, 0] == drawn[:, 3]).all()
    for some, times in product((squares, squares[:, ::2]), (0.9, 1.0, 1.1)):
        assert (abs(some.mean() - times) < 4 * some.std() / math.sqrt(some.size)) == (times == 1.0)


@pytest.mark.parametrize("seed", range(80))
def test_a_release_by_ahp_is_that_of_the_definition(seed: int) -> None:
    """Played again with its own noises: small noisy counts are 0, every way to cut the sorted ones is priced."""
    rng, noises = np.random.default_rng(seed), list[np.ndarray]()
    unit, n, epsilon = (ADD, REPLACE)[seed % 2], int(rng.integers(3, 9)), math.exp(rng.uniform(-3, 1))
    counts = rng.integers(0, 25, n) * (rng.random(n) < 0.6)
    honest = DiscreteLaplace.sample

    def noted(law: DiscreteLaplace, own: np.random.Generator, size: int) -> np.ndarray:
        noises.append(honest(law, own, size))
        return noises[-1]

    with patch.object(DiscreteLaplace, "sample", noted):
        told = ahp(counts, unit, epsilon, np.random.default_rng(seed))
    a = epsilon / (2 if unit is ADD else 4)
    variance = 1 / (math.cosh(a) - 1)
    noisy = [x if x >= 0.35 * math.sqrt(math.log(n)) / a else 0.0 for x in (counts + noises[0]).tolist()]
    order = sorted(range(n), key=lambda j: -noisy[j])
    ways = [[order[i:j] for i, j in pairwise((0, *cuts, n))] for k in range(n) for cuts in combinations(range(1, n), k)]

    def price(groups_of_bins: list[list[int]]) -> float:
        rows = [[noisy[j] for j in one] for one in groups_of_bins]
        return sum(sum((x - sum(row) / len(row)) ** 2 for x in row) + variance / len(row) for row in rows)

    best = min(ways, key=price)
    expected = np.empty(n)
    for one, noise in zip(best, noises[1], strict=True):
        expected[one] = (counts[one].sum() + noise) / len(one)
    np.testing.assert_allclose(told, expected)


def test_ahp_wins_on_spikes_and_a_private_partition_where_bins_in_a_row_are_alike() -> None:
    """As its entry of Methods says, by the picture there."""
    found = compared("baselines.ahp")
    theirs, ours, alone = (np.array(line) for line in found.lines.values())
    assert (theirs[:6] == 1).all() and (ours[:6] > 2).all() and (alone[:6] > 2).all()
    assert ours[-1] == 1 and theirs[-1] > 3
    sums = when_it_pays(
        CdfSettings(8, (), epsilon=0.5, strategy="partition"), np.array([0, 0, 900, 0, 0, 0, 0, 0]), 5, 1
    )
    assert all(float(one.split()[0]) < 2 for one in sums["a bin by AHP"])
