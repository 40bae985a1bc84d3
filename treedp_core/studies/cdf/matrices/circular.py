"""The circular root of all ranges: where a record is replaced.

With the total public, a range and the bins outside it are one question, so that the bins stand in a circle. All its
arcs look alike from every bin, and so does the best matrix for them: M_ij = a(i - j) with a even and of period K. Such
a matrix has waves, which are the squared ones of M

    x_k = (g_k / h_k)^(1/2),    g_k = (2 sin(pi k / K))^-2,    h_k = sum over d of pi_d (1 - cos(2 pi k d / K)),

where the weights pi of distances, with sum 1, are such that those it weighs are the columns farthest apart: the bound
of `error.bound` holds for any, and these close it. A sought pi of 256 bins is straight between them for more.

All ranges of K bins are all arcs, and those with an end at the edge once more. So their mean variance is (K + 2) /
(K + 1) of the bound at most, but for how well pi is known: 0.1 %. The wave of all bins moves no two columns apart: it
is such that a column is as long as two are apart, for records that are replaced where the total is not public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import fft

from treedp_core.studies.cdf.matrices.reflection import BITS, TotalledMatrix
from treedp_core.tree import FloatArray, IntArray

_SOUGHT: Final = 256
_GAP: Final = 2e-4
_ROUNDS: Final = 400  # about 260 close the gap
_POWER: Final = 4.0  # the largest that does not swing


@dataclass(frozen=True, eq=False)
class CircularRoot(TotalledMatrix):
    """M, with as many rows as bins.

    Parameters
    ----------
    with_total : bool
        Whether the total is public; then it replaces what the release says of it.
    """

    with_total: bool = True

    @cached_property
    def kernel(self) -> IntArray:
        """Whole numbers a(0), a(1), ..., (K,)."""
        n = self.n_bins
        waves = np.append(0.0, _wanted(n) / np.sqrt(self._moved))
        products = fft.irfft(waves, n)
        waves[0] = n * (products[0] - 2.0 * products.min())
        found = np.rint(fft.irfft(np.sqrt(waves), n) * 2.0**BITS).astype(np.int64)
        found[: n // 2 : -1] = found[1 : (n + 1) // 2]  # no tie is rounded to two sides
        return found

    @property
    def weights(self) -> IntArray:
        """Whole factor of each column, all 1, (K,)."""
        return np.ones(self.n_bins, dtype=np.int64)

    def column_square(self) -> int:
        """Squared length of a column, exactly."""
        return int(self._kernel_squared[0])

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, exactly."""
        return 2 * int(self._kernel_squared[0] - self._kernel_squared.min())

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count, and of any range as long, where the noise has variance 1, (K,)."""
        waves = self._waves**-2.0
        waves[0] *= not self.with_total
        products = fft.irfft(waves, self.n_bins)
        beside = np.append(0.0, 2.0 * np.cumsum(products[1:]))
        return np.asarray(np.maximum(np.cumsum(products[0] + beside), 0.0))

    @cached_property
    def mean_range_variance(self) -> float:
        """Mean error variance of all ranges where the noise has variance 1: K of one bin, K - 1 of two, ..."""
        n = self.n_bins
        return float(self.variance @ np.arange(n, 0, -1.0)) / (n * (n + 1.0) / 2.0)

    @cached_property
    def lower(self) -> float:
        """No matrix has a smaller mean variance of all ranges at rho = 1, one record replaced, the total public.

        Ends c_i of ranges, with c_0 = c_K = 0, and their mean m: the squares of all differences of two ends of the
        circle sum to K sum (c_i - m)^2, those of ends at the edge once more to no less than 1 / K of that. Divided by
        K (K + 1) / 2 ranges, the bound of `error.bound` is 2 (sum over k of (g_k h_k)^(1/2))^2 / K^2.
        """
        n = self.n_bins
        roots = _wanted(n) * np.sqrt(self._moved)
        return 2.0 * (2.0 * float(roots.sum()) - (n % 2 == 0) * float(roots[-1])) ** 2 / n**2

    @cached_property
    def _moved(self) -> FloatArray:
        """h_1, h_2, ..., (K // 2,)."""
        n, some = self.n_bins, min(self.n_bins, _SOUGHT)
        sought = _farthest(some)
        straight = np.interp(np.arange(n) / n, np.arange(some + 1) / some, np.append(sought, 0.0))
        even = straight + np.append(0.0, straight[:0:-1])
        return np.asarray(1.0 - fft.rfft(even / even.sum()).real[1:])

    @property
    def _shares(self) -> FloatArray:
        """Covariance of each cumulative count with the last one, over the variance of that, (K,)."""
        return np.arange(1.0, self.n_bins + 1.0) / self.n_bins * self.with_total

    @cached_property
    def _waves(self) -> FloatArray:
        return fft.rfft(self.kernel.astype(np.float64)).real

    def _back(self, power: int) -> FloatArray:
        return np.asarray(fft.irfft(self._waves**-power, self.n_bins))

    @property
    def _sign(self) -> int:
        return 0


def _wanted(n: int) -> FloatArray:
    """Roots of g_1, g_2, ..., (n // 2,)."""
    return np.asarray(0.5 / np.sin(np.pi * np.arange(1, n // 2 + 1) / n))


def _farthest(n: int) -> FloatArray:
    """Weights pi of the distances 0, 1, ..., n - 1 of two columns, (n,): raised where columns are moved too far."""
    times = np.where(2 * np.arange(1, n // 2 + 1) == n, 1.0, 2.0)
    weights = np.append(0.0, np.ones(n - 1))
    for _ in range(_ROUNDS):
        weights /= weights.sum()
        moved = 1.0 - fft.rfft(weights).real[1:]
        waves = np.append(0.0, _wanted(n) / np.sqrt(moved))
        products = n * fft.irfft(waves, n)
        apart = products[0] - products
        norm = float((times * waves[1:] * moved).sum())
        if apart.max() <= (1.0 + _GAP) * norm:
            break
        weights = weights * (apart / norm) ** _POWER
    return weights
