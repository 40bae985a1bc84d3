"""Whole matrices that are diagonal in cosines or sines: products, inverses and errors by convolutions.

    M_ij = a(i - j) + s a(i + j + c),    s = 1 and c = 1, or s = -1 and c = 2, or s = 0,

with an even kernel a. Sums, products and inverses of such matrices are such matrices, whose kernels are convolutions,
so rounding a to whole numbers leaves every formula exact: M M, which holds the columns' lengths, and the inverse follow
from the rounded kernel. What is released is M diag(e) x + noise, with e in whole numbers, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import fft
from scipy.linalg import eigvalsh_tridiagonal

from treedp_core.studies.cdf.matrices.square_root import exact_product, product
from treedp_core.tree import AnyArray, FloatArray, IntArray

BITS: Final = 20
WEIGHT_BITS: Final = 12
_NARROW: Final = 2.0**50  # counts whose weighted values fit in 64 bits


@dataclass(frozen=True, eq=False)
class MirroredMatrix(ABC):
    """M diag(e), with as many rows as bins; its kernel and factors say for what, and so for whom, it is good.

    Parameters
    ----------
    n_bins : int
        K, at least 2.
    """

    n_bins: int

    @property
    @abstractmethod
    def kernel(self) -> IntArray:
        """Whole numbers a(0), a(1), ..., (n_lags,): a whole period of them."""

    @property
    @abstractmethod
    def weights(self) -> IntArray:
        """Whole factor e of each column, (K,)."""

    @abstractmethod
    def _back(self, power: int) -> FloatArray:
        """Kernel of the inverse of M to a power, as long as that of M."""

    @property
    def n_rows(self) -> int:
        """K."""
        return self.n_bins

    def encode(self, counts: AnyArray) -> AnyArray:
        """Return M diag(e) times counts of bins (K,), exactly, (K,)."""
        weights = self.weights.astype(np.int64 if float(np.abs(counts).max()) < _NARROW else object)
        mirrored = self._mirrored(weights * counts)
        return exact_product(self._lags(self.kernel), mirrored, self.n_bins, mirrored.size - 1)

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., K); it uses no public total."""
        return np.asarray(np.cumsum(self._undo(released.astype(np.float64)) / self.weights, axis=-1))

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (K,)."""
        return self._plain_row(last)

    def _plain_row(self, last: int) -> FloatArray:
        return self._undo(np.where(np.arange(self.n_bins) <= last, 1.0 / self.weights, 0.0))

    def numbers(self) -> IntArray:
        """Return the kernel and the factors of the columns, (n_lags + K,)."""
        return np.concatenate([self.kernel, self.weights])

    def column_square(self) -> int:
        """Squared length of the longest column, exactly."""
        sizes = self.weights.astype(np.float64) ** 2 * self._squares
        near = np.flatnonzero(sizes >= sizes.max() * (1.0 - 1e-12))
        return max(int(self.weights[j]) ** 2 * int(self._squares[j]) for j in near)

    @property
    def _plain_variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1 and no public total is used, (K,).

        Row j of A diag(1/e) M^-1, A the lower triangle of ones, is row j - 1 and row j of M^-1 over e_j; products of
        rows of M^-1 are entries of M^-2. All of them in O(K (log K)^2).
        """
        d, squared = 1.0 / self.weights, self._back(2)
        own = squared[0] + self._sign * squared[self._doubled]
        before = product(np.append(0.0, squared[1 : self.n_bins]), d, self.n_bins)
        before += self._sign * _sums_before(d, squared[self._shift :])
        return np.cumsum(d * (2.0 * before + d * own))

    @cached_property
    def _squares(self) -> IntArray:
        """Squared length of each column of M, (K,)."""
        found = self._kernel_squared
        return np.asarray(found[0] + self._sign * found[self._doubled], dtype=np.int64)

    @cached_property
    def _kernel_squared(self) -> AnyArray:
        """Kernel of M M, in whole numbers, as long as that of M."""
        turned = self._turned(self.kernel)
        twice = exact_product(turned, turned, 2 * turned.size - 1)
        found = twice[: turned.size]
        found[:-1] += twice[turned.size :]
        return self._turned(found)

    def _undo(self, values: AnyArray) -> FloatArray:
        """M^-1 times values (..., K)."""
        mirrored = self._mirrored(values)
        return product(self._lags(self._inverse), mirrored, self.n_bins, mirrored.shape[-1] - 1)

    @cached_property
    def _inverse(self) -> FloatArray:
        return self._back(1)

    def _turned(self, kernel: AnyArray) -> AnyArray:
        """A kernel, or one that is periodic but for its signs with every other sign turned."""
        return kernel

    def _lags(self, kernel: AnyArray) -> AnyArray:
        """A kernel from lag -(K - 1) on, as far as a product needs it."""
        n = self.n_bins
        return np.concatenate([kernel[n - 1 : 0 : -1], kernel[: 2 * n - 1 + self._shift]])

    def _mirrored(self, values: AnyArray) -> AnyArray:
        """Values (..., K) behind their mirror image."""
        gap = values[..., :1] * 0
        return np.concatenate([self._sign * values[..., ::-1], *[gap] * (self._shift - 1), values], axis=-1)

    @property
    def _doubled(self) -> IntArray:
        """2 j + c, (K,)."""
        return 2 * np.arange(self.n_bins) + self._shift

    @property
    def _sign(self) -> int:
        return 1

    @property
    def _shift(self) -> int:
        return 1


