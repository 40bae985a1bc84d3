"""Families made whole: the closest non-negative whole numbers with a given sum, for all families of a level at once.

Every row is one family. Both integer rules are a sort and a cumulative sum of each row, in blocks that stay in the
cache; no row is visited by itself. With S_k the sum of the k largest values x of a row and c its total:

    water filling   lam = min over k of ceil((c - S_k) / k),  y = max(x + lam, 0),  less 1 where the sum is too large
    IntOpt          the printed loop's passes have a closed form: the last radius t is the largest of
                    ceil((sum x - c - s_k) / (n - k)), s_k the sum of the k smallest
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.families import AnyArray, IntArray

BLOCK_CELLS: Final = 1 << 16
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
    """Return the families of a level by size, given the number of children of each of its nodes; leaves are left out.

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
        ``TOTAL_RANGE`` for a total below 0 or a family without members.

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
    rule = _water_filling_whole if noisy.dtype.kind in "iub" else _water_filling_real
    return _by_blocks(rule, noisy, total, np.dtype(np.int64))


def int_opt(noisy: AnyArray, total: AnyArray) -> IntArray:
    """Return the whole numbers y >= 0 with the given sum that the procedure IntOpt ends with (Boninsegna, IntOpt).

    The same numbers as the printed loop, ties in the order of the indices, in O(n log n) steps: the loop itself takes
    a number of steps that grows with the values, not O(c) as printed (x = (10^5, 0, 0, 0) and c = 1 take 300,004).

    Parameters
    ----------
    noisy : (..., size)
        Whole numbers, in records; real ones are rounded first, for the rule is one of whole numbers.
    total : (...)
        Whole numbers of at least 0.

    Returns
    -------
    (..., size) int64

    Raises
    ------
    InputError
        ``TOTAL_RANGE`` for a total below 0 or a family without members.

    Notes
    -----
    The largest distance is as small as possible. The first pass takes from the smallest values all it may, which
    sets most of them to 0: sparser results than `water_filling`, at a larger squared distance.

    >>> int_opt(np.array([3, 3, 3, -5]), np.array(5)).tolist()
    [0, 1, 4, 0]
    """
    noisy = np.asarray(noisy)
    if noisy.dtype.kind not in "iub":
        noisy = np.rint(noisy).astype(np.int64)
    return _by_blocks(_int_opt, noisy, total, np.dtype(np.int64))


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
    return _by_blocks(_simplex, np.asarray(noisy, dtype=np.float64), total, np.dtype(np.float64))


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
    return _by_blocks(_controlled_rounding, np.asarray(real, dtype=np.float64), total, np.dtype(np.int64))


RULES: Final[Mapping[str, Projection]] = MappingProxyType({"intopt": int_opt, "water_filling": water_filling})
"""The integer projections by name."""


