"""Consistent CDFs: the closest whole, non-decreasing cumulative counts from 0 to N whose last is N.

The problem (O^c) of Rameshwar et al., Sec. VI, for any error that adds up over the bins. Their trellis takes O(K N)
time; squared, absolute and Hamming error need neither N nor a trellis:

* squared: the level sets {h >= c} solve the real problem with threshold c - 1/2, so rounding the clipped real solution
  (pool adjacent violators) is optimal, a half either way;
* absolute: between whole numbers |v - y| is (1 - f) |v - floor y| + f |v - floor y - 1| with f = y - floor y, so
  weighted medians are optimal; rounding the real solution is not: 0.9, 0.4, 0.4 gives 0, 0, 0 instead of 1, 1, 1;
* Hamming: keep the longest non-decreasing subsequence of entries that are whole and in range.

Bounds: clipping the unbounded solution to [0, N] is optimal; the last entry is N whatever the rest is.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
ErrorOf = Callable[[FloatArray, float], FloatArray]
"""Error (n,) of whole values (n,) given in place of one estimate."""

MAX_TRELLIS: Final = 50_000_000
_FRACTION_BITS: Final = 52
_PIECE: Final = 1 << 15


def consistent_cdf(cumulative: FloatArray, n_records: int, error: str | ErrorOf = "squared") -> IntArray:
    """Return the closest consistent cumulative counts, (K,).

    Parameters
    ----------
    cumulative : (K,)
        Noisy cumulative counts in records; the last is not looked at.
    n_records : int
        N, public, at least 0.
    error : {"squared", "absolute", "hamming"} or function
        What is minimised, summed over the bins. A function of whole values (n,) and one estimate returns errors (n,);
        it takes a trellis of K (N + 1) steps.

    Returns
    -------
    (K,) int64
        Non-decreasing, from 0 to N, the last N. A minimum; where several are, one of them.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` when the estimates are no finite vector, ``RECORDS_RANGE`` for N, ``TRELLIS_SIZE`` when the
        trellis is too large.

    Examples
    --------
    >>> consistent_cdf(np.array([0.9, 0.4, 0.4, 3.0]), 3, "absolute").tolist()
    [1, 1, 1, 3]
    """
    records = checks.integer("n_records", n_records, low=0, high=checks.MAX_COUNT, code="RECORDS_RANGE")
    estimates = np.asarray(cumulative, dtype=np.float64)
    if estimates.ndim != 1 or estimates.size < 1 or not np.isfinite(estimates).all():
        raise InputError("CDF_SHAPE", "Expected a vector of finite cumulative counts, one for each bin.")
    if callable(error):
        free = _trellis(estimates[:-1], records, error)
    else:
        free = _SOLVERS[checks.one_of("error", error, _SOLVERS)](estimates[:-1], records)
    result = np.empty(estimates.size, dtype=np.int64)
    result[:-1] = free
    result[-1] = records
    return result


def _squared(y: FloatArray, n_records: int) -> IntArray:
    """Pool adjacent violators, clip, round halves down; the last two in pieces that stay in the cache."""
    from scipy.optimize import isotonic_regression

    whole = np.empty(y.size, dtype=np.int64)
    fit = isotonic_regression(y).x if y.size else y
    for start in range(0, y.size, _PIECE):
        part = fit[start : start + _PIECE]
        np.clip(part, 0.0, n_records, out=part)
        part -= 0.5
        np.ceil(part, out=whole[start : start + _PIECE], casting="unsafe")
    return whole


def _absolute(y: FloatArray, n_records: int) -> IntArray:
    """Slope trick: a heap holds the points where the cost so far, as a function of the last value, bends.

    The cost of ending at v or below has slope 0 right of the largest point; adding a bin raises that slope by its
    weight (1 = 2^52 units, so all sums are exact), which is taken off the largest points again. The largest point then
    is the best last value; from the back, values are capped by their successors.
    """
    whole = np.floor(y)
    if (whole == y).all():
        return _capped(_last_of_whole(np.clip(whole, 0, n_records).astype(np.int64).tolist()), n_records)
    fraction = np.rint((y - whole) * 2.0**_FRACTION_BITS).astype(np.int64)
    low = np.clip(whole, -1, n_records).astype(np.int64)
    unit = 1 << _FRACTION_BITS
    heap: list[tuple[int, int]] = []
    last = []
    for floor, part in zip(low.tolist(), fraction.tolist(), strict=True):
        if part < unit:
            heapq.heappush(heap, (-floor, 2 * (unit - part)))
        if part:
            heapq.heappush(heap, (-floor - 1, 2 * part))
        excess = unit
        while excess:
            point, weight = heap[0]
            if weight > excess:
                heapq.heapreplace(heap, (point, weight - excess))
                break
            heapq.heappop(heap)
            excess -= weight
        last.append(-heap[0][0])
    return _capped(last, n_records)


def _last_of_whole(y: list[int]) -> list[int]:
    """The same for whole estimates, where every weight is 1: two copies in, the largest out."""
    heap: list[int] = []
    last = []
    for v in y:
        heapq.heappush(heap, -v)
        if -heap[0] > v:
            heapq.heapreplace(heap, -v)
        last.append(-heap[0])
    return last


def _capped(last: list[int], n_records: int) -> IntArray:
    capped = np.minimum.accumulate(np.array(last, dtype=np.int64)[::-1])[::-1]
    return np.asarray(np.clip(capped, 0, n_records))


def _hamming(y: FloatArray, n_records: int) -> IntArray:
    """Longest non-decreasing subsequence of the usable entries; the others repeat the entry kept before them."""
    usable = np.flatnonzero((y == np.floor(y)) & (y >= 0) & (y <= n_records))
    ends: list[float] = []
    at_end: list[int] = []
    before = np.full(y.size, -1, dtype=np.int64)
    for i in usable.tolist():
        length = bisect_right(ends, y[i])
        before[i] = at_end[length - 1] if length else -1
        ends[length : length + 1] = [float(y[i])]
        at_end[length : length + 1] = [i]
    kept = np.full(y.size, -1, dtype=np.int64)
    i = at_end[-1] if at_end else -1
    while i >= 0:
        kept[i] = int(y[i])
        i = int(before[i])
    return np.maximum(np.maximum.accumulate(kept), 0) if y.size else kept


def _trellis(y: FloatArray, n_records: int, error: ErrorOf) -> IntArray:
    """Shortest path from the last free bin to the first: cost of v = error of v + least later cost from v on."""
    if y.size * (n_records + 1) > MAX_TRELLIS:
        raise InputError(
            "TRELLIS_SIZE",
            f"An error of your own takes {y.size * (n_records + 1):,} steps (bins × records); "
            f"at most {MAX_TRELLIS:,} are allowed: use the squared or absolute error.",
        )
    values = np.arange(n_records + 1, dtype=np.float64)
    later = np.zeros(values.size)
    best = np.empty((y.size, values.size), dtype=bool)  # where the least cost from v on is reached at v itself
    for i in reversed(range(y.size)):
        cost = np.asarray(error(values, float(y[i])), dtype=np.float64) + later
        if cost.shape != values.shape or np.isnan(cost).any():
            raise InputError("ERROR_FUNCTION", "Expected an error function that returns a number for every value.")
        later = np.minimum.accumulate(cost[::-1])[::-1]
        best[i] = cost == later
    path = np.empty(y.size, dtype=np.int64)
    v = 0
    for i in range(y.size):
        v += int(np.argmax(best[i, v:]))
        path[i] = v
    return path


_SOLVERS: Final[dict[str, Callable[[FloatArray, int], IntArray]]] = {
    "squared": _squared,
    "absolute": _absolute,
    "hamming": _hamming,
}
ERRORS: Final = tuple(_SOLVERS)
"""Names of the errors that `consistent_cdf` knows."""
