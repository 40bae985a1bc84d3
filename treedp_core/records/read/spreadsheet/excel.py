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
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from typing import IO, Any, BinaryIO, Final

from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import checked_columns, columns_within_limit, row_refusal
from treedp_core.records.read.layout.options import OPTIONS, Guess, with_guesses
from treedp_core.records.read.layout.rows import (
    Header,
    guessed_footer,
    guessed_header,
    names_of,
    said_footer,
    said_header,
)
from treedp_core.records.read.layout.rows import named as named_columns
from treedp_core.records.read.numbers import marks
from treedp_core.records.read.sniff import LOOK_ROWS, PREVIEW_ROWS, Layout, Preview
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
SHORT_BYTES: Final = 4 << 20
"""Of the cells of a sheet whose end is looked at before it is read."""
MAX_LOOKED_AT: Final = 20
"""Sheets that a table is looked for in."""
_ODD: Final = (b"mergeCell", b"hidden=", b'ht="0', b'width="0')
"""What a sheet has that must be known before its cells are read."""


@dataclass(eq=False)
class _Table:
    """The rows of a sheet that is read: those that name its columns, the first below, and the others."""

    book: Workbook
    seen: Survey
    header: list[Row]
    head: list[Row]
    others: Iterator[Row]
    footer: int
    first: int = field(init=False)
    given: list[str] = field(init=False)
    names: list[str] = field(init=False)
    told: list[Notice] = field(init=False)
    places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        named = {column for row in self.header for column in row.cells}
        every = named.union(*(row.cells for row in self.head))
        self.first, last = min(every), max(named or every)
        shown = [column for column in range(self.first, last + 1) if column not in self.seen.hidden_columns]
        columns_within_limit(len(shown))
        self.places = shown
        naming = [[marks.shown(row.cells.get(column, "")) for column in shown] for row in self.header]
        self.given = names_of(naming) if naming else [""] * len(shown)
        names, self.told = named_columns(self.given)
        self.names = checked_columns(names)

    def even(self) -> Iterator[tuple[Row, list[str]]]:
        """Give rows with a cell for every column; wider ones are refused."""
        for row in _without_last(chain(self.head, self.others), self.footer):
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
    """Return the preview of a workbook from the first rows of a visible sheet, by default the first with a table."""
    seen = None
    try:
        seen = _preview(source, options)
        if options.sheet is not None or len(seen.columns) > 1 or not seen.sheets:
            return seen
    except InputError as error:
        if options.sheet is not None or error.code not in ("NO_ROWS", "FILE_EMPTY"):
            raise
        refusal = error
    with _sheets(source) as sheets:
        others = sheets[1:MAX_LOOKED_AT]
    for name in others:
        try:
            other = _preview(source, replace(options, sheet=name))
        except InputError:
            continue
        if len(other.columns) > 1 or seen is None:
            return other
    if seen is None:
        raise refusal
    return seen


