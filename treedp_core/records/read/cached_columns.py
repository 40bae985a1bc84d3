"""Columns of a file that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treedp_core.records.read.sniff import Preview
from treedp_core.records.read.sources import ReadOptions


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

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the file."""
        return self.source_digest
