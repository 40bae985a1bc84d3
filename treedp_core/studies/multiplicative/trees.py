"""Trees to run thresholds on: a small one, deep ones made up, a data set's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from treedp_core.mechanisms.thresholds.schedule import check_levels
from treedp_core.tree import AnyArray, IntArray, Tree
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import generator

SOURCES: Final = {"small": "Small tree, step by step", "deep": "Deep tree, generated", "current": "Data set in use"}
DEEP_LEVELS: Final = (10, 30, 100, 300, 1000, 3000)
DEEP_LEAVES: Final = (10, 100, 1000, 10_000)
DEEP_RECORDS: Final = (2, 5, 20, 50, 200, 1000)
SMALL_LEAVES: Final = (8200, 900, 310, 40, 1800, 0, 150, 60, 3600, 420, 0, 0, 90, 25, 5, 0)
"""Records on the leaves of the small tree: some of every size, so that every threshold has something to find."""
SMALL_NODES: Final = 64
"""Trees of at most this many nodes are stepped test by test, larger ones round by round."""
MEAN_RECORDS: Final = 50
MAX_COLUMNS: Final = 60


@dataclass(frozen=True, eq=False)
class Source:
    """A counted tree (private) to run on.

    Parameters
    ----------
    name : str
    paths : PathTree
    tree : Tree or None
        None for a generated deep tree, of which only the paths with records exist.
    counts : (n_nodes,) or None
    """

    name: str
    paths: PathTree
    tree: Tree | None = None
    counts: AnyArray | None = None

    @property
    def is_small(self) -> bool:
        """Whether it is stepped test by test."""
        return self.tree is not None and self.tree.n_nodes <= SMALL_NODES

    @cached_property
    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        """Left end and width (n_edges,) of every edge's block in columns, and the edges shown (n,).

        The 60 heaviest branches are a column each, followed down to the end of their heaviest path; an edge above
        spans the columns below it. (The heaviest leaves would not do: where all are alike they are neighbours.)
        """
        paths = self.paths
        chosen = _heaviest_branches(paths)
        before = np.zeros(paths.n_edges + 1, dtype=np.int64)
        before[chosen + 1] = 1
        np.cumsum(before, out=before)
        width = before[paths.end] - before[:-1]
        return before[:-1], width, np.flatnonzero(width)


def _heaviest_branches(paths: PathTree) -> IntArray:
    """Ends of at most 60 heavy paths; a branch is an edge that is not the heaviest below its parent."""
    order = np.lexsort((-paths.weight, paths.parent))
    heaviest = order[np.append(True, np.diff(paths.parent[order]) != 0)]
    heaviest = heaviest[paths.parent[heaviest] >= 0]
    below = np.arange(paths.n_edges)
    below[paths.parent[heaviest]] = heaviest
    while (below[below] != below).any():
        below = below[below]
    branches = np.setdiff1d(np.arange(paths.n_edges), heaviest, assume_unique=True)
    return np.asarray(below[branches[np.argsort(-paths.weight[branches], kind="stable")[:MAX_COLUMNS]]])


def small_tree() -> Source:
    """Return the tree of 31 nodes that is stepped by hand."""
    tree = Tree.from_branching_factors((2, 2, 2, 2))
    counts = tree.counts_of_leaves(np.array(SMALL_LEAVES))
    return Source("small tree", PathTree.from_tree(tree, counts), tree, counts)


@lru_cache(maxsize=2)
def deep_tree(n_levels: int, n_leaves: int, seed: int, mean_records: int = MEAN_RECORDS) -> Source:
    """Return a binary tree of many levels whose records sit on few leaves, branching at all levels, sizes uneven.

    Leaves double: each copy keeps a prefix of its original, of a length drawn evenly, and goes its own way from there.
    The r-th leaf has about 1/r of the largest one's records; on average they have `mean_records`.

    >>> deep_tree(50, 20, 1).paths.n_levels
    50
    """
    rng = generator("deep tree", seed)
    codes = rng.integers(0, 2, (1, n_levels - 1), dtype=np.uint8)
    at = np.arange(n_levels - 1)
    while codes.shape[0] < n_leaves:
        fresh = codes[: n_leaves - codes.shape[0]].copy()
        branch = rng.integers(0, n_levels - 1, (fresh.shape[0], 1))
        fresh[at > branch] = rng.integers(0, 2, int((at > branch).sum()), dtype=np.uint8)
        fresh[at == branch] ^= 1
        codes = np.concatenate([codes, fresh])
    weights = 1.0 / (1.0 + rng.permutation(n_leaves))
    counts = np.ceil(weights / weights.sum() * mean_records * n_leaves).astype(np.int64)
    return Source("deep tree", PathTree.from_leaves(codes, counts))


def tree_in_use(name: str, tree: Tree, counts: AnyArray) -> Source:
    """Return a data set's tree; counts (n_nodes,) in records.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` for a tree of one level.
    """
    check_levels(tree.n_levels)
    return Source(name, PathTree.from_tree(tree, counts), tree, counts)
