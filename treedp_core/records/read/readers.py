"""The kinds of files that records come in, one line each, and a cheap first look at any of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, ParamSpec, TypeVar

from treedp_core.checks import InputError
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.sniff import Preview, preview_csv, unpacked_head
from treedp_core.records.read.sources import FileSource, FolderSource, ReadOptions, TableSource, file_source, is_gzip
from treedp_core.records.read.text import read_by
from treedp_core.registry import Table, table

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of a file that is gone.


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Columns of a file that is gone, kept in memory as codes: private data. `hold` makes them.

    Parameters
    ----------
    name : str
        Of the file.
    table : pyarrow Table
    preview : Preview
        What the file looked like, as far as its columns are kept.
    first_row : int
        The number shown for the first record.
    source_digest : str
        SHA-256 (hex) of the file.
    left_out : tuple of str
        Columns that are not kept.
    distinct : mapping from column to int
        How many values occur.
    numbers : tuple of str
        Columns of numbers.
    options : ReadOptions
        How its text was read.
    """

    name: str
    table: Any
    preview: Preview
    first_row: int
    source_digest: str
    left_out: tuple[str, ...]
    distinct: Mapping[str, int]
    numbers: tuple[str, ...]
    options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.table)

    @property
    def n_bytes(self) -> int:
        """Memory that the columns take up."""
        return int(self.table.nbytes)

    @property
    def key(self) -> tuple[str, ReadOptions, tuple[str, ...]]:
        """What tells them from those of another file, and of the same file read in another way."""
        return self.source_digest, self.options, self.preview.columns

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the file."""
        return self.source_digest


Origin = str | os.PathLike[str] | bytes | BinaryIO | Any
Source = FileSource | TableSource | HeldColumns | FolderSource
Batch = tuple[list["pa.Array"], int]
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", FileSource, TableSource, HeldColumns, FolderSource)

HEAD_BYTES: Final = 64
_ZIP: Final = b"PK\x03\x04"


@dataclass(frozen=True)
class Reader(Generic[S]):
    """A kind of file.

    Parameters
    ----------
    name : str
        What it is called.
    suffixes : tuple of str
        Endings of its files' names, without the dot.
    starts : function
        Whether a file that begins with these bytes (at most 64) is of this kind.
    preview : function
        ``preview(source, options)``: columns and first rows, from a few bytes; what is no such file is refused.
        Names of columns pass `checked_columns`.
    batches : function
        ``batches(source, preview, labels, numeric)`` yields (arrow arrays of the chosen columns, labels
        first; how much of the source's size is read so far). Memory must not follow the size of the file, and errors
        must not quote cells.
    first_row : int
        The number shown for the first record.
    damage : function
        ``damage(source, preview)`` refuses what other refusals would only follow from.
    leaps : function
        ``leaps(source, preview)``: where the numbers of rows leap (see `Preview`), if `batches` does not note it.

    Notes
    -----
    A new kind is registered in `READERS`; uploads take its files from then on.
    """

    name: str
    suffixes: tuple[str, ...]
    starts: Callable[[bytes], bool]
    preview: Callable[[S, ReadOptions], Preview]
    batches: Callable[[S, Preview, Sequence[str], Sequence[str]], Iterator[Batch]]
    first_row: int = 1
    damage: Callable[[S, Preview], None] = lambda source, preview: None
    leaps: Callable[[S, Preview], list[tuple[int, int]]] = lambda source, preview: []

    def is_named(self, name: str) -> bool:
        """Whether a file's name says that it is of this kind."""
        return name.lower().endswith(tuple(f".{suffix}" for suffix in self.suffixes))


def _late(module: str, name: str) -> Callable[P, T]:
    """Return a function of a module that is imported when it is called: pyarrow takes long to."""

    def call(*args: P.args, **settings: P.kwargs) -> T:
        function: Callable[P, T] = getattr(import_module(f"treedp_core.records.read.{module}"), name)
        return function(*args, **settings)

    return call


CSV: Final[Reader[FileSource]] = Reader(
    "CSV", ("csv", "gz", "txt", "tsv"), lambda head: True, preview_csv, _late("arrow.csv", "batches"), first_row=2,
    damage=_late("arrow.csv", "refuse_torn_quotes"), leaps=_late("arrow.csv", "leaps"),
)  # fmt: skip
PARQUET: Final[Reader[FileSource]] = Reader(
    "Parquet", ("parquet", "pq"), lambda head: head.startswith((b"PAR1", b"PARE")),
    _late("arrow.tables", "preview_parquet"), _late("arrow.tables", "parquet_batches"),
)  # fmt: skip
_ARRAY: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\]\s*$)")
_LINES: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"')
JSON: Final[Reader[FileSource]] = Reader(
    "JSON", ("json", "geojson"), lambda head: _ARRAY.match(head) is not None,
    _late("json_records", "preview"), _late("json_records", "batches"),
)  # fmt: skip
JSON_LINES: Final[Reader[FileSource]] = Reader(
    "JSON lines", ("jsonl", "ndjson"), lambda head: _LINES.match(head) is not None,
    _late("json_records", "preview"), _late("json_records", "batches"),
)  # fmt: skip
ARROW: Final[Reader[FileSource]] = Reader(
    "Arrow", ("arrow", "feather", "ipc"), lambda head: head.startswith((b"ARROW1", b"\xff\xff\xff\xff")),
    _late("arrow.ipc", "preview"), _late("arrow.ipc", "batches"),
)  # fmt: skip
EXCEL: Final[Reader[FileSource]] = Reader(
    "Excel", ("xlsx",), lambda head: head.startswith(_ZIP), _late("spreadsheet.excel", "preview"),
    _late("spreadsheet.excel", "batches"), first_row=2,
)  # fmt: skip
IN_MEMORY: Final[Reader[TableSource]] = Reader(
    "table in memory", (), lambda head: False,
    _late("arrow.tables", "preview_table"), _late("arrow.tables", "table_batches"),
)  # fmt: skip
_LOCATED: Final[Callable[[FileSource, ReadOptions], Any]] = _late("archives", "located")
_FOLDER_AT: Final[Callable[[str, str | None], FolderSource | None]] = _late("archives", "folder_at")
FOLDER: Final[Reader[FolderSource]] = Reader(
    "folder", (), lambda head: False, _late("archives", "preview"), _late("archives", "batches"),
)  # fmt: skip
HELD: Final[Reader[HeldColumns]] = Reader(
    "columns in memory", (), lambda head: False, lambda source, options: source.preview,
    _late("arrow.tables", "held_batches"),
)  # fmt: skip
READERS: Final[Table[Reader[FileSource]]] = table(CSV, PARQUET, JSON, JSON_LINES, ARROW, EXCEL)
"""Kinds of files by name: the latest that claims a file's first bytes reads it; CSV takes what none claims."""


