"""Ranges of bins that stand in a file or table: one a row, for a matrix that is made for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.records import ReadOptions
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.table_reader import Progress, TableReader, open_table, refuse_no_rows
from treedp_core.studies.cdf.matrices.workload import MAX_RANGES, OWN, Ranges, Terms, Wanted
from treedp_core.tree import FloatArray
from treedp_core.words import whole

if TYPE_CHECKING:
    from treedp_core.records.read.numbers.marks import MarksLook

LOWER, UPPER, WEIGHT = ENDS = ("lower", "upper", "weight")
_ROWS: Final = f"Expected at most {whole(MAX_RANGES)} ranges of bins, one a row."


@in_words
def ranges_of_table(
    origin: Origin,
    n_bins: int,
    *,
    marks: Mapping[str, str] | None = None,
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Ranges:
    r"""Return the ranges of bins of a table with columns lower and upper, the first and the last bin, from bin 1 on.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        A column weight says what the records of a range count, as in "2*7-9"; without it, 1.
    n_bins : int
        K, at least 2.
    marks : mapping from column to marks, optional
        See `treedp_core.records.count_bins`. Ranges are no records: marks that their cells leave no doubt of are taken.
    name, options
        See `treedp_core.records.inspect`.
    progress : callable, optional
        See `treedp_core.records.count_hierarchy`.

    Raises
    ------
    InputError
        ``RANGE_BOUNDS`` for what is no range of these bins, one that stands there twice, or more than 1000;
        ``COLUMN_UNKNOWN`` without these columns, ``NO_ROWS``, ``MARKS``, and the codes of `inspect`.

    Examples
    --------
    >>> ranges_of_table(b"lower,upper\n1,10\n5,20\n", 24)
    ((1, 10), (5, 20))
    >>> ranges_of_table(b"lower;upper;weight\n7;9;0,5\n1;3;1\n", 24)
    (((7, 9, 0.5),), (1, 3))
    """
    from treedp_core.records.read.numbers.amounts import numbers
    from treedp_core.records.read.numbers.marks import Unsaid, checked

    table = open_table(origin, name, options)
    columns = _columns(table)
    said = checked(marks, columns)
    looks = _looks(origin, [one for one in columns if one not in said], name, options)
    said = {one: look.proposed[0] for one, look in looks.items() if not look.is_open} | said
    ways = [said.get(one) or Unsaid(one) for one in columns]
    found: list[tuple[int, int] | Terms] = []
    with table.reading([], columns) as batches:
        for arrays, done in batches:
            row = table.first_row + len(found)
            if len(found) + len(arrays[0]) > MAX_RANGES:
                raise InputError("RANGE_BOUNDS", _ROWS)
            cells = np.stack(
                [numbers(array, of, row, way) for array, of, way in zip(arrays, columns, ways, strict=True)], axis=1
            )
            found.extend(_range(one, row + i) for i, one in enumerate(cells))
            if progress is not None:
                progress(done, table.total)
    refuse_no_rows(len(found))
    for way in ways:
        if isinstance(way, Unsaid):
            way.done()
    return Wanted(n_bins, OWN, tuple(found)).ranges


@in_words
def doubtful_marks(
    origin: Origin, *, name: str | None = None, options: ReadOptions | None = None, progress: Progress | None = None
) -> dict[str, MarksLook]:
    r"""Return the columns of a table of ranges whose numbers can be read in more than one way, and how.

    Parameters and refusals are those of `ranges_of_table`.

    Examples
    --------
    >>> doubtful_marks(b"lower;upper;weight\n1;1.500;0,5\n")["upper"].proposed
    ('.', ',.')
    """
    looks = _looks(origin, _columns(open_table(origin, name, options)), name, options)
    return {column: look for column, look in looks.items() if look.is_open}


def _columns(table: TableReader) -> list[str]:
    return [table.column(one) for one in ENDS if one != WEIGHT or one in table.preview.columns]


def _looks(
    origin: Origin, columns: Sequence[str], name: str | None, options: ReadOptions | None
) -> dict[str, MarksLook]:
    from treedp_core.records.read.numbers.marks import look_at_marks

    return {one: look_at_marks(origin, one, name=name, options=options) for one in columns}


def _range(cells: FloatArray, row: int) -> tuple[int, int] | Terms:
    first, last = cells[:2].tolist()
    if not (np.isfinite(cells).all() and first.is_integer() and last.is_integer()):
        raise InputError("RANGE_BOUNDS", f"Expected whole numbers of bins and a weight that is a number in row {row}.")
    weight = float(cells[2]) if cells.size > 2 else 1.0
    return (int(first), int(last)) if weight == 1.0 else ((int(first), int(last), weight),)
