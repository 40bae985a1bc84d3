"""Reliability of single counts, closed forms against 200 000 trials, and the smallest budget for targets."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from oracles_budgets import NOISE, node_variances, simplex_grid
from oracles_tree import level_starts, random_parents
from treedp_core import postprocess
from treedp_core.budgets import Ask, Problem, Target, reliability, smallest_budget
from treedp_core.checks import InputError
from treedp_core.errors import Tolerance
from treedp_core.mechanisms import MECHANISMS
from treedp_core.montecarlo import generator
from treedp_core.privacy import Budget, NeighbouringRelation, ProtectedUnit
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2)
TREE = Tree.from_child_counts([np.array([3]), np.array([2, 0, 2])])
COUNTS = TREE.counts_of_leaves(np.array([12, 30, 8, 25, 3]))
TRIALS = 200_000


def simulated(problem: Problem, amounts: np.ndarray, seed: int) -> np.ndarray:
    """Errors (trials, n_nodes) of releases made by the mechanism and the post-processor themselves."""
    mechanism = MECHANISMS[problem.law]
    noise = mechanism.plan(problem.tree, Budget(problem.currency, tuple(amounts.tolist())), problem.unit)
    function, _ = postprocess.prepare(problem.tree, noise.variance, ("least_squares",) * problem.least_squares)
    return function(noise.draw(generator(seed), TRIALS).astype(float))


@pytest.mark.statistical
@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("metric", ["rmse", "rmsre"])
def test_closed_forms_against_200_000_trials(law: str, squares: bool, metric: str) -> None:
    """Mean squared tree error within 5.5 of its own standard errors: a false alarm once in 10^7; 3 % off is seen."""
    problem = Problem(TREE, COUNTS, law, ADD, metric, Tolerance(threshold=10.0), squares)
    amounts = np.array([0.2, 0.5, 0.6])
    errors = simulated(problem, amounts, 1)
    relative = np.maximum(COUNTS, 10.0) if metric == "rmsre" else np.ones(TREE.n_nodes)
    squared = np.square(errors / relative)
    by_level = np.stack([squared[:, TREE.level(i)].mean(axis=1) for i in range(3)])
    each = by_level.mean(axis=0) if metric == "rmsre" else squared.mean(axis=1)
    standard_error = each.std() / math.sqrt(TRIALS)
    expected = problem.error(amounts) ** 2
    assert abs(each.mean() - expected) < 5.5 * standard_error
    assert abs(each.mean() - 1.03 * expected) > 5.5 * standard_error


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "squares", "exact"),
    [
        ("laplace", False, True),
        ("discrete_laplace", False, True),
        ("gaussian", False, True),
        ("discrete_gaussian", False, True),
        ("gaussian", True, True),
        ("discrete_gaussian", True, False),
        ("laplace", True, False),
        ("discrete_laplace", True, False),
    ],
)
def test_reliability_against_200_000_trials(law: str, squares: bool, exact: bool) -> None:
    """Exact ones within 5.5 standard errors (false alarm 10^-6 a run, 10 runs added for rare events).

    Sums of Laplace noises are more peaked than normal ones: within 0.1, and within 0.02 where it is above 0.9.
    """
    problem = Problem(TREE, COUNTS, law, ADD, least_squares=squares)
    amounts = np.array([0.2, 0.5, 0.6])
    found = reliability(problem, amounts, 0.15, at_least=5.0)
    assert found.exact is exact and ("normal approximation" in found.method) is not exact
    reach = 0.15 * np.maximum(COUNTS, 5.0)
    frequency = (np.abs(simulated(problem, amounts, 2)) <= reach).mean(axis=0)
    p = found.probability
    room = 5.5 * np.sqrt(p * (1 - p) / TRIALS) + 10 / TRIALS if exact else np.where(p > 0.9, 0.02, 0.1)
    assert (np.abs(frequency - found.probability) <= room).all()
    other = reliability(problem, amounts, 0.18 if exact else 0.4, at_least=5.0).probability
    assert (np.abs(frequency - other) > room).any()


def test_reliability_by_hand() -> None:
    """Variance 1/(2 rho) = 4 on a raw level: P(|Z| <= 0.1 * 40) = P(|N| <= 2); known and unknown counts are 1 and 0."""
    tree = Tree.from_branching_factors((2, 1))
    counts = np.array([40, 40, 0, 40, 0])
    problem = Problem(tree, counts, "gaussian", REPLACE, least_squares=False)
    found = reliability(problem, np.array([0, 0.25, 0.0]), 0.1)  # replaced records: sigma^2 = 2 / (2 rho) = 4
    two_sigma = 2 * NormalDist().cdf(2) - 1
    np.testing.assert_allclose(found.probability, [1, two_sigma, 0, 0, 0], atol=1e-12)
    assert found.useful(0.95).tolist() == [True, True, False, False, False]
    np.testing.assert_allclose(found.level_mean, [1, two_sigma / 2, 0], atol=1e-12)


# ---- the inverse problem


def test_one_target_by_hand() -> None:
    """Counts 50 and 50 within 10 % nineteen times in twenty, Laplace: e^(-5 epsilon) = 0.05."""
    tree = Tree.from_branching_factors((2,))
    problem = Problem(tree, np.array([100, 50, 50]), "laplace", ADD, least_squares=False)
    every = smallest_budget(problem, [Target(1, Ask.EVERY_NODE, 0.1, 0.95)])
    assert every.total == pytest.approx(math.log(20) / 5, rel=1e-9)
    assert every.amounts[0] == 0 and every.binding == (1,) and every.exact
    both = smallest_budget(problem, [Target(1, Ask.EVERY_NODE, 0.1, 0.95), Target(0, Ask.RMSE, 4.0)])
    assert both.total == pytest.approx(math.log(20) / 5 + math.sqrt(2) / 4, rel=1e-9)
    assert both.binding == (0, 1)


def test_a_known_total_costs_nothing() -> None:
    problem = Problem(TREE, COUNTS, "laplace", REPLACE)
    assert smallest_budget(problem, [Target(0, Ask.RMSE, 1.0)]).total == 0


def test_gaussian_noise_after_least_squares_by_hand() -> None:
    """Only the root's variance v counts: with two leaves, precision 2 r0 + 2 r1 / 2; all on the root: 2 rho = 1 / v."""
    tree = Tree.from_branching_factors((2,))
    problem = Problem(tree, np.array([100, 50, 50]), "gaussian", ADD)
    found = smallest_budget(problem, [Target(0, Ask.RMSE, 2.0)])
    assert found.total == pytest.approx(1 / 8, rel=1e-6)
    assert found.lower_bound == pytest.approx(1 / 8, rel=1e-4)
    z = NormalDist().inv_cdf(0.975)
    every = smallest_budget(problem, [Target(0, Ask.EVERY_NODE, 0.1, 0.95)])
    assert every.total == pytest.approx((z / 10) ** 2 / 2, rel=1e-6) and every.exact


