"""Exact draws from the discrete Laplace and the discrete Gaussian law, of any scale.

Narrow laws are one table. A wide discrete Laplace is split into binary digits, which are independent because the
geometric law has no memory; a wide discrete Gaussian is drawn by rejection from a discrete Laplace (Canonne, Kamath
and Steinke, 2020, Algorithm 3), with an exact comparison wherever floats could be wrong.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# ---- exact inversion of an integer law by a table with lazily drawn bits.
#
# A draw is a uniform U in [0, 1) compared with the cumulative probabilities C_j of the law. Sixteen random bits of U
# index a table of 65,536 cells; a cell no C_j falls into is decided at once. Otherwise 48 more bits settle it by binary
# search, and if U still ties with some C_j in 64 bits, both are extended, 64 bits at a time, until they differ. The
# tail beyond the table is a tie like any other, so nothing is cut off. No float takes part: the law is the stated one,
# as far as the bits of the generator are fair.


Boundaries = Callable[[int], tuple[int, list[int]]]
"""bits -> (first, b): b[j] <= 2^bits P(X <= first + j) < b[j] + 2, ascending.

Where the law goes on beyond the list, b[0] is 0 or the last entry is at least 2^bits - 2: such draws count as ties.
"""

BLOCK: Final = 1 << 16  # draws per pass; table, bits and values stay in the second-level cache
_CELL_BITS: Final = 48
_INT16_SAFE: Final = 1 << 14
_WORD: Final = 1 << 64

SmallInts = NDArray[np.signedinteger[Any]]


class TableSampler:
    """Draws from the integer law with the given cumulative probabilities.

    >>> fair_bit = TableSampler(lambda bits: (0, [1 << (bits - 1)]))
    >>> sorted(set(fair_bit.draw(np.random.default_rng(1), 100).tolist()))
    [0, 1]
    """

    def __init__(self, boundaries: Boundaries) -> None:
        self._boundaries = boundaries
        self._first, whole = boundaries(64)
        self._bounds = np.array(whole, dtype=np.uint64)
        low, high = self._first, self._first + len(whole)
        narrow = max(abs(low), abs(high)) < _INT16_SAFE
        kind: type[np.signedinteger[Any]] = np.int16 if narrow else np.int32
        self._undecided = int(np.iinfo(kind).min)
        starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(_CELL_BITS)
        table = self._first + np.searchsorted(self._bounds, starts, side="right")
        for b in (self._bounds, np.minimum(self._bounds, _WORD - 2) + np.uint64(1)):
            table[(b >> np.uint64(_CELL_BITS)).astype(np.intp)] = self._undecided
        self._table = table.astype(kind)

    def draw(self, rng: np.random.Generator, n: int) -> SmallInts:
        """Return `n` independent draws, shape (n,), as 16- or 32-bit integers; best at most `BLOCK` at a time."""
        coarse = random_words(rng, -(-n // 4)).view(np.uint16)[:n]
        values: SmallInts = self._table.take(coarse, mode="wrap")
        pending = np.flatnonzero(values == self._undecided)
        if pending.size:
            values[pending] = self._refine(rng, coarse[pending])
        return values

    def _refine(self, rng: np.random.Generator, coarse: NDArray[np.uint16]) -> NDArray[np.int64]:
        fine = random_words(rng, coarse.size) >> np.uint64(64 - _CELL_BITS)
        return self.invert(rng, (coarse.astype(np.uint64) << np.uint64(_CELL_BITS)) | fine)

    def invert(self, rng: np.random.Generator, u: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the value at each U whose first 64 bits are `u`, shape of `u`; more bits come from `rng` if needed."""
        below = np.searchsorted(self._bounds, u, side="right").astype(np.int64)
        last = self._bounds[np.maximum(below - 1, 0)]
        for i in np.flatnonzero((below > 0) & (u - last <= 1)):
            below[i] = self._settle(rng, int(u[i])) - self._first
        return below + self._first

    def _settle(self, rng: np.random.Generator, u: int) -> int:
        bits = 64
        while True:
            bits += 64
            u = (u << 64) | int(random_words(rng, 1)[0])
            first, whole = self._boundaries(bits)
            below = bisect_right(whole, u)
            if below == 0 or u - whole[below - 1] > 1:
                return first + below


