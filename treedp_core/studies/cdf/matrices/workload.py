"""For which counts a matrix is made: all cumulative counts, ranges or bins, ranges or weighted sums of one's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records import ReadOptions
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.table_reader import Progress, TableReader, open_table, refuse_no_rows
from treedp_core.tree import FloatArray
from treedp_core.words import bare, whole

if TYPE_CHECKING:
    from treedp_core.records.read.numbers.marks import MarksLook

OWN: Final = "own"
WORKLOADS: Final = {"cdf": "Cumulative counts", "ranges": "All ranges", "bins": "Bins", OWN: "Own ranges"}
MAX_BINS: Final = 1 << 20
MAX_RANGES: Final = 1000
MOST_WEIGHT: Final = 1e6
_MINUS: Final = re.compile(r"(?<=\d)\s*[-–−]\s*(?=\d+(?:\.\d+)?\s*[*×])")
"""A minus sign before a weight; before a bin it stands for "to"."""
_RANGE: Final = re.compile(r"(?:(-?\d{1,7}(?:\.\d{1,9})?)\s*[*×]\s*)?(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?")
_THOUSANDS: Final = re.compile(r"(?<![\d.])([1-9]\d{0,2}[.,]\d{3})(?!\d)")
"""Digits that may be one number of thousands, or two, or one with decimals."""

Terms = tuple[tuple[int, int, float], ...]
"""A weighted sum of bins: first and last bin of ranges, and what each counts."""
Ranges = tuple[tuple[int, int] | Terms, ...]


@dataclass(frozen=True)
class Wanted:
    """Which counts of K bins are wanted, all with the same weight.

    Parameters
    ----------
    n_bins : int
        K.
    workload : str
        A name in `WORKLOADS`.
    ranges : tuple of pairs, or of tuples of triples
        For ``own``: first and last bin of each, counted from 1; of a weighted sum those of its ranges, with weights.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for another workload; ``RANGE_BOUNDS`` for no ranges, repeated ones, or bins that are none.
    """

    n_bins: int
    workload: str = "cdf"
    ranges: Ranges = ()

    def __post_init__(self) -> None:
        checks.integer("n_bins", self.n_bins, low=2, high=MAX_BINS, code="TREE_SHAPE")
        if self.workload not in WORKLOADS:
            raise InputError("VALUE_UNKNOWN", f"Expected a workload out of {', '.join(WORKLOADS)}.")
        if self.workload != OWN:
            object.__setattr__(self, "ranges", ())
            return
        if not self.ranges:
            raise InputError("RANGE_BOUNDS", "Expected at least one range of bins, such as 1-10, 5-20.")
        if len(set(self.ranges)) < len(self.ranges):
            raise InputError("RANGE_BOUNDS", "Expected every range of bins once.")
        for first, last, weight in (term for one in self.ranges for term in terms_of(one)):
            checks.number("a weight", weight, low=-MOST_WEIGHT, high=MOST_WEIGHT, code="RANGE_BOUNDS")
            if not 1 <= first <= last:
                raise InputError(
                    "RANGE_BOUNDS", f"Expected ranges with the first bin first, from bin 1 on, got {first}-{last}."
                )
            if last > self.n_bins:
                raise InputError(
                    "RANGE_BOUNDS", f"Expected ranges within bins 1 to {whole(self.n_bins)}, got {first}-{last}."
                )

        if not all(map(_counts_some, self.ranges)):
            raise InputError("RANGE_BOUNDS", "Expected every weighted sum to count some bin, got one that is always 0.")

    @property
    def queries(self) -> float:
        """How many counts are wanted."""
        n = self.n_bins
        if self.workload == OWN:
            return float(len(self.ranges))
        return n * (n + 1) / 2.0 if self.workload == "ranges" else float(n)

    def gram(self) -> FloatArray:
        """Return how many of the wanted counts hold both of two bins, (K, K)."""
        n, i = self.n_bins, np.arange(self.n_bins, dtype=np.float64)
        match self.workload:
            case "cdf":
                return np.asarray(n - np.maximum.outer(i, i))
            case "ranges":
                return np.asarray((np.minimum.outer(i, i) + 1.0) * (n - np.maximum.outer(i, i)))
            case "bins":
                return np.eye(n)
        return np.asarray(self._own.T @ self._own)

    def product(self, rows: FloatArray) -> FloatArray:
        """Return rows times `gram`, in O(n_rows K).

        Parameters
        ----------
        rows : (n_rows, K)
        """
        n, i = self.n_bins, np.arange(self.n_bins, dtype=np.float64)
        match self.workload:
            case "cdf":
                return np.cumsum(np.cumsum(rows, axis=1)[:, ::-1], axis=1)[:, ::-1]
            case "ranges":
                before, behind = np.cumsum(rows * (i + 1.0), axis=1), rows * (n - i)
                after = np.cumsum(behind[:, ::-1], axis=1)[:, ::-1] - behind
                return np.asarray(before * (n - i) + after * (i + 1.0))
            case "bins":
                return rows
        return np.asarray(rows @ self._own.T @ self._own)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of `gram`, (K,)."""
        n, i = self.n_bins, np.arange(self.n_bins, dtype=np.float64)
        match self.workload:
            case "cdf":
                return n - i
            case "ranges":
                return (i + 1.0) * (n - i)
            case "bins":
                return np.ones(n)
        return np.asarray(np.square(self._own).sum(axis=0))

    @cached_property
    def _own(self) -> FloatArray:
        """Named ranges and sums as rows of weights of bins, (n_ranges, K)."""
        rows = np.zeros((len(self.ranges), self.n_bins))
        for row, one in zip(rows, self.ranges, strict=True):
            for first, last, weight in terms_of(one):
                row[first - 1 : last] += weight
        return rows

    def mean_variance(self, cumulative: FloatArray) -> float:
        """Return the mean error variance of the wanted counts, given errors of the cumulative counts.

        Parameters
        ----------
        cumulative : (K, n_rows)
            How much of each of independent noise values of variance 1 is in the error of each cumulative count.
        """
        if self.workload == "cdf":
            return float(np.square(cumulative).sum()) / self.queries
        behind = np.vstack([np.zeros(cumulative.shape[1]), cumulative])
        if self.workload == "ranges":  # sum over pairs of |r_i - r_j|^2
            n = behind.shape[0]
            return float(n * np.square(behind).sum() - np.square(behind.sum(axis=0)).sum()) / self.queries
        bins = np.diff(behind, axis=0)
        return float(np.square(self._own @ bins if self.workload == OWN else bins).sum()) / self.queries


