"""Ready integer codes in memory -> counts of every node of a level-uniform tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.tree import branching_factors_checked
from treedp_core.words import whole

IntArray = NDArray[np.int64]
CodeArray = NDArray[Any]  # any integer type

CACHE_RECORDS: Final = 1 << 17
FEW_LEAVES: Final = 1 << 16, 1 << 21  # fewer fit in the cache anyway; of more, looking for the largest takes long
FEW_RECORDS: Final = 1 << 15
NARROW_RECORDS: Final = 1 << 30  # as many as 32-bit counts hold whatever the codes: half the memory to scatter into


def count_table(codes: Sequence[CodeArray], sizes: Sequence[int]) -> IntArray:
    """Return the counts of all nodes of the level-uniform tree over ready codes, (n_nodes,) in level order.

    Parameters
    ----------
    codes : sequence of (n_records,) integer arrays
        One array per column; ``codes[j]`` lies in 0 .. sizes[j] - 1. Small types (int8, int16) are fastest.
    sizes : sequence of int
        Number of categories per column, the branching factors of the tree.

    Raises
    ------
    InputError
        ``NO_LEVELS``, ``TREE_SHAPE``, ``TOO_MANY_NODES``, or ``CODE_RANGE`` when a code is no category.

    Examples
    --------
    >>> count_table([np.array([0, 1, 1]), np.array([2, 0, 0])], (2, 3)).tolist()
    [3, 1, 2, 0, 0, 1, 2, 0, 0]
    """
    sizes = branching_factors_checked(sizes)
    if not sizes or len(codes) != len(sizes):
        raise InputError("NO_LEVELS", f"Expected one code array per column, got {len(codes)} for {len(sizes)} sizes.")
    n = len(codes[0])
    arrays = [
        _checked_codes(j, np.asarray(column), size, n)
        for j, (column, size) in enumerate(zip(codes, sizes, strict=True))
    ]
    leaves = np.zeros(math.prod(sizes), dtype=np.int64)
    for start in range(0, n, NARROW_RECORDS):
        leaves += _leaves([column[start : start + NARROW_RECORDS] for column in arrays], sizes)
    return np.concatenate(level_sums(leaves, sizes))


def _leaves(codes: Sequence[CodeArray], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Count at most `NARROW_RECORDS` records by leaf, all columns of a stretch while it sits in the cache."""
    n, leaves = codes[0].size, np.zeros(math.prod(sizes), dtype=np.int32)
    keys = np.empty(min(CACHE_RECORDS, n), dtype=np.int64)
    counted = _while_few(codes, sizes, leaves) if min(FEW_LEAVES) <= leaves.size <= max(FEW_LEAVES) else 0
    for start in range(counted, n, CACHE_RECORDS):
        block = keys[: min(CACHE_RECORDS, n - start)]
        horner(codes, sizes, start, block)
        np.add.at(leaves, block, np.int32(1))
    return leaves


def _while_few(codes: Sequence[CodeArray], sizes: Sequence[int], leaves: NDArray[np.int32]) -> int:
    """Count records into `leaves` as long as 16 bits hold the largest; return how many were counted.

    Half the memory to scatter into is what counts where records are all over it.
    """
    few, most = np.zeros(leaves.size, dtype=np.uint16), np.iinfo(np.uint16).max
    keys, done, room = np.empty(FEW_RECORDS, dtype=np.int64), 0, most
    while done < codes[0].size and room >= FEW_RECORDS:
        block = keys[: codes[0].size - done]
        horner(codes, sizes, done, block)
        np.add.at(few, block, np.uint16(1))
        done, room = done + block.size, room - block.size
        if room < FEW_RECORDS:
            room = most - int(few.max())
    leaves += few
    return done


def level_sums(leaves: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Return the counts of every level of a level-uniform tree from its leaves, root first.

    >>> [level.tolist() for level in level_sums(np.array([1, 0, 2, 4]), (2, 2))]
    [[7], [1, 6], [1, 0, 2, 4]]
    """
    levels = [leaves]
    for size in reversed(sizes):
        levels.append(levels[-1].reshape(-1, size).sum(axis=1))
    return levels[::-1]


def horner(codes: Sequence[CodeArray], sizes: Sequence[int], start: int, out: IntArray) -> None:
    """Write the cell numbers of records from `start` to `out` (n,): k = (...(c_0 s_1 + c_1) s_2 + ...) + c_last.

    Each step uses the narrowest integers that hold its largest cell number, for the work is bound by memory.
    """
    stop, product = start + out.size, sizes[0]
    key: NDArray[Any] = codes[0][start:stop].astype(_narrowest(product))
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        product *= size
        key = key.astype(_narrowest(product), copy=False)
        np.multiply(key, size, out=key)
        np.add(key, column[start:stop], out=key, casting="unsafe")
    out[:] = key


def _narrowest(product: int) -> type[np.signedinteger[Any]]:
    return next(kind for bits, kind in ((15, np.int16), (31, np.int32), (63, np.int64)) if product <= 1 << bits)


def _checked_codes(j: int, column: CodeArray, size: int, n: int) -> CodeArray:
    valid = column.ndim == 1 and column.size == n and column.dtype.kind in "iu"
    if valid and n and column.dtype.kind == "i":  # as unsigned numbers, negative codes are too large as well
        column = column.view(column.dtype.str.replace("i", "u"))
    if not valid or (n and int(column.max()) >= size):
        raise InputError(
            "CODE_RANGE", f"Expected column {j + 1} to hold {whole(n)} whole numbers from 0 to {whole(size - 1)}."
        )
    return column
