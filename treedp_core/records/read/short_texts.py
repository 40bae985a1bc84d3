"""Codes of short texts met before, looked up for a whole batch at once.

A text of at most seven bytes is one number of 64 bits: its bytes, and how many they are. The numbers are looked up in a
table by a multiplicative hash (Knuth 1998, section 6.4), with steps to the next place where two meet. What is found is
the same text byte for byte, so what was checked of it when it was learned holds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treedp_core.records.arrays import text_bounds

WIDEST: Final = 7  # bytes of a text, so that its length has the eighth byte for itself
_BITS: Final = 13  # places of the table, as a power of two: what a core keeps close at hand
_MOST: Final = 1 << (_BITS - 2)  # texts in it: at a quarter of its places hardly two meet
_STEPS: Final = 8
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio, odd

KeyArray = NDArray[np.uint64]


class ShortTexts:
    """The codes of the short texts of one column, over all batches."""

    def __init__(self) -> None:
        self._keys: KeyArray = np.zeros((1 << _BITS) + _STEPS, dtype=np.uint64)  # 0 where nothing is
        self._codes = np.zeros(self._keys.size, dtype=np.int32)
        self._room = _MOST

    def codes(self, array: pa.Array) -> NDArray[np.int32] | None:
        """Return the code of each cell, (n,), or None unless all are short texts that were learned."""
        keys = _keys(array) if 0 < self._room < _MOST else None
        if keys is None:
            return None
        place = _places(keys)
        for _ in range(_STEPS):
            found = self._keys.take(place, mode="wrap")  # places are within the table; this asks nothing about them
            same = found == keys
            if same.all():
                codes: NDArray[np.int32] = self._codes.take(place, mode="wrap")
                return codes
            if not found.all():
                return None
            place += ~same
        return None

    def learn(self, texts: pa.Array, codes: NDArray[np.int32]) -> None:
        """Remember the codes (n,) of n distinct texts; a column with too many is not looked up any more."""
        short = _keys(texts) if self._room > 0 else None
        if short is None:
            return
        for key, code, place in zip(short.tolist(), codes.tolist(), _places(short).tolist(), strict=False):
            step = self._keys[place : place + _STEPS].tolist()
            if key in step:
                continue
            self._room -= 1
            if 0 in step and self._room > 0:
                at = place + step.index(0)
                self._keys[at], self._codes[at] = key, code


def _places(keys: KeyArray) -> NDArray[np.int64]:
    places = keys * _FACTOR
    places >>= np.uint64(64 - _BITS)
    return places.view(np.int64)


def _keys(array: pa.Array) -> KeyArray | None:
    """Return the number of each text, (n,): its bytes, and below them its length plus one; None if one is long."""
    if array.type != pa.string() or array.null_count or not len(array):
        return None
    starts = text_bounds(array)
    first, last = int(starts[0]), int(starts[-1])
    lengths = np.diff(starts)
    widest = int(lengths.max())
    if widest > WIDEST:
        return None
    data = np.zeros(last - first + 8, dtype=np.uint8)  # eight bytes can be read from where the last text begins
    if last > first:
        data[:-8] = np.frombuffer(array.buffers()[2], dtype=np.uint8)[first:last]
    if widest * lengths.size == last - first:  # all of one width
        keys: KeyArray = np.ndarray(lengths.size, dtype="<u8", buffer=data, strides=(widest,)).astype(np.uint64)
        size: KeyArray | np.uint64 = np.uint64(widest)
    else:
        keys = np.ndarray(last - first + 1, dtype="<u8", buffer=data, strides=(1,))[starts[:-1] - first]
        size = lengths.astype(np.uint64)
    keys <<= np.uint64(64) - np.uint64(8) * size
    keys |= size + np.uint64(1)
    return keys
