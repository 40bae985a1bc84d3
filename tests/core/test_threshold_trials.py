"""Thresholds as an experiment: simulated beside noise, at the promise that is stated, refused where levels are planned.

The oracle runs releases of its own and takes the definition of the alpha-RMSE, without the core's metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from oracles_pages import dataset
from refusals import refuses
from treedp_core import Experiment, draw_once, prepare, run, smallest_epsilon, sweep
from treedp_core.checks import InputError
from treedp_core.experiment import draws_of_errors, total_of
from treedp_core.figures.sweep import of as figure_of
from treedp_core.mechanisms import MECHANISMS, RELEASES, THRESHOLDS
from treedp_core.mechanisms.thresholds import tuned_plan
from treedp_core.mechanisms.thresholds.release import budget_for_one_record, release_with_thresholds
from treedp_core.mechanisms.thresholds.trials import ThresholdTrials
from treedp_core.notebook.comparison.pairs import Side, paired
from treedp_core.plans import ReleasePlan, Split
from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.privacy.prior_provenance import Ledger
from treedp_core.studies.sweep.frames import to_frame
from treedp_core.tree import Tree

TREE = Tree.from_branching_factors((3, 4))
COUNTS = TREE.counts_of_leaves(np.array([0, 1, 2, 3, 5, 8, 130, 210, 0, 0, 400, 1000]))
ASKED = Experiment(
    mechanism="thresholds", metric="alpha_rmse", alpha=0.5, delta=1e-6, relation="add_or_remove_one", trials=300
)


def beyond(relation: str, trials: int, seed: int) -> np.ndarray:
    """Squared error beyond half of the count, (trials, n_nodes), of releases made here."""
    unit, rng, planner = (
        Experiment(relation=relation).unit,
        np.random.default_rng(seed),
        cache(partial(tuned_plan, 0.5)),
    )
    squares = []
    for _ in range(trials):
        made = release_with_thresholds(TREE, COUNTS, planner, unit, 1.0, 1e-6, rng=rng).release
        squares.append([max(abs(e - c) - 0.5 * c, 0.0) ** 2 for e, c in zip(made.estimate, COUNTS, strict=True)])
    return np.array(squares)


@pytest.mark.parametrize(("relation", "trials"), [("replace_one", 900), ("add_or_remove_one", 25)])
def test_the_simulated_error_is_that_of_releases_made_elsewhere(relation: str, trials: int) -> None:
    """The RMSE of the whole tree within 4.5 standard errors of both (false alarm 1e-5).

    Where the total is public, one plan does for all trials: with so many, a tenth less or more is rejected.
    """
    one = Experiment(mechanism="thresholds", alpha=0.5, delta=1e-6, relation=relation, trials=trials)
    outcome, planner, rng = run(one, TREE, COUNTS), cache(partial(tuned_plan, 0.5)), np.random.default_rng(11)
    releases = [
        release_with_thresholds(TREE, COUNTS, planner, one.unit, 1.0, 1e-6, rng=rng).release for _ in range(trials)
    ]
    squares = np.array([np.square(each.estimate - COUNTS).mean() for each in releases])
    assert outcome.simulation is not None
    theirs = math.sqrt(squares.mean())
    both = math.hypot(outcome.simulation.tree_se, squares.std() / math.sqrt(trials) / (2 * theirs))
    assert abs(outcome.simulation.tree - theirs) < 4.5 * both
    assert 4.5 * both < 0.1 * theirs or trials < 100
    assert outcome.formula is None and outcome.budget is None and outcome.reads_counts and outcome.n_levels == 3


def test_the_largest_alpha_rmse_is_found_and_stays_below_what_a_plan_states() -> None:
    found = run(replace(ASKED, relation="replace_one", trials=300), TREE, COUNTS).simulation
    theirs = np.sqrt(beyond("replace_one", 300, 12).mean(axis=0)).max()
    assert found is not None and found.tree == pytest.approx(theirs, rel=0.15)
    half = tuned_plan(0.5, *budget_for_one_record(Experiment().unit, 1.0, 1e-6, 3), 3, float(COUNTS[0]))
    assert half.error is not None and found.tree <= half.error * (1 + 1e-9)


@pytest.mark.parametrize("relation", [one.value for one in NeighbouringRelation])
def test_every_trial_promises_what_the_experiment_does(relation: str) -> None:
    """The promise of a release is that of the outcome: epsilon, delta and unit are the experiment's."""
    one = Experiment(mechanism="thresholds", alpha=0.5, epsilon=1.5, delta=1e-6, relation=relation, trials=2)
    release, _ = draw_once(one, TREE, COUNTS)
    outcome = run(one, TREE, COUNTS)
    assert release.guarantee == outcome.guarantee
    assert (release.guarantee.epsilon, release.guarantee.delta, release.guarantee.unit) == (1.5, 1e-6, one.unit)
    assert release.variance is None and release.laws == () and release.estimate.shape == (TREE.n_nodes,)


