"""Excel workbooks (.xlsx): a sheet as a person sees it, all cells as text; what they unpack to is checked.

They are read by expat, which comes with Python. Of the libraries, calamine takes a tenth of the time and gives neither
number formats nor hidden rows nor formulas without a value. A reader on openpyxl's parser of sheets gave the same cells
in two and a half times the time and three quarters of the lines; but it builds a tree of what it reads, 1.3 GB of a
file of 66 kB, loses escaped characters of shared texts, and refuses what it does not need: workbooks in strict Open
XML, and any odd fill, border, margin, view or validation.
"""

from __future__ import annotations

import codecs
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, BinaryIO, Final

from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import checked_columns, columns_within_limit, row_refusal
from treedp_core.records.read.numbers import marks
from treedp_core.records.read.sniff import PREVIEW_ROWS, Preview
from treedp_core.records.read.sources import (
    BLOCK_BYTES,
    FREE_UNPACKED_BYTES,
    MAX_UNPACKED_RATIO,
    FileSource,
    ReadOptions,
)
from treedp_core.records.read.spreadsheet import sheet
from treedp_core.records.read.spreadsheet.sheet import UNKNOWN, Row, Survey, letters_of
from treedp_core.records.read.spreadsheet.workbook import Workbook, open_workbook
from treedp_core.records.read.text import Notice
from treedp_core.words import plural, whole

MAX_PARTS: Final = 2_000
MAX_UNPACKED_BYTES: Final = 1 << 30
MAX_SHARED_BYTES: Final = 64 << 20
"""Of the texts that the cells share: they are in memory whole."""
BATCH_ROWS: Final = 1 << 13
_ODD: Final = (b"mergeCell", b"hidden=", b'ht="0', b'width="0')
"""What a sheet has that must be known before its cells are read."""


@dataclass(eq=False)
class _Table:
    """The rows of a sheet that is read: its header, and what is below."""

    book: Workbook
    seen: Survey
    rows: Iterator[Row]
    header: Row
    first: int = field(init=False)
    names: list[str] = field(init=False)
    places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.first, last = min(self.header.cells), max(self.header.cells)
        shown = [column for column in range(self.first, last + 1) if column not in self.seen.hidden_columns]
        columns_within_limit(len(shown))
        self.places, cells = shown, self.header.cells
        self.names = checked_columns([marks.shown(cells.get(column, "")) for column in shown])

    def even(self) -> Iterator[tuple[Row, list[str]]]:
        """Give rows with a cell for every column; wider ones are refused."""
        for row in self.rows:
            found = [row.cells.get(column, "") for column in self.places]
            if len(row.cells) > sum(map(bool, found)):
                self._refuse_wide(row)
            yield row, found

    def _refuse_wide(self, row: Row) -> None:
        beyond = [column for column, text in row.cells.items() if text.strip() and column not in self.places]
        if beyond and min(beyond) < self.first:
            raise InputError(
                "ROW_WIDTH",
                f"Row {whole(row.number)} has a cell in column {letters_of(min(beyond))}, but the header begins in "
                f"column {letters_of(self.first)}; every column needs a name.",
            )
        if beyond:
            inside = sum(column < max(beyond) for column in self.places)
            raise row_refusal(row.number, inside + max(beyond) - self.places[-1], len(self.places), torn=False)


