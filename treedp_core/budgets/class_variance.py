"""Variances after least squares on the classes of a quotient, for many budgets at once, and their gradient.

With precision q = 1 / noise variance of each level, up = variance from a node's own subtree, below = the sum of its
children's up, and result = the variance after least squares (the recurrences of `postprocess.least_squares`):

    leaves to root   up = 1 / q for a leaf, below / (1 + q below) otherwise
    root to leaves   gain = up / parent's below,  result = up (1 - gain) + gain^2 parent's result

The gradient runs both sweeps backwards; the derivative of up by its own q is - up^2 for leaves and inner nodes alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.budgets.quotient import Quotient, QuotientLevel
from treedp_core.tree import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sweeps:
    """What both sweeps found: a list entry for each level, (..., signatures), (..., pairs) or (..., classes)."""

    precision: FloatArray
    up: list[FloatArray]
    below: list[FloatArray]
    gain: list[FloatArray]
    result: list[FloatArray]

    @property
    def variance(self) -> FloatArray:
        """Variance of each class after least squares, (..., n_classes)."""
        return np.concatenate(self.result, axis=-1)


def sweeps(quotient: Quotient, precision: FloatArray) -> Sweeps:
    """Return the variances after least squares for level precisions (..., n_levels).

    Parameters
    ----------
    quotient : Quotient
    precision : (..., n_levels)
        1 / noise variance of each level: 0 not measured (not on a level that holds leaves), inf known exactly.

    >>> from treedp_core.budgets.quotient import quotient as of_tree
    >>> from treedp_core.tree import Tree
    >>> two_leaves = of_tree(Tree.from_branching_factors((2,)))
    >>> sweeps(two_leaves, np.array([np.inf, 1.0])).variance.tolist()  # a known total: 0, and half of 1
    [0.0, 0.5]
    """
    q = np.asarray(precision, dtype=np.float64)
    levels = quotient.levels
    n = len(levels)
    empty = np.zeros((*q.shape[:-1], 0))
    up, below, gain = [empty] * n, [empty] * n, [empty] * n
    for i in reversed(range(n)):
        if i + 1 < n:
            deeper = levels[i + 1]
            children = up[i + 1].take(deeper.pair_child, axis=-1)
            below[i] = np.add.reduceat(children * deeper.pair_count, deeper.pair_begin, axis=-1)
        of_inner = below[i] / (1.0 + q[..., i, None] * below[i])
        up[i] = np.concatenate([1.0 / q[..., i, None], of_inner], axis=-1) if levels[i].has_leaf else of_inner
    result = [up[0]]
    for i in range(1, n):
        level, skipped = levels[i], int(levels[i - 1].has_leaf)
        children = up[i].take(level.pair_child, axis=-1)
        gain[i] = children / below[i - 1].take(level.pair_parent - skipped, axis=-1)
        own = _own(level, children, gain[i])
        inherited = np.square(gain[i]).take(level.class_pair, axis=-1)
        inherited *= result[i - 1].take(level.class_parent, axis=-1)
        inherited += own.take(level.class_pair, axis=-1)
        result.append(inherited)
    return Sweeps(q, up, below, gain, result)


def _own(level: QuotientLevel, children: FloatArray, gain: FloatArray) -> FloatArray:
    """Up (1 - gain), without cancellation where one child holds nearly all its family's variance.

    There it is gain times its siblings' variance, summed without the child itself.
    """
    dominant = (gain > 0.5) & (level.pair_count == 1)
    if not dominant.any():
        return children * (1.0 - gain)
    others = np.add.reduceat(np.where(dominant, 0.0, children * level.pair_count), level.pair_begin, axis=-1)
    family = np.repeat(np.arange(level.pair_begin.size), np.diff(level.pair_begin, append=level.pair_parent.size))
    return np.asarray(np.where(dominant, gain * others.take(family, axis=-1), children * (1.0 - gain)))


def gradient(quotient: Quotient, found: Sweeps, weights: FloatArray) -> FloatArray:
    """Return the derivative of the weighted sum of class variances by each level's precision, (n_levels,).

    Parameters
    ----------
    quotient : Quotient
    found : Sweeps
        For one vector of precisions (n_levels,).
    weights : (n_classes,)

    Notes
    -----
    The weighted sum is homogeneous of order -1, so ``precision @ gradient`` is minus its value (exact levels aside).
    """
    levels, n = quotient.levels, len(quotient.levels)
    start = quotient.class_start
    to_result = [np.array(weights[start[i] : start[i + 1]], dtype=np.float64) for i in range(n)]
    to_up = [np.zeros(one.n_signatures) for one in levels]
    to_below = [np.zeros(one.size) for one in found.below]
    for i in reversed(range(1, n)):
        level, skipped = levels[i], int(levels[i - 1].has_leaf)
        gain = found.gain[i].take(level.class_pair)
        passed = to_result[i] * np.square(gain)
        to_result[i - 1][level.inner_above] += np.add.reduceat(passed, level.class_begin)
        above = level.pair_parent[level.class_pair] - skipped
        ratio = found.result[i - 1].take(level.class_parent) / found.below[i - 1].take(above)
        by_own = to_result[i] * (1.0 - 2.0 * gain * (1.0 - ratio))
        to_up[i] += _added(level.pair_child[level.class_pair], by_own, level.n_signatures)
        to_below[i - 1] += _added(above, passed * (1.0 - 2.0 * ratio), to_below[i - 1].size)
    to_up[0] += to_result[0]
    by_precision = np.zeros(n)
    for i in range(n):
        by_precision[i] = -(to_up[i] @ np.square(found.up[i]))
        if i + 1 < n:
            deeper, skipped = levels[i + 1], int(levels[i].has_leaf)
            to_below[i] += to_up[i][skipped:] / np.square(1.0 + found.precision[i] * found.below[i])
            shared = deeper.pair_count * to_below[i].take(deeper.pair_parent - skipped)
            to_up[i + 1] += _added(deeper.pair_child, shared, deeper.n_signatures)
    return by_precision


def _added(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)
