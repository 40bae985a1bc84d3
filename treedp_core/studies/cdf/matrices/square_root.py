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

from treedp_core.tree import AnyArray, FloatArray, IntArray

# ---- the square root of the summing matrix as a power series: its coefficients, its inverse, exact and fast products.
#
# The lower triangle of ones is the Toeplitz matrix of 1 / (1 - x), so its square root is that of (1 - x)^(-1/2).


_LIMB: Final = 12  # bits: products of 2^20 of them, both balanced, are off by less than 0.05 in floats
_SAFE: Final = 2.0**62


def root(n: int) -> FloatArray:
    """Return the coefficients f_k = f_(k-1) (1 - 1/(2k)) of (1 - x)^(-1/2), (n,).

    >>> root(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    return np.cumprod(np.append(1.0, 1.0 - 0.5 / np.arange(1.0, n)))


def inverse_root(n: int) -> FloatArray:
    """Return the coefficients g_k = g_(k-1) (1 - 3/(2k)) of (1 - x)^(1/2), (n,).

    >>> inverse_root(4).tolist()
    [1.0, -0.5, -0.125, -0.0625]
    """
    return np.cumprod(np.append(1.0, 1.0 - 1.5 / np.arange(1.0, n)))


def product(a: FloatArray, b: FloatArray, n: int, start: int = 0) -> FloatArray:
    """Return n coefficients from one on of a power series (k,) times others (..., m), in floats, (..., n)."""
    size = _size(a.shape[-1] + b.shape[-1] - 1, n, start)
    return np.asarray(fft.irfft(fft.rfft(a, size) * fft.rfft(b, size), size)[..., start : start + n])


def _size(whole: int, n: int, start: int) -> int:
    """Of a cyclic product that is right for n coefficients from `start` on, though others may be folded onto others."""
    return fft.next_fast_len(max(whole - start, start + n), True)


def reciprocal(a: FloatArray) -> FloatArray:
    """Return the coefficients of 1 / a for a power series a (n,) with a_0 = 1, (n,), by Newton's iteration."""
    n, known = a.size, np.ones(1)
    while known.size < n:
        size = min(n, 2 * known.size)
        known = 2.0 * np.pad(known, (0, size - known.size)) - product(product(known, known, size), a[:size], size)
    return known


def exact_product(a: IntArray, b: AnyArray, n: int, start: int = 0) -> AnyArray:
    """Return n coefficients from one on of the product of whole power series (k,) and (m,), exactly, (n,).

    Both are split into balanced limbs of 12 bits, whose products floats hold; the sum is int64, or of Python's whole
    numbers where it might not fit.
    """
    fits = float(np.abs(a).max()) * float(np.abs(b).sum(dtype=float)) < _SAFE
    total: AnyArray = np.zeros(n, dtype=np.int64 if fits else object)
    left, right = _limbs(a), _limbs(b)
    size = _size(a.size + b.size - 1, n, start)
    ours, theirs = (fft.rfft(limbs, size) for limbs in (left, right))
    for shift in range(len(left) + len(right) - 1):
        pairs = [(i, shift - i) for i in range(len(left)) if 0 <= shift - i < len(right)]
        part = fft.irfft(sum(ours[i] * theirs[j] for i, j in pairs), size)[start : start + n]
        total = total + np.rint(part).astype(np.int64).astype(total.dtype) * (1 << (_LIMB * shift))
    return total


def _limbs(values: AnyArray) -> FloatArray:
    """Whole numbers (n,) in base 2^12 with digits from -2^11 to 2^11, the lowest first, (digits, n)."""
    rest: AnyArray = values
    digits: list[FloatArray] = []
    while not digits or rest.any():
        low = ((rest + (1 << (_LIMB - 1))) & ((1 << _LIMB) - 1)) - (1 << (_LIMB - 1))
        digits.append(low.astype(np.float64))
        rest = (rest - low) >> _LIMB
    return np.array(digits)


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
