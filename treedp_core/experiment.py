"""The whole story on one screen: a budget split, noise, post-processing, and the error of the result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from treedp_core import checks, postprocess
from treedp_core.allocation import spent_part, split
from treedp_core.checks import InputError
from treedp_core.errors import METRICS, ErrorSummary, Metric, Tolerance
from treedp_core.errors.closed_form import NodeErrors, expected_errors
from treedp_core.errors.simulation import simulate
from treedp_core.mechanisms import MECHANISMS, THRESHOLDS, LevelNoise, refuse_rounds
from treedp_core.mechanisms.thresholds.trials import ThresholdTrials
from treedp_core.privacy import Budget, Currency, Guarantee, NeighbouringRelation, ProtectedUnit, Provenance, guarantee
from treedp_core.privacy.accounting import USUAL, is_numerical, largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.privacy.promise import Release
from treedp_core.privacy.rounding import smallest
from treedp_core.registry import Choice, Choices, Own, lookup
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Cancelled, Watch, generator
from treedp_core.words import card, plus_minus, setting_text, short

EPSILON_GRID: Final = (
    0.05, 0.07, 0.1, 0.14, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0,
    1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0,
)  # fmt: skip
"""Values of epsilon over which errors are drawn."""
_LEVELS_SHOWN: Final = 20


_MECHANISM, _POSTPROCESS = Choice("mechanisms", "discrete_laplace"), Choices("postprocessors")
_ALLOCATION, _METRIC = Choice("allocations", "uniform"), Choice("metrics", "rmse")


@dataclass(frozen=True)
class Experiment:
    """Everything that defines a run but the data: numbers, names and tuples, and entries of one's own.

    Parameters
    ----------
    mechanism, allocation, metric : str, or Mechanism, Allocation, Metric
        Names in `MECHANISMS`, `ALLOCATIONS`, `METRICS`, or entries themselves; they read as names. "thresholds" can be
        run and drawn, not prepared: it has no noise of levels.
    postprocess : tuple of str or Postprocessor
        Names in `POSTPROCESSORS` or entries, applied in order.
    epsilon, delta : float
        The total privacy budget; delta is used by Gaussian noise and thresholds only.
    relation, contributions, known_levels
        Who is protected: see `ProtectedUnit`.
    shares : tuple of float
        For the allocation "custom".
    alpha, threshold : float
        See `Tolerance`.
    trials, seed : int
    accounting : str
        How a discrete Gaussian's cost becomes (epsilon, delta), in `Accounting`: "numerical" needs less noise.
    """

    mechanism: Choice = _MECHANISM
    postprocess: Choices = _POSTPROCESS
    allocation: Choice = _ALLOCATION
    metric: Choice = _METRIC
    epsilon: float = 1.0
    delta: float = 0.0
    relation: str = NeighbouringRelation.REPLACE_ONE.value
    contributions: int = 1
    known_levels: int = 1
    shares: tuple[float, ...] = ()
    alpha: float = 0.1
    threshold: float = 10.0
    trials: int = 400
    seed: int = 7
    accounting: str = USUAL.value

    @property
    def unit(self) -> ProtectedUnit:
        """Who is protected."""
        relation = checks.one_of("relation", self.relation, [r.value for r in NeighbouringRelation])
        return ProtectedUnit(NeighbouringRelation(relation), self.contributions, self.known_levels)

    @property
    def tolerance(self) -> Tolerance:
        """What an error is forgiven."""
        return Tolerance(self.alpha, self.threshold)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """An experiment made ready for one tree: what every trial shares."""

    tree: Tree
    metric: Metric
    tolerance: Tolerance
    budget: Budget
    guarantee: Guarantee
    noise: LevelNoise
    postprocessing: postprocess.Step
    errors: NodeErrors | None

    def release(
        self,
        counts: AnyArray,
        rng: np.random.Generator,
        trials: int | None = None,
        provenance: Provenance = Provenance.SIMULATION,
    ) -> tuple[Release, Release]:
        """Return noisy counts of true ones (n_nodes,), before and after post-processing; by default simulations."""
        raw = self.noise.release(counts, self.guarantee, rng, trials, provenance)
        function, variance = self.postprocessing
        return raw, replace(raw, estimate=function(raw.estimate), variance=variance, laws=())


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run found: the formula where theory has one, the simulation if trials were run.

    `budget` is None for thresholds, whose rounds no level pays for by itself.
    """

    experiment: Experiment
    n_levels: int
    budget: Budget | None
    guarantee: Guarantee
    formula: ErrorSummary | None
    simulation: ErrorSummary | None

    @property
    def reads_counts(self) -> bool:
        """Whether what was found depends on the true counts: their metric does, or there is no closed form."""
        return METRICS[self.experiment.metric].reads_counts or (self.simulation is not None and self.formula is None)

    def __repr__(self) -> str:
        return f"<Outcome of {self._about()}: {self._found()}>"

    def _repr_html_(self) -> str:
        rows = [("error", self._found()), ("promise", self.guarantee.sentence())]
        for summary, name in ((self.formula, "formula"), (self.simulation, "simulation")):
            levels = [] if summary is None else summary.level.tolist()
            rows += [(f"level {level}, {name}", short(value)) for level, value in enumerate(levels[:_LEVELS_SHOWN])]
        return card(self._about(), rows)

    def _about(self) -> str:
        one = self.experiment
        steps = " → ".join([one.mechanism, *one.postprocess])
        return f"{steps}, {one.allocation} split, ε = {setting_text(one.epsilon)}"

    def _found(self) -> str:
        metric, formula, tried = METRICS[self.experiment.metric], self.formula, self.simulation
        found = [] if formula is None else [f"{short(formula.tree)} by formula"]
        found += [] if tried is None else [f"{short(tried.tree)}{plus_minus(tried.tree_se)} simulated"]
        label = f", {NOT_PRIVATE}" if self.reads_counts else ""
        return f"{metric.title} {', '.join(found) or 'not known'}{label}"


