"""Top-down releases: the law of the sparse run, Theorem 1, exact totals, post-processors, accounting and refusals."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

from oracles_pages import dataset
from oracles_top_down import (
    noise_then_project,
    non_negative_least_squares,
    printed_loop,
    product_data,
    table_of_array,
    two_sample_statistic,
)
from oracles_tree import leaf_matrix, level_starts, random_parents
from refusals import refuses
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors.compare import bias_by_size, compare_on_tree
from treedp_core.experiment import Experiment, prepare, run
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess import prepare as prepare_steps
from treedp_core.postprocess.families import water_filling
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit, Provenance, Spread
from treedp_core.records import domain_of_values
from treedp_core.records.dataset import labels_of
from treedp_core.records.export import synthetic
from treedp_core.studies.topdown import (
    accounting,
    compare_rules,
    draw,
    needs_factor_two,
    orders,
    plan,
    product_of_columns,
    some_orders,
    tree_as_it_is,
)
from treedp_core.studies.topdown import sparse as sparse_run
from treedp_core.studies.topdown.accounting import bound, bound_by_exact_tails
from treedp_core.studies.topdown.draw import compare
from treedp_core.studies.topdown.orders import compare_orders
from treedp_core.studies.topdown.plan import known_levels, noise_on_tree
from treedp_core.studies.topdown.release_spec import Wanted
from treedp_core.studies.topdown.sparse import most_cells, prefixes, release
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import LeafTable, count_leaves, reordered, table_of_tree
from treedp_core.watch import Cancelled, Watch, generator

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)


def asked(rho: float, unit: ProtectedUnit = REPLACE) -> Wanted:
    return Wanted(rho, 1e-6, unit, None, Spread.STACKED, "intopt")


def array_of_table(table: LeafTable) -> np.ndarray:
    out = np.zeros(table.sizes, dtype=np.int64)
    out[tuple(table.codes.T)] = table.counts
    return out


def zipf_table(rng: np.random.Generator, n: int, sizes: Sequence[int]) -> LeafTable:
    return count_leaves([(rng.zipf(1.5, n) - 1) % size for size in sizes], sizes)


# --- the law of the sparse run ---------------------------------------------------------------------------------------

TRUTH = np.array([[3, 0, 0], [1, 0, 0]])
SIGMA = 1.5
RUNS = 3000
FALSE_ALARM = 1e-6


def drawn(draw: Callable[[], np.ndarray]) -> list[tuple[int, ...]]:
    """Whole released tables."""
    return [tuple(draw().ravel().tolist()) for _ in range(RUNS)]


def same_law(*both: list[tuple[int, ...]]) -> bool:
    """Two-sample chi-square test on whole released tables; rare tables share a bin; false alarms: one in 10^6 runs."""
    seen: dict[tuple[int, ...], int] = {}
    for table in (*both[0], *both[1]):
        seen[table] = seen.get(table, 0) + 1
    number = {table: i + 1 for i, table in enumerate(t for t, n in seen.items() if n >= 20)}
    bins = [np.array([number.get(table, 0) for table in sample]) for sample in both]
    return two_sample_statistic(*bins, len(number) + 1) < chi2.isf(FALSE_ALARM, len(number))


def fill_one(x: Sequence[int], c: int) -> list[int]:
    return water_filling(np.array(x), np.array(c)).tolist()


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "one_family"), [("intopt", printed_loop), ("water_filling", fill_one)])
def test_pruning_has_the_law_of_noise_on_every_node_then_projection(
    rule: str, one_family: Callable[[Sequence[int], int], list[int]]
) -> None:
    """sigma^2 = d / rho = 2.25 on both levels; the mutants have other noise, or none on empty nodes."""
    table, ready, rng = table_of_array(TRUTH), plan((2, 3), 2 / SIGMA**2), np.random.default_rng(11)
    ours = drawn(lambda: array_of_table(release(table, ready, rng, rule).table))
    other = np.random.default_rng(12)
    assert same_law(ours, drawn(lambda: noise_then_project(TRUTH, other, SIGMA, one_family)))
    assert not same_law(ours, drawn(lambda: noise_then_project(TRUTH, other, 1.3 * SIGMA, one_family)))


@pytest.mark.statistical
def test_a_release_that_spares_empty_nodes_the_noise_is_found_out() -> None:
    """The classical mistake in pruning: no noise where there are no records; on a domain of one column."""
    truth, rng = np.array([3, 0, 0]), np.random.default_rng(13)
    table, ready = table_of_array(truth), plan((3,), 1 / SIGMA**2)
    ours = drawn(lambda: array_of_table(release(table, ready, rng).table))
    assert same_law(ours, drawn(lambda: noise_then_project(truth, rng, SIGMA, printed_loop)))

    def peeking() -> np.ndarray:
        law = ready.laws[1]
        assert law is not None
        noisy = truth + np.where(truth > 0, law.sample(rng, truth.size), 0)
        return np.array(printed_loop(noisy.tolist(), 3))

    assert not same_law(ours, drawn(peeking))


@pytest.mark.parametrize("rule", ["intopt", "water_filling"])
def test_the_public_total_is_exact_in_every_run_and_every_level_adds_up(rule: str) -> None:
    """So the mean over runs of n is exactly n."""
    rng = np.random.default_rng(5)
    table, ready = zipf_table(rng, 500, (5, 7, 11)), plan((5, 7, 11), 0.3)
    for _ in range(40):
        done = release(table, ready, rng, rule)
        assert done.table.total == 500
        for above, below in zip(done.levels, done.levels[1:], strict=False):
            assert (np.bincount(below.parent, below.count, above.count.size) == above.count).all()
            assert (below.count > 0).all()
        assert (np.diff(np.ravel_multi_index(done.table.codes.T, table.sizes)) > 0).all()


@pytest.mark.statistical
def test_a_protected_total_is_noisy_with_the_noise_of_one_more_level() -> None:
    """sigma^2 = (d + 1) / (2 rho); 4000 runs, mean and variance within 6 standard errors; never below 0."""
    rng, trials = np.random.default_rng(6), 4000
    ready = plan((4,), 0.05, unit=ADD)
    assert ready.sigmas == pytest.approx([math.sqrt(20), math.sqrt(20)])
    table = table_of_array(np.array([60, 0, 0, 40]))
    totals = np.array([release(table, ready, rng).table.total for _ in range(trials)])
    assert abs(totals.mean() - 100) < 6 * math.sqrt(20 / trials)
    assert abs(totals.var() / 20 - 1) < 6 * math.sqrt(2 / trials) < abs(1.5 - 1)
    empty = count_leaves([np.zeros(0, dtype=int)], (4,))
    totals = np.array([release(empty, ready, rng).table.total for _ in range(50)])
    assert (totals >= 0).all() and totals.any() and not totals.all()


def test_a_domain_of_a_billion_cells_takes_as_long_as_its_survivors_do() -> None:
    rng = np.random.default_rng(7)
    table = zipf_table(rng, 100_000, (1000, 1000, 1000))
    done = release(table, plan((1000, 1000, 1000), 0.5), rng)
    assert done.plan.cells[-1] == 10**9 and done.table.total == 100_000
    leaves = compare(done)[-1]
    assert leaves.n_true == table.n_leaves
    assert leaves.n_released == done.table.n_leaves == leaves.n_true - leaves.lost + leaves.spurious


def test_the_comparison_counts_what_a_dense_one_counts() -> None:
    rng, sizes = np.random.default_rng(8), (4, 5, 6)
    table = zipf_table(rng, 300, sizes)
    done = release(table, plan(sizes, 0.5), rng)
    tree = Tree.from_branching_factors(sizes)
    truth, released = (tree.counts_of_leaves(array_of_table(t).ravel()) for t in (table, done.table))
    for ours, dense in zip(compare(done), compare_on_tree(tree, truth, released), strict=True):
        for name in ("n_true", "n_released", "spurious", "lost", "max_error", "n_cells"):
            assert getattr(ours, name) == getattr(dense, name)
        for name in ("rmse", "total_variation"):
            assert getattr(ours, name) == pytest.approx(getattr(dense, name))
    sparse, whole = bias_by_size(compare(done)), bias_by_size(compare_on_tree(tree, truth, released))
    for name in ("low", "high", "n_nodes", "bias"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(whole, name))
    assert whole.n_nodes.sum() == tree.n_nodes


# --- Theorem 1 -------------------------------------------------------------------------------------------------------


def test_the_bound_by_hand() -> None:
    """d = 2, rho = 1, so sigma^2 = 2, and beta = .2: ln(3 / .2); then ln(2 * 3 / .2) and ln(2 * 12 / .2)."""
    expected = [0, math.sqrt(16 * math.log(15)), math.sqrt(16 * math.log(30)) + math.sqrt(16 * math.log(120))]
    ready = plan((3, 4), 1.0)
    assert bound(ready, 0.2) == pytest.approx(expected)
    noisy_total = plan((3,), 1.0, unit=ADD)  # sigma^2 = 1 on both levels
    expected = [math.sqrt(2 * math.log(5)), math.sqrt(2 * math.log(10)) + 2 * math.sqrt(2 * math.log(30))]
    assert bound(noisy_total, 0.2) == pytest.approx(expected)


def test_narrow_noise_needs_the_factor_two_and_gets_it() -> None:
    """Shares .9 and .1 of rho = 1.5: sigma^2 = 1 / 1.35 < 0.94925 and 1 / .15; also with the inequality itself."""
    ready = plan((3, 4), 1.5, shares=(0, 0.9, 0.1))
    assert needs_factor_two(ready) == (False, True, False)
    first, second = 8 / 1.35 * math.log(2 * 2 * 3 / 0.1), 8 / 0.15 * math.log(2 * 12 / 0.1)
    assert bound(ready, 0.1)[2] == pytest.approx(math.sqrt(first) + math.sqrt(second))
    whole = np.arange(-60, 61)
    for sigma, holds in ((0.9743, True), (1.0, True), (3.0, True), (0.9742, False), (0.5, False)):
        weights = np.exp(-0.5 * (whole / sigma) ** 2)
        tails = [weights[np.abs(whole) >= t].sum() / weights.sum() for t in range(1, 12)]
        assert all(p <= math.exp(-(t**2) / (2 * sigma**2)) for t, p in enumerate(tails, start=1)) is holds
        ready = plan((3,), 1 / sigma**2 * (1 - 1e-12))
        assert needs_factor_two(ready)[1] is (not holds)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["intopt", "water_filling"])
@pytest.mark.parametrize("unit", [REPLACE, ADD], ids=["public", "protected"])
def test_theorem_one_holds_at_its_confidence_and_a_bound_for_one_node_does_not(rule: str, unit: ProtectedUnit) -> None:
    """400 runs, beta = 0.2: more than 130 failures have probability 1e-9 (binomial). Exact tails hold as well.

    The mutant forgets that a level has many nodes: the bound of a single one, sigma sqrt(2 ln(1 / beta)).
    """
    rng, sizes, runs, beta = np.random.default_rng(9), (6, 6, 6), 400, 0.2
    table, ready = count_leaves(list(rng.integers(0, 6, (3, 20_000))), sizes), plan(sizes, 0.4, unit=unit)
    found = np.array([[level.max_error for level in compare(release(table, ready, rng, rule))] for _ in range(runs)])
    for stated in (bound(ready, beta), bound_by_exact_tails(ready, beta)):
        assert ((found > stated).sum(axis=0) <= 130).all()
    assert (bound_by_exact_tails(ready, beta) <= bound(ready, beta)).all()
    of_one_node = ready.sigmas * math.sqrt(2 * math.log(1 / beta))
    assert ((found > of_one_node).sum(axis=0)[2:] > 130).all()


# --- budgets and accounting ------------------------------------------------------------------------------------------


def test_the_paper_gives_each_level_rho_over_d() -> None:
    ready = plan((2, 3, 4), 0.6)
    assert ready.budget.currency is Currency.RHO
    assert ready.budget.per_level == pytest.approx((math.inf, 0.2, 0.2, 0.2))
    assert ready.sigmas[1:] ** 2 == pytest.approx(np.full(3, 3 / 0.6))
    assert (ready.sigmas[1:] ** 2 >= 5 - 1e-12).all() and ready.guarantee.rho is not None
    assert ready.guarantee.rho <= 0.6
    assert ready.laws[0] is None and ready.cells == (1, 2, 6, 24)


@pytest.mark.parametrize("unit", [REPLACE, ADD])
def test_a_plan_states_the_conversion_of_discrete_noise_and_spends_its_shares_only(unit: ProtectedUnit) -> None:
    """The infimum over orders, not the smaller epsilon of continuous noise; half of the shares is half of rho."""
    whole = plan((2, 3), 0.5, delta=1e-6, unit=unit).guarantee
    assert whole.rho == pytest.approx(0.5) and whole.rho <= 0.5
    assert whole.epsilon == pytest.approx(infimum_over_orders(0.5, 1e-6), rel=1e-6)
    first = 0.0 if unit.total_is_public else 0.125
    half = plan((2, 3), 0.5, unit=unit, shares=(first, 0.125, 0.375 - first)).guarantee
    assert half.rho == pytest.approx(0.25) and half.rho <= 0.25


def test_a_release_is_refused_by_its_noisy_total_and_not_by_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of the root, drawn again from the same seed, decides; the true total alone would say one thing."""
    ready = plan((1000, 3), 0.02, unit=ADD)
    table = count_leaves([np.arange(100), np.zeros(100, dtype=int)], (1000, 3))
    assert ready.laws[0] is not None
    for limit in (most_cells(ready.cells, ready.sizes, 100), most_cells(ready.cells, ready.sizes, 100) - 1):
        monkeypatch.setattr(checks, "MAX_CELL_DRAWS", limit)
        refused = []
        for seed in range(20):
            noisy = max(0, 100 + int(ready.laws[0].sample(generator(seed), 1)[0]))
            refused.append(most_cells(ready.cells, ready.sizes, noisy) > limit)
            if refused[-1]:
                with refuses("TOO_MANY_CELLS"):
                    release(table, ready, generator(seed))
            else:
                release(table, ready, generator(seed))
        assert any(refused) and not all(refused)


