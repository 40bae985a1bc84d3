"""The fewest noisy counts of a tree, each added or taken away, that make a range; the root's count is known and free.

A node's multiple, summed over a leaf's ancestors, must be 1 inside the range and 0 outside. Let f(v, x) be the fewest
noisy counts below v and at v, where the multiples above v add up to x. A node all inside, or all outside, needs none if
x is right, else its own. For any other node

    f(v, x) = min over z of [z != x] + sum over children c of f(c, z).

Only z = 0 and z = 1 need be tried: by induction f(v, x) >= f(v, y) for every other x and y = 0 or 1, as a leaf that is
neither 0 nor 1 takes a count, and the same z serves y. So no multiples but +1 and -1 are ever needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treedp_core.tree.families import IntArray

Signed = list[tuple[int, int]]
"""Nodes in level order, and what each is multiplied by: 1 or -1."""
Pair = tuple[IntArray, IntArray]
"""The fewest counts where those above add up to 0, and where they add up to 1."""


def fewest_nodes(branching_factors: Sequence[int], start: int, stop: int) -> Signed:
    """Return the fewest nodes that make bins start, ..., stop - 1, in a tree with a bin for each leaf.

    >>> fewest_nodes((4, 4), 1, 8)  # two groups without the first bin
    [(1, 1), (5, -1), (2, 1)]
    >>> fewest_nodes((4, 4), 1, 16)  # all but the first
    [(0, 1), (5, -1)]
    """
    sizes = np.cumprod([1, *branching_factors]).tolist()
    first = [0, *np.cumsum(sizes).tolist()]

    def fewest(level: int, place: int, above: int) -> Signed:
        width = sizes[-1] // sizes[level]
        inside = min((place + 1) * width, stop) - max(place * width, start)
        if inside <= 0 or inside == width:
            wanted = int(inside > 0)
            return [] if above == wanted else [(first[level] + place, wanted - above)]
        n = branching_factors[level]
        keeps, turns = (
            [one for i in range(n) for one in fewest(level + 1, place * n + i, z)] for z in (above, 1 - above)
        )
        return keeps if len(keeps) <= len(turns) + (level > 0) else [(first[level] + place, 1 - 2 * above), *turns]

    return fewest(0, 0, 0)


def fewest_counts(branching_factors: Sequence[int], start: IntArray, stop: IntArray) -> IntArray:
    """Return how many noisy counts the ranges need that begin at bins `start` and end before `stop`, (n,) each.

    >>> fewest_counts((4, 4), np.array([1, 1]), np.array([8, 16])).tolist()
    [3, 1]
    """
    begin, end = np.asarray(start), np.asarray(stop) - 1
    one = np.ones_like(begin), np.zeros_like(begin)
    left, right, both = one, one, one  # below the ancestors of the first bin, of the last, and of the two
    for level in reversed(range(len(branching_factors))):
        n, own = branching_factors[level], int(level > 0)
        (i, above), (j, above_end) = (np.divmod(at, n)[::-1] for at in (begin, end))
        apart = (begin != end).astype(np.int64)
        shared = both[0], n - 1 + both[1]
        split = j - i - 1 + left[0] + right[0], n - 1 - j + i + left[1] + right[1]
        both = _closed((np.where(apart, split[0], shared[0]), np.where(apart, split[1], shared[1])), own)
        left = _closed((n - 1 - i + left[0], i + left[1]), own)
        right = _closed((j + right[0], n - 1 - j + right[1]), own)
        begin, end = above, above_end
    return both[0]


def mean_fewest(branching_factors: Sequence[int]) -> float:
    """Return how many noisy counts a range needs, on average over all ranges: whole numbers are added up.

    Ranges whose first and last bin have their lowest common ancestor on one level differ in which children of it hold
    them, w apart, and in where in these they lie; of that only f(c, 0) - f(c, 1) in {-1, 0, 1} matters.

    >>> mean_fewest((16,)), round(mean_fewest((16, 16)), 6)
    (4.235294117647059, 11.690661)
    """
    bins = math.prod(branching_factors)
    total, below, width = bins, (np.array([1]), np.array([0])), 1
    for level in reversed(range(len(branching_factors))):
        n, own = branching_factors[level], int(level > 0)
        gaps = np.bincount(below[0] - below[1] + 1, minlength=3)
        gap, often = np.arange(-2, 3), np.convolve(gaps, gaps)
        w = np.arange(1, n)
        less = np.maximum(0, (2 * w - n)[:, None] + gap - own) @ often
        sums = width * width * (w - 1) + 2 * width * int(below[0].sum()) - less
        total += bins // (n * width) * int((n - w) @ sums)
        i = np.arange(n)[:, None]
        below = _closed(((n - 1 - i + below[0]).ravel(), (i + below[1]).ravel()), own)
        width *= n
    return total / (bins * (bins + 1) // 2)


def _closed(below: Pair, own: int) -> Pair:
    """Return f at nodes from the sums over their children, their own count at a price."""
    return np.minimum(below[0], own + below[1]), np.minimum(below[1], own + below[0])