def prepare(experiment: Experiment, tree: Tree) -> Pipeline:
    """Return an experiment made ready for a tree.

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_REQUIRED``, ``BUDGET_SPLIT``, ``VALUE_UNKNOWN`` and the like: one sentence each;
        ``NO_LEVEL_NOISE`` for thresholds.
    """
    metric = lookup(METRICS, experiment.metric, "metric")
    refuse_rounds(experiment.mechanism)
    mechanism = lookup(MECHANISMS, experiment.mechanism, "mechanism")
    unit = experiment.unit
    budget, noise = _spent(experiment, tree, total_of(experiment, tree))
    claimed_by = MECHANISMS.author(experiment.mechanism)
    promise = guarantee(
        budget, unit, experiment.delta, mechanism.continuous_gaussian, precision=noise.precision, claimed_by=claimed_by,
        laws=noise.laws if is_numerical(experiment.accounting) else (),
    )  # fmt: skip
    step = postprocess.prepare(tree, noise.variance, experiment.postprocess, experiment.tolerance, noise.laws)
    errors = _known_errors(experiment, noise, step[1], mechanism.continuous_gaussian)
    return Pipeline(tree, metric, experiment.tolerance, budget, promise, noise, step, errors)


def total_of(experiment: Experiment, tree: Tree | None = None) -> float:
    """Return the total budget in the mechanism's own currency, rounded down.

    Numerical accounting depends on the noise of every level: without a tree it is what the formula allows, or less.

    >>> total_of(Experiment(epsilon=0.5))
    0.5
    """
    refuse_rounds(experiment.mechanism)
    mechanism, epsilon = lookup(MECHANISMS, experiment.mechanism, "mechanism"), checks.epsilon(experiment.epsilon)
    if mechanism.currency is Currency.EPSILON:
        return epsilon
    delta = checks.delta(experiment.delta, required=True)
    if tree is None or not mechanism.is_composed(experiment.accounting):
        return epsilon_to_rho(epsilon, delta, mechanism.continuous_gaussian)
    part = spent_part(experiment.allocation, experiment.shares)
    return largest_total(lambda all_: _spent(experiment, tree, all_)[1].laws, experiment.unit, epsilon, delta, part)