def value(problem: Problem, parent: list[int], target: Target, amounts: list[float]) -> float:
    """At most 1 when the target is met, by dense algebra and the standard library's normal law."""
    n = problem.tree.n_levels
    sensitivity = problem.unit.l2_sensitivity(n) if "gaussian" in problem.law else problem.unit.l1_sensitivity(n)
    variance = node_variances(parent, amounts, problem.law, sensitivity.tolist(), True)
    nodes = range(*problem.tree.level(target.level).indices(problem.tree.n_nodes))
    if target.ask is Ask.RMSE:
        return float(np.mean([variance[v] for v in nodes])) / target.value**2
    counts = [max(float(problem.counts[v]), 10.0 if target.ask is Ask.RMSRE else 0.0) for v in nodes]
    if target.ask is Ask.RMSRE:
        return float(np.mean([variance[v] / c**2 for v, c in zip(nodes, counts, strict=True)])) / target.value**2
    missed = [
        0.0 if variance[v] == 0 else 2 - 2 * NormalDist().cdf(target.value * c / math.sqrt(variance[v]))
        for v, c in zip(nodes, counts, strict=True)
        if variance[v] < math.inf
    ] + [1.0 for v in nodes if variance[v] == math.inf]
    worst = max(missed) if target.ask is Ask.EVERY_NODE else sum(missed) / len(missed)
    return worst / (1 - target.confidence)


