"""Ranges after least squares on a tree with equal noise on all levels below a known root, by formula.

Bins are written as a mean, plus differences of the groups of each level from their parent's mean, down to single bins.
These parts are orthogonal, and least squares estimates each by itself: part i is seen by the counts of levels j >= i,
which hold m_j bins each, with weights m_j. So for a range q with the means E_i q over the groups of level i

    variance = sum over i >= 1 of (|E_i q|^2 - |E_(i-1) q|^2) / (m_i + ... + m_h)     (times the variance of a count)
    weight of a count v of level j = m_j sum over 1 <= i <= j of (E_i q(v) - E_(i-1) q(v)) / (m_i + ... + m_h).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treedp_core.tree import AnyArray, FloatArray, IntArray


def weights(branching_factors: Sequence[int], start: int, stop: int) -> FloatArray:
    """Return what each count enters with into bins start, ..., stop - 1 after least squares, (n_nodes,).

    >>> weights((2,), 0, 1).tolist()  # half of the known total, and half of what the two bins differ by
    [0.5, 0.5, -0.5]
    """
    held, seen = _bins_of_groups(branching_factors), _seen(branching_factors)
    found, before = [], np.zeros(1)
    part = np.zeros(1)
    for level, m in enumerate(held):
        groups = np.arange(held[0] // m) * m
        mean = np.clip(np.minimum(groups + m, stop) - np.maximum(groups, start), 0, None) / m
        if level == 0:
            found.append(mean)
        else:
            n = branching_factors[level - 1]
            part = np.repeat(part, n) + (mean - np.repeat(before, n)) / seen[level]
            found.append(m * part)
        before = mean
    return np.concatenate(found)


def variances(branching_factors: Sequence[int], start: IntArray, stop: IntArray) -> FloatArray:
    """Return the variances of ranges that begin at bins `start` and end before `stop`, (n,), for counts of variance 1.

    >>> variances((2,), np.array([0, 0]), np.array([1, 2])).tolist()
    [0.5, 0.0]
    """
    return _added(branching_factors, [_square_of_means(m, start, stop) for m in _bins_of_groups(branching_factors)])


def mean_variance(branching_factors: Sequence[int]) -> float:
    """Return the mean variance over all ranges, for counts of variance 1.

    A group with a bins before it and b after it holds t of its m bins of one range for each place that they have
    inside; t first ones of a + 1 ranges, t last ones of b + 1, and all of (a + 1) (b + 1).

    >>> mean_variance((2,))
    0.3333333333333333
    """
    held = _bins_of_groups(branching_factors)
    bins, sums = held[0], []
    for m in held:
        t = np.arange(1, m, dtype=np.float64)
        before = np.arange(0, bins, m, dtype=np.float64)
        after = bins - m - before
        inside = ((m - 1 - t).clip(0) @ t**2) * before.size
        ends = (t**2).sum() * (before + after + 2).sum()
        sums.append((inside + ends + m * m * ((before + 1) * (after + 1)).sum()) / m)
    return float(_added(branching_factors, sums)) / (bins * (bins + 1) / 2)


def _bins_of_groups(branching_factors: Sequence[int]) -> list[int]:
    """Bins of a node of each level, (n_levels,)."""
    return [math.prod(branching_factors[level:]) for level in range(len(branching_factors) + 1)]


def _seen(branching_factors: Sequence[int]) -> FloatArray:
    """How much the counts tell of each level's part, for counts of variance 1, (n_levels,)."""
    return np.cumsum(_bins_of_groups(branching_factors)[::-1])[::-1].astype(np.float64)


def _square_of_means(m: int, start: IntArray, stop: IntArray) -> FloatArray:
    """The squared norm of a range's means over groups of m bins: whole groups, and one at each end."""
    first, last = -(-start // m), stop // m
    is_within = first > last  # it lies inside one group
    ends = (first * m - start) ** 2 + (stop - last * m) ** 2
    whole = (last - first) * m + ends / m
    return np.asarray(np.where(is_within, (stop - start) ** 2 / m, whole))


def _added(branching_factors: Sequence[int], squares: Sequence[AnyArray | float]) -> FloatArray:
    seen = _seen(branching_factors)
    parts = zip(squares[1:], squares[:-1], seen[1:], strict=True)
    return np.asarray(sum((more - less) / told for more, less, told in parts))
