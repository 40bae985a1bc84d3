"""Which rows of a table are no records: a title above the names of its columns, notes below its last record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import columns_within_limit
from treedp_core.records.read.layout.options import NO_HEADER, Guess
from treedp_core.records.read.text import Notice, normalise

Cells = Sequence[str]
Rows = Sequence[tuple[int, Cells]]
"""Rows and their numbers, counted from 1."""

_TITLES: Final = 30
_BELOW: Final = 20
_NOTES: Final = 30
_MOSTLY: Final = 0.8
_LONGEST: Final = 64
"""Characters of a number."""
_NUMBER: Final = re.compile(r"\s*+[-+(]?[$€£]?\s*+\d[\d.,'’ \u00a0\u202f]*+(?:[eE][-+]?\d+)?\s*+[%€)]?\s*+")
_YEAR: Final = re.compile(r"\s*(?:1[5-9]|2[0-2])\d\d\s*")
_DATE: Final = re.compile(r"\s*(?:\d{4}-\d\d?-\d\d?|\d\d?([./])\d\d?\1\d{2,4})(?:[ T]\d[\d:.]*.{0,6})?\s*", re.ASCII)
_NOTE: Final = re.compile(
    r"\s*(?:[*†¹©]|\(c\)|\d\)|(?:sources?|notes?|remarks?|footnotes?|quellen?|hinweise?|anmerkung(?:en)?|stand|fuentes?|"
    r"notas?|fonte|bron|lecture|champ|extracted|generated|exported|created|copyright)\b)", re.IGNORECASE,
)  # fmt: skip


class Header(NamedTuple):
    """The first and the last row that name the columns; 0 where none does."""

    first: int
    last: int


def said_header(value: str) -> Header:
    """Return what the option header says.

    Raises
    ------
    InputError
        ``HEADER``.

    >>> said_header("3"), said_header("3-4"), said_header("none")
    (Header(first=3, last=3), Header(first=3, last=4), Header(first=0, last=0))
    """
    if value == NO_HEADER:
        return Header(0, 0)
    found = re.fullmatch(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?", value, re.ASCII)
    if found is None or int(found[2] or found[1]) not in (int(found[1]), int(found[1]) + 1):
        raise InputError(
            "HEADER", f"Expected the row that names the columns, such as 3 or 3-4, or none, got {echo(value)}."
        )
    return Header(int(found[1]), int(found[2] or found[1]))


def said_footer(value: str) -> int:
    """Return what the option footer says.

    Raises
    ------
    InputError
        ``FOOTER``.
    """
    if not re.fullmatch(r"\d{0,3}", value, re.ASCII):
        raise InputError("FOOTER", f"Expected how many of the last lines are no records, such as 2, got {echo(value)}.")
    return int(value or 0)


def usual_width(rows: Rows) -> int:
    """Return how many cells most rows have; of two numbers that as many have, that of the row that comes first."""
    return Counter(len(cells) for _, cells in rows).most_common(1)[0][0] if rows else 0


def guessed_header(rows: Rows) -> Guess | None:
    """Return which row names the columns, from the first rows; None where the first row that is not blank does.

    >>> guessed_header([(1, ["Towns, 2024"]), (3, ["town", "n"]), (4, ["Ulm", "7"])]).value
    '3'
    >>> guessed_header([(1, ["town", "2023", ""]), (2, ["", "n", "pay"]), (3, ["Ulm", "7", "1,5"])]).value
    '1-2'
    >>> guessed_header([(1, ["Ulm", "34", "m"]), (2, ["Kiel", "7", "f"]), (3, ["Bonn", "51", "m"])]).value
    'none'
    """
    filled = [(number, cells) for number, cells in rows if any(map(str.strip, cells))]
    width = usual_width(filled[-_BELOW:] if len(filled) > _BELOW else filled)
    if filled and len(filled[0][1]) == width and (guess := _guessed_record(filled[0][1], filled[1:])):
        return guess
    if width < 2 or len(filled) < 2:
        return None
    for at, (number, cells) in enumerate(filled[:_TITLES]):
        if (
            at
            and not _is_title(filled[at - 1][1], width)
            and not _are_groups(filled[at - 1][1], cells, filled[at + 1 :])
        ):
            return None
        if at and _are_groups(filled[at - 1][1], cells, filled[at + 1 :]) and filled[at - 1][0] == number - 1:
            return Guess("header", f"{number - 1}-{number}", f"row {number - 1} names groups of columns")
        if len(cells) == width and all(map(str.strip, cells)) and not any(map(_is_number, cells)):
            return _below_title(filled[:at], number, cells, filled[at + 1 :]) if at else None
    return None


def _guessed_record(cells: Cells, below: Rows) -> Guess | None:
    """Return that the first row is a record, where each of its cells is as those beneath it, and none is like a name.

    Numbers above numbers may be names, as ages or codes are, unless another cell tells a record: a date above dates, or
    a text that stands beneath again; all numbers do, but those that count columns from 0 or 1.
    """
    kinds, told = list[str](), False
    for j, cell in enumerate(cells):
        beneath = [some[j] for _, some in below if j < len(some) and some[j].strip()]
        kinds.append(_kind([cell]))
        if len(beneath) < 2 or not cell.strip() or kinds[-1] != _kind(beneath):
            return None
        told = told or kinds[-1] == "date" or (kinds[-1] == "text" and cell in beneath)
    is_told = told and {*kinds} != {"text"}
    if not is_told and ("text" in kinds or _are_counted(cells)):
        return None
    return Guess("header", NO_HEADER, "the first row reads like those beneath it", "likely" if told else "perhaps")


def _kind(cells: Cells) -> str:
    """What most of some cells are; a year may name a column."""
    for kind, is_one in (("date", _DATE.fullmatch), ("year", _YEAR.fullmatch), ("number", _reads_as_number)):
        if sum(map(bool, map(is_one, cells))) >= _MOSTLY * len(cells):
            return kind
    return "text"


def _are_counted(cells: Cells) -> bool:
    """Whether cells are 0, or 1, and so on, as programs name columns."""
    return [cell.strip() for cell in cells] in [[str(at + j) for j in range(len(cells))] for at in (0, 1)]


def _below_title(above: Rows, number: int, cells: Cells, below: Rows) -> Guess | None:
    """A row below a title: told from a record by what is below it, where the title alone does not."""
    is_named = any(_is_numeric(below, j) for j in range(len(cells)))
    is_alone = all(len([one for one in some if one.strip()]) == 1 for _, some in above)
    gaps = any(later - before > 1 for (before, _), (later, _) in pairwise([*above, (number, cells)]))
    if not is_named and not (is_alone and (len(cells) > 2 or len(above) > 1 or gaps)):
        return None
    return Guess("header", str(number), "what stands above it reads as a title", "likely" if is_named else "perhaps")


def _is_title(cells: Cells, width: int) -> bool:
    filled = [j for j, cell in enumerate(cells) if cell.strip()]
    if len(cells) != width:
        return len(cells) < width
    return len(filled) <= width // 2 and filled[0] in (0, (width - 1) // 2, width // 2)


def _are_groups(upper: Cells, lower: Cells, below: Rows) -> bool:
    """Whether a row names groups of the columns that the next one names: blanks where a group goes on."""
    if len(upper) != len(lower) or any(map(_is_number, lower)) or not below:
        return False
    blank = [j for j, cell in enumerate(upper) if not cell.strip()]
    names = [cell for cell in lower if cell.strip()]
    is_whole = all(lower[j].strip() for j in blank) and sum(bool(cell.strip()) for cell in upper) > 1
    goes_on = [j for j in blank if j and upper[j - 1].strip() and lower[j - 1].strip()]
    is_same = any(cell.strip() and cell == above for above, cell in zip(upper, lower, strict=True))  # merged cells
    told = len(names) < len(lower) or len(set(names)) < len(names) or is_same
    return is_whole and bool(goes_on) and told and any(_is_numeric(below, j) for j in goes_on)


def _is_number(cell: str) -> bool:
    return _reads_as_number(cell) and not _YEAR.fullmatch(cell)


def _reads_as_number(cell: str) -> bool:
    return len(cell) <= _LONGEST and bool(_NUMBER.fullmatch(cell))


def _is_numeric(rows: Rows, j: int) -> bool:
    some = [cells[j] for _, cells in rows[:_BELOW] if j < len(cells) and cells[j].strip()]
    return bool(some) and sum(map(_reads_as_number, some)) >= _MOSTLY * len(some)


def names_of(rows: Sequence[Cells]) -> list[str]:
    """Return the names of columns from the row, or the two rows, that hold them.

    >>> names_of([["town", "2023", "", "all"], ["", "n", "pay", ""]])
    ['town', '2023 n', '2023 pay', 'all']
    """
    if len(rows) == 1:
        return list(rows[0])
    upper, lower = rows
    found, group = list[str](), ""
    for j, cell in enumerate(lower):
        above = upper[j] if j < len(upper) else ""
        group = above if above.strip() else group
        found.append(" ".join(filter(str.strip, (group, cell))) if cell.strip() not in ("", above.strip()) else above)
    return found


def named(names: Cells) -> tuple[list[str], list[Notice]]:
    """Return names that are all there and differ, and what to know of those that the file does not have so.

    >>> named(["", "n", "n"])[0]
    ['column 1', 'n', 'n (2)']
    """
    columns_within_limit(len(names))
    taken = {normalise(name) for name in names}
    found: list[str] = []
    for position, name in enumerate(names, start=1):
        plain = normalise(name) or f"column {position}"
        own, n = plain, 1
        while own in found or (own != normalise(name) and own in taken):
            n += 1
            own = f"{plain} ({n})"
        found.append(own if own != normalise(name) else name)
    given = [own for own, name in zip(found, names, strict=True) if own != name]
    told = f"Columns without a name of their own are called: {', '.join(map(echo, given[:8]))}."
    return found, [("COLUMN_NAMED", told)] if given else []


def guessed_unnamed(header: Cells, rows: Rows) -> Guess | None:
    """Return which cell of each row has no name, where all rows have one more than there are names; None for none."""
    filled = [cells for _, cells in rows if cells]
    if len(filled) < 2 or any(len(cells) != len(header) + 1 for cells in filled):
        return None
    if all(not cells[-1].strip() for cells in filled):
        return Guess("unnamed", "last", "each row ends with a mark that the header does not have", "sure")
    first = [cells[0] for cells in filled]
    is_counted = first[0].isdecimal() and all(one.isdecimal() for one in first)
    if is_counted and all(int(b) == int(a) + 1 for a, b in pairwise(first)):
        return Guess("unnamed", "first", "each row begins with its number")
    return None


def guessed_short(rows: Rows, width: int) -> Guess | None:
    """Return that cells are blank which rows lack at their end; not where a line break may have torn a row in two.

    >>> full = [(n, ["a", "b", "c"]) for n in range(3)]
    >>> guessed_short([*full, (3, ["a"])], 3).value, guessed_short([*full, (3, ["a", "b"]), (4, ["b", "c"])], 3)
    ('blank', None)
    """
    widths = [len(cells) for _, cells in rows]
    is_torn = any(one < width > other and one + other == width + 1 for one, other in pairwise(widths))
    is_torn = is_torn or any("\n" in cell for _, cells in rows if len(cells) < width for cell in cells)
    n_short = sum(one < width for one in widths)
    if width < 2 or is_torn or max(widths, default=0) > width or not 0 < n_short <= len(widths) - max(3, n_short):
        return None
    return Guess("short", "blank", "some rows end early, where the last cells of others may be blank", "perhaps")


def guessed_footer(rows: Sequence[Cells], width: int) -> Guess | None:
    """Return how many of the last lines are no records, from the last rows; a line without any text is an empty row.

    >>> guessed_footer([["Ulm", "7"], ["Kiel", "3"], ["Bonn", "4"], [], ["Source: Office of Statistics"]], 2).value
    '1'
    >>> guessed_footer([["Ulm", "7"], ["Kiel", "3"], ["Bonn", "4"], ["Jena"]], 2)
    """
    at = len(rows)
    while at and len(rows) - at < _NOTES and _is_light(rows[at - 1], width):
        at -= 1
    begins = next((j for j in range(at, len(rows)) if _begins_notes(rows, j, width)), len(rows))
    notes = [cells for cells in rows[begins:] if cells]
    before = [cells for cells in rows[:begins] if cells][-3:]
    is_table = len(before) > 1 and all(len(cells) == width for cells in before)
    if not notes or not is_table or any("\n" in cell for cells in notes for cell in cells):
        return None
    return Guess("footer", str(len(notes)), "they read as notes below the table")


def _is_light(cells: Cells, width: int) -> bool:
    filled = sum(bool(cell.strip()) for cell in cells)
    return len(cells) < width or filled == 0 or (filled == 1 and width > 2 and bool(cells[0].strip()))


def _begins_notes(rows: Sequence[Cells], j: int, width: int) -> bool:
    """Whether notes begin here: with one by its words, or with a blank row before one.

    A blank row alone may be a record, of which nothing is known.
    """
    later = next((cells for cells in rows[j:] if any(map(str.strip, cells))), [])
    written = " ".join(later).strip()
    is_behind_blank = later is not rows[j]
    n_words = len(written.split())
    is_told = n_words > 2 if is_behind_blank else len(later) < width and n_words > 3
    return bool(later) and (bool(_NOTE.match(written)) or is_told or (is_behind_blank and len(later) < width))
