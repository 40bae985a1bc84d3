"""A cheap first look at a file: what it is, its columns and its first rows; at most 256 KB are read."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from treedp_core.checks import InputError, echo
from treedp_core.records.read import text
from treedp_core.records.read.file_checks import (
    checked_columns,
    encoding_error,
    header_notices,
    refuse_binary,
    refuse_foreign,
    row_refusal,
)
from treedp_core.records.read.layout import encodings
from treedp_core.records.read.layout.options import Guess, with_guesses
from treedp_core.records.read.layout.rows import (
    Header,
    Rows,
    guessed_footer,
    guessed_header,
    guessed_short,
    guessed_unnamed,
    named,
    names_of,
    said_footer,
    said_header,
    usual_width,
)
from treedp_core.records.read.sources import SNIFF_BYTES, ByteStream, FileSource, ReadOptions, encoding_of, is_gzip

PREVIEW_ROWS: Final = 20
LOOK_ROWS: Final = 50
DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
QUOTE: Final = '"'
_SEP: Final = re.compile(r'\s*("?)sep=([,;\t|])\1[\r\n]', re.IGNORECASE)
_TAIL_BYTES: Final = 1 << 14
_SINGLE: Final = re.compile(r"'[^']*'(?:([,;\t|])'[^']*')+\s*")


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    Parameters
    ----------
    header : int
        The last row that names the columns, 0 where none does; records follow it.
    footer : int
        How many of the last lines are no records.
    quote, escape : str
        The mark around cells; the one before a mark within a cell, empty where that is doubled.
    part : str
        Of JSON within a wrapper, the list that holds the records.
    is_short : bool
        Whether rows may lack cells at their end.
    """

    header: int = 1
    footer: int = 0
    quote: str = QUOTE
    escape: str = ""
    part: str = ""
    is_short: bool = False

    def reading(self, delimiter: str) -> dict[str, Any]:
        """How `csv.reader` takes it."""
        return {"delimiter": delimiter, "quotechar": self.quote, "escapechar": self.escape or None}


@dataclass(frozen=True)
class Preview:
    """What a source looks like before anything is counted.

    Parameters
    ----------
    name : str
        Name to show (as text only).
    kind : str
        What reads it: a name in `READERS`, or "table in memory".
    columns : tuple of str
        Column names in file order.
    rows : tuple of tuples of str
        The first rows as text, at most 20.
    n_rows : int or None
        Number of rows where the file says so without being read (Parquet), else None.
    encoding, delimiter : str
        How the text was read; empty for Parquet.
    parts : tuple of str
        What there is to choose from for the option part; empty where there is nothing.
    sheet, sheets : str, tuple of str
        Which sheet of a workbook is read, and which ones there are to choose from; empty where there is but one.
    notices : tuple of (code, sentence)
        What a person should look at.
    uses : tuple of {"any", "label", "number", "none"}
        What each column can be, by its type; empty where all are text, which can be anything.
    orders : tuple of (column, labels)
        Columns whose categories have an order that the file states, such as low, medium, high.
    layout : Layout
        Where in a text file the records are, and how their cells are marked.
    options : ReadOptions
        What reads the file like this, whatever else is in it: what was said, and what was found out.
    leaps : list of (record, row)
        Where the numbers of rows leap, as blank rows are no records: from that record on, counted from 0, each has the
        next row. A reader fills it, where it can, as it reads.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int | None = None
    encoding: str = ""
    delimiter: str = ""
    parts: tuple[str, ...] = ()
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    notices: tuple[text.Notice, ...] = ()
    uses: tuple[str, ...] = ()
    orders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    layout: Layout = field(default_factory=lambda: Layout())
    options: ReadOptions = field(default_factory=ReadOptions)
    leaps: list[tuple[int, int]] = field(default_factory=list, compare=False, repr=False)

    def columns_for(self, what: Literal["label", "number"]) -> tuple[str, ...]:
        """Return the columns that can be labels, or numbers, by their type."""
        uses = self.uses or ("any",) * len(self.columns)
        return tuple(name for name, use in zip(self.columns, uses, strict=True) if use in ("any", what))


def preview_csv(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a text file, or refuse what is no table."""
    found = _Head(source, options)
    rows = found.rows()
    if not rows:
        raise InputError("FILE_EMPTY", "The file holds no text; expected a header and rows.")
    header = found.header(rows)
    naming = [cells for number, cells in rows if header.first <= number <= header.last]
    given = names_of(naming) if naming else [""] * usual_width(rows)
    below = [(number, cells) for number, cells in rows if number > header.last]
    given = found.with_unnamed(given, below)
    names, told = named(given)
    columns = tuple(checked_columns(names))
    found.refuse_other_delimiter(len(columns))
    footer = found.footer(len(columns))
    if footer and found.is_whole and len(rows) <= LOOK_ROWS:
        below = below[:-footer]
    if not below and found.is_whole:
        raise InputError("NO_ROWS", "The file has a header but no rows; expected at least one record.")
    is_short = found.is_short(below[:PREVIEW_ROWS], len(columns))
    for number, cells in below[:PREVIEW_ROWS]:
        if is_short and len(cells) < len(columns):
            cells += [""] * (len(columns) - len(cells))
        if len(cells) != len(columns):
            raise row_refusal(number, len(cells), len(columns), torn=any("\n" in cell for cell in cells))
    shown = tuple(tuple(cells) for _, cells in below[:PREVIEW_ROWS])
    return Preview(
        source.name, "CSV", columns, shown, None, found.encoding, found.delimiter,
        notices=(
            *header_notices(given if naming else ()), *told,
            *(one.notice for one in found.guesses),
        ),
        layout=Layout(header.last, footer, found.layout.quote, found.layout.escape, is_short=is_short),
        options=with_guesses(options, found.guesses),
    )  # fmt: skip


