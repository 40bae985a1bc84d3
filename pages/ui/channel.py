"""Objects between this server and its own workers: pickled, with their arrays beside the pickle and not copied into it.

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

_COUNT: Final = struct.Struct("!I")


def send(channel: socket.socket, content: object, given: Sequence[object] = ()) -> None:
    """Send an object; one of `given` in it is sent as its number.

    Raises
    ------
    OSError
        Nobody is at the other end any more.
    """
    numbers = {id(one): number for number, one in enumerate(given)}
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    _Pickler(body, numbers, buffers).dump(content)
    parts = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    channel.sendall(_COUNT.pack(len(parts)) + struct.pack(f"!{len(parts)}Q", *(part.nbytes for part in parts)))
    for part in parts:
        channel.sendall(part)


def receive(channel: socket.socket, given: Sequence[object] = ()) -> Any:
    """Return the next object; a number in it stands for that one of `given`.

    Raises
    ------
    EOFError, OSError
        The other end was closed.
    """
    (n_parts,) = _COUNT.unpack(_read(channel, _COUNT.size))
    sizes = struct.unpack(f"!{n_parts}Q", _read(channel, 8 * n_parts))
    body, *buffers = (_read(channel, size) for size in sizes)
    return _Unpickler(io.BytesIO(body), given, buffers).load()


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
    def __init__(self, body: io.BytesIO, numbers: dict[int, int], buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(body, protocol=5, buffer_callback=buffers.append)
        self.numbers = numbers

    def persistent_id(self, content: object) -> int | None:
        return self.numbers.get(id(content))


class _Unpickler(pickle.Unpickler):
    def __init__(self, body: io.BytesIO, given: Sequence[object], buffers: Sequence[bytearray]) -> None:
        super().__init__(body, buffers=buffers)
        self.given = given

    def persistent_load(self, number: Any) -> object:
        return self.given[number]


def _read(channel: socket.socket, size: int) -> bytearray:
    content = bytearray(size)
    left = memoryview(content)
    while left:
        n = channel.recv_into(left)
        if not n:
            raise EOFError
        left = left[n:]
    return content