def test_a_protected_root_needs_a_share() -> None:
    with pytest.raises(InputError, match="give level 0 a share"):
        plan((3, 3), 1.0, unit=ADD, shares=(0, 0.5, 0.5))
    assert plan((3, 3), 1.0, unit=REPLACE, shares=(0, 0.5, 0.5)).guarantee.rho == 1.0


@pytest.mark.statistical
def test_every_level_is_drawn_with_its_own_law() -> None:
    """A hundred thousand records in two cells, sigma 100 above and 2 below; 2000 runs, 6 standard errors.

    The first level's error has half of the difference of two noises as its root; the second is within a few of it.
    """
    ready = plan((2, 2), 1.0, shares=(0, 0.0001, 0.25))
    first, second = ready.sigmas[1:]
    assert (first, second) == pytest.approx((100.0, 2.0))
    table = table_of_array(np.full((2, 2), 25_000))
    runs = [release(table, ready, generator(seed)) for seed in range(2000)]
    at_first = np.array([run.levels[1].count[0] for run in runs]) - 50_000
    assert abs(at_first.var() / (first**2 / 2) - 1) < 6 * math.sqrt(2 / 2000)
    within = np.array([run.levels[2].count[0] - run.levels[1].count[0] / 2 for run in runs])
    assert np.abs(within).max() < 10


