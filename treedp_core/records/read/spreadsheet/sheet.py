"""The rows of a sheet as a person sees them: merged cells over all their rows, nothing that is hidden."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from treedp_core.checks import InputError
from treedp_core.records.read.numbers.marks import typed
from treedp_core.records.read.spreadsheet.number_format import kind_of, shown
from treedp_core.records.read.spreadsheet.workbook import Attributes, Texts, Workbook, feed, is_on, local, unescaped
from treedp_core.words import whole

MAX_ROWS: Final = 1 << 20
MAX_SHEET_COLUMNS: Final = 1 << 14
MAX_MERGED: Final = 100_000
MAX_MERGED_ROWS: Final = 20_000_000
"""That merged cells go over, all together: each is looked at in each of its rows."""
UNKNOWN: Final = "\ud800"
"""Stands for a formula without a value: no text has half a character."""
_CELL: Final = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")


@dataclass(eq=False)
class Survey:
    """What a sheet says of its cells outside them.

    Parameters
    ----------
    merged : dict
        For the first cell of each range, (row, column), the last row that it goes over, where these are several.
    hidden_rows : int
        Rows with cells that are not shown.
    hidden_columns : set of int
        Columns that are not shown.
    """

    merged: dict[tuple[int, int], int] = field(default_factory=dict)
    hidden_rows: int = 0
    hidden_columns: set[int] = field(default_factory=set)


@dataclass(eq=False)
class Row:
    """A row that is shown: its number in the sheet, its texts by column; which are shown in percent, and not shown."""

    number: int
    cells: dict[int, str]
    percent: set[int]
    hidden: set[int]


def column_of(letters: str) -> int:
    """Return the number of a column, from 0.

    >>> column_of("A"), column_of("AB"), letters_of(27)
    (0, 27, 'AB')
    """
    found = 0
    for letter in letters.upper():
        found = 26 * found + ord(letter) - 64
    return found - 1


def letters_of(column: int) -> str:
    """Return what a spreadsheet calls a column."""
    column, last = divmod(column, 26)
    return (letters_of(column - 1) if column else "") + chr(65 + last)


def survey(archive: zipfile.ZipFile, part: str) -> Survey:
    """Return what is merged and hidden, in one pass over a sheet.

    Raises
    ------
    InputError
        ``EXCEL_TOO_LARGE`` for more merged cells than anybody merges.
    """
    found, is_hidden, n_rows = Survey(), False, 0

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_hidden, n_rows
        name = local(name)
        if name == "row":
            is_hidden = _is_hidden(attributes, "ht")
        elif is_hidden and name in ("v", "is"):
            found.hidden_rows, is_hidden = found.hidden_rows + 1, False
        elif name == "col" and _is_hidden(attributes, "width"):
            first, last = max(1, int(attributes["min"])), min(int(attributes["max"]), MAX_SHEET_COLUMNS)
            found.hidden_columns.update(range(first - 1, last))
        elif name == "mergeCell":
            ends = [_CELL.fullmatch(one) for one in attributes.get("ref", "").split(":")]
            if len(ends) == 2 and ends[0] and ends[1] and int(ends[1][2]) > int(ends[0][2]):
                found.merged[int(ends[0][2]), column_of(ends[0][1])] = int(ends[1][2])
                n_rows += min(int(ends[1][2]), MAX_ROWS) - int(ends[0][2])
            if len(found.merged) > MAX_MERGED or n_rows > MAX_MERGED_ROWS:
                raise InputError("EXCEL_TOO_LARGE", "The sheet has too many merged cells; save it as CSV.")

    for _ in feed(archive, part, start):
        pass
    return found


def _place(written: str) -> int:
    """A place in a list: Python's own reading would count a negative one from the end."""
    if not written.isdecimal():
        raise ValueError
    return int(written)


def _is_hidden(attributes: Attributes, size: str) -> bool:
    return is_on(attributes, "hidden") or attributes.get(size, "") in ("0", "0.0")


