"""One numeric column with public bounds -> exact counts of equal bins, with a tree over the bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting
from treedp_core.records.count.elsewhere import OUTSIDE_RULES, Words, refuse_outside, with_other_leaf
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, labels_of
from treedp_core.records.read import text
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, open_table, refuse_no_rows
from treedp_core.records.read.text import Notice
from treedp_core.records.read.units import UnitQuota, UnitReader, account_of, bound_of, quota_of, unit_notices
from treedp_core.records.recipe import Recipe
from treedp_core.tree import Tree
from treedp_core.words import whole

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@in_words
def count_bins(
    origin: Origin,
    column: str,
    *,
    lower: float,
    upper: float,
    n_bins: int,
    branching: Sequence[int] | None = None,
    weight: str | None = None,
    unit: str | None = None,
    contributions: int = 1,
    outside: str = "other",
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Dataset:
    r"""Return the counts of one numeric column in equal bins, and of every node of a tree over the bins.

    Bin i holds edge_i <= x < edge_{i+1}, the last bin also x = upper. Bounds and bins are public: choose them without
    looking at the records.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        The records.
    column : str
        The numeric column; text is read as a plain decimal number, with a decimal comma between semicolons.
    lower, upper : float
        Public bounds, lower < upper, in the unit of the column.
    n_bins : int
        Number of bins, at least 2.
    branching : sequence of int, optional
        Children per node by level; their product must be `n_bins`. By default the root holds all bins.
    weight : str, optional
        Column of whole numbers >= 0: how many records a row stands for.
    unit, contributions : str, int, optional
        As in `count_hierarchy`.
    outside : {"other", "clamp", "refuse"}
        What becomes of numbers outside the bounds, reported in any case: counted in a leaf "(other)" below the root
        or in the end bins, or the file is refused. A total that is public stays the number of all records, so a cell
        that is no number stands under "(other)" too.
    name, options, progress
        As in `count_hierarchy`.

    Raises
    ------
    InputError
        ``BOUNDS``, ``TREE_SHAPE``, ``COLUMN_TYPE`` when no cell is a number, ``COLUMN_UNKNOWN``, ``COUNT_AS_LEVEL``
        and the codes of `inspect` and of counts.

    Examples
    --------
    >>> data = count_bins(b"age\n3\n10\n20\n-1\n?\n", "age", lower=0, upper=20, n_bins=2)
    >>> data.counts.tolist(), data.labels.of_level(1).tolist()
    ([5, 1, 2, 2], ['[0, 10)', '[10, 20]', '(other)'])
    >>> data.report.counted, data.report.other
    (5, 2)
    """
    from treedp_core.records.read import amounts as amounts_of

    edges = bin_edges(lower, upper, n_bins)
    factors = _factors(branching, edges.size - 1)
    clamp = checks.one_of("outside", outside, (*OUTSIDE_RULES, "clamp")) == "clamp"
    table = open_table(origin, name, options)
    column = table.column(column)
    weight = None if weight is None else table.column(weight)
    if weight == column:
        raise InputError("COUNT_AS_LEVEL", f"Column {echo(column)} holds the counts, so it cannot be binned too.")
    quota = quota_of(None if unit is None else table.column(unit), contributions, weight, [column])
    tally = _BinTally(edges, clamp, weight is not None, quota)
    reader = UnitReader(quota, table.first_row)
    with table.reading(reader.columns, [column] if weight is None else [column, weight]) as batches:
        for arrays, done in batches:
            row = table.first_row + tally.rows
            kept = None if quota is None else reader.kept(arrays[0], tally.rows)
            amounts = None if weight is None else amounts_of.weights(arrays[-1], weight, row)
            values = amounts_of.numbers(arrays[len(reader.columns)], column, row, has_commas=table.preview.has_commas)
            tally.add(values, amounts, kept)
            if progress is not None:
                progress(done, table.total)
    refuse_no_rows(tally.rows)
    if tally.numbers == 0:
        raise InputError("COLUMN_TYPE", f"Column {echo(column)} holds no numbers; choose a numeric column.")
    tree = Tree.from_branching_factors(factors)
    own = np.zeros(tree.n_nodes, dtype=np.int64)
    own[tree.level(tree.height)] = tally.counts()
    level_codes, words = _interval_labels(edges, factors)
    n_outside = tally.missing + (0 if clamp else tally.outside)
    if outside == "refuse":
        refuse_outside(n_outside)
    else:
        tree, own, level_codes, words = with_other_leaf(tree, own, level_codes, words, n_outside)
    labels = labels_of(tree, level_codes, words, _level_names(column, factors))
    counts = tree.add_up(own)
    report = tally.report(column, table.first_row)
    recipe = Recipe(weight or "", *bound_of(quota), numbers=True, cut=clamp, bounds=(float(edges[0]), float(edges[-1])))
    report = replace(report, notices=(*table.notices, *report.notices), recipe=recipe)
    return Dataset(table.preview.name, tree, labels, counts, DomainSource.PUBLIC, report, table.digest())


def bin_edges(lower: float, upper: float, n_bins: int) -> FloatArray:
    """Return the n_bins + 1 edges of equal bins.

    >>> bin_edges(0, 1, 4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    low = checks.number("lower", lower, code="BOUNDS")
    high = checks.number("upper", upper, code="BOUNDS")
    if not low < high:
        raise InputError("BOUNDS", f"Expected lower < upper, got lower = {low:g} and upper = {high:g}.")
    if not math.isfinite(high - low):
        raise InputError("BOUNDS", "Expected bounds whose difference is a finite number.")
    n = checks.integer("the number of bins", n_bins, low=2, high=checks.MAX_NODES - 1, code="TREE_SHAPE")
    edges = low + (high - low) * (np.arange(n + 1) / n)
    edges[-1] = high
    if not (np.diff(edges) > 0).all():
        raise InputError(
            "TREE_SHAPE", f"{whole(n)} bins between {low:g} and {high:g} are too narrow to tell apart; use fewer."
        )
    return edges


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
        self._largest = 1
        self._counter = counting.PathCounter([edges.size - 1], weighted)
        self.rows = self.numbers = self.missing = self.outside = self.total = 0
        self.first_missing: int | None = None

    def add(self, values: FloatArray, amounts: IntArray | None, of_quota: NDArray[np.bool_] | None = None) -> None:
        """Count a batch of numbers, NaN standing for a cell without one; only rows within their unit's quota."""
        self.rows += values.size
        if of_quota is not None:
            values = values[of_quota]
        if amounts is not None and amounts.size:
            self._largest = max(self._largest, int(amounts.max()))
        inside, absent = self._sorted_out(values, amounts)
        if absent.any() and self.first_missing is None:
            row = int(np.argmax(absent))
            first = self.rows - (values.size if of_quota is None else of_quota.size)
            self.first_missing = first + (row if of_quota is None else int(np.flatnonzero(of_quota)[row]))
        self.numbers += values.size - int(np.count_nonzero(absent))
        kept = np.clip(values[~absent], self._edges[0], self._edges[-1]) if self._clamp else values[inside]
        of_kept = ~absent if self._clamp else inside
        self._counter.add(
            [bin_of(kept, self._edges)], [self._edges.size - 1], None if amounts is None else amounts[of_kept]
        )

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
                    f"{whole(self.missing)} records have no number in column {echo(column)} and are {other}; "
                    f"the first is row {whole(first_row + self.first_missing)}.",
                )
            )
        if self.outside:
            fate = "counted in the end bins" if self._clamp else other
            notices.append(
                (
                    "OUTSIDE_RANGE",
                    f"{whole(self.outside)} records of column {echo(column)} lie outside the bounds: {fate}.",
                )
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


def bin_of(values: FloatArray, edges: FloatArray) -> IntArray:
    """Return the bin of each value between the first and last edge; the last bin is closed.

    >>> bin_of(np.array([0.0, 0.5, 1.0]), bin_edges(0, 1, 2)).tolist()
    [0, 1, 1]
    """
    n = edges.size - 1
    guess: IntArray = ((values - edges[0]) * (n / (edges[-1] - edges[0]))).astype(np.int64)
    np.clip(guess, 0, n - 1, out=guess)
    guess -= values < edges[guess]  # rounding moves a guess by at most one bin
    guess += (guess < n - 1) & (values >= edges[np.minimum(guess + 1, n)])
    return guess


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
    shown = _numbers_as_text(edges)
    codes: list[IntArray] = []
    words: list[list[str]] = []
    for n in np.cumprod(factors):
        ends = shown[:: (edges.size - 1) // int(n)]
        words.append([f"[{a}, {b})" for a, b in pairwise(ends)])
        words[-1][-1] = words[-1][-1][:-1] + "]"
        codes.append(np.arange(n))
    return tuple(codes), tuple(words)


def _numbers_as_text(edges: FloatArray) -> list[str]:
    """Return edges with as few digits as keep them apart."""
    for digits in (6, 12, 17):
        shown = [f"{edge + 0.0:.{digits}g}" for edge in edges]
        if len(set(shown)) == len(shown) and (
            digits > 6 or np.allclose(edges, np.array(shown, float), rtol=1e-12, atol=0)
        ):
            return shown
    return shown