def formats() -> str:
    """Return what is read, in words.

    >>> formats()
    'CSV, Parquet, JSON, JSON lines, Arrow or Excel'
    """
    *others, last = READERS
    return " or ".join([", ".join(others), last] if others else [last])


def reader_of(source: Source) -> Reader[Any]:
    """Return what reads a source, by what it starts with, never by its name alone.

    Raises
    ------
    InputError
        ``FILE_EMPTY``; ``TYPE_MISMATCH`` where the name claims what the content is not.
    """
    if isinstance(source, TableSource):
        return IN_MEMORY
    if isinstance(source, HeldColumns):
        return replace(HELD, first_row=source.first_row)
    if isinstance(source, FolderSource):
        return FOLDER
    head = source.head(HEAD_BYTES)
    if not head:
        raise InputError("FILE_EMPTY", f"The file is empty; expected a {formats()} file with a header and rows.")
    found = next(reader for reader in reversed(list(READERS.values())) if reader.starts(head))
    if is_gzip(head):
        inner = unpacked_head(source, HEAD_BYTES)
        found = next((reader for reader in (JSON, JSON_LINES) if found is CSV and reader.starts(inner)), found)
    named = next((reader.name for reader in READERS.values() if reader.is_named(source.name)), "CSV")
    if found is CSV and named != CSV.name:
        raise InputError(
            "TYPE_MISMATCH",
            f"The name says {named} but the content is no table of that kind; rename it to .csv if it is text.",
        )
    return found


