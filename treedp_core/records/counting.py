"""Records as small integer codes -> how many records each path holds; memory grows with paths, never with records.

A record is one code per column and one cell number (Horner's rule). Cells are counted in blocks: in one array of all
cells where that is small, else by sorting the cell numbers of a block and adding up equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.table_counts import BLOCK_RECORDS, CodeArray, IntArray, horner

MAX_DENSE_CELLS: Final = 1 << 23
_WORD: Final = 1 << 62


class PathCounter:
    """Counts of records by path, for codes whose ranges may still grow.

    Parameters
    ----------
    sizes : sequence of int
        Categories per column known so far (1 where nothing is known).
    weighted : bool
        Whether records come with weights.
    max_paths : int
        Distinct paths admitted.

    Examples
    --------
    >>> counter = PathCounter((1, 1))
    >>> counter.add([np.array([0, 1, 1]), np.array([0, 0, 0])], (2, 1))
    >>> counter.add([np.array([1]), np.array([4])], (2, 5))
    >>> codes, sums = counter.paths()
    >>> codes.tolist(), sums.tolist()
    ([[0, 0], [1, 0], [1, 4]], [1, 2, 1])
    """

    _keys: IntArray
    _weights: IntArray | None
    _dense: IntArray | None
    _seen: NDArray[np.bool_] | None

    def __init__(self, sizes: Sequence[int], weighted: bool = False, max_paths: int = checks.MAX_NODES) -> None:
        self._weighted = weighted
        self._max_paths = max_paths
        self._total = 0
        self._lay_out(sizes)

    def add(self, codes: Sequence[CodeArray], sizes: Sequence[int], weights: IntArray | None = None) -> None:
        """Count a batch of records: one code array per column, each below its size.

        Raises
        ------
        InputError
            ``TOTAL_TOO_LARGE`` before a total could pass 2^53 - 1; ``TOO_MANY_NODES`` when the paths alone do.
        """
        n = codes[0].size
        self._total = total_checked(self._total, n, weights)
        if any(size > capacity for size, capacity in zip(sizes, self._capacities, strict=True)):
            self._grow(sizes)
        room = self._room  # it may grow on the way
        for first in range(0, n, room):
            stretch = slice(first, min(n, first + room))
            self._append([column[stretch] for column in codes], None if weights is None else weights[stretch])

    def paths(self) -> tuple[NDArray[np.int32], IntArray]:
        """Return the distinct paths, (n_paths, n_columns) codes in ascending order, and their records, (n_paths,)."""
        self._flush()
        if self._dense is None:
            return self._decoded(self._found), self._sums
        cells = np.flatnonzero(self._dense if self._seen is None else self._seen)
        return self._decoded(cells[None, :]), self._dense[cells]

    def finish(self) -> tuple[NDArray[np.int32], IntArray]:
        """Return `paths` and give the memory of the counting back; nothing can be added afterwards."""
        self._flush()
        self._keys, self._weights = self._keys[:, :0].copy(), None
        found = self.paths()
        self._dense = self._seen = None
        return found

    def dense(self) -> IntArray | None:
        """Return the records of every cell, (product of the sizes,), where that array exists."""
        self._flush()
        return self._dense

    # ---- private

    def _lay_out(self, capacities: Sequence[int]) -> None:
        """Set up empty counts for codes below the capacities."""
        self._capacities = [max(1, int(c)) for c in capacities]
        n_cells = math.prod(self._capacities)
        is_dense = n_cells <= MAX_DENSE_CELLS
        self._words = [list(range(len(self._capacities)))] if is_dense else _words(self._capacities)
        self._dense = np.zeros(n_cells, dtype=np.int64) if is_dense else None
        self._seen = np.zeros(n_cells, dtype=np.bool_) if is_dense and self._weighted else None
        self._found: IntArray = np.empty((len(self._words), 0), dtype=np.int64)
        self._sums: IntArray = np.empty(0, dtype=np.int64)
        self._room = min(BLOCK_RECORDS, max(1 << 16, 2 * n_cells))
        self._keys = np.empty((len(self._words), self._room), dtype=np.int64)
        self._weights = np.empty(self._room, dtype=np.int64) if self._weighted else None
        self._used = 0

    def _grow(self, sizes: Sequence[int]) -> None:
        """Make room for larger codes: half as much again for the column that outgrew its room, so this stays rare."""
        codes, sums = self.paths()
        exact = [max(size, old) for size, old in zip(sizes, self._capacities, strict=True)]
        roomy = [
            size + size // 2 + 1 if size > old > 1 else max(size, old)
            for size, old in zip(sizes, self._capacities, strict=True)
        ]
        fits = math.prod(exact) <= MAX_DENSE_CELLS < math.prod(roomy)
        self._lay_out(exact if fits else roomy)
        keys = self._numbered(list(codes.T))
        if self._dense is None:
            self._found, self._sums = _collapse(keys, sums)
        else:
            self._dense[keys[0]] = sums
            if self._seen is not None:
                self._seen[keys[0]] = True

    def _append(self, codes: Sequence[CodeArray], weights: IntArray | None) -> None:
        n = codes[0].size
        if self._used + n > self._room:
            self._flush()
        block = slice(self._used, self._used + n)
        for word, columns in enumerate(self._words):
            horner([codes[j] for j in columns], [self._capacities[j] for j in columns], 0, self._keys[word, block])
        if self._weights is not None:
            self._weights[block] = 1 if weights is None else weights
        self._used += n

    def _flush(self) -> None:
        keys = self._keys[:, : self._used]
        weights = None if self._weights is None else self._weights[: self._used]
        self._used = 0
        if keys.shape[1] == 0:
            return
        if self._dense is not None:
            # float64 sums are exact here: every partial sum is a whole number below 2^53 (see total_checked)
            self._dense += np.bincount(keys[0], weights, minlength=self._dense.size).astype(np.int64, copy=False)
            if self._seen is not None:
                self._seen[keys[0]] = True
            return
        found, sums = _collapse(keys, weights)
        if self._sums.size:
            found, sums = _collapse(np.concatenate([self._found, found], axis=1), np.concatenate([self._sums, sums]))
        if sums.size > self._max_paths:
            checks.nodes(sums.size + 1, "The hierarchy of these columns")
        self._found, self._sums = found, sums
        if 2 * sums.size > self._room:  # keep merging rare compared with counting
            self._room = 2 * sums.size
            self._keys = np.empty((len(self._words), self._room), dtype=np.int64)
            self._weights = np.empty(self._room, dtype=np.int64) if self._weighted else None

    def _numbered(self, codes: Sequence[CodeArray]) -> IntArray:
        keys = np.empty((len(self._words), codes[0].size), dtype=np.int64)
        for word, columns in enumerate(self._words):
            horner([codes[j] for j in columns], [self._capacities[j] for j in columns], 0, keys[word])
        return keys

    def _decoded(self, keys: IntArray) -> NDArray[np.int32]:
        codes = np.empty((keys.shape[1], len(self._capacities)), dtype=np.int32)
        for key, columns in zip(keys, self._words, strict=True):
            rest = key
            for j in reversed(columns):
                rest, codes[:, j] = np.divmod(rest, self._capacities[j])
        return codes


def total_checked(total: int, n_records: int, weights: IntArray | None = None) -> int:
    """Return the running total with a batch added, or refuse before it could pass 2^53 - 1.

    >>> total_checked(5, 2)
    7
    """
    if weights is None:
        total += n_records
    elif weights.sum(dtype=np.float64) < 2.0 * checks.MAX_COUNT:  # then the int64 sum cannot overflow
        total += int(weights.sum())
    else:
        total = checks.MAX_COUNT + 1
    if total > checks.MAX_COUNT:
        raise InputError(
            "TOTAL_TOO_LARGE", f"The counts add up to more than {checks.MAX_COUNT:,}, the largest accepted total."
        )
    return total


def records_where(mask: NDArray[np.bool_], weights: IntArray | None) -> int:
    """Return how many records a mask selects: rows, or the sum of their weights.

    >>> records_where(np.array([True, False]), np.array([5, 7]))
    5
    """
    return int(np.count_nonzero(mask)) if weights is None else total_checked(0, 0, weights[mask])


def _words(capacities: Sequence[int]) -> list[list[int]]:
    """Group columns left to right so that the cell numbers of each group fit an int64."""
    words: list[list[int]] = [[]]
    product = 1
    for j, capacity in enumerate(capacities):
        if product * capacity > _WORD and words[-1]:
            words.append([])
            product = 1
        words[-1].append(j)
        product *= capacity
    return words


def _collapse(keys: IntArray, weights: IntArray | None) -> tuple[IntArray, IntArray]:
    """Return the distinct columns of `keys`, ascending, and their summed weights (1 each where there are none)."""
    if weights is None and keys.shape[0] == 1:
        ordered = np.sort(keys, axis=1)
    else:
        order = np.argsort(keys[0], kind="stable") if keys.shape[0] == 1 else np.lexsort(keys[::-1])
        ordered = keys[:, order]
    new = np.ones(ordered.shape[1], dtype=np.bool_)
    if new.size:
        np.any(ordered[:, 1:] != ordered[:, :-1], axis=0, out=new[1:])
    starts = np.flatnonzero(new)
    if weights is None:
        return ordered[:, starts], np.diff(starts, append=ordered.shape[1])
    sums = np.add.reduceat(weights[order], starts) if starts.size else np.empty(0, dtype=np.int64)
    return ordered[:, starts], sums
