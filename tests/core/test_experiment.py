"""The whole pipeline: reproducible, cancellable, refusing in one sentence."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest

from refusals import refuses
from treedp_core.errors import METRICS, Tolerance
from treedp_core.errors import simulation as montecarlo
from treedp_core.experiment import KINDS, Experiment, draw_once, identity, prepare, run, smallest_epsilon, sweep
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.accounting import CLOSE
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.release import CdfPlan
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

TREE = Tree.from_branching_factors((3, 4, 5))
COUNTS = TREE.counts_of_leaves(np.arange(60) % 7)
SMALL = Experiment(trials=30, postprocess=("least_squares",))


def cells() -> list[Experiment]:
    return [replace(SMALL, epsilon=e, mechanism=m) for e in (0.5, 1.0, 2.0) for m in ("laplace", "discrete_laplace")]


def test_the_numbers_do_not_depend_on_the_number_of_workers() -> None:
    alone = sweep(cells(), TREE, COUNTS)
    for workers in (1, 8):
        with ThreadPoolExecutor(workers) as pool:
            together = sweep(cells(), TREE, COUNTS, executor=pool)
        for a, b in zip(alone, together, strict=True):
            assert a.experiment == b.experiment
            assert a.simulation is not None and b.simulation is not None
            assert a.simulation.tree == b.simulation.tree
            np.testing.assert_array_equal(a.simulation.level_se, b.simulation.level_se)


def test_a_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    values = [run(replace(SMALL, seed=s), TREE, COUNTS).simulation for s in (1, 1, 2)]
    trees = [v.tree for v in values if v is not None]
    assert trees[0] == trees[1] != trees[2]


def test_more_trials_go_on_where_fewer_stopped() -> None:
    """Chunks are seeded one by one, so the first trials of a longer run are the shorter run's."""
    tree = Tree.from_branching_factors((300, 300))
    short, long = (run(replace(SMALL, trials=n), tree, np.zeros(tree.n_nodes)).simulation for n in (3, 5))
    assert short is not None and long is not None
    assert short.single_runs is not None and long.single_runs is not None
    assert long.single_runs[:3].tolist() == short.single_runs.tolist()


def test_an_experiment_protects_the_unit_it_names() -> None:
    unit = Experiment(relation="replace_unknown", contributions=3, known_levels=2).unit
    assert unit == ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 3, 2)


@pytest.mark.statistical
def test_a_biased_step_is_judged_on_counts_and_not_on_noise_alone() -> None:
    """Far above 0 nothing is cut, so the error is that of the noise (6 standard errors); noise alone would be cut."""
    tree = Tree.from_branching_factors((50,))
    counts = tree.counts_of_leaves(np.full(50, 10_000))
    plain = Experiment(mechanism="laplace", trials=200)
    cut = replace(plain, postprocess=("non_negative",))
    formula, found = run(plain, tree, counts, simulated=False).formula, run(cut, tree, counts).simulation
    assert formula is not None and found is not None
    assert abs(found.tree - formula.tree) < 6 * found.tree_se < 0.1 * formula.tree


def test_cells_of_a_sweep_draw_independent_noise() -> None:
    a, b = (draw_once(replace(SMALL, epsilon=e, mechanism="laplace"), TREE, COUNTS)[0].estimate for e in (1.0, 2.0))
    noise = (a - COUNTS)[1:], (b - COUNTS)[1:]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.6
    assert identity(SMALL) == identity(replace(SMALL, trials=99)) != identity(replace(SMALL, alpha=0.2))


def test_a_run_reports_every_trial_and_stops_when_told() -> None:
    done: list[int] = []
    run(SMALL, TREE, COUNTS, watch=Watch(step=done.append))
    assert sum(done) == SMALL.trials
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        run(SMALL, TREE, COUNTS, watch=Watch(cancelled=stop.is_set))
    with ThreadPoolExecutor(2) as pool, pytest.raises(Cancelled):
        sweep(cells(), TREE, COUNTS, executor=pool, watch=Watch(cancelled=stop.is_set))


