"""One run of the threshold mechanism beside simple rules that keep the same promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from treedp_core.experiment import Experiment
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.reduction import Labels
from treedp_core.mechanisms.thresholds.release import ThresholdRelease, release_at_nodes, threshold_guarantee
from treedp_core.mechanisms.thresholds.schedule import USUAL_ETA, check_alpha, check_delta, check_levels, paper_plan
from treedp_core.mechanisms.thresholds.trace import Step, steps
from treedp_core.privacy import Guarantee
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.multiplicative.accuracy import clamped_alpha_rmse
from treedp_core.studies.multiplicative.simple import SIMPLE, Simple, Source, draw, leaf_edges, leaves_alone
from treedp_core.tree import FloatArray, IntArray
from treedp_core.watch import Watch, generator

PLANS: Final = {"tuned": "Tuned", "provable": "Provable", "paper": "Paper's constants"}
PLANNERS: Final[Mapping[str, Callable[..., Any]]] = {
    "tuned": tuned_plan,
    "provable": provable_plan,
    "paper": paper_plan,
}
EMPTY_SHOWN: Final = 200


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes that are judged; arrays are (n,).

    Parameters
    ----------
    edge, level : where each node is; edge -1 has no records
    truth : true counts, in records; private
    released : by the thresholds, in records
    simple : what each simple rule released, by its name in `simple.SIMPLE`
    """

    edge: IntArray
    level: IntArray
    truth: FloatArray
    released: FloatArray
    simple: Mapping[str, Simple]


@dataclass(frozen=True, eq=False)
class Run:
    """A run with all that is shown of it.

    Parameters
    ----------
    rule : str
        The key of its plan in `PLANS`.
    settings : Experiment
        What it was run with.
    found : ThresholdRelease
        The release at the judged nodes.
    story : tuple of Step
        What happened, test by test, on a small tree.
    """

    source: Source
    rule: str
    settings: Experiment
    nodes: Nodes
    found: ThresholdRelease
    story: tuple[Step, ...]

    @property
    def alpha(self) -> float:
        """The multiplicative slack."""
        return self.settings.alpha

    @property
    def guarantee(self) -> Guarantee:
        """What was promised."""
        return self.found.release.guarantee

    @property
    def plan(self) -> Plan:
        """The plan that was made for it."""
        return self.found.estimation.plan

    @property
    def labels(self) -> Labels:
        """Who was labelled when; its searches are private data."""
        return self.found.estimation.labels

    @property
    def reach(self) -> float | None:
        """R of the clamp, in records; None without one."""
        return self.found.reach

    @property
    def moved(self) -> int:
        """How many judged nodes the clamp moved."""
        return int((self.found.unclamped != self.nodes.released).sum())

    @property
    def n_searches(self) -> int:
        """How many steps label nodes: told ones on a small tree, else rounds."""
        return len(self.story) or len(self.plan.levels)

    @property
    def n_steps(self) -> int:
        """How many steps can be shown; the clamp is the last one."""
        return self.n_searches + (self.reach is not None)

    @property
    def public_total(self) -> int | None:
        """What the root is released as where the total is public."""
        return self.source.paths.total if self.guarantee.unit.total_is_public else None

    @property
    def values(self) -> list[float]:
        """Every value that a node can be given before the clamp, in records."""
        public = [] if self.public_total is None else [float(self.public_total)]
        return [*(level.value for level in self.plan.levels), self.plan.default_value, *public]

    @property
    def error(self) -> float | None:
        """Worst-case alpha-RMSE, in records; that of the paper's constants is bounded by the clamp only.

        A clamp moves no estimate away from its count, so Lemma 3.3 holds of every plan. Noise on the integers adds at
        most 1 - alpha to the alpha tau that a plan is accurate to.
        """
        if self.plan.error is not None or self.reach is None:
            return self.plan.error
        tau = (self.plan.default_value + 1.0 - self.plan.alpha) / self.plan.alpha
        return clamped_alpha_rmse(self.plan.alpha, tau, USUAL_ETA, self.reach)

    @cached_property
    def inside(self) -> float:
        """Share of the judged nodes whose error alpha forgives."""
        return float((excess(self.nodes.truth, self.nodes.released, self.alpha) == 0).mean())

    @cached_property
    def small_leaves(self) -> tuple[int, float]:
        """Threshold of the stability histogram of the leaves, and the share of the records on leaves below it."""
        source = self.source
        threshold, sizes = leaves_alone(source, self.settings).threshold, source.paths.weight[leaf_edges(source)]
        return threshold, float(sizes[sizes < threshold].sum() / max(1, source.paths.total))

    def largest_error(self, name: str = "") -> float:
        """Largest error beyond alpha times the count in this draw, of a simple rule or the thresholds, in records."""
        released = self.nodes.simple[name].released if name else self.nodes.released
        return float(excess(self.nodes.truth, released, self.alpha).max())

    @cached_property
    def rounds(self) -> dict[str, list[Any]]:
        """What happened in each round: public thresholds, and how many trees and nodes answered; a row a round."""
        plan, labels = self.plan, self.labels
        sums = np.zeros((len(plan.levels), 4), dtype=np.int64)
        for search in labels.searches:
            sums[search.round] += (
                search.root_edge.size, int((search.fired >= 0).sum()), search.edge.size, int(search.passed.sum())
            )  # fmt: skip
        named = np.bincount(labels.round, labels.last - labels.first + 1, minlength=len(sums))
        return {
            "round": list(range(1, len(sums) + 1)),
            "threshold": [level.classification_threshold for level in plan.levels],
            "node passes above": [level.pass_threshold for level in plan.levels],
            "value given": [level.value for level in plan.levels],
            **dict(zip(("trees tested", "answered yes", "nodes tested", "passed"), sums.T.tolist(), strict=True)),
            "nodes labelled": named.astype(np.int64).tolist(),
        }


