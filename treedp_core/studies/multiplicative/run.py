"""One run of the threshold mechanism on the page Multiplicative error, beside simple rules. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from treedp_core.experiment import Experiment
from treedp_core.mechanisms.thresholds.estimation import Estimation, Planner, clamp, clamp_noise, estimate, shares
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import paper_plan, provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.release import budget_for_one_record, threshold_guarantee
from treedp_core.mechanisms.thresholds.schedule import USUAL_ETA, check_alpha, check_delta, check_levels
from treedp_core.mechanisms.thresholds.trace import Step, steps
from treedp_core.privacy import Guarantee
from treedp_core.studies.multiplicative.simple import RULES, Simple, draw
from treedp_core.studies.multiplicative.trees import Source
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
    truth : true counts, private
    released : by the thresholds
    simple : what each simple rule released, by its name in `simple.RULES`
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
    error : float or None
        Worst-case alpha-RMSE of what is released, in records, where it is known.
    reach : float or None
        R of the clamp: nothing released is further than 2 R from its count. None without the clamp.
    moved : int
        Judged nodes that the clamp moved.
    settings : Experiment
        What it was run with.
    """

    source: Source
    rule: str
    estimation: Estimation
    guarantee: Guarantee
    alpha: float
    nodes: Nodes
    story: tuple[Step, ...]
    settings: Experiment
    error: float | None = None
    reach: float | None = None
    moved: int = 0

    @property
    def n_searches(self) -> int:
        """How many steps label nodes: told ones on a small tree, else rounds."""
        return len(self.story) or len(self.estimation.plan.levels)

    @property
    def n_steps(self) -> int:
        """How many steps can be shown; the clamp is the last one."""
        return self.n_searches + (self.reach is not None)

    @property
    def public_total(self) -> int | None:
        """What the root is released as where the total is public."""
        return self.source.paths.total if self.guarantee.unit.total_is_public else None

    @cached_property
    def summary(self) -> dict[str, list[Any]]:
        """How each rule did, see `summary`."""
        return summary(self)

    @cached_property
    def drawn(self) -> IntArray:
        """Nodes to draw, at most 400, by rising true count: most evenly by rank, some ever denser towards the largest.

        The largest counts are few, so ranks alone would leave out what multiplicative error is about.
        """
        n = self.nodes.truth.size
        even = np.linspace(0, n - 1, min(n, 250))
        ranks = np.concatenate([even, n - np.geomspace(1, n, 150)])
        return np.argsort(self.nodes.truth, kind="stable")[np.unique(ranks.round().astype(np.int64))]

    @cached_property
    def inside(self) -> float:
        """Share of the judged nodes whose error alpha forgives."""
        return float((excess(self.nodes.truth, self.nodes.released, self.alpha) == 0).mean())

    @cached_property
    def rounds(self) -> dict[str, list[Any]]:
        """What happened in each round, see `round_table`."""
        return round_table(self)


# ---- one run


def run(source: Source, plan: str, settings: Experiment, *, clamped: bool = False, watch: Watch | None = None) -> Run:
    """Run the thresholds and the simple rules once at the same promise; `watch` is asked before every round.

    Half of the budget is for the clamp of Lemma 3.3 if there is one.

    Raises
    ------
    Cancelled
        When `watch` says so.
    InputError
        ``ALPHA_RANGE`` at alpha 0, ``DELTA_REQUIRED`` at delta 0, ``PLAN_TOTAL`` for data too small for thresholds.
    """
    alpha, delta, unit = check_alpha(settings.alpha), check_delta(settings.delta), settings.unit
    check_levels(source.paths.n_levels)
    one = budget_for_one_record(unit, settings.epsilon, delta)
    known = float(source.paths.total) if unit.total_is_public else None
    planner: Planner = partial(PLANNERS[plan], alpha)
    half = shares(*one, 0.5, 0.5) if clamped else None
    found = estimate(
        source.paths, planner, *(half or one), generator("thresholds", settings.seed), max_total=known, watch=watch
    )
    nodes, reach, moved = _judged(source, found, settings), None, 0
    if known is not None:
        nodes.released[nodes.level == 0] = known
    if half is not None:
        reach = clamp_noise(source.paths.n_levels, *half).support
        rng, before = generator("clamp", settings.seed), nodes.released
        after = clamp(before, nodes.truth.astype(np.int64), source.paths.n_levels, *half, rng)
        nodes, moved = replace(nodes, released=after), int((after != before).sum())
    story: tuple[Step, ...] = ()
    if source.tree is not None and source.is_small:
        story = told(steps(source.tree, source.paths, found.plan, found.labels))
    promise = threshold_guarantee(unit, settings.epsilon, delta)
    return Run(source, plan, found, promise, alpha, nodes, story, settings, _error(found.plan, reach), reach, moved)


def _error(plan: Plan, reach: float | None) -> float | None:
    """Worst-case alpha-RMSE of a plan, in records; that of the paper's constants is bounded by the clamp only.

    A clamp moves no estimate away from its count. With (alpha, eta)-accuracy, Lemma 3.3 gives
    sqrt((alpha tau)^2 + 4 eta R^2); noise on the integers adds at most 1 - alpha to the first part.
    """
    if plan.error is not None or reach is None:
        return plan.error
    return math.hypot(plan.default_value + 1.0 - plan.alpha, 2.0 * math.sqrt(USUAL_ETA) * reach)


def _judged(source: Source, found: Estimation, settings: Experiment) -> Nodes:
    """Every node of a tree; of a deep one both ends of every stored edge, and some of its empty nodes."""
    paths, rng = source.paths, generator("simple rules", settings.seed)
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
    simple = draw(source, level, truth, settings, rng)
    return Nodes(edge, level, truth, found.values(edge, level), simple)


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
    rules |= {RULES[name]: one for name, one in made.nodes.simple.items()}
    beyond = [excess(made.nodes.truth, one.released, made.alpha) for one in rules.values()]
    return {
        "rule": list(rules),
        "worst-case α-RMSE": [one.worst for one in rules.values()],
        "largest error beyond α w": [float(e.max()) for e in beyond],
        "root mean square beyond α w": [float(np.sqrt(np.square(e).mean())) for e in beyond],
        "nodes within α w": [100.0 * float((e == 0).mean()) for e in beyond],
    }


def excess(truth: FloatArray, released: FloatArray, alpha: float) -> FloatArray:
    """Return how far each error is beyond alpha times the count, at least 0.

    >>> excess(np.array([10.0, 10.0]), np.array([14.0, 30.0]), 0.5).tolist()
    [0.0, 15.0]
    """
    return np.maximum(np.abs(released - truth) - alpha * truth, 0.0)


def node_table(made: Run) -> dict[str, Any]:
    """Return the judged nodes, at most 100 000 of them, true counts named as what they are."""
    nodes, most = made.nodes, 100_000
    return {
        "level": nodes.level[:most],
        "true (NOT PRIVATE)": nodes.truth[:most],
        "thresholds": nodes.released[:most],
        **{RULES[name]: one.released[:most] for name, one in nodes.simple.items()},
    }


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
