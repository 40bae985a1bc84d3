"""What differs between two figures of one kind, so that one can be drawn from the other in place."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

Path = tuple[str | int, ...]
Difference = list[Any]
"""A path of names and places, and what stands there now; the path alone where nothing does."""
EXACT: Final = 32
"""Numbers of an array up to which each keeps all of its digits; more of them are drawn, and have seven."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return what to put into the parts of one figure to have the other's, as JSON can hold it.

    >>> differences({"data": [{"y": [1, 2], "name": "a"}]}, {"data": [{"y": [1, 3], "name": "a"}]})
    [[['data', 0, 'y'], [1, 3]]]
    >>> differences({"layout": {"title": "t"}}, {"layout": {}})
    [[['layout', 'title']]]
    """
    return list(_of_parts(old, new, ()))


def applied(parts: Mapping[str, Any], found: Sequence[Difference]) -> dict[str, Any]:
    """Return parts of a figure with differences put into them; the old ones stay as they are.

    >>> applied({"data": [{"y": [1, 2]}]}, [[["data", 0, "y"], [1, 3]]])
    {'data': [{'y': [1, 3]}]}
    """
    made: object = parts
    for path, *value in found:
        made = _put(made, path, value)
    return dict(made) if isinstance(made, Mapping) else {}


def _put(parts: object, path: Sequence[str | int], value: list[object]) -> object:
    first, *rest = path
    copied: dict[object, object] | list[object]
    copied = dict(parts) if isinstance(parts, Mapping) else list(parts) if isinstance(parts, list | tuple) else {}
    held: Any = copied
    if rest:
        held[first] = _put(held[first], rest, value)
    elif value:
        held[first] = value[0]
    else:
        del held[first]
    return copied


def digest(*parts: object) -> str:
    """Return what tells parts of a figure from any other.

    >>> same, other = [{"x": np.array([1.0, 2.0]), "name": "a"}], [{"x": np.array([1.0, 3.0]), "name": "a"}]
    >>> digest(same) == digest([dict(same[0])]), digest(same) == digest(other)
    (True, False)
    """
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        _feed(found, part)
    return found.hexdigest()


def _feed(found: hashlib.blake2b, part: object) -> None:
    if isinstance(part, Mapping):
        for name, one in part.items():
            found.update(repr(name).encode())
            _feed(found, one)
    elif isinstance(part, np.ndarray) and part.dtype.kind in "fiub":
        found.update(repr((part.dtype.str, part.shape)).encode())
        found.update(part.tobytes())
    elif isinstance(part, np.ndarray):
        _feed(found, part.tolist())
    elif isinstance(part, list | tuple) and any(isinstance(one, Mapping | np.ndarray) for one in part):
        for one in part:
            _feed(found, one)
    else:
        found.update(repr(part).encode())


def _of_parts(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> Iterator[Difference]:
    yield from ([[*path, name]] for name in old if name not in new)
    for name, part in new.items():
        if name in old:
            yield from _of(old[name], part, (*path, name))
        else:
            yield [[*path, name], written(part)]


def _of(old: object, new: object, path: Path) -> Iterator[Difference]:
    if old is new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "bdata" not in new:
        yield from _of_parts(old, new, path)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and _are_of_parts(old, new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _of(before, after, (*path, at))
    elif not _are_equal(old, new):
        yield [[*path], written(new)]


def _are_of_parts(old: Sequence[object], new: Sequence[object]) -> bool:
    return len(old) == len(new) and all(isinstance(one, Mapping) for one in (*old, *new))


def _are_equal(old: object, new: object) -> bool:
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        before, after = np.asarray(old), np.asarray(new)
        numeric = before.dtype.kind == "f" and after.dtype.kind == "f"
        return before.shape == after.shape and bool(np.array_equal(before, after, equal_nan=numeric))
    return old == new or (old != old and new != new)  # what is no number is not equal to itself


def written(part: object) -> object:
    """Return a part of a figure as JSON holds it: arrays of numbers packed as plotly unpacks them.

    >>> written(np.array([1.5, np.nan]))
    [1.5, None]
    """
    if isinstance(part, Mapping):
        if part.get("dtype") == "f8" and "shape" not in part:  # packed already, with all of its digits
            return written(np.frombuffer(base64.b64decode(part["bdata"]), dtype="<f8"))
        return {name: written(one) for name, one in part.items()}
    if isinstance(part, np.ndarray):
        if part.ndim == 1 and part.size > EXACT and part.dtype.kind in "fiu":
            kind, code = (np.float32, "f4") if part.dtype.kind == "f" or part.dtype.itemsize > 4 else (np.int32, "i4")
            packed = np.ascontiguousarray(part, dtype=np.dtype(kind).newbyteorder("<"))
            return {"dtype": code, "bdata": base64.b64encode(packed.tobytes()).decode("ascii")}
        return written(part.tolist())
    if isinstance(part, list | tuple):
        is_of_numbers = len(part) > EXACT and all(type(one) is float for one in part)
        return written(np.array(part)) if is_of_numbers else [written(one) for one in part]
    if isinstance(part, np.generic):
        part = part.item()
    return None if isinstance(part, float) and not np.isfinite(part) else part
