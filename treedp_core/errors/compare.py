"""A release beside the truth: nodes wrongly there or gone, largest errors, bias by size, spread by level, gaps.

Everything here shows true counts: it is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.errors.metrics import Metric, Tolerance, level_mean, tree_loss
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree

# Ways of doing the same, side by side over repeated runs: means, standard errors, and what the runs can tell.

TELLS: Final = 2.0
"""Standard errors of a difference from which runs are said to tell two means apart."""


def mean_and_error(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over the first axis, (n_runs, ...), and its standard error; infinite for a single run."""
    n = rows.shape[0]
    se = rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(rows.shape[1:], np.inf)
    return rows.mean(axis=0), se


@dataclass(frozen=True, eq=False)
class Ways:
    """One measure of several ways of doing the same, over repeated runs.

    Parameters
    ----------
    names : tuple of str
    mean, se : (n_ways,)
        Mean over the runs, and its standard error.
    """

    names: tuple[str, ...]
    mean: FloatArray
    se: FloatArray

    def ranked(self) -> list[int]:
        """Return the ways' positions by their means, the smallest first."""
        return [int(i) for i in np.argsort(self.mean, kind="stable")]

    def closest(self) -> int:
        """Return the position of the way whose mean is closest to 0."""
        return int(np.abs(self.mean).argmin())

    def change(self, i: int, j: int) -> float:
        """Return how much larger way j is than way i, in per cent."""
        return float(100 * (self.mean[j] / self.mean[i] - 1))

    def in_order(self, positions: Sequence[int]) -> Ways:
        """Return some of the ways in another order."""
        return Ways(tuple(self.names[i] for i in positions), self.mean[positions], self.se[positions])

    def tells(self, i: int, j: int) -> bool:
        """Whether the runs tell two ways apart.

        >>> ways = Ways(("a", "b"), np.array([1.0, 1.2]), np.array([0.06, 0.08]))
        >>> ways.tells(0, 1), ways.ranked()
        (False, [0, 1])
        """
        return bool(abs(self.mean[i] - self.mean[j]) > TELLS * np.hypot(self.se[i], self.se[j]))


SAME: Final = 1e-6
"""Records: sums of floats that differ by less are equal."""
VISIBLE: Final = 0.03
"""Of a bar as long as a figure is wide, about thirty pixels."""
_BIN_STARTS: Final = np.array([0, *(1 << k for k in (*range(6), *range(6, 63, 2)))], dtype=np.int64)
_QUANTILES: Final = (0.025, 0.25, 0.5, 0.75, 0.975)


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

    @property
    def names(self) -> list[str]:
        """The bins in words.

        >>> bias_by_size([Compared(9, np.array([5]), np.array([5]))]).names
        ['0', '4 to 7']
        """
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [str(low) if low == high else f"{low} to {high}" for low, high in pairs]

    def worst(self, least: int = 1) -> tuple[str, int, float] | None:
        """Return the bin of at least so many nodes with the largest mean error: its name, its nodes, that error.

        None where there is no such bin, or all its errors are 0.
        """
        rows = zip(self.names, self.n_nodes.astype(int).tolist(), self.bias.tolist(), strict=True)
        found = max((row for row in rows if row[1] >= least), key=lambda row: abs(row[2]), default=None)
        return found if found is not None and found[2] else None


def compare_on_tree(tree: Tree, counts: AnyArray, estimate: AnyArray) -> tuple[Compared, ...]:
    """Return every level of a release (n_nodes,) on a tree beside the true counts (n_nodes,)."""
    levels = (tree.level(level) for level in range(tree.n_levels))
    return tuple(Compared(nodes.stop - nodes.start, counts[nodes], estimate[nodes]) for nodes in levels)


def compare_leaves(tree: Tree, counts: AnyArray, estimate: AnyArray) -> Compared:
    """Return all leaves of a release (n_nodes,) on a tree, on whatever level, beside the true counts (n_nodes,)."""
    return Compared(tree.n_leaves, counts[tree.is_leaf], estimate[tree.is_leaf])


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


@dataclass(frozen=True, eq=False)
class LevelBoxes:
    """Signed errors of each level, in records, each (n_levels,): 2.5 %, 25 %, 50 %, 75 % and 97.5 %, and the mean."""

    label: str
    low: FloatArray
    lower_quartile: FloatArray
    median: FloatArray
    upper_quartile: FloatArray
    high: FloatArray
    mean: FloatArray


