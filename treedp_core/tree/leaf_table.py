"""A contingency table without its zeros: which leaves have records, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.tree.families import AnyArray, IntArray
from treedp_core.tree.tree import Tree
from treedp_core.words import whole

CodeArray = NDArray[np.int32]

ROWS_AT_A_TIME: Final = 1 << 18


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Leaves with at least one record, in lexicographic order of their codes, so that the order says nothing.

    Parameters
    ----------
    codes : (n_leaves, n_columns) int32
        Category of each column; -1 below a leaf that ends higher up in a ragged tree.
    counts : (n_leaves,) int64
        Records, above 0.
    sizes : tuple of int
        Categories of each column.
    """

    codes: CodeArray
    counts: IntArray
    sizes: tuple[int, ...]

    @property
    def n_leaves(self) -> int:
        """Leaves with at least one record."""
        return self.counts.size

    @property
    def total(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def rows(self, at_a_time: int = ROWS_AT_A_TIME) -> Iterator[CodeArray]:
        """Yield the records one by one as codes, in blocks (n, n_columns); equal records stand together.

        >>> table = count_leaves([np.array([1, 0, 1])], (2,))
        >>> [block.ravel().tolist() for block in table.rows()]
        [[0, 1, 1]]
        """
        end = np.cumsum(self.counts)
        for start in range(0, self.total, at_a_time):
            record = np.arange(start, min(start + at_a_time, self.total))
            yield self.codes[np.searchsorted(end, record, side="right")]


def sizes_checked(sizes: Sequence[int], names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Return the numbers of categories of columns if a release can be made of them.

    Raises
    ------
    InputError
        ``NO_LEVELS``, ``TOO_MANY_LEVELS``, ``TREE_SHAPE``, or ``ONE_CATEGORY`` for a column that tells nothing apart.

    >>> sizes_checked([2, 1], ["sex", "country"])
    Traceback (most recent call last):
    treedp_core.checks.InputError: Column 'country' has one category: it tells no records apart, so leave it out.
    """
    if not 1 <= len(sizes) <= checks.MAX_LEVEL_COLUMNS:
        code = "TOO_MANY_LEVELS" if len(sizes) else "NO_LEVELS"
        raise InputError(code, f"Expected 1 to {checks.MAX_LEVEL_COLUMNS} columns, got {len(sizes)}.")
    for column, size in enumerate(sizes):
        checks.integer(f"the categories of {_named(column, names)}", size, low=1, high=2**31 - 1, code="TREE_SHAPE")
        if size == 1:
            about = _named(column, names).removeprefix("column ")
            raise InputError(
                "ONE_CATEGORY", f"Column {about} has one category: it tells no records apart, so leave it out."
            )
    return tuple(int(size) for size in sizes)


def count_leaves(codes: Sequence[NDArray[Any]], sizes: Sequence[int], names: Sequence[str] | None = None) -> LeafTable:
    """Return the table of records given as one code array per column; only cells with records take memory.

    Parameters
    ----------
    codes : sequence of (n_records,) integer arrays
        ``codes[j]`` lies in 0 .. sizes[j] - 1.
    sizes : sequence of int
        Categories per column: the public domain.
    names : sequence of str, optional
        Of the columns, for messages.

    Raises
    ------
    InputError
        As `sizes_checked`; ``CODE_RANGE`` when the arrays are no codes of equal length, ``UNSEEN_CATEGORY`` when a
        record has a category that the public domain does not list.

    Examples
    --------
    >>> table = count_leaves([np.array([1, 0, 1]), np.array([2, 0, 2])], (2, 3))
    >>> table.codes.tolist(), table.counts.tolist()
    ([[0, 0], [1, 2]], [1, 2])
    """
    checked = sizes_checked(sizes, names)
    arrays = [np.asarray(column) for column in codes]
    if len(arrays) != len(checked) or any(
        a.ndim != 1 or a.size != arrays[0].size or a.dtype.kind not in "iu" for a in arrays
    ):
        raise InputError("CODE_RANGE", f"Expected {len(checked)} columns of whole-number codes of one length.")
    for column, (array, size) in enumerate(zip(arrays, checked, strict=True)):
        outside = (array < 0) | (array >= size)
        if outside.any():
            row = int(np.argmax(outside)) + 1
            raise InputError(
                "UNSEEN_CATEGORY",
                f"Record {whole(row)} has a category of {_named(column, names)} that the public domain does not list; "
                'list it, or give the domain a category "(other)".',
            )
    return _aggregated(np.stack([a.astype(np.int32) for a in arrays], axis=1), checked)


def reordered(table: LeafTable, order: Sequence[int]) -> LeafTable:
    """Return the same records with their columns in another order.

    >>> table = count_leaves([np.array([0, 1]), np.array([2, 0])], (2, 3))
    >>> reordered(table, (1, 0)).codes.tolist()
    [[0, 1], [2, 0]]
    """
    codes = table.codes[:, list(order)]
    at = _lexicographic(codes)
    return LeafTable(codes[at], table.counts[at], tuple(table.sizes[column] for column in order))


def table_of_tree(tree: Tree, counts: AnyArray, codes: NDArray[Any], sizes: Sequence[int]) -> LeafTable:
    """Return the table of the leaves of a tree, from whole counts of its nodes.

    Parameters
    ----------
    tree : Tree
    counts : (n_nodes,)
        Whole numbers of at least 0; only the leaves are read.
    codes : (n_nodes,) int
        Category of each node among those of its level (the root's is not read), as in ``Labels.codes``.
    sizes : sequence of int
        Categories of each level below the root.

    >>> tree = Tree.from_branching_factors((2, 2))
    >>> table = table_of_tree(tree, np.array([5, 2, 3, 0, 2, 3, 0]), np.array([0, 0, 1, 0, 1, 0, 1]), (2, 2))
    >>> table.codes.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0]], [2, 3])
    """
    nodes = np.flatnonzero(tree.is_leaf & (np.asarray(counts) > 0))
    values = np.asarray(counts)[nodes].astype(np.int64)
    path = np.full((nodes.size, tree.height), -1, dtype=np.int32)
    at = nodes.copy()
    for level in reversed(range(1, tree.n_levels)):
        here = tree.level_of[at] == level
        path[here, level - 1] = codes[at[here]]
        at[here] = tree.parent[at[here]]
    order = _lexicographic(path)
    return LeafTable(path[order], values[order], tuple(int(size) for size in sizes))


def _aggregated(codes: CodeArray, sizes: tuple[int, ...]) -> LeafTable:
    if codes.shape[0] == 0:
        return LeafTable(codes, np.zeros(0, dtype=np.int64), sizes)
    ordered = codes[_lexicographic(codes, sizes)]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    start = np.flatnonzero(new)
    return LeafTable(ordered[start], np.diff(np.append(start, codes.shape[0])), sizes)


def _lexicographic(codes: CodeArray, sizes: tuple[int, ...] | None = None) -> IntArray:
    """Order of the rows; by one number a row where all cells can be numbered."""
    if sizes is not None and np.prod([float(size) for size in sizes]) < 2.0**62:
        key = np.zeros(codes.shape[0], dtype=np.int64)
        for column, size in enumerate(sizes):
            key = key * size + codes[:, column]
        return np.argsort(key, kind="stable")
    return np.lexsort(codes.T[::-1])


def _named(column: int, names: Sequence[str] | None) -> str:
    return f"column {checks.echo(names[column])}" if names else f"column {column + 1}"