def test_a_sweep_in_threads_reports_the_same_total() -> None:
    done: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        sweep(cells(), TREE, COUNTS, executor=pool, watch=Watch(step=done.append))
    assert sum(done) == len(cells()) * SMALL.trials


def test_one_draw_keeps_the_guarantee_and_adds_up_after_least_squares() -> None:
    before, after = draw_once(SMALL, TREE, COUNTS)
    assert before.guarantee is after.guarantee
    assert before.guarantee.epsilon <= 1.0
    assert before.estimate.dtype == np.int64
    level_two = after.estimate[TREE.level(2)]
    np.testing.assert_allclose(TREE.sum_children(2, after.estimate[TREE.level(3)]), level_two, atol=1e-9)
    assert after.estimate[0] == pytest.approx(COUNTS[0])
    assert after.variance is not None and before.variance is not None
    assert (after.variance[1:] < before.variance[1:]).all()


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one", "replace_unknown"])
def test_the_guarantee_never_exceeds_what_was_asked(mechanism: str, relation: str) -> None:
    wanted = Experiment(
        mechanism=mechanism, relation=relation, epsilon=0.7, delta=1e-6, contributions=3, known_levels=2
    )
    for accounting, close in (("formula", 1e-6), ("numerical", CLOSE)):
        promise = prepare(replace(wanted, accounting=accounting), TREE).guarantee
        assert promise.epsilon <= 0.7 and promise.delta <= 1e-6
        assert promise.epsilon > 0.7 * (1 - close)


def test_gaussian_noise_is_as_wide_on_whole_numbers_as_on_all_until_something_else_is_chosen() -> None:
    """Both are accounted for tightly by default: for one promise their deviations differ by less than a thousandth."""
    asked = [Experiment(name, epsilon=1.0, delta=1e-6) for name in ("gaussian", "discrete_gaussian")]
    normal, whole = (float(prepare(one, TREE).noise.variance.max()) ** 0.5 for one in asked)
    assert whole == pytest.approx(normal, rel=1e-3)
    formula = prepare(replace(asked[1], accounting="formula"), TREE).noise.variance.max() ** 0.5
    assert formula > 1.05 * normal
    bins = [CdfSettings(64, (4, 4, 4), name, 1.0, 1e-6) for name in ("gaussian", "discrete_gaussian")]
    plans = [plan_cdf(one) for one in bins]
    normal, whole = (float(one.noise.variance.max()) ** 0.5 for one in plans if isinstance(one, CdfPlan))
    assert whole == pytest.approx(normal, rel=1e-3)


def test_the_smallest_epsilon_meets_its_target_and_less_does_not() -> None:
    wanted = Experiment(mechanism="laplace", metric="rmse", postprocess=("least_squares",))
    found = smallest_epsilon(wanted, TREE, COUNTS, target=5.0).epsilon
    assert found is not None
    at, below = (run(replace(wanted, epsilon=e), TREE, COUNTS, simulated=False).formula for e in (found, 0.99 * found))
    assert at is not None and below is not None
    assert at.tree <= 5.0 < below.tree


