"""The square root of the summing matrix, in whole numbers, plain or with columns of one length.

With C the square root of the lower triangle of ones A, the release is C x + noise, and C times that are the cumulative
counts (Fichtenberger, Henzinger and Upadhyay, 2023). Dividing every column of C by its length (Henzinger, Kalinin and
Upadhyay, 2026) leaves the most that a record can change as it is and makes every other record count as much.

For ranges the coefficients of C fade, f_k e^(-fade k / K): with columns of one length, and fade 6 where a record is
replaced (by trial), the mean variance of all ranges is 4 % above the least possible. Where a record is added or
removed, the symmetric root errs less: see `symmetric`.

What is released is in whole numbers: F = round(2^20 C) is a Toeplitz matrix too, column j is multiplied by a whole
number e_j, and the sensitivity is that of F diag(e) itself. Decoding inverts F diag(e), so it is unbiased; that F was
rounded changes the errors by a share of about 1e-5, which the formulas leave out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import fft

from treedp_core.studies.cdf.matrices.series import exact_product, inverse_root, product, reciprocal, root
from treedp_core.tree import AnyArray, FloatArray, IntArray

ROOT_BITS: Final = 20
WEIGHT_BITS: Final = 12
_NARROW: Final = 2.0**50  # counts whose weighted values fit in 64 bits
_FADED: Final = 20.0  # squared, below the last digit of a float
_STEP: Final = 0.45  # of the sums of exponentials; with it they are off by 1e-7


@dataclass(frozen=True, eq=False)
class RootMatrix:
    """F diag(e), with as many rows as bins.

    Parameters
    ----------
    n_bins : int
        K, at least 2.
    normalised : bool
        Whether columns are made as long as each other; else every e is 1.
    with_total : bool
        Whether the last cumulative count is public: it takes its share of the others' errors away.
    fade : float
        How many times e smaller the last coefficient gets; above 0 only with columns of one length.
    """

    n_bins: int
    normalised: bool
    with_total: bool = False
    fade: float = 0.0

    @property
    def n_rows(self) -> int:
        """K."""
        return self.n_bins

    @cached_property
    def coefficients(self) -> IntArray:
        """First column of F, (K,)."""
        return np.rint(root(self.n_bins) * self._fading * 2.0**ROOT_BITS).astype(np.int64)

    @cached_property
    def weights(self) -> IntArray:
        """Whole factor of each column, (K,)."""
        if not self.normalised:
            return np.ones(self.n_bins, dtype=np.int64)
        lengths = np.sqrt(self._squares[::-1].astype(np.float64))
        whole: IntArray = np.floor(lengths[-1] / lengths * 2.0**WEIGHT_BITS).astype(np.int64)
        return whole

    def encode(self, counts: IntArray) -> IntArray:
        """Return F diag(e) times counts of bins (K,), exactly, (K,)."""
        weights = self.weights.astype(np.int64 if float(np.abs(counts).max()) < _NARROW else object)
        return exact_product(self.coefficients, weights * counts, self.n_bins)

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., K), given the total where it is public."""
        bins = product(self._inverse, released.astype(np.float64), self.n_bins)
        found = np.asarray(np.cumsum(bins / self.weights, axis=-1))
        if self.with_total:
            found -= self._shares * (found[..., -1:] - total)
        return found

    def numbers(self) -> IntArray:
        """Return the coefficients and the factors of the columns, (n,)."""
        return np.concatenate([self.coefficients, self.weights])

    def column_square(self) -> int:
        """Squared length of the longest column, exactly."""
        sizes = self.weights.astype(np.float64) ** 2 * self._squares[::-1]
        near = np.flatnonzero(sizes >= sizes.max() * (1.0 - 1e-12))
        return max(int(self.weights[j]) ** 2 * int(self._squares[self.n_bins - 1 - j]) for j in near)

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, exactly; with normalised columns a bound that is close.

        Of the plain matrix, columns j and j + l are apart by the squares of F_0 to F_(l-1) and those of F_(k+l) - F_k
        for the k left, which are most for j = 0. Normalised columns meet at angles below 90 degrees.
        """
        if self.normalised:
            return 2 * self.column_square()
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
        """Error variance of each cumulative count where the noise has variance 1, (K,): see `_row_squares`."""
        if self.normalised:
            squares = _row_squares(1.0 / self.weights, self.fade / self.n_bins)
        else:
            squares = np.cumsum(np.square(root(self.n_bins)))
        found = squares / 4.0**ROOT_BITS
        return np.maximum(found - np.square(self._shares) * found[-1], 0.0) if self.with_total else found

    @cached_property
    def mean_range_variance(self) -> float:
        """Mean error variance of all ranges where the noise has variance 1: of differences of any two of K + 1."""
        n = self.n_bins
        sums = product(self._back, (np.arange(n, 0, -1) / self.weights)[::-1], n)[::-1] / 2.0**ROOT_BITS
        if self.with_total:
            sums = sums - self._shares.sum() * self._row(n - 1)
        squares = (n + 1.0) * float(self.variance.sum()) - float(np.square(sums).sum())
        return squares / (n * (n + 1.0) / 2.0)

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (K,)."""
        found = self._row(last)
        return found - self._shares[last] * self._row(self.n_bins - 1) if self.with_total else found

    def _row(self, last: int) -> FloatArray:
        backwards = (1.0 / self.weights)[: last + 1][::-1]
        found = product(self._back, backwards, last + 1)[::-1]
        return np.pad(found, (0, self.n_bins - last - 1)) / 2.0**ROOT_BITS

    @cached_property
    def _shares(self) -> FloatArray:
        """Covariance of each cumulative count with the last one, over the variance of that, (K,)."""
        last = product(self._back, self._row(self.n_bins - 1), self.n_bins)
        together = np.cumsum(last / self.weights)
        return np.asarray(together / together[-1])

    @cached_property
    def _squares(self) -> IntArray:
        """Sums of the first squares of F, (K,): the squared length of a column with so many entries."""
        return np.cumsum(np.square(self.coefficients))

    @cached_property
    def _fading(self) -> FloatArray:
        return np.asarray(np.exp(-self.fade / self.n_bins * np.arange(self.n_bins)))

    @cached_property
    def _back(self) -> FloatArray:
        """Coefficients of the inverse, but for rounding, (K,)."""
        return np.asarray(inverse_root(self.n_bins) * self._fading)

    @cached_property
    def _inverse(self) -> FloatArray:
        return reciprocal(self.coefficients / 2.0**ROOT_BITS) / 2.0**ROOT_BITS


