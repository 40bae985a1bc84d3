"""Records as small integer codes -> how many records each path holds; memory grows with paths, never with records.

A record is one code per column and one cell number (Horner's rule). Cells are counted in one array of all cells where
that is small, else in blocks: by sorting the cell numbers of a block and adding up equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.count.table_counts import CACHE_RECORDS, CodeArray, IntArray, horner
from treedp_core.records.read import text
from treedp_core.tree import Tree
from treedp_core.words import plural, whole

# A public place for records that fit no category, so that the number of counted records is that of all records.
# Where the total is public, replacing a record by one that fits nowhere must not change it: such records are
# counted in one more leaf below the root. It is there whether or not any record needs it, so the tree says nothing
# about them.

Words = tuple[Sequence[str], ...]

OUTSIDE_RULES: Final = ("other", "refuse")


def with_other_leaf(
    tree: Tree, own: IntArray, level_codes: Sequence[IntArray], vocabularies: Words, n_records: int
) -> tuple[Tree, IntArray, tuple[IntArray, ...], Words]:
    """Return a tree with a leaf "(other)" last on level 1 that holds `n_records` more, or its own if it lists one.

    Parameters
    ----------
    own : (n_nodes,) int64
        Records on each leaf.
    level_codes, vocabularies
        The label of every node below the root, level by level.

    Examples
    --------
    >>> tree, own, codes, words = with_other_leaf(
    ...     Tree.from_branching_factors((1, 2)),
    ...     np.array([0, 0, 4, 5]),
    ...     (np.array([0]), np.array([0, 1])),
    ...     (("x",), "yz"),
    ...     7,
    ... )
    >>> tree.parent.tolist(), own.tolist(), [c.tolist() for c in codes], words[0]
    ([-1, 0, 0, 1, 1], [0, 0, 7, 4, 5], [[0, 1], [0, 1]], ('x', '(other)'))
    """
    if tree.height == 0:  # a single node takes everything
        return tree, own + n_records, tuple(level_codes), vocabularies
    first, words = tree.level(1), tuple(vocabularies[0])
    label = text.OTHER
    while label in words:
        listed = np.flatnonzero((level_codes[0] == words.index(label)) & tree.is_leaf[first])
        if listed.size:
            own = own.copy()
            own[first.start + int(listed[0])] += n_records
            return tree, own, tuple(level_codes), vocabularies
        label = f"({label})"
    children = [tree.n_children[tree.level(level)] for level in range(tree.height)]
    children[0] = children[0] + 1
    if tree.height > 1:
        children[1] = np.append(children[1], 0)
    return (
        Tree.from_child_counts(children),
        np.insert(own, first.stop, n_records),
        (np.append(level_codes[0], len(words)), *level_codes[1:]),
        ((*words, label), *vocabularies[1:]),
    )


def refuse_outside(n_records: int, tail: str = "") -> None:
    """Refuse records that fit no category where that was asked for.

    Raises
    ------
    InputError
        ``OUTSIDE_DOMAIN``.
    """
    if n_records:
        raise InputError(
            "OUTSIDE_DOMAIN",
            f"{plural(n_records, 'record fits', 'records fit')} no category{tail}; list their categories, or "
            f"count them under {text.OTHER}.",
        )


MAX_DENSE_CELLS: Final = 1 << 23
BLOCK_RECORDS: Final = 1 << 21
_WORD: Final = 1 << 62


class PathCounter:
    """Counts of records by path, for codes whose ranges may still grow.

    Parameters
    ----------
    sizes : sequence of int
        Categories per column known so far (1 where nothing is known).
    weighted : bool
        Whether records come with weights.

    Examples
    --------
    >>> counter = PathCounter((1, 1))
    >>> counter.add([np.array([0, 1, 1]), np.array([0, 0, 0])], (2, 1))
    >>> counter.add([np.array([1]), np.array([4])], (2, 5))
    >>> codes, sums = counter.paths()
    >>> codes.tolist(), sums.tolist()
    ([[0, 0], [1, 0], [1, 4]], [1, 2, 1])
    """

    def __init__(self, sizes: Sequence[int], weighted: bool = False) -> None:
        self._weighted = weighted
        self._total = 0
        self._lay_out(sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes of each column that there is room for."""
        return tuple(self._capacities)

    def add(self, codes: Sequence[CodeArray], sizes: Sequence[int], weights: IntArray | None = None) -> None:
        """Count a batch of records: for each column codes (n,) below its size; weights (n,) in records.

        Raises
        ------
        InputError
            ``TOTAL_TOO_LARGE`` before a total could pass 2^53 - 1; ``TOO_MANY_NODES`` when the paths alone do.
        """
        n = codes[0].size
        self._total = total_checked(self._total, n, weights)
        if any(size > capacity for size, capacity in zip(sizes, self._capacities, strict=True)):
            self._grow(sizes)
        for start in range(0, n, CACHE_RECORDS):
            part = slice(start, min(n, start + CACHE_RECORDS))
            self._cells.add(self._numbered(codes, part), None if weights is None else weights[part])

    def paths(self) -> tuple[NDArray[np.int32], IntArray]:
        """Return the distinct paths, (n_paths, n_columns) codes in ascending order, and their records, (n_paths,)."""
        cells, sums = self._cells.found()
        codes = np.empty((sums.size, len(self._capacities)), dtype=np.int32)
        for rest, columns in zip(cells, self._words, strict=True):
            for j in reversed(columns):
                rest, codes[:, j] = np.divmod(rest, self._capacities[j])
        return codes, sums

    def dense(self) -> IntArray | None:
        """Return the records of every cell, (n_cells,), the product of the sizes, where that array exists."""
        return self._cells.counts if isinstance(self._cells, _AllCells) else None

    def _lay_out(self, capacities: Sequence[int]) -> None:
        """Set up empty counts for codes below the capacities."""
        self._capacities = [max(1, int(capacity)) for capacity in capacities]
        n_cells = math.prod(self._capacities)
        is_small = n_cells <= MAX_DENSE_CELLS
        self._words = [list(range(len(self._capacities)))] if is_small else _words(self._capacities)
        self._cells: _AllCells | _OccupiedCells = (
            _AllCells(n_cells, self._weighted) if is_small else _OccupiedCells(len(self._words))
        )

    def _grow(self, sizes: Sequence[int]) -> None:
        """Make room for larger codes: half as much again for the column that outgrew its room, so this stays rare."""
        codes, sums = self.paths()
        pairs = list(zip(sizes, self._capacities, strict=True))
        exact = [max(size, old) for size, old in pairs]
        roomy = [size + size // 2 + 1 if size > old > 1 else max(size, old) for size, old in pairs]
        self._lay_out(exact if math.prod(exact) <= MAX_DENSE_CELLS < math.prod(roomy) else roomy)
        for start in range(0, sums.size, CACHE_RECORDS):
            part = slice(start, min(sums.size, start + CACHE_RECORDS))
            self._cells.add(self._numbered(list(codes.T), part), sums[part])

    def _numbered(self, codes: Sequence[CodeArray], part: slice) -> IntArray:
        cells = np.empty((len(self._words), part.stop - part.start), dtype=np.int64)
        for word, columns in enumerate(self._words):
            horner([codes[j] for j in columns], [self._capacities[j] for j in columns], part.start, cells[word])
        return cells


class _AllCells:
    """Counts of every cell there could be, in one array."""

    def __init__(self, n_cells: int, weighted: bool) -> None:
        self.counts = np.zeros(n_cells, dtype=np.int64)
        self._seen = np.zeros(n_cells, dtype=np.bool_) if weighted else None  # a weight may be zero

    def add(self, cells: IntArray, weights: IntArray | None) -> None:
        """Count cell numbers, (1, n)."""
        np.add.at(self.counts, cells[0], 1 if weights is None else weights)
        if self._seen is not None:
            self._seen[cells[0]] = True

    def found(self) -> tuple[IntArray, IntArray]:
        """Return the occupied cells, (1, n_cells), and their counts."""
        cells = np.flatnonzero(self.counts if self._seen is None else self._seen)
        return cells[None, :], self.counts[cells]


class _OccupiedCells:
    """Counts of the cells that occur, merged with a block of pending ones by sorting."""

    def __init__(self, n_words: int) -> None:
        self._cells = np.empty((n_words, 0), dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)
        self._pending: list[tuple[IntArray, IntArray | None]] = []
        self._n_pending = 0

    def add(self, cells: IntArray, weights: IntArray | None) -> None:
        """Keep cell numbers, (n_words, n), for the next merging, which is rare compared with counting."""
        self._pending.append((cells, weights))
        self._n_pending += cells.shape[1]
        if self._n_pending >= max(BLOCK_RECORDS, 2 * self._counts.size):
            self._merge()

    def found(self) -> tuple[IntArray, IntArray]:
        """Return the occupied cells, (n_words, n_cells), ascending, and their counts."""
        self._merge()
        return self._cells, self._counts

    def _merge(self) -> None:
        if not self._pending:
            return
        cells = np.concatenate([cells for cells, _ in self._pending], axis=1)
        plain = all(weights is None for _, weights in self._pending)
        weights = None if plain else np.concatenate([_ones(c) if w is None else w for c, w in self._pending])
        self._pending, self._n_pending = [], 0
        new, counts = _collapse(cells, weights)
        if self._counts.size:
            both = np.concatenate([self._cells, new], axis=1)
            new, counts = _collapse(both, np.concatenate([self._counts, counts]))
        checks.nodes(counts.size, "The hierarchy of these columns")
        self._cells, self._counts = new, counts


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
            "TOTAL_TOO_LARGE", f"The counts add up to more than {whole(checks.MAX_COUNT)}, the largest accepted total."
        )
    return total


def records_where(mask: NDArray[np.bool_], weights: IntArray | None) -> int:
    """Return how many records a mask (n,) selects: rows, or the sum of their weights (n,).

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


def _ones(cells: IntArray) -> IntArray:
    return np.ones(cells.shape[1], dtype=np.int64)


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
