"""Sparse deep trees: the non-zero paths only, with every chain of equal counts stored as one edge.

A node is a pair (edge, level). Edges stand in preorder, so the subtree below an edge is a contiguous range, and a tree
with n non-zero leaves has at most 2n - 1 of them however many levels it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.tree.families import AnyArray, IntArray
from treedp_core.tree.tree import Tree
from treedp_core.words import whole

# ---- from leaf paths to the edges of their compressed trie, without a loop over leaves.
#
# Sorted leaves and the number of levels that neighbours share determine the trie: an inner edge ends wherever a run of
# neighbours shares more than its surroundings do.


MAX_LEVELS: Final = 1_000_000
_BLOCK: Final = 1 << 20  # bytes of leaf paths compared at a time


def checked_codes(codes: AnyArray, counts: IntArray) -> AnyArray:
    """Return leaf codes as unsigned bytes or longer words, most significant byte first, (n_leaves, n_levels - 1).

    Raises
    ------
    InputError
        LEAF_CODES.
    """
    given = np.asarray(codes)
    if given.ndim != 2 or given.dtype.kind not in "iub" or counts.shape != given.shape[:1]:
        raise InputError("LEAF_CODES", "Expected whole codes with one row for each leaf and one count for each row.")
    if not 1 <= given.shape[1] < MAX_LEVELS:
        raise InputError("LEAF_CODES", f"Expected 2 to {whole(MAX_LEVELS)} levels, got {whole(given.shape[1] + 1)}.")
    low, high = int(given.min(initial=0)), int(given.max(initial=0))  # no leaves: data without records, not refused
    if low < 0:
        raise InputError("LEAF_CODES", f"Expected leaf codes of at least 0, got {low}.")
    width = 1 if high < 1 << 8 else 2 if high < 1 << 16 else 4 if high < 1 << 32 else 8
    return np.ascontiguousarray(given, dtype=np.dtype(f">u{width}"))


def sorted_leaves(rows: AnyArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Sort leaves by path and add up equal ones.

    Returns
    -------
    counts : (n,) records of each distinct leaf
    shared : (n - 1,) levels below the root that neighbours share

    >>> sorted_leaves(np.array([[1, 0], [0, 1], [0, 1]], dtype=np.uint8), np.array([1, 2, 3]))
    (array([5, 1]), array([0]))
    """
    as_bytes = rows.view(np.uint8).reshape(rows.shape[0], -1)
    # fixed-width byte strings compare like memcmp, so this is the order of the codes from the root down
    order = np.argsort(as_bytes.view(f"S{as_bytes.shape[1]}")[:, 0], kind="stable")
    shared = shared_levels(as_bytes, order) // rows.dtype.itemsize
    fresh = np.concatenate([[True], shared < rows.shape[1]])
    return np.add.reduceat(counts[order], np.flatnonzero(fresh)), shared[fresh[1:]]


