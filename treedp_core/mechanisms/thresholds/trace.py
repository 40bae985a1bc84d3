"""A run told step by step in nodes of the tree: for explanations, never for releasing.

Everything here is private data, not only the counts: trees too light to be labelled are left out of a run, so which
trees and how many nodes were tested already tells of true counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.reduction import Labels, Search
from treedp_core.tree import IntArray, Tree
from treedp_core.tree.path_tree import PathTree
from treedp_core.words import plural, short, whole

MAX_STEPS: Final = 100_000


@dataclass(frozen=True)
class Step:
    """One tree tested in one round.

    Parameters
    ----------
    round : int
        Index into the plan's levels; 0 is the largest threshold.
    classification_threshold, value : float
        Of that round, in records.
    root : int
        Node at the top of the tree.
    asked : tuple of (level, count)
        Levels asked, deepest first, each with its largest true count.
    fired : int or None
        Level that answered yes.
    tested, passed : tuple of int
        Nodes on that level that took a test of their own, and those that passed.
    labelled : tuple of int
        Nodes that got the round's value, from the top down: those that passed and all above them in the tree.
    """

    round: int
    classification_threshold: float
    value: float
    root: int
    asked: tuple[tuple[int, int], ...]
    fired: int | None
    tested: tuple[int, ...]
    passed: tuple[int, ...]
    labelled: tuple[int, ...]

    def sentence(self) -> str:
        """One plain sentence for the screen; private like the step itself.

        >>> Step(0, 90.0, 120.0, 0, ((2, 50), (1, 95)), 1, (1, 2), (1,), (0, 1)).sentence()
        'Round 1, threshold 90: in the tree below node 0, level 1 was the deepest to answer yes; 1 of 2 nodes tested \
alone passed. 2 nodes got 120: what passed and the unlabelled above.'
        """
        start = f"Round {self.round + 1}, threshold {short(self.classification_threshold)}: "
        if self.fired is None:
            return f"{start}no level of the tree below node {whole(self.root)} answers yes."
        told = f"{start}in the tree below node {whole(self.root)}, level {self.fired} was the deepest to answer yes; "
        told += f"{whole(len(self.passed))} of {plural(len(self.tested), 'node')} tested alone passed"
        if not self.labelled:
            return f"{told}, so nothing is labelled."
        named = plural(len(self.labelled), "node")
        return f"{told}. {named} got {short(self.value)}: what passed and the unlabelled above."


def steps(tree: Tree, paths: PathTree, plan: Plan, labels: Labels, limit: int = 1000) -> tuple[Step, ...]:
    """Return the first `limit` steps of a run, in the order in which they happened.

    Parameters
    ----------
    tree : Tree
        What `paths` was built from.
    paths : PathTree
        What was labelled, not a forest of copies.

    Raises
    ------
    InputError
        NO_TREE, when `paths` was built from leaves; VALUE_RANGE.
    """
    most = checks.integer("limit", limit, low=1, high=MAX_STEPS)
    nodes = _NodesOf(paths)
    told: list[Step] = []
    for search in labels.searches:
        for i in range(min(search.root_edge.size, most - len(told))):
            told.append(_step(tree, nodes, plan, search, i))
    return tuple(told)


def _step(tree: Tree, nodes: _NodesOf, plan: Plan, search: Search, i: int) -> Step:
    rule, fired = plan.levels[search.round], int(search.fired[i])
    root = nodes.at(search.root_edge[i : i + 1], search.root_level[i : i + 1])[0]
    inside = search.tree == i
    tested = nodes.at(search.edge[inside], search.level[inside])
    passed = tuple(tested[k] for k in np.flatnonzero(search.passed[inside]))
    labelled = sorted({node for last in passed for node in tree.ancestors(last) if node >= root})
    inner = tuple(node for node in labelled if root in tree.ancestors(node))
    asked = tuple(_asked(search, i, fired))
    return Step(
        search.round,
        rule.classification_threshold,
        rule.value,
        root,
        asked,
        None if fired < 0 else fired,
        tuple(tested),
        passed,
        inner,
    )


def _asked(search: Search, i: int, fired: int) -> list[tuple[int, int]]:
    q = search.queries
    runs = np.flatnonzero(q.tree == i)
    pairs = [(int(q.bottom[r]) - k, int(q.query[r])) for r in runs for k in range(int(q.length[r]))]
    return [pair for pair in pairs if pair[0] >= fired]


class _NodesOf:
    """Finds the node of an edge at a level."""

    def __init__(self, paths: PathTree) -> None:
        edge, level = _of_tree(paths)
        self.n_levels = paths.n_levels
        stored = np.flatnonzero(edge >= 0)
        key = edge[stored] * self.n_levels + level[stored]
        order = np.argsort(key)
        self.key, self.node = key[order], stored[order]

    def at(self, edge: IntArray, level: IntArray) -> list[int]:
        return [int(x) for x in self.node[np.searchsorted(self.key, edge * self.n_levels + level)]]


def _of_tree(paths: PathTree) -> tuple[IntArray, IntArray]:
    if paths.node_edge is None or paths.level_of is None:
        raise InputError("NO_TREE", "These paths were built from leaves; only those built from a tree have its nodes.")
    return paths.node_edge, paths.level_of
