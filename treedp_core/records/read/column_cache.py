"""The columns of a file kept in memory as codes, so that they can be counted again in another way without the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treedp_core.records.arrays import indices_of, is_numeric, is_text, plain_numpy
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.numbers.marks import is_number
from treedp_core.records.read.readers import HeldColumns, Origin
from treedp_core.records.read.sniff import Preview
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, TableReader, open_table, refuse_no_rows, said_of_file

HELD_BYTES: Final = 64 << 20
MAX_HELD_COLUMNS: Final = 100
_FEW: Final = 4  # a column is kept as codes where a value stands in as many cells, on average


@in_words
def hold(
    origin: Origin,
    *,
    name: str | None = None,
    options: ReadOptions | None = None,
    limit: int = HELD_BYTES,
    progress: Progress | None = None,
) -> HeldColumns | None:
    r"""Return the columns of a file in memory: each distinct value once, and a code in every row.

    They are private data, and counted like the file they came from: `count_hierarchy` and `count_bins` give the same
    counts and the same report. Where not all columns fit, those that take up most are left out.

    Parameters
    ----------
    origin, name, options, progress
        As in `count_hierarchy`.
    limit : int
        Bytes that the columns may take up at most.

    Returns
    -------
    HeldColumns, or None where nothing of use fits, or the table has more than 100 columns.

    Raises
    ------
    InputError
        The codes of `inspect` and of rows.

    Examples
    --------
    >>> held = hold(b"city,age\nUlm,3\nUlm,20\n")
    >>> held.preview.columns, held.distinct["city"], held.numbers
    (('city', 'age'), 1, ('age',))
    """
    table = open_table(origin, name, options)
    if len(table.preview.columns) > MAX_HELD_COLUMNS:
        return None
    gathered = _Gathered(table, limit)
    labels, numeric = serving(table.preview)
    with table.reading(labels, numeric) as batches:
        for arrays, done in batches:
            gathered.add(dict(zip((*labels, *numeric), arrays, strict=True)))
            if not gathered.parts:
                return None
            if progress is not None:
                progress(done, table.total)
    return (
        replace(gathered.held(table), options=ReadOptions(**said_of_file(table, options))) if gathered.parts else None
    )


def serving(preview: Preview) -> tuple[list[str], list[str]]:
    """Return the columns that can be labels, perhaps numbers too, and those that can be numbers only."""
    uses = preview.uses or ("any",) * len(preview.columns)
    pairs = list(zip(preview.columns, uses, strict=True))
    return [name for name, use in pairs if use in ("any", "label")], [name for name, use in pairs if use == "number"]


class _Gathered:
    """Batches of columns as they come; `parts` has those that are still kept."""

    def __init__(self, table: TableReader, limit: int) -> None:
        labels, numeric = serving(table.preview)
        self.parts: dict[str, list[pa.Array]] = {name: [] for name in (*labels, *numeric)}
        self._sizes = dict.fromkeys(self.parts, 0)
        self._limit, self.rows = limit, 0

    def add(self, arrays: dict[str, pa.Array]) -> None:
        self.rows += len(next(iter(arrays.values()), ()))
        for name in list(self.parts):
            part, before = _narrow(_coded(arrays[name])), self.parts[name][-1:]
            shared = (
                bool(before)
                and _has_codes(part)
                and part.type == before[0].type
                and part.dictionary.equals(before[0].dictionary)
            )
            if shared:  # the batches of a row group have the same values
                part = pa.DictionaryArray.from_arrays(part.indices, before[0].dictionary)
            self._sizes[name] += part.nbytes - (part.dictionary.nbytes if shared else 0)
            self.parts[name].append(part)
        self._fit()

    def held(self, table: TableReader) -> HeldColumns:
        refuse_no_rows(self.rows)
        columns = {name: joined(self.parts.pop(name)) for name in list(self.parts)}
        seen = table.preview
        table.leaps()
        names = tuple(name for name in seen.columns if name in columns)
        at = [seen.columns.index(name) for name in names]
        uses = tuple(seen.uses[j] for j in at) if seen.kind == "Excel" and seen.uses else ()
        shown = tuple(tuple(row[j] for j in at) for row in seen.rows)
        preview = replace(seen, columns=names, rows=shown, n_rows=self.rows, uses=uses)
        pa.default_memory_pool().release_unused()
        return HeldColumns(
            seen.name, pa.table([columns[name] for name in names], names=list(names)), preview, table.reader.first_row,
            table.digest(), tuple(name for name in seen.columns if name not in columns),
            {name: distinct(columns[name]) for name in names},
            tuple(name for name in names if _is_numeric(columns[name])),
        )  # fmt: skip

    def _fit(self) -> None:
        while self.parts and sum(self._sizes.values()) > self._limit:
            largest = max(self._sizes, key=self._sizes.__getitem__)
            del self.parts[largest], self._sizes[largest]


def _coded(array: pa.Array) -> pa.Array:
    """Return a batch as codes, unless it is one of numbers that hardly ever repeat."""
    if _has_codes(array) or pa.types.is_null(array.type):
        return array
    coded = array.dictionary_encode()
    return array if not is_text(array.type) and len(coded.dictionary) * _FEW > len(array) else coded


def _narrow(array: pa.Array) -> pa.Array:
    """Return codes in the smallest integers that hold them."""
    if not _has_codes(array):
        return array
    n = len(array.dictionary)
    kind = pa.int8() if n <= 1 << 7 else pa.int16() if n <= 1 << 15 else pa.int32()
    return pa.DictionaryArray.from_arrays(array.indices.cast(kind), array.dictionary)


def _has_codes(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type))


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Return the batches of a column as one array, every distinct value once."""
    kinds = {part.type.value_type for part in parts if _has_codes(part)}
    if not kinds:
        return pa.concat_arrays(parts)
    kind = pa.dictionary(pa.int32(), kinds.pop())
    alike = [part.cast(kind) if _has_codes(part) else part.dictionary_encode() for part in parts]
    return _narrow(pa.chunked_array(alike, kind).unify_dictionaries().combine_chunks())


def distinct(column: pa.Array) -> int:
    """Return how many values occur."""
    return len(column.dictionary) if _has_codes(column) else int(pc.count_distinct(column).as_py())


def _is_numeric(column: pa.Array) -> bool:
    """Whether more of the cells that are not blank hold a number, with any marks, than do not."""
    coded = _has_codes(column)
    values = column.dictionary if coded else column
    if not is_text(values.type):
        return is_numeric(values.type)
    text = values.cast(pa.large_string())
    plain, blank = is_number(text), pc.match_substring_regex(text, r"^\s*$")
    often = np.bincount(indices_of(column), minlength=len(values) + 1)[:-1] if coded else np.ones(len(values))
    numbers = often[plain_numpy(plain.fill_null(False))].sum()
    others = often[~plain_numpy(pc.or_(plain, blank).fill_null(True))].sum()
    return bool(numbers > others)