def random_words(rng: np.random.Generator, n: int) -> NDArray[np.uint64]:
    """Return words of 64 random bits, (n,).

    >>> random_words(np.random.default_rng(1), 3).dtype
    dtype('uint64')
    """
    return rng.integers(0, _WORD, size=n, dtype=np.uint64)


IntArray = NDArray[np.int64]

_GUARD: Final = (
    128  # extra bits in fixed-point sums: errors stay far below the quarter of a unit that `_whole` takes off
)
_ONE_TABLE: Final = 64  # largest scale of a discrete Laplace drawn from one table
_DIGIT_BITS: Final = 11
_GAUSS_TABLE: Final = 1000.0
_UNSURE: Final = 2.0**-43  # acceptance probabilities are computed to better than 2^-46
_TABLES: Final = 64


def draw_discrete_laplace(rng: np.random.Generator, inverse_scale: float, n: int) -> IntArray:
    """Return `n` draws with P(k) proportional to e^(-inverse_scale |k|), shape (n,).

    Notes
    -----
    X >= 0 has probability 1/(1+q), q = e^-a, and then X is geometric; otherwise -1 - X is, with the same law. A
    geometric G is t H + L with L < t and H geometric with q^t, independent. So the high digit with its sign and each
    low digit have a table of their own, and every bit of L is flipped where the high digit is negative.

    >>> draw_discrete_laplace(np.random.default_rng(1), 100.0, 3)
    array([0, 0, 0])
    """
    widths = _digit_widths(inverse_scale)
    high = _laplace_table(inverse_scale, sum(widths))
    out = np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        part = out[start : start + BLOCK]
        part[:] = high.draw(rng, part.size)
        if widths:
            sign = part >> 63
            part ^= sign
            for level in reversed(range(len(widths))):
                digit = _digit_table(math.ldexp(inverse_scale, sum(widths[:level])), widths[level])
                part <<= widths[level]
                part |= digit.draw(rng, part.size)
            part ^= sign
    return out


def draw_discrete_gaussian(rng: np.random.Generator, sigma: float, n: int) -> IntArray:
    """Return `n` draws with P(k) proportional to e^(-k^2 / (2 sigma^2)), shape (n,).

    >>> draw_discrete_gaussian(np.random.default_rng(1), 0.05, 3)
    array([0, 0, 0])
    """
    out = np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        part = out[start : start + BLOCK]
        if sigma <= _GAUSS_TABLE:
            part[:] = _gaussian_table(sigma).draw(rng, part.size)
        else:
            _reject(rng, sigma, part)
    return out


