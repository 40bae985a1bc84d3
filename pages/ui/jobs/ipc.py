"""Objects between this server and its own workers: pickled, with arrays and long bytes beside the pickle, not in it.

What an object was made with comes back as itself: the work names its trees and arrays, the answer refers to them.
Only processes that this server started are at the other end; nothing that was uploaded is ever read this way.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

_COUNTS: Final = struct.Struct("!II")
LONG: Final = 1 << 16
"""Bytes from this length on go beside the pickle: the content of a file is not copied into it."""


def send(channel: socket.socket, content: object, given: Sequence[object] = ()) -> None:
    """Send an object; one of `given` in it is sent as its number.

    Raises
    ------
    OSError
        Nobody is at the other end any more.
    """
    numbers = {id(one): number for number, one in enumerate(given)}
    buffers: list[pickle.PickleBuffer] = []
    long: list[bytes] = []
    body = io.BytesIO()
    _Pickler(body, numbers, long, buffers).dump(content)
    parts = [body.getbuffer(), *(memoryview(one) for one in long), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"!{len(parts)}Q", *(part.nbytes for part in parts))
    channel.sendall(_COUNTS.pack(len(parts), len(long)) + sizes)
    for part in parts:
        channel.sendall(part)


def receive(channel: socket.socket, given: Sequence[object] = ()) -> Any:
    """Return the next object; a number in it stands for that one of `given`.

    Raises
    ------
    EOFError, OSError
        The other end was closed.
    """
    n_parts, n_long = _COUNTS.unpack(_read(channel, _COUNTS.size))
    size, *sizes = struct.unpack(f"!{n_parts}Q", _read(channel, 8 * n_parts))
    body = io.BytesIO(_read(channel, size))
    long = [bytes(_read(channel, size)) for size in sizes[:n_long]]
    return _Unpickler(body, given, long, [_read(channel, size) for size in sizes[n_long:]]).load()


def parts_of(content: object) -> list[object]:
    """Return the dataclass objects and the arrays in an object, in an order that a copy of it keeps."""
    found: dict[int, object] = {}
    _collect(content, found)
    return list(found.values())


def _collect(content: object, found: dict[int, object]) -> None:
    if id(content) in found:
        return
    is_record = dataclasses.is_dataclass(content) and not isinstance(content, type)
    if is_record or isinstance(content, np.ndarray):
        found[id(content)] = content
    for inner in _inside(content) if is_record or isinstance(content, tuple | dict) else ():
        _collect(inner, found)


def _inside(content: Any) -> Iterator[object]:
    if isinstance(content, tuple):
        yield from content
    elif isinstance(content, dict):
        yield from content.values()
    else:
        yield from (getattr(content, field.name, None) for field in dataclasses.fields(content))


class _Pickler(pickle.Pickler):
    def __init__(
        self, body: io.BytesIO, numbers: dict[int, int], long: list[bytes], buffers: list[pickle.PickleBuffer]
    ) -> None:
        super().__init__(body, protocol=5, buffer_callback=buffers.append)
        self.numbers, self.long = numbers, long

    def persistent_id(self, content: object) -> tuple[bool, int] | None:
        """Whether it was given or is long, and its number among those."""
        if id(content) in self.numbers:
            return True, self.numbers[id(content)]
        if type(content) is bytes and len(content) >= LONG:
            self.long.append(content)
            return False, len(self.long) - 1
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, body: io.BytesIO, given: Sequence[object], long: Sequence[bytes], buffers: Sequence[bytearray]
    ) -> None:
        super().__init__(body, buffers=buffers)
        self.given, self.long = given, long

    def persistent_load(self, place: Any) -> object:
        is_given, number = place
        return (self.given if is_given else self.long)[number]


def _read(channel: socket.socket, size: int) -> bytearray:
    content = bytearray(size)
    left = memoryview(content)
    while left:
        n = channel.recv_into(left)
        if not n:
            raise EOFError
        left = left[n:]
    return content