class TotalledMatrix(MirroredMatrix):
    """One whose last cumulative count may be public: it takes its share of the others' errors away."""

    @property
    @abstractmethod
    def _shares(self) -> FloatArray:
        """Covariance of each cumulative count with the last one, over the variance of that, (K,)."""

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., K), given the total where it is public."""
        found = super().decode(released)
        return np.asarray(found - self._shares * (found[..., -1:] - total))

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (K,)."""
        return np.asarray(self._plain_row(last) - self._shares[last] * self._plain_row(self.n_bins - 1))


def _sums_before(d: FloatArray, kernel: FloatArray) -> FloatArray:
    """Sum over k < j of d_k kernel_(j+k), (K,): for each half of each half, its second part by its first."""
    n, size = d.size, 1 << (d.size - 1).bit_length()
    d, kernel = np.pad(d, (0, size - n)), np.pad(kernel, (0, max(0, 2 * size - kernel.size)))[: 2 * size]
    found = np.zeros(size)
    for half in (size >> i for i in range(1, size.bit_length())):
        first = d.reshape(-1, 2, half)[:, 0, ::-1]
        here = np.lib.stride_tricks.sliding_window_view(kernel, 2 * half)[half :: 4 * half][: first.shape[0]]
        sums = fft.irfft(fft.rfft(first, 2 * half) * fft.rfft(here), 2 * half)
        found.reshape(-1, 2, half)[:, 1] += sums[:, half - 1 : 2 * half - 1]
    return found[:n]


# The symmetric root of what is wanted, with columns of one length: where a record is added or removed. With G the
# wanted counts that hold both of two bins, the matrix of least error for records that all weigh the same has
# G^(1/2) as products of its columns. Dividing column j of its symmetric root M = G^(1/4) by its length makes every
# record count as much, and leaves the mean variance of cumulative counts within 0.5 % of the least possible, that
# of ranges within 0.1 %. The inverse of G is a second difference of the bins: for cumulative counts the first bin
# is mirrored and the one behind the last is 0, for ranges those next to both ends are 0. So M is diagonal in
# cosines or sines: M_ij = a(i - j) + s a(i + j + c), s = 1 and c = 1 for cumulative counts, s = -1 and c = 2 for
# ranges, with a periodic, for cumulative counts once every other sign is turned. What is released is M diag(e) x +
# noise, with e in whole numbers, too; `reflection` has what all such matrices share.


