"""One run of the threshold mechanism on the page Multiplicative error, beside simple rules. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from pages.ui.multiplicative_trees import Source
from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms.thresholds import budget_for_one_record
from treedp_core.montecarlo import generator
from treedp_core.multiplicative import worst_shrunk_alpha_rmse
from treedp_core.noise import Gaussian, Laplace
from treedp_core.privacy import Guarantee
from treedp_core.thresholds.estimation import Estimation, Planner, estimate
from treedp_core.thresholds.plans import paper_plan, provable_plan, tuned_plan
from treedp_core.thresholds.schedule import check_alpha, check_delta, check_levels
from treedp_core.thresholds.trace import Step, steps
from treedp_core.tree import FloatArray, IntArray, Tree

PLANS: Final = {"tuned": "Tuned", "provable": "Provable", "paper": "Paper's constants, corrected"}
PLANNERS: Final[Mapping[str, Callable[..., Any]]] = {
    "tuned": tuned_plan,
    "provable": provable_plan,
    "paper": paper_plan,
}
EMPTY_SHOWN: Final = 200
RULES: Final = {
    "gaussian": "Gaussian",
    "shrunk_gaussian": "Shrunk Gaussian",
    "laplace": "Laplace",
    "shrunk_laplace": "Shrunk Laplace",
}
_NOISE, _SIMPLE = 0x0A1F, 1


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes that are judged; arrays are (n,).

    Parameters
    ----------
    edge, level : where each node is; edge -1 has no records
    truth : true counts, private
    released : by the thresholds
    simple : what each simple rule released, by its name in `RULES`
    """

    edge: IntArray
    level: IntArray
    truth: FloatArray
    released: FloatArray
    simple: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Run:
    """A run with all that is shown of it; `rule` is the key of its plan in `PLANS`."""

    source: Source
    rule: str
    estimation: Estimation
    guarantee: Guarantee
    alpha: float
    nodes: Nodes
    worst: Mapping[str, float]
    story: tuple[Step, ...]

    @property
    def n_steps(self) -> int:
        """How many steps can be shown: told ones on a small tree, else rounds."""
        return len(self.story) or len(self.estimation.plan.levels)

    @cached_property
    def summary(self) -> dict[str, list[Any]]:
        """How each rule did, see `summary`."""
        return summary(self)

    @cached_property
    def rounds(self) -> dict[str, list[Any]]:
        """What happened in each round, see `round_table`."""
        return round_table(self)


# ---- one run


def run(source: Source, plan: str, settings: Experiment) -> Run:
    """Run the thresholds and the simple rules once at the same promise.

    Raises
    ------
    InputError
        ``ALPHA_RANGE`` at alpha 0, ``DELTA_REQUIRED`` at delta 0, ``PLAN_TOTAL`` for data too small for thresholds.
    """
    alpha, delta, unit = check_alpha(settings.alpha), check_delta(settings.delta), settings.unit
    check_levels(source.paths.n_levels)
    one = budget_for_one_record(unit, settings.epsilon, delta)
    known = float(source.paths.total) if unit.total_is_public else None
    planner: Planner = partial(PLANNERS[plan], alpha)
    found = estimate(source.paths, planner, *one, generator(settings.seed, _NOISE), max_total=known)
    sigmas = {
        law: deviations(source.paths.n_levels, replace(settings, mechanism=law)) for law in ("gaussian", "laplace")
    }
    nodes = _judged(source, found, alpha, sigmas, settings.seed)
    story: tuple[Step, ...] = ()
    if source.tree is not None and source.is_small:
        story = told(steps(source.tree, source.paths, found.plan, found.labels))
    promise = Guarantee(unit, settings.epsilon, delta)
    return Run(source, plan, found, promise, alpha, nodes, worst_errors(found, alpha, sigmas), story)


def deviations(n_levels: int, settings: Experiment) -> FloatArray:
    """Standard deviation of the noise on each level, (n_levels,), in records; 0 where a count is public.

    Equal budgets; the counts of a level do not matter, so a tree of one node a level stands for all.
    """
    chain = Tree(np.arange(-1, n_levels - 1), np.arange(n_levels + 1))
    laws = prepare(replace(settings, metric="rmse", allocation="uniform", postprocess=()), chain).noise.laws
    return np.array([0.0 if law is None else math.sqrt(law.variance) for law in laws])