def preview(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a workbook from the first rows of a visible sheet, by default the first one."""
    with _table(source, options.sheet or None) as table:
        first = list(islice(table.even(), PREVIEW_ROWS))
        if not first:
            raise InputError("NO_ROWS", "The sheet has a header but no rows; expected at least one record.")
        own, below = {column: j for j, column in enumerate(table.places)}, table.header.number
        merged = {own[column] for (_, column), last in table.seen.merged.items() if last > below and column in own}
        unknown = {j for _, cells in first for j, text in enumerate(cells) if text == UNKNOWN}
        percent = {own[column] for row, _ in first for column in row.percent if column in own}
        sheets = table.book.sheets if len(table.book.sheets) > 1 else ()
        uses = tuple("none" if j in unknown else "label" if j in merged else "any" for j in range(len(table.names)))
        return Preview(
            source.name, "Excel", tuple(table.names),
            tuple(tuple("…" if text == UNKNOWN else marks.shown(text) for text in cells) for _, cells in first),
            sheet=table.book.sheet if sheets else "", sheets=sheets,
            notices=tuple(_notices(table, merged, unknown, percent)), uses=uses if merged | unknown else (),
        )  # fmt: skip


def _notices(table: _Table, merged: set[int], unknown: set[int], percent: set[int]) -> Iterator[Notice]:
    """What a person should know of how a sheet is read."""

    def named(which: set[int]) -> str:
        return ", ".join(echo(table.names[j]) for j in sorted(which)[:8])

    seen, book = table.seen, table.book
    if len(book.sheets) > 1:
        yield (
            "SHEETS",
            f"Of the {whole(len(book.sheets))} sheets that the workbook shows, {echo(book.sheet)} is read; the option "
            "sheet chooses another one.",
        )
    if seen.hidden_rows:
        yield (
            "HIDDEN_ROWS",
            f"Left out: {plural(seen.hidden_rows, 'row')}, hidden by a filter or by hand; show them and save the file "
            "to count them.",
        )
    if hidden := sorted(table.header.hidden):
        yield "HIDDEN_COLUMNS", f"Hidden columns are left out: {', '.join(map(letters_of, hidden[:8]))}."
    if merged:
        yield "MERGED", f"A merged cell stands for each of its rows, in column {named(merged)}."
    if percent:
        yield "PERCENT", f"Shown in percent, read as the number below: 12.5 % is 0.125, in column {named(percent)}."
    if unknown:
        yield (
            "FORMULA",
            f"No value is there for formulas of column {named(unknown)}: open the file in Excel and save it.",
        )


def batches(
    source: FileSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[Any], int]]:
    """Yield (columns of text, a guess at the bytes read so far) of the chosen columns.

    Raises
    ------
    InputError
        ``EXCEL_CORRUPT``, ``EXCEL_TOO_LARGE``, ``EXCEL_FORMULA``, ``ROW_WIDTH``, ``TOO_MANY_ROWS``.
    """
    import pyarrow as pa

    own = [seen.columns.index(name) for name in (*labels, *numeric)]
    with _table(source, seen.sheet or None) as table:
        even, done = _noted(table.even(), seen.leaps), 0
        while batch := list(islice(even, BATCH_ROWS)):
            for row, cells in batch:
                if UNKNOWN in cells:
                    _refuse_unknown(row, [(seen.columns[j], cells[j]) for j in own])
            done += len(batch)
            share = min(source.size, source.size * done // (done + BATCH_ROWS))
            yield [pa.array([cells[j] for _, cells in batch], pa.string()) for j in own], share


def _noted(rows: Iterator[tuple[Row, list[str]]], leaps: list[tuple[int, int]]) -> Iterator[tuple[Row, list[str]]]:
    """Give rows, and note where their numbers leap: blank and hidden ones are no records."""
    leaps.clear()
    expected = None
    for record, (row, cells) in enumerate(rows):
        if row.number != expected:
            leaps.append((record, row.number))
        expected = row.number + 1
        yield row, cells


def _refuse_unknown(row: Row, cells: Sequence[tuple[str, str]]) -> None:
    for name, text in cells:
        if text == UNKNOWN:
            raise InputError(
                "EXCEL_FORMULA",
                f"Column {echo(name)}, row {whole(row.number)} has a formula that was never calculated; open the file "
                "in Excel or LibreOffice, save it there, and take that file.",
            )


@contextmanager
def _table(source: FileSource, name: str | None) -> Iterator[_Table]:
    """Open a workbook and find the header: the first row that shows text."""
    stream, refusal, book = source.open(), None, None
    try:
        odd = _checked(stream, source.size)
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            book = open_workbook(archive, name)
            seen = sheet.survey(archive, book.part) if book.part in odd else Survey()
            rows = sheet.rows(archive, book, seen)
            header = next(rows, None)
            if header is None:
                raise InputError("FILE_EMPTY", "The sheet holds no text; expected a header and rows.")
            if UNKNOWN in header.cells.values():
                _refuse_unknown(header, [(letters_of(column), text) for column, text in header.cells.items()])
            yield _Table(book, seen, rows, header)
    except InputError as error:
        refusal = _of_sheet(error, book)
    except (MemoryError, RecursionError):
        refusal = _too_large()
    except (AssertionError, ImportError):
        raise
    except Exception:  # whatever a damaged part led to; its text may quote cells
        refusal = InputError("EXCEL_CORRUPT", "The Excel file is damaged or no workbook; save it again as .xlsx.")
    finally:
        source.release(stream)
    if refusal is not None:
        raise refusal from None


def _of_sheet(error: InputError, book: Workbook | None) -> InputError:
    """Return a refusal that says which sheet it is of, where there are several."""
    if book is None or len(book.sheets) == 1:
        return error
    named = ", ".join(map(echo, book.sheets[:8]))
    told = str(error).removesuffix(".")
    return InputError(error.code, f"{told}; sheet {echo(book.sheet)} was read, of {named}: the option sheet chooses.")


def _checked(stream: BinaryIO, size: int) -> set[str]:
    """Refuse by what the parts of the archive claim: no part gives more than it claims when it is read.

    Return the parts with something in them that must be known before their cells are read.
    """
    odd = set()
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
                        if _is_odd(content):
                            odd.add(part.filename)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError):
        pass  # refused below, outside this block
    else:
        if is_workbook:
            return odd
    raise InputError(
        "NOT_TABULAR", "The file is a ZIP archive, or an Excel workbook that is damaged or cut short; save it again."
    )


def _is_odd(content: IO[bytes]) -> bool:
    """Refuse cells of a megabyte, and say whether a part has what must be known before its cells are read."""
    block, before = content.read(BLOCK_BYTES), b""
    is_odd = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # nothing can be looked for in it
    while block:
        if len(block) == BLOCK_BYTES and b"<" not in block:
            raise _too_large()
        is_odd = is_odd or any(one in before + block for one in _ODD)
        before, block = block[-len(_ODD[0]) :], content.read(BLOCK_BYTES)
    return is_odd


def _too_large() -> InputError:
    return InputError(
        "EXCEL_TOO_LARGE", "The Excel file unpacks to more than is accepted; save the sheet as CSV or Parquet."
    )