def test_what_a_trial_spends_is_within_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial is a release of its own: the bound on its root and its rounds together cost at most what is stated."""
    spent = []

    def watched(*given: object, **more: object) -> object:
        made = release_with_thresholds(*given, **more)  # type: ignore[arg-type]
        spent.append((float(made.estimation.spent_epsilon), float(made.estimation.spent_delta)))
        return made

    monkeypatch.setattr("treedp_core.mechanisms.thresholds.trials.release_with_thresholds", watched)
    run(Experiment(mechanism="thresholds", alpha=0.5, delta=1e-6, relation="add_or_remove_one", trials=7), TREE, COUNTS)
    assert len(spent) == 7 and all(0.97 < e <= 1.0 and 0.5e-6 < d <= 1e-6 for e, d in spent)


def test_a_plan_is_for_its_own_bound_on_the_root() -> None:
    trials = ThresholdTrials(TREE, COUNTS, 0.5, 1.0, 1e-6, ASKED.unit)
    plans = [trials._plan(0.98, 0.95e-6, 3, total) for total in (2e3, 5e4, 2e3)]
    for plan, total in zip(plans, (2e3, 5e4, 2e3), strict=True):
        assert total <= plan.max_total <= 1.091 * total
    assert plans[0] is plans[2]
    public = ThresholdTrials(TREE, COUNTS, 0.5, 1.0, 1e-6, replace(ASKED, relation="replace_one").unit)
    assert public._plan(0.5, 1e-7, 3, 1759.0).max_total == 1759.0
    assert trials._plan(0.5, 0.95e-6, 3, 2e3).epsilon == 0.5


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: prepare(ASKED, TREE), "NO_LEVEL_NOISE"), (lambda: total_of(ASKED), "NO_LEVEL_NOISE"),
        (lambda: ReleasePlan.of(ASKED, dataset(TREE, COUNTS[-12:])), "NO_LEVEL_NOISE"),
        (lambda: smallest_epsilon(ASKED, TREE, COUNTS, 5.0), "NO_FORMULA"),
        (lambda: run(Experiment(mechanism="thresholds", alpha=0.5), TREE, COUNTS), "DELTA_REQUIRED"),
        (lambda: run(Experiment(mechanism="thresholds", alpha=0.0, delta=1e-6), TREE, COUNTS), "ALPHA_RANGE"),
        (lambda: run(Experiment(mechanism="thresholds", delta=1e-6, postprocess=("least_squares",)), TREE, COUNTS),
         "STEP_ORDER"),
        (lambda: draw_once(ASKED, Tree.from_branching_factors(()), np.array([5])), "LEVELS_RANGE"),
        (lambda: run(replace(ASKED, relation="replace_one"), TREE, TREE.counts_of_leaves(np.ones(12, int))),
         "PLAN_TOTAL"),
    ],
)  # fmt: skip
def test_what_thresholds_cannot_do_is_one_sentence(call: Callable[[], object], code: str) -> None:
    with refuses(code):
        call()


def test_a_plan_and_with_it_every_hand_over_says_why_there_is_none() -> None:
    """Programs are written of plans alone; a plan of thresholds is refused with the reason that programs have."""
    for whole in (ASKED, replace(ASKED, relation="replace_one")):
        with pytest.raises(InputError, match="hand over to a library: their rounds of sparse vectors are run by"):
            ReleasePlan.of(whole, dataset(TREE, COUNTS[-12:]))
    ledger = Ledger(ASKED.unit, Currency.EPSILON, 1.0, None, (0.2, 0.3, 0.5))
    with refuses("NO_LEVEL_NOISE"):
        ReleasePlan.of(Split(ledger, "thresholds", 1e-6, ()), dataset(TREE, COUNTS[-12:]))


def test_no_table_of_noise_offers_them() -> None:
    assert list(RELEASES) == [*MECHANISMS, THRESHOLDS.name] and THRESHOLDS.name not in MECHANISMS
    assert RELEASES["laplace"] is MECHANISMS["laplace"] and RELEASES.author(THRESHOLDS.name) == ""


def test_sweeps_frames_figures_and_pairs_take_them() -> None:
    cells = [Experiment(mechanism=name, alpha=0.5, epsilon=e, delta=1e-6, trials=3)
             for name in ("laplace", "thresholds") for e in (1.0, 2.0)]  # fmt: skip
    found = sweep(cells, TREE, COUNTS)
    frame = to_frame(found, by="level")
    assert len(frame) == 4 * 3 and frame[frame["mechanism"] == "thresholds"]["formula"].isna().all()
    assert "Thresholds" in {trace.name for trace in figure_of(found).data}
    sides = [Side(name, Experiment(mechanism=name, alpha=0.5, delta=1e-6), TREE, COUNTS, ("a", "b", "c"))
             for name in ("laplace", "thresholds")]  # fmt: skip
    assert not sides[0].reads_counts and sides[1].reads_counts
    assert paired(*sides, trials=5).ratio[-1] > 1
    errors = draws_of_errors(cells[0], TREE, COUNTS)(np.random.default_rng(3))
    raw, _ = prepare(cells[0], TREE).release(COUNTS, np.random.default_rng(3), 1)
    np.testing.assert_allclose(errors, raw.estimate[0] - COUNTS)
