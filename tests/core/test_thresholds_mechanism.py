"""The threshold mechanism as a whole: the reduction, its accuracy, its steps, its release, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import oracles_thresholds as oracle
from refusals import refuses
from treedp_core.mechanisms.thresholds.estimation import clamp, classification_level, classify, cut_off, estimate
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.plans import provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.reduction import label_nodes
from treedp_core.mechanisms.thresholds.release import budget_for_one_record, release_with_thresholds
from treedp_core.mechanisms.thresholds.schedule import least_threshold, paper_plan
from treedp_core.mechanisms.thresholds.sparse_vector import Draw, Queries, pass_noise
from treedp_core.mechanisms.thresholds.trace import steps
from treedp_core.noise.truncated_laplace import discrete_bound, truncated_bound
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.tree import Tree
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import Cancelled, Watch

ADD_REMOVE = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)


class Exact:
    """Answers without any noise."""

    def first_above(self, level: PlanLevel, queries: Queries) -> np.ndarray:
        first = np.full(queries.n_trees, -1)
        for tree, query, bottom in reversed(list(zip(queries.tree, queries.query, queries.bottom, strict=True))):
            if query >= level.classification_threshold:
                first[tree] = bottom
        return first

    def passes(self, level: PlanLevel, tree: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return counts >= level.classification_threshold


def plan_of(thresholds: list[float], values: list[float], rest: float = 0.0, cut: int = 1) -> Plan:
    # t = 500 a round: pass noise below a record, so that small thresholds are allowed
    bound = truncated_bound(500.0 / cut, 1e-3 / cut)
    law = "exponential" if cut == 1 else "laplace"
    pairs = zip(thresholds, values, strict=True)
    levels = [PlanLevel(v, t, bound, 1.0, 1.0, 500.0, 1e-3, bound, cut, law) for t, v in pairs]
    return Plan("by hand", 502.001 * len(levels), 1.001e-3 * len(levels), tuple(levels), rest, 0.5)


def random_tree(g: np.random.Generator, most: int) -> tuple[Tree, np.ndarray]:
    sizes, per_level = 1, []
    for _ in range(int(g.integers(2, 6))):
        children = g.integers(0, 4, sizes)
        children[int(g.integers(0, sizes))] = 2
        per_level.append(children)
        sizes = int(children.sum())
    tree = Tree.from_child_counts(per_level)
    leaves = np.exp(g.uniform(0, np.log(most), tree.n_leaves)) * (g.random(tree.n_leaves) < 0.7)
    return tree, tree.counts_of_leaves(leaves.astype(np.int64))


# --- the reduction ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [False, True])
def test_with_exact_answers_every_node_gets_the_largest_threshold_it_reaches(dense: bool) -> None:
    g = np.random.default_rng(1)
    thresholds, values = [5000.0, 900.0, 130.0, 11.0], [8000.0, 2000.0, 400.0, 50.0]
    for _ in range(40):
        tree, counts = random_tree(g, 3000)
        paths = PathTree.from_tree(tree, counts, dense=dense)
        # one test finds the deepest level only, so give every threshold as many rounds as there are levels
        many = [t for t in thresholds for _ in range(tree.n_levels)]
        plan = plan_of(many, [v for v in values for _ in range(tree.n_levels)], 3.0)
        labels = label_nodes(paths, plan, Exact(), skip=not dense)
        wanted = oracle.reduction_as_needed(counts.tolist(), thresholds, values, 3.0)
        assert oracle.estimates_of_nodes(paths, labels, plan)[0].tolist() == wanted


def test_the_printed_reduction_loses_nodes_and_overwrites_ancestors() -> None:
    # root 100 over 60 (over 60 and 0) and 40; thresholds 90, 50 and 30
    parent, w = [-1, 0, 0, 1, 1], [100, 60, 40, 60, 0]
    thresholds, values = [90.0, 50.0, 30.0], [100.0, 70.0, 45.0]
    printed = oracle.reduction_as_printed(parent, w, thresholds, values, 10.0)
    # by hand: 90 finds the root (100); 50 finds nodes 1 and 3 in the tree of node 1, writes 70 to the root as well and
    # drops node 4; the tree of node 2, where it finds nothing, is dropped whole and never tested against 30
    assert printed == [70.0, 70.0, None, 70.0, None]
    tree = Tree.from_child_counts([np.array([2]), np.array([2, 0])])
    paths, plan = PathTree.from_tree(tree, np.array(w)), plan_of(thresholds, values, 10.0)
    estimate = oracle.estimates_of_nodes(paths, label_nodes(paths, plan, Exact()), plan)[0]
    assert estimate.tolist() == [100.0, 70.0, 45.0, 70.0, 10.0]
    g, lost = np.random.default_rng(2), 0
    for _ in range(40):
        tree, counts = random_tree(g, 3000)
        lost += None in oracle.reduction_as_printed(tree.parent.tolist(), counts.tolist(), [900.0, 90.0], [1.0, 1.0], 0)
    assert lost > 20


def test_every_node_is_within_its_tolerance() -> None:
    """Property (1) of Ghazi et al. on random trees; false alarm at most nodes x eta = 1e-6."""
    g, alpha, eta, seen = np.random.default_rng(3), 0.5, 1e-10, set()
    for _ in range(60):
        tree, counts = random_tree(g, 10**9)
        tau = least_threshold(alpha, 1.0, 1e-6, eta, tree.n_levels)
        plan = paper_plan(alpha, 1.0, 1e-6, tree.n_levels, max(1.0, float(counts[0])), eta=eta)
        paths = PathTree.from_tree(tree, counts)
        labels = label_nodes(paths, plan, Draw(g))
        off = np.abs(oracle.estimates_of_nodes(paths, labels, plan)[0] - counts)
        assert (off <= alpha * np.maximum(counts, tau) * (1 + 1e-9)).all()
        seen |= set(oracle.rounds_of_nodes(paths, labels).tolist())
    assert len(seen) > 10


def test_the_clamped_provable_plan_keeps_its_error() -> None:
    """Worst alpha-RMSE of one tree below the proven bound (which allows for its own failures)."""
    tree = Tree.from_branching_factors((3, 3, 2))
    counts = tree.counts_of_leaves(np.array([0, 0, 150, 3, 700, 90, 400, 0, 0, 1, 260, 330, 0, 0, 0, 8, 5000, 20]))
    plan = provable_plan(0.5, 1.0, 1e-6, tree.n_levels, float(counts[0]))
    paths, n = PathTree.from_tree(tree, counts), 2000
    labels = label_nodes(paths.copies(n), plan, Draw(np.random.default_rng(4)))
    beyond = np.maximum(np.abs(oracle.estimates_of_nodes(paths, labels, plan, n) - counts) - 0.5 * counts, 0.0)
    assert plan.error is not None
    assert np.sqrt((beyond**2).mean(axis=0)).max() <= plan.error


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_an_empty_node_never_passes_and_one_record_may(noise) -> None:
    # theta = R exactly and delta = 0.2, so that noise on the very bound is common
    bound = truncated_bound(1.0, 0.2)
    level = PlanLevel(9.0, 5.0, bound, 1.0, 1.0, 1.0, 0.2, bound)
    draw, n = Draw(np.random.default_rng(1), noise), 100_000
    assert not draw.passes(level, np.zeros(n, dtype=int), np.zeros(n, dtype=int)).any()
    assert 0.05 < draw.passes(level, np.zeros(n, dtype=int), np.ones(n, dtype=int)).mean() <= 0.2


def test_each_of_several_pass_rounds_has_its_part_of_the_budget() -> None:
    """A cut-off of 2 halves both budgets of a pass round; the bound then belongs to the halves."""
    level = plan_of([9.0], [9.0], cut=2).levels[0]
    whole, real = (pass_noise(level, noise).law for noise in ("discrete", "continuous"))
    assert (whole.inverse_scale, whole.bound) == (250.0, discrete_bound(250.0, 5e-4))
    assert (real.scale, real.bound) == (1 / 250, level.pass_bound)


# --- classification --------------------------------------------------------------------------------------------------


def test_classification_is_right_on_every_tree_of_a_forest() -> None:
    """Problem 4.4 with c = 3: at least (1 + alpha) tau is found, below (1 - alpha) tau is not; false alarm 1e-7."""
    tree = Tree.from_child_counts([np.array([3]), np.array([0, 1, 2]), np.array([2, 0, 0])])
    level = classification_level(3000.0, 1e-9, 0.4, 1700.0, 9.0, 1e-3, n_levels=4)
    assert level.cut_off == cut_off(3000.0, 0.4, 1700.0) == 2
    counts = tree.counts_of_leaves(np.array([2450, 20, 0, 500, 30]))
    paths = PathTree.from_tree(tree, counts, dense=True)
    copies = paths.copies(100)
    assert paths.node_edge is not None
    edge = (paths.node_edge + paths.n_edges * np.arange(100)[:, None]).ravel()
    found = classify(copies, level, Draw(np.random.default_rng(1)), edge, np.tile(tree.level_of, 100)).reshape(100, -1)
    assert found[:, counts >= 1.4 * 1700].all()
    assert not found[:, counts < 0.6 * 1700].any()


def test_a_cut_off_above_one_finds_heavy_nodes_on_several_levels() -> None:
    # 50 at a leaf on level 1, 40 on level 2, threshold 30: one answer finds level 2 only, two find both
    tree = Tree.from_child_counts([np.array([2]), np.array([0, 1])])
    counts = tree.counts_of_leaves(np.array([50, 40]))
    paths = PathTree.from_tree(tree, counts, dense=True)
    found = []
    for cut in (1, 2):
        plan = plan_of([30.0], [1.0], cut=cut)
        found.append(oracle.rounds_of_nodes(paths, label_nodes(paths, plan, Exact())).tolist())
    assert found == [[0, -1, 0, 0], [0, 0, 0, 0]]


def test_the_last_answer_may_be_for_the_root() -> None:
    class RootOnly(Exact):
        def passes(self, level: PlanLevel, tree: np.ndarray, counts: np.ndarray) -> np.ndarray:
            return counts > 60

    # level 1 answers yes though none of its nodes passes; the second answer goes to the root
    tree = Tree.from_branching_factors((2,))
    paths = PathTree.from_tree(tree, np.array([100, 60, 40]), dense=True)
    for cut, found in ((1, [-1, -1, -1]), (2, [0, -1, -1])):
        labels = label_nodes(paths, plan_of([30.0], [1.0], cut=cut), RootOnly())
        assert oracle.rounds_of_nodes(paths, labels).tolist() == found


# --- steps -----------------------------------------------------------------------------------------------------------


def test_a_small_run_by_hand() -> None:
    # 100 over 60 (60, 0) and 40 (25, 15)
    tree = Tree.from_branching_factors((2, 2))
    counts = np.array([100, 60, 40, 60, 0, 25, 15])
    paths, plan = PathTree.from_tree(tree, counts), plan_of([90.0, 50.0, 20.0], [100.0, 70.0, 30.0], 5.0)
    labels = label_nodes(paths, plan, Exact())
    told = steps(tree, paths, plan, labels)
    assert [(s.round, s.root, s.fired, s.tested, s.passed, s.labelled) for s in told] == [
        (0, 0, 0, (0,), (0,), (0,)),
        (1, 1, 2, (3,), (3,), (1, 3)),
        (1, 2, None, (), (), ()),
        (2, 2, 2, (5, 6), (5,), (2, 5)),
    ]
    assert told[0].asked == ((2, 60), (1, 60), (0, 100))
    assert told[2].asked == ((2, 25), (1, 40))
    assert oracle.rounds_of_nodes(paths, labels).tolist() == [0, 1, 2, 1, -1, 2, -1]
    assert oracle.estimates_of_nodes(paths, labels, plan)[0].tolist() == [100, 70, 30, 70, 5, 30, 5]
    assert told[2].sentence() == "Round 2, threshold 50: no level of the tree below node 2 answers yes."
    found = "in the tree below node 1, level 2 was the deepest to answer yes; 1 of 1 node tested alone passed. 2 nodes "
    assert told[1].sentence().endswith(f"{found}got 70: what passed and the unlabelled above.")
    assert len(steps(tree, paths, plan, labels, limit=2)) == 2


# --- sparse deep trees -----------------------------------------------------------------------------------------------


def test_a_million_levels() -> None:
    codes = np.zeros((3, 999_999), dtype=np.uint8)
    codes[1, 400_000:] = 1
    codes[2, 10:] = 2
    paths = PathTree.from_leaves(codes, np.array([4000, 3000, 2000]))
    plan = provable_plan(0.5, 1.0, 1e-6, paths.n_levels, 9000.0)
    labels = label_nodes(paths, plan, Draw(np.random.default_rng(1)))
    edge = np.arange(paths.n_edges)
    for level in (paths.top, paths.bottom):
        off = np.abs(labels.estimate(plan, edge, level) - paths.weight) - 0.5 * paths.weight
        assert plan.error is not None
        assert (off <= 3 * plan.error).all()


def test_the_same_seed_gives_the_same_labels() -> None:
    tree, counts = random_tree(np.random.default_rng(5), 10_000)
    plan = tuned_plan(0.5, 1.0, 1e-6, tree.n_levels, float(counts[0]))
    runs = [
        oracle.estimates_of_nodes(p, label_nodes(p, plan, Draw(np.random.default_rng(9))), plan).tolist()
        for p in (PathTree.from_tree(tree, counts), PathTree.from_tree(tree, counts))
    ]
    assert runs[0] == runs[1]


# --- the release -----------------------------------------------------------------------------------------------------

UNITS = [
    ADD_REMOVE, REPLACE, ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN),
    ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, contributions=3),
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("noise", ["discrete", "continuous"])
@pytest.mark.parametrize("clamp_share", [0.0, 0.5])
def test_a_release(unit: ProtectedUnit, noise, clamp_share: float) -> None:
    tree, counts = random_tree(np.random.default_rng(6), 50_000)
    g = np.random.default_rng(1)
    run = release_with_thresholds(
        tree, counts, partial(tuned_plan, 0.5), unit, 2.0, 1e-5, rng=g, noise=noise, clamp_share=clamp_share
    )
    assert run.release.estimate.shape == (tree.n_nodes,)
    assert run.release.variance is None
    promise = run.release.guarantee
    assert (promise.unit, promise.epsilon, promise.delta) == (unit, 2.0, 1e-5)
    rest = 1 - Fraction(clamp_share)
    assert run.estimation.spent_epsilon <= Fraction(run.epsilon) * rest
    assert run.estimation.spent_delta <= Fraction(run.delta) * rest
    assert run.estimation.max_total >= counts[0]
    assert (run.estimation.max_total == counts[0]) == unit.total_is_public
    assert (run.estimation.spent_epsilon == Fraction(run.estimation.plan.epsilon)) == unit.total_is_public
    assert (run.estimation.spent_delta == Fraction(run.estimation.plan.delta)) == unit.total_is_public
    assert run.release.estimate[0] == counts[0] or not unit.total_is_public


def test_a_release_reports_its_rounds_and_stops_between_them() -> None:
    """A hundred steps over all rounds, the same counts as without a watch; stopped before the second round."""
    tree = Tree.from_branching_factors((3, 3))
    counts = tree.counts_of_leaves(np.full(9, 900))
    settings = (tree, counts, partial(tuned_plan, 0.5), ADD_REMOVE, 1.0, 1e-6)
    done: list[int] = []
    watched = release_with_thresholds(*settings, rng=np.random.default_rng(5), watch=Watch(done.append))
    alone = release_with_thresholds(*settings, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(watched.release.estimate, alone.release.estimate)
    assert (len(done), sum(done)) == (len(watched.estimation.plan.levels), 100)
    done.clear()
    with pytest.raises(Cancelled):
        release_with_thresholds(*settings, rng=np.random.default_rng(5), watch=Watch(done.append, lambda: bool(done)))
    assert len(done) == 1


def test_other_units_run_with_a_smaller_budget() -> None:
    # k steps of (epsilon', delta') by hand: delta' (1 + e^eps' + e^(2 eps') + ...)
    known = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 3, known_levels=3)  # no column of the tree can change
    steps = zip((*UNITS, known, replace(known, known_levels=2)), (1, 2, 2, 3, 3, 6), strict=True)
    cases = [(unit, k, total) for unit, k in steps for total in (1.5, 0.01)]
    assert Fraction(0.01 / 3) * 3 > Fraction(0.01)  # the nearest float would be too much
    for unit, k, total in cases:
        eps, delta = budget_for_one_record(unit, total, 1e-4, 3)
        assert k * Fraction(eps) <= Fraction(total)
        assert eps == pytest.approx(total / k)
        grown = sum(delta * np.exp(i * eps) for i in range(k))
        assert grown <= 1e-4
        assert grown == pytest.approx(1e-4, rel=1e-9)


def test_data_without_records_get_the_default_everywhere() -> None:
    tree = Tree.from_branching_factors((3, 2))
    nothing = np.zeros(tree.n_nodes, dtype=int)
    run = release_with_thresholds(
        tree, nothing, partial(tuned_plan, 0.5), ADD_REMOVE, 1.0, 1e-6, rng=np.random.default_rng(1)
    )
    assert set(run.release.estimate.tolist()) == {run.estimation.plan.default_value}
    codes = np.zeros((4, 50), dtype=np.uint8)
    empty = PathTree.from_leaves(codes, np.zeros(4, dtype=int))
    assert not label_nodes(empty, run.estimation.plan, Draw(np.random.default_rng(1))).edge.size


def test_a_total_below_the_first_threshold_needs_one_round() -> None:
    tree = Tree.from_branching_factors((3, 2))
    few = tree.counts_of_leaves(np.ones(6, dtype=int))
    run = release_with_thresholds(
        tree, few, partial(paper_plan, 0.5), ADD_REMOVE, 1.0, 1e-6, rng=np.random.default_rng(1)
    )
    assert len(run.estimation.plan.levels) == 1
    assert set(run.release.estimate.tolist()) == {run.estimation.plan.default_value}


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(code: str, words: str, call, *args, **kwargs) -> None:
    with refuses(code, words):
        call(*args, **kwargs)


def test_what_a_release_refuses() -> None:
    tree, g = Tree.from_branching_factors((2, 2)), np.random.default_rng(1)
    counts = tree.counts_of_leaves(np.array([900, 0, 30, 5]))

    def release(**other):
        given = {"tree": tree, "counts": counts, "alpha": 0.5, "epsilon": 1.0, "delta": 1e-6, "planner": tuned_plan}
        given |= {"unit": ADD_REMOVE, "clamp_share": 0.0} | other
        planner = partial(given["planner"], given["alpha"])
        budget = given["epsilon"], given["delta"]
        return release_with_thresholds(
            given["tree"], given["counts"], planner, given["unit"], *budget, rng=g, clamp_share=given["clamp_share"]
        )

    for alpha in (0.0, 1.0, -0.5, float("nan")):
        refused("ALPHA_RANGE", "alpha", release, alpha=alpha)
    refused("DELTA_REQUIRED", "delta > 0", release, delta=0.0)
    refused("DELTA_RANGE", "delta", release, delta=1.0)
    refused("EPS_RANGE", "epsilon", release, epsilon=0.0)
    refused("LEVELS_RANGE", "one level", release, tree=Tree.from_branching_factors(()), counts=np.array([7]))
    refused("COUNTS_SHAPE", "count", release, counts=counts[:3])
    refused("COUNT_RANGE", "sum of its children", release, counts=counts[::-1].copy())
    refused("VALUE_RANGE", "clamp_share", release, clamp_share=1.0)
    refused("PLAN_TOTAL", "too small for thresholds", release, counts=0 * counts + [3, 3, 0, 3, 0, 0, 0], unit=REPLACE)


def test_what_the_parts_refuse() -> None:
    g = np.random.default_rng(1)
    paths = PathTree.from_leaves(np.array([[0, 1], [1, 0]]), np.array([5, 9]))
    refused("CUT_OFF", "stores its empty nodes", label_nodes, paths, plan_of([3.0], [3.0], cut=2), Draw(g))
    refused("VALUE_UNKNOWN", "noise", Draw, g, "gaussian")
    plan = plan_of([3.0], [3.0])
    tree = Tree.from_branching_factors((2, 2))
    refused("NO_TREE", "leaves", steps, tree, paths, plan, label_nodes(paths, plan, Exact()))
    refused("PLAN_BUDGET", "costs more", estimate, paths, lambda *_: plan_of([3.0], [3.0]), 1.0, 1e-3, g)
    refused("DELTA_REQUIRED", "delta > 0", clamp, np.zeros(2), np.zeros(2), 2, 1.0, 0.0, g)
    one_round = (2000.0, 0.1, 0.5, 1500.0, 8.0, 1e-3)
    assert classification_level(*one_round, n_levels=4).cut_off == 2
    for at, value, code, words in (
        (3, 0.0, "THRESHOLD_RANGE", "threshold"),
        (3, -5.0, "THRESHOLD_RANGE", "threshold"),
        (3, 10.0, "THRESHOLD_RANGE", "too small for its noise"),
        (1, 0.0, "ETA_RANGE", "eta"),
        (2, 1.0, "ALPHA_RANGE", "alpha"),
        (5, 0.0, "DELTA_REQUIRED", "delta > 0"),
    ):
        given = [*one_round[:at], value, *one_round[at + 1 :]]
        refused(code, words, classification_level, *given, n_levels=4)


def test_what_a_plan_refuses() -> None:
    bound = truncated_bound(0.5, 1e-3)
    good = {
        "value": 90.0,
        "classification_threshold": 60.0,
        "pass_threshold": bound,
        "threshold_epsilon": 0.2,
        "query_epsilon": 0.3,
        "pass_epsilon": 0.5,
        "pass_delta": 1e-3,
        "pass_bound": bound,
    }
    level = PlanLevel(**good)
    assert level.exact_epsilon == Fraction(0.2) + Fraction(0.3) + Fraction(0.5)
    assert pass_noise(level, "discrete").smallest == pass_noise(level, "continuous").smallest == 0.0
    for change, words in (
        ({"classification_threshold": 0.0}, "classification_threshold"),
        ({"threshold_epsilon": 0.0}, "threshold_epsilon"),
        ({"pass_delta": 0.0}, "pass_delta"),
        ({"pass_delta": 1.0}, "pass_delta"),
        ({"value": -1.0}, "value"),
        ({"pass_bound": 0.999 * bound}, "too small for its budget"),
        ({"pass_threshold": 0.999 * bound}, "lets empty nodes pass"),
        ({"cut_off": 0}, "cut_off"),
        ({"cut_off": 1.5}, "whole number"),
        ({"cut_off": 2}, "too small for its budget"),
        ({"test_law": "gaussian"}, "test_law"),
    ):
        refused("PLAN_LEVEL", words, PlanLevel, **(good | change))
    refused("PLAN_BUDGET", "cost epsilon = 1", Plan, "x", 0.9999, 1e-3, (level,), 1.0, 0.5)
    refused("PLAN_BUDGET", "delta = 0.001 at", Plan, "x", 1.1, 0.9999e-3, (level,), 1.0, 0.5)
    refused("PLAN_LEVEL", "rounds", Plan, "x", 1.1, 1e-3, (), 1.0, 0.5)
    refused("ALPHA_RANGE", "alpha", Plan, "x", 1.1, 1e-3, (level,), 1.0, 0.0)
    refused("DELTA_RANGE", "delta", Plan, "x", 1.1, 0.0, (level,), 1.0, 0.5)
    refused("PLAN_LEVEL", "default value", Plan, "x", 1.1, 1e-3, (level,), -1.0, 0.5)


def test_rounds_that_cost_too_much_together_are_refused() -> None:
    """Two rounds each within the promise: both sums count, and a sum is compared exactly."""
    bound = truncated_bound(0.5, 1e-3)
    one = PlanLevel(90.0, 60.0, bound, 0.1, 0.1, 0.5, 1e-3, bound)
    assert Plan("x", 1.5, 2e-3, (one, one), 1.0, 0.5).exact_delta == 2 * Fraction(1e-3)
    refused("PLAN_BUDGET", "delta = 0.002 at", Plan, "x", 1.5, 1.5e-3, (one, one), 1.0, 0.5)
    refused("PLAN_BUDGET", "cost epsilon = 1.4", Plan, "x", 1.3, 2e-3, (one, one), 1.0, 0.5)
    assert float(one.exact_epsilon) == 0.7 < one.exact_epsilon  # the nearest float is below the sum
    refused("PLAN_BUDGET", "cost epsilon = 0.7", Plan, "x", 0.7, 1e-3, (one,), 1.0, 0.5)
