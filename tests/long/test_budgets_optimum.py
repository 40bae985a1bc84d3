"""The best split against brute force over a grid, greedy allocation and the simple splits; its certificate."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_budgets import METRIC, NOISE, node_variances, simplex_grid
from oracles_tree import level_starts, random_parents
from refusals import refuses
from treedp_core.allocation import split, uses_in_prefixes
from treedp_core.errors import Tolerance
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import STRATEGIES, Problem, best_simple, compare, greedy
from treedp_core.studies.budget.figure4 import curves
from treedp_core.studies.budget.splits.optimum import optimum, tangent_bound
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2)
RELATIONS = [ADD, REPLACE, UNKNOWN]


def random_problem(
    seed: int, law: str, unit: ProtectedUnit, metric: str, squares: bool, most: int = 20
) -> tuple[list[int], Problem]:
    rng = np.random.default_rng(seed)
    while True:
        parent = random_parents(rng, int(rng.integers(4, most)))
        tree = Tree(np.array(parent), np.array(level_starts(parent)))
        if 3 <= tree.n_levels <= 4 and (tree.branching_factors is None or max(tree.branching_factors) > 1):
            counts = tree.counts_of_leaves(rng.integers(0, 200, tree.n_leaves))
            return parent, Problem(tree, counts, law, unit, metric, Tolerance(threshold=5.0), squares)


def charge(unit: ProtectedUnit, amounts: list[float]) -> float:
    if unit is REPLACE:
        return sum(amounts[1:])
    return max(sum(amounts), 2 * sum(amounts[2:])) if unit is UNKNOWN else sum(amounts)


def grid_best(parent: list[int], problem: Problem, total: float, steps: int) -> float:
    """Smallest error over all splits in multiples of total / steps, by dense algebra."""
    n, best = problem.tree.n_levels, np.inf
    sensitivity = problem.unit.l2_sensitivity(n) if "gaussian" in problem.law else problem.unit.l1_sensitivity(n)
    for shares in simplex_grid(n, steps):
        cost = charge(problem.unit, shares)
        if cost > 0 and not (problem.unit is REPLACE and shares[0] > 0):
            amounts = [share * total / cost for share in shares]
            variance = node_variances(parent, amounts, problem.law, sensitivity.tolist(), problem.least_squares)
            loss = METRIC[problem.metric](parent, np.asarray(problem.counts), variance, problem.tolerance.threshold)
            best = min(best, loss**0.5)
    return best


@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("unit", RELATIONS, ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize("squares", [True, False])
def test_no_split_on_a_grid_is_better(law: str, unit: ProtectedUnit, squares: bool, every: bool) -> None:
    """Three trees and totals, one of them for each: every pair of a law, a relation or least squares with these."""
    cases = [(1, "rmsre", 0.1), (2, "rmse", 1.0), (3, "rmsre", 4.0)]
    shift = sorted(NOISE).index(law) + RELATIONS.index(unit) + squares
    for seed, metric, total in cases if every else [cases[shift % 3]]:
        parent, problem = random_problem(seed, law, unit, metric, squares)
        found = optimum(problem, total)
        brute = grid_best(parent, problem, total, 10 if problem.tree.n_levels == 4 else 16)
        assert found.error <= brute * (1 + 1e-6)
        assert charge(unit, found.amounts.tolist()) <= total * (1 + 1e-9)
        if found.lower_bound is not None:
            assert found.lower_bound <= brute * (1 + 1e-9)


@pytest.mark.parametrize("law", sorted(NOISE))
def test_where_unknown_levels_would_take_more_than_half_they_share_one_half(law: str) -> None:
    """A fine grid over the splits that spend one half on the two known levels, the other on the two unknown ones."""
    parent, problem = random_problem(3, law, UNKNOWN, "rmsre", False)
    sensitivity = UNKNOWN.l2_sensitivity(4) if "gaussian" in law else UNKNOWN.l1_sensitivity(4)
    brute = np.inf
    for known in np.linspace(0.02, 0.98, 49):
        for unknown in np.linspace(0.02, 0.98, 49):
            amounts = [2.0 * known, 2.0 - 2.0 * known, 2.0 * unknown, 2.0 - 2.0 * unknown]
            variance = node_variances(parent, amounts, law, sensitivity.tolist(), least_squares=False)
            brute = min(brute, METRIC["rmsre"](parent, np.asarray(problem.counts), variance, 5.0) ** 0.5)
    assert optimum(problem, 4.0).error <= brute * (1 + 1e-6)


@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("unit", RELATIONS, ids=lambda unit: unit.relation.value)
def test_never_worse_than_a_thousand_greedy_slices_or_any_simple_split(
    law: str, unit: ProtectedUnit, every: bool
) -> None:
    """Three trees and totals, each with another metric: every pair of a law or a relation with one of these."""
    shift = sorted(NOISE).index(law) + RELATIONS.index(unit)
    for i, (squares, metric) in enumerate(((True, "rmsre"), (False, "rmsre"), (True, "rmse"))):
        if not every and i != shift % 3:
            continue
        seed = (i + shift) % 3
        _, problem = random_problem(seed + 10, law, unit, metric, squares, most=60)
        total = [0.05, 1.0, 6.0][seed]
        best = optimum(problem, total).error
        assert best <= problem.error(greedy(problem, total, 1000).amounts) * (1 + 1e-9)
        for name in ("uniform", "leaves_only", "minimax", "cube_root"):
            budget = split(problem.tree, total, problem.currency, unit, name)
            assert best <= problem.error(np.where(problem.paid > 0, budget.per_level, 0)) * (1 + 1e-9)


@pytest.mark.parametrize("unit", RELATIONS, ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.contract) for seed in range(2, 8))])
def test_gaussian_optimum_is_certified(unit: ProtectedUnit, seed: int) -> None:
    _, problem = random_problem(seed, "gaussian", unit, "rmsre", True, most=60)
    found = optimum(problem, 0.5)
    assert found.certified and found.gap is not None and found.gap < 1e-4
    assert optimum(problem.with_law("discrete_gaussian"), 0.01).certified  # sigma >= 2 everywhere: the same law


def test_the_certificate_can_fail() -> None:
    """At the uniform split the bound is far below the loss, and it never exceeds the best loss."""
    _, problem = random_problem(4, "gaussian", ADD, "rmsre", True, most=60)
    best = optimum(problem, 1.0).error ** 2
    for shares in simplex_grid(problem.tree.n_levels, 7):
        amounts = np.maximum(shares, 1e-3) / np.maximum(shares, 1e-3).sum()
        loss, slope = problem.loss_and_gradient(amounts)
        bound = tangent_bound(problem, 1.0, amounts, loss, slope)
        assert bound <= best * (1 + 1e-9)
    uniform = np.full(problem.tree.n_levels, 1 / problem.tree.n_levels)
    loss, slope = problem.loss_and_gradient(uniform)
    assert tangent_bound(problem, 1.0, uniform, loss, slope) < 0.9 * loss


def test_laplace_after_least_squares_is_certified_by_branch_and_bound() -> None:
    """A tenth of a per cent is proved; by how much any split can be better is said, and no dense grid is."""
    _, problem = random_problem(5, "laplace", ADD, "rmsre", True)
    found = optimum(problem, 1.0)
    assert found.lower_bound is not None and found.gap is not None and found.gap <= 1e-3
    assert found.lower_bound <= found.error <= found.lower_bound * (1 + 1e-3)


def test_the_optimum_beats_greedy_where_greedy_is_stuck() -> None:
    """30 x 6, 30 records a leaf, threshold 200, epsilon 4, discrete Laplace: greedy halves it, the leaves want all."""
    tree = Tree.from_branching_factors((30, 6))
    counts = tree.counts_of_leaves(np.full(180, 30))
    problem = Problem(tree, counts, "discrete_laplace", ADD, "rmsre", Tolerance(threshold=200.0))
    by_greedy = problem.error(greedy(problem, 4.0, 20).amounts)
    found = optimum(problem, 4.0)
    assert by_greedy > 1.4 * found.error
    np.testing.assert_allclose(found.amounts, [0, 0, 4], atol=1e-6)
    results = compare(problem, problem, 4.0)
    best = best_simple(results)
    assert best is not None and best.name == "leaves_only" and best.errors.tree < by_greedy
    others = best_simple([one for one in results if one.name != "leaves_only"])
    assert others is not None and others.errors.tree >= by_greedy


def test_before_least_squares_the_cube_root_of_the_weights_is_best() -> None:
    """RMSE, Laplace: minimise sum of n_l / epsilon_l^2; epsilon_l proportional to the cube root of n_l by hand."""
    tree = Tree.from_branching_factors((8, 8))
    problem = Problem(tree, np.zeros(73), "laplace", ADD, "rmse", least_squares=False)
    found = optimum(problem, 7.0)
    np.testing.assert_allclose(found.amounts, [1, 2, 4], rtol=1e-4)
    assert found.certified
    gaussian = optimum(problem.with_law("gaussian"), 11.0)
    roots = np.sqrt([1, 8, 64])
    np.testing.assert_allclose(gaussian.amounts, 11 * roots / roots.sum(), rtol=1e-4)


@pytest.mark.parametrize("metric", ["alpha_rmse", "max_absolute_error", "smoothed_relative_error"])
def test_other_metrics_are_searched_and_never_worse_than_greedy(metric: str) -> None:
    _, problem = random_problem(6, "laplace", ADD, metric, False)
    found = optimum(problem, 1.0)
    assert found.error <= problem.error(greedy(problem, 1.0).amounts) * (1 + 1e-12)
    assert found.lower_bound is None


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@pytest.mark.parametrize("unit", RELATIONS, ids=lambda unit: unit.relation.value)
def test_strategies_keep_to_the_total(name: str, unit: ProtectedUnit) -> None:
    _, problem = random_problem(7, "discrete_laplace", unit, "rmsre", True)
    (result,) = compare(problem, problem, 0.7, [name])
    amounts = result.amounts
    assert charge(unit, amounts.tolist()) >= 0.7 * (1 - 1e-9)
    assert unit.exact_charge(amounts.tolist()) <= 0.7
    assert result.errors.tree == pytest.approx(problem.error(amounts), rel=1e-9)


def test_five_curves_are_five_splits() -> None:
    """Each curve is the error of its split, computed one by one; more budget is never worse."""
    _, truth = random_problem(8, "laplace", ADD, "rmsre", True)
    prior = Problem(truth.tree, np.asarray(truth.counts)[::1] + 3, "laplace", ADD, "rmsre", truth.tolerance)
    found = curves(prior, truth, [0.5, 1.0, 2.0], phases=5)
    assert found.errors.shape == (5, 3) and len(found.labels) == 5
    assert (np.diff(found.errors, axis=1) <= 0).all()
    n = truth.tree.n_levels
    raw = Problem(truth.tree, truth.counts, "laplace", ADD, "rmsre", truth.tolerance, least_squares=False)
    assert found.errors[0, 1] == pytest.approx(raw.error(np.full(n, 1 / n)), rel=1e-12)
    assert found.errors[1, 1] == pytest.approx(truth.error(np.full(n, 1 / n)), rel=1e-12)
    assert found.errors[4, 1] == pytest.approx(truth.error(greedy(prior, 1.0, 5).amounts), rel=1e-12)
    assert (found.errors[1] <= found.errors[0]).all()


# ---- data-free splits


def test_how_often_prefixes_use_each_level_by_enumeration() -> None:
    for seed in range(20):
        parent = random_parents(np.random.default_rng(seed), 15)
        tree = Tree(np.array(parent), np.array(level_starts(parent)))
        uses = np.zeros(tree.n_levels, dtype=int)
        for n_leaves in range(1, tree.n_leaves + 1):
            for node in tree.prefix_cover(n_leaves):
                uses[tree.level_of[node]] += 1
        assert uses_in_prefixes(tree).tolist() == uses.tolist()


@pytest.mark.parametrize("code", ["ONE_LEVEL", "EPS_RANGE"])
def test_bad_input_has_one_sentence(code: str) -> None:
    tree = Tree.from_branching_factors(() if code == "ONE_LEVEL" else (2,))
    with refuses(code):
        optimum(Problem(tree, np.ones(tree.n_nodes), "laplace", ADD), 0.0 if code == "EPS_RANGE" else 1.0)


@pytest.mark.parametrize("law", ["discrete_laplace", "gaussian"])
@pytest.mark.parametrize("least_squares", [True, False])
def test_where_nothing_errs_every_split_is_the_best(law: str, least_squares: bool) -> None:
    """One leaf below a public total; before least squares its own noise errs all the same."""
    tree, unit = Tree.from_branching_factors((1,)), ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    problem = Problem(tree, np.array([50, 50]), law, unit, least_squares=least_squares)
    found = optimum(problem, 1.0)
    assert found.amounts.tolist() == [0.0, 1.0] and found.certified
    assert (found.error == 0) is least_squares
