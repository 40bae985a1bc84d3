"""Exact inversion of an integer law by a table with lazily drawn bits.

A draw is a uniform U in [0, 1) compared with the cumulative probabilities C_j of the law. Sixteen random bits of U
index a table of 65,536 cells; a cell no C_j falls into is decided at once. Otherwise 48 more bits settle it by binary
search, and if U still ties with some C_j in 64 bits, both are extended, 64 bits at a time, until they differ. The tail
beyond the table is a tie like any other, so nothing is cut off. No float takes part: the law is the stated one, as far
as the bits of the generator are fair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
