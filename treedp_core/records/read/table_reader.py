"""One way to read any source: open it, choose columns, and receive them batch by batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any

from treedp_core.checks import InputError, echo
from treedp_core.records.read import text
from treedp_core.records.read.readers import Batch, HeldColumns, Origin, Reader, Source, opened
from treedp_core.records.read.sniff import Preview
from treedp_core.records.read.sources import ReadOptions

Progress = Callable[[int, int], None]


class RowNumber(int):
    """The number of a record, which reads as that of its row: a row that holds no record has a number, too.

    >>> row = RowNumber(2, lambda number: number + 10)
    >>> row + 1 == 3, f"{row + 1}", f"{1 + row}"
    (True, '13', '13')
    """

    _row: Callable[[int], int]

    def __new__(cls, number: int, row: Callable[[int], int]) -> RowNumber:
        """Return a number and what says its row."""
        found = super().__new__(cls, number)
        found._row = row
        return found

    def __add__(self, other: int) -> RowNumber:
        return RowNumber(int(self) + int(other), self._row)

    __radd__ = __add__

    def __format__(self, how: str) -> str:
        return format(self._row(int(self)), how)


@dataclass(frozen=True, eq=False)
class TableReader:
    """A table that was looked at and can now be read.

    Parameters
    ----------
    source : FileSource, TableSource or HeldColumns
        Asked for once: to ask an open file for its size in the midst of reading would move the reader to its end.
    reader : Reader
        What reads it.
    preview : Preview
        What the reader said of it.
    """

    source: Source
    reader: Reader[Any]
    preview: Preview

    @property
    def total(self) -> int:
        """Bytes (rows for a table in memory) to read in all, for progress."""
        return self.source.size

    @property
    def first_row(self) -> int:
        """The number of the first record, 2 in a CSV file, whose header is row 1; shown as the file counts its rows."""
        return RowNumber(self.reader.first_row, self._row)

    def leaps(self) -> list[tuple[int, int]]:
        """Return where the numbers of rows leap, which is found out once, when a row is named or the file will go."""
        if not self.preview.leaps:
            self.preview.leaps[:] = self.reader.leaps(self.source, self.preview)
        return self.preview.leaps

    def _row(self, number: int) -> int:
        """The row of the record that has this number, if no row were blank."""
        leaps = self.leaps()
        record = number - self.reader.first_row
        at = bisect_right(leaps, record, key=itemgetter(0)) - 1
        return number if at < 0 else leaps[at][1] + record - leaps[at][0]

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the file's bytes; empty for a table in memory."""
        return self.source.digest()

    @property
    def notices(self) -> tuple[text.Notice, ...]:
        """What data counted from it must go on saying: how it was read, and where nobody has reviewed what read it."""
        return self.preview.notices

    def column(self, name: str) -> str:
        """Return the name of a column that exists, in the form in which the table has it."""
        name = text.normalise(str(name))
        if name not in self.preview.columns:
            shown = ", ".join(map(echo, self.preview.columns[:8]))
            raise InputError("COLUMN_UNKNOWN", f"There is no column {echo(name)}; the columns are: {shown}.")
        return name

    @contextmanager
    def reading(self, labels: Sequence[str], numeric: Sequence[str] = ()) -> Iterator[Iterator[Batch]]:
        """Give an iterator over (columns, amount read so far); labels first, then the numeric columns.

        When its records are refused, a stray quotation mark, where there is one, is blamed before anything that only
        followed from it.
        """
        uses = dict(zip(self.preview.columns, self.preview.uses, strict=False))
        if merged := [name for name in numeric if self.preview.kind == "Excel" and uses.get(name) == "label"]:
            raise InputError(
                "EXCEL_MERGED",
                f"Column {echo(merged[0])} has merged cells, so which of their rows a number counts for is open; "
                "unmerge them.",
            )
        try:
            with closing(self._batches(labels, numeric)) as batches:
                yield batches
        except InputError:
            self.reader.damage(self.source, self.preview)
            raise

    def _batches(self, labels: Sequence[str], numeric: Sequence[str]) -> Generator[Batch, None, None]:
        yield from self.reader.batches(self.source, self.preview, labels, numeric)


def open_table(origin: Origin, name: str | None, options: ReadOptions | None) -> TableReader:
    """Look at a source and return its reader."""
    return TableReader(*opened(origin, name, options))


def said_of_file(table: TableReader, options: ReadOptions | None) -> dict[str, Any]:
    r"""Return how a file is read: what was said of it, and what was found out that is not as most files have it.

    >>> said_of_file(open_table(b"Towns;\na;b\n1;2\n3;4\n", None, None), ReadOptions(delimiter=";"))
    {'delimiter': ';', 'header': '2'}
    """
    seen = table.source.preview if isinstance(table.source, HeldColumns) else table.preview
    given = table.source.options if isinstance(table.source, HeldColumns) else options or ReadOptions()
    found = {**asdict(given), **{name: one for name, one in asdict(seen.options).items() if one}, "sheet": seen.sheet}
    return {name: said for name, said in found.items() if said}


def refuse_no_rows(n_rows: int) -> None:
    """Refuse a table that turned out to have no records."""
    if n_rows == 0:
        raise InputError("NO_ROWS", "The file has a header but no rows; expected at least one record.")