def terms_of(one: tuple[int, int] | Terms) -> Terms:
    """Return a range, or a weighted sum of ranges, as first and last bins with weights.

    >>> terms_of((3, 9))
    ((3, 9, 1.0),)
    """
    return one if isinstance(one[0], tuple) else ((*one, 1.0),)


def text_of(one: tuple[int, int] | Terms) -> str:
    """Return a range, or a weighted sum of ranges, as it is typed.

    >>> text_of((3, 9)), text_of(((1, 5, 1.0), (7, 7, 2.5)))
    ('3-9', '1-5 + 2.5*7')
    """
    parts = ((f"{first}-{last}" if last > first else str(first), weight) for first, last, weight in terms_of(one))
    return " + ".join(part if weight == 1.0 else f"{bare(weight)}*{part}" for part, weight in parts)


def _counts_some(one: tuple[int, int] | Terms) -> bool:
    """Whether a weighted sum counts some bin: its weight changes only where one of its ranges begins or has ended."""
    terms = terms_of(one)
    places = {place for first, last, _ in terms for place in (first, last + 1)}
    return any(sum(w for first, last, w in terms if first <= at <= last) for at in places)


def ranges_from_text(text: str) -> Ranges:
    """Return ranges of bins, and weighted sums of them, as people type them.

    Raises
    ------
    InputError
        ``RANGE_BOUNDS`` for none, repeated ones, what is no range, or could be read in two ways, as "1,500".

    >>> ranges_from_text("1-10, 5-20; 7")
    ((1, 10), (5, 20), (7, 7))
    >>> ranges_from_text("1-10 + -0.5*5-20") == ranges_from_text("1-10 - 0.5*5-20")
    True
    >>> ranges_from_text("1-10 - 0.5*5-20")
    (((1, 10, 1.0), (5, 20, -0.5)),)
    """
    if (two := _THOUSANDS.search(text)) is not None:
        raise InputError(
            "RANGE_BOUNDS",
            f"Expected numbers that can be read in one way only, got {echo(two[1])}: write a number without a mark of "
            "thousands, and a space behind a comma.",
        )
    parts = [part.strip() for part in re.split(r"[,;\n]", text) if part.strip()]
    if not parts:
        raise InputError("RANGE_BOUNDS", "Expected at least one range of bins, such as 1-10, 5-20.")
    checks.integer("the number of ranges", len(parts), low=1, high=MAX_RANGES, code="RANGE_BOUNDS")
    found: list[tuple[int, int] | Terms] = []
    for part in parts:
        terms = tuple(_term(one.strip(), part) for one in _MINUS.sub(" + -", part).split("+"))
        is_range = len(terms) == 1 and terms[0][2] == 1.0
        wanted = terms[0][:2] if is_range else terms
        if wanted in found:
            raise InputError("RANGE_BOUNDS", f"Expected every range once, got {echo(part)} twice.")
        found.append(wanted)
    return tuple(found)


def _term(text: str, part: str) -> tuple[int, int, float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise InputError(
            "RANGE_BOUNDS",
            f"Expected ranges of bins such as 1-10, 5-20, or sums, as 1-5 + 2*7-9, got {echo(part)}.",
        )
    first, last = int(match[2]), int(match[3] or match[2])
    if not 1 <= first <= last:
        raise InputError("RANGE_BOUNDS", f"Expected ranges with the first bin first, from bin 1 on, got {echo(part)}.")
    return first, last, float(match[1] or 1.0)


# Ranges of bins that stand in a file or table: one a row, for a matrix that is made for them.

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