def laplace_boundaries(inverse_scale: float, low_bits: int, bits: int) -> tuple[int, list[int]]:
    """Cumulative probabilities of floor(X / 2^low_bits), X discrete Laplace, as `TableSampler` wants them."""
    precision = bits + _GUARD
    one, a = 1 << precision, Decimal(inverse_scale)
    q = _exp_fixed(a.copy_negate(), precision)
    ratio = _exp_fixed(_context(precision).multiply(a, -(1 << low_bits)), precision)
    above = [one * one // (one + q)]  # P(floor >= i) = ratio^i / (1 + q), and P(floor <= -1 - i) is q times that
    while above[-1] >> (_GUARD - 3):
        above.append(above[-1] * ratio >> precision)
    below = [q * p >> precision for p in reversed(above)]
    return -len(below), _whole([*below, *(one - p for p in above[1:])])


def digit_boundaries(inverse_scale: float, width: int, bits: int) -> tuple[int, list[int]]:
    """Cumulative probabilities of the geometric law cut to 0 .. 2^width - 1."""
    precision = bits + _GUARD
    one, q = 1 << precision, _exp_fixed(Decimal(inverse_scale).copy_negate(), precision)
    powers = list(accumulate(range(1 << width), lambda power, _: power * q >> precision, initial=one))
    mass = one - powers[-1]
    return 0, _whole([((one - power) << precision) // mass for power in powers[1:-1]])


def gaussian_boundaries(sigma: float, bits: int) -> tuple[int, list[int]]:
    """Cumulative probabilities of the discrete Gaussian law, as `TableSampler` wants them."""
    precision = bits + _GUARD
    context, root = _context(precision), Decimal(sigma)
    step_exponent = context.divide(-1, context.multiply(root, root))
    ratio, step = (_exp_fixed(context.divide(step_exponent, k), precision) for k in (2, 1))
    weights, negligible = [1 << precision], 1 << (_GUARD - 6 - (int(sigma) + 1).bit_length())
    while weights[-1] > negligible:  # w(k+1) = w(k) r(k) with r(k) = e^(-(2k+1) / (2 sigma^2)), a geometric sequence
        weights.append(weights[-1] * ratio >> precision)
        ratio = ratio * step >> precision
    sums = list(accumulate([*reversed(weights), *weights[1:]]))
    return 1 - len(weights), _whole([(s << precision) // sums[-1] for s in sums])


def _whole(cumulative: list[int]) -> list[int]:
    # a quarter of a unit below the approximation is below the truth, and by less than two units
    quarter = 1 << (_GUARD - 2)
    return [max(0, (c - quarter) >> _GUARD) for c in cumulative]


def _context(precision: int) -> Context:
    # Decimal's own operators round to 28 digits, so every operation here goes through such a context
    return Context(prec=precision // 3 + 20, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def _exp_fixed(exponent: Decimal, precision: int) -> int:
    context = _context(precision)
    return int(context.multiply(context.exp(exponent), Decimal(1 << precision)))


def _digit_widths(inverse_scale: float) -> list[int]:
    """Bits of the low digits: as many as bring the scale of the high digit down to what one table holds."""
    total = max(0, math.ceil(math.log2(1.0 / (inverse_scale * _ONE_TABLE))))
    pieces = -(-total // _DIGIT_BITS)
    return [total // pieces + (i < total % pieces) for i in range(pieces)]


@lru_cache(maxsize=_TABLES)
def _laplace_table(inverse_scale: float, low_bits: int) -> TableSampler:
    return TableSampler(partial(laplace_boundaries, inverse_scale, low_bits))


@lru_cache(maxsize=_TABLES)
def _digit_table(inverse_scale: float, width: int) -> TableSampler:
    return TableSampler(partial(digit_boundaries, inverse_scale, width))


@lru_cache(maxsize=_TABLES)
def _gaussian_table(sigma: float) -> TableSampler:
    return TableSampler(partial(gaussian_boundaries, sigma))


def _reject(rng: np.random.Generator, sigma: float, out: IntArray) -> None:
    """Fill `out` by rejection: y from a discrete Laplace with scale sigma, kept with `_acceptance`."""
    filled, inverse_scale = 0, 1.0 / sigma
    while filled < out.size:
        proposed = draw_discrete_laplace(rng, inverse_scale, int(1.4 * (out.size - filled)) + 16)
        p = np.exp(-0.5 * (np.abs(proposed) / sigma - inverse_scale * sigma) ** 2)
        u = rng.random(proposed.size)
        keep = u < p
        for i in np.flatnonzero(np.abs(u - p) < _UNSURE):
            keep[i] = accept_exactly(rng, int(u[i] * 2**53), int(proposed[i]), sigma, inverse_scale)
        kept = proposed[keep][: out.size - filled]
        out[filled : filled + kept.size] = kept
        filled += kept.size


def accept_exactly(rng: np.random.Generator, u: int, y: int, sigma: float, inverse_scale: float) -> bool:
    """Whether U < e^(-(|y| - a sigma^2)^2 / (2 sigma^2)), where the first 53 bits of U are `u`; more come from `rng`.

    The ratio of e^(-y^2/(2 sigma^2)) to e^(-a |y|), a the inverse scale of the proposal, divided by its maximum.
    """
    bits = 53
    while True:
        bits, u = bits + 64, (u << 64) | int(random_words(rng, 1)[0])
        context = _context(2 * bits + 200)
        variance = context.multiply(Decimal(sigma), Decimal(sigma))
        gap = context.subtract(Decimal(abs(y)), context.multiply(Decimal(inverse_scale), variance))
        exponent = context.divide(context.multiply(gap, gap), context.multiply(-2, variance))
        bound = _exp_fixed(exponent, bits)
        if abs(u - bound) > 2:
            return u < bound
