"""One numeric column with public bounds or edges -> exact counts of its bins, with a tree over the bins."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting, row_filter
from treedp_core.records.count.counting import OUTSIDE_RULES, Words, refuse_outside, with_other_leaf
from treedp_core.records.count.ranked import NOWHERE, RankCounter
from treedp_core.records.count.row_filter import LeftOut, without
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, labels_of
from treedp_core.records.edges import bin_edges, bin_finder, interval_labels, own_edges
from treedp_core.records.read import text
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, TableReader, open_table, refuse_no_rows, said_of_file
from treedp_core.records.read.text import Notice
from treedp_core.records.read.units import UnitQuota, UnitReader, account_of, bound_of, quota_of, unit_notices
from treedp_core.records.recipe import Recipe, marks_in_order
from treedp_core.records.unit_rows import UnitRows
from treedp_core.tree import Tree
from treedp_core.words import plural, whole

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
_FEW: Final = 3  # numbers among which the last may be the sum of the others by chance


@in_words
def count_bins(
    origin: Origin,
    column: str,
    *,
    lower: float | None = None,
    upper: float | None = None,
    n_bins: int | None = None,
    edges: Sequence[float] | None = None,
    branching: Sequence[int] | None = None,
    weight: str | None = None,
    unit: str | None = None,
    contributions: int = 1,
    outside: str = "other",
    marks: Mapping[str, str] | None = None,
    left_out: Mapping[str, Collection[str]] | None = None,
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Dataset:
    r"""Return the counts of one numeric column in bins, and of every node of a tree over the bins.

    Bins are equal between bounds, or between edges of one's own. Bin i holds edge_i <= x < edge_{i+1}, the last bin
    also its upper edge; the labels show the edges, exactly. Bounds and edges are public: choose them without looking
    at the records.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        The records.
    column : str
        The numeric column; text is read as `marks` say, else as a plain decimal number.
    lower, upper : float, optional
        Public bounds of equal bins, lower < upper, in the unit of the column.
    n_bins : int, optional
        Number of equal bins, at least 2.
    edges : sequence of float, optional
        In place of bounds and number of bins: the public edges (n_bins + 1,), ascending.
    branching : sequence of int, optional
        Children per node by level; their product must be the number of bins. By default the root holds all bins.
    weight : str, optional
        Column of whole numbers >= 0: how many records a row stands for.
    unit, contributions : str, int, optional
        As in `count_hierarchy`.
    outside : {"other", "clamp", "refuse"}
        What becomes of numbers outside the bounds, reported in any case: counted in a leaf "(other)" below the root
        or in the end bins, or the file is refused. A total that is public stays the number of all records, so a cell
        that is no number stands under "(other)" too.
    marks : mapping from column to marks, optional
        How the numbers of `column`, and of `weight`, are written where they are text: a key of
        `treedp_core.records.recipe.MARKS`, such as ",." for 1.328,16. A cell that does not fit is no number. Without
        them a column is refused that may be written in another way than with a decimal point.
    left_out : mapping from column to labels, optional
        As in `count_hierarchy`, by columns of labels.
    name, options, progress
        As in `count_hierarchy`.

    Raises
    ------
    InputError
        ``BOUNDS``, ``TREE_SHAPE``, ``COLUMN_TYPE`` when no cell is a number, ``COLUMN_UNKNOWN``,
        ``COUNT_AS_LEVEL``, ``MARKS``, ``LEFT_OUT`` and the codes of `inspect` and of counts.

    Examples
    --------
    >>> data = count_bins(b"age\n3\n10\n20\n-1\n?\n", "age", lower=0, upper=20, n_bins=2)
    >>> data.counts.tolist(), data.labels.of_level(1).tolist()
    ([5, 1, 2, 2], ['[0, 10)', '[10, 20]', '(other)'])
    >>> data.report.counted, data.report.other
    (5, 2)
    """
    from treedp_core.records.read.numbers.marks import checked

    places = _edges(lower, upper, n_bins, edges)
    factors = _factors(branching, places.size - 1)
    clamp = checks.one_of("outside", outside, (*OUTSIDE_RULES, "clamp")) == "clamp"
    table = open_table(origin, name, options)
    column = table.column(column)
    weight = None if weight is None else table.column(weight)
    if weight == column:
        raise InputError("COUNT_AS_LEVEL", f"Column {echo(column)} holds the counts, so it cannot be binned too.")
    quota = quota_of(None if unit is None else table.column(unit), contributions, weight, [column])
    said = checked(marks, [column] if weight is None else [column, weight])
    out = LeftOut(table, left_out, [column, weight])
    tally = _BinTally(places, clamp, weight is not None, quota)
    _read(table, tally, column, weight, quota=quota, out=out, said=said, progress=progress)
    tree = Tree.from_branching_factors(factors)
    own = np.zeros(tree.n_nodes, dtype=np.int64)
    own[tree.level(tree.height)] = tally.counts()
    level_codes, words = _interval_labels(places, factors)
    n_outside = tally.missing + (0 if clamp else tally.outside)
    if outside == "refuse":
        refuse_outside(n_outside)
    else:
        tree, own, level_codes, words = with_other_leaf(tree, own, level_codes, words, n_outside)
    labels = labels_of(tree, level_codes, words, _level_names(column, factors))
    report = tally.report(column, table.first_row)
    bounds = tuple(places[[0, -1]].tolist())
    recipe = Recipe(
        weight or "", *bound_of(quota), numbers=True, cut=clamp, bounds=bounds,
        marks=marks_in_order(said), left_out=out.as_pairs, **said_of_file(table, options),
    )  # fmt: skip
    told = (*table.notices, *out.notices(), *report.notices)
    report = replace(report, notices=told, left_out=out.rows, recipe=recipe)
    data = Dataset(table.preview.name, tree, labels, tree.add_up(own), DomainSource.PUBLIC, report, table.digest())
    other = NOWHERE if data.other_leaf is None else data.other_leaf
    data = replace(data, report=replace(report, unit_rows=tally.unit_rows(data, other)))
    return _with_edges(data, places)


def _read(
    table: TableReader, tally: _BinTally, column: str, weight: str | None, *, quota: UnitQuota | None, out: LeftOut,
    said: Mapping[str, str], progress: Progress | None,
) -> None:  # fmt: skip
    """Pass once over the numbers of a column."""
    from treedp_core.records.read.numbers import amounts as amounts_of
    from treedp_core.records.read.numbers.marks import Unsaid

    written = said.get(column) or Unsaid(column)
    reader = UnitReader(quota, table.first_row)
    read = [*reader.columns, *out.beside(reader.columns)]
    with table.reading(read, [column] if weight is None else [column, weight]) as batches:
        for arrays, done in batches:
            row = table.first_row + tally.rows
            kept = out.kept(dict(zip(read, arrays, strict=False)), tally.rows)
            amounts = None if weight is None else amounts_of.weights(arrays[-1], weight, row, said.get(weight), kept)
            values = amounts_of.numbers(without(arrays[len(read)], kept), column, row, written)
            if quota is not None:
                ranks = reader.ranks(arrays[0], tally.rows, kept)
                tally.rank(values, ranks)
                kept = reader.within(ranks)
            tally.add(values, amounts, kept)
            if progress is not None:
                progress(done, table.total)
    refuse_no_rows(tally.rows)
    if isinstance(written, Unsaid):
        written.done()
    if tally.numbers == 0:
        raise InputError("COLUMN_TYPE", f"Column {echo(column)} holds no numbers; choose a numeric column.")


def _with_edges(data: Dataset, edges: FloatArray) -> Dataset:
    """The same, whose labels need not be read again to find its edges."""
    vars(data)["edges"] = edges
    return data


def _edges(lower: float | None, upper: float | None, n_bins: int | None, edges: Sequence[float] | None) -> FloatArray:
    """The edges that were asked for in one of the two ways."""
    if edges is not None and (lower, upper, n_bins) == (None, None, None):
        return own_edges(edges)
    if edges is not None or lower is None or upper is None or n_bins is None:
        raise InputError("BOUNDS", "Expected lower, upper and n_bins for equal bins, or edges alone.")
    return bin_edges(lower, upper, n_bins)


def column_of(names: Sequence[str], n_bins: int) -> str:
    """Return the column of n bins whose levels have these names, from below the root down.

    >>> column_of(_level_names("pay (k)", (2, 5)), 10), column_of(["pay (k)"], 10)
    ('pay (k)', 'pay (k)')
    """
    return names[-1].removesuffix(_intervals(n_bins)) if len(names) > 1 else names[0]


def _level_names(column: str, factors: Sequence[int]) -> list[str]:
    return [column] if len(factors) == 1 else [f"{column}{_intervals(int(n))}" for n in np.cumprod(factors)]


def _intervals(n: int) -> str:
    return f" ({whole(n)} intervals)"


class _BinTally:
    """Counts of bins over all batches."""

    def __init__(self, edges: FloatArray, clamp: bool, weighted: bool, quota: UnitQuota | None) -> None:
        self._edges, self._clamp, self._quota = edges, clamp, quota
        self._bins = bin_finder(edges)
        self._largest = 1
        self._counter = counting.PathCounter([edges.size - 1], weighted)
        self._ranked = None if quota is None else RankCounter([edges.size - 1])
        self.rows = self.numbers = self.missing = self.outside = self.total = 0
        self.first_missing: int | None = None
        self._sum = self._last = 0.0

    def add(self, values: FloatArray, amounts: IntArray | None, of_quota: NDArray[np.bool_] | None = None) -> None:
        """Count a batch of numbers, NaN standing for a cell without one; only rows that count."""
        self.rows += values.size
        if of_quota is not None:
            values = values[of_quota]
            amounts = None if amounts is None else amounts[of_quota]
        if amounts is not None and amounts.size:
            self._largest = max(self._largest, int(amounts.max()))
        inside, absent = self._sorted_out(values, amounts)
        if absent.any() and self.first_missing is None:
            row = int(np.argmax(absent))
            first = self.rows - (values.size if of_quota is None else of_quota.size)
            self.first_missing = first + (row if of_quota is None else int(np.flatnonzero(of_quota)[row]))
        numbers = values[~absent]
        self.numbers += numbers.size
        with np.errstate(over="ignore", invalid="ignore"):  # then no number is the sum of the others
            self._sum += float(numbers.sum())
        self._last = float(numbers[-1]) if numbers.size else self._last
        kept = np.clip(values[~absent], self._edges[0], self._edges[-1]) if self._clamp else values[inside]
        of_kept = ~absent if self._clamp else inside
        self._counter.add([self._bins(kept)], [self._edges.size - 1], None if amounts is None else amounts[of_kept])

    def rank(self, values: FloatArray, ranks: IntArray) -> None:
        """Count a batch of numbers by their places among those of their units: ranks (n,), below 0 for no record."""
        if self._ranked is None:
            return
        low, high = self._edges[0], self._edges[-1]
        has_bin = ~np.isnan(values) if self._clamp else (values >= low) & (values <= high)
        codes = np.full(values.size, -1, dtype=np.int32)
        codes[has_bin] = self._bins(np.clip(values[has_bin], low, high))
        self._ranked.add([codes], [self._edges.size - 1], ranks)

    def unit_rows(self, data: Dataset, other: int) -> UnitRows | None:
        """Return what bounds on the records of a unit leave out, records without a bin standing at the node `other`."""
        pairs = None if self._ranked is None else self._ranked.pairs()
        if pairs is None or self._quota is None:
            return None
        leaves = data.tree.level_start[data.tree.height] + pairs.codes[:, 0].astype(np.int64)
        return pairs.on(data.tree, leaves, other, counts=data.counts, bound=self._quota.contributions)

    def counts(self) -> IntArray:
        """Return the records of each bin."""
        _, sums = self._counter.paths()
        dense = self._counter.dense()
        return sums if dense is None else dense

    def report(self, column: str, first_row: int) -> ReadReport:
        """Return what became of every record."""
        notices: list[Notice] = unit_notices(self._quota, self._largest)
        other = f"counted under {text.OTHER}"
        if self.missing and self.first_missing is not None:
            notices.append(
                (
                    "NOT_A_NUMBER",
                    f"{plural(self.missing, 'record has', 'records have')} no number in column {echo(column)}, "
                    f"{other}; the first is row {whole(first_row + self.first_missing)}.",
                )
            )
        if self.outside:
            fate = "counted in the end bins" if self._clamp else other
            notices.append(
                (
                    "OUTSIDE_RANGE",
                    f"{plural(self.outside, 'record')} of column {echo(column)} outside the bounds: {fate}.",
                )
            )
        others = self._sum - self._last  # finite where that is a question
        if self.numbers > _FEW and self._last and math.isfinite(others) and math.isclose(self._last, others):
            told = f"The last number of column {echo(column)} is the sum of all others"
            notices.append(
                (row_filter.TOTALS_CODE, f"{told}: if its row is a total, leave it out by the option left_out.")
            )
        inside, left_out = int(self.counts().sum()), self.missing + (0 if self._clamp else self.outside)
        return ReadReport(
            rows=self.rows,
            counted=inside + left_out,
            other=left_out,
            outside_range=self.outside,
            cut=self.outside if self._clamp else 0,
            largest=self._largest,
            notices=tuple(notices),
            **account_of(self._quota),
        )

    def _sorted_out(self, values: FloatArray, amounts: IntArray | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        absent = np.isnan(values)
        inside = (values >= self._edges[0]) & (values <= self._edges[-1])
        self.missing += counting.records_where(absent, amounts)
        self.outside += counting.records_where(~inside & ~absent, amounts)
        self.total = counting.total_checked(self.total, values.size, amounts)
        return inside, absent


def _factors(branching: Sequence[int] | None, n_bins: int) -> tuple[int, ...]:
    if branching is None:
        return (n_bins,)
    factors = tuple(
        checks.integer(f"branching factor {i}", k, low=2, high=n_bins, code="TREE_SHAPE")
        for i, k in enumerate(branching, start=1)
    )
    if math.prod(factors) != n_bins:
        raise InputError(
            "TREE_SHAPE",
            f"Expected branching factors with product {whole(n_bins)}, the number of bins, got "
            f"{whole(math.prod(factors))}.",
        )
    return factors


def _interval_labels(edges: FloatArray, factors: Sequence[int]) -> tuple[tuple[IntArray, ...], Words]:
    """Return the codes and labels of the intervals of every level below the root."""
    sizes = np.cumprod(factors).tolist()
    words = tuple(interval_labels(edges[:: (edges.size - 1) // n]) for n in sizes)
    return tuple(map(np.arange, sizes)), words
