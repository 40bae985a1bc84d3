"""A matrix in whole numbers with every entry of its own: exact product and sensitivities, least squares back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import solve_triangular

from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.tree import AnyArray, FloatArray, IntArray

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
    """
    whole = matrix.entries.astype(np.int64)
    if in_epsilon:
        weight = matrix.pair_sum() - matrix.column_sum()
    else:
        whole -= np.rint(whole.mean(axis=1, keepdims=True)).astype(np.int64)
        left = matrix.pair_square() - int(np.square(whole).sum(axis=0).max())
        weight = math.isqrt(max(left, 0))
    row = np.full((1, matrix.n_bins), max(weight, _LEAST))
    return WholeMatrix(np.vstack([whole, row]).astype(np.int32), False, matrix.wanted)


def in_whole_numbers(matrix: FloatArray, with_total: bool, wanted: Wanted, lower: float = float("nan")) -> WholeMatrix:
    """Return a matrix (n_rows, K) whose columns are at most 1 long, times 2^20 and rounded to whole numbers."""
    return WholeMatrix(np.rint(matrix * 2.0**WHOLE_BITS).astype(np.int32), with_total, wanted, lower)
