"""A release beside the truth: spurious and lost nodes, largest errors, and bias by the size of the true count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.studies.topdown.sparse import SparseRun
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree

_BIN_STARTS: Final = np.array([0, *(1 << k for k in (*range(6), *range(6, 63, 2)))], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Compared:
    """One level of a release beside the truth. Private: it shows true counts.

    Parameters
    ----------
    n_cells : int
        Possible nodes; those not listed are 0 in the truth and in the release.
    truth, released : (n,)
        Counts of the listed nodes, in records.
    """

    n_cells: int
    truth: AnyArray
    released: AnyArray

    @property
    def n_true(self) -> int:
        """Nodes with records."""
        return int(np.count_nonzero(self.truth))

    @property
    def n_released(self) -> int:
        """Nodes that the release says have records."""
        return int(np.count_nonzero(self.released))

    @property
    def spurious(self) -> int:
        """Nodes of the release without a single record (false positives)."""
        return int(np.count_nonzero((self.released != 0) & (self.truth == 0)))

    @property
    def lost(self) -> int:
        """Nodes with records that the release says are empty (false negatives)."""
        return int(np.count_nonzero((self.released == 0) & (self.truth != 0)))

    @property
    def max_error(self) -> float:
        """Largest absolute error of a node, in records."""
        return float(np.abs(self.released - self.truth).max(initial=0))

    @property
    def mean_absolute_error(self) -> float:
        """Mean absolute error over all possible nodes, in records."""
        return float(np.abs(self.released - self.truth).sum() / self.n_cells)

    @property
    def rmse(self) -> float:
        """Root of the mean squared error over all possible nodes, in records."""
        return float(np.sqrt(np.square((self.released - self.truth).astype(float)).sum() / self.n_cells))

    @property
    def total_variation(self) -> float:
        """Half the absolute errors, as a part of the records: how many would have to move."""
        return float(np.abs(self.released - self.truth).sum() / 2 / max(1, int(self.truth.sum())))


@dataclass(frozen=True, eq=False)
class BiasBySize:
    """Mean error of nodes by the size of their true count.

    Parameters
    ----------
    low, high : (n_bins,) int64
        True counts of the bin, both included: 0, 1, 2-3, 4-7, and so on to 32-63; then four times as wide, 64-255 and
        so on. Only bins with nodes.
    n_nodes : (n_bins,)
        Nodes with such a count, those not listed included; exact below 2^53.
    bias : (n_bins,)
        Mean of released - true, in records.
    standard_error : (n_bins,)
        Of that mean, from the spread over the nodes; nan for a single node. Nodes of one release share their parents'
        errors, so it is a guide; over many releases take the spread of their `bias` instead.
    """

    low: IntArray
    high: IntArray
    n_nodes: FloatArray
    bias: FloatArray
    standard_error: FloatArray


def compare(run: SparseRun) -> tuple[Compared, ...]:
    """Return every level of a sparse release beside the truth.

    >>> from treedp_core.tree.leaf_table import count_leaves
    >>> from treedp_core.studies.topdown.plan import plan
    >>> from treedp_core.studies.topdown.sparse import release
    >>> table = count_leaves([np.array([0, 0, 1])], (1000,))
    >>> leaves = compare(release(table, plan((1000,), 1000.0), np.random.default_rng(1)))[1]
    >>> leaves.n_true, leaves.spurious, leaves.lost, leaves.max_error
    (2, 0, 0, 0.0)
    """
    levels = []
    for n_cells, level, truth in zip(run.plan.cells, run.levels, run.truth, strict=True):
        real = level.origin >= 0
        released = np.zeros(truth.count.size, dtype=np.int64)
        released[level.origin[real]] = level.count[real]
        spurious = level.count[~real]
        levels.append(
            Compared(
                n_cells,
                np.concatenate([truth.count, np.zeros(spurious.size, dtype=np.int64)]),
                np.concatenate([released, spurious]),
            )
        )
    return tuple(levels)


def compare_on_tree(tree: Tree, counts: AnyArray, estimate: AnyArray) -> tuple[Compared, ...]:
    """Return every level of a release (n_nodes,) on a tree beside the true counts (n_nodes,)."""
    levels = (tree.level(level) for level in range(tree.n_levels))
    return tuple(Compared(nodes.stop - nodes.start, counts[nodes], estimate[nodes]) for nodes in levels)


def bias_by_size(levels: Sequence[Compared]) -> BiasBySize:
    """Return the mean error by size of the true count, over the nodes of one level or of several (or of several runs).

    >>> result = bias_by_size([Compared(10, np.array([4, 1, 0]), np.array([3, 0, 2]))])
    >>> [list(map(float, part)) for part in (result.low, result.n_nodes, result.bias)]
    [[0.0, 1.0, 4.0], [8.0, 1.0, 1.0], [0.25, -1.0, -1.0]]
    """
    truth = np.concatenate([level.truth for level in levels])
    error = np.concatenate([level.released - level.truth for level in levels]).astype(float)
    bin_of = np.searchsorted(_BIN_STARTS, truth, side="right") - 1
    nodes = np.bincount(bin_of, minlength=1).astype(float)
    nodes[0] = float(sum(level.n_cells - level.n_true for level in levels))  # most are not listed: no error
    used = np.flatnonzero(nodes)
    n = nodes[used]
    mean, square = (np.bincount(bin_of, weights=part, minlength=1)[used] / n for part in (error, error**2))
    spread = np.sqrt(np.maximum(square - mean**2, 0.0) / np.maximum(n - 1.0, 1.0))
    return BiasBySize(_BIN_STARTS[used], _BIN_STARTS[used + 1] - 1, n, mean, np.where(n > 1, spread, np.nan))
