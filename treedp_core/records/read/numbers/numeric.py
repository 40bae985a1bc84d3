"""A look at one numeric column before it is counted: how its values are spread, and what bounds would cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, open_table, refuse_no_rows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LOOK_ROWS: Final = 2_000_000
MUCH: Final = 0.01
_DROPPED_BITS: Final = 40  # 12 bits of the fraction stay: whole numbers up to 8 192 are exact, others to 1 in 4 096
_TAIL: Final = 0.005


@dataclass(frozen=True)
class Shares:
    """Which share of the rows lies below, inside and above bounds, and holds no number; they add up to 1."""

    below: float
    inside: float
    above: float
    blank: float

    @property
    def outside(self) -> float:
        """Share of the rows whose number the bounds cut off."""
        return self.below + self.above


@dataclass(frozen=True, eq=False)
class NumberLook:
    """The spread of a numeric column (private): distinct values, cut to about four digits, and how often they occur.

    Parameters
    ----------
    values : (n,)
        Ascending; infinities are among them.
    counts : (n,)
    blank : int
        Rows without a number.
    is_whole : bool
        Whether all rows were looked at, not only the first 2,000,000.
    """

    values: FloatArray
    counts: IntArray
    blank: int
    is_whole: bool

    @property
    def rows(self) -> int:
        """Rows looked at."""
        return int(self.counts.sum()) + self.blank

    def shares(self, lower: float, upper: float) -> Shares:
        r"""Return what bounds cut off.

        >>> look_at_numbers(b"v\n-1\n3\n4\nten\n", "v").shares(0, 4)
        Shares(below=0.25, inside=0.5, above=0.0, blank=0.25)
        """
        low, high = _cut(np.array([lower, upper], dtype=np.float64))  # as values are, so that one on a bound is inside
        below = int(self.counts[self.values < low].sum())
        above = int(self.counts[self.values > high].sum())
        inside = self.rows - self.blank - below - above
        return Shares(below / self.rows, inside / self.rows, above / self.rows, self.blank / self.rows)

    def histogram(self, lower: float, upper: float, n_bins: int = 60) -> tuple[FloatArray, IntArray]:
        """Return edges (n_bins + 1,) and rows (n_bins,) over the bounds and all but the outermost values.

        The end bins hold what lies beyond them: 0.5 % of the values on either side, at most.
        """
        ends = [end for end in (lower, upper) if np.isfinite(end)]
        finite = np.isfinite(self.values)
        values, counts = self.values[finite], self.counts[finite]
        if values.size:
            reached = np.cumsum(counts) / counts.sum()
            ends += [float(values[np.searchsorted(reached, share)]) for share in (_TAIL, 1 - _TAIL)]
        low, high = min(ends, default=0.0), max(ends, default=1.0)
        if not low < high or not np.isfinite(high - low):
            low, high = low - 0.5, low + 0.5
        edges = np.linspace(low, high, n_bins + 1)
        heights, _ = np.histogram(np.clip(values, low, high), edges, weights=counts)
        return edges, heights.astype(np.int64)


@in_words
def look_at_numbers(
    origin: Origin, column: str, *, marks: Mapping[str, str] | None = None,
    left_out: Mapping[str, Collection[str]] | None = None, name: str | None = None,
    options: ReadOptions | None = None, progress: Progress | None = None,
) -> NumberLook:  # fmt: skip
    """Return how the numbers of a column are spread, from its first 2,000,000 rows.

    Bounds read off it are not private: they tell of the records.

    Parameters
    ----------
    origin, marks, left_out, name, options, progress
        As in `count_bins`, but that a column of which no marks were said is read with a decimal point.

    Raises
    ------
    InputError
        ``COLUMN_TYPE``, ``COLUMN_UNKNOWN``, ``NUMBER_TOO_LONG``, ``MARKS`` and the codes of `inspect`.
    """
    from treedp_core.records.count.row_filter import LeftOut, without
    from treedp_core.records.read.numbers import amounts
    from treedp_core.records.read.numbers.marks import PLAIN, checked

    table = open_table(origin, name, options)
    column = table.column(column)
    out = LeftOut(table, left_out, [column])
    said = checked(marks, [column]).get(column, PLAIN)
    values, counts = np.empty(0), np.empty(0, dtype=np.int64)
    rows = blank = 0
    is_whole = True
    beside = out.beside(())
    with table.reading(beside, [column]) as batches:
        for arrays, done in batches:
            kept = out.kept(dict(zip(beside, arrays, strict=False)), rows)
            read = amounts.numbers(without(arrays[-1], kept), column, table.first_row + rows, said)
            rows += read.size
            read = read if kept is None else read[kept]
            absent = np.isnan(read)
            blank += int(np.count_nonzero(absent))
            new, often = np.unique(_cut(read[~absent]), return_counts=True)
            values, at = np.unique(np.concatenate([values, new]), return_inverse=True)
            counts = np.bincount(at, np.concatenate([counts, often]), values.size).astype(np.int64)
            if progress is not None:
                progress(done, table.total)
            if rows >= LOOK_ROWS:
                is_whole = False
                break
    refuse_no_rows(rows)
    return NumberLook(values, counts, blank, is_whole)


def _cut(values: FloatArray) -> FloatArray:
    """Return numbers with the last bits of their fraction dropped, so that few distinct ones are left.

    >>> _cut(np.array([8191.0, -2.5, np.inf])).tolist(), float(_cut(np.array([1 / 3]))[0])
    ([8191.0, -2.5, inf], 0.33331298828125)
    """
    bits = np.ascontiguousarray(values).view(np.uint64)
    cut = (bits >> np.uint64(_DROPPED_BITS)) << np.uint64(_DROPPED_BITS)
    return cut.view(np.float64) + 0.0
