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

from treedp_core.families import AnyArray


def water_filling_whole(x: AnyArray, total: AnyArray) -> AnyArray:
    """Water filling of whole numbers: smallest values give the surplus back."""
    ordered = np.sort(x, axis=-1).astype(np.int64, copy=False)
    lam = _water_level(ordered, total)
    y: AnyArray = x + lam[:, None]
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
    lam: AnyArray = np.negative(sums.max(axis=-1))
    return lam


def _smallest(x: AnyArray, ordered: AnyArray, n_lower: AnyArray, quota: AnyArray) -> AnyArray:
    """Mark in each row the `quota` smallest values after its `n_lower` smallest, equal ones from left to right."""
    last = np.minimum(n_lower + np.maximum(quota, 1), x.shape[1]) - 1
    limit = np.take_along_axis(ordered, last[:, None], axis=-1)
    floor = np.take_along_axis(ordered, np.minimum(n_lower, x.shape[1] - 1)[:, None], axis=-1)
    below = (x < limit) & (x >= floor)
    at = x == limit
    left = quota - np.count_nonzero(below, axis=-1)
    at &= np.cumsum(at, axis=-1, dtype=np.int32) <= left[:, None]
    marked: AnyArray = (below & (quota > 0)[:, None]) | at
    return marked


def water_filling_real(x: AnyArray, total: AnyArray) -> AnyArray:
    """Water filling of real numbers: those next to their lower whole number give the surplus back."""
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
    """IntOpt: its first pass, and where that does not end it, its last."""
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
    out: AnyArray = z + x
    return out


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
    out: AnyArray = z - _smallest(x, ordered, n_lower, z.sum(axis=-1) - goal)
    return out


def simplex_rows(x: AnyArray, total: AnyArray) -> AnyArray:
    """Real numbers >= 0 with the given sum, closest in squared distance."""
    descending = np.sort(x, axis=-1)[:, ::-1]
    level = (np.subtract(descending.cumsum(axis=-1), total[:, None])) / np.arange(1, x.shape[1] + 1)
    out: AnyArray = np.maximum(x - level.max(axis=-1)[:, None], 0.0)
    return out


def controlled_rounding_rows(real: AnyArray, total: AnyArray) -> AnyArray:
    """Floors and ceilings with the given sum."""
    down = np.floor(real)
    missing = (total - down.sum(axis=-1)).astype(np.int64)
    up = _chosen(np.ones(real.shape, dtype=bool), np.clip(missing, 0, real.shape[1]), down - real)
    whole = down.astype(np.int64) + up
    astray = (missing < 0) | (missing > real.shape[1])  # only where a sum was off by the rounding of floats
    if astray.any():
        whole[astray] = water_filling_real(real[astray], total[astray])
    return whole
