"""Arrow columns of labels -> codes; every check runs on the distinct values of a batch, not on its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of, is_numeric, is_text, text_bounds, text_lengths
from treedp_core.records.read import text
from treedp_core.records.read.arrow.cells import as_words, is_binary, is_readable
from treedp_core.records.read.numbers.marks import as_shown
from treedp_core.records.read.text import reads_as_total
from treedp_core.words import whole

# ---- codes of short texts met before, looked up for a whole batch at once.
#
# A text of at most seven bytes is one number of 64 bits: its bytes, and how many they are. The numbers are looked up in
# a table by a multiplicative hash (Knuth 1998, section 6.4), with steps to the next place where two meet. What is found
# is the same text byte for byte, so what was checked of it when it was learned holds.


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


_FEW: Final = 10
_MOST_ORDERED: Final = 10_000


class LabelColumn:
    """The codes of one column's labels over all batches.

    Parameters
    ----------
    name : str
        The column, for messages.
    listed : sequence of str or None
        The public labels; None lets the vocabulary follow the data (codes by first appearance).
    first_row : int
        Number of the first record, for messages.
    """

    def __init__(self, name: str, listed: tuple[str, ...] | None, first_row: int) -> None:
        self.name = name
        self.labels: list[str] = list(listed or ())
        self.is_listed = listed is not None
        self.blank = self.unknown = -1
        self.renormalised = 0
        self.first_unknown: tuple[str, int] | None = None
        self.unlisted_totals: dict[str, None] = {}
        self.spaced: tuple[str, int, str] | None = None
        """The first label that differs from a listed one only by spaces, its row, and that one."""
        self._first_row = first_row
        self._codes = {label: code for code, label in enumerate(self.labels)}
        self._last: tuple[Any, bool, NDArray[np.int32]] | None = None
        self._short = ShortTexts()

    def treat(self, blank: int, unknown: int) -> None:
        """Set the codes of blank cells and of labels that are not listed (listed vocabularies only)."""
        self.blank, self.unknown = blank, unknown
        self._codes[""] = blank

    @cached_property
    def _by_words(self) -> dict[str, str]:
        """The listed labels, each by its words with one space between them."""
        return {" ".join(label.split()): label for label in self.labels}

    @property
    def size(self) -> int:
        """Codes used so far (0 .. size - 1)."""
        return max(len(self.labels), self.blank + 1, self.unknown + 1)

    def codes(self, array: pa.Array, row: int) -> NDArray[np.int32]:
        """Return the codes (n,) of the cells of a batch whose first record is `row` (0-based)."""
        met = self._short.codes(array)
        if met is not None:
            return met
        encoded = self.encoded(array, row)
        dictionary, indices = encoded.dictionary, indices_of(encoded)
        missing = encoded.indices.null_count > 0
        if self._last is None or self._last[1] < missing or not self._last[0].equals(dictionary):
            self._last = dictionary, missing, self._table(dictionary, indices, row, missing)
        codes: NDArray[np.int32] = self._last[2]
        if not pa.types.is_dictionary(array.type):
            self._short.learn(dictionary, codes)
        return codes[indices]

    def _table(self, dictionary: pa.Array, indices: NDArray[np.int32], row: int, missing: bool) -> NDArray[np.int32]:
        """Return the code of every dictionary entry, and last, if any cell is missing, the code of a blank."""
        checks.nodes(len(dictionary), f"Column {echo(self.name)}")
        where = partial(self._row, indices, row)
        raw = dictionary.to_pylist() + [""] * missing
        codes = list(map(self._codes.get, raw))
        if None in codes:
            self._admit_all(codes, raw, where)
        return np.array(codes, dtype=np.int32)

    def _admit_all(self, codes: list[Any], raw: Sequence[Any], where: Callable[[int], int]) -> None:
        """Fill in the codes of labels met for the first time; those in plain letters need no closer look."""
        listed, labels, known = self.is_listed, self.labels, self._codes
        for entry, code in enumerate(codes):
            if code is not None:
                continue
            label = raw[entry] or ""
            if listed or not text.is_plain(label):
                codes[entry] = self._admit(label, partial(where, entry))
                continue
            codes[entry] = known.setdefault(label, len(labels))
            if codes[entry] == len(labels):
                labels.append(label)
        checks.nodes(len(labels) + 1, f"Column {echo(self.name)}")

    def encoded(self, array: pa.Array, row: int) -> pa.DictionaryArray:
        """Return a batch as a dictionary of text; entries that are too long are refused before anything is copied."""
        kind = array.type
        if not pa.types.is_dictionary(kind):
            if not is_readable(kind):
                raise _label_type(self.name, kind)
            self._refuse_long(array, lambda at: self._first_row + row + at)
            return as_shown(as_words(array)).dictionary_encode()
        if not is_readable(kind.value_type):
            raise _label_type(self.name, kind.value_type)
        self._refuse_long(array.dictionary, lambda entry: self._row(indices_of(array), row, entry))
        if kind.value_type == pa.string() and kind.index_type == pa.int32():
            entries = as_shown(array.dictionary)
            return array if entries is array.dictionary else pa.DictionaryArray.from_arrays(array.indices, entries)
        entries = as_shown(as_words(array.dictionary))
        return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), entries)

    def _refuse_long(self, entries: pa.Array, where: Callable[[int], int]) -> None:
        """Refuse huge labels by their byte length, before they become Python text."""
        if len(entries) == 0 or not (is_text(entries.type) or is_binary(entries.type)):
            return
        lengths, limit = text_lengths(entries), 4 * checks.MAX_LABEL
        if int(lengths.max()) > limit:
            entry = int(np.argmax(lengths > limit))
            raise InputError(
                "LABEL_TOO_LONG",
                f"A label of column {echo(self.name)} in row {whole(where(entry))} has "
                f"{whole(int(lengths[entry]))} bytes; "
                f"{text.accepted('LABEL_TOO_LONG')}.",
            )

    def _admit(self, raw: str, where: Callable[[], int]) -> int:
        trouble = text.problem(raw)
        if trouble:
            code, reason = trouble
            raise InputError(
                code,
                f"A label of column {echo(self.name)} in row {whole(where())} has {reason}; {text.accepted(code)}.",
            )
        label = text.normalise(raw)
        known = self._codes.get(label)
        if known is None:
            if self.is_listed:
                self.first_unknown = self.first_unknown or (label, where())
                if len(self.unlisted_totals) < _FEW and reads_as_total(label):
                    self.unlisted_totals[label] = None
                if self.spaced is None and (listed := self._by_words.get(" ".join(label.split()))):
                    self.spaced = label, where(), listed
                return self.unknown
            known = len(self.labels)
            self.labels.append(label)
            self._codes[label] = known
            self.blank = known if not label else self.blank
        if raw != label:  # now known, so that it is counted once, whatever the batches
            self._codes[raw] = known
            self.renormalised += bool(label)
        return known

    def _row(self, indices: NDArray[np.int32], row: int, entry: int) -> int:
        return self._first_row + row + int(np.argmax(indices == entry))


def _label_type(name: str, kind: pa.DataType) -> InputError:
    return InputError(
        "COLUMN_TYPE",
        f"Column {echo(name)} holds {echo(str(kind))}; labels may be text, numbers, true/false, dates or times.",
    )


def use_of(kind: pa.DataType) -> str:
    """Return what a column of a type can be: "any", "label", "number" or "none"."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    label, number = is_readable(value), _is_number(value)
    return "any" if label and number else "label" if label else "number" if number else "none"


