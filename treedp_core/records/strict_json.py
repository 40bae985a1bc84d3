"""JSON that the app wrote itself, read back as if a stranger had: whatever is not plain is refused in one sentence."""

from __future__ import annotations

import enum
import functools
import json
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.words import megabytes

MAX_LEVELS: Final = 64
"""Of lists and objects inside one another."""
MAX_DIGITS: Final = 400
_BLOCK: Final = 1 << 18
_ALIKE: Final = bytes.maketrans(b"0123456789E", b"0000000000e")
"""All digits as one, and both signs of an exponent."""
_LARGE: Final = (b"0" * 200, b"e000", b"e+000")
"""What stands in every number, so written, that is not below 1e300."""
_UNNESTED: Final = bytes(set(range(256)) - set(b'[]{}"'))

Json = dict[str, Any] | list[Any] | str | int | float | bool | None


def parse(content: bytes, *, most: int, what: str = "The file") -> Json:
    """Return what a JSON text of at most `most` bytes holds; every number in it is finite, every key there once.

    Raises
    ------
    InputError
        ``CONFIG_TOO_LARGE``, ``CONFIG_TOO_DEEP``, ``CONFIG_NOT_JSON``, ``CONFIG_DUPLICATE_KEY``, ``CONFIG_VALUE``.

    >>> parse(b'{"eps": 1.5}', most=100)
    {'eps': 1.5}
    >>> parse(b'{"eps" 1}', most=100)
    Traceback (most recent call last):
    treedp_core.checks.InputError: The file is not JSON, line 1, column 8: Expecting ':' delimiter.
    >>> parse(b'{"eps": 1, "eps": 100}', most=100)
    Traceback (most recent call last):
    treedp_core.checks.InputError: The file names 'eps' twice; expected each name once.
    """
    if len(content) > most:
        size, limit = megabytes(len(content)), megabytes(most)
        raise InputError("CONFIG_TOO_LARGE", f"{what} has {size} of JSON; at most {limit} are accepted.")
    if _levels(content) > MAX_LEVELS:
        raise InputError("CONFIG_TOO_DEEP", f"{what} nests lists or objects more than {MAX_LEVELS} times.")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError("CONFIG_DUPLICATE_KEY", f"{what} names {echo(twice)} twice; expected each name once.")
        return found

    def refuse(text: str) -> NoReturn:
        raise InputError("CONFIG_VALUE", f"{what} holds the number {echo(text[:50])}; expected finite numbers.")

    def real(text: str) -> float:
        value = float(text)
        return value if abs(value) < float("inf") else refuse(text)

    def whole(text: str) -> int:
        return int(text) if len(text) <= MAX_DIGITS else refuse(text)

    read: dict[str, Any] = {"parse_float": real, "parse_int": whole} if _may_be_large(content) else {}
    try:
        text = content.decode("utf-8-sig")
        found: Json = json.loads(text, object_pairs_hook=once, parse_constant=refuse, **read)
        return found
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wrong = f"is not text in UTF-8, line {line}, byte {error.start + 1}; save it in that encoding"
    except json.JSONDecodeError as error:
        wrong = f"is not JSON, line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        wrong = "is not JSON: it nests too deeply"
    raise InputError("CONFIG_NOT_JSON", f"{what} {wrong}.")  # outside the handlers, as their errors hold the text


def members(given: Json, what: str, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Return an object that has exactly the named members, each of its kind; a bool is no number.

    Raises
    ------
    InputError
        ``CONFIG_TYPE``, ``CONFIG_UNKNOWN_KEY``, ``CONFIG_MISSING_KEY``.

    >>> members({"eps": 1.0}, "A setting", eps=float)
    {'eps': 1.0}
    >>> members({"eps": True}, "A setting", eps=float)
    Traceback (most recent call last):
    treedp_core.checks.InputError: A setting: expected eps to be a number, got True.
    """
    if not isinstance(given, dict):
        raise InputError("CONFIG_TYPE", f"{what}: expected an object, got {echo(given)}.")
    unknown = next((key for key in given if key not in kinds), None)
    if unknown is not None:
        raise InputError("CONFIG_UNKNOWN_KEY", f"{what} has {echo(unknown)}, which this version does not know.")
    for key, kind in kinds.items():
        if key not in given:
            raise InputError("CONFIG_MISSING_KEY", f"{what} lacks {echo(key)}.")
        given[key] = _of_kind(f"{what}: expected {key}", given[key], kind if isinstance(kind, tuple) else (kind,))
    return given


_WORDS: Final = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip


def _of_kind(name: str, value: Json, kinds: tuple[type, ...]) -> Json:
    if type(value) in kinds:
        return value
    if type(value) is int and float in kinds and abs(value) <= 2**53:
        return float(value)
    expected = " or ".join(_WORDS[kind] for kind in kinds)
    shown = value if isinstance(value, (str, int, float, bool)) or value is None else _WORDS[type(value)]
    raise InputError("CONFIG_TYPE", f"{name} to be {expected}, got {echo(shown)}.")


def _may_be_large(content: bytes) -> bool:
    """Whether a number of a text may be; to look at each of them takes longer than all else."""
    alike = content.translate(_ALIKE)
    return any(one in alike for one in _LARGE)


def _levels(content: bytes) -> int:
    """How many lists and objects stand inside one another at most; what stands in text does not count."""
    unescaped = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = np.frombuffer(unescaped.translate(None, _UNNESTED), np.uint8)
    level, most, in_text = 0, 0, 0
    for start in range(0, bare.size, _BLOCK):
        block = bare[start : start + _BLOCK]
        quotes = in_text + np.cumsum(block == ord('"'))
        steps = ((block == ord("[")) | (block == ord("{"))).astype(np.int8)
        steps -= (block == ord("]")) | (block == ord("}"))
        levels = level + np.cumsum(np.where(quotes & 1, 0, steps))
        level, most, in_text = int(levels[-1]), max(most, int(levels.max())), int(quotes[-1]) & 1
    return most


# ---- data classes to JSON and back: nothing but what the classes say is read, and each refusal is one sentence.
#
# A file that is read was written by anybody: no value in it names a file or a class.


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