def test_unknown_columns_are_charged_for_the_levels_that_move() -> None:
    """Known first column: levels 0 and 1 cost once, level 2 twice or once, whatever is more; L2 is 1 everywhere."""
    ready = plan((3, 4), 1.0, unit=ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, 2))
    assert ready.budget.per_level == pytest.approx((1 / 3, 1 / 3, 1 / 3))  # max(3 x, 2 x) = 1
    assert ready.sigmas**2 == pytest.approx([1.5, 1.5, 1.5])


def test_distinct_leaves_need_less_noise_on_fine_levels() -> None:
    """Five records on distinct leaves of 4 x 10 cells: 5 below one node; sqrt(2 * 25) above, sqrt(2 * 5) below."""
    five = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 5)
    stacked, distinct = (plan((4, 10), 1.0, unit=five, spread=spread) for spread in Spread)
    assert stacked.sigmas**2 == pytest.approx([0, 50, 50])
    assert distinct.sigmas**2 == pytest.approx([0, 50, 10])
    assert stacked.guarantee.rho == distinct.guarantee.rho


def test_accounting_by_three_conversions() -> None:
    """rho = 0.1, delta = 1e-6: simple by hand; the infimum by a fine grid of orders; the ratio by what it means."""
    result = accounting(0.1, 1e-6)
    assert result.epsilon_simple == pytest.approx(0.1 + 2 * math.sqrt(0.1 * math.log(1e6)), abs=1e-12)
    assert round(result.epsilon_simple, 4) == 2.4508
    assert result.epsilon_tight == pytest.approx(infimum_over_orders(0.1, 1e-6), abs=1e-6)
    assert round(result.epsilon_tight, 4) == 2.1419
    assert result.epsilon_gaussian < result.epsilon_tight < result.epsilon_simple
    assert infimum_over_orders(0.1 / result.noise_ratio**2, 1e-6) == pytest.approx(result.epsilon_simple, abs=1e-6)
    assert result.noise_ratio < 1


