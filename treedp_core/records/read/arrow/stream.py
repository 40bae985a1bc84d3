"""Files of Python as Arrow reads them: it must not close them, and is never the last to let go of them.

Arrow reads ahead in a thread of its own. Where that thread drops the last reference to something of Python's, it needs
the interpreter, and a program that ends at that moment is aborted ("terminate called without an active exception"). So
the latest of Arrow's views of files, which are empty by then, and of functions that it calls are held here until others
come or the program ends.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

import pyarrow as pa

_LATEST: Final[deque[object]] = deque(maxlen=32)


def hold_view(view: object) -> None:
    """Hold what Arrow has made of something of Python's."""
    _LATEST.append(view)


class _Lent(io.RawIOBase):
    """A stream until it is taken back; then it is at its end."""

    def __init__(self, stream: BinaryIO | io.RawIOBase) -> None:
        self._stream: BinaryIO | io.RawIOBase | None = stream

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        return b"" if self._stream is None else bytes(self._stream.read(size) or b"")

    def readable(self) -> bool:
        """Return True: this is an input stream."""
        return True

    def take_back(self) -> None:
        """Hold the stream no longer."""
        self._stream = None


@contextmanager
def lent(stream: BinaryIO | io.RawIOBase) -> Iterator[pa.PythonFile]:
    """Lend a stream to Arrow, which reads it to its end or until it is taken back."""
    mine = _Lent(stream)
    file = pa.PythonFile(mine, mode="r")
    hold_view(file)
    try:
        yield file
    finally:
        mine.take_back()
