"""A cheap first look at a file: what it is, its columns and its first rows; at most 256 KB are read."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

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
from treedp_core.records.read.sources import SNIFF_BYTES, ByteStream, FileSource, ReadOptions, encoding_of, is_gzip

PREVIEW_ROWS: Final = 20
DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


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
    sheet, sheets : str, tuple of str
        Which sheet of a workbook is read, and which ones there are to choose from; empty where there is but one.
    notices : tuple of (code, sentence)
        What a person should look at.
    uses : tuple of {"any", "label", "number", "none"}
        What each column can be, by its type; empty where all are text, which can be anything.
    orders : tuple of (column, labels)
        Columns whose categories have an order that the file states, such as low, medium, high.
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
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    notices: tuple[text.Notice, ...] = ()
    uses: tuple[str, ...] = ()
    orders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    leaps: list[tuple[int, int]] = field(default_factory=list, compare=False, repr=False)

    def columns_for(self, what: Literal["label", "number"]) -> tuple[str, ...]:
        """Return the columns that can be labels, or numbers, by their type."""
        uses = self.uses or ("any",) * len(self.columns)
        return tuple(name for name, use in zip(self.columns, uses, strict=True) if use in ("any", what))


def preview_csv(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a text file, or refuse what is no table."""
    stored = source.head()
    packed = is_gzip(stored)
    if not packed:
        refuse_foreign(stored[:512])
    encoding = encoding_of(_first_bytes(source) if packed else stored, options.encoding)
    head, whole = _decoded_head(source, encoding)
    delimiter = _delimiter(head, options.delimiter)
    rows = _rows(head, delimiter, whole)
    if not rows or not any(rows[0]):
        raise InputError("FILE_EMPTY", "The file holds no text; expected a header and rows.")
    columns = tuple(checked_columns(rows[0]))
    _refuse_other_delimiter(head, delimiter, len(columns))
    if len(rows) < 2 and whole:
        raise InputError("NO_ROWS", "The file has a header but no rows; expected at least one record.")
    _refuse_uneven(head, delimiter, rows)
    body = tuple(tuple(row) for row in rows[1 : PREVIEW_ROWS + 1])
    return Preview(source.name, "CSV", columns, body, None, encoding, delimiter,
                   notices=tuple(header_notices(columns)))  # fmt: skip


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


def _first_bytes(source: FileSource) -> bytes:
    """Return the first unpacked bytes of a gzip file, byte order mark included."""
    stream = ByteStream(source, "latin-1")
    try:
        return stream.read(64).decode("utf-8").encode("latin-1")
    finally:
        stream.close()


def _delimiter(head: str, chosen: str | None) -> str:
    """Return the character between cells: the chosen one, else the candidate that splits the first rows most evenly."""
    if chosen is not None:
        if len(chosen) != 1 or chosen in '"\r\n\0' or not chosen.isascii():
            raise InputError("DELIMITER", f"Expected one character such as , ; tab or |, got {echo(chosen)}.")
        return chosen
    return max(DELIMITERS, key=lambda candidate: _fit(head, candidate))


def _fit(head: str, delimiter: str) -> tuple[int, int]:
    """Return (rows as wide as the header, width); no credit to a candidate that does not split the header."""
    widths = [len(row) for row in _rows(head[:65536], delimiter, whole=True)[:PREVIEW_ROWS]]
    if not widths or widths[0] < 2:
        return 0, 0
    return sum(width == widths[0] for width in widths), widths[0]


def _refuse_other_delimiter(head: str, delimiter: str, n_columns: int) -> None:
    if n_columns > 1:
        return
    for other, name in DELIMITERS.items():
        rows, width = _fit(head, other)
        if other != delimiter and width > 1 and rows > 1:
            raise InputError(
                "DELIMITER",
                f"Found 1 column; the file seems to use {other!r} ({name}) between cells. Choose it instead.",
            )


def _refuse_uneven(head: str, delimiter: str, rows: Sequence[Sequence[str]]) -> None:
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            everything = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
            number = next(islice((n for n, one in enumerate(everything, start=1) if one), place, None))
            raise row_refusal(number, len(row), len(rows[0]), torn=any("\n" in cell for cell in row))


def _rows(head: str, delimiter: str, whole: bool) -> list[list[str]]:
    """Return the first rows; a last row that may be cut is left out."""
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > PREVIEW_ROWS + 1:
                return rows
    except csv.Error:
        return rows
    return rows if whole else rows[:-1] or rows
