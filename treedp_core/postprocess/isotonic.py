"""Consistent CDFs: the closest whole, non-decreasing cumulative counts from 0 to N whose last is N.

The problem (O^c) of Rameshwar et al., Sec. VI, for any error that adds up over the bins. Their trellis takes O(K N)
time; squared, absolute and Hamming error need neither N nor a trellis:

* squared: the level sets {h >= c} solve the real problem with threshold c - 1/2, so rounding the clipped real solution
  (pool adjacent violators) is optimal, a half either way;
* absolute: the level sets again, found by halving the range of values, in O(K log N); rounding the real solution is
  not optimal: 0.9, 0.4, 0.4 gives 0, 0, 0 instead of 1, 1, 1;
* Hamming: keep the longest non-decreasing subsequence of entries that are whole and in range.

Bounds: clipping the unbounded solution to [0, N] is optimal; the last entry is N whatever the rest is.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.registry import NO_CARD, MethodCard, Table, table
from treedp_core.words import whole

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
AnyArray = NDArray[np.int64] | NDArray[np.float64]
ErrorOf = Callable[[FloatArray, float], FloatArray]
"""Error (n,) of whole values (n,) given in place of one estimate."""

MAX_TRELLIS: Final = 50_000_000
_PIECE: Final = 1 << 15
_STEP: Final = 1 << 10
_SELDOM: Final = 4
"""Rounds of halving between cuts of ranges to what is in a piece: that ends some early, and takes a round itself."""


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
        free = FITS[checks.one_of("error", error, FITS)].solve(estimates[:-1], records)
    result = np.empty(estimates.size, dtype=np.int64)
    result[:-1] = free
    result[-1] = records
    return result


def _squared(y: FloatArray, n_records: int) -> IntArray:
    """Pool adjacent violators, clip, round halves down; in pieces that stay in the cache."""
    from scipy.optimize import isotonic_regression

    whole = np.empty(y.size, dtype=np.int64)
    ends = _falls_apart(y)
    for start, end in zip([0, *ends], [*ends, y.size], strict=True):
        fit = isotonic_regression(y[start:end]).x if y.size else y
        for at in range(0, fit.size, _PIECE):
            part = fit[at : at + _PIECE]
            np.clip(part, 0.0, n_records, out=part)
            part -= 0.5
            np.ceil(part, out=whole[start + at : start + at + part.size], casting="unsafe")
    return whole


def _falls_apart(y: FloatArray) -> list[int]:
    """Where pieces of some `_PIECE` values begin that have fits of their own: nothing before is above what follows."""
    starts = np.arange(0, y.size, _STEP)
    most, least = np.maximum.reduceat(y, starts), np.minimum.reduceat(y, starts)
    before, after = np.maximum.accumulate(most), np.minimum.accumulate(least[::-1])[::-1]
    apart = starts[1:][before[:-1] <= after[1:]]
    first = np.searchsorted(apart, np.arange(_PIECE, y.size, _PIECE))
    return list(map(int, np.unique(apart[first[first < apart.size]])))


def _absolute(y: FloatArray, n_records: int) -> IntArray:
    """Halve the range of values of all pieces at once, until every piece has one value.

    The bins with h >= c are the last ones of a piece: those for which the sum of cost(c) - cost(c - 1) is least. So
    with c in the middle of its range a piece falls into one that stays below c and one that reaches it. Values outside
    the least and largest y of a piece are never needed.
    """
    fit = np.zeros(y.size, dtype=np.int64)
    place, size = np.arange(y.size), np.array([y.size])
    low, high = np.array([0]), np.array([n_records])
    end, rounds = size, itertools.cycle(range(_SELDOM))
    while y.size:
        if next(rounds) == 0:
            low, high = _narrowed(y, end - size, low, high)
        open_ = low < high
        if not open_.all():
            going_on, closed = open_.repeat(size), ~open_
            fit[place[~going_on]] = low[closed].repeat(size[closed])
            place, y = place[going_on], y[going_on]
            size, low, high = size[open_], low[open_], high[open_]
            end = size.cumsum()
        if size.size:
            middle = (low + high + 1) >> 1
            below = _prefixes_of_largest_sum(_cost_of_step(middle.repeat(size), y), size, end)
            parts = _alternating(below, size - below)
            filled = parts > 0
            size, end = parts[filled], parts.cumsum()[filled]
            low, high = _alternating(low, middle)[filled], _alternating(middle - 1, high)[filled]
    return fit


def _narrowed(y: FloatArray, start: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Ranges of values of pieces of `y`, cut to the whole numbers around the values of each piece."""
    least, largest = np.floor(np.minimum.reduceat(y, start)), np.ceil(np.maximum.reduceat(y, start))
    return (
        np.minimum(np.maximum(least, low), high).astype(np.int64),
        np.maximum(np.minimum(largest, high), low).astype(np.int64),
    )


