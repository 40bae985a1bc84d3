"""The rules that make rows whole, on blocks (rows, size) and totals (rows,).

Every row is one family. Both integer rules are a sort and a cumulative sum of each row, in blocks that stay in the
cache; no row is visited by itself. With S_k the sum of the k largest values x of a row and c its total:

    water filling   lam = min over k of ceil((c - S_k) / k),  y = max(x + lam, 0),  less 1 where the sum is too large
    IntOpt          the printed loop's passes have a closed form: the last radius t is the largest of
                    ceil((sum x - c - s_k) / (n - k)), s_k the sum of the k smallest
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treedp_core.tree.families import AnyArray


def water_filling_whole(x: AnyArray, total: AnyArray) -> AnyArray:
    """Water filling of whole numbers, rows (n_rows, k) to totals (n_rows,): smallest values give the surplus back."""
    ordered = np.sort(x, axis=-1)
    lam = _water_level(ordered, total)
    y: AnyArray = x + lam[:, None]
    np.maximum(y, 0, out=y)
    _take_one(y, x, ordered, 1 - lam, _sums(y) - total)
    return y


def _water_level(ordered: AnyArray, total: AnyArray) -> AnyArray:
    """Smallest whole lam with sum max(x + lam, 0) >= total, for rows in ascending order.

    As real numbers, (c - S_k) / k is smallest at the last k whose x_k k > S_k - c. Where the products fit into 32 bits
    that spares a division of every cell.
    """
    descending, k = ordered[:, ::-1], np.arange(1, ordered.shape[1] + 1, dtype=ordered.dtype)
    above = descending.cumsum(axis=-1, dtype=ordered.dtype)
    above -= total[:, None]
    if ordered.dtype != np.int32:
        lam: AnyArray = -(above // k).max(axis=-1)
        return lam
    last = np.maximum(_count(descending * k > above), 1)
    lam = -(np.take_along_axis(above, last[:, None] - 1, axis=-1)[:, 0] // last)
    return lam.astype(ordered.dtype)


def _sums(rows: AnyArray) -> AnyArray:
    """Sum of each row, in the type of its cells (einsum is several times faster than sum on short rows)."""
    return np.asarray(np.einsum("ij->i", rows))


def _count(marked: NDArray[np.bool_]) -> AnyArray:
    """Marked cells of each row."""
    return _sums(marked.astype(np.int32))


def _take_one(y: AnyArray, x: AnyArray, ordered: AnyArray, low: AnyArray, quota: AnyArray) -> None:
    """Take 1 from y at the `quota` smallest values of each row that are at least `low`, equal ones from the left."""
    low = low[:, None]
    last = _count(ordered < low) + np.maximum(quota, 1) - 1
    limit = np.take_along_axis(ordered, np.minimum(last, x.shape[1] - 1)[:, None], axis=-1)
    limit[quota == 0] = low[quota == 0]  # nothing lies between
    below = (x >= low) & (x < limit)
    y -= below
    at, row, rank = _members(x == limit)
    y.reshape(-1)[at[rank < (quota - _count(below))[row]]] -= 1


def _members(marked: NDArray[np.bool_]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the marked cells by flat position, with their rows, and their ranks from the left in the row."""
    at = np.flatnonzero(marked)
    row = at // marked.shape[1]
    n = np.bincount(row, minlength=marked.shape[0])
    return at, row, np.arange(at.size) - (np.cumsum(n) - n)[row]


def water_filling_real(x: AnyArray, total: AnyArray) -> AnyArray:
    """Water filling of real rows (n_rows, k) to totals (n_rows,): those next to their floor give the surplus back."""
    # whole numbers n = ceil(x): a record m costs m - x = (m - n) + (n - x), so among the last ones given out those
    # with the largest n - x go back first
    above = np.ceil(x)
    whole, excess = above.astype(np.int64), above - x
    lam = _water_level(np.sort(whole, axis=-1), total)
    y: AnyArray = whole + lam[:, None]
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


