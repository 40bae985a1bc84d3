"""Data classes to JSON and back: nothing but what the classes say is read, and each refusal is one sentence.

A file that is read was written by anybody: no value in it names a file or a class.
"""

from __future__ import annotations

import enum
import functools
import json
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Final, TypeVar

from treedp_core.checks import InputError, echo
from treedp_core.records.strict_json import parse

MAX_BYTES: Final = 32 << 20
FORMAT: Final = "treedp plan"
VERSION: Final = 1
NOTICE: Final = "notice"
"""What a plan's own numbers say again when it is read."""

T = TypeVar("T")
_hints: Final = functools.cache(typing.get_type_hints)


def write(value: object, notice: str = "") -> str:
    """Return a data class as JSON, always the same text for the same values; a notice is for people and comes first.

    >>> from treedp_core.plans.statement import Bins
    >>> write(Bins("age", 8, (2, 4))).splitlines()[1:4]
    [' "format": "treedp plan",', ' "version": 1,', ' "column": "age",']
    """
    told = {NOTICE: notice} if notice else {}
    found = {"format": FORMAT, "version": VERSION, **told, **typing.cast("dict[str, object]", _plain(value))}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def read(kind: type[T], data: bytes | str) -> T:
    """Return the data class that `write` wrote.

    Raises
    ------
    InputError
        ``CONFIG_TOO_LARGE``, ``CONFIG_NOT_JSON``, ``CONFIG_TOO_DEEP``, ``CONFIG_VALUE``, ``CONFIG_DUPLICATE_KEY``,
        ``CONFIG_UNKNOWN_KEY``, ``CONFIG_MISSING_KEY``, ``CONFIG_TYPE``, ``CONFIG_VERSION``, and what the class refuses.
    """
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not isinstance(content, bytes):
        raise InputError("CONFIG_NOT_JSON", f"Expected the text of a plan's JSON, got {type(data).__name__}.")
    found = parse(content, most=MAX_BYTES, what="The plan")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError("CONFIG_NOT_JSON", "This JSON is no release plan; give one that Release plan saved as JSON.")
    version = found.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise InputError(
            "CONFIG_VERSION",
            f"Expected a plan of version {VERSION}, got version {echo(version)}; make it again with this TreeDP, or "
            "open it with the one that wrote it.",
        )
    rest = {key: value for key, value in found.items() if key not in ("format", "version", NOTICE)}
    return typing.cast("T", _built(kind, rest, "the plan"))


def _plain(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _built(kind: object, value: object, where: str) -> object:
    """Return a value as its declared type, or refuse it by name."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value, where)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _built(inner[0], value, where)
    if origin is tuple:
        return _sequence(inner, value, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        known = {one.value: one for one in kind}
        if not isinstance(value, str) or value not in known:
            told = ", ".join(map(str, known))
            raise InputError("CONFIG_VALUE", f"Expected {where} to be one of {told}, got {echo(value)}.")
        return known[value]
    return _atom(kind, value, where)


def _atom(kind: object, value: object, where: str) -> object:
    if kind is float and type(value) in (int, float):
        try:
            return float(typing.cast("float", value))
        except OverflowError:
            raise InputError("CONFIG_VALUE", f"Expected {where} to be a number that fits, got a larger one.") from None
    if type(value) is not kind:
        names = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
        told = names.get(typing.cast("type", kind), "a value")
        raise InputError("CONFIG_TYPE", f"Expected {where} to be {told}, got {echo(value)}.")
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError("CONFIG_VALUE", f"Expected {where} to be text, got half a character.")
    return value


def _sequence(inner: tuple[object, ...], value: object, where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise InputError("CONFIG_TYPE", f"Expected {where} to be a list, got {echo(value)}.")
    if len(inner) == 2 and inner[1] is ...:
        return tuple(_built(inner[0], one, where) for one in value)
    if len(inner) != len(value):
        raise InputError("CONFIG_TYPE", f"Expected {len(inner)} values in each entry of {where}, got {len(value)}.")
    return tuple(_built(kind, one, where) for kind, one in zip(inner, value, strict=True))


def _object(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise InputError("CONFIG_TYPE", f"Expected {where} to be an object, got {echo(value)}.")
    hints = _hints(kind)
    names = [one.name for one in fields(kind)]
    for key in value:
        if key not in names:
            raise InputError("CONFIG_UNKNOWN_KEY", f"Expected keys of {where} that a plan has, got {echo(key)}.")
    for name in names:
        if name not in value:
            raise InputError("CONFIG_MISSING_KEY", f"Expected {where} to have the key {echo(name)}, got none.")
    return kind(**{name: _built(hints[name], value[name], name) for name in names})
