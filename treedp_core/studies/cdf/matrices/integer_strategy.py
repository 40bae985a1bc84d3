"""A matrix in whole numbers with every entry of its own: exact product and sensitivities, least squares back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import solve_triangular

from treedp_core.checks import InputError
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS, least_error
from treedp_core.studies.cdf.matrices.workload import OWN, Wanted
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.watch import Watch
from treedp_core.words import whole

# The matrix of least error under Gaussian noise for some counts, from the search that bounds that error.

GAP: Final = 0.001
GAP_REPLACED: Final = 0.003
SPARE: Final = 0.001
"""Of the error: what cumulative counts may cost that nobody asked for, so that every release has them."""
KNOWN: Final = 1e-12
"""Of the weights: less than that is left of counts that follow from the total."""


def optimal_matrix(wanted: Wanted, with_total: bool, watch: Watch | None = None) -> WholeMatrix:
    """Return the matrix with the least mean variance of the wanted counts, within 0.3 %, in whole numbers.

    Parameters
    ----------
    wanted : Wanted
    with_total : bool
        Whether a record is replaced and the total public, rather than a record added or removed.
    watch : Watch, optional
        Told of every round of the search.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more than 1025 bins; ``RANGE_BOUNDS`` where a total that is public answers all.
    Cancelled
        When the watch says so.

    >>> found = optimal_matrix(Wanted(2), False)
    >>> round(found.mean_variance * found.column_square() / 2, 4), round(found.lower, 4)
    (0.6548, 0.6545)
    """
    if wanted.n_bins > MAX_BOUND_BINS:
        raise InputError(
            "BOUND_SIZE",
            f"An optimal matrix takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins, not {whole(wanted.n_bins)}: "
            "choose the square-root matrix.",
        )
    over = _over_cumulative if with_total else np.asarray
    plain = wanted.gram()
    gram, spare = over(plain), None
    if np.abs(gram).max() <= KNOWN * np.abs(plain).max():
        raise InputError(
            "RANGE_BOUNDS",
            "All that is asked for is how many records there are, which this matrix takes as known: add a range of "
            "fewer bins, or choose a tree.",
        )
    if wanted.workload == OWN:
        rest = over(Wanted(wanted.n_bins).gram())
        spare = rest * (SPARE * _size(gram) / _size(rest)) ** 2
    gap = GAP_REPLACED if with_total else GAP
    bound = least_error(gram, spare, wanted.queries, with_total, gap, (watch or Watch()).one_more)
    upper = np.asarray(np.linalg.cholesky(bound.precision / 2.0).T, dtype=np.float64)
    if with_total:  # weights of cumulative counts become weights of bins
        upper = np.pad(np.cumsum(upper[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return in_whole_numbers(upper, with_total, wanted, bound.lower)


def _over_cumulative(gram: FloatArray) -> FloatArray:
    """Over the first K - 1 cumulative counts, (K - 1, K - 1): bin i is one less the one before; the last is public."""
    down = gram[:-1] - gram[1:]
    return np.asarray(down[:, :-1] - down[:, 1:])


def _size(gram: FloatArray) -> float:
    """Trace of the square root."""
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0)).sum())


WHOLE_BITS: Final = 20
_SAFE: Final = 2.0**62
_CHUNK: Final = 1 << 20
_LEAST: Final = 1 << (WHOLE_BITS // 2)


@dataclass(frozen=True, eq=False)
class WholeMatrix:
    """Whole weights of K bins in each of n_rows sums, made for some counts.

    Parameters
    ----------
    entries : (n_rows, K)
        Whole numbers; columns are at most about 2^20 long, so floats hold all their products exactly.
    with_total : bool
        Whether the total is public; then least squares uses it.
    wanted : Wanted
        What it was made for.
    lower : float
        No matrix has a smaller mean variance of the wanted counts at rho = 1; nan where no bound is known.
    """

    entries: IntArray
    with_total: bool
    wanted: Wanted
    lower: float = float("nan")

    @property
    def n_bins(self) -> int:
        """K."""
        return int(self.entries.shape[1])

    @property
    def n_rows(self) -> int:
        """Noise values of one release."""
        return int(self.entries.shape[0])

    def encode(self, counts: AnyArray) -> AnyArray:
        """Return the matrix times whole counts of bins (K,), exactly, (n_rows,)."""
        largest = float(np.abs(self.entries).max()) * float(np.abs(counts).sum(dtype=float))
        whole: AnyArray = np.asarray(self.entries, dtype=np.int64 if largest < _SAFE else object)
        return np.asarray(whole @ counts.astype(whole.dtype))

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., n_rows), given a total that is public."""
        values = released.astype(np.float64)
        if self.with_total:
            values = values - total * self.entries[:, -1]
        found: FloatArray = values @ self.errors.T
        if self.with_total:
            found[..., -1] += total
        return found

    @cached_property
    def errors(self) -> FloatArray:
        """How much of each noise value is in the error of each cumulative count, (K, n_rows): least squares.

        Where the total is public, the last bin is what the others leave of it.
        """
        whole = self.entries.astype(np.float64)
        free = whole[:, :-1] - whole[:, -1:] if self.with_total else whole
        basis, triangle = np.linalg.qr(free)
        found = np.cumsum(solve_triangular(triangle, basis.T), axis=0)
        return np.vstack([found, np.zeros(self.n_rows)]) if self.with_total else found

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""
        return np.asarray(np.square(self.errors).sum(axis=1))

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (n_rows,)."""
        return np.asarray(self.errors[last])

    @cached_property
    def mean_variance(self) -> float:
        """Mean error variance of the wanted counts where the noise has variance 1."""
        return self.wanted.mean_variance(self.errors)

    def numbers(self) -> IntArray:
        """Return the entries row by row, (n,)."""
        return np.asarray(self.entries.ravel())

    def column_square(self) -> int:
        """Squared length of the longest column, exactly."""
        return int(np.square(self.entries.astype(np.int64)).sum(axis=0).max())

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, exactly: floats hold every partial sum."""
        whole = self.entries.astype(np.float64)
        products = whole.T @ whole
        squares = np.diag(products)
        return int((np.add.outer(squares, squares) - 2.0 * products).max())

    def column_sum(self) -> int:
        """Largest sum of absolute values of a column, exactly."""
        return int(np.abs(self.entries.astype(np.int64)).sum(axis=0).max())

    def pair_sum(self) -> int:
        """Largest sum of absolute differences of two columns, exactly; rows with one entry are of one column alone."""
        alone = np.count_nonzero(self.entries, axis=1) <= 1
        own = np.abs(self.entries[alone]).sum(axis=0, dtype=np.int64)
        shared = np.ascontiguousarray(self.entries[~alone].T)
        largest, size = 0, max(1, _CHUNK // max(1, shared.size))
        for start in range(0, self.n_bins - 1, size):
            some, rest = slice(start, start + size), slice(start, None)
            apart = np.abs(shared[some, None] - shared[None, rest]).sum(axis=2, dtype=np.int64)
            apart += np.add.outer(own[some], own[rest])
            apart[np.arange(apart.shape[0]), np.arange(apart.shape[0])] = 0
            largest = max(largest, int(apart.max()))
        return largest


def and_total(matrix: WholeMatrix, in_epsilon: bool) -> WholeMatrix:
    """Return a matrix made for records that are replaced with the total as one more sum, where it is not public.

    A record that comes or goes moves the product by a column, one that is replaced by the difference of two, which the
    total is not in: its weight is what makes the first as far as the second, once columns are moved about their mean.
    In pure epsilon a histogram is looked at, too: a matrix made for replaced records may leave the total too little.
    """
    if in_epsilon:
        histogram = in_whole_numbers(np.eye(matrix.n_bins), matrix.with_total, matrix.wanted)
        ready = [_with_total_of(one, one.entries, one.pair_sum() - one.column_sum()) for one in (matrix, histogram)]
        return min(ready, key=lambda one: one.mean_variance * max(one.pair_sum(), one.column_sum()) ** 2)
    whole = matrix.entries.astype(np.int64)
    whole -= np.rint(whole.mean(axis=1, keepdims=True)).astype(np.int64)
    left = matrix.pair_square() - int(np.square(whole).sum(axis=0).max())
    return _with_total_of(matrix, whole, math.isqrt(max(left, 0)))


def _with_total_of(matrix: WholeMatrix, entries: IntArray, weight: int) -> WholeMatrix:
    row = np.full((1, matrix.n_bins), max(weight, _LEAST))
    return WholeMatrix(np.vstack([entries, row]).astype(np.int32), False, matrix.wanted)


def in_whole_numbers(matrix: FloatArray, with_total: bool, wanted: Wanted, lower: float = float("nan")) -> WholeMatrix:
    """Return a matrix (n_rows, K) whose columns are at most 1 long, times 2^20 and rounded to whole numbers."""
    return WholeMatrix(np.rint(matrix * 2.0**WHOLE_BITS).astype(np.int32), with_total, wanted, lower)