@in_words
def inspect(origin: Origin, *, name: str | None = None, options: ReadOptions | None = None) -> Preview:
    r"""Return a preview of a file or table.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pandas DataFrame, or anything with ``__arrow_c_stream__``
        The records; a path may be that of a folder, or a pattern of names. A stream of Arrow's is read whole into
        memory.
    name : str, optional
        Name to show and to take the extension from.
    options : ReadOptions, optional
        Encoding, delimiter and sheet, where they are not to be found out.

    Raises
    ------
    InputError
        ``FILE_EMPTY``, ``NO_ROWS``, ``NOT_TABULAR``, ``TYPE_MISMATCH``, ``ENCODING``, ``DELIMITER``,
        ``GZIP_TOO_LARGE``, ``PARQUET_CORRUPT``, ``PARQUET_ENCRYPTED``, ``TOO_MANY_ROWS``, ``TOO_MANY_COLUMNS``,
        ``DUPLICATE_COLUMN``, ``BLANK_COLUMN``, ``COLUMN_NAME_TOO_LONG`` and the codes of labels for column names.

    Examples
    --------
    >>> preview = inspect(b"region;city\nNorth;Kiel\n")
    >>> preview.columns, preview.rows, preview.delimiter
    (('region', 'city'), (('North', 'Kiel'),), ';')
    """
    return opened(origin, name, options)[2]


def opened(origin: Origin, name: str | None, options: ReadOptions | None) -> tuple[Source, Reader[Any], Preview]:
    """Return a source, what reads it, and the preview, which says where nobody has reviewed that reader."""
    source = source_of(origin, name)
    options = options or ReadOptions()
    if isinstance(source, FileSource) and source.head(len(_ZIP)) == _ZIP:
        place = _LOCATED(source, options)
        source, reader = place.source, reader_of(place.source)
        preview = place.told(reader.preview(source, place.options))
    else:
        reader = reader_of(source)
        preview = reader.preview(source, options)
    author = READERS.author(reader.name) if READERS.get(reader.name) is reader else ""
    if author:
        preview = replace(preview, notices=(*preview.notices, read_by(author)))
    return source, reader, preview


def source_of(origin: Origin, name: str | None) -> Source:
    """Return where records come from: a table or columns in memory, judged without imports, or bytes."""
    if isinstance(origin, HeldColumns):
        return origin if name is None else replace(origin, preview=replace(origin.preview, name=name))
    kinds = {(one.__module__.partition(".")[0], one.__name__) for one in type(origin).__mro__}
    if kinds & {("pandas", "DataFrame"), ("pyarrow", "Table")}:
        return TableSource(name or "table", origin)
    if hasattr(origin, "__arrow_c_stream__"):
        return TableSource(name or "table", _gathered(origin))
    if isinstance(origin, (str, os.PathLike)) and not os.path.isfile(origin):
        return _FOLDER_AT(os.fspath(origin), name) or file_source(origin, name)
    return file_source(origin, name)


def _gathered(stream: object) -> pa.Table:
    """Return a table of what is handed over by Arrow's C stream: by polars, DuckDB, nanoarrow, or Arrow's own batches.

    Raises
    ------
    InputError
        ``SOURCE_TYPE`` for one that holds no columns.
    """
    import pyarrow as pa

    try:
        return pa.table(stream)
    except (pa.ArrowException, ValueError, TypeError):
        pass  # refused outside the handler: the error may quote cells
    raise InputError("SOURCE_TYPE", "Expected a table; what is handed over as a stream has no columns.")
