"""Budgets finer than one for each level: what is to be known of each, and what it gains beside one for each level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.privacy import ADDED
from treedp_core.registry import Stated, Table, table
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.studies.budget.splits.per_node import node_error, topped_up
from treedp_core.studies.budget.splits.subtrees import split_by_subtree
from treedp_core.tree import Tree

LEAVES: Final = (4, 16, 64, 256)
HEIGHTS: Final = (2, 3, 4, 5, 6, 7, 8)
BESIDE: Final = "Budgets by level"
Gain = tuple[str, list[float], dict[str, list[float]]]
"""What is varied, (n,) values of it, and the error at each with budgets of levels and with finer ones, (n,) each."""


@dataclass(frozen=True)
class Finer:
    """A table entry: budgets of parts of levels; `gain` compares them with budgets of levels, on what `about` says."""

    name: str
    label: str
    help: str
    stated: Stated
    says: str
    about: str
    gain: Callable[[], Gain]


def by_node() -> Gain:
    """Return the root mean squared error of all counts of trees that have a leaf on every level."""
    coarse, fine = [], []
    for height in HEIGHTS:
        tree = Tree.from_child_counts([np.array([2]), *([np.array([0, 2])] * (height - 1))])
        problem = Problem(tree, np.zeros(tree.n_nodes), "discrete_laplace", ADDED, "rmse")
        levels = np.full(tree.n_levels, 1.0 / tree.n_levels)
        coarse.append(problem.error(levels))
        fine.append(node_error(problem, topped_up(tree, ADDED, levels, 1.0)).tree)
    return "levels", [height + 1.0 for height in HEIGHTS], {BESIDE: coarse, FINER["node"].label: fine}


def by_subtree() -> Gain:
    """Return the relative error of the counts of two subtrees: one has a leaf below every node, one all below one."""
    coarse, fine = [], []
    for n in LEAVES:
        tree = Tree.from_child_counts([np.array([2]), np.array([n, 1]), np.array([1] * n + [n])])
        counts = tree.counts_of_leaves(np.full(2 * n, 20))
        problem = Problem(tree, counts, "gaussian", ADDED, "rmsre", least_squares=False, first_level=1)
        coarse.append(problem.error(optimum(problem, 1.0).amounts))
        found = split_by_subtree(problem, 1.0, 1, lambda one, total: optimum(one, total).amounts)
        fine.append(node_error(problem, found.node_amounts).tree)
    return "leaves of each", list(map(float, LEAVES)), {BESIDE: coarse, FINER["subtree"].label: fine}


FINER: Final[Table[Finer]] = table(
    Finer(
        "node", "Budgets by node", "Leaves that end early also spend what deeper levels would have.",
        Stated(
            assumes="A record changes the nodes of one path, so the largest sum along a path is paid.",
            formula=r"\varepsilon=\max_{\text{leaves }u}\ \sum_{v\text{ above or at }u}\varepsilon_v",
            source="Our own; Dawson et al. have one budget for each level.",
            best="Ragged trees: a leaf near the root has less noise, and no count has more.",
            loses="Trees whose leaves are all on one level: there is nothing left to spend.",
        ),
        "RMSE ÷ the best",
        "Binary trees with a leaf on every level, equal budgets, ε = 1, least squares; one record added or removed.",
        by_node,
    ),
    Finer(
        "subtree", "Budgets by subtree", "Every subtree has a split of its own, tuned on its own prior.",
        Stated(
            assumes="A record is in one subtree, so the dearest one is paid; levels above are sums of what they hold.",
            formula=r"\varepsilon=\max_{\text{subtrees }S}\ \sum_\ell\varepsilon_{S,\ell}",
            source="Dawson et al., Section 6: one split for each advertising partner, all pooled for a new one.",
            best="Subtrees of unlike shape or counts, such as partners with few and with many campaigns.",
            loses="Subtrees that are alike: one split for all is as good.",
        ),
        "RMSRE ÷ the best",
        "Two subtrees, one with a leaf below every node, one with all below a single node; 20 records a leaf, Gaussian "
        "noise at ρ = 1, tuned splits; one record added or removed.",
        by_subtree,
    ),
)  # fmt: skip