@dataclass(frozen=True, eq=False)
class SymmetricRoot(MirroredMatrix):
    """M diag(e) with columns of one length.

    Parameters
    ----------
    for_ranges : bool
        Whether it is made for all ranges rather than for cumulative counts.
    """

    for_ranges: bool = False

    @cached_property
    def kernel(self) -> IntArray:
        """Whole numbers a(0), a(1), ..., (n_lags,): 2 K + 1 of them, or for ranges 2 K + 2."""
        angles = np.pi * np.arange(1, self.n_bins + 1) / self._period
        waves = 2.0 * (np.sin(angles) if self.for_ranges else np.cos(angles))
        found = np.rint(self._from_waves(1.0 / np.sqrt(waves)) * 2.0**BITS).astype(np.int64)
        found[: self.n_bins : -1] = found[1 : self._period - self.n_bins]  # no tie is rounded to two sides
        return self._turned(found)

    @cached_property
    def weights(self) -> IntArray:
        """Whole factor e of each column, (K,)."""
        lengths = np.sqrt(self._squares.astype(np.float64))
        whole: IntArray = np.floor(lengths.max() / lengths * 2.0**WEIGHT_BITS).astype(np.int64)
        return whole

    def pair_square(self) -> int:
        """No two columns are farther apart, squared: none of their products is negative."""
        return 2 * self.column_square()

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""
        return self._plain_variance

    @cached_property
    def mean_range_variance(self) -> float:
        """Mean error variance of all ranges where the noise has variance 1: of differences of any two of K + 1."""
        n = self.n_bins
        sums = self._undo(np.arange(n, 0, -1) / self.weights)
        return ((n + 1.0) * float(self.variance.sum()) - float(np.square(sums).sum())) / (n * (n + 1.0) / 2.0)

    @cached_property
    def lower(self) -> float:
        """No matrix has a smaller mean variance of what this is made for at rho = 1, one record added; in O(K^2).

        It is (tr (w^(1/2) G w^(1/2))^(1/2))^2 / 2 for any weights w with sum 1 of the bins, and the inverse in the
        bracket has three diagonals. The weights are the fourth powers of the columns' lengths, which are within 0.2 %
        of the best.
        """
        n, lengths = self.n_bins, self._squares / float(self._squares.max())
        diagonal = np.full(n, 2.0) if self.for_ranges else np.append(1.0, np.full(n - 1, 2.0))
        values = eigvalsh_tridiagonal(diagonal / np.square(lengths), -1.0 / (lengths[1:] * lengths[:-1]))
        least = float((1.0 / np.sqrt(values)).sum()) ** 2 / float(np.square(lengths).sum()) / 2.0
        return least / (n / 2.0 if self.for_ranges else n)

    def _back(self, power: int) -> FloatArray:
        """Kernel of the inverse of M to a power, as long as that of M."""
        waves = fft.rfft(self._turned(self.kernel).astype(np.float64)).real[1 : self.n_bins + 1]
        return self._turned(self._from_waves(waves**-power))

    def _from_waves(self, waves: FloatArray) -> FloatArray:
        """The kernel with every other sign turned back, of the matrix with these eigenvalues (K,)."""
        return np.asarray(fft.irfft(np.pad(waves, (1, self._period // 2 - self.n_bins)), self._period))

    def _turned(self, kernel: AnyArray) -> AnyArray:
        """A kernel, for cumulative counts with every other sign turned."""
        if self.for_ranges:
            return kernel
        found = kernel.copy()
        found[1::2] *= -1
        return found

    @property
    def _sign(self) -> int:
        return -1 if self.for_ranges else 1

    @property
    def _shift(self) -> int:
        return 2 if self.for_ranges else 1

    @property
    def _period(self) -> int:
        return 2 * self.n_bins + self._shift
