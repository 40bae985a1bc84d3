"""Families made whole: the closest non-negative whole numbers with a given sum, for all families of a level at once.

The rules of one row are in `rows`; here they are applied to all families of a level, a block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.postprocess.rows import (
    controlled_rounding_rows,
    int_opt_rows,
    simplex_rows,
    water_filling_real,
    water_filling_whole,
)
from treedp_core.tree.families import AnyArray, IntArray

BLOCK_CELLS: Final = 1 << 16
LARGEST: Final = 1e18  # of a real value: its whole part fits into 64 bits, with room to be shifted
LARGEST_SUM: Final = 1 << 62  # of a row's absolute values and its total: every sum inside the rules fits into 64 bits
Projection = Callable[[AnyArray, AnyArray], AnyArray]
"""(..., size) noisy values, (...) totals -> (..., size)."""


@dataclass(frozen=True, eq=False)
class Group:
    """The families of one size among those of a level.

    Parameters
    ----------
    size : int
        Children of each of them.
    parents, children : (n,), (n, size) int64, or None
        Where they stand in the level and in the next one; None when the group is the whole level, side by side.
    """

    size: int
    parents: IntArray | None = None
    children: IntArray | None = None


def groups(n_children: IntArray) -> tuple[Group, ...]:
    """Return the families of a level by size, given the numbers of its nodes' children (n_nodes,); leaves are left out.

    >>> [(group.size, group.children.tolist()) for group in groups(np.array([2, 0, 1, 2]))]
    [(1, [[2]]), (2, [[0, 1], [3, 4]])]
    """
    n_children = np.asarray(n_children)
    sizes = np.unique(n_children[n_children > 0])
    if sizes.size == 1 and n_children.all():
        return (Group(int(sizes[0])),)
    begin = np.cumsum(n_children) - n_children
    found = []
    for size in sizes.tolist():
        parents = np.flatnonzero(n_children == size)
        found.append(Group(size, parents, begin[parents, None] + np.arange(size)))
    return tuple(found)


def project_families(project: Projection, noisy: AnyArray, total: AnyArray, level: Sequence[Group]) -> AnyArray:
    """Return values of all children of a level (..., children) that add up to their parents' totals (..., nodes).

    Parameters
    ----------
    project : callable
        One of the rules below: rows and totals to rows.
    noisy : (..., children)
    total : (..., nodes)
        Of the parents, at least 0.
    level : sequence of Group
        From `groups`.

    >>> noisy, total = np.array([5, 1, 4, 2, -3]), np.array([4, 9, 3, 1])
    >>> project_families(water_filling, noisy, total, groups(np.array([2, 0, 1, 2]))).tolist()
    [4, 0, 3, 1, 0]
    """
    if len(level) == 1 and level[0].children is None:
        rows = noisy.reshape(*noisy.shape[:-1], -1, level[0].size)
        return project(rows, total).reshape(noisy.shape)
    out: AnyArray | None = None
    for group in level:
        assert group.parents is not None and group.children is not None
        rows = project(noisy[..., group.children], total[..., group.parents])
        if out is None:
            out = np.zeros(noisy.shape, dtype=rows.dtype)
        out[..., group.children] = rows
    return np.zeros(noisy.shape, dtype=np.int64) if out is None else out


def water_filling(noisy: AnyArray, total: AnyArray) -> IntArray:
    """Return the whole numbers y >= 0 with the given sum that are closest to `noisy` in every convex sense at once.

    Parameters
    ----------
    noisy : (..., size)
        Whole or real numbers, in records.
    total : (...)
        Whole numbers of at least 0.

    Returns
    -------
    (..., size) int64

    Raises
    ------
    InputError
        ``TOTAL_RANGE`` for a total below 0 or a family without members, ``VALUE_RANGE`` for real values beyond 10^18
        or a family whose absolute values and total add up to more than 2^62.

    Notes
    -----
    For every convex phi, sum phi(y - x) is smallest; in particular absolute, squared and largest distance. The m-th
    record given to x costs phi(m - x) - phi(m - 1 - x), which does not fall with m - x; so the c records with the
    smallest m - x are best for every phi, and y holds exactly those. Whatever phi, only records with equal m - x can
    be exchanged: those are given to the larger x first, and among equals to the right. Where the paper's rule
    treats equal values unequally by whole passes, this one differs by at most one record between equals.

    >>> water_filling(np.array([3, 3, 3, -5]), np.array(5)).tolist()
    [1, 2, 2, 0]
    >>> water_filling(np.array([0.4, 2.3, 0.4]), np.array(3)).tolist()
    [0, 2, 1]
    """
    noisy = np.asarray(noisy)
    rule = water_filling_whole if noisy.dtype.kind in "iub" else water_filling_real
    return _by_blocks(rule, noisy, total, np.dtype(np.int64))


def int_opt(noisy: AnyArray, total: AnyArray) -> IntArray:
    """Return the whole numbers y >= 0 with the given sum that the procedure IntOpt ends with (Boninsegna, IntOpt).

    The same numbers as the printed loop, ties in the order of the indices, in O(n log n) steps: the loop itself takes
    a number of steps that grows with the values, not O(c) as printed (x = (10^5, 0, 0, 0) and c = 1 take 300,004).

    Arguments (..., size) and (...), result (..., size) and refusals are those of `water_filling`; real numbers are
    rounded first, for the rule is one of whole numbers.

    The largest distance is as small as possible. The first pass takes from the smallest values all it may, which
    sets most of them to 0: sparser results than `water_filling`, at a larger squared distance.

    >>> int_opt(np.array([3, 3, 3, -5]), np.array(5)).tolist()
    [0, 1, 4, 0]
    """
    noisy = np.asarray(noisy)
    if noisy.dtype.kind not in "iub":
        _refuse_no_counts(noisy)
        noisy = np.rint(noisy).astype(np.int64)
    return _by_blocks(int_opt_rows, noisy, total, np.dtype(np.int64))


def simplex(noisy: AnyArray, total: AnyArray) -> NDArray[np.float64]:
    """Return the real numbers y >= 0 with the given sum that are closest to `noisy` in squared distance.

    Parameters
    ----------
    noisy : (..., size)
    total : (...)
        Real numbers of at least 0.

    >>> simplex(np.array([3.0, 1.0, -2.0]), np.array(3.0)).tolist()
    [2.5, 0.5, 0.0]
    """
    return _by_blocks(simplex_rows, np.asarray(noisy, dtype=np.float64), total, np.dtype(np.float64))


def controlled_rounding(real: AnyArray, total: AnyArray) -> IntArray:
    """Return whole numbers with the given sum, each the floor or the ceiling of its real number.

    Parameters
    ----------
    real : (..., size)
        Of at least 0; their sum lies within 1 of the total.
    total : (...)
        Whole numbers.

    Notes
    -----
    The largest fractions are rounded up, ties from left to right; no other choice has a smaller squared distance.

    >>> controlled_rounding(np.array([0.5, 1.2, 0.6]), np.array(2)).tolist()
    [0, 1, 1]
    """
    return _by_blocks(controlled_rounding_rows, np.asarray(real, dtype=np.float64), total, np.dtype(np.int64))


RULES: Final[Mapping[str, Projection]] = MappingProxyType({"intopt": int_opt, "water_filling": water_filling})
"""The integer projections by name."""


def _by_blocks(rule: Projection, noisy: AnyArray, total: AnyArray, kind: np.dtype[Any]) -> AnyArray:
    size = noisy.shape[-1] if noisy.ndim else 0
    totals = np.broadcast_to(np.asarray(total), noisy.shape[:-1]).reshape(-1)
    if size == 0 or (totals.size and not totals.min() >= 0):
        raise InputError("TOTAL_RANGE", "Expected families of at least one member, and totals of at least 0.")
    _refuse_no_counts(noisy)
    rows, out = noisy.reshape(-1, size), np.empty((totals.size, size), dtype=kind)
    step = max(1, BLOCK_CELLS // size)
    for start in range(0, totals.size, step):
        part = slice(start, start + step)
        if kind == np.int64:
            _refuse_overflow(rows[part], totals[part])
        out[part] = rule(*_narrow(rows[part], totals[part]))
    return out.reshape(noisy.shape)


def _refuse_no_counts(noisy: AnyArray) -> None:
    if noisy.dtype.kind == "f" and noisy.size and not max(-noisy.min(), noisy.max()) <= LARGEST:
        raise InputError(
            "VALUE_RANGE", "Expected finite values up to 10^18 to project; measure every node, or less noise."
        )


def _refuse_overflow(rows: AnyArray, totals: AnyArray) -> None:
    """Refuse rows whose sums may not fit into 64 bits; the largest value alone admits nearly every block."""
    if not rows.size:
        return
    largest = max(-int(rows.min()), int(rows.max()))
    if largest * rows.shape[1] + int(totals.max()) <= LARGEST_SUM:
        return
    if (np.abs(rows.astype(np.float64)).sum(axis=-1) + totals > LARGEST_SUM).any():
        raise InputError(
            "VALUE_RANGE", "Expected families whose values add up to at most 2^62 to project; use less noise."
        )


def _narrow(x: AnyArray, total: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return whole numbers as 32-bit ones where every sum of a row fits, which is faster, else as 64-bit ones."""
    if x.dtype.kind == "f" or not x.size:
        return x, total
    largest = max(-int(x.min()), int(x.max()), int(total.max()))
    # in a family of one, x less the radius |total - x| is as far as 3 times the largest: so count two at least
    kind = np.int32 if 2 * largest * max(2, x.shape[1]) < 2**31 else np.int64
    return x.astype(kind, order="C"), total.astype(kind)  # the rules write into flat views of their rows
