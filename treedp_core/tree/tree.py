"""The structure of a tree: flat, level-ordered, ragged allowed; never private data.

Nodes are numbered level by level, siblings adjacent, in the order of their parents. So every level, the children of
a node, and the descendants of a node on any one level are contiguous, and truncating a tree is taking a prefix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.tree.families import AnyArray, Equal, Families, IntArray, families
from treedp_core.words import card, plural, whole

FloatArray = NDArray[np.float64]


MAX_LEVELS_SHOWN: Final = 20
"""In a notebook."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree as two arrays; checked once, here.

    Parameters
    ----------
    parent : (n_nodes,) int64
        Parent of each node, -1 for the root (node 0), never decreasing.
    level_start : (n_levels + 1,) int64
        Level l is nodes ``level_start[l]:level_start[l + 1]``; the root is level 0.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` when the arrays are no tree in this order, ``TOO_MANY_NODES`` when it is too large.

    Examples
    --------
    >>> tree = Tree.from_branching_factors((2, 3))
    >>> tree
    <Tree of 3 levels, 9 nodes, 6 leaves>
    >>> tree.counts_of_leaves(np.array([1, 0, 2, 0, 0, 4])).tolist()
    [7, 3, 4, 1, 0, 2, 0, 0, 4]
    """

    parent: IntArray
    level_start: IntArray

    def __post_init__(self) -> None:
        for name in ("parent", "level_start"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        checks.nodes(self.parent.size)
        if not _is_level_order(self.parent, self.level_start):
            raise InputError("TREE_SHAPE", "Expected parents in level order with a single root first.")

    def __repr__(self) -> str:
        return f"<Tree of {whole(self.n_levels)} levels, {whole(self.n_nodes)} nodes, {whole(self.n_leaves)} leaves>"

    def _repr_html_(self) -> str:
        levels = enumerate(self.level_sizes.tolist()[:MAX_LEVELS_SHOWN])
        return card(repr(self)[1:-1], [(f"level {level}", plural(size, "node")) for level, size in levels])

    # ---- construction

    @classmethod
    def from_branching_factors(cls, branching_factors: Sequence[int]) -> Tree:
        """Return the level-uniform tree whose level-l nodes have ``branching_factors[l]`` children each.

        >>> Tree.from_branching_factors(()).n_nodes
        1
        """
        factors = branching_factors_checked(branching_factors)
        sizes = np.cumprod([1, *factors])[:-1]
        return cls.from_child_counts([np.full(n, k) for n, k in zip(sizes, factors, strict=True)])

    @classmethod
    def from_child_counts(cls, child_counts: Sequence[AnyArray]) -> Tree:
        """Return the tree in which node i of level l has ``child_counts[l][i]`` children, (nodes,); 0 makes a leaf.

        >>> Tree.from_child_counts([np.array([2]), np.array([0, 3])]).parent.tolist()
        [-1, 0, 0, 2, 2, 2]
        """
        counts = [np.asarray(c, dtype=np.int64) for c in child_counts]
        sizes = [1] + [int(c.sum()) for c in counts]
        checks.nodes(sum(sizes))
        start = np.cumsum([0, *sizes])
        pieces = [np.repeat(np.arange(s, s + c.size), c) for s, c in zip(start, counts, strict=False)]
        return cls(np.concatenate([np.array([-1]), *pieces]), start)

    # ---- sizes and positions

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return self.parent.size

    @property
    def n_levels(self) -> int:
        """Number of levels, the root's included (height + 1)."""
        return self.level_start.size - 1

    @property
    def height(self) -> int:
        """Index of the last level (number of edges on the longest path)."""
        return self.n_levels - 1

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves, on whatever level."""
        return int(np.count_nonzero(self.is_leaf))

    def level(self, level: int) -> slice:
        """Return the nodes of a level as a slice of the node axis."""
        return slice(int(self.level_start[level]), int(self.level_start[level + 1]))

    @cached_property
    def level_sizes(self) -> IntArray:
        """Nodes per level, (n_levels,)."""
        return np.diff(self.level_start)

    @cached_property
    def level_of(self) -> IntArray:
        """Level of each node, (n_nodes,)."""
        return np.repeat(np.arange(self.n_levels), self.level_sizes)

    @cached_property
    def n_children(self) -> IntArray:
        """Children per node, (n_nodes,)."""
        return np.bincount(self.parent[1:], minlength=self.n_nodes).astype(np.int64)

    @cached_property
    def first_child(self) -> IntArray:
        """First child of each node, (n_nodes,); where a node has none, where its children would stand."""
        end = np.cumsum(self.n_children)
        end -= self.n_children
        end += 1
        return end

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf, (n_nodes,)."""
        return np.equal(self.n_children, 0)

    @cached_property
    def branching_factors(self) -> tuple[int, ...] | None:
        """Children per node by level if the tree is level-uniform (all leaves on the last level), else None."""
        below = self._families
        return (
            tuple(f.size for f in below if isinstance(f, Equal)) if all(isinstance(f, Equal) for f in below) else None
        )

    @cached_property
    def leaf_count(self) -> IntArray:
        """Leaves below each node (1 for a leaf), (n_nodes,)."""
        return self.add_up(self.is_leaf.astype(np.int64))

    @cached_property
    def leaf_start(self) -> IntArray:
        """Where each node's leaves begin in left-to-right order, (n_nodes,): node v covers leaf_count[v] from there."""
        before = np.cumsum(self.leaf_count) - self.leaf_count
        start = np.zeros(self.n_nodes, dtype=np.int64)
        for level in range(self.height):
            here, below = self.level(level), self.level(level + 1)
            offset = start[here] - before[np.minimum(self.first_child[here], self.n_nodes - 1)]
            start[below] = before[below] + self.spread(level, offset)
        return start

    @cached_property
    def leaves(self) -> IntArray:
        """The leaves in left-to-right order, (n_leaves,)."""
        nodes = np.flatnonzero(self.is_leaf)
        order = np.empty_like(nodes)
        order[self.leaf_start[nodes]] = nodes
        return order

    # ---- moving values along edges; nodes on the last axis, trials in front

    def sum_children(self, level: int, below: AnyArray) -> AnyArray:
        """Return, for each node of a level, the sum of its children's values (0 for a leaf).

        Parameters
        ----------
        level : int
            A level above the last.
        below : (..., nodes of level + 1)
            Values of the next level.
        """
        return self._families[level].sum(below)

    def spread(self, level: int, values: AnyArray) -> AnyArray:
        """Return a level's values handed to the children, (..., nodes of level + 1)."""
        return self._families[level].spread(values)

    def add_up(self, own: AnyArray) -> AnyArray:
        """Return each node's own value plus all its descendants', (..., n_nodes)."""
        total = np.array(own)
        for level in reversed(range(self.height)):
            total[..., self.level(level)] += self.sum_children(level, total[..., self.level(level + 1)])
        return total

    def counts_of_leaves(self, leaf_values: AnyArray) -> AnyArray:
        """Return the counts of all nodes from values of the leaves in left-to-right order, (..., n_nodes).

        Raises
        ------
        InputError
            ``COUNTS_SHAPE`` where they are not one for each leaf.
        """
        leaf_values = np.asarray(leaf_values)
        if leaf_values.shape[-1:] != (self.n_leaves,):
            raise _wrong_number(leaf_values, self.n_leaves, "leaves")
        own = np.zeros((*leaf_values.shape[:-1], self.n_nodes), dtype=leaf_values.dtype)
        own[..., self.leaves] = leaf_values
        return self.add_up(own)

    def checked(self, counts: AnyArray) -> AnyArray:
        """Return counts of all nodes, (n_nodes,), or refuse what is none.

        Raises
        ------
        InputError
            ``COUNTS_SHAPE`` where they are not one for each node, ``COUNT_RANGE`` where one is no finite number.

        >>> Tree.from_branching_factors((2,)).checked([3, 1, 2])
        array([3, 1, 2])
        """
        given = np.asarray(counts)
        if given.shape != (self.n_nodes,):
            raise _wrong_number(given, self.n_nodes, "nodes")
        if given.dtype.kind not in "biuf" or (given.dtype.kind == "f" and not np.isfinite(given).all()):
            raise InputError("COUNT_RANGE", "Expected counts that are finite numbers.")
        return given

    # ---- finding nodes

    def ancestors(self, node: int) -> list[int]:
        """Return the path from the root to a node, both included."""
        path = [node]
        while path[-1] > 0:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    def family(self, node: int) -> int:
        """Return the node whose family is looked at: the node, or the parent of a leaf; the root if there is no such.

        >>> tree = Tree.from_branching_factors((2,))
        >>> tree.family(0), tree.family(2), tree.family(99)
        (0, 0, 0)
        """
        if not 0 <= node < self.n_nodes:
            return 0
        return int(self.parent[node]) if self.n_children[node] == 0 and node > 0 else node

    def children(self, node: int) -> slice:
        """Return a node's children as a slice of the node axis."""
        first = int(self.first_child[node])
        return slice(first, first + int(self.n_children[node]))

    def descendants(self, node: int, n_levels: int) -> list[slice]:
        """Return a node's descendants, a slice for each of at most `n_levels` levels; the first is itself."""
        ranges = [slice(node, node + 1)]
        while len(ranges) < n_levels:
            last = ranges[-1]
            start, stop = int(self.first_child[last.start]), self.children(last.stop - 1).stop
            if stop <= start:
                break
            ranges.append(slice(start, stop))
        return ranges

    def prefix_cover(self, n_leaves: int) -> IntArray:
        """Return the fewest nodes that together hold exactly the first `n_leaves` leaves (Rameshwar et al., Sec. IV).

        They are the earlier siblings of the nodes on the path to the first leaf left out.

        >>> Tree.from_branching_factors((2, 3)).prefix_cover(4).tolist()
        [1, 6]
        """
        if n_leaves >= self.n_leaves:
            return np.array([0])
        path = self.ancestors(int(self.leaves[n_leaves]))
        earlier = [np.arange(self.first_child[p], v) for p, v in pairwise(path)]
        return np.concatenate([np.array([], dtype=np.int64), *earlier])

    def top(self, n_levels: int) -> Tree:
        """Return the tree cut below its first `n_levels` levels; its nodes are a prefix of this tree's."""
        n_levels = checks.integer("n_levels", n_levels, low=1, high=self.n_levels, code="TREE_SHAPE")
        return Tree(self.parent[: self.level_start[n_levels]], self.level_start[: n_levels + 1])

    # ---- private

    @cached_property
    def _families(self) -> list[Families]:
        """The families below each level but the last."""
        return [families(self.n_children[self.level(level)]) for level in range(self.height)]


def branching_factors_checked(branching_factors: Sequence[int]) -> tuple[int, ...]:
    """Return branching factors as ints after admitting their tree by size, before anything is allocated.

    >>> branching_factors_checked([2, 0])
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected branching factor 2 to be a whole number from 1 to 4 000 000, got 0.
    """
    if len(branching_factors) >= checks.MAX_NODES:
        raise InputError("TREE_SHAPE", "Expected fewer branching factors.")
    limits = {"low": 1, "high": checks.MAX_NODES}
    factors = tuple(
        checks.integer(f"branching factor {i}", k, code="TREE_SHAPE" if _small(k) else "TOO_MANY_NODES", **limits)
        for i, k in enumerate(branching_factors, start=1)
    )
    n_nodes, n_level = 1, 1
    for k in factors:
        n_level = n_level * k
        n_nodes += n_level
        checks.nodes(
            n_nodes, f"A tree with {len(factors)} branching factors whose leaves number {whole(n_level)} so far"
        )
    return factors


def _small(k: object) -> bool:
    return not (isinstance(k, (int, float)) and math.isfinite(k) and k > checks.MAX_NODES)


def _is_level_order(parent: IntArray, level_start: IntArray) -> bool:
    """Whether parents never decrease, point into the level above, and levels partition the nodes."""
    if parent.ndim != 1 or parent.size == 0 or level_start.size < 2 or parent[0] != -1:
        return False
    if level_start[0] != 0 or level_start[1] != 1 or level_start[-1] != parent.size or (np.diff(level_start) < 1).any():
        return False
    if parent.size == 1:
        return True
    above = np.repeat(np.arange(level_start.size - 2), np.diff(level_start)[1:])
    inside = (parent[1:] >= level_start[above]) & (parent[1:] < level_start[above + 1])
    return bool(inside.all() and (np.diff(parent[1:]) >= 0).all())


def _wrong_number(given: AnyArray, n: int, what: str) -> InputError:
    got = " × ".join(map(whole, given.shape)) or "one number"
    hint = "; counts_of_leaves makes them from those of the leaves" if what == "nodes" else ""
    return InputError("COUNTS_SHAPE", f"Expected one count for each of the {whole(n)} {what}, got {got}{hint}.")