def infimum_over_orders(rho: float, delta: float) -> float:
    """The smallest of a rho + ln(1/(a delta)) / (a - 1) + ln(1 - 1/a) over a grid of orders."""
    a = 1 + np.geomspace(1e-2, 1e3, 400_000)
    return float((a * rho + np.log(1 / (a * delta)) / (a - 1) + np.log(1 - 1 / a)).min())


# --- post-processors on trees ----------------------------------------------------------------------------------------

STEPS = ("top_down_intopt", "top_down_water_filling", "real_then_round", "non_negative_least_squares")


@pytest.mark.parametrize("seed", range(60))
def test_non_negative_least_squares_equals_a_bounded_solver(seed: int) -> None:
    """Random ragged trees; some inner nodes not measured, the root known exactly in every other one."""
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, int(rng.integers(2, 30)))
    tree = Tree(np.array(parent), np.array(level_starts(parent)))
    variance, noisy = rng.uniform(0.3, 4, tree.n_nodes), rng.normal(1, 3, tree.n_nodes)
    variance[~tree.is_leaf & (rng.random(tree.n_nodes) < 0.2)] = np.inf
    if seed % 2:
        variance[0], noisy[0] = 0.0, abs(noisy[0])
    step, after = prepare_steps(tree, variance, ["non_negative_least_squares"])
    expected = non_negative_least_squares(leaf_matrix(parent), noisy, variance)
    assert after is None
    np.testing.assert_allclose(step(np.where(np.isinf(variance), np.nan, noisy)), expected, atol=2e-4)
    np.testing.assert_array_equal(step(np.stack([noisy, 2 * noisy]))[0], step(noisy))


def test_non_negative_least_squares_on_a_known_inner_node_and_leaf() -> None:
    """By hand: node 1 is 4, so its leaves (1, 1) become (2, 2); the exact leaf is 3; the free leaf -2 becomes 0."""
    tree = Tree.from_child_counts([np.array([3]), np.array([2, 0, 0])])
    variance = np.array([np.inf, 0, 0, 1, 1, 1])
    step, _ = prepare_steps(tree, variance, ["non_negative_least_squares"])
    assert step(np.array([np.nan, 4, 3, -2, 1, 1])).tolist() == pytest.approx([7, 4, 3, 0, 2, 2])