def rows(archive: zipfile.ZipFile, book: Workbook, seen: Survey) -> Iterator[Row]:
    """Give the rows that are shown and have text, in the order of the sheet.

    Raises
    ------
    InputError
        ``TOO_MANY_ROWS``, ``TOO_MANY_COLUMNS``.
    """
    reading = _Reading(book, seen)
    for _ in feed(archive, book.part, reading.start, reading.end, reading.data):
        yield from reading.ready
        reading.ready.clear()


class _Reading:
    """Takes in the XML of a sheet and makes rows of it."""

    def __init__(self, book: Workbook, seen: Survey) -> None:
        self.ready: list[Row] = []
        self._book, self._seen = book, seen
        self._texts = Texts()
        self._local: dict[str, str] = {}
        self._columns: dict[str, int] = {}
        self._over: dict[int, tuple[str, int]] = {}  # column -> text of a merged cell, and its last row
        self._row, self._column, self._is_hidden = 0, -1, False
        self._cells: dict[int, str] = {}
        self._percent: set[int] = set()
        self._kind, self._style, self._value = "n", "", list[str]()
        self._in_value = self._is_formula = False

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""
        name = self._local.get(name) or self._local.setdefault(name, local(name))
        if name == "c":
            self._column = self._place(attributes.get("r", ""))
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._is_formula = False
            self._value.clear()
        elif name == "v":
            self._in_value = True
        elif name == "row":
            number = attributes.get("r", "")
            self._row = int(number) if number else self._row + 1
            if self._row > MAX_ROWS:
                raise InputError("TOO_MANY_ROWS", f"The sheet has more than {whole(MAX_ROWS)} rows.")
            self._column, self._is_hidden = -1, _is_hidden(attributes, "ht")
            self._cells, self._percent = {}, set()
        elif name == "f":
            self._is_formula = True
        elif self._kind == "inlineStr":
            self._texts.start(name)

    def end(self, name: str) -> None:
        """An element ends."""
        name = self._local[name]
        if name == "c":
            if text := self._text():
                self._cells[self._column] = text
        elif name == "v":
            self._in_value = False
        elif name == "row":
            self._finish()
        elif self._kind == "inlineStr":
            self._texts.end(name)

    def data(self, text: str) -> None:
        """Characters follow."""
        if self._in_value:
            self._value.append(text)
        elif self._kind == "inlineStr":
            self._texts.data(text)

    def _place(self, cell: str) -> int:
        if not cell:
            return self._column + 1
        letters = cell.rstrip("0123456789")
        column = self._columns.get(letters)
        if column is None:
            column = self._columns[letters] = column_of(letters)
            if not 0 <= column < MAX_SHEET_COLUMNS:
                raise InputError("TOO_MANY_COLUMNS", f"The sheet has more than {whole(MAX_SHEET_COLUMNS)} columns.")
        return column

    def _text(self) -> str:
        """What the cell that ends shows."""
        kind, written = self._kind, "".join(self._value)
        if kind == "inlineStr":
            return self._texts.taken()
        if kind == "n":
            if not written:
                return UNKNOWN if self._is_formula else ""
            code = self._book.formats[_place(self._style)] if self._style else ""
            if not code and written.isdecimal() and len(written) < 16:
                return written
            if "%" in code and kind_of(code) == "percent":
                self._percent.add(self._column)
            return typed(shown(written, code, self._book.since_1904))
        if kind == "s":
            return self._book.texts[_place(written)] if written else ""
        if kind == "b":
            return "" if not written else "true" if written == "1" else "false"
        if kind == "d":
            return written.removesuffix("T00:00:00")
        return unescaped(written)

    def _finish(self) -> None:
        """Lay the merged cells over the row, and give it if a person sees it."""
        cells, number = self._cells, self._row
        is_blank = not any(map(str.strip, cells.values()))
        if self._seen.merged:
            for column, text in cells.items():
                if last := self._seen.merged.get((number, column)):
                    self._over[column] = text, last
            for column, (text, last) in list(self._over.items()):
                if number > last:
                    del self._over[column]
                elif column not in cells:
                    cells[column] = text
        if not self._is_hidden and not is_blank:
            hidden = self._seen.hidden_columns & cells.keys()
            for column in hidden:
                del cells[column]
            if cells:
                self.ready.append(Row(number, cells, self._percent, hidden))
