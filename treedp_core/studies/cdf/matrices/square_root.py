"""The square root of the summing matrix, in whole numbers: cumulative counts where no total is public.

With C the square root of the lower triangle of ones A, the release is C x + noise, and C times that are the cumulative
counts (Fichtenberger, Henzinger and Upadhyay, 2023). It is for records that are replaced; where a record is added or
removed, columns of one length err less (Henzinger, Kalinin and Upadhyay, 2026), and a symmetric root less than those:
see `symmetric`.

What is released is in whole numbers: F = round(2^20 C) is a Toeplitz matrix too, and the sensitivity is that of F
itself. Decoding inverts F, so it is unbiased; that F was rounded changes the errors by a share of about 1e-5, which
the formula leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import fft

from treedp_core.studies.cdf.matrices.series import exact_product, inverse_root, product, reciprocal, root
from treedp_core.tree import AnyArray, FloatArray, IntArray

ROOT_BITS: Final = 20


@dataclass(frozen=True, eq=False)
class RootMatrix:
    """F, with as many rows as bins.

    Parameters
    ----------
    n_bins : int
        K, at least 2.
    """

    n_bins: int

    @property
    def n_rows(self) -> int:
        """K."""
        return self.n_bins

    @cached_property
    def coefficients(self) -> IntArray:
        """First column of F, (K,)."""
        return np.rint(root(self.n_bins) * 2.0**ROOT_BITS).astype(np.int64)

    def encode(self, counts: IntArray) -> IntArray:
        """Return F times counts of bins (K,), exactly, (K,)."""
        return exact_product(self.coefficients, counts, self.n_bins)

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., K); it uses no public total."""
        return np.asarray(np.cumsum(product(self._inverse, released.astype(np.float64), self.n_bins), axis=-1))

    def numbers(self) -> IntArray:
        """Return the coefficients, (K,)."""
        return self.coefficients

    def column_square(self) -> int:
        """Squared length of the longest column, the first, exactly."""
        return int(self._squares[-1])

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, exactly.

        Columns j and j + l are apart by the squares of F_0 to F_(l-1) and those of F_(k+l) - F_k for the k left, which
        are most for j = 0.
        """
        f, n = self.coefficients, self.n_bins
        size = fft.next_fast_len(2 * n, True)
        spectrum = fft.rfft(f / 2.0**ROOT_BITS, size)
        overlap = fft.irfft(np.abs(spectrum) ** 2, size)[:n]
        scaled = self._squares / 2.0 ** (2 * ROOT_BITS)
        apart = scaled[-1] + scaled[::-1] - 2.0 * overlap
        apart[0] = 0.0
        near = np.flatnonzero(apart >= apart.max() * (1.0 - 1e-11))
        return max(int(np.square(f[:j]).sum()) + int(np.square(f[j:] - f[: n - j]).sum()) for j in near.tolist())

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""
        return np.cumsum(np.square(root(self.n_bins))) / 4.0**ROOT_BITS

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (K,)."""
        found = np.cumsum(inverse_root(last + 1))[::-1]
        return np.pad(found, (0, self.n_bins - last - 1)) / 2.0**ROOT_BITS

    @cached_property
    def _squares(self) -> IntArray:
        """Sums of the first squares of F, (K,)."""
        return np.cumsum(np.square(self.coefficients))

    @cached_property
    def _inverse(self) -> FloatArray:
        return reciprocal(self.coefficients / 2.0**ROOT_BITS) / 2.0**ROOT_BITS
