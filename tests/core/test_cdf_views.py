"""Cumulative counts from the left, from the right and by both views, against dense least squares of every subtree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from refusals import refuses
from treedp_core.plans import ReleasePlan
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.release import ESTIMATES, NODES, CdfPlan
from treedp_core.tree import FloatArray, Tree
from treedp_core.tree.workloads import Shape, range_count

VIEWS = [name for name in ESTIMATES if name != NODES]
SETTINGS = [
    CdfSettings(20, (3, 2, 4), "laplace", 1.0, allocation="custom", shares=(0.0, 0.5, 0.2, 0.3), least_squares=False),
    CdfSettings(20, (3, 2, 4), "laplace", 1.0, allocation="custom", shares=(0.0, 0.4, 0.0, 0.6), least_squares=False),
    CdfSettings(17, (2, 3, 3), "discrete_laplace", 2.0, least_squares=False, has_other=True, contributions=2),
    CdfSettings(9, (9,), "discrete_gaussian", 1.0, 1e-6, least_squares=False),
]


def plan_of(settings: CdfSettings, view: str) -> CdfPlan:
    plan = plan_cdf(replace(settings, estimate=view))
    assert isinstance(plan, CdfPlan)
    return plan


def subtree(tree: Tree, node: int) -> list[int]:
    """A node and all below it, one by one."""
    found, at = [node], 0
    while at < len(found):
        found += [v for v in range(tree.n_nodes) if tree.parent[v] == found[at]]
        at += 1
    return found


def of_subtree(tree: Tree, variance: FloatArray, node: int) -> FloatArray:
    """Generalised least squares of a node's count from what is measured in its subtree: weights (n_nodes,)."""
    inside = [v for v in subtree(tree, node) if np.isfinite(variance[v])]
    leaves = [v for v in subtree(tree, node) if v in set(tree.leaves.tolist())]
    design = np.array([[leaf in subtree(tree, v) for leaf in leaves] for v in inside], dtype=float)
    precision = np.diag(1.0 / variance[inside])
    rows = np.linalg.solve(design.T @ precision @ design, design.T @ precision)
    weights = np.zeros(tree.n_nodes)
    weights[inside] = rows.sum(axis=0)
    return weights


def dense(plan: CdfPlan, view: str) -> FloatArray:
    """How much of every node is in every cumulative count but the last, (K - 1, n_nodes), N aside."""
    tree, variance = plan.tree, plan.noise.variance
    best = {v: of_subtree(tree, variance, v) for v in range(1, tree.n_nodes)}
    leaves = tree.leaves.tolist()
    rows = []
    for end in range(1, tree.n_leaves):
        sides = []
        for bins in (set(leaves[:end]), set(leaves[end:])):
            whole = [v for v in best if set(subtree(tree, v)) & set(leaves) <= bins]
            top = [v for v in whole if tree.parent[v] not in whole]
            sides.append(np.sum([best[v] for v in top], axis=0))
        known = np.where(np.isfinite(variance), variance, 0.0)
        left, right = (float(np.square(side) @ known) for side in sides)
        part = {"left": 1.0, "right": 0.0, "average": 0.5, "weighted": right / (left + right)}[view]
        rows.append(part * sides[0] - (1.0 - part) * sides[1])
    return np.array(rows)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_variances_and_covariances_are_those_of_dense_least_squares(settings: CdfSettings, view: str) -> None:
    plan = plan_of(settings, view)
    known = np.where(np.isfinite(plan.noise.variance), plan.noise.variance, 0.0)
    rows = np.vstack([dense(plan, view), np.zeros(plan.tree.n_nodes)])
    covariance = rows @ np.diag(known) @ rows.T
    within = settings.n_within
    assert plan.variance == pytest.approx(np.diag(covariance)[:within], rel=1e-9, abs=1e-9)
    assert plan.covariance == pytest.approx(covariance[:within, within - 1], rel=1e-9, abs=1e-9)
    for start, stop in ((0, 5), (2, 7), (3, 4), (1, settings.n_bins), (0, settings.n_bins)):
        of = rows[stop - 1] - (rows[start - 1] if start else 0.0)
        assert plan.range_variance(start, stop) == pytest.approx(float(np.square(of) @ known), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("view", VIEWS)
def test_exact_counts_give_exact_cumulative_counts_and_noise_enters_as_the_dense_rows_say(view: str) -> None:
    plan = plan_of(SETTINGS[0], view)
    counts = np.arange(20)
    assert plan.cumulative(plan.tree.counts_of_leaves(counts)) == pytest.approx(np.cumsum(counts))
    noise = np.random.default_rng(4).normal(size=plan.tree.n_nodes)
    noise[0] = 0.0
    assert plan.cumulative(noise)[:-1] == pytest.approx(dense(plan, view) @ noise)


@pytest.mark.statistical
@pytest.mark.parametrize("view", VIEWS)
def test_the_error_is_that_of_draws_and_not_a_tenth_more_or_less(view: str) -> None:
    plan = plan_of(SETTINGS[0], view)
    errors = plan.errors(np.random.default_rng(21), 20_000)
    for drawn, said in (
        (np.square(errors).sum(axis=1), float(plan.variance.sum())),
        (np.square(range_count(errors, 3, 14)), plan.range_variance(3, 14)),
    ):
        within = 4.5 * drawn.std() / math.sqrt(drawn.size) / said
        assert within < 0.1
        assert abs(drawn.mean() / said - 1.0) < within


def test_a_view_costs_nothing_and_each_step_up_is_better() -> None:
    """Lemma IV.4 by hand for 2 · 2 · 2 at ε = 1: 864 as measured, 644.57 from a side, 322.29 averaged."""
    settings = CdfSettings(8, (2, 2, 2), "laplace", 1.0, least_squares=False)
    plans = {name: plan_of(settings, name) for name in ESTIMATES}
    sums = {name: float(plan.variance.sum()) for name, plan in plans.items()}
    best = plan_cdf(replace(settings, least_squares=True)).variance.sum()
    assert sums["left"] == pytest.approx(sums["right"]) == pytest.approx(2 * sums["average"])
    assert sums["average"] == pytest.approx(322.2857142857) and sums[NODES] == pytest.approx(864.0)
    assert best < sums["weighted"] < sums["average"] < sums["left"] < sums[NODES]
    first = plans[NODES]
    for plan in plans.values():
        assert plan.guarantee == first.guarantee and plan.budget.per_level == first.budget.per_level
        assert np.array_equal(plan.noise.variance, first.noise.variance)


def test_what_has_no_views_is_refused() -> None:
    settings = CdfSettings(8, (2, 2, 2), "laplace", 1.0, least_squares=False, estimate="average")
    with refuses("ESTIMATE", "Least squares"):
        plan_cdf(replace(settings, least_squares=True))
    with refuses("ESTIMATE", "public N"):
        plan_cdf(replace(settings, relation="add_or_remove_one"))
    with refuses("ESTIMATE", "a tree"):
        plan_cdf(replace(settings, strategy="root", mechanism="gaussian", delta=1e-6))
    with refuses("VALUE_UNKNOWN"):
        plan_cdf(replace(settings, estimate="middle"))
    with refuses("BUDGET_SPLIT"):
        plan_cdf(replace(settings, allocation="custom", shares=(0.0, 0.5, 0.5, 0.0)))
    made = plan_cdf(settings)
    assert isinstance(made, CdfPlan)
    assert Shape((2, 2, 2), 8).tree().n_leaves == made.tree.n_leaves
    with refuses("PLAN_ESTIMATE"):
        ReleasePlan.of(made, None, whom="person")  # type: ignore[arg-type]
