"""Excel workbooks (.xlsx): the first sheet, row by row, every cell as text; what it unpacks to is checked before."""

from __future__ import annotations

import datetime
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import checked_columns, columns_within_limit, row_refusal
from treedp_core.records.read.sniff import PREVIEW_ROWS, Preview
from treedp_core.records.read.sources import (
    BLOCK_BYTES,
    FREE_UNPACKED_BYTES,
    MAX_UNPACKED_RATIO,
    FileSource,
    ReadOptions,
)
from treedp_core.words import whole

if TYPE_CHECKING:
    from openpyxl import Workbook

FIRST_ROW: Final = 2
MAX_ROWS: Final = 1 << 20  # as many as a sheet of Excel has
MAX_PARTS: Final = 2_000
MAX_UNPACKED_BYTES: Final = 1 << 30
MAX_SHARED_BYTES: Final = 64 << 20
"""Of the texts that the cells share: they are in memory whole."""
BATCH_ROWS: Final = 1 << 13


def preview(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a workbook from the first rows of its first sheet."""
    with _book(source) as book:
        names = [sheet.title for sheet in book.worksheets]
        columns = tuple(checked_columns(next(_rows(book, 1, checks.MAX_COLUMNS + 1), [])))
        if not columns:
            raise InputError("FILE_EMPTY", "The first sheet holds no text; expected a header and rows.")
        first = tuple(tuple(row) for row in islice(_even(book, len(columns)), PREVIEW_ROWS))
    if not first:
        raise InputError("NO_ROWS", "The first sheet has a header but no rows; expected at least one record.")
    more = f"The workbook has {whole(len(names))} sheets; the first one is read, {echo(names[0])}."
    return Preview(source.name, "Excel", columns, first, notices=(("SHEETS", more),) if len(names) > 1 else ())


def batches(
    source: FileSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[Any], int]]:
    """Yield (columns of text, a guess at the bytes read so far) of the chosen columns.

    Raises
    ------
    InputError
        ``EXCEL_CORRUPT``, ``EXCEL_TOO_LARGE``, ``EXCEL_MISSING``, ``ROW_WIDTH``, ``TOO_MANY_ROWS``.
    """
    import pyarrow as pa

    own = [seen.columns.index(name) for name in (*labels, *numeric)]
    with _book(source) as book:
        even, done = _even(book, len(seen.columns)), 0
        while batch := list(islice(even, BATCH_ROWS)):
            done += len(batch)
            share = min(source.size, source.size * done // (done + BATCH_ROWS))
            yield [pa.array([row[j] for row in batch], pa.string()) for j in own], share


def _even(book: Workbook, width: int) -> Iterator[list[str]]:
    """Give rows with a cell for every column; blank rows are skipped, wider ones refused."""
    for number, row in enumerate(_rows(book, FIRST_ROW, width + 1), start=FIRST_ROW):
        if number > MAX_ROWS:
            raise InputError("TOO_MANY_ROWS", f"The sheet has more than {whole(MAX_ROWS)} rows.")
        if len(row) > width:
            raise row_refusal(number, len(row), width, torn=False)
        if row:
            yield row + [""] * (width - len(row))


def _rows(book: Workbook, first: int, width: int) -> Iterator[list[str]]:
    """Give the rows of the first sheet from one on, without the blank cells at their ends."""
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # they are a claim of the file, and rows would be filled up to them
    return map(_trimmed, sheet.iter_rows(min_row=first, max_col=width, values_only=True))


@contextmanager
def _book(source: FileSource) -> Iterator[Workbook]:
    """Open a workbook."""
    if find_spec("openpyxl") is None:
        raise InputError(
            "EXCEL_MISSING",
            "Excel files are read with openpyxl, which is not installed here: pip install 'treedp[excel]', or save the "
            "sheet as CSV.",
        )
    stream, refusal = source.open(), None
    try:
        _refuse_bombs(stream, source.size)
        stream.seek(0)
        from openpyxl import load_workbook

        book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()
    except InputError:
        raise
    except (MemoryError, RecursionError):
        refusal = _too_large()
    except Exception as error:  # openpyxl raises whatever a damaged part led to, and its text may quote cells
        if isinstance(error, (AssertionError, ImportError)):
            raise
        refusal = InputError("EXCEL_CORRUPT", "The Excel file is damaged or no workbook; save it again as .xlsx.")
    finally:
        source.release(stream)
    if refusal is not None:
        raise refusal from None  # the reader's own error may quote cells


def _refuse_bombs(stream: BinaryIO, size: int) -> None:
    """Refuse by what the parts of the archive claim: no part gives more than it claims when it is read."""
    try:
        with zipfile.ZipFile(stream) as archive:
            parts = archive.infolist()
            is_workbook = any(part.filename.startswith("xl/") for part in parts)
            if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > max(
                FREE_UNPACKED_BYTES, min(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size)
            ):
                raise _too_large()
            for part in parts:
                if part.filename.lower().endswith("sharedstrings.xml") and part.file_size > MAX_SHARED_BYTES:
                    raise _too_large()
                if part.filename.lower().endswith((".xml", ".rels")):
                    with archive.open(part) as content:
                        _refuse_odd_text(content)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError):
        pass  # refused below, outside this block
    else:
        if is_workbook:
            return
    raise InputError(
        "NOT_TABULAR", "The file is a ZIP archive, or an Excel workbook that is damaged or cut short; save it again."
    )


def _refuse_odd_text(content: IO[bytes]) -> None:
    """Refuse what no spreadsheet writes: entities, which grow when they are read, and cells of a megabyte."""
    block = content.read(BLOCK_BYTES)
    if b"<!DOCTYPE" in block or b"<!ENTITY" in block:
        raise InputError("EXCEL_CORRUPT", "The Excel file declares entities, which no spreadsheet writes.")
    while len(block) == BLOCK_BYTES:
        if b"<" not in block:
            raise _too_large()
        block = content.read(BLOCK_BYTES)


def _too_large() -> InputError:
    return InputError(
        "EXCEL_TOO_LARGE", "The Excel file unpacks to more than is accepted; save the sheet as CSV or Parquet."
    )


def _trimmed(row: Sequence[Any]) -> list[str]:
    if row.count(None) == len(row):  # a sheet may leave out a million of them
        return []
    cells = [_cell(value) for value in row]
    while cells and not cells[-1]:
        cells.pop()
    columns_within_limit(len(cells))
    return cells


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) <= checks.MAX_COUNT:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return (value.date() if value.time() == datetime.time() else value).isoformat()
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)
