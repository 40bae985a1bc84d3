"""Cells of Arrow's types as the text that a person reads: what becomes of one depends on no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treedp_core.checks import InputError
from treedp_core.records.arrays import is_text

_EXACT: Final = 2.0**53
"""Whole numbers below it are what a double holds."""

OUT_OF_RANGE: Final = "<value out of range"
"""How Arrow begins to say that a date or a time lies beyond its calendar."""


def is_binary(kind: pa.DataType) -> bool:
    """Whether a type holds bytes, perhaps of text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _cast(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _date(array: pa.Array) -> pa.Array:
    return array.cast(pa.date32()).cast(pa.string())


def _binary(array: pa.Array) -> pa.Array:
    try:
        return array.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        pass  # refused outside the handler: the error may quote cells
    raise InputError("ENCODING", "The table holds bytes that are no text in UTF-8; make text of them, or leave them.")


def _double(array: pa.Array) -> pa.Array:
    """Doubles in their shortest form, whole ones without a point, as codes were before a blank made doubles of them."""
    real = array.cast(pa.float32()) if array.type == pa.float16() else array
    is_whole = pc.and_(pc.equal(pc.floor(real), real), pc.less(pc.abs(real), _EXACT))
    whole = pc.if_else(is_whole, real, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(whole, pc.if_else(pc.is_nan(real), None, real).cast(pa.string()))


def _decimal(array: pa.Array) -> pa.Array:
    """Decimals without the zeros that only their type adds."""
    texts = array.cast(pa.string())
    if pc.any(pc.match_substring(texts, "E")).as_py():  # tiny ones, and zeros of a type with many places
        texts = pa.array([None if one is None else format(one, "f") for one in array.to_pylist()], pa.string())
    return _trimmed(texts)


def _trimmed(texts: pa.Array) -> pa.Array:
    """Numbers as text, an offset perhaps behind them, without the zeros that end their fraction."""
    ends = r"([+-]\d{4}|Z)?$"
    bare = pc.replace_substring_regex(texts, rf"(\.\d*?)0*{ends}", r"\1\2")
    return pc.replace_substring_regex(bare, rf"\.{ends}", r"\1")


def _time(array: pa.Array) -> pa.Array:
    """Times as on the clock of their zone, its offset behind them; no zeros behind the second."""
    return _trimmed(array.cast(pa.string()))


_WAYS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...]] = (
    (is_text, _cast),
    (pa.types.is_integer, _cast),
    (pa.types.is_boolean, _cast),
    (pa.types.is_null, _cast),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _time),
    (pa.types.is_time, _time),
    (pa.types.is_floating, _double),
    (pa.types.is_decimal, _decimal),
    (is_binary, _binary),
)
"""Kinds of types, and what makes text of them."""


def is_readable(kind: pa.DataType) -> bool:
    """Whether cells of a type are labels once they are text."""
    return any(fits(kind) for fits, _ in _WAYS)


def as_words(array: pa.Array) -> pa.Array:
    """Return the cells of a type that `is_readable` as text, (n,) of `pa.string`; what is no number is missing.

    Raises
    ------
    InputError
        ``ENCODING`` for bytes that are no text.

    >>> as_words(pa.array([1001.0, 1.5, float("nan"), 123456789012.0])).to_pylist()
    ['1001', '1.5', None, '123456789012']
    >>> from datetime import datetime
    >>> as_words(pa.array([datetime(2024, 3, 5, 23, 30), datetime(2024, 3, 5, 0, 0, 0, 250_000)])).to_pylist()
    ['2024-03-05 23:30:00', '2024-03-05 00:00:00.25']
    """
    if array.type == pa.string():
        return array
    return next(way for fits, way in _WAYS if fits(array.type))(array)