def _spent(experiment: Experiment, tree: Tree, total: float) -> tuple[Budget, LevelNoise]:
    """A total over the levels, and its noise."""
    mechanism, unit = lookup(MECHANISMS, experiment.mechanism, "mechanism"), experiment.unit
    budget = split(tree, total, mechanism.currency, unit, experiment.allocation, experiment.shares)
    return budget, mechanism.plan(tree, budget, unit)


def _known_errors(
    experiment: Experiment, noise: LevelNoise, variance: FloatArray | None, gaussian: bool
) -> NodeErrors | None:
    """What theory knows of the final errors: all before post-processing, variances after a linear step."""
    if variance is None:
        return None
    return NodeErrors(variance, None if experiment.postprocess else noise.laws, gaussian)


def run(
    experiment: Experiment,
    tree: Tree,
    counts: AnyArray,
    *,
    simulated: bool = True,
    by_node: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Run one experiment on true counts (n_nodes,): the formula always, the trials if `simulated`.

    With `by_node` each node's error is kept besides those of levels and tree.

    Raises
    ------
    InputError
        As `prepare` and `Tree.checked`.

    >>> from treedp_core.tree import Tree
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> experiment = Experiment(mechanism="laplace", epsilon=2.0)
    >>> outcome = run(experiment, tree, tree.counts_of_leaves(np.ones(4)), simulated=False)
    >>> outcome.formula.level.round(6).tolist()  # public total, then Laplace of scale 2 / 1 on each of two levels
    [0.0, 2.828427, 2.828427]
    """
    if is_by_rounds(experiment):
        return _run_by_rounds(experiment, tree, tree.checked(counts), simulated, by_node, watch or Watch())
    pipeline, counts = prepare(experiment, tree), tree.checked(counts)
    known = pipeline.errors
    formula = None
    if known is not None:
        formula = expected_errors(tree, pipeline.metric, counts, known, pipeline.tolerance, by_node=by_node)
    simulation = _simulated(experiment, pipeline, counts, watch or Watch(), by_node) if simulated else None
    return Outcome(experiment, tree.n_levels, pipeline.budget, pipeline.guarantee, formula, simulation)


def is_by_rounds(experiment: Experiment) -> bool:
    """Whether an experiment is one of thresholds: it can be run and drawn, but has no noise of levels to prepare."""
    return experiment.mechanism == THRESHOLDS.name


def by_rounds(experiment: Experiment, tree: Tree, counts: AnyArray) -> ThresholdTrials:
    """Return what releases true counts (n_nodes,) with thresholds at an experiment's alpha.

    Raises
    ------
    InputError
        ``STEP_ORDER`` for a post-processing: values come from a short list, and no level has a variance to weigh.
    """
    if experiment.postprocess:
        raise InputError(
            "STEP_ORDER", "Released values of thresholds have no variance to weigh; leave out the post-processing."
        )
    return ThresholdTrials(tree, counts, experiment.alpha, experiment.epsilon, experiment.delta, experiment.unit)


def _run_by_rounds(
    experiment: Experiment, tree: Tree, counts: AnyArray, simulated: bool, by_node: bool, watch: Watch
) -> Outcome:
    metric, ready, found = lookup(METRICS, experiment.metric, "metric"), by_rounds(experiment, tree, counts), None
    if simulated:
        found = simulate(
            tree, metric, counts, partial(ready.errors, watch=watch), experiment.tolerance,
            checks.trials(experiment.trials, tree.n_nodes),
            entropy=(checks.seed(experiment.seed), identity(experiment)), watch=watch, by_node=by_node,
        )  # fmt: skip
    return Outcome(experiment, tree.n_levels, None, ready.guarantee, None, found)


def draws_of_errors(experiment: Experiment, tree: Tree, counts: AnyArray) -> Callable[[np.random.Generator], AnyArray]:
    """Return what draws the errors (n_nodes,) of one release of true counts (n_nodes,); it refuses as `run`."""
    if is_by_rounds(experiment):
        ready = by_rounds(experiment, tree, counts)
        return lambda rng: ready.errors(rng, 1)[0]
    pipeline = prepare(experiment, tree)
    return lambda rng: (pipeline.postprocessing[0](pipeline.noise.draw(rng, 1) + counts) - counts)[0]


def _simulated(
    experiment: Experiment, pipeline: Pipeline, counts: AnyArray, watch: Watch, by_node: bool
) -> ErrorSummary:
    trials = checks.trials(experiment.trials, pipeline.tree.n_nodes)
    function, variance = pipeline.postprocessing
    linear = variance is not None  # then errors do not depend on the counts: post-process the noise alone

    def errors_of(rng: np.random.Generator, n: int) -> AnyArray:
        noise = pipeline.noise.draw(rng, n)
        return function(noise) if linear else function(noise + counts) - counts

    entropy = (checks.seed(experiment.seed), identity(experiment))
    return simulate(
        pipeline.tree,
        pipeline.metric,
        counts,
        errors_of,
        pipeline.tolerance,
        trials,
        entropy=entropy,
        watch=watch,
        by_node=by_node,
    )


def identity(experiment: Experiment) -> int:
    """Return a number that tells experiments apart whatever their trials: each cell of a sweep draws its own noise.

    Equal experiments have the same number, also when one says 1 and the other 1.0.

    >>> identity(Experiment(epsilon=1)) == identity(Experiment(epsilon=1.0))
    True
    """
    judged_alike = replace(experiment, trials=0, metric="")
    said = [name for name in KINDS if name != "accounting" or experiment.accounting != Experiment.accounting]
    text = repr(tuple(_plain(getattr(judged_alike, name), KINDS[name]) for name in said))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


KINDS: Final[Mapping[str, str]] = {
    "mechanism": "entry", "postprocess": "entries", "allocation": "entry", "metric": "entry", "epsilon": "number",
    "delta": "number", "relation": "text", "contributions": "whole", "known_levels": "whole", "shares": "numbers",
    "alpha": "number", "threshold": "number", "trials": "whole", "seed": "whole", "accounting": "text",
}  # fmt: skip
"""What each field of an experiment holds. Their order is part of every stream of noise: it never changes."""


def _plain(value: Any, kind: str) -> Any:
    """Return a field's value as its kind has it, so that equal values read alike."""
    match kind:
        case "number":
            return float(value) + 0.0  # -0.0 equals 0.0
        case "whole":
            return int(value)
        case "numbers":
            return tuple(float(item) + 0.0 for item in value)
        case "entries":
            return tuple(_plain(item, "entry") for item in value)
    return (type(value.entry).__name__, type(value.entry).__module__, str(value)) if isinstance(value, Own) else value


def draw_once(experiment: Experiment, tree: Tree, counts: AnyArray) -> tuple[Release, Release]:
    """Return one simulated release of true counts (n_nodes,), before and after post-processing.

    Raises
    ------
    InputError
        As `prepare` and `Tree.checked`.
    """
    rng = generator("one draw", checks.seed(experiment.seed), identity(experiment))
    if is_by_rounds(experiment):
        release = by_rounds(experiment, tree, tree.checked(counts)).release(rng)
        return release, release
    return prepare(experiment, tree).release(tree.checked(counts), rng)


def grid(base: Experiment | None = None, **choices: Any) -> list[Experiment]:
    """Return one experiment for each combination of choices, the last one moving fastest.

    Parameters
    ----------
    base : Experiment, optional
        What is not chosen.
    **choices
        Fields of `Experiment`: a list (or a range or an array) is tried item by item, anything else is one choice.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for a name that is no field.

    >>> [(one.mechanism, one.epsilon) for one in grid(mechanism=["laplace", "gaussian"], epsilon=[1, 2], delta=1e-6)]
    [('laplace', 1), ('laplace', 2), ('gaussian', 1), ('gaussian', 2)]
    """
    names = [field.name for field in fields(Experiment)]
    tried = [value if isinstance(value, list | range | np.ndarray) else [value] for value in choices.values()]
    known = [checks.one_of("field of an experiment", name, names) for name in choices]
    return [replace(base or Experiment(), **dict(zip(known, cell, strict=True))) for cell in product(*tried)]


def sweep(
    experiments: Iterable[Experiment],
    tree: Tree,
    counts: AnyArray,
    *,
    simulated: bool = True,
    by_node: bool = False,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> list[Outcome]:
    """Run many experiments on one tree, in the order given; the numbers do not depend on the executor.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts, in records.
    by_node : bool
        Whether each node's error is kept, for `to_frame(..., by="node")`.
    executor : concurrent.futures.Executor, optional
        Threads, processes or a cluster's; without one the cells run here, one after the other. Progress is reported
        trial by trial here and in threads, cell by cell elsewhere.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    """
    cells = list(experiments)
    watch = watch or Watch()
    if simulated:
        for cell in cells:
            checks.trials(cell.trials, tree.n_nodes, len(cells))
    here = executor is None or isinstance(executor, ThreadPoolExecutor)
    one = partial(run, tree=tree, counts=counts, simulated=simulated, by_node=by_node, watch=watch if here else None)
    if executor is None:
        return [one(cell) for cell in cells]
    futures = [executor.submit(one, cell) for cell in cells]
    try:
        return [_result(future, cell, None if here else watch) for future, cell in zip(futures, cells, strict=True)]
    finally:
        for future in futures:
            future.cancel()


def _result(future: Future[Outcome], cell: Experiment, watch: Watch | None) -> Outcome:
    """Wait for one cell; report it here if it cannot report from where it runs."""
    while watch is not None and not future.done():
        if watch.cancelled():
            raise Cancelled
        wait([future], timeout=0.1)
    outcome = future.result()
    if watch is not None:
        watch.step(cell.trials)
    return outcome


@dataclass(frozen=True)
class SmallestEpsilon:
    """The smallest epsilon that meets a target.

    Parameters
    ----------
    epsilon : float or None
        None where none up to 100 meets it.
    label : str
        What every copy must say: NOT PRIVATE where the formula reads the true counts, so that the number is data.
    """

    epsilon: float | None
    label: str


def smallest_epsilon(experiment: Experiment, tree: Tree, counts: AnyArray, target: float) -> SmallestEpsilon:
    """Return the smallest epsilon, to 0.1 %, whose formula for the whole tree is at most `target`.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts, in records.
    target : float
        In the metric's unit, > 0.

    Raises
    ------
    InputError
        ``NO_FORMULA`` when the experiment's error has no closed form to search on.
    """
    checks.number("target error", target, low=0, open_low=True, code="TARGET_RANGE")

    def error(epsilon: float) -> float:
        formula = run(replace(experiment, epsilon=epsilon), tree, counts, simulated=False).formula
        if formula is None:
            raise InputError("NO_FORMULA", "This combination has no closed form; choose RMSE, or no post-processing.")
        return formula.tree

    reads = lookup(METRICS, experiment.metric, "metric").reads_counts
    return SmallestEpsilon(_least(error, target), f"{NOT_PRIVATE}: found from the true counts." if reads else "")


def _least(error: Callable[[float], float], target: float) -> float | None:
    low, high = checks.EPSILON_LOW, checks.EPSILON_HIGH
    if error(high) > target:
        return None
    if error(low) <= target:
        return low
    return smallest(lambda epsilon: error(epsilon) <= target, low, high, 1e-3)
