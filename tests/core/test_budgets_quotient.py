"""The quotient, its variances and gradients, and the precision of each law, against slow oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles_budgets import NOISE, node_variances
from oracles_tree import level_starts, random_parents
from treedp_core.errors import METRICS, Tolerance
from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import Laplace
from treedp_core.postprocess import least_squares
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Problem
from treedp_core.studies.budget.problem import level_precision
from treedp_core.studies.budget.quotient import gradient, quotient, sweeps
from treedp_core.studies.budget.targets.reliability import after_least_squares
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
UNITS = [ProtectedUnit(relation, m, 1) for relation in NeighbouringRelation for m in (1, 3)]


def random_tree(seed: int, n_nodes: int) -> tuple[list[int], Tree]:
    parent = random_parents(np.random.default_rng(seed), n_nodes)
    return parent, Tree(np.array(parent), np.array(level_starts(parent)))


def shape_of(parent: list[int], node: int) -> tuple[object, ...]:
    """Everything the variance of a node can depend on below it, as nested tuples."""
    return tuple(sorted((shape_of(parent, c) for c, p in enumerate(parent) if p == node), key=repr))


@given(st.integers(0, 9999), st.integers(1, 40))
def test_classes_are_shapes_under_shapes(seed: int, n_nodes: int) -> None:
    parent, tree = random_tree(seed, n_nodes)

    def trace(node: int) -> tuple[object, ...]:
        above = () if parent[node] < 0 else trace(parent[node])
        return (*above, shape_of(parent, node))

    expected = [trace(v) for v in range(n_nodes)]
    found = quotient(tree)
    assert found.n_classes == len(set(expected))
    assert len({(c, t) for c, t in zip(found.class_of.tolist(), expected, strict=True)}) == found.n_classes
    assert found.multiplicity.tolist() == np.bincount(found.class_of).tolist()


@given(st.integers(0, 9999), st.integers(1, 60), st.booleans(), st.booleans())
def test_class_variances_are_those_of_the_full_pass(seed: int, n_nodes: int, public: bool, skipped: bool) -> None:
    _, tree = random_tree(seed, n_nodes)
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.1, 10, tree.n_levels)
    if public:
        q[0] = np.inf
    inner = [i for i in range(tree.n_levels) if not tree.is_leaf[tree.level(i)].any()]
    if skipped and inner:
        q[inner[-1]] = 0.0
    with np.errstate(divide="ignore"):
        variance = np.repeat(1 / q, tree.level_sizes)
    full = least_squares.prepare(tree, variance)[1]
    classes = quotient(tree)
    np.testing.assert_allclose(sweeps(classes, q).variance[classes.class_of], full, rtol=3e-15, atol=1e-300)


@given(st.integers(0, 9999), st.integers(2, 30))
def test_many_budgets_at_once_are_each_budget_alone(seed: int, n_nodes: int) -> None:
    _, tree = random_tree(seed, n_nodes)
    q = np.random.default_rng(seed).uniform(0.1, 10, (3, 2, tree.n_levels))
    classes = quotient(tree)
    together = sweeps(classes, q).variance
    for i in range(3):
        for j in range(2):
            np.testing.assert_array_equal(together[i, j], sweeps(classes, q[i, j]).variance)


def test_a_budget_next_to_nothing_does_not_cancel() -> None:
    """An early leaf with variance 2e22 beside well measured siblings: its estimate is parent minus siblings.

    By hand: root variance 1 alone, siblings' sum r has variance 2: with the leaf all but unknown, the root stays at 1
    and the siblings at 1 each, so the leaf has 1 + 2 = 3.
    """
    tree = Tree.from_child_counts([np.array([3]), np.array([0, 1, 1])])
    q = np.array([1.0, 5e-23, 1.0])
    variance = sweeps(quotient(tree), q).variance[quotient(tree).class_of]
    np.testing.assert_allclose(variance, [1, 3, 1, 1, 1, 1], rtol=1e-12)


@given(st.integers(0, 9999), st.integers(2, 40))
def test_gradients_are_difference_quotients(seed: int, n_nodes: int) -> None:
    _, tree = random_tree(seed, n_nodes)
    rng = np.random.default_rng(seed)
    classes = quotient(tree)
    q, weights = rng.uniform(0.3, 3, tree.n_levels), rng.uniform(size=classes.n_classes)
    found = gradient(classes, sweeps(classes, q), weights)
    value = sweeps(classes, q).variance @ weights
    assert q @ found == pytest.approx(-value, rel=1e-12)  # homogeneous of order -1
    for level in range(tree.n_levels):
        step = 1e-5 * np.eye(tree.n_levels)[level]
        slope = (sweeps(classes, q + step).variance - sweeps(classes, q - step).variance) @ weights / 2e-5
        assert found[level] == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("law", sorted(NOISE))
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.relation.value}-{unit.contributions}")
@pytest.mark.parametrize("amount", [1e-6, 0.01, 0.3, 1.0, 4.0])
def test_precision_is_that_of_the_law(law: str, unit: ProtectedUnit, amount: float) -> None:
    found, slope = level_precision(law, unit, 2).with_slope(np.array([amount, amount]))
    l1, l2 = unit.l1_sensitivity(2)[1], unit.l2_sensitivity(2)[1]
    planned = level_law(law, amount, float(l1), float(l2))
    assert planned is not None
    assert found[1] == pytest.approx(1 / planned.variance, rel=1e-9)
    assert found[0] == (np.inf if unit.total_is_public else found[1])
    ratio = amount / (l2 * l2 if "gaussian" in law else l1)
    assert found[1] == pytest.approx(1 / NOISE[law](float(ratio)), rel=1e-9)
    up, down = (level_precision(law, unit, 2)(np.full(2, amount * f))[1] for f in (1 + 1e-6, 1 - 1e-6))
    assert slope[1] == pytest.approx((up - down) / (2e-6 * amount), rel=1e-4)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.relation.value}-{unit.contributions}")
def test_a_problem_draws_the_noise_it_is_charged_for(unit: ProtectedUnit) -> None:
    """By hand on the last level, which spends 1/2: scale L1 / (1/2), and variance L2^2 of the Gaussian law."""
    tree, m = Tree.from_branching_factors((2,)), unit.contributions
    replaced = unit.relation is NeighbouringRelation.REPLACE_ONE
    laplace, gaussian = (
        Problem(tree, np.ones(3), law, unit).laws(np.array([0.0 if replaced else 0.5, 0.5]))
        for law in ("laplace", "gaussian")
    )
    assert laplace[1] == Laplace(4.0 * m if replaced else 2.0 * m)
    assert gaussian[1] is not None and gaussian[1].variance == pytest.approx(2 * m * m if replaced else m * m)
    assert [one[0] is None for one in (laplace, gaussian)] == [replaced, replaced]


@given(st.integers(0, 999), st.integers(2, 25), st.sampled_from(sorted(NOISE)), st.booleans(), st.booleans())
def test_problems_price_a_split_like_an_experiment(
    seed: int, n_nodes: int, law: str, squares: bool, relative: bool
) -> None:
    """`Problem` and `Experiment` share only the laws and the metrics; the split is handed over as custom shares."""
    _, tree = random_tree(seed, n_nodes)
    rng = np.random.default_rng(seed)
    counts = tree.counts_of_leaves(rng.integers(0, 40, tree.n_leaves))
    shares = rng.dirichlet(np.ones(tree.n_levels)) * (1 - 1e-9)
    experiment = Experiment(
        mechanism=law,
        delta=1e-6,
        relation="add_or_remove_one",
        allocation="custom",
        shares=tuple(shares.tolist()),
        postprocess=("least_squares",) if squares else (),
        metric="rmsre" if relative else "rmse",
        threshold=5.0,
    )
    pipeline = prepare(experiment, tree)
    problem = Problem(tree, counts, law, ADD, experiment.metric, Tolerance(threshold=5.0), squares)
    amounts = np.array(pipeline.budget.per_level)
    assert pipeline.errors is not None
    loss = METRICS[experiment.metric].loss(np.sqrt(pipeline.errors.variance), counts, Tolerance(threshold=5.0))
    level = np.add.reduceat(loss, tree.level_start[:-1]) / tree.level_sizes
    expected = np.sqrt(level.mean() if relative else loss.mean())
    assert problem.error(amounts) == pytest.approx(expected, rel=1e-9)
    assert np.sqrt(problem.loss(amounts)) == pytest.approx(expected, rel=1e-9)
    assert problem.loss_and_gradient(amounts)[0] == pytest.approx(expected**2, rel=1e-9)


@given(st.integers(0, 999), st.integers(2, 25), st.sampled_from(UNITS))
@example(10, 6, UNITS[2])  # a public root with one child: both are known exactly
def test_variances_with_levels_not_measured_are_those_of_dense_algebra(
    seed: int, n_nodes: int, unit: ProtectedUnit
) -> None:
    parent, tree = random_tree(seed, n_nodes)
    rng = np.random.default_rng(seed)
    amounts = rng.uniform(0.5, 2, tree.n_levels) * (rng.random(tree.n_levels) < 0.6)
    problem = Problem(tree, np.zeros(n_nodes), "laplace", unit)
    l1 = unit.l1_sensitivity(tree.n_levels).tolist()
    expected = node_variances(parent, amounts.tolist(), "laplace", l1, True)
    np.testing.assert_allclose(problem.node_variance(amounts), expected, rtol=1e-7, atol=1e-9)
    loss = float(problem.loss(amounts))
    whole = np.mean([np.mean(expected[tree.level(i)]) for i in range(tree.n_levels)]) / 100  # threshold 10, counts 0
    assert loss == pytest.approx(whole, rel=1e-6, abs=1e-12)


def test_gradients_where_one_child_holds_all_the_variance() -> None:
    """The tree of the cancellation test, leaves of level 1 almost unmeasured: more budget never hurts.

    By hand, with precisions (1, q, 1) and q small. The early leaf is root minus siblings, variance 3: its own
    measurement takes 9 q off, the siblings' another q each. A sibling of variance 1 loses q by its own measurement,
    and q by root minus the others, whose variance is about 1 / q.
    """
    tree = Tree.from_child_counts([np.array([3]), np.array([0, 1, 1])])
    classes = quotient(tree)
    for q in (1e-3, 1e-12, 1e-20):
        precision = np.array([1.0, q, 1.0])
        found = sweeps(classes, precision)
        leaf = np.zeros(classes.n_classes)
        leaf[classes.class_of[1]] = 1.0
        siblings = np.zeros(classes.n_classes)
        siblings[classes.class_of[2]] = 1.0
        assert gradient(classes, found, leaf)[1] == pytest.approx(-11, rel=20 * q + 1e-9)
        assert gradient(classes, found, siblings)[1] == pytest.approx(-2, rel=20 * q + 1e-9)


@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian"])
def test_what_is_kept_of_one_split_is_not_taken_for_another(law: str) -> None:
    tree, splits = Tree.from_branching_factors((2, 3)), [np.array(one) for one in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.0])]
    counts = np.arange(tree.n_nodes) + 5.0
    kept = Problem(tree, counts, law, ADD)
    for spent in (*splits, *splits):
        for within in (0.1, 0.5, 0.1):
            fresh, nodes = Problem(tree, counts, law, ADD), np.arange(tree.n_nodes)
            assert kept.node_variance(spent).tolist() == fresh.node_variance(spent).tolist()
            reach = within * counts
            again = [after_least_squares(one, spent, reach, nodes).probability.tolist() for one in (kept, kept, fresh)]
            assert again[0] == again[1] == again[2]
