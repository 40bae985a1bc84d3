"""The symmetric root of centred cumulative counts: where a record is replaced and the total is public.

Once their share of the public total is taken away, cumulative counts have products G whose inverse is the second
difference of the bins with both ends mirrored, so G is diagonal in cosines:

    M_ij = a(i - j) + a(i + j + 1),    a even and of period 2 K, with waves (2 sin(pi k / 2 K))^(-2 p).

A record that is replaced moves the release by the difference of two columns of M diag(e), so e is such that every
column is as far from the one that is farthest from it. With p = 1/4 the mean variance of cumulative counts is then
2.5 to 3 % above the least possible; with p a little smaller, by trial, 2 %. Sums of all bins, whose wave is free as the
total is known, are counted a little, so that M has an inverse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import fft

from treedp_core.studies.cdf.matrices.reflection import BITS, WEIGHT_BITS, TotalledMatrix
from treedp_core.tree import FloatArray, IntArray

_SMOOTHER: Final = 0.087  # over ln K, by trial: what p is below 1/4
_OF_ALL: Final = 0.05  # of the largest wave
_TURNS: Final = 150
_ALONE: Final = 1024  # bins at either end that are looked at one by one
_FINE: Final = 128  # else blocks have so many times fewer bins than are between them and the nearer end
_ROUNDING: Final = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class CentredRoot(TotalledMatrix):
    """M diag(e) of centred cumulative counts, with as many rows as bins."""

    @cached_property
    def kernel(self) -> IntArray:
        """Whole numbers a(0), a(1), ..., (n_lags,): 2 K of them."""
        found = np.rint(self._from_waves(self._waves) * 2.0**BITS).astype(np.int64)
        found[: self.n_bins : -1] = found[1 : self.n_bins]  # no tie is rounded to two sides
        return found

    @cached_property
    def weights(self) -> IntArray:
        """Whole factor e of each column, (K,): of a few of them by turns, in between straight."""
        n, some = self.n_bins, _spread(self.n_bins)
        kernel = self._from_waves(self._waves**2)
        products = kernel[np.abs(np.subtract.outer(some, some))] + kernel[np.add.outer(some, some) + 1]
        found = 1.0 / np.sqrt(np.diag(products))
        for _ in range(_TURNS):
            farthest = _apart(found, np.diag(products), products).max(axis=1)
            found *= (farthest.max() / farthest) ** 0.25
            found = (found + found[::-1]) / 2.0
            found /= found.max()
        each = np.interp(np.arange(n), some, found)
        whole: IntArray = np.floor(each / each.min() * 2.0**WEIGHT_BITS).astype(np.int64)
        return whole

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, rounded up; of many bins a bound on it, by blocks.

        Of two blocks no product of columns is below that of their largest factors or, if it is positive, their
        smallest ones, and no entry of M M is below the least at most as far from the diagonals as any.
        """
        n, square = self.n_bins, self._kernel_squared.astype(np.float64)
        own = np.square(self.weights.astype(np.float64)) * self._squares
        starts = np.array(list(_blocks(n)))
        lowest = square if starts.size == n else np.minimum.accumulate(square[: n + 1])
        ends = np.append(starts[1:], n) - 1
        most = np.maximum.reduceat(own, starts)
        least_e, most_e = (f.reduceat(self.weights.astype(np.float64), starts) for f in (np.minimum, np.maximum))
        farthest = 0.0
        for first, last, size, low_e, high_e in zip(starts, ends, most, least_e, most_e, strict=True):
            off = np.maximum(np.abs(ends - first), np.abs(last - starts))
            across = np.clip(n, first + starts + 1, last + ends + 1)
            entry = lowest[off] + lowest[np.minimum(across, 2 * n - across)]
            product = entry * np.where(entry > 0.0, low_e * least_e, high_e * most_e)
            farthest = max(farthest, float((size + most - 2.0 * product).max()))
        return math.ceil(farthest * _ROUNDING)

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""
        found = self._plain_variance
        return np.asarray(np.maximum(found - np.square(self._shares) * found[-1], 0.0))

    @cached_property
    def _shares(self) -> FloatArray:
        """Covariance of each cumulative count with the last one, over the variance of that, (K,)."""
        together = np.cumsum(self._undo(self._plain_row(self.n_bins - 1)) / self.weights)
        return np.asarray(together / together[-1])

    @property
    def _waves(self) -> FloatArray:
        n = self.n_bins
        power = 0.25 - _SMOOTHER / math.log(n)
        found = (2.0 * np.sin(np.pi * np.arange(1, n) / (2.0 * n))) ** (-2.0 * power)
        return np.append(_OF_ALL * found[0], found)

    def _back(self, power: int) -> FloatArray:
        waves = fft.rfft(self.kernel.astype(np.float64)).real[: self.n_bins]
        return self._from_waves(waves**-power)

    def _from_waves(self, waves: FloatArray) -> FloatArray:
        return np.asarray(fft.irfft(np.append(waves, 0.0), self._period))

    @property
    def _period(self) -> int:
        return 2 * self.n_bins


def _apart(e: FloatArray, squares: FloatArray, products: FloatArray) -> FloatArray:
    """Squared distances of all pairs of columns with factors e (n,), (n, n)."""
    own = e * e * squares
    return np.asarray(np.add.outer(own, own) - 2.0 * products * np.outer(e, e))


def _spread(n: int) -> IntArray:
    """Some bins, more of them near both ends, (k,)."""
    half = (n + 1) // 2
    even = np.arange(0, half, max(1, half // 90))
    near = np.concatenate([np.arange(min(half, 16)), np.geomspace(1, half, 110).astype(int), even])
    some = np.unique(near[near < half])
    return np.unique(np.concatenate([some, n - 1 - some]))


def _blocks(n: int) -> Iterator[int]:
    """Where blocks of bins begin: single ones near both ends, longer ones between."""
    at = 0
    while at < n:
        yield at
        at += max(1, min(at, n - 1 - at - _ALONE) // _FINE) if at > _ALONE else 1