def _by_blocks(rule: Projection, noisy: AnyArray, total: AnyArray, kind: np.dtype[Any]) -> AnyArray:
    size = noisy.shape[-1] if noisy.ndim else 0
    totals = np.broadcast_to(np.asarray(total), noisy.shape[:-1]).reshape(-1)
    if size == 0 or (totals.size and not totals.min() >= 0):
        raise InputError("TOTAL_RANGE", "Expected families of at least one member, and totals of at least 0.")
    rows, out = noisy.reshape(-1, size), np.empty((totals.size, size), dtype=kind)
    step = max(1, BLOCK_CELLS // size)
    for start in range(0, totals.size, step):
        part = slice(start, start + step)
        out[part] = rule(rows[part], totals[part])
    return out.reshape(noisy.shape)


def _water_filling_whole(x: AnyArray, total: AnyArray) -> AnyArray:
    ordered = np.sort(x, axis=-1).astype(np.int64, copy=False)
    lam = _water_level(ordered, total)
    y = x + lam[:, None]
    np.maximum(y, 0, out=y)
    surplus = y.sum(axis=-1) - total
    if surplus.any():
        n_lower = np.count_nonzero(y == 0, axis=-1)
        y -= _smallest(x, ordered, n_lower, surplus)
    return y


def _water_level(ordered: AnyArray, total: AnyArray) -> AnyArray:
    """Smallest whole lam with sum max(x + lam, 0) >= total, for rows in ascending order."""
    sums = ordered[:, ::-1].cumsum(axis=-1)
    np.subtract(sums, total[:, None], out=sums)
    np.floor_divide(sums, np.arange(1, ordered.shape[1] + 1), out=sums)
    return np.negative(sums.max(axis=-1))


def _smallest(x: AnyArray, ordered: AnyArray, n_lower: AnyArray, quota: AnyArray) -> AnyArray:
    """Mark in each row the `quota` smallest values after its `n_lower` smallest, equal ones from left to right."""
    last = np.minimum(n_lower + np.maximum(quota, 1), x.shape[1]) - 1
    limit = np.take_along_axis(ordered, last[:, None], axis=-1)
    floor = np.take_along_axis(ordered, np.minimum(n_lower, x.shape[1] - 1)[:, None], axis=-1)
    below = (x < limit) & (x >= floor)
    at = x == limit
    left = quota - np.count_nonzero(below, axis=-1)
    at &= np.cumsum(at, axis=-1, dtype=np.int32) <= left[:, None]
    return (below & (quota > 0)[:, None]) | at


def _water_filling_real(x: AnyArray, total: AnyArray) -> AnyArray:
    # whole numbers n = ceil(x): a record m costs m - x = (m - n) + (n - x), so among the last ones given out those
    # with the largest n - x go back first
    above = np.ceil(x)
    whole, excess = above.astype(np.int64), above - x
    lam = _water_level(np.sort(whole, axis=-1), total)
    y = whole + lam[:, None]
    np.maximum(y, 0, out=y)
    return y - _chosen(y > 0, y.sum(axis=-1) - total, -excess, x)


def _chosen(among: NDArray[np.bool_], quota: AnyArray, *keys: AnyArray) -> NDArray[np.bool_]:
    """Mark `quota` members of each row: the smallest by the first key, ties by the next, then from left to right."""
    chosen = np.zeros_like(among)
    left = quota.astype(np.int64)
    for key in keys:
        ordered = np.sort(np.where(among, key, np.inf), axis=-1)
        limit = np.take_along_axis(ordered, np.maximum(left - 1, 0)[:, None], axis=-1)
        below = among & (key < limit) & (left > 0)[:, None]
        chosen |= below
        left = left - np.count_nonzero(below, axis=-1)
        among = among & (key == limit)
    return chosen | (among & (np.cumsum(among, axis=-1, dtype=np.int32) <= left[:, None]))


def _int_opt(x: AnyArray, total: AnyArray) -> AnyArray:
    x, n = x.astype(np.int64, copy=False), x.shape[1]
    ordered = np.sort(x, axis=-1)
    goal = total - x.sum(axis=-1)  # what all changes z = y - x add up to
    shift = -(-goal // n)
    radius = np.maximum(np.abs(shift), -ordered[:, 0])
    z = np.maximum(-x, shift[:, None])
    lowest = np.maximum(-x, -radius[:, None])
    later = lowest.sum(axis=-1) > goal  # one pass does not take enough
    z -= _first_pass(x, ordered, shift, radius, z.sum(axis=-1) - goal)
    if later.any():
        z[later] = _last_pass(x[later], ordered[later], goal[later], radius[later])
    return z + x


def _first_pass(x: AnyArray, ordered: AnyArray, shift: AnyArray, radius: AnyArray, surplus: AnyArray) -> AnyArray:
    """What the first pass takes: from the smallest x on all it may, until the surplus is gone.

    It may take max(shift, -x) - max(-x, -radius), which does not fall with x; so the value where the surplus ends is
    found in the sorted row, and only values equal to it are told apart by their place.
    """
    taken = _allowance(ordered, shift, radius)
    upto = taken.cumsum(axis=-1)
    pivot = np.minimum(np.count_nonzero(upto < surplus[:, None], axis=-1), x.shape[1] - 1)[:, None]
    limit = np.take_along_axis(ordered, pivot, axis=-1)
    first = np.count_nonzero(ordered < limit, axis=-1)[:, None]
    each = np.take_along_axis(taken, pivot, axis=-1)
    before = np.take_along_axis(upto, first, axis=-1) - each
    at = x == limit
    rank = np.cumsum(at, axis=-1) - 1
    partly = np.clip(surplus[:, None] - before - rank * each, 0, each)
    return np.where(at, partly, np.where(x < limit, _allowance(x, shift, radius), 0))


def _allowance(x: AnyArray, shift: AnyArray, radius: AnyArray) -> AnyArray:
    allowed = np.maximum(-x, shift[:, None])
    allowed -= np.maximum(-x, -radius[:, None])
    return allowed


def _last_pass(x: AnyArray, ordered: AnyArray, goal: AnyArray, radius: AnyArray) -> AnyArray:
    """Changes when the radius has grown to the smallest t with sum max(-x, -t) <= goal, pass by pass."""
    n = x.shape[1]
    sums = ordered.cumsum(axis=-1) - ordered
    t = np.maximum(radius + 1, (-((sums + goal[:, None]) // np.arange(n, 0, -1))).max(axis=-1))
    z = np.maximum(-x, 1 - t[:, None])
    n_lower = np.count_nonzero(ordered < t[:, None], axis=-1)
    return z - _smallest(x, ordered, n_lower, z.sum(axis=-1) - goal)


def _simplex(x: AnyArray, total: AnyArray) -> AnyArray:
    descending = np.sort(x, axis=-1)[:, ::-1]
    level = (np.subtract(descending.cumsum(axis=-1), total[:, None])) / np.arange(1, x.shape[1] + 1)
    return np.maximum(x - level.max(axis=-1)[:, None], 0.0)


def _controlled_rounding(real: AnyArray, total: AnyArray) -> AnyArray:
    down = np.floor(real)
    missing = (total - down.sum(axis=-1)).astype(np.int64)
    up = _chosen(np.ones(real.shape, dtype=bool), np.clip(missing, 0, real.shape[1]), down - real)
    whole = down.astype(np.int64) + up
    astray = (missing < 0) | (missing > real.shape[1])  # only where a sum was off by the rounding of floats
    if astray.any():
        whole[astray] = _water_filling_real(real[astray], total[astray])
    return whole
