"""Synthetic records as files: a contingency table without zeros, or one row for each record; CSV or Parquet.

Rows stand in lexicographic order of the categories as they are listed in the public domain, so their order says
nothing about the data. Every hierarchical count of the file agrees with every other, because all are counts of it.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from treedp_core.checks import InputError
from treedp_core.privacy import Provenance
from treedp_core.records.export.columns import SOURCE, safe_cell
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.leaf_table import CodeArray, LeafTable
from treedp_core.words import whole

MAX_ROWS: Final = 10_000_000
COUNT: Final = "count"
ERROR: Final = "error at most"
CERTIFICATE: Final = "certificate"
SIMULATION: Final = "simulation"
SIMULATED: Final = "simulated release"


@dataclass(frozen=True, eq=False)
class Columns:
    """Names and categories of the columns of a table, in its order.

    Parameters
    ----------
    names : tuple of str
    vocabularies : tuple of sequences of str
        The label of each code.
    credit : str
        Source, date and licence of the published records that these are made of; or nothing.
    certificate : str
        What the release says of all its errors; or nothing.
    error_at_most : (n_leaves,), optional
        What it says of that of each leaf with records, in records.
    """

    names: tuple[str, ...]
    vocabularies: tuple[Sequence[str], ...]
    credit: str = ""
    certificate: str = ""
    error_at_most: FloatArray | None = None


def contingency_csv(table: LeafTable, columns: Columns, provenance: Provenance) -> bytes:
    r"""Return the table as CSV (UTF-8 with byte order mark): one row for each leaf with records, its count last.

    Behind it stands how far that can be from the truth, where the release says so. A simulation says so in a column.
    Text that a spreadsheet would run as a formula gets a leading apostrophe.

    >>> table = LeafTable(np.array([[0], [1]], dtype=np.int32), np.array([3, 4]), (2,))
    >>> columns = Columns(("city",), (["=Ulm", "Bonn"],))
    >>> contingency_csv(table, columns, Provenance.RELEASE).decode("utf-8-sig").splitlines()
    ['"city","count"', '"\'=Ulm",3', '"Bonn",4']
    """
    table, columns = _marked(table, columns, provenance)
    return _csv([_contingency(table, _safe(columns))], _contingency_schema(columns, pa.string(), safe=True))


def records_csv(table: LeafTable, columns: Columns, provenance: Provenance) -> bytes:
    """Return the table as CSV with one row for each record; as `contingency_csv` otherwise.

    Raises
    ------
    InputError
        ``TOO_MANY_ROWS`` beyond 10,000,000 records.
    """
    table, columns = _marked(_few(table), columns, provenance)
    safe = _safe(columns)
    schema = pa.schema([(name, pa.string()) for name in safe.names])
    return _csv((_batch(codes, safe) for codes in table.rows()), schema)


def contingency_parquet(table: LeafTable, columns: Columns, provenance: Provenance) -> bytes:
    """Return the table as Parquet: one row for each leaf with records, its count last; labels as they are."""
    table, columns = _marked(table, columns, provenance)
    return _parquet([_contingency(table, columns)], _contingency_schema(columns, _CODED))


def records_parquet(table: LeafTable, columns: Columns, provenance: Provenance) -> bytes:
    """Return the table as Parquet with one row for each record; labels as they are.

    Raises
    ------
    InputError
        ``TOO_MANY_ROWS`` beyond 10,000,000 records.
    """
    table, columns = _marked(_few(table), columns, provenance)
    schema = pa.schema([(name, _CODED) for name in columns.names])
    return _parquet((_batch(codes, columns) for codes in table.rows()), schema)


def first_leaves(table: LeafTable, columns: Columns, n: int) -> dict[str, list[str] | list[int]]:
    """Return the first n leaves with records as columns of labels, their counts last.

    >>> table = LeafTable(np.array([[0], [1]], dtype=np.int32), np.array([3, 4]), (2,))
    >>> first_leaves(table, Columns(("city",), (["Ulm", "Bonn"],)), 1)
    {'city': ['Ulm'], 'count': [3]}
    """
    shown: dict[str, list[str] | list[int]] = dict(_labelled(table.codes[:n], columns))
    return shown | {name: column[:n].tolist() for name, column in _numbers(table, columns, shown).items()}


def first_records(table: LeafTable, columns: Columns, n: int) -> dict[str, list[str]]:
    """Return the first n records as columns of labels."""
    return _labelled(next(iter(table.rows(n)), table.codes[:0])[:n], columns)


def _labelled(codes: CodeArray, columns: Columns) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for name, words, column in zip(columns.names, columns.vocabularies, codes.T, strict=True):
        shown[_free(name, shown)] = [words[code] if code >= 0 else "" for code in column.tolist()]
    return shown


_CODED: Final = pa.dictionary(pa.int32(), pa.string())


def _few(table: LeafTable) -> LeafTable:
    """The same, unless it has more records than one file may have rows."""
    if table.total > MAX_ROWS:
        raise InputError(
            "TOO_MANY_ROWS",
            f"{whole(table.total)} records are more than the {whole(MAX_ROWS)} rows of one file; take the "
            "contingency table.",
        )
    return table


def _safe(columns: Columns) -> Columns:
    names = tuple(safe_cell(name) for name in columns.names)
    return replace(
        columns,
        names=names,
        vocabularies=tuple([safe_cell(label) for label in words] for words in columns.vocabularies),
    )


def _contingency_schema(columns: Columns, kind: pa.DataType, *, safe: bool = False) -> pa.Schema:
    names = _safe(columns).names if safe else columns.names
    numbers = [COUNT] if columns.error_at_most is None else [COUNT, ERROR]
    return pa.schema([*((name, kind) for name in names), *((_free(name, names), pa.int64()) for name in numbers)])


def _marked(table: LeafTable, columns: Columns, provenance: Provenance) -> tuple[LeafTable, Columns]:
    """A simulation says so in each row, in a column more; the first leaf has the certificate and the source."""
    marks = {} if provenance is Provenance.RELEASE else {_free(SIMULATION, columns.names): SIMULATED}
    every = len(marks)
    for name, text in ((CERTIFICATE, columns.certificate), (SOURCE, columns.credit)):
        if text:
            marks[_free(name, columns.names)] = text
    if not marks:
        return table, columns
    added = np.zeros((table.n_leaves, len(marks)), dtype=np.int32)
    added[1:, every:] = 1
    words = (*columns.vocabularies, *((one, "") for one in marks.values()))
    marked = Columns((*columns.names, *marks), words, error_at_most=columns.error_at_most)
    return LeafTable(np.column_stack([table.codes, added]), table.counts, (*table.sizes, *(2 for _ in marks))), marked


def _free(name: str, names: Collection[str]) -> str:
    """Return a name that no column has."""
    while name in names:
        name += "_"
    return name


def _contingency(table: LeafTable, columns: Columns) -> list[pa.Array]:
    return [*_batch(table.codes, columns), *map(pa.array, _numbers(table, columns, columns.names).values())]


def _numbers(table: LeafTable, columns: Columns, names: Collection[str]) -> dict[str, IntArray]:
    """The count of each leaf, and the largest error that it can have, rounded up, where that is known."""
    numbers = {_free(COUNT, names): table.counts}
    if columns.error_at_most is not None:
        numbers[_free(ERROR, names)] = np.ceil(columns.error_at_most).astype(np.int64)
    return numbers


def _batch(codes: CodeArray, columns: Columns) -> list[pa.Array]:
    """Return each column of codes as labels; below a leaf that ends higher up (code -1) cells are empty."""
    out = []
    for column, words in zip(codes.T, columns.vocabularies, strict=True):
        indices = pa.array(np.ascontiguousarray(column), mask=column < 0)
        out.append(pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string())))
    return out


def _csv(batches: Sequence[list[pa.Array]] | Iterator[list[pa.Array]], schema: pa.Schema) -> bytes:
    out = io.BytesIO()
    out.write("\ufeff".encode())
    with pa.csv.CSVWriter(out, schema) as writer:
        for arrays in batches:
            plain = [a.cast(kind.type) for a, kind in zip(arrays, schema, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(plain, schema=schema))
    return out.getvalue()


def _parquet(batches: Sequence[list[pa.Array]] | Iterator[list[pa.Array]], schema: pa.Schema) -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, schema) as writer:
        for arrays in batches:
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return out.getvalue()
