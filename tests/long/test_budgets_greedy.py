"""Greedy allocation against Algorithm 3 done naively in exact arithmetic, and what a split is refused for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles_budgets import METRIC, NOISE, exact_node_variances, naive_greedy, node_variances
from oracles_tree import level_starts, random_parents
from refusals import refuses
from treedp_core.errors import Tolerance
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import STRATEGIES, Problem, greedy
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2)
TREE = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 3, 0, 0, 2, 1])])
COUNTS = TREE.counts_of_leaves(np.arange(TREE.n_leaves) * 3)


@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("metric", sorted(METRIC))
@pytest.mark.parametrize("seed", range(6))
def test_greedy_is_algorithm_3_step_for_step(law: str, squares: bool, metric: str, seed: int) -> None:
    """Exact arithmetic, so that exact ties are ties: seeds 0 to 2 give every leaf the same count."""
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, int(rng.integers(3, 15)))
    tree = Tree(np.array(parent), np.array(level_starts(parent)))
    values = np.full(tree.n_leaves, 7) if seed < 3 else rng.integers(0, 40, tree.n_leaves)
    counts, n, total, phases = tree.counts_of_leaves(values), tree.n_levels, 2.0, 7

    def loss(amounts: list[float]) -> float:
        return METRIC[metric](parent, counts, exact_node_variances(parent, amounts, law, squares), 5.0)

    found = greedy(Problem(tree, counts, law, ADD, metric, Tolerance(threshold=5.0), squares), total, phases)
    steps, amounts = naive_greedy(loss, [1e-5 * total / n] * n, (1 - 1e-5) * total / phases, phases, list(range(n)))
    assert found.steps.tolist() == steps
    np.testing.assert_allclose(found.after_each_step[-1], amounts, rtol=1e-12)
    np.testing.assert_allclose(found.losses[-1][steps[-1]], loss(amounts), rtol=1e-9)


@pytest.mark.parametrize("unit", [REPLACE, UNKNOWN], ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_is_algorithm_3_where_a_level_is_public_or_charged_twice(
    unit: ProtectedUnit, law: str, squares: bool, seed: int
) -> None:
    """Replaced records: a known root, L1 2 and L2 sqrt 2 below it. Unknown columns: their levels are charged twice."""
    rng = np.random.default_rng(seed + 30)
    while True:
        parent = random_parents(rng, int(rng.integers(6, 18)))
        starts = level_starts(parent)
        sizes = np.diff(starts)
        if len(sizes) == 4 and (np.diff(sizes) > 0).all():  # no two levels are alike, so that nothing ties
            break
    tree = Tree(np.array(parent), np.array(starts))
    counts, total, phases = tree.counts_of_leaves(rng.integers(0, 40, tree.n_leaves)), 2.0, 9
    gaussian = law in ("gaussian", "discrete_gaussian")
    sensitivity = [0.0, *[2**0.5 if gaussian else 2.0] * 3] if unit is REPLACE else [1.0] * 4
    first = 1e-5 * total / (3 if unit is REPLACE else 4)  # charged 4 a = 2 * 2 a: levels 2 and 3 are unknown

    def loss(amounts: list[float]) -> float:
        return METRIC["rmsre"](parent, counts, node_variances(parent, amounts, law, sensitivity, squares), 5.0)

    found = greedy(Problem(tree, counts, law, unit, "rmsre", Tolerance(threshold=5.0), squares), total, phases)
    start = [0.0 if s == 0 else first for s in sensitivity]
    allowed = [level for level in range(4) if sensitivity[level]]
    doubled = [2, 3] if unit is UNKNOWN else []
    steps, amounts = naive_greedy(loss, start, (1 - 1e-5) * total / phases, phases, allowed, doubled)
    assert found.steps.tolist() == steps
    np.testing.assert_allclose(found.after_each_step[-1], amounts, rtol=1e-12)


def test_ties_go_to_the_lowest_level() -> None:
    """In a chain every level holds the same count, so only the sum of precisions matters: all slices tie."""
    chain = Tree.from_branching_factors((1, 1, 1))
    problem = Problem(chain, np.full(4, 30), "gaussian", ADD)
    assert greedy(problem, 1.0, 9).steps.tolist() == [0] * 9


def test_known_answers() -> None:
    """Published in the project's reference computation: tree 4 x 4, Laplace, threshold 1000, epsilon 1, 20 slices.

    13 slices for level 1 and 7 for the leaves; the best split on that grid is another one, and better.
    """
    tree = Tree.from_branching_factors((4, 4))
    counts = np.repeat([160, 40, 10], [1, 4, 16])
    problem = Problem(tree, counts, "laplace", ADD, "rmsre", Tolerance(threshold=1000.0))
    found = greedy(problem, 1.0, 20)
    assert np.bincount(found.steps, minlength=3).tolist() == [0, 13, 7]
    assert problem.error(found.after_each_step[-1]) == pytest.approx(0.003395582505210067, rel=1e-12)
    piece = (1 - 1e-5) / 20
    other = np.full(3, 1e-5 / 3) + piece * np.array([7, 0, 13])
    assert problem.error(other) == pytest.approx(0.0033147378359164926, rel=1e-12)
    assert problem.error(np.full(3, 1 / 3)) == pytest.approx(0.0036331804249169902, rel=1e-12)


@given(st.integers(1, 31), st.floats(0.01, 16), st.sampled_from([ADD, REPLACE, UNKNOWN]), st.booleans())
@example(1, 1.0, UNKNOWN, True)
def test_greedy_spends_the_total_and_no_more(phases: int, total: float, unit: ProtectedUnit, squares: bool) -> None:
    problem = Problem(TREE, COUNTS, "laplace", unit, least_squares=squares)
    found = greedy(problem, total, phases)
    amounts = [Fraction(float(a)) for a in found.amounts]
    cost = max(sum(amounts), 2 * sum(amounts[2:])) if unit is UNKNOWN else sum(amounts)
    assert Fraction(total) * Fraction(1 - 3e-5) <= cost <= Fraction(total) * Fraction(1 + 1e-12)
    assert (found.start[0] == 0) == unit.total_is_public
    assert unit is not UNKNOWN or (found.steps >= 2).sum() <= phases // 2
    budget = problem.budget(found.amounts, total)
    assert unit.exact_charge(budget.per_level) <= Fraction(total)


@pytest.mark.parametrize("metric", ["alpha_rmse", "max_absolute_error", "smoothed_relative_error"])
@pytest.mark.parametrize("law", ["laplace", "discrete_laplace"])
def test_other_metrics_follow_their_formulas_before_least_squares(metric: str, law: str) -> None:
    """Each slice goes where the metric's own closed form falls most, whatever the metric."""
    problem = Problem(TREE, COUNTS, law, ADD, metric, least_squares=False)
    found = greedy(problem, 4.0, 5)
    amounts = found.start.copy()
    for step in found.steps:
        tried = [problem.error(amounts + found.slice * np.eye(4)[level]) for level in range(4)]
        assert tried[step] <= min(tried) * (1 + 1e-9)
        amounts[step] += found.slice


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("PHASES_RANGE", lambda: greedy(Problem(TREE, COUNTS, "laplace", ADD), 1.0, 0)),
        ("PHASES_RANGE", lambda: greedy(Problem(TREE, COUNTS, "laplace", ADD), 1.0, 1.5)),  # type: ignore[arg-type]
        ("EPS_RANGE", lambda: greedy(Problem(TREE, COUNTS, "laplace", ADD), 0.0)),
        ("RHO_RANGE", lambda: greedy(Problem(TREE, COUNTS, "gaussian", ADD), -1.0)),
        ("ONE_LEVEL", lambda: greedy(Problem(Tree.from_branching_factors(()), np.ones(1), "laplace", ADD), 1.0)),
        ("THRESHOLD_RANGE", lambda: Tolerance(threshold=0.0)),
        ("THRESHOLD_RANGE", lambda: Tolerance(threshold=-3.0)),
        ("PRIOR_LEAVES", lambda: Problem(TREE, np.ones(3), "laplace", ADD)),
        ("VALUE_UNKNOWN", lambda: Problem(TREE, COUNTS, "cauchy", ADD)),
        ("VALUE_UNKNOWN", lambda: Problem(TREE, COUNTS, "laplace", ADD, "median")),
        ("NO_FORMULA", lambda: greedy(Problem(TREE, COUNTS, "laplace", ADD, "alpha_rmse"), 1.0)),
    ],
)
def test_bad_input_has_one_sentence(code: str, call: object) -> None:
    with refuses(code):
        call()  # type: ignore[operator]