def _preview(source: FileSource, options: ReadOptions) -> Preview:
    guesses: list[Guess] = []
    with _table(source, options, guesses) as table:
        first = list(islice(table.even(), PREVIEW_ROWS))
        if not first:
            raise InputError("NO_ROWS", "The sheet has a header but no rows; expected at least one record.")
        own = {column: j for j, column in enumerate(table.places)}
        below = table.header[-1].number if table.header else 0
        merged = {own[column] for (_, column), last in table.seen.merged.items() if last > below and column in own}
        unknown = {j for _, cells in first for j, text in enumerate(cells) if text == UNKNOWN}
        percent = {own[column] for row, _ in first for column in row.percent if column in own}
        sheets = table.book.sheets if len(table.book.sheets) > 1 else ()
        uses = tuple("none" if j in unknown else "label" if j in merged else "any" for j in range(len(table.names)))
        return Preview(
            source.name, "Excel", tuple(table.names),
            tuple(tuple("…" if text == UNKNOWN else marks.shown(text) for text in cells) for _, cells in first),
            sheet=table.book.sheet if sheets else "", sheets=sheets,
            notices=(*_notices(table, merged, unknown, percent), *table.told, *(one.notice for one in guesses)),
            uses=uses if merged | unknown else (), layout=Layout(below, table.footer),
            options=with_guesses(replace(options, sheet=None), guesses),
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
    if hidden := sorted([*table.header[-1:], *table.head][0].hidden):
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
    fixed = {name: getattr(seen.options, name) or "" for name in OPTIONS} | {"sheet": seen.sheet}
    with _table(source, ReadOptions(**fixed), []) as table:
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


def _without_last(rows: Iterator[Row], n: int) -> Iterator[Row]:
    """Give all rows but the last n."""
    last: deque[Row] = deque()
    for row in rows:
        last.append(row)
        if len(last) > n:
            yield last.popleft()


def _as_table(rows: Sequence[Row]) -> list[tuple[int, list[str]]]:
    """Return rows with a cell for each column that any of them has."""
    columns = {column for row in rows for column, text in row.cells.items() if text.strip()}
    between = range(min(columns, default=0), max(columns, default=-1) + 1)
    return [(row.number, [marks.shown(row.cells.get(column, "")) for column in between]) for row in rows]


def _laid_out(book: Workbook, seen: Survey, rows: Iterator[Row], is_short: bool, options: ReadOptions,
              guesses: list[Guess]) -> _Table:  # fmt: skip
    """Find the rows that name the columns, by default the first one that shows text, and the last that is a record."""
    head = list(islice(rows, LOOK_ROWS))
    if not head:
        raise InputError("FILE_EMPTY", "The sheet holds no text; expected a header and rows.")
    said = options.header or ""
    if options.header is None and (guess := guessed_header(_as_table(head))):
        guesses.append(guess)
        said = guess.value
    names = said_header(said) if said else Header(head[0].number, head[0].number)
    header = [row for row in head if names.first <= row.number <= names.last]
    if names.last and (not header or header[-1].number != names.last):
        raise InputError("HEADER", f"Row {names.last} holds no names of columns; say another by the option header.")
    for row in header:
        if UNKNOWN in row.cells.values():
            _refuse_unknown(row, [(letters_of(column), text) for column, text in row.cells.items()])
    below = [row for row in head if row.number > names.last]
    if options.footer is not None or not is_short:
        return _Table(book, seen, header, below, rows, said_footer(options.footer or ""))
    below += rows
    table = _Table(book, seen, header, below, iter(()), 0)
    last: list[list[str]] = []
    for before, row in pairwise([*header[-1:], *below][-2 * LOOK_ROWS :]):
        last += [[]] * (row.number > before.number + 1)
        last.append([marks.shown(row.cells.get(column, "")) for column in table.places])
    if guess := guessed_footer(last, len(table.places)):
        guesses.append(guess)
        table.footer = int(guess.value)
    return table


@contextmanager
def _sheets(source: FileSource) -> Iterator[tuple[str, ...]]:
    stream = source.open()
    try:
        with zipfile.ZipFile(stream) as archive:
            yield open_workbook(archive, None).sheets
    finally:
        source.release(stream)


@contextmanager
def _table(source: FileSource, options: ReadOptions, guesses: list[Guess]) -> Iterator[_Table]:
    """Open a workbook and find its table; what was found out is added to `guesses`."""
    stream, refusal, book = source.open(), None, None
    try:
        odd = _checked(stream, source.size)
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            book = open_workbook(archive, options.sheet or None)
            seen = sheet.survey(archive, book.part) if book.part in odd else Survey()
            rows = sheet.rows(archive, book, seen)
            is_short = archive.getinfo(book.part).file_size <= SHORT_BYTES
            yield _laid_out(book, seen, rows, is_short, options, guesses)
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
        "NOT_TABULAR",
        "The file is a ZIP archive, an OpenDocument file, or an Excel workbook that is damaged or cut short; save its "
        "table as .xlsx or CSV.",
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