@pytest.mark.parametrize("law", ["gaussian", "laplace", "discrete_laplace"])
@pytest.mark.parametrize("unit", [ADD, REPLACE, UNKNOWN], ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize("seed", range(2))
def test_the_smallest_budget_meets_its_targets_and_no_split_on_a_grid_does_with_less(
    law: str, unit: ProtectedUnit, seed: int
) -> None:
    rng = np.random.default_rng(seed + 20)
    while True:
        parent = random_parents(rng, 9)
        tree = Tree(np.array(parent), np.array(level_starts(parent)))
        if tree.n_levels == 3 and tree.level_sizes[1] > 1:
            break
    counts = tree.counts_of_leaves(rng.integers(20, 90, tree.n_leaves))
    problem = Problem(tree, counts, law, unit)
    targets = [
        Target(1, Ask.EVERY_NODE if seed else Ask.RMSRE, 0.2, 0.9),
        Target(2, Ask.AVERAGE_NODE if seed else Ask.RMSE, 0.4 if seed else 8.0, 0.8),
    ]
    found = smallest_budget(problem, targets)
    for target, reached in zip(targets, found.values, strict=True):
        assert value(problem, parent, target, found.amounts.tolist()) <= 1 + 1e-6
        assert reached <= 1 + 1e-9
    assert float(problem.charge(found.amounts)) == pytest.approx(found.total, rel=1e-9)
    assert found.binding and max(found.values) == pytest.approx(1, rel=1e-6)
    for shares in simplex_grid(3, 12):
        if unit is REPLACE and shares[0] > 0:
            continue
        amounts = [0.97 * found.total * share / float(problem.charge(np.array(shares))) for share in shares]
        assert max(value(problem, parent, target, amounts) for target in targets) > 1
    if found.lower_bound is not None:
        assert 0.99 * found.total <= found.lower_bound <= found.total * (1 + 1e-9)


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize(
    ("code", "targets"),
    [
        ("TARGET_INFEASIBLE", [Target(2, Ask.EVERY_NODE, 0.1, 0.95)]),  # a count of 0
        ("TARGET_INFEASIBLE", [Target(2, Ask.RMSE, 1e-6), Target(1, Ask.RMSE, 100.0)]),
        ("TARGET_RANGE", []),
        ("TARGET_RANGE", [Target(3, Ask.RMSE, 1.0)]),
    ],
)
def test_targets_that_cannot_be_met_name_the_level(code: str, targets: list[Target], squares: bool) -> None:
    counts = TREE.counts_of_leaves(np.array([12, 0, 8, 25, 3]))
    with pytest.raises(InputError) as refusal:
        smallest_budget(Problem(TREE, counts, "gaussian", ADD, least_squares=squares), targets)
    assert refusal.value.code == code
    if code == "TARGET_INFEASIBLE":
        assert "evel 2" in str(refusal.value) or "level: 2" in str(refusal.value)
        assert "level 1" not in str(refusal.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Target(1, Ask.RMSE, 0.0),
        lambda: Target(1, Ask.EVERY_NODE, 0.1, 1.0),
        lambda: Target(1, Ask.EVERY_NODE, 0.1, 0.0),
        lambda: Target(-1, Ask.RMSE, 1.0),
        lambda: Target(1, Ask.EVERY_NODE, 0.1, 0.9, -1.0),
        lambda: reliability(Problem(TREE, COUNTS, "laplace", ADD), np.ones(3), 0.0),
    ],
)
def test_bad_targets_have_one_sentence(call: object) -> None:
    with pytest.raises(InputError) as refusal:
        call()  # type: ignore[operator]
    assert refusal.value.code == "TARGET_RANGE"


def test_small_counts_can_be_judged_as_larger() -> None:
    counts = TREE.counts_of_leaves(np.array([12, 0, 8, 25, 3]))
    problem = Problem(TREE, counts, "gaussian", ADD)
    found = smallest_budget(problem, [Target(2, Ask.EVERY_NODE, 0.1, 0.95, at_least=20.0)])
    reached = reliability(problem, found.amounts, 0.1, at_least=20.0).probability[TREE.level(2)]
    assert reached.min() == pytest.approx(0.95, abs=1e-6)
