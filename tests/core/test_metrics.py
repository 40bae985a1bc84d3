"""Metrics and their closed forms: by hand, by quadrature, and against simulation that can tell a wrong one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.errors import METRICS, Tolerance
from treedp_core.errors.metrics import summarise
from treedp_core.experiment import Experiment, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.tree import Tree

TREE = Tree.from_child_counts([np.array([3]), np.array([2, 0, 3]), np.array([0, 2, 1, 1, 0])])
COUNTS = TREE.counts_of_leaves(np.array([30, 0, 2, 7, 55, 1, 4, 0])[: TREE.n_leaves])
ERRORS = np.array([-2.0, 1.0, 0.0, 3.0])
TRUE = np.array([10, 4, 0, 40])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("rmse", [4, 1, 0, 9]), ("rmsre", [(2 / 10) ** 2, (1 / 5) ** 2, 0, (3 / 40) ** 2]),
        ("alpha_rmse", [1, (1 - 0.4) ** 2, 0, 0]), ("max_absolute_error", [2, 1, 0, 3]),
        ("smoothed_relative_error", [2 / 10, 1 / 5, 0, 3 / 40]),
    ],
)  # fmt: skip
def test_losses_by_hand(metric: str, expected: list[float]) -> None:
    loss = METRICS[metric].loss(ERRORS, TRUE, Tolerance(alpha=0.1, threshold=5))
    np.testing.assert_allclose(loss, expected, rtol=1e-12)


def test_tree_rmsre_is_a_mean_over_levels_of_means_over_nodes() -> None:
    """Dawson et al., Definition 7, on counts 8 | 5 3 | 4 1 3 0 with variances 1 | 1 1 | 2 2 2 2 and threshold 2."""
    tree = Tree.from_branching_factors((2, 2))
    counts = np.array([8, 5, 3, 4, 1, 3, 0])
    variance = np.array([1, 1, 1, 2, 2, 2, 2])
    metric = METRICS["rmsre"]
    got = summarise(tree, metric, metric.loss(np.sqrt(variance), counts, Tolerance(threshold=2)))
    levels = [1 / 64, (1 / 25 + 1 / 9) / 2, (2 / 16 + 2 / 4 + 2 / 9 + 2 / 4) / 4]
    np.testing.assert_allclose(got.level, np.sqrt(levels), rtol=1e-12)
    assert got.tree == pytest.approx(np.sqrt(sum(levels) / 3), rel=1e-12)


def test_rmse_of_a_tree_weighs_nodes_and_alpha_rmse_takes_the_worst() -> None:
    tree = Tree.from_branching_factors((2,))
    node_loss = np.array([9.0, 1.0, 2.0])
    assert summarise(tree, METRICS["rmse"], node_loss).tree == pytest.approx(2.0)
    assert summarise(tree, METRICS["alpha_rmse"], node_loss).tree == pytest.approx(3.0)
    np.testing.assert_allclose(summarise(tree, METRICS["alpha_rmse"], node_loss).level, [3, np.sqrt(2)])


BASE = Experiment(
    epsilon=1.3, delta=1e-5, relation="add_or_remove_one", trials=12_000, seed=11, alpha=0.02, threshold=5.0
)
COMBINATIONS = [
    (mechanism, metric, post) for mechanism in MECHANISMS for metric in METRICS for post in ((), ("least_squares",))
]


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "metric", "post"), COMBINATIONS)
def test_simulation_agrees_with_every_formula_and_would_notice_ten_per_cent(
    mechanism: str, metric: str, post: tuple[str, ...]
) -> None:
    """Six standard errors: a false alarm about once in 10^8 comparisons; some 200 comparisons in all."""
    outcome = run(replace(BASE, mechanism=mechanism, metric=metric, postprocess=post), TREE, COUNTS)
    simulated = outcome.simulation
    assert simulated is not None
    if outcome.formula is None:
        assert post and (metric == "max_absolute_error" or mechanism != "gaussian")
        return
    for value, theory, se in [
        *zip(simulated.level, outcome.formula.level, simulated.level_se, strict=True),
        (simulated.tree, outcome.formula.tree, simulated.tree_se),
    ]:
        # the worst of several equal nodes is biased upwards by a few standard errors: see montecarlo
        slack = 6 + (2 if metric == "alpha_rmse" else 0)
        assert abs(value - theory) <= slack * se
    tree_error = abs(simulated.tree - 1.15 * outcome.formula.tree), abs(simulated.tree - 0.85 * outcome.formula.tree)
    assert min(tree_error) > slack * simulated.tree_se


def test_levels_that_are_not_measured_have_infinite_error_until_least_squares() -> None:
    leaves = replace(BASE, allocation="leaves_only", mechanism="laplace", trials=50)
    tree = Tree.from_branching_factors((2, 2))
    raw = run(leaves, tree, np.zeros(7))
    assert raw.formula is not None and raw.simulation is not None
    assert np.isinf(raw.formula.level).tolist() == np.isinf(raw.simulation.level).tolist() == [True, True, False]
    assert np.isinf(raw.formula.tree) and np.isinf(raw.simulation.tree)
    after = run(replace(leaves, postprocess=("least_squares",)), tree, np.zeros(7), simulated=False)
    scale = 1 / leaves.epsilon
    assert after.formula is not None
    np.testing.assert_allclose(after.formula.level, np.sqrt(2 * scale**2 * np.array([4, 2, 1])), rtol=1e-12)


def test_a_public_total_has_no_error() -> None:
    replaced = replace(BASE, relation="replace_one", trials=20)
    for metric in METRICS:
        outcome = run(replace(replaced, metric=metric), TREE, COUNTS)
        assert outcome.formula is not None and outcome.simulation is not None
        assert outcome.formula.level[0] == outcome.simulation.level[0] == 0


def test_all_counts_zero_give_finite_relative_errors() -> None:
    outcome = run(replace(BASE, metric="rmsre", mechanism="laplace"), TREE, np.zeros(TREE.n_nodes), simulated=False)
    assert outcome.formula is not None and np.isfinite(outcome.formula.tree)


@given(st.sampled_from(sorted(METRICS)), st.floats(0.05, 50))
def test_errors_fall_as_epsilon_grows(metric: str, epsilon: float) -> None:
    weak, strong = (
        run(replace(BASE, mechanism="laplace", metric=metric, epsilon=e), TREE, COUNTS, simulated=False).formula
        for e in (epsilon, 1.5 * epsilon)
    )
    assert weak is not None and strong is not None and strong.tree < weak.tree


@pytest.mark.parametrize(
    ("alpha", "threshold", "code"),
    [
        (1.0, 1, "ALPHA_RANGE"), (-0.1, 1, "ALPHA_RANGE"), (float("nan"), 1, "ALPHA_RANGE"),
        (0.1, 0, "THRESHOLD_RANGE"), (0.1, 1e-300, "THRESHOLD_RANGE"),
    ],
)  # fmt: skip
def test_tolerances_outside_their_range_are_refused(alpha: float, threshold: float, code: str) -> None:
    with refuses(code):
        Tolerance(alpha, threshold)


def test_a_loss_too_rare_to_see_is_not_called_certain() -> None:
    """Errors of about one record never pass a slack of 0.5 x 1000 in ten trials: 0, but with no standard error."""
    tree = Tree.from_branching_factors((2,))
    rare = replace(BASE, metric="alpha_rmse", mechanism="laplace", alpha=0.5, trials=10)
    seen = run(rare, tree, np.array([2000, 1000, 1000])).simulation
    assert seen is not None and seen.tree == 0 and np.isinf(seen.tree_se) and np.isinf(seen.level_se).all()
    exact = run(replace(rare, relation="replace_one"), tree, np.array([2000, 1000, 1000])).simulation
    assert exact is not None and exact.level_se[0] == 0 and np.isinf(exact.tree_se)