class _Head:
    """The first text of a file: what was said of it, and what is found out, each noted among `guesses`."""

    def __init__(self, source: FileSource, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self.guesses: list[Guess] = []
        self.encoding, self.text, self.is_whole = self._decoded()
        self.layout = Layout(quote=options.quote or QUOTE, escape=options.escape or "")
        for mark in (self.layout.quote, *filter(None, [self.layout.escape])):
            _refuse_mark(mark, "around or before", "\r\n\0")
        by_itself = _SEP.match(self.text) if options.header is None else None
        self._header = Header(2, 2) if by_itself else None
        if by_itself:
            self.guesses.append(Guess("header", "2", "the first line only says how cells are parted", "sure"))
        self.delimiter = self._delimiter(by_itself[2] if by_itself else "")
        self._look_for_marks()

    def rows(self) -> list[tuple[int, list[str]]]:
        """Return the first rows that are not blank, and their numbers; a last row that may be cut is left out."""
        return _rows(self.text, self.layout, self.delimiter, self.is_whole)

    def header(self, rows: Rows) -> Header:
        """Return which rows name the columns: those that were said, or found, or the first one."""
        said = self._options.header
        if said:
            header = said_header(said)
            if header.last and all(number != header.last for number, _ in rows):
                raise InputError(
                    "HEADER", f"Row {header.last} holds no names of columns; say another by the option header."
                )
            return header
        if self._header is not None:
            return self._header
        guess = guessed_header(rows) if said is None else None
        if guess is not None:
            self.guesses.append(guess)
            return said_header(guess.value)
        return Header(rows[0][0], rows[0][0])

    def with_unnamed(self, names: Sequence[str], below: Rows) -> list[str]:
        """Return the names with an empty one for the cell that the header has none for."""
        said = self._options.unnamed
        if said is None and (guess := guessed_unnamed(names, below)):
            self.guesses.append(guess)
            said = guess.value
        if said not in (None, "", "first", "last"):
            raise InputError("UNNAMED", f"Expected first or last, got {echo(said)}.")
        return [*[""] * (said == "first"), *names, *[""] * (said == "last")]

    def is_short(self, below: Sequence[tuple[int, list[str]]], n_columns: int) -> bool:
        """Whether rows may lack cells at their end, which are blank then."""
        said = self._options.short
        if said is None and (guess := guessed_short(below, n_columns)):
            self.guesses.append(guess)
            said = guess.value
        if said not in (None, "", "blank"):
            raise InputError("SHORT", f"Expected blank, got {echo(said)}.")
        return said == "blank"

    def footer(self, n_columns: int) -> int:
        """Return how many of the last lines are no records."""
        said = self._options.footer
        guess = None
        if said is None and n_columns > 1 and (last := self._last_rows()):
            guess = guessed_footer(last, n_columns)
        if guess is None:
            return said_footer(said or "")
        self.guesses.append(guess)
        return int(guess.value)

    def refuse_other_delimiter(self, n_columns: int) -> None:
        """Refuse a file that is one column, and several with another mark between cells."""
        for other, name in DELIMITERS.items() if n_columns == 1 else ():
            rows, width = self._fit(other)
            if other != self.delimiter and width > 1 and rows > 1:
                raise InputError(
                    "DELIMITER",
                    f"Found 1 column; the file seems to use {other!r} ({name}) between cells. Choose it instead, by "
                    "the option delimiter.",
                )

    def _decoded(self) -> tuple[str, str, bool]:
        """Return the encoding, the first text in it (whole lines where it goes on), and whether that is all of it."""
        stored = self._source.head()
        packed = is_gzip(stored)
        if not packed:
            refuse_foreign(stored[:512])
        said = self._options.encoding
        encoding = encoding_of(unpacked_head(self._source, 64) if packed else stored, said)
        if said is None and encoding in ("utf-16", "utf-32"):
            self.guesses.append(Guess("encoding", encoding, "its first bytes say", "sure"))
        try:
            return encoding, *_decoded_head(self._source, encoding)
        except InputError as error:
            if said is not None or error.code != "ENCODING" or encoding != "utf-8":
                raise
            refusal = error
        found = encodings.guessed(unpacked_head(self._source, SNIFF_BYTES))
        if found is None:
            raise refusal
        self.guesses.append(Guess("encoding", found[0], "its letters show", "likely" if found[1] else "perhaps"))
        return found[0], *_decoded_head(self._source, found[0])

    def _delimiter(self, by_itself: str) -> str:
        """Return the character between cells: the chosen one, else what splits the first rows most evenly."""
        chosen = self._options.delimiter
        if chosen:
            _refuse_mark(chosen, "such as , ; tab or |", '"\r\n\0')
            return chosen
        by_header = max(DELIMITERS, key=self._parts_of_header)
        found = by_header if chosen is not None else by_itself or max(DELIMITERS, key=self._fit)
        if chosen is None and {found, by_header} != {","}:
            self.guesses.append(Guess("delimiter", found, *self._why(found, by_itself)))
        return found

    def _why(self, delimiter: str, by_itself: str) -> tuple[str, str]:
        """Return what shows a delimiter, and how sure that is: other marks may part as many of the first rows."""
        n, _ = self._fit(delimiter)
        if by_itself:
            return "the first line says", "sure"
        if n == 0:
            return "no mark parts the first rows", "perhaps"
        others = [name for other, name in DELIMITERS.items() if other != delimiter and self._fit(other)[0] >= n]
        why = "it parts the first rows evenly"
        return (f"{why}, {others[0]} in fewer cells", "likely") if others else (why, "sure")

    def _parts_of_header(self, delimiter: str) -> int:
        """Return how many names a delimiter parts the row of names into: no record has a say in that."""
        said = said_header(self._options.header).last if self._options.header else 0
        rows = _rows(self.text[:65536], self.layout, delimiter, whole=True)
        return next((len(cells) for number, cells in rows if number == said or not said), 0)

    def _fit(self, delimiter: str) -> tuple[int, int]:
        """Return (rows of the usual width, width); no credit to a candidate that does not split most rows."""
        rows = _rows(self.text[:65536], self.layout, delimiter, whole=True)[:PREVIEW_ROWS]
        width = usual_width(rows)
        return (sum(len(cells) == width for _, cells in rows), width) if width > 1 else (0, 0)

    def _look_for_marks(self) -> None:
        """Find out whether cells stand in apostrophes, or a backslash before a quotation mark in a cell."""
        options, said = self._options, self.layout
        lines = self.text[:65536].splitlines()[:PREVIEW_ROWS]
        if (
            options.quote is None
            and len(lines) > 1
            and QUOTE not in self.text
            and all(map(_SINGLE.fullmatch, lines[:2]))
        ):
            self.guesses.append(Guess("quote", "'", "all cells of the first rows have it around them", "likely"))
            self.layout = Layout(quote="'", escape=said.escape)
        elif options.escape is None and '\\"' in self.text:
            escaped = Layout(quote=said.quote, escape="\\")
            if not self._is_even(said) and self._is_even(escaped):
                self.guesses.append(Guess("escape", "\\", "rows are even only so", "likely"))
                self.layout = escaped

    def _is_even(self, layout: Layout) -> bool:
        """Whether all quotation marks of the first text pair up."""
        try:
            for _ in csv.reader(io.StringIO(self.text, newline=""), **layout.reading(self.delimiter), strict=True):
                pass
        except csv.Error as error:
            return not self.is_whole and "unexpected end" in str(error)
        return True

    def _last_rows(self) -> list[list[str]]:
        """Return the last rows, an empty one for each line without text; none where the end is not at hand."""
        if self.is_whole:
            written = self.text
        elif is_gzip(self._source.head(2)):
            return []
        else:
            stream = self._source.open()
            try:
                stream.seek(max(0, self._source.size - _TAIL_BYTES) // 4 * 4)
                written = stream.read(2 * _TAIL_BYTES).decode(self.encoding.removesuffix("-sig"), "replace")
            except UnicodeError:
                return []
            finally:
                self._source.release(stream)
            written = written[written.find("\n") + 1 :]
        try:
            return list(csv.reader(io.StringIO(written, newline=""), **self.layout.reading(self.delimiter)))
        except csv.Error:
            return []


def _decoded_head(source: FileSource, encoding: str) -> tuple[str, bool]:
    """Return the first text of the file (whole lines where it goes on) and whether that is all of it."""
    stream = ByteStream(source, encoding)
    try:
        head = b""
        while len(head) < SNIFF_BYTES:
            block = stream.read(SNIFF_BYTES)
            if not block:
                break
            head += block
        whole = not stream.read(1)
    finally:
        stream.close()
    refuse_foreign(head[:512])
    refuse_binary(head)
    try:
        decoded = codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise encoding_error(error.start) from None
    return decoded, whole


def unpacked_head(source: FileSource, size: int) -> bytes:
    """Return the first bytes of a file, of a gzip file what is in it, whatever they are."""
    if not is_gzip(head := source.head(size)):
        return head
    stream = ByteStream(source, "latin-1")
    try:
        return stream.read(size).decode("utf-8", "ignore").encode("latin-1", "ignore")
    finally:
        stream.close()


def _refuse_mark(mark: str, what: str, never: str) -> None:
    if len(mark) != 1 or mark in never or not mark.isascii():
        raise InputError("DELIMITER", f"Expected one character {what}, got {echo(mark)}.")


def _rows(head: str, layout: Layout, delimiter: str, whole: bool) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not blank, and their numbers; a last row that may be cut is left out."""
    rows: list[tuple[int, list[str]]] = []
    try:
        for number, row in enumerate(csv.reader(io.StringIO(head, newline=""), **layout.reading(delimiter)), start=1):
            if row:
                rows.append((number, row))
            if len(rows) > LOOK_ROWS:
                return rows
    except csv.Error:
        return rows
    return rows if whole else rows[:-1] or rows
