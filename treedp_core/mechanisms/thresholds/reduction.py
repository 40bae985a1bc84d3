"""From estimation to classification (Ghazi et al., Algorithms 1 and 2), all trees of a round at once.

Round by round, from the largest threshold down, every remaining tree is tested from its deepest level up; on the first
level that answers yes each node takes a noisy test of its own, and a node that passes is labelled with the round's
value, together with its unlabelled ancestors. What is left below falls into disjoint subtrees: the trees of the next
round. A record's path meets one tree a round, so a round costs its test and its pass rounds once.

Algorithm 2 as printed keeps only the subtrees below the lowest labelled nodes and writes the value to all ancestors:
other unlabelled nodes never get a value and better values are overwritten. What the proof of Lemma 4.6 uses, and what
is done here, is that all unlabelled nodes stay and only unlabelled ones are written.

Zero nodes are left out where that changes no law: a node lighter than theta - R cannot pass, so a tree whose root is
that light stays as it is whatever its test says, and needs no draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.sparse_vector import Answers, BoolArray, Queries
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import Watch


@dataclass(frozen=True, eq=False)
class Search:
    """What one pass of queries did: for every tree where it stopped, and the nodes that were then tested alone.

    Parameters
    ----------
    round : int
        Index into the plan's levels.
    root_edge, root_level : (n_trees,)
        Root of each tree that was tested.
    fired : (n_trees,)
        Level on which its test answered yes, -1 where it never did.
    queries : Queries
        The level maxima that were asked: true counts, never to be shown of real data.
    edge, level, tree, passed : (n_tested,)
        Nodes that took a test of their own, the tree they are in, and whether they passed.
    """

    round: int
    root_edge: IntArray
    root_level: IntArray
    fired: IntArray
    queries: Queries
    edge: IntArray
    level: IntArray
    tree: IntArray
    passed: BoolArray


@dataclass(frozen=True, eq=False)
class Labels:
    """Which nodes were labelled in which round, as pieces of edges.

    Parameters
    ----------
    edge, first, last, round : (n_pieces,)
        Levels ``first`` to ``last`` of the edge were labelled in that round; sorted by edge, then level.
    searches : tuple of Search
        What happened, in order.
    """

    edge: IntArray
    first: IntArray
    last: IntArray
    round: IntArray
    n_levels: int
    searches: tuple[Search, ...]

    def round_of(self, edge: IntArray, level: IntArray) -> IntArray:
        """Round in which each node was labelled, -1 for none, shape of `edge`; edge -1 is a node without records."""
        if not self.edge.size:
            return np.full(np.shape(edge), -1, dtype=np.int64)
        at = np.searchsorted(self.edge * self.n_levels + self.first, edge * self.n_levels + level, side="right") - 1
        found = (at >= 0) & (self.edge[at] == edge) & (level <= self.last[at])
        return np.where(found, self.round[at], -1)

    def estimate(self, plan: Plan, edge: IntArray, level: IntArray) -> FloatArray:
        """Released value of each node, in records, shape of `edge`: its round's value or the plan's default."""
        values = np.array([*(x.value for x in plan.levels), plan.default_value])
        return np.asarray(values[self.round_of(edge, level)])


def label_nodes(
    paths: PathTree, plan: Plan, answers: Answers, *, skip: bool = True, watch: Watch | None = None
) -> Labels:
    """Run all rounds of a plan (Ghazi et al., Algorithm 2, corrected).

    Parameters
    ----------
    paths : PathTree
    plan : Plan
    answers : Answers
        ``Draw(rng, noise)`` is the mechanism; audits record the answers and replay them.
    skip : bool
        Leave out trees and nodes that cannot be labelled. The law of the labels is the same; False draws for them too.
    watch : Watch, optional
        Asked before every round; the rounds count a hundred steps in all.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    InputError
        CUT_OFF, when a round has a cut-off above 1 and the tree does not store its empty nodes: after a first yes it
        must be known which levels still have unlabelled nodes.
    """
    if any(level.cut_off > 1 for level in plan.levels) and not paths.is_dense:
        raise InputError("CUT_OFF", "A cut-off above 1 needs a tree that stores its empty nodes; build it with dense.")
    forest = _Forest(paths)
    looked_at = watch or Watch()
    for number, level in enumerate(looked_at.over(plan.levels, 100)):
        looked_at.check()
        forest.run_round(number, level, answers, skip)
    return forest.labels()


class _Forest:
    """The trees that remain, and the labels given so far."""

    def __init__(self, paths: PathTree) -> None:
        self.paths = paths
        self.root_edge = np.flatnonzero(paths.parent < 0)
        self.root_level = paths.top[self.root_edge]
        self.open_from = paths.top.copy()  # first level of each edge that is not labelled
        self.pieces: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
        self.searches: list[Search] = []

    def run_round(self, number: int, level: PlanLevel, answers: Answers, skip: bool) -> None:
        """Test every tree, label what passes, and split the trees."""
        least = level.smallest_labelled if skip else -1.0
        active = self.paths.weight[self.root_edge] > least
        roots, root_level = self.root_edge[active], self.root_level[active]
        below = np.full(roots.size, self.paths.n_levels)  # levels from here down are done
        for _ in range(level.cut_off):
            if not roots.size:
                break
            edge, tree = _subtrees(self.paths, roots)
            queries = self._queries(edge, tree, roots, root_level, below)
            fired = answers.first_above(level, queries)
            at = fired[tree]
            inside = (self.open_from[edge] <= at) & (at <= self.paths.bottom[edge]) & (at >= 0)
            inside &= self.paths.weight[edge] > least
            edge_in, tree_in = edge[inside], tree[inside]
            passed = np.zeros(0, dtype=bool)
            if edge_in.size:
                passed = answers.passes(level, tree_in, self.paths.weight[edge_in])
            search = Search(number, roots, root_level, fired, queries, edge_in, fired[tree_in], tree_in, passed)
            self.searches.append(search)
            self._label(number, edge, edge_in[passed], fired[tree_in][passed])
            going = fired > root_level
            roots, root_level, below = roots[going], root_level[going], fired[going]
        self._split()

    def labels(self) -> Labels:
        """Everything labelled, sorted."""
        empty = np.zeros(0, dtype=np.int64)
        pieces = [np.concatenate([empty, *arrays]) for arrays in zip(*self.pieces, strict=True)] or [empty] * 4
        order = np.lexsort((pieces[1], pieces[0]))
        edge, first, last, number = (p[order] for p in pieces)
        return Labels(edge, first, last, number, self.paths.n_levels, tuple(self.searches))

    def _queries(
        self, edge: IntArray, tree: IntArray, roots: IntArray, root_level: IntArray, below: IntArray
    ) -> Queries:
        if self.paths.is_dense:
            return self._dense_queries(edge, tree, roots.size, below)
        return _sparse_queries(self.paths, edge, tree, roots, root_level)

    def _dense_queries(self, edge: IntArray, tree: IntArray, n_trees: int, below: IntArray) -> Queries:
        # every node is an edge: the largest unlabelled count of each level of each tree
        at = self.paths.top[edge]
        wanted = (self.open_from[edge] <= at) & (at < below[tree])
        edge, tree, at = edge[wanted], tree[wanted], at[wanted]
        order = np.argsort(tree * self.paths.n_levels - at, kind="stable")
        edge, tree, at = edge[order], tree[order], at[order]
        if not edge.size:
            return Queries(tree, edge, at, at, n_trees)
        start = np.flatnonzero(np.diff(tree, prepend=-1) | np.diff(at, prepend=-1))
        query = np.maximum.reduceat(self.paths.weight[edge], start)
        return Queries(tree[start], query, at[start], np.ones(start.size, dtype=np.int64), n_trees)

    def _label(self, number: int, edge: IntArray, passed: IntArray, at: IntArray) -> None:
        """Label the open part of the passing edges down to that level, and of all edges above them in their trees."""
        if not passed.size:
            return
        count = np.zeros(self.paths.n_edges + 1, dtype=np.int64)
        count[passed + 1] = 1
        np.cumsum(count, out=count)
        above = edge[count[self.paths.end[edge]] > count[edge + 1]]
        above = above[self.open_from[above] <= self.paths.bottom[above]]
        edges, last = np.concatenate([above, passed]), np.concatenate([self.paths.bottom[above], at])
        self.pieces.append((edges, self.open_from[edges], last, np.full(edges.size, number)))
        self.open_from[edges] = last + 1

    def _split(self) -> None:
        """Make the topmost unlabelled node of every path a root."""
        p = self.paths
        closed = self.open_from > p.bottom
        rest = np.flatnonzero(~closed & ((p.parent < 0) | closed[p.parent]))
        self.root_edge, self.root_level = rest, self.open_from[rest]


def _subtrees(paths: PathTree, roots: IntArray) -> tuple[IntArray, IntArray]:
    """Edges of the subtrees of these edges, one tree after the other, and the tree each is in."""
    size = paths.end[roots] - roots
    tree = np.repeat(np.arange(roots.size), size)
    return np.arange(tree.size) + (roots - np.cumsum(size) + size)[tree], tree


def _sparse_queries(paths: PathTree, edge: IntArray, tree: IntArray, roots: IntArray, root_level: IntArray) -> Queries:
    """Level maxima of each tree as runs of levels with one value.

    Counts never grow on the way down, so the maximum of level l is the largest weight of the edges that end on level l
    or deeper: a running maximum over the edges from the deepest end up. Below the last edge of a tree with records
    there may be levels that have empty nodes only; their query 0 is asked too.
    """
    order = np.argsort(tree * paths.n_levels - paths.bottom[edge], kind="stable")
    edge, tree = edge[order], tree[order]
    bottom = paths.bottom[edge]
    base = tree * paths.distinct_weights.size
    largest = np.maximum.accumulate(base + paths.weight_rank[edge]) - base
    query = paths.distinct_weights[largest]
    last = np.append(np.diff(tree) > 0, True)
    length = bottom - np.where(last, root_level[tree] - 1, np.append(bottom[1:], 0))
    first = np.append(True, last[:-1])
    empty = np.flatnonzero(first)[paths.reach[roots] > bottom[first]]
    keep = length > 0
    runs = [tree[keep], query[keep], bottom[keep], length[keep]]
    if empty.size:
        reach = paths.reach[roots[tree[empty]]]
        extra = [tree[empty], np.zeros(empty.size, dtype=np.int64), reach, reach - bottom[empty]]
        joined = [np.concatenate(pair) for pair in zip(runs, extra, strict=True)]
        order = np.lexsort((-joined[2], joined[0]))
        runs = [array[order] for array in joined]
    return Queries(runs[0], runs[1], runs[2], runs[3], roots.size)