@pytest.mark.parametrize("narrow", [0, 1, 2])
def test_non_negative_least_squares_beside_a_level_that_is_all_but_exact(narrow: int) -> None:
    """Discrete noise of sigma 0.1 has a variance of 4e-22; its level must weigh as one that is known exactly does."""
    tree = Tree.from_branching_factors((2, 3))
    noisy = np.array([30.0, 14.0, 16.0, 9.0, -4.0, 11.0, 2.0, 8.0, 3.0])
    results = []
    for variance in (4e-22, 0.0):
        levels = np.array([25.0, 1.0, 9.0])
        levels[narrow] = variance
        step, _ = prepare_steps(tree, levels[tree.level_of], ["non_negative_least_squares"])
        results.append(step(np.maximum(noisy, 0.0) if narrow == 2 else noisy))
    np.testing.assert_allclose(results[0], results[1], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_non_negative_least_squares_beside_nearly_exact_leaves_of_a_ragged_tree(seed: int) -> None:
    """Families of nearly exact leaves stand beside families of noisy ones: neither may blur the other."""
    rng = np.random.default_rng(seed)
    tree = Tree.from_child_counts([np.array([3]), np.array([3, 3, 2]), np.array([1, 0, 2, 3, 2, 3, 0, 3])])
    noisy = rng.integers(0, 40, tree.n_nodes).astype(float)
    results = []
    for variance in (4e-22, 0.0):
        step, _ = prepare_steps(tree, np.array([1.0, 400.0, 9.0, variance])[tree.level_of], [STEPS[-1]])
        results.append(step(noisy))
    np.testing.assert_allclose(results[0], results[1], atol=1e-9)


def test_non_negative_least_squares_of_a_leaf_beside_nearly_exact_nodes_below_its_level() -> None:
    """By hand: the other two children are 45 each, so the leaf x minimises (90 + x - 83)^2 + (x - 6)^2 over x >= 0."""
    tree = Tree.from_child_counts([np.array([3]), np.array([1, 0, 1])])
    step, _ = prepare_steps(tree, np.array([9.0, 9.0, 4e-22])[tree.level_of], [STEPS[-1]])
    np.testing.assert_allclose(step(np.array([83.0, 49, 6, 50, 45, 45])), [90, 45, 0, 45, 45, 45], atol=1e-9)


def test_real_then_round_rounds_the_finished_real_tree() -> None:
    """By hand: reals (2.5, 2.5) and below (1.25, 1.25) twice; 5 = 3 + 2 from the left, 3 = 2 + 1 and 2 = 1 + 1."""
    tree = Tree.from_branching_factors((2, 2))
    step, _ = prepare_steps(tree, None, ["real_then_round"])
    assert step(np.array([5, 4, 4, 3, 3, 7, 7])).tolist() == [5, 3, 2, 2, 1, 1, 1]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("first", [(), ("least_squares",)], ids=["alone", "after least squares"])
def test_the_order_measure_all_then_least_squares_then_project_runs_in_trials(
    name: str, first: tuple[str, ...]
) -> None:
    """Trials in front, a ragged tree, a public total that stays exact."""
    tree = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 3, 0, 0, 2, 1])])
    counts = tree.counts_of_leaves(np.arange(tree.n_leaves) * 4)
    experiment = Experiment("discrete_gaussian", (*first, name), epsilon=0.5, delta=1e-6, trials=20)
    _, after = prepare(experiment, tree).release(counts, generator(1), 6)
    assert after.estimate.shape == (6, tree.n_nodes) and (after.estimate >= 0).all()
    assert (after.estimate[:, 0] == counts[0]).all()
    np.testing.assert_allclose(tree.add_up(np.where(tree.is_leaf, after.estimate, 0)), after.estimate, atol=1e-9)
    outcome = run(experiment, tree, counts)
    assert outcome.simulation is not None and outcome.formula is None


@pytest.mark.statistical
def test_least_squares_before_the_projection_lowers_the_error_of_dense_data() -> None:
    """600 trials on 5^3 leaves of 40 records; the RMSE of the tree falls by far more than 6 standard errors."""
    tree = Tree.from_branching_factors((5, 5, 5))
    counts = tree.counts_of_leaves(np.full(125, 40))
    base = Experiment("discrete_gaussian", ("top_down_water_filling",), epsilon=1.0, delta=1e-6, trials=600)
    plain = run(base, tree, counts).simulation
    better = run(replace(base, postprocess=("least_squares", *base.postprocess)), tree, counts).simulation
    assert plain is not None and better is not None
    assert better.tree + 6 * math.hypot(better.tree_se, plain.tree_se) < plain.tree


def test_projections_are_compared_on_the_same_noise() -> None:
    """Sparse data: IntOpt has fewer false positives than water filling; biases are means of what is released."""
    sizes, rng = (6, 6, 6), np.random.default_rng(4)
    leaves = rng.multinomial(300, rng.dirichlet(np.full(216, 0.05))).reshape(sizes)
    records = [tuple(map(int, place)) for place in np.argwhere(leaves) for _ in range(leaves[tuple(place)])]
    what = product_of_columns(product_data(records, sizes), (0, 1, 2))
    wanted = Wanted(0.3, 1e-6, REPLACE, None, Spread.STACKED, "intopt")
    steps: list[int] = []
    found = {one.rule: one for one in compare_rules(what, wanted, 30, 2, Watch(step=steps.append))}
    assert sum(steps) == 30
    assert found["intopt"].mean["spurious"] < found["water_filling"].mean["spurious"]
    n_filled = int(np.count_nonzero(leaves))
    for rule, one in found.items():
        assert one.mean["rmse"] > 0 and np.isfinite(one.se["lost"])
        weights = one.bias.n_nodes
        assert weights.sum() == 216
        by_kind = (216 - n_filled) * one.mean["bias_empty"] + n_filled * one.mean["bias_filled"]
        assert weights @ one.bias.bias == pytest.approx(by_kind, abs=1e-6)
        levels = draw(what, replace(wanted, rule=rule), 7).levels
        assert levels[0].max_error == pytest.approx(0, abs=1e-6) and all(level.rmse for level in levels[1:])
    ready, tree, counts = wanted.plan(what), what.tree, what.counts
    assert tree is not None and counts is not None
    estimate, _ = prepare_steps(tree, None, ("top_down_intopt",))
    first = estimate(counts + noise_on_tree(ready, tree).draw(generator("runs of TopDown", 2, 0)))
    mine = compare_rules(what, wanted, 1, 2)[0]
    assert mine.rule == "intopt" and mine.mean["max_error"] == abs(first - counts)[tree.leaves].max()
    noisy = noise_on_tree(ready, tree).release(counts, ready.guarantee, generator("projections", 2, 0))
    assert noisy.guarantee is ready.guarantee


