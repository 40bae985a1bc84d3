"""A cheap first look at any source: what it is, its columns and its first rows."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.sniff import FileKind, Preview, kind_of, preview_csv
from treedp_core.records.read.sources import ReadOptions, file_source

Origin = str | os.PathLike[str] | bytes | BinaryIO | Any


@in_words
def inspect(origin: Origin, *, name: str | None = None, options: ReadOptions | None = None) -> Preview:
    r"""Return a preview of a file or table.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        The records.
    name : str, optional
        Name to show and to take the extension from.
    options : ReadOptions, optional
        Encoding and delimiter, where they are not to be found out.

    Raises
    ------
    InputError
        ``FILE_EMPTY``, ``NO_ROWS``, ``NOT_TABULAR``, ``TYPE_MISMATCH``, ``ENCODING``, ``DELIMITER``,
        ``GZIP_TOO_LARGE``, ``PARQUET_CORRUPT``, ``PARQUET_ENCRYPTED``, ``TOO_MANY_ROWS``, ``TOO_MANY_COLUMNS``,
        ``DUPLICATE_COLUMN``, ``BLANK_COLUMN``, ``COLUMN_NAME_TOO_LONG`` and the codes of labels for column names.

    Examples
    --------
    >>> preview = inspect(b"region;city\nNorth;Kiel\n")
    >>> preview.columns, preview.rows, preview.delimiter
    (('region', 'city'), (('North', 'Kiel'),), ';')
    """
    if is_table(origin):
        from treedp_core.records.read import arrow_tables

        return arrow_tables.preview_table(origin, name or "table")
    source = file_source(origin, name)
    if kind_of(source) is FileKind.PARQUET:
        from treedp_core.records.read import arrow_tables

        return arrow_tables.preview_parquet(source)
    return preview_csv(source, options or ReadOptions())


def is_table(origin: object) -> bool:
    """Whether records come as a table in memory (a pyarrow Table or a pandas DataFrame), judged without imports."""
    module = type(origin).__module__.partition(".")[0]
    return module in ("pandas", "pyarrow") and hasattr(origin, "columns")
