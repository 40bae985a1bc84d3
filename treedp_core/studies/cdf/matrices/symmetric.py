"""The symmetric root of what is wanted, with columns of one length: where a record is added or removed.

With G the wanted counts that hold both of two bins, the matrix of least error for records that all weigh the same has
G^(1/2) as products of its columns. Dividing column j of its symmetric root M = G^(1/4) by its length makes every record
count as much, and leaves the mean variance of cumulative counts within 0.5 % of the least possible, that of ranges
within 0.1 %. The inverse of G is a second difference of the bins: for cumulative counts the first bin is mirrored and
the one behind the last is 0, for ranges those next to both ends are 0. So M is diagonal in cosines or sines:

    M_ij = a(i - j) + s a(i + j + c),    s = 1 and c = 1 for cumulative counts, s = -1 and c = 2 for ranges,

with a periodic, for cumulative counts once every other sign is turned. What is released is M diag(e) x + noise, with e
in whole numbers, too; `reflection` has what all such matrices share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft
from scipy.linalg import eigvalsh_tridiagonal

from treedp_core.studies.cdf.matrices.reflection import BITS, WEIGHT_BITS, MirroredMatrix
from treedp_core.tree import AnyArray, FloatArray, IntArray


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