def test_levels_that_were_not_measured_are_sums_and_leaves_must_be() -> None:
    """By hand: the root's children are 5 + 1 and 0 - 2 by their leaves, then 6 and 0 within a total of round(6.4)."""
    tree = Tree.from_branching_factors((2, 2))
    step, _ = prepare_steps(tree, None, ["top_down_intopt"])
    assert step(np.array([6.4, np.nan, np.nan, 5, 1, 0, -2])).tolist() == [6, 6, 0, 5, 1, 0, 0]
    with refuses("LEAVES_NEEDED"):
        step(np.array([6, 3, 3, 5, np.nan, 0, 1]))
    for name in STEPS:
        with refuses("LEAVES_NEEDED"):
            prepare_steps(tree, np.array([0, 1, 1, 1, 1, 1, np.inf]), [name])
    with refuses("VARIANCE_NEEDED"):
        prepare_steps(tree, None, ["non_negative_least_squares"])
    assert set(STEPS) <= set(POSTPROCESSORS)


# --- tables, orders and files ----------------------------------------------------------------------------------------


def test_prefixes_count_every_level() -> None:
    table = table_of_array(np.array([[2, 0], [0, 0], [1, 4]]))
    levels = prefixes(table)
    assert [level.count.tolist() for level in levels] == [[7], [2, 5], [2, 1, 4]]
    assert [level.code.tolist() for level in levels] == [[0], [0, 2], [0, 0, 1]]
    assert [level.parent.tolist() for level in levels] == [[-1], [0, 0], [0, 1, 1]]


def test_columns_of_any_size_are_counted_without_numbering_the_cells() -> None:
    rng, sizes = np.random.default_rng(2), (2**30,) * 4
    codes = [rng.integers(0, 3, 200) * 10**8 for _ in sizes]
    table = count_leaves(codes, sizes)
    expected: dict[tuple[int, ...], int] = {}
    for row in zip(*(column.tolist() for column in codes), strict=True):
        expected[row] = expected.get(row, 0) + 1
    assert list(map(tuple, table.codes.tolist())) == sorted(expected)
    assert table.counts.tolist() == [expected[row] for row in sorted(expected)]


def test_orders_keep_the_records_and_report_each_column_where_it_was() -> None:
    """With a huge budget nothing is lost, so every error is 0 in every order."""
    table = zipf_table(np.random.default_rng(3), 200, (2, 3, 4))
    turned = reordered(table, (2, 0, 1))
    assert (array_of_table(turned) == array_of_table(table).transpose(2, 0, 1)).all()
    steps: list[int] = []
    results = compare_orders(table, some_orders(3), asked(500.0), 2, 1, watch=Watch(step=steps.append))
    assert [result.order for result in results] == some_orders(3) and len(steps) == 12
    for result in results:
        assert result.max_error == result.total_variation == result.spurious == result.lost == (0.0, 0.0)
        assert result.marginals.tolist() == [0, 0, 0]
    noisy = compare_orders(table, [(0, 1, 2)], asked(0.1), 5, 1)[0]
    assert noisy.max_error[0] > 0 < noisy.max_error[1] and (noisy.marginals > 0).all()
    assert compare_orders(table, [(0, 1, 2)], asked(0.1), 5, 1)[0].max_error == noisy.max_error
    with pytest.raises(Cancelled):
        compare_orders(table, some_orders(3), asked(1.0), 2, 1, watch=Watch(cancelled=lambda: True))


def test_known_columns_take_their_known_levels_along() -> None:
    """Columns 0 and 1 are known. A record that changes column 2 moves two counts of each level at or below it.

    So with equal shares the order (0, 1, 2) charges 4 levels + 1 twice over, the order (2, 0, 1) 1 + 3 twice over.
    """
    table = zipf_table(np.random.default_rng(3), 4000, (3, 4, 5))
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=3)
    assert [known_levels(order, (0, 1)) for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1))] == [3, 2, 1]
    seen: list[int] = []
    original = orders.plan

    def noted(*arguments: object, **named: object) -> object:
        seen.append(named["unit"].known_levels)  # type: ignore[attr-defined]
        return original(*arguments, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "plan", noted)
        compare_orders(table, [(0, 1, 2), (0, 2, 1), (2, 0, 1)], asked(1.0, unit), 1, 1)
        compare_orders(table, [(0, 1, 2), (2, 0, 1)], asked(1.0, unit), 1, 1, known_columns=[2])
    assert seen == [3, 2, 1, 1, 2]


