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