def int_opt_rows(x: AnyArray, total: AnyArray) -> AnyArray:
    """IntOpt of rows (n_rows, k) to totals (n_rows,): its first pass, else its last; of y = x + z, not of z."""
    ordered = np.sort(x, axis=-1)
    shift = -((_sums(x) - total) // x.shape[1])
    radius = np.maximum(np.abs(shift), -ordered[:, 0])
    lowest = np.maximum(x - radius[:, None], 0)
    y = _first_pass(x, ordered, shift, radius, lowest, total)
    later = _sums(lowest) > total  # one pass does not take enough
    if later.any():
        y[later] = _last_pass(x[later], ordered[later], total[later], radius[later])
    return y


def _first_pass(
    x: AnyArray, ordered: AnyArray, shift: AnyArray, radius: AnyArray, lowest: AnyArray, total: AnyArray
) -> AnyArray:
    """Where the first pass ends: from the smallest x on all is taken that may be, until the surplus is gone.

    What may be taken, max(x + shift, 0) - max(x - radius, 0), does not fall with x; so the value where the surplus
    ends is found in the sorted row, and only values equal to it are told apart by their place.
    """
    upto = np.maximum(ordered + shift[:, None], 0)
    surplus = _sums(upto) - total
    upto -= np.maximum(ordered - radius[:, None], 0)
    np.cumsum(upto, axis=-1, out=upto)
    pivot = np.minimum(_count(upto < surplus[:, None]), x.shape[1] - 1)[:, None]
    limit = np.take_along_axis(ordered, pivot, axis=-1)
    each = np.maximum(limit + shift[:, None], 0) - np.maximum(limit - radius[:, None], 0)
    first = _count(ordered < limit)[:, None]
    before = np.take_along_axis(upto, first, axis=-1) - each
    y = x + shift[:, None]
    np.maximum(y, 0, out=y)
    y -= (y - lowest) * (x < limit)  # several times faster than a choice by mask
    at, row, rank = _members(x == limit)
    left, most = (surplus[:, None] - before)[row, 0], each[row, 0]
    y.reshape(-1)[at] -= np.clip(left - rank * most, 0, most).astype(y.dtype)
    return y


def _last_pass(x: AnyArray, ordered: AnyArray, total: AnyArray, radius: AnyArray) -> AnyArray:
    """Result when the radius has grown to the smallest t with sum max(x - t, 0) <= total, pass by pass."""
    sums = ordered.cumsum(axis=-1, dtype=ordered.dtype)
    goal = total - sums[:, -1]
    sums -= ordered
    sums += goal[:, None]
    sums //= np.arange(x.shape[1], 0, -1, dtype=x.dtype)
    t = np.maximum(radius + 1, -sums.min(axis=-1))
    y = np.maximum(x - (t - 1)[:, None], 0)
    _take_one(y, x, ordered, t, _sums(y) - total)
    out: AnyArray = y
    return out


def simplex_rows(x: AnyArray, total: AnyArray) -> AnyArray:
    """Real numbers >= 0, (n_rows, k), with the given sums (n_rows,), closest in squared distance."""
    descending = np.sort(x, axis=-1)[:, ::-1]
    level = (np.subtract(descending.cumsum(axis=-1), total[:, None])) / np.arange(1, x.shape[1] + 1)
    out: AnyArray = np.maximum(x - level.max(axis=-1)[:, None], 0.0)
    return out


def controlled_rounding_rows(real: AnyArray, total: AnyArray) -> AnyArray:
    """Floors and ceilings, (n_rows, k), with the given sums (n_rows,)."""
    down = np.floor(real)
    missing = (total - down.sum(axis=-1)).astype(np.int64)
    up = _chosen(np.ones(real.shape, dtype=bool), np.clip(missing, 0, real.shape[1]), down - real)
    whole = down.astype(np.int64) + up
    astray = (missing < 0) | (missing > real.shape[1])  # only where a sum was off by the rounding of floats
    if astray.any():
        whole[astray] = water_filling_real(real[astray], total[astray])
    return whole
