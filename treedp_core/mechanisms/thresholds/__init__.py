"""Estimates with multiplicative error: the threshold mechanism of Ghazi et al., corrected, on dense and sparse trees.

`release` releases a whole `Tree` with it. Here are its other parts: a plan says what is tested with
what noise; `PathTree` holds the counts; `label_nodes` runs the rounds. Below, the nodes with records are judged: which
those are is private, so that a release names the labelled pieces alone, or gives every node of a public tree a value.

>>> import numpy as np
>>> codes = np.array([[0] * 999, [0] * 500 + [1] * 499])  # two leaves of a tree with 1,000 levels
>>> paths = PathTree.from_leaves(codes, np.array([9000, 400]))
>>> plan = tuned_plan(alpha=0.5, epsilon=1.0, delta=1e-6, n_levels=paths.n_levels, max_total=10_000)
>>> labels = label_nodes(paths, plan, Draw(np.random.default_rng(1)))
>>> released = labels.estimate(plan, edge=np.arange(paths.n_edges), level=paths.bottom)
>>> bool((np.abs(released - paths.weight) <= 0.5 * paths.weight + 2 * plan.error).all())
True
"""

from treedp_core.mechanisms.thresholds.estimation import (
    Estimation,
    Planner,
    clamp,
    classification_level,
    classify,
    estimate,
)
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.plans import provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.reduction import Labels, label_nodes
from treedp_core.mechanisms.thresholds.schedule import paper_plan, printed_schedule
from treedp_core.mechanisms.thresholds.sparse_vector import Draw
from treedp_core.mechanisms.thresholds.trace import Step, steps
from treedp_core.tree.path_tree import PathTree

__all__ = [
    "Draw",
    "Estimation",
    "Labels",
    "PathTree",
    "Plan",
    "PlanLevel",
    "Planner",
    "Step",
    "clamp",
    "classification_level",
    "classify",
    "estimate",
    "label_nodes",
    "paper_plan",
    "printed_schedule",
    "provable_plan",
    "steps",
    "tuned_plan",
]