# ---- one run


def run(source: Source, plan: str, settings: Experiment, watch: Watch | None = None, *, clamped: bool = False) -> Run:
    """Run the thresholds and the simple rules once at the same promise; `watch` is asked before every round.

    Half of the budget is for the clamp of Lemma 3.3 if there is one.

    Raises
    ------
    Cancelled
        When `watch` says so.
    InputError
        ``ALPHA_RANGE`` at alpha 0, ``DELTA_REQUIRED`` at delta 0, ``PLAN_TOTAL`` for data too small for thresholds.
    """
    alpha, delta = check_alpha(settings.alpha), check_delta(settings.delta)
    paths, rng = source.paths, generator("thresholds", settings.seed)
    check_levels(paths.n_levels)
    promise = threshold_guarantee(settings.unit, settings.epsilon, delta)
    among = generator("simple rules", settings.seed)
    edge, level, truth = _judged(source, among)
    found = release_at_nodes(
        paths, edge, level, partial(PLANNERS[plan], alpha), promise, rng, clamp_share=0.5 if clamped else 0.0,
        watch=watch,
    )  # fmt: skip
    nodes = Nodes(edge, level, truth, found.release.estimate, draw(source, edge, level, truth, settings, among))
    story: tuple[Step, ...] = ()
    if source.tree is not None and source.is_small:
        story = told(steps(source.tree, paths, found.estimation.plan, found.estimation.labels))
    return Run(source, plan, settings, nodes, found, story)


def _judged(source: Source, rng: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
    """Edge, level and true count of every node of a tree; of a deep one of both ends of edges, and of empty nodes."""
    paths = source.paths
    if source.tree is not None and paths.node_edge is not None and source.counts is not None:
        return paths.node_edge, source.tree.level_of, np.asarray(source.counts, dtype=float)
    stored = np.arange(paths.n_edges)
    long = paths.bottom > paths.top
    edge = np.concatenate([stored, stored[long], np.full(EMPTY_SHOWN, -1)])
    level = np.concatenate([paths.top, paths.bottom[long], rng.integers(1, paths.n_levels, EMPTY_SHOWN)])
    return edge, level, np.where(edge >= 0, paths.weight[edge], 0).astype(float)


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
    rules = {"Thresholds": Simple(made.nodes.released, math.nan if made.error is None else made.error)}
    rules |= {SIMPLE[name].label: one for name, one in made.nodes.simple.items()}
    beyond = [excess(made.nodes.truth, one.released, made.alpha) for one in rules.values()]
    return {
        "rule": list(rules),
        "worst-case α-RMSE": [one.worst for one in rules.values()],
        "largest error beyond α w": [float(e.max()) for e in beyond],
        "root mean square beyond α w": [float(np.sqrt(np.square(e).mean())) for e in beyond],
        "nodes within α w": [float((e == 0).mean()) for e in beyond],
    }


def excess(truth: FloatArray, released: FloatArray, alpha: float) -> FloatArray:
    """Return how far each error is beyond alpha times the count, at least 0, shape of `truth`, all in records.

    >>> excess(np.array([10.0, 10.0]), np.array([14.0, 30.0]), 0.5).tolist()
    [0.0, 15.0]
    """
    return np.maximum(np.abs(released - truth) - alpha * truth, 0.0)


def drawn(truth: FloatArray) -> IntArray:
    """Return which nodes to draw, at most 400, by rising true count (n,): most evenly by rank, ever denser on top.

    The largest counts are few, so ranks alone would leave out what multiplicative error is about.
    """
    n = truth.size
    ranks = np.arange(n)
    if n > 400:
        ranks = np.concatenate([np.linspace(0, n - 1, 250), n - np.geomspace(1, n, 150)])
    return np.argsort(truth, kind="stable")[np.unique(ranks.round().astype(np.int64))]


def node_table(made: Run) -> dict[str, Any]:
    """Return the judged nodes, at most 100 000 of them, true counts named as what they are; columns (n,)."""
    nodes, most = made.nodes, 100_000
    return {
        "level": nodes.level[:most],
        of_truth("true"): nodes.truth[:most],
        "thresholds": nodes.released[:most],
        **{SIMPLE[name].label: one.released[:most] for name, one in nodes.simple.items()},
    }
