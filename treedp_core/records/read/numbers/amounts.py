"""Arrow columns of counts or of numbers -> numpy arrays; text is read by one rule, digits only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of, is_numeric, is_text, plain_numpy, text_lengths
from treedp_core.records.read.numbers.marks import PLAIN, Place, Unsaid, apart, pattern, shown, with_points
from treedp_core.words import whole

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

MAXNUMBER_BYTES: Final = 64

NUMBER: Final = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?\s*$"


def weights(
    array: pa.Array, name: str, row: int, marks: str | None = None, kept: NDArray[np.bool_] | None = None
) -> IntArray:
    """Return the counts of a batch, (n,) int64, 0 where it is not `kept`; `row` is the first row's shown number.

    Text must match ``[0-9]{1,16}`` unless the marks of the column were said, a key of `MARKS`.

    Raises
    ------
    InputError
        ``COUNT_MISSING``, ``COUNT_NEGATIVE``, ``COUNT_NOT_INTEGER``, ``COUNT_TOO_LARGE``, ``COLUMN_TYPE``.
    """
    if kept is not None:
        rows, found = np.flatnonzero(kept), np.zeros(kept.size, dtype=np.int64)
        found[kept] = _counts(array.filter(pa.array(kept)), name, lambda at: row + int(rows[at]), marks)
        return found
    return _counts(array, name, lambda at: row + at, marks)


def _counts(array: pa.Array, name: str, place: Place, marks: str | None) -> IntArray:
    values, cells, where = _distinct(array, name, place, _refuse_count)
    text, own = apart(values)
    text = text if marks is None else _without_marks(text, marks)
    whole = _whole(text if own is None else pc.coalesce(_without_marks(own, PLAIN), own, text), name, where)
    return whole if cells is None else whole[cells]


def numbers(array: pa.Array, name: str, row: int, marks: str | Unsaid) -> FloatArray:
    """Return a batch, (n,) float64; NaN where a cell is blank or no number with these marks, a key of `MARKS`.

    `row` is the first row's shown number. Where no marks were said, `Unsaid` looks at what is read with a point.

    Raises
    ------
    InputError
        ``COLUMN_TYPE``, ``NUMBER_TOO_LONG``, ``MARKS``.
    """
    values, cells, where = _distinct(array, name, lambda at: row + at, _refuse_number)
    real = _real(values, name, marks, cells, where)
    return real if cells is None else real[cells]


def _distinct(
    array: pa.Array, name: str, place: Place, refuse: Callable[[str, int, str], None]
) -> tuple[pa.Array, NDArray[np.int64] | None, Place]:
    """Return plain values, which of them each cell holds (None: each its own), and the row a value stands in first.

    Text too long for a number is refused by its length. A dictionary is never written out as text: a file of a few
    hundred bytes can repeat one entry of a megabyte.
    """
    if not pa.types.is_dictionary(array.type):
        _refuse_long(array, lambda at, written: refuse(name, place(at), written))
        return _known_text(array), None, place
    indices = indices_of(array)
    used = np.zeros(len(array.dictionary) + 1, dtype=np.bool_)
    used[indices] = True
    entries = np.flatnonzero(used)
    cells = (np.cumsum(used) - 1)[indices]

    def where(at: int) -> int:
        return place(int(np.argmax(cells == at)))

    missing = entries == len(array.dictionary)
    held = array.dictionary.filter(pa.array(used[:-1]))
    _refuse_long(held, lambda at, written: refuse(name, where(at), written))
    values = pa.concat_arrays([held, pa.nulls(int(missing.sum()), held.type)])
    return _known_text(values), cells, where


def _refuse_long(values: pa.Array, refuse: Callable[[int, str], None]) -> None:
    """Refuse text too long for a number by its length in bytes, before anything is done with it."""
    if len(values) == 0 or not is_text(values.type):
        return
    lengths = text_lengths(values)
    if int(lengths.max()) > MAXNUMBER_BYTES:
        at = int(np.argmax(lengths > MAXNUMBER_BYTES))
        start = pc.utf8_slice_codeunits(values.slice(at, 1).cast(pa.large_string()), 0, MAXNUMBER_BYTES + 1)
        refuse(at, shown(start[0].as_py()))


def _refuse_number(name: str, row: int, written: str) -> None:
    raise InputError(
        "NUMBER_TOO_LONG",
        f"Column {echo(name)}, row {whole(row)}: {echo(written)} is too long; a number has at most {MAXNUMBER_BYTES} "
        "characters.",
    )


def _known_text(array: pa.Array) -> pa.Array:
    """Return text in the form that Arrow's functions know."""
    return array.cast(pa.string()) if array.type == pa.string_view() else array