def test_a_release_is_asked_before_every_block_and_tells_its_noises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_run, "BLOCK_CELLS", 1000)
    table = zipf_table(np.random.default_rng(3), 3000, (40, 50, 60))
    told: list[int] = []
    ready = plan(table.sizes, 0.5)
    done = release(table, ready, generator(1), "intopt", Watch(step=told.append))
    sizes = [level.count.size for level in done.levels]
    assert sum(told) == sum(n * size for n, size in zip(sizes[:-1], table.sizes, strict=True))
    assert len(told) > 10 and max(told) <= 1000 + 60 and sum(told) <= most_cells(ready.cells, ready.sizes, table.total)
    assert (done.table.counts == release(table, ready, generator(1)).table.counts).all()
    answers = iter([False, False, True])
    with pytest.raises(Cancelled):
        release(table, ready, generator(1), watch=Watch(cancelled=lambda: next(answers)))


@pytest.mark.parametrize("spread", Spread)
def test_a_level_that_nobody_can_change_is_public_like_the_root(spread: Spread) -> None:
    """All records lie below the one node of level 1: it costs nothing where their number is public, else its share."""
    tree = Tree.from_branching_factors((1, 3, 1))
    ready = plan(tree, 0.5, unit=ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2), spread=spread)
    assert ready.budget.per_level == (math.inf, 0.0, 0.25, 0.25) and ready.guarantee.rho == 0.5
    assert [law is None for law in ready.laws] == [True, True, False, False]
    assert plan(tree, 0.5, unit=ADD, spread=spread).budget.per_level == (0.125,) * 4
    counts = tree.counts_of_leaves(np.array([5, 0, 2]))
    noisy = noise_on_tree(ready, tree).release(counts, ready.guarantee, generator(1), 50).estimate
    assert (noisy[:, :2] == 7).all() and noisy[:, 2:].std(axis=0).min() > 0
    what = tree_as_it_is(dataset(tree, [5, 0, 2]))
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    for rule in ("water_filling", "ls_intopt", "nnls"):
        released = draw(what, Wanted(0.5, 1e-6, unit, None, spread, rule), 7).released
        assert released is not None and (released[:2] == 7).all()
    sparse = release(table_of_tree(tree, counts, np.array([0, 0, 0, 1, 2, 0, 0, 0]), (1, 3, 1)), ready, generator(1))
    assert [level.count.sum() for level in sparse.levels] == [7] * 4
    assert np.isfinite(bound(ready, 0.1)).all() and not bound(ready, 0.1)[:2].any()
    with refuses("BUDGET_SPLIT"):
        plan(Tree.from_branching_factors((1, 1)), 0.5)


def test_a_tree_is_planned_as_the_product_it_is_and_a_ragged_one_by_its_leaves() -> None:
    """A plan knows its tree: another one with as many nodes on each level, but other leaves below them, is refused."""
    sizes, unit = (2, 3), ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 3)
    tree = Tree.from_branching_factors(sizes)
    assert plan(sizes, 0.7, unit=unit, spread=Spread.DISTINCT) == plan(tree, 0.7, unit=unit, spread=Spread.DISTINCT)
    ragged = Tree(np.array([-1, 0, 0, 0, 1, 1]), np.array([0, 1, 4, 6]))
    ready = plan(ragged, 0.7, unit=unit)
    assert ready.cells == (1, 3, 2) and ready.sizes == () and ready.n_levels == 3
    assert noise_on_tree(ready, ragged).level_variance.round(9).tolist() == [0.0, *[round(18 / 0.7, 9)] * 2]
    with refuses("PLAN_MISMATCH"):
        noise_on_tree(ready, Tree(np.array([-1, 0, 0, 0, 1, 2]), np.array([0, 1, 4, 6])))


RELEASE = Provenance.RELEASE


def test_synthetic_records_as_files() -> None:
    """A release of a data set's tree: table and rows say the same, formulas are disarmed in CSV only."""
    domain = domain_of_values({"=city": ["=Ulm", 'B"onn'], "sex": ["F", "M"]})
    tree = domain.tree
    assert tree is not None
    labels = labels_of(tree, domain.level_codes(), domain.vocabularies, ["=city", "sex"])
    table = table_of_tree(tree, tree.counts_of_leaves(np.array([2, 0, 1, 3])), labels.codes, domain.sizes)
    columns = synthetic.Columns(("=city", "sex"), (["=Ulm", 'B"onn'], ["F", "M"]))
    expected = [("=Ulm", "F", 2), ('B"onn', "F", 1), ('B"onn', "M", 3)]
    parquet = pq.read_table(io.BytesIO(synthetic.contingency_parquet(table, columns, RELEASE)))
    assert [tuple(row.values()) for row in parquet.to_pylist()] == expected
    written = pacsv.read_csv(io.BytesIO(synthetic.contingency_csv(table, columns, RELEASE)))
    assert written.column_names == ["'=city", "sex", "count"]
    assert [tuple(row.values()) for row in written.to_pylist()] == [("'=Ulm", "F", 2), *expected[1:]]
    rows = pq.read_table(io.BytesIO(synthetic.records_parquet(table, columns, RELEASE))).to_pylist()
    assert [tuple(row.values()) for row in rows] == [(a, b) for a, b, n in expected for _ in range(n)]
    assert pacsv.read_csv(io.BytesIO(synthetic.records_csv(table, columns, RELEASE))).num_rows == table.total == 6
    many = LeafTable(table.codes[:1], np.array([10_000_001]), table.sizes)
    for write in (synthetic.records_csv, synthetic.records_parquet):
        with refuses("TOO_MANY_ROWS"):
            write(many, columns, RELEASE)


