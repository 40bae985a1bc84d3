"""From leaf paths to the edges of their compressed trie, without a loop over leaves.

Sorted leaves and the number of levels that neighbours share determine the trie: an inner edge ends wherever a run of
neighbours shares more than its surroundings do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.tree.families import AnyArray, IntArray
from treedp_core.words import whole

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