def _row_squares(d: FloatArray, fade: float) -> FloatArray:
    """Squared lengths of the rows of A diag(d) C^-1, (K,), in O(K log K); C's coefficients fade by e^(-fade) each.

    Row j is row j - 1 and d_j times row j of C^-1, so r_j = r_(j-1) + 2 d_j c_j + d_j^2 (g_0^2 + ... + g_j^2) with
    c_j = sum over k < j of d_k (g_0 g_(j-k) + ... + g_k g_j). With all its terms the bracket is a convolution, see
    `_overlaps`; what is too much is sum over m > k of g_m g_(m+j-k), and as g_m = -e^(-fade m) (1/pi) times the
    integral of e^(-y (m - 1/2)) (1 - e^-y)^(1/2) over y > 0, it is a sum of geometric series: one filter for each y.
    """
    from scipy.signal import lfilter  # slow to import, and only this search needs it

    n = d.size
    g = inverse_root(n) * np.exp(-fade * np.arange(n))
    c = product(d, _overlaps(n, fade), n)
    for rate in np.exp(np.arange(math.log(1e-4 / n), 4.6, _STEP)).tolist():
        gap, once, twice = (-math.expm1(-rate - times * fade) for times in (0, 1, 2))
        seen = min(n, int(60.0 / (rate + fade)) + 2)
        weight = _STEP * rate * math.sqrt(gap) * math.exp(rate / 2.0) / math.pi
        behind = math.sqrt(twice) - np.cumsum(g[:seen] * np.exp(-(rate + fade) * np.arange(seen)))
        reach = min(n, 2 * seen)
        series = np.pad(d[:seen] * behind, (0, reach - seen))
        c[:reach] += weight * lfilter([0.0, 1.0 - once], [1.0, once - 1.0], series)
    return np.cumsum(2.0 * d * c + d * d * np.cumsum(g * g))


def _overlaps(n: int, fade: float) -> FloatArray:
    """Sum over m of g_m g_(m+l) for l = 1, ..., n - 1, and 0 for l = 0, (n,): -4 / (pi (4 l^2 - 1)) without fading."""
    if fade == 0.0:
        lag = np.arange(1.0, n)
        return np.append(0.0, -4.0 / (math.pi * (4.0 * lag * lag - 1.0)))
    many = n + int(_FADED / fade)
    g = inverse_root(many) * np.exp(-fade * np.arange(many))
    size = fft.next_fast_len(many + n, True)
    found = fft.irfft(np.abs(fft.rfft(g, size)) ** 2, size)[:n]
    found[0] = 0.0
    return np.asarray(found)