def test_leaves_of_a_ragged_tree_have_empty_cells() -> None:
    tree = Tree.from_child_counts([np.array([2]), np.array([0, 2])])
    table = table_of_tree(tree, np.array([6, 1, 5, 2, 3]), np.array([0, 0, 1, 0, 1]), (2, 2))
    assert table.codes.tolist() == [[0, -1], [1, 0], [1, 1]] and table.counts.tolist() == [1, 2, 3]
    columns = synthetic.Columns(("a", "count"), (["x", "y"], ["u", "v"]))
    rows = pq.read_table(io.BytesIO(synthetic.contingency_parquet(table, columns, RELEASE))).to_pylist()
    assert rows[0] == {"a": "x", "count": None, "count_": 1}


# --- refusals --------------------------------------------------------------------------------------------------------

ONE = table_of_array(np.array([[2, 1], [0, 3]]))
EMPTY = count_leaves([np.zeros(0, dtype=int)] * 2, (2, 2))
DISTINCT_UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 2)
REFUSALS: dict[str, tuple[str, Callable[[], object]]] = {
    "one category": ("ONE_CATEGORY", lambda: plan((3, 1), 1.0, names=["a", "b"])),
    "no column": ("NO_LEVELS", lambda: plan((), 1.0)),
    "too many columns": ("TOO_MANY_LEVELS", lambda: plan((2,) * 17, 1.0)),
    "an empty column": ("TREE_SHAPE", lambda: plan((0,), 1.0)),
    "rho = 0": ("RHO_RANGE", lambda: plan((3,), 0.0)),
    "rho < 0": ("RHO_RANGE", lambda: plan((3,), -1.0)),
    "rho is nan": ("RHO_RANGE", lambda: plan((3,), math.nan)),
    "delta = 0": ("DELTA_REQUIRED", lambda: plan((3,), 1.0, delta=0.0)),
    "a level without a share": ("BUDGET_SPLIT", lambda: plan((3, 3), 1.0, shares=(0, 1, 0))),
    "too few shares": ("BUDGET_SPLIT", lambda: plan((3, 3), 1.0, shares=(0.5, 0.5))),
    "distinct leaves of unknown columns": (
        "CONTRIBUTIONS_SPREAD",
        lambda: plan((3, 3), 1.0, unit=DISTINCT_UNKNOWN, spread=Spread.DISTINCT),
    ),
    "n = 0": ("NO_RECORDS", lambda: release(EMPTY, plan((2, 2), 1.0), generator(1))),
    "another table": ("PLAN_MISMATCH", lambda: release(ONE, plan((2, 3), 1.0), generator(1))),
    "another rule": ("VALUE_UNKNOWN", lambda: release(ONE, plan((2, 2), 1.0), generator(1), "best")),
    "an unseen category": ("UNSEEN_CATEGORY", lambda: count_leaves([np.array([0, 5])], (3,), ["city"])),
    "a negative code": ("UNSEEN_CATEGORY", lambda: count_leaves([np.array([0, -1])], (3,))),
    "codes that are no codes": ("CODE_RANGE", lambda: count_leaves([np.array([0.5])], (3,))),
    "beta = 0": ("BETA_RANGE", lambda: bound(plan((3,), 1.0), 0.0)),
    "beta = 1": ("BETA_RANGE", lambda: bound_by_exact_tails(plan((3,), 1.0), 1.0)),
    "another tree": (
        "PLAN_MISMATCH",
        lambda: noise_on_tree(plan((2, 2), 1.0), Tree.from_branching_factors((2, 3))),
    ),
    "no order": ("ORDER", lambda: compare_orders(ONE, [(0, 0)], asked(1.0), 1, 1)),
    "no known column": ("VALUE_RANGE", lambda: compare_orders(ONE, [(0, 1)], asked(1.0), 1, 1, known_columns=[2])),
    "a single node": ("NO_LEVELS", lambda: plan(Tree(np.array([-1]), np.array([0, 1])), 1.0)),
    "no trials": ("TRIALS_RANGE", lambda: compare_orders(ONE, [(0, 1)], asked(1.0), 0, 1)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_are_one_sentence_with_a_code(case: str) -> None:
    code, refused = REFUSALS[case]
    with refuses(code):
        refused()


def test_ten_columns_of_a_thousand_values() -> None:
    """Too many nodes for a dense tree; planned and released sparsely, up to a number of records that is refused."""
    sizes = (1000,) * 10
    with refuses("TOO_MANY_NODES"):
        Tree.from_branching_factors(sizes)
    ready = plan(sizes, 1.0)
    assert ready.cells[-1] == 10**30 and most_cells(ready.cells, ready.sizes, 10) == 1000 + 9 * 10_000
    few = count_leaves([np.arange(10)] * 10, sizes)
    assert release(few, ready, generator(1)).table.total == 10
    many = LeafTable(few.codes, few.counts * 10**6, sizes)
    with refuses("TOO_MANY_CELLS", "fewer columns"):
        release(many, ready, generator(1))
