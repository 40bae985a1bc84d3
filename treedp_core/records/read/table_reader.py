"""One way to read any source: open it, choose columns, and receive them batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from treedp_core.checks import InputError, echo
from treedp_core.records.read import sources, text
from treedp_core.records.read.inspection import Origin, inspect
from treedp_core.records.read.sniff import FileKind, Preview
from treedp_core.records.read.sources import ReadOptions, file_source

Progress = Callable[[int, int], None]
Batch = tuple[list[Any], int]


@dataclass(frozen=True, eq=False)
class TableReader:
    """A table that was looked at and can now be read.

    Parameters
    ----------
    origin : Origin
        The records.
    preview : Preview
        What `inspect` said of them.
    total : int
        Bytes (rows for a table in memory) to read in all, for progress. Known beforehand: to ask an open file for its
        size in the midst of reading would move the reader to its end.
    block_bytes : int
        Bytes of CSV read at a time.
    """

    origin: Origin
    preview: Preview
    total: int
    block_bytes: int = sources.BLOCK_BYTES

    @property
    def first_row(self) -> int:
        """The number shown for the first record: 2 in a CSV file, whose header is row 1; else 1."""
        return 2 if self.preview.kind is FileKind.CSV else 1

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the file's bytes; empty for a table in memory."""
        return "" if self.preview.kind is FileKind.TABLE else file_source(self.origin, self.preview.name).digest()

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
        try:
            with closing(self._batches(labels, numeric)) as batches:
                yield batches
        except InputError:
            if self.preview.kind is FileKind.CSV:
                from treedp_core.records.read import arrow_csv

                arrow_csv.refuse_torn_quotes(file_source(self.origin, self.preview.name), self.preview, None)
            raise

    def _batches(self, labels: Sequence[str], numeric: Sequence[str]) -> Generator[Batch, None, None]:
        from treedp_core.records.read import arrow_csv, arrow_tables

        preview = self.preview
        if preview.kind is FileKind.TABLE:
            yield from arrow_tables.table_batches(self.origin, preview.columns, labels, numeric)
            return
        source = file_source(self.origin, preview.name)
        if preview.kind is FileKind.PARQUET:
            yield from arrow_tables.parquet_batches(source, labels, numeric)
        else:
            yield from arrow_csv.batches(source, preview, labels, numeric, self.block_bytes)


def open_table(
    origin: Origin, name: str | None, options: ReadOptions | None, block_bytes: int | None = None
) -> TableReader:
    """Look at a source and return its reader."""
    preview = inspect(origin, name=name, options=options)
    in_memory = preview.kind is FileKind.TABLE
    total = preview.n_rows or 0 if in_memory else file_source(origin, preview.name).size
    return TableReader(origin, preview, total, block_bytes or sources.BLOCK_BYTES)


def refuse_no_rows(n_rows: int) -> None:
    """Refuse a table that turned out to have no records."""
    if n_rows == 0:
        raise InputError("NO_ROWS", "The file has a header but no rows; expected at least one record.")