def level_quantiles(tree: Tree, errors: AnyArray, label: str) -> LevelBoxes:
    """Return the quantiles of signed node errors (n_nodes,), level by level; nan on a level without a finite one.

    >>> tree = Tree.from_branching_factors((3,))
    >>> level_quantiles(tree, np.array([np.nan, -1.0, 0.0, 4.0]), "before").median.tolist()
    [nan, 0.0]
    """
    rows = np.full((tree.n_levels, len(_QUANTILES) + 1), np.nan)
    for level in range(tree.n_levels):
        here = errors[tree.level(level)]
        here = here[np.isfinite(here)]
        if here.size:
            rows[level] = [*np.quantile(here, _QUANTILES), here.mean()]
    return LevelBoxes(label, *rows.T)


def family_gap(tree: Tree, values: AnyArray) -> tuple[float, int]:
    """Return the mean of |parent - sum of its children| over the inner nodes, in records, and over how many of them.

    Families with an undefined member among the `values` (n_nodes,) are left out; without any family the mean is 0.

    >>> family_gap(Tree.from_branching_factors((3,)), np.array([27, 12, 7, 5]))
    (3.0, 1)
    """
    total, families = 0.0, 0
    for level in range(tree.height):
        here = tree.level(level)
        inner = ~tree.is_leaf[here]
        apart = np.abs(values[here] - tree.sum_children(level, values[tree.level(level + 1)]))[inner]
        known = np.isfinite(apart)
        apart[apart <= SAME + np.finfo(float).eps * 64 * np.abs(values[here][inner])] = 0.0
        total += float(apart[known].sum())
        families += int(known.sum())
    return (total / families if families else 0.0), families


def most_visible(tree: Tree, values: AnyArray) -> int:
    """Return the inner node whose children miss its value most visibly; the root where all sums of values are right.

    On the first level from the top where a sum is off by as much as the mean one, and by at least `VISIBLE` of what
    it misses, the node that is off most; where there is none, the one off most in proportion. Only families of several
    children count. Values are (n_nodes,).

    >>> tree = Tree.from_branching_factors((2, 2))
    >>> most_visible(tree, np.array([100, 60, 41, 30, 30, 20, 12]))  # 1 of 100 is hard to see, 9 of 41 is not
    2
    """
    mean, best, best_part = family_gap(tree, values)[0], 0, SAME
    for level in range(tree.height):
        here = tree.level(level)
        parent = np.nan_to_num(values[here], nan=np.inf)
        total = tree.sum_children(level, values[tree.level(level + 1)])
        is_known = np.isfinite(parent) & np.isfinite(total) & (tree.n_children[here] > 1)
        apart = np.where(is_known, np.abs(parent - total), 0.0)
        part = apart / np.where(is_known, np.maximum(np.maximum(np.abs(parent), np.abs(total)), 1.0), 1.0)
        seen = np.where((apart >= mean) & (part >= VISIBLE), apart, 0.0)
        if seen.any():
            return int(here.start + np.argmax(seen))
        if part.max() > best_part:
            best, best_part = int(here.start + np.argmax(part)), float(part.max())
    return best


def adds_up(children: AnyArray, parent: float) -> bool:
    """Return whether children (n,) sum to their parent but for the rounding of floats.

    >>> adds_up(np.array([0.1, 0.2]), 0.3), adds_up(np.array([4e9, 5e9 - 1]), 9e9)
    (True, False)
    """
    return abs(float(children.sum()) - parent) <= SAME + 1e-14 * abs(parent) * children.size


def error_of(metric: Metric, tree: Tree, counts: AnyArray, errors: AnyArray, tolerance: Tolerance) -> float:
    """Return a metric of one release's errors (n_nodes,) for the whole tree; inf with an undefined node."""
    loss = np.nan_to_num(metric.loss(errors, counts, tolerance), nan=np.inf)
    return float(metric.value(tree_loss(tree, metric, level_mean(tree, loss))))


def negatives(values: AnyArray) -> int:
    """Return how many values (n_nodes,) are below 0, beyond rounding."""
    return int(np.count_nonzero(values < -SAME))


def largest_gain(before: FloatArray, after: FloatArray) -> tuple[int, float] | None:
    """Return the level whose error (n_levels,) shrinks most and the ratio after / before; None when none shrinks.

    A level not measured before and known after (inf to finite) is the largest gain of all, ratio 0.

    >>> largest_gain(np.array([0.0, 4.0, 4.0]), np.array([0.0, 2.0, 3.0]))
    (1, 0.5)
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(before > 0, after / before, 1.0)
    ratio[np.isinf(before) & np.isfinite(after)] = 0.0
    ratio[~np.isfinite(ratio)] = 1.0
    best = int(np.argmin(ratio))
    return (best, float(ratio[best])) if ratio[best] < 1 - 1e-9 else None