def _judged(source: Source, found: Estimation, alpha: float, sigmas: Mapping[str, FloatArray], seed: int) -> Nodes:
    """Every node of a tree; of a deep one both ends of every stored edge, and some of its empty nodes."""
    paths, rng = source.paths, generator(seed, _NOISE, _SIMPLE)
    if source.tree is not None and paths.node_edge is not None and source.counts is not None:
        edge, level = paths.node_edge, source.tree.level_of
        truth = np.asarray(source.counts, dtype=float)
    else:
        stored = np.arange(paths.n_edges)
        empty = np.full(EMPTY_SHOWN, -1)
        edge = np.concatenate([stored, stored[paths.bottom > paths.top], empty])
        level = np.concatenate(
            [paths.top, paths.bottom[paths.bottom > paths.top], rng.integers(1, paths.n_levels, EMPTY_SHOWN)]
        )
        truth = np.where(edge >= 0, paths.weight[edge], 0).astype(float)
    normal = truth + rng.standard_normal(truth.size) * sigmas["gaussian"][level]
    double = truth + rng.laplace(size=truth.size) * (sigmas["laplace"][level] / math.sqrt(2.0))
    simple = {"gaussian": normal, "shrunk_gaussian": shrink(normal, alpha, sigmas["gaussian"][level])}
    simple |= {"laplace": double, "shrunk_laplace": shrink(double, alpha, sigmas["laplace"][level])}
    return Nodes(edge, level, truth, found.values(edge, level), simple)


def shrink(noisy: FloatArray, alpha: float, sigma: FloatArray) -> FloatArray:
    """Return max(0, (1 - alpha) y); a count that is public stays as it is.

    >>> shrink(np.array([-2.0, 10.0, 10.0]), 0.5, np.array([1.0, 1.0, 0.0])).tolist()
    [0.0, 5.0, 10.0]
    """
    return np.where(sigma > 0, np.maximum(0.0, (1.0 - alpha) * noisy), noisy)


def worst_errors(found: Estimation, alpha: float, sigmas: Mapping[str, FloatArray]) -> dict[str, float]:
    """Worst-case alpha-RMSE of the thresholds ("thresholds", nan where none is stated) and of every simple rule."""
    normal, double = Gaussian(float(sigmas["gaussian"].max())), Laplace(float(sigmas["laplace"].max()) / math.sqrt(2.0))
    return {
        "thresholds": math.nan if found.plan.error is None else found.plan.error,
        "gaussian": math.sqrt(normal.variance),
        "shrunk_gaussian": worst_shrunk_alpha_rmse(normal, alpha),
        "laplace": math.sqrt(double.variance),
        "shrunk_laplace": worst_shrunk_alpha_rmse(double, alpha),
    }


def told(every: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps worth a stop: those with a yes, and one for every round in which nothing answered yes."""
    loud = {step.round for step in every if step.fired is not None}
    kept: list[Step] = []
    for step in every:
        silent_round = step.round not in loud and (not kept or kept[-1].round != step.round)
        if step.fired is not None or silent_round:
            kept.append(step)
    return tuple(kept)


# ---- how a run did


def summary(made: Run) -> dict[str, list[Any]]:
    """Return how each rule did in this draw, beside its worst case: thresholds first, then the simple rules."""
    rules = {"Thresholds": ("thresholds", made.nodes.released)}
    rules |= {label: (name, made.nodes.simple[name]) for name, label in RULES.items()}
    beyond = {label: excess(made.nodes.truth, y, made.alpha) for label, (_, y) in rules.items()}
    return {
        "rule": list(rules),
        "worst-case α-RMSE": [made.worst[name] for name, _ in rules.values()],
        "largest error beyond α w": [float(e.max()) for e in beyond.values()],
        "root mean square beyond α w": [float(np.sqrt(np.square(e).mean())) for e in beyond.values()],
        "nodes within α w": [100.0 * float((e == 0).mean()) for e in beyond.values()],
    }


def excess(truth: FloatArray, released: FloatArray, alpha: float) -> FloatArray:
    """Return how far each error is beyond alpha times the count, at least 0.

    >>> excess(np.array([10.0, 10.0]), np.array([14.0, 30.0]), 0.5).tolist()
    [0.0, 15.0]
    """
    return np.maximum(np.abs(released - truth) - alpha * truth, 0.0)


def round_table(made: Run) -> dict[str, list[Any]]:
    """Return what happened in each round: public thresholds, and how many trees and nodes answered."""
    plan, labels = made.estimation.plan, made.estimation.labels
    rows = range(len(plan.levels))
    sums = np.zeros((len(rows), 4), dtype=np.int64)
    for search in labels.searches:
        sums[search.round] += (
            search.root_edge.size, int((search.fired >= 0).sum()), search.edge.size, int(search.passed.sum())
        )  # fmt: skip
    named = np.bincount(labels.round, labels.last - labels.first + 1, minlength=len(rows))
    return {
        "round": [row + 1 for row in rows],
        "threshold": [level.classification_threshold for level in plan.levels],
        "node passes above": [level.pass_threshold for level in plan.levels],
        "value given": [level.value for level in plan.levels],
        "trees tested": sums[:, 0].tolist(),
        "answered yes": sums[:, 1].tolist(),
        "nodes tested": sums[:, 2].tolist(),
        "passed": sums[:, 3].tolist(),
        "nodes labelled": named.astype(np.int64).tolist(),
    }
