"""Every entry of every table keeps what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from treedp_core.allocation import ALLOCATIONS
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment, draw_once, prepare, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.registry import Promise, table
from treedp_core.tree import Tree
from treedp_core.watch import generator

TREE = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 3, 0, 0, 2, 1])])
COUNTS = TREE.counts_of_leaves(np.arange(TREE.n_leaves) * 3)
BASE = Experiment(delta=1e-6, relation="add_or_remove_one")


def names(entries: object) -> list[str]:
    return sorted(entries)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("entries", [MECHANISMS, POSTPROCESSORS, ALLOCATIONS, METRICS])
def test_entries_are_listed_under_their_names_and_explain_themselves(entries: dict[str, object]) -> None:
    for name, entry in entries.items():
        assert entry.name == name  # type: ignore[attr-defined]
        assert entry.label and entry.help.endswith(".")  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        entries["new"] = None


def test_a_table_refuses_two_entries_of_one_name() -> None:
    entry = METRICS["rmse"]
    with pytest.raises(ValueError, match="must differ"):
        table(entry, entry)


@pytest.mark.parametrize("name", names(POSTPROCESSORS))
@pytest.mark.parametrize("seed", range(5))
def test_post_processors_keep_their_promises(name: str, seed: int) -> None:
    entry = POSTPROCESSORS[name]
    before, after = draw_once(replace(BASE, postprocess=(name,), epsilon=0.2, seed=seed), TREE, COUNTS)
    if Promise.CONSISTENT in entry.promises:
        np.testing.assert_allclose(TREE.add_up(np.where(TREE.is_leaf, after.estimate, 0)), after.estimate, atol=1e-8)
    if Promise.NON_NEGATIVE in entry.promises:
        assert (after.estimate >= 0).all()
    if Promise.INTEGER in entry.promises:
        assert (after.estimate == np.round(after.estimate)).all()
    assert after.guarantee is before.guarantee
    assert after.estimate.shape == before.estimate.shape


@pytest.mark.statistical
@pytest.mark.parametrize("name", [n for n in names(POSTPROCESSORS) if Promise.UNBIASED in POSTPROCESSORS[n].promises])
def test_unbiased_post_processors_keep_every_mean(name: str) -> None:
    """z below 6 for each of 18 nodes: a false alarm once in 10^7 runs; a shift of one record would be seen."""
    trials = 4000
    _, after = prepare(replace(BASE, postprocess=(name,), epsilon=2.0), TREE).release(COUNTS, generator(5), trials)
    assert after.variance is not None
    z = (after.estimate.mean(axis=0) - COUNTS) / np.sqrt(after.variance / trials)
    assert np.abs(z).max() < 6
    assert (1 / np.sqrt(after.variance / trials)).min() > 6


@pytest.mark.statistical
@pytest.mark.parametrize("name", names(MECHANISMS))
def test_mechanisms_are_unbiased_with_the_variance_they_state(name: str) -> None:
    """20 000 trials; mean and variance within 6 standard errors (the kurtosis of every law is below 9)."""
    trials = 20_000
    release, _ = prepare(replace(BASE, mechanism=name), TREE).release(COUNTS, generator(6), trials)
    assert release.variance is not None
    noise = release.estimate - COUNTS
    assert (np.abs(noise.mean(axis=0)) < 6 * np.sqrt(release.variance / trials)).all()
    ratio = noise.var(axis=0) / release.variance
    assert (np.abs(ratio - 1) < 6 * np.sqrt(8 / trials)).all()
    assert (np.abs(1.3 * ratio - 1) > 6 * np.sqrt(8 / trials)).any()
    if Promise.INTEGER in MECHANISMS[name].promises:
        assert release.estimate.dtype == np.int64


@pytest.mark.parametrize("mechanism", names(MECHANISMS))
@pytest.mark.parametrize("allocation", [n for n in names(ALLOCATIONS) if n != "custom"])
@pytest.mark.parametrize("metric", names(METRICS))
def test_every_combination_runs(mechanism: str, allocation: str, metric: str) -> None:
    for post in ((), ("least_squares",), ("least_squares", "non_negative")):
        experiment = replace(
            BASE, mechanism=mechanism, allocation=allocation, metric=metric, postprocess=post, trials=3
        )
        outcome = run(experiment, TREE, COUNTS)
        assert outcome.simulation is not None and outcome.simulation.level.shape == (TREE.n_levels,)
        assert (outcome.formula is None) <= bool(post)