def test_targets_out_of_reach_and_without_formula() -> None:
    assert smallest_epsilon(Experiment(mechanism="laplace"), TREE, COUNTS, target=1e-9).epsilon is None
    with refuses("NO_FORMULA"):
        smallest_epsilon(Experiment(postprocess=("non_negative",)), TREE, COUNTS, target=1.0)
    largest = Experiment(mechanism="laplace", metric="max_absolute_error", postprocess=("least_squares",))
    assert run(largest, TREE, COUNTS, simulated=False).formula is None  # errors are not independent any more
    with refuses("TARGET_RANGE"):
        smallest_epsilon(Experiment(), TREE, COUNTS, target=0.0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"epsilon": 0.0}, "EPS_RANGE"), ({"epsilon": -1.0}, "EPS_RANGE"), ({"epsilon": math.nan}, "EPS_RANGE"),
        ({"epsilon": math.inf}, "EPS_RANGE"), ({"epsilon": 1e-300}, "EPS_RANGE"), ({"epsilon": 1e300}, "EPS_RANGE"),
        ({"epsilon": 1e6}, "EPS_RANGE"), ({"mechanism": "gaussian", "delta": 0.0}, "DELTA_REQUIRED"),
        ({"mechanism": "gaussian", "delta": 1.0}, "DELTA_RANGE"),
        ({"mechanism": "gaussian", "delta": -0.1}, "DELTA_RANGE"),
        ({"mechanism": "gaussian", "delta": math.nan}, "DELTA_RANGE"), ({"mechanism": "magic"}, "VALUE_UNKNOWN"),
        ({"metric": "magic"}, "VALUE_UNKNOWN"), ({"postprocess": ("magic",)}, "VALUE_UNKNOWN"),
        ({"postprocess": ("non_negative", "least_squares")}, "VARIANCE_NEEDED"),
        ({"allocation": "custom", "shares": (1.0,)}, "BUDGET_SPLIT"), ({"trials": 0}, "TRIALS_RANGE"),
        ({"trials": -1}, "TRIALS_RANGE"), ({"trials": 10**9}, "TRIALS_RANGE"), ({"trials": 1.5}, "TRIALS_RANGE"),
        ({"trials": math.nan}, "TRIALS_RANGE"), ({"seed": -1}, "SEED_RANGE"), ({"seed": 2**128}, "SEED_RANGE"),
        ({"seed": "abc"}, "SEED_RANGE"), ({"contributions": 0}, "CONTRIBUTIONS_RANGE"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_in_one_sentence(change: dict[str, object], code: str) -> None:
    with refuses(code) as refusal:
        run(replace(Experiment(), **change), TREE, COUNTS)  # type: ignore[arg-type]
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,)])
def test_the_smallest_trees_work(shape: tuple[int, ...]) -> None:
    tree = Tree.from_branching_factors(shape)
    for relation in ("add_or_remove_one", "replace_one"):
        for post in ((), ("least_squares",), ("least_squares", "non_negative")):
            outcome = run(Experiment(relation=relation, postprocess=post, trials=5), tree, np.zeros(tree.n_nodes))
            assert outcome.simulation is not None and np.isfinite(outcome.simulation.tree)


def test_no_two_chunks_of_trials_share_their_noise() -> None:
    """Six chunks of 40,000 nodes each: all their draws differ, and the first chunk is that of a shorter run."""
    tree, metric, drawn = Tree.from_branching_factors((40_000,)), METRICS["rmse"], []

    def errors_of(rng: np.random.Generator, n: int) -> np.ndarray:
        drawn.append(rng.standard_normal((n, tree.n_nodes)))
        return drawn[-1]

    def run_of(trials: int) -> list[np.ndarray]:
        drawn.clear()
        counts = np.zeros(tree.n_nodes, dtype=np.int64)
        montecarlo.simulate(
            tree, metric, counts, errors_of, Tolerance(), trials, entropy=(7,), watch=montecarlo.Watch()
        )
        return list(drawn)

    chunks = run_of(6)
    assert [chunk.shape[0] for chunk in chunks] == [1] * 6
    assert np.unique(np.concatenate(chunks)).size == 6 * tree.n_nodes
    assert (run_of(1)[0] == chunks[0]).all()


@pytest.mark.parametrize(
    ("experiment", "number"),
    [
        (Experiment(), 5609823340455441850),
        (Experiment(epsilon=1, trials=5, metric="rmsre"), 5609823340455441850),
        (
            Experiment(
                mechanism="gaussian", delta=1e-6, postprocess=("least_squares",), allocation="custom",
                shares=(0.25, 0.75), relation="replace_unknown", contributions=3, known_levels=2,
            ),
            11073189778832119268,
        ),
        (Experiment(accounting="formula", alpha=0.5, threshold=2, seed=11, trials=5), 5131971099955330646),
    ],
)  # fmt: skip
def test_the_stream_of_an_experiment_is_what_it_always_was(experiment: Experiment, number: int) -> None:
    """Whatever its annotations are called: the noise of a published seed hangs on it."""
    assert identity(experiment) == number
    assert list(KINDS) == [one.name for one in fields(Experiment)]