def test_counts_of_zero_everywhere_still_have_a_split() -> None:
    """The threshold takes the place of every count; only a prior that says nothing is refused."""
    problem = Problem(TREE, np.zeros(TREE.n_nodes), "laplace", ADD)
    assert np.isfinite(problem.error(greedy(problem, 1.0).amounts))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("law", ["discrete_laplace", "gaussian"])
@pytest.mark.parametrize("unit", [ADD, REPLACE, UNKNOWN], ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize("squares", [True, False])
def test_no_strategy_leaves_crumbs(name: str, law: str, unit: ProtectedUnit, squares: bool) -> None:
    """A level is charged a millionth of the total or nothing; what greedy begins with goes back where none is added.

    Public levels cost nothing. Levels whose counts follow from others need none; before least squares all need some.
    """
    tree = Tree.from_branching_factors((2, 3, 2, 3, 2))
    counts = tree.counts_of_leaves(np.arange(tree.n_leaves) % 7 * 100)
    problem = Problem(tree, counts, law, unit, "rmsre", Tolerance(threshold=10.0), squares)
    amounts = STRATEGIES[name].amounts(problem, 1.0, 20)
    charged = amounts * np.array([0.0 if unit.total_is_public and level == 0 else 1.0 for level in range(6)])
    if unit is UNKNOWN:
        charged[unit.known_levels :] *= 2.0
    floor = 1e-4 if name == "greedy" and squares else 1e-6
    assert all(one == 0 or one >= floor for one in charged), charged
    budget = problem.budget(amounts, 1.0)
    assert Fraction(1) * (1 - Fraction(1, 10**9)) <= unit.exact_charge(budget.per_level) <= 1


def test_a_leaf_level_keeps_a_millionth_where_mixed_depths_need_it() -> None:
    """One leaf stands above the others: its level is the only one that knows it, however little it gets."""
    tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([0, 1, 3, 5]))
    problem = Problem(tree, np.array([9, 8, 1, 4, 4]), "gaussian", ADD)
    found = problem.tidied(np.array([3e-7, 3e-7, 1.0]), 1.0)
    assert found[0] == 0 and 1e-6 <= found[1] <= 1.01e-6 and found.sum() == pytest.approx(1.0)