def _cost_of_step(value: IntArray, y: FloatArray) -> FloatArray:
    """|v - y| - |v - 1 - y| for whole v: 2 v - 1 - 2 y, cut to [-1, 1]."""
    step = value - y
    step += step - 1.0
    np.minimum(step, 1.0, out=step)
    return np.maximum(step, -1.0, out=step)


def _prefixes_of_largest_sum(values: FloatArray, size: IntArray, end: IntArray) -> IntArray:
    """Length of the shortest prefix of each piece, empty or whole included, whose sum is largest."""
    sums = np.zeros(values.size + 1)
    values.cumsum(out=sums[1:])
    start = end - size
    largest = np.maximum.reduceat(sums[:-1], start)
    (reached,) = (sums[:-1] == largest.repeat(size)).nonzero()
    first = reached[reached.searchsorted(start)] - start
    return np.where(sums[end] > largest, size, first)


def _alternating(odd: IntArray, even: IntArray) -> IntArray:
    """The entries of two vectors in turns."""
    both = np.empty(2 * odd.size, dtype=np.int64)
    both[0::2], both[1::2] = odd, even
    return both


def _squares(values: FloatArray, estimate: float) -> FloatArray:
    return np.square(values - estimate)


def _distances(values: FloatArray, estimate: float) -> FloatArray:
    return np.abs(values - estimate)


def _changes(values: FloatArray, estimate: float) -> FloatArray:
    return np.asarray(values != estimate, dtype=np.float64)


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
            f"An error of your own takes {whole(y.size * (n_records + 1))} steps (bins × records); "
            f"at most {whole(MAX_TRELLIS)} are allowed: use the squared or absolute error.",
        )
    values = np.arange(n_records + 1, dtype=np.float64)
    later = np.zeros(values.size)
    best = np.empty((y.size, values.size), dtype=bool)  # where the least cost from v on is reached at v itself
    for i in reversed(range(y.size)):
        own = np.asarray(error(values, float(y[i])), dtype=np.float64)
        if own.shape != values.shape or not np.isfinite(own).all():
            raise InputError("ERROR_FUNCTION", "Expected an error function that returns a number for every value.")
        cost = own + later
        later = np.minimum.accumulate(cost[::-1])[::-1]
        best[i] = cost == later
    path = np.empty(y.size, dtype=np.int64)
    v = 0
    for i in range(y.size):
        v += int(np.argmax(best[i, v:]))
        path[i] = v
    return path


@dataclass(frozen=True)
class Fit:
    """A table entry: ``solve(estimates, N)`` returns the closest consistent counts, (n,), in one sense of closest.

    Parameters
    ----------
    distance : function, optional
        Whole values (n,) and one estimate -> what each value adds to the distance, (n,).
    keeps : bool
        Whether noisy counts are kept as they are: of use only where they are whole.
    """

    name: str
    label: str
    help: str
    solve: Callable[[FloatArray, int], IntArray]
    card: MethodCard = NO_CARD
    keeps: bool = False
    distance: ErrorOf | None = None