def _whole(array: pa.Array, name: str, where: Place) -> IntArray:
    """Return plain values as counts."""
    if array.null_count:
        _refuse_count(name, where(int(np.argmax(plain_numpy(array.is_null())))), "")
    kind = array.type
    if is_text(kind):
        plain = plain_numpy(pc.match_substring_regex(array, "^[0-9]{1,16}$"))
        if not plain.all():
            at = int(np.argmin(plain))
            _refuse_count(name, where(at), array[at].as_py())
        values = plain_numpy(array.cast(pa.int64()))
    elif pa.types.is_integer(kind):
        if kind == pa.uint64() and len(array) and pc.max(array).as_py() > checks.MAX_COUNT:
            at = int(np.argmax(plain_numpy(array)))
            _refuse_count(name, where(at), str(array[at].as_py()))
        values = plain_numpy(array).astype(np.int64, copy=False)
    elif pa.types.is_floating(kind) and kind != pa.float16():
        exact = plain_numpy(array).astype(np.float64, copy=False)
        whole = (exact == np.floor(exact)) & (np.abs(exact) <= checks.MAX_COUNT)
        if not whole.all():
            at = int(np.argmin(whole))
            _refuse_count(name, where(at), repr(float(exact[at])))
        values = exact.astype(np.int64)
    else:
        raise InputError(
            "COLUMN_TYPE", f"Column {echo(name)} holds {echo(str(kind))}; a count column holds whole numbers."
        )
    outside = (values < 0) | (values > checks.MAX_COUNT)
    if outside.any():
        at = int(np.argmax(outside))
        _refuse_count(name, where(at), str(values[at]))
    return values


def _without_marks(values: pa.Array, marks: str) -> pa.Array:
    """Return text that is a whole number with these marks as digits only; other values as they are."""
    if not is_text(values.type):
        return values
    fits = pc.match_substring_regex(values, pattern(marks)).fill_null(False)
    bare = pc.replace_substring_regex(with_points(pc.utf8_trim_whitespace(values), marks), r"\.0*$", "")
    return pc.if_else(pc.and_(fits, pc.match_substring_regex(bare, "^[0-9]+$")), bare, values)


def _real(array: pa.Array, name: str, marks: str | Unsaid, cells: NDArray[np.int64] | None, where: Place) -> FloatArray:
    """Return plain values as numbers."""
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    own = None
    if is_text(array.type):
        array, own = apart(array)
        said = marks if isinstance(marks, str) else PLAIN
        plain = pc.match_substring_regex(array, NUMBER if said == PLAIN else pattern(said)).fill_null(False)
        if isinstance(marks, Unsaid):
            marks.look(array, plain, cells, where)
        cleaned = pc.utf8_trim_whitespace(with_points(pc.if_else(plain, array, None), said))
        cleaned = pc.replace_substring_regex(cleaned, r"^\+", "")
        array = _infinities(array, cleaned.cast(pa.float64()))
    elif not is_numeric(array.type):
        raise InputError("COLUMN_TYPE", f"Column {echo(name)} holds {echo(str(array.type))}; expected numbers.")
    elif array.type == pa.float32() or pa.types.is_decimal(array.type):
        array = array.cast(pa.string())  # the decimals that are seen: 0.7 in 32 bits is below 0.7 in 64
    elif array.type == pa.float16():
        held, cells = np.unique(plain_numpy(array), return_inverse=True)
        array = pa.array(held.astype(str).astype(np.float64)[cells], mask=plain_numpy(array.is_null()))
    found = array.cast(pa.float64(), safe=False)
    filled = (found if own is None else pc.coalesce(own.cast(pa.float64()), found)).fill_null(float("nan"))
    return plain_numpy(filled)


def _infinities(array: pa.Array, values: pa.Array) -> pa.Array:
    """Restore infinities written as text: they are outside any range rather than missing."""
    sign = pc.match_substring_regex(array, r"^\s*-")
    named = pc.match_substring_regex(array, r"(?i)^\s*[+-]?inf(inity)?\s*$").fill_null(False)
    if not pc.any(named).as_py():
        return values
    return pc.if_else(named, pc.if_else(sign, float("-inf"), float("inf")), values)


def _refuse_count(name: str, row: int, written: str) -> None:
    """Refuse one count, saying why; the value itself is shown only as far as a message may."""
    cell = f"Column {echo(name)}, row {whole(row)}"
    rule = "counts are whole numbers written with the digits 0-9 only"
    if written == "":
        raise InputError("COUNT_MISSING", f"{cell}: the count is missing; {rule}.")
    if re.fullmatch(r"-[0-9]+", written, re.ASCII):
        raise InputError("COUNT_NEGATIVE", f"{cell}: the count {echo(written)} is negative; {rule}.")
    if re.fullmatch(r"[0-9]+", written, re.ASCII):
        raise InputError(
            "COUNT_TOO_LARGE",
            f"{cell}: the count {echo(written)} is too large; at most {whole(checks.MAX_COUNT)} is accepted.",
        )
    is_marked = re.fullmatch(r"[0-9]{1,3}([,.' ][0-9]{3})+", written, re.ASCII)
    hint = " unless the option marks says which marks they have" if is_marked else ""
    raise InputError("COUNT_NOT_INTEGER", f"{cell}: {echo(written)} is not a count; {rule}{hint}.")