def shared_levels(as_bytes: AnyArray, order: IntArray) -> IntArray:
    """Leading bytes that neighbours in that order share, (n - 1,)."""
    n, width = as_bytes.shape
    words = -(-width // 8)
    shared = np.empty(max(0, n - 1), dtype=np.int64)
    step = max(1, _BLOCK // (8 * words))
    for start in range(0, n - 1, step):
        stop = min(start + step, n - 1)
        padded = np.zeros((stop - start + 1, 8 * words), dtype=np.uint8)
        padded[:, :width] = as_bytes[order[start : stop + 1]]
        block = padded.view(np.uint64)
        differ = block[1:] != block[:-1]
        word = differ.argmax(axis=1)
        row = np.arange(stop - start)
        unlike = (block[row + 1, word] ^ block[row, word]).view(np.uint8).reshape(-1, 8) != 0
        shared[start:stop] = np.where(differ[row, word], 8 * word + unlike.argmax(axis=1), width)
    return shared


def edges(shared: IntArray, n_levels: int) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Edges of the trie in preorder: top, bottom, parent, end, and the first and last leaf below, each (n_edges,).

    >>> [array.tolist() for array in edges(np.array([0, 1]), 3)]
    [[0, 1, 1, 2, 2], [0, 2, 1, 2, 2], [-1, 0, 0, 2, 2], [5, 2, 5, 4, 5], [0, 0, 1, 1, 2], [2, 0, 2, 1, 2]]
    """
    n = shared.size + 1
    left = _nearest_smaller(shared)
    right = shared.size - 1 - _nearest_smaller(shared[::-1])[::-1]
    # the gap i between leaves i and i + 1 belongs to the inner node over leaves left + 1 ... right; n - 1 gaps may name
    # the same node, which the pair (first, -last) identifies and which also sorts edges into preorder
    leaf = np.arange(n)
    first = np.concatenate([left + 1, leaf])
    last = np.concatenate([right, leaf])
    bottom = np.concatenate([shared, np.full(n, n_levels - 1)])
    key, where, edge_of = np.unique(first * n + (n - 1 - last), return_index=True, return_inverse=True)
    first, last, bottom = first[where], last[where], bottom[where]
    outside = np.concatenate([[-1], shared, [-1]])  # levels shared across the gap before leaf i, at index i
    before, after = outside[first], outside[last + 1]
    top = np.maximum(before, after) + 1
    gap = np.where(before >= after, first - 1, last)
    parent = np.full(key.size, -1, dtype=np.int64)
    inner = top > 0
    inner[0] = False  # the root's edge has the whole range and no gap outside
    parent[inner] = edge_of.reshape(-1)[gap[inner]]
    end = np.searchsorted(first, last, side="right")
    return top, bottom, parent, end, first, last


def _nearest_smaller(values: IntArray) -> IntArray:
    """Index of the nearest smaller value to the left of each, -1 where there is none, (n,); by doubling."""
    n = values.size
    minima = [values]  # minima[k][i] = smallest of values[i - 2^k + 1 : i + 1], cut at the left end
    while 1 << len(minima) <= n:
        last, reach = minima[-1], 1 << (len(minima) - 1)
        wider = last.copy()
        np.minimum(last[reach:], last[:-reach], out=wider[reach:])
        minima.append(wider)
    at = np.arange(n) - 1
    for k in reversed(range(len(minima))):
        inside = at >= 0
        skip = inside & (minima[k][np.maximum(at, 0)] >= values)
        at = np.where(skip, np.maximum(at - (1 << k), -1), at)
    return at


_MOST_EDGES: Final = 20_000_000  # of a forest of copies


@dataclass(frozen=True, eq=False)
class PathTree:
    """The non-zero part of a counted tree, chains compressed; private data, unlike `Tree`.

    Parameters
    ----------
    weight : (n_edges,) int64
        Count of every node on the edge, in records.
    top, bottom : (n_edges,) int64
        First and last level of the edge.
    parent : (n_edges,) int64
        Edge above, -1 for the root's.
    end : (n_edges,) int64
        Edges ``e`` to ``end[e] - 1`` are the subtree of edge ``e``, itself first.
    reach : (n_edges,) int64
        Last level on which the subtree has a node at all, zero nodes included: public structure.
    n_levels : int
    is_dense : bool
        Whether zero nodes are stored too, each node as an edge of its own.
    node_edge : (n_nodes,) int64 or None
        Edge of each node of the `Tree` this was built from, -1 for a zero node that is not stored.
    level_of : (n_nodes,) int64 or None
        Level of each node of that tree.

    Examples
    --------
    >>> paths = PathTree.from_leaves(np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]]), np.array([5, 2, 1]))
    >>> paths.n_edges, paths.weight.tolist()
    (5, [8, 5, 3, 1, 2])
    """

    weight: IntArray
    top: IntArray
    bottom: IntArray
    parent: IntArray
    end: IntArray
    reach: IntArray
    n_levels: int
    is_dense: bool = False
    node_edge: IntArray | None = None
    level_of: IntArray | None = None

    @classmethod
    def from_leaves(cls, codes: AnyArray, counts: AnyArray) -> PathTree:
        """Compressed tree of the given leaves, all of them on the last level.

        Parameters
        ----------
        codes : (n_leaves, n_levels - 1) integers
            The child taken at each level, from the root down, at least 0. Rows in any order; equal rows are added up.
        counts : (n_leaves,) integers
            Records at each leaf, at least 0; leaves without records are dropped.

        Raises
        ------
        InputError
            LEAF_CODES for arrays of another shape or kind, COUNT_RANGE for counts that are negative or too large.
        """
        weights = _whole_counts(counts)
        rows = checked_codes(codes, weights)
        n_levels = rows.shape[1] + 1
        if not weights.any():
            one = np.zeros(1, dtype=np.int64)
            return cls(one, one, one + n_levels - 1, one - 1, one + 1, one + n_levels - 1, n_levels)
        weights, shared = sorted_leaves(rows[weights > 0], weights[weights > 0])
        top, bottom, parent, end, first, last = edges(shared, n_levels)
        before = np.concatenate([[0], np.cumsum(weights)])
        reach = np.full(top.size, n_levels - 1, dtype=np.int64)
        return cls(before[last + 1] - before[first], top, bottom, parent, end, reach, n_levels)

    @classmethod
    def from_tree(cls, tree: Tree, counts: AnyArray, *, dense: bool = False) -> PathTree:
        """Compressed form of a counted `Tree`.

        Parameters
        ----------
        tree : Tree
        counts : (n_nodes,) integers
            Each at least the sum of its children's (records may end at inner nodes).
        dense : bool
            Store zero nodes too and compress nothing: the literal algorithm, for checks and small trees.

        Raises
        ------
        InputError
            COUNT_RANGE, COUNTS_SHAPE.

        >>> tree = Tree.from_branching_factors((2, 2))
        >>> PathTree.from_tree(tree, np.array([3, 3, 0, 1, 2, 0, 0])).weight.tolist()
        [3, 1, 2]
        """
        w = _checked_counts(tree, counts)
        reach = _reach(tree)
        order = np.lexsort((tree.level_of, tree.leaf_start))  # preorder
        kept = order if dense else order[(w[order] > 0) | (order == 0)]
        above = tree.parent[kept]
        joined = (w[kept] == w[above]) & (w[kept] > 0) & (reach[kept] == reach[above]) & (above >= 0)
        starts = np.ones(kept.size, dtype=bool) if dense else ~joined
        edge = np.cumsum(starts) - 1
        node_edge = np.full(tree.n_nodes, -1, dtype=np.int64)
        node_edge[kept] = edge
        first = kept[starts]
        last = kept[np.append(np.flatnonzero(starts)[1:], kept.size) - 1]
        begin, size = tree.leaf_start[kept], tree.leaf_count[first]
        after = np.searchsorted(begin, tree.leaf_start[first] + size, side="left")
        end = np.append(edge, edge[-1] + 1)[after]
        parent = np.where(first == 0, -1, node_edge[tree.parent[first]])
        level = tree.level_of
        return cls(
            w[first], level[first], level[last], parent, end, reach[first], tree.n_levels, dense, node_edge, level
        )

    @property
    def n_edges(self) -> int:
        """Number of stored edges."""
        return self.weight.size

    @property
    def n_leaves(self) -> int:
        """Number of stored edges that nothing hangs from."""
        return int((self.end == np.arange(self.n_edges) + 1).sum())

    @property
    def total(self) -> int:
        """Count of the root, in records."""
        return int(self.weight[0])

    @cached_property
    def distinct_weights(self) -> IntArray:
        """The different weights in ascending order, (n,), in records."""
        return self._ranked[0]

    @cached_property
    def weight_rank(self) -> IntArray:
        """Index of each edge's weight in `distinct_weights`, (n_edges,)."""
        return self._ranked[1]

    @cached_property
    def _ranked(self) -> tuple[IntArray, IntArray]:
        distinct, rank = np.unique(self.weight, return_inverse=True)
        return distinct, rank.reshape(-1).astype(np.int64)

    def copies(self, n: int) -> PathTree:
        """Return a forest of n copies, copy t with edges ``t * n_edges`` onwards: n independent trials in one run.

        >>> tree = Tree.from_branching_factors((2,))
        >>> PathTree.from_tree(tree, np.array([3, 1, 2])).copies(2).weight.tolist()
        [3, 1, 2, 3, 1, 2]
        """
        n = checks.integer("the number of copies", n, low=1, high=max(1, _MOST_EDGES // self.n_edges))
        shift = np.repeat(np.arange(n) * self.n_edges, self.n_edges)
        weight, top, bottom, reach = (np.tile(a, n) for a in (self.weight, self.top, self.bottom, self.reach))
        parent, end = np.tile(self.parent, n), np.tile(self.end, n) + shift
        parent += np.where(parent >= 0, shift, 0)
        return replace(self, weight=weight, top=top, bottom=bottom, reach=reach, parent=parent, end=end)


def _checked_counts(tree: Tree, counts: AnyArray) -> IntArray:
    w = _whole_counts(tree.checked(counts))
    own = w.copy()
    for level in range(tree.height):
        own[tree.level(level)] -= tree.sum_children(level, w[tree.level(level + 1)])
    if own.min() < 0:
        raise InputError("COUNT_RANGE", "Expected every count to be at least the sum of its children's counts.")
    return w


def _whole_counts(counts: AnyArray) -> IntArray:
    given = np.asarray(counts)
    if given.dtype.kind not in "iufb" or not np.isfinite(given).all() or (given != np.floor(given)).any():
        raise InputError("COUNT_RANGE", "Expected counts that are whole numbers.")
    if given.size and (given.min() < 0 or given.max() > checks.MAX_COUNT or given.sum(dtype=float) > 2.0**62):
        raise InputError("COUNT_RANGE", f"Expected counts from 0 to {whole(checks.MAX_COUNT)}.")
    return given.astype(np.int64)


def _reach(tree: Tree) -> IntArray:
    """Last level on which the subtree of each node has a node, (n_nodes,)."""
    reach = tree.level_of.copy()
    for level in reversed(range(1, tree.n_levels)):
        below = tree.level(level)
        np.maximum.at(reach, tree.parent[below], reach[below])
    return reach
