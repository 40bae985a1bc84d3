"""Variances after least squares on the classes of a quotient, for many budgets at once, and their gradient.

With precision q = 1 / noise variance of each level, up = variance from a node's own subtree, below = the sum of its
children's up, and result = the variance after least squares (the recurrences of `postprocess.least_squares`):

    leaves to root   up = 1 / q for a leaf, below / (1 + q below) otherwise
    root to leaves   gain = up / parent's below,  result = up (1 - gain) + gain^2 parent's result

The gradient runs both sweeps backwards. The derivative of up by its own q is - up^2 for leaves and inner nodes alike.
With rest = 1 - gain and ratio = parent's result / parent's below, the derivative of result by the node's own up is
rest (rest + 2 gain ratio), and by a sibling's up gain^2 (1 - 2 ratio): no large terms that cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.studies.budget.quotient import Quotient, QuotientLevel
from treedp_core.tree import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sweeps:
    """What both sweeps found: a list entry for each level, (..., signatures), (..., pairs) or (..., classes)."""

    precision: FloatArray
    up: list[FloatArray]
    below: list[FloatArray]
    gain: list[FloatArray]
    own: list[FloatArray]
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

    >>> from treedp_core.studies.budget.quotient import quotient as of_tree
    >>> from treedp_core.tree import Tree
    >>> two_leaves = of_tree(Tree.from_branching_factors((2,)))
    >>> sweeps(two_leaves, np.array([np.inf, 1.0])).variance.tolist()  # a known total: 0, and half of 1
    [0.0, 0.5]
    """
    q = np.asarray(precision, dtype=np.float64)
    levels = quotient.levels
    n = len(levels)
    empty = np.zeros((*q.shape[:-1], 0))
    up, below, gain, own = [empty] * n, [empty] * n, [empty] * n, [empty] * n
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
        own[i] = _own(level, children, gain[i])
        inherited = np.square(gain[i]).take(level.class_pair, axis=-1)
        inherited *= result[i - 1].take(level.class_parent, axis=-1)
        inherited += own[i].take(level.class_pair, axis=-1)
        result.append(inherited)
    return Sweeps(q, up, below, gain, own, result)


def _own(level: QuotientLevel, children: FloatArray, gain: FloatArray) -> FloatArray:
    """Up (1 - gain), without cancellation where one child holds nearly all its family's variance.

    There it is gain times its siblings' variance, summed without the child itself.
    """
    dominant = (gain > 0.5) & (level.pair_count == 1)
    if not dominant.any():
        return children * (1.0 - gain)
    others = np.add.reduceat(np.where(dominant, 0.0, children * level.pair_count), level.pair_begin, axis=-1)
    return np.asarray(np.where(dominant, gain * others.take(level.family, axis=-1), children * (1.0 - gain)))


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
    for i in reversed(range(1, n)):
        level, skipped = levels[i], int(levels[i - 1].has_leaf)
        gain, rest = found.gain[i], found.own[i] / found.up[i].take(level.pair_child)
        of_parent = level.pair_parent[level.class_pair] - skipped
        ratio = found.result[i - 1].take(level.class_parent) / found.below[i - 1].take(of_parent)
        squared = np.square(gain)
        to_result[i - 1][level.inner_above] += np.add.reduceat(
            to_result[i] * squared.take(level.class_pair), level.class_begin
        )
        weight = _added(level.class_pair, to_result[i], gain.size)
        times_ratio = _added(level.class_pair, to_result[i] * ratio, gain.size)
        by_own = rest * (rest * weight + 2.0 * gain * times_ratio)
        by_sibling = squared * (weight - 2.0 * times_ratio)
        to_up[i] += _added(level.pair_child, by_own + _of_siblings(level, gain, by_sibling), level.n_signatures)
    to_up[0] += to_result[0]
    by_precision = np.zeros(n)
    for i in range(n):
        by_precision[i] = -(to_up[i] @ np.square(found.up[i]))
        if i + 1 < n:
            deeper, skipped = levels[i + 1], int(levels[i].has_leaf)
            to_below = to_up[i][skipped:] / np.square(1.0 + found.precision[i] * found.below[i])
            shared = deeper.pair_count * to_below.take(deeper.pair_parent - skipped)
            to_up[i + 1] += _added(deeper.pair_child, shared, deeper.n_signatures)
    return by_precision


def _of_siblings(level: QuotientLevel, gain: FloatArray, given: FloatArray) -> FloatArray:
    """What all nodes of each pair give their siblings, seen from those who receive it, (pairs,).

    Each of a family's children receives what the family gives less what it gives itself; where one child holds nearly
    all the variance the others are summed without it.
    """
    whole = np.add.reduceat(given, level.pair_begin).take(level.family)
    received = level.pair_count * whole - given
    dominant = (gain > 0.5) & (level.pair_count == 1)
    if not dominant.any():
        return np.asarray(received)
    others = np.add.reduceat(np.where(dominant, 0.0, given), level.pair_begin).take(level.family)
    return np.asarray(np.where(dominant, others, received))


def _added(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)