def orders_in(schema: pa.Schema, head: pa.Table | pa.RecordBatch) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the categories of columns in the order that their types state, from the first rows."""
    found = []
    for field in schema:
        if not (pa.types.is_dictionary(field.type) and field.type.ordered and field.name in head.schema.names):
            continue
        column = head.column(field.name)
        array = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(array.type) and is_text(array.dictionary.type):
            words = as_words(array.dictionary.slice(0, _MOST_ORDERED)).drop_null()
            if max(text_lengths(words), default=0) <= 4 * checks.MAX_LABEL:
                found.append((text.normalise(field.name), tuple(map(text.normalise, words.to_pylist()))))
    return tuple(found)


def check_types(schema: pa.Schema, labels: Sequence[str], numeric: Sequence[str]) -> None:
    """Refuse columns of a typed table whose type cannot serve, before any of them is read."""
    for name in labels:
        kind = schema.field(name).type
        if use_of(kind) not in ("any", "label"):
            raise _label_type(name, kind.value_type if pa.types.is_dictionary(kind) else kind)
    for name in numeric:
        kind = schema.field(name).type
        if use_of(kind) not in ("any", "number"):
            value = kind.value_type if pa.types.is_dictionary(kind) else kind
            raise InputError("COLUMN_TYPE", f"Column {echo(name)} holds {echo(str(value))}; expected numbers.")


def _is_number(kind: pa.DataType) -> bool:
    return is_text(kind) or is_numeric(kind) or bool(pa.types.is_null(kind))
