"""The stability histogram: its delta by listing every output, its error by listing every draw."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from audit.stability import exact_delta, outputs, pmf, ways
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.mechanisms.stability import LAWS, stability
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.studies.multiplicative.run import run
from treedp_core.studies.multiplicative.trees import deep_tree, small_tree
from treedp_core.studies.topdown import Wanted, made_up, on_leaves

ADD, REPLACE = NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("relation", "m", "n"), [(ADD, 1, 1), (ADD, 1, 2), (ADD, 2, 1), (REPLACE, 1, 1), (REPLACE, 1, 2)]
)
def test_no_neighbour_is_told_apart_better_than_promised(
    law: str, relation: NeighbouringRelation, m: int, n: int
) -> None:
    epsilon, delta = 2.0, 1e-3
    made = stability(ProtectedUnit(relation, m), n, epsilon, delta, law)
    every = ways(m, n, relation is REPLACE)
    worst = max(exact_delta(made, one, epsilon) for one in every)
    assert worst <= delta * (1 + 1e-9)
    low = replace(made, threshold=made.threshold - 2)  # the test can fail: two lower, and the promise is broken
    if law == "discrete_laplace" and relation is ADD:
        assert max(exact_delta(low, one, epsilon) for one in every) > delta


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", [0.0, 0.35])
def test_the_error_is_that_of_every_draw(law: str, alpha: float) -> None:
    made = stability(ProtectedUnit(ADD), 2, 2.0, 1e-4, law)
    counts = [0, 1, 3, made.threshold - 1, made.threshold, made.threshold + 4, 60, 200]
    for count, error in zip(counts, made.error(np.array(counts), alpha).tolist(), strict=True):
        listed = math.fsum(
            p * max(abs(out - count) - alpha * count, 0.0) ** 2
            for out, p in outputs(pmf(made.law), made.threshold, count).items()
        )
        assert error == pytest.approx(math.sqrt(listed), rel=1e-9, abs=1e-12)
    assert made.worst(alpha) == pytest.approx(float(made.error(np.arange(400), alpha).max()), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_drawn_releases_err_as_the_formula_says(law: str) -> None:
    made = stability(ProtectedUnit(ADD), 3, 1.0, 1e-6, law)
    counts = np.repeat([0, made.threshold - 2, made.threshold, 3 * made.threshold], 4000)
    told = made.release(counts, np.random.default_rng(4)).reshape(4, -1)
    square = np.square(told - counts.reshape(4, -1))
    formula = made.error(counts.reshape(4, -1)[:, 0]) ** 2
    spread = 4 * square.std(axis=1) / 4000**0.5 + 1e-3
    assert (np.abs(square.mean(axis=1) - formula) <= spread).all() and not told[0].any()
    for times in (0.81, 1.21):
        assert (np.abs(square.mean(axis=1) - times * formula)[2:] > spread[2:]).all()


def test_half_of_delta_is_for_the_noise_and_half_for_what_is_new() -> None:
    made = stability(ProtectedUnit(ADD), 2, 1.0, 1e-4, "discrete_gaussian")
    assert exact_delta(made, [(400, 401)] * 2, 1.0) == pytest.approx(5e-5, rel=2e-3)
    new = math.fsum(p for k, p in pmf(made.law).items() if 1 + k >= made.threshold)
    assert 2 * new <= 5e-5 < 2 * math.fsum(p for k, p in pmf(made.law).items() if 2 + k >= made.threshold)


def test_nothing_is_told_of_a_count_of_0() -> None:
    low = replace(stability(ProtectedUnit(ADD), 1, 1.0, 1e-6, "discrete_laplace"), threshold=1)
    assert not low.release(np.zeros(1000), np.random.default_rng(1)).any()


def test_known_thresholds_and_refusals() -> None:
    assert stability(ProtectedUnit(ADD), 1, 1.0, 1e-6, "discrete_laplace").threshold == 15
    assert "by numerical accounting" in stability(ProtectedUnit(ADD), 2, 1.0, 1e-6, LAWS[1]).guarantee.sentence()
    with pytest.raises(InputError, match="stability histogram needs delta > 0"):
        stability(ProtectedUnit(ADD), 1, 1.0, 0.0, "discrete_laplace")
    with pytest.raises(InputError, match="law"):
        stability(ProtectedUnit(ADD), 1, 1.0, 1e-6, "laplace")


@pytest.mark.parametrize("law", LAWS)
def test_the_chance_to_be_told_is_that_of_every_draw(law: str) -> None:
    made = stability(ProtectedUnit(ADD), 1, 1.0, 1e-4, law)
    counts = np.arange(0, 3 * made.threshold)
    for count, told in zip(counts.tolist(), made.told(counts).tolist(), strict=True):
        listed = math.fsum(p for out, p in outputs(pmf(made.law), made.threshold, count).items() if out)
        assert told == pytest.approx(listed, rel=1e-9, abs=1e-15)


def test_leaves_alone_add_up_and_lose_small_leaves_together() -> None:
    """Beside thresholds the leaves win where they are large, and lose where most records are on small ones."""
    settings = Experiment("gaussian", epsilon=1.0, delta=1e-6, alpha=0.5, relation="add_or_remove_one", seed=1)
    small = run(small_tree(), "tuned", settings)
    told, tree = small.nodes.simple["stability_leaves"].released, small.source.tree
    leaves = told[tree.is_leaf]
    np.testing.assert_array_equal(told, tree.counts_of_leaves(leaves.astype(int)))
    assert small.small_leaves == (15, 5 / 15_600) and set(leaves[small.nodes.truth[tree.is_leaf] == 0]) == {0}
    assert (leaves[leaves > 0] >= 15).all() and np.abs(leaves - small.nodes.truth[tree.is_leaf]).max() < 40
    wins = [made.largest_error("stability_leaves") < made.largest_error()
            for made in (run(deep_tree(300, 1000, 1, mean), "tuned", settings) for mean in (50, 2))]  # fmt: skip
    assert wins == [True, False]


def test_on_leaves_of_a_table_is_exact() -> None:
    people = made_up((4, 4), 500, 1)
    found = on_leaves(people, Wanted(0.02, 1e-6, ProtectedUnit(ADD), None, Spread.STACKED, "intopt"))
    counts, rng = people.table.counts, np.random.default_rng(3)
    drawn = np.array([found.made.release(counts, rng) for _ in range(4000)])
    for each, exact in (
        (np.square(drawn - counts).sum(axis=1) / 16, found.rmse**2),
        ((drawn > 0).sum(axis=1), found.told),
        (np.where(drawn > 0, counts, 0).sum(axis=1) / 500, found.kept),
    ):
        error = 4 * each.std() / 4000**0.5
        for times in (0.9, 1.0, 1.1):
            assert (abs(each.mean() - times * exact) <= error) == (times == 1.0)