def fit_of_distance(name: str, label: str, help: str, distance: ErrorOf, card: MethodCard = NO_CARD) -> Fit:
    """Return the entry of any distance that adds up over the bins, for `FITS.register`: solved by the trellis.

    A function that a module defines can be sent to other processes; `distance` is called once for each bin.

    >>> def pinball(values, estimate):  # too few records are three times as bad as too many
    ...     return np.where(values < estimate, 3.0, 1.0) * np.abs(values - estimate)
    >>> fit_of_distance("pinball", "Pinball", "Rather too many.", pinball).solve(np.array([0.9, 0.4, 0.4]), 3).tolist()
    [1, 1, 1]
    """
    return Fit(name, label, help, partial(_trellis, error=distance), card, distance=distance)


def distance_from(counts: AnyArray, cumulative: AnyArray, error: str | ErrorOf = "squared") -> float:
    """Return how far whole cumulative counts (K,) are from noisy ones (K,), the last of which is not looked at.

    Parameters
    ----------
    error : str or function
        As for `consistent_cdf`, whose counts have the least distance of all consistent ones.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` for other shapes; ``ERROR_FUNCTION`` for an entry that does not say its distance.

    >>> round(distance_from(np.array([1, 1, 1, 3]), np.array([0.9, 0.4, 0.4, 3.0]), "absolute"), 12)
    1.3
    """
    values, estimates = np.asarray(counts, dtype=np.float64), np.asarray(cumulative, dtype=np.float64)
    if values.ndim != 1 or values.shape != estimates.shape or not np.isfinite([*values, *estimates]).all():
        raise InputError("CDF_SHAPE", "Expected two vectors of finite cumulative counts, one for each bin.")
    of = error if callable(error) else FITS[checks.one_of("error", error, FITS)].distance
    if of is None:
        raise InputError("ERROR_FUNCTION", "This consistency does not say which distance it minimises.")
    found = [float(of(values[i : i + 1], float(y))[0]) for i, y in enumerate(estimates[:-1].tolist())]
    return math.fsum(found)


_CONSISTENT: Final = "N is public; cumulative counts are whole, never fall, and end at N."
_SOURCE: Final = "Rameshwar et al., Sec. VI, problem (Oᶜ)"


def _formula(error: str) -> str:
    return r"\hat c=\arg\min_{0\le c_1\le\dots\le c_K=N,\ c\in\mathbb Z^K}\ \sum_j" + error


FITS: Final[Table[Fit]] = table(
    Fit(
        "squared", "Squared", "The least sum of squared changes.", _squared,
        MethodCard(
            assumptions=_CONSISTENT, formula=_formula("(c_j-y_j)^2"),
            source=f"{_SOURCE}; in O(K) by level sets (our own).",
            strengths="Typical errors (root mean square) of cumulative counts.",
            limitations="Noise with rare large errors: one of them moves its neighbours along.",
        ),
        distance=_squares,
    ),
    Fit(
        "absolute", "Absolute", "The least sum of absolute changes.", _absolute,
        MethodCard(
            assumptions=_CONSISTENT, formula=_formula("|c_j-y_j|"),
            source=f"{_SOURCE}; in O(K log N) by level sets (our own).",
            strengths="Noise with rare large errors: a median is not moved by one of them.",
            limitations="Typical errors under Gaussian noise.",
        ),
        distance=_distances,
    ),
    Fit(
        "hamming", "Hamming", "The fewest counts that change at all.", _hamming,
        MethodCard(
            assumptions=f"{_CONSISTENT} Noisy counts are whole, so least squares came not before.",
            formula=_formula(r"[\,c_j\ne y_j\,]"),
            source=f"{_SOURCE}; the longest rising subsequence, in O(K log K).",
            strengths="Whole noise that mostly is 0: what was right stays as it is.",
            limitations="Noise that is rarely 0: it keeps noisy counts as they are, and averages nothing.",
        ),
        keeps=True,
        distance=_changes,
    ),
)  # fmt: skip
"""In which sense the closest counts are sought: an open table; `fit_of_distance` makes an entry of any distance."""
