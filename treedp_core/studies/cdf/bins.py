"""The bins of a numeric column: their true counts and their public edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treedp_core.checks import InputError
from treedp_core.records import Dataset
from treedp_core.records.count.bins import column_of
from treedp_core.records.dataset import BESIDE, STEP, Labels
from treedp_core.records.edges import are_equal, are_intervals
from treedp_core.tree import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Bins:
    """True counts of the bins of a numeric column (private), and their public edges.

    Cumulative counts, ranges and quantiles are of the records in the K bins. Those that have no place there (outside
    the bounds, blank, no number, no listed category) are counted in one more cell, which is nowhere in their order.

    Parameters
    ----------
    name, unit : str
        User text.
    counts : (K,) or (K + 1,)
        Of the bins, and where it `has_other`, last, of all other records.
    edges : (K + 1,)
        Ascending, finite.
    fingerprint : str
    numeric : bool
        Whether the edges are numbers of the column; else bins are numbered in the order of the leaves.
    has_other : bool
        Whether there is a cell for records without a bin: public.
    is_cut : bool
        Whether numbers beyond the bounds are cut to them, so that these counts are not those of the column: public.
    is_part : bool
        Whether records of the column lie in no bin.
    labels, first : Labels, int, optional
        Of the leaves, and the first of them, where bins are no numbers.
    """

    name: str
    unit: str
    counts: IntArray
    edges: FloatArray
    fingerprint: str
    numeric: bool = True
    has_other: bool = False
    is_cut: bool = False
    is_part: bool = False
    labels: Labels | None = None
    first: int = 0

    @property
    def n_bins(self) -> int:
        """Cells that are counted: K, and one more where it `has_other`."""
        return int(self.counts.size)

    @property
    def total(self) -> int:
        """N, the number of all records."""
        return int(self.counts.sum())

    @property
    def truth_name(self) -> str:
        """What its counts are called beside a release: never simply true where they are not those of all records."""
        inside = "within the bounds" if self.numeric else "in the listed categories"
        return "cut to the bounds" if self.is_cut else f"true {inside}" if self.is_part else "true"

    @property
    def n_within(self) -> int:
        """K, how many bins there are."""
        return self.n_bins - self.has_other

    @property
    def truth(self) -> IntArray:
        """True cumulative counts, (K,): the last is the number of records in the bins."""
        return np.cumsum(self.counts[: self.n_within])

    @cached_property
    def are_equal(self) -> bool:
        """Whether all bins are equally wide."""
        return are_equal(self.edges)

    @property
    def step(self) -> float:
        """Width of the narrowest bin."""
        low, high = self.ends(0, self.n_within)
        return (high - low) / self.n_within if self.are_equal else float(np.diff(self.edges).min())

    def within(self, start: int, stop: int) -> int:
        """Return the true count of the bins from `start` up to the one before `stop`."""
        return int(self.counts[start:stop].sum())

    def bin_at(self, value: float) -> int:
        """Return the edge nearest to a value of the column."""
        return int(np.argmin(np.abs(self.edges - value)))

    def ends(self, start: int, stop: int) -> tuple[float, float]:
        """Return two edges, in the column's unit."""
        return float(self.edges[start]), float(self.edges[stop])

    @cached_property
    def are_apart(self) -> bool:
        """Whether the labels of bins without edges are intervals: they do not meet end to end in this order."""
        words = set() if self.labels is None else set(self.labels.vocabularies[-1].tolist()) - set(BESIDE)
        return bool(words) and are_intervals(words)

    def category(self, at: int) -> str:
        """Return what a bin is called that is no number: its path; user text."""
        return str(at + 1) if self.labels is None else STEP.join(self.labels.path(self.first + at))


def bins_of(data: Dataset) -> Bins:
    """Return the bins of a data set: its leaves, with the edges that they have, else numbered in their order.

    A leaf "(other)" is no bin, nor is "(blank)" beside intervals: they are counted last, in a cell of their own.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` when its leaves stand on different levels; ``TREE_SHAPE`` for a single bin.
    """
    leaves, beside = _leaves(data)
    if leaves.size < 2:
        raise InputError("TREE_SHAPE", f"A CDF needs at least 2 bins; the data set in use has {leaves.size}.")
    has_other, n_others = beside.size > 0, int(data.counts[beside].sum())
    counts = np.append(data.counts[leaves], [n_others][:has_other])
    if data.edges is None:
        return Bins(data.name, "category, in its order", counts, np.arange(leaves.size + 1.0), data.fingerprint, False,
                    has_other, is_part=n_others > 0, labels=data.labels, first=int(leaves[0]))  # fmt: skip
    unit = column_of(data.labels.level_names[1:], leaves.size)
    return Bins(data.name, unit, counts, data.edges, data.fingerprint, has_other=has_other,
                is_cut=data.report.recipe.cut, is_part=n_others > 0 or data.report.outside_range > 0)  # fmt: skip


def _leaves(data: Dataset) -> tuple[IntArray, IntArray]:
    """Return the leaves that are bins, in their order, and those beside them."""
    tree, other = data.tree, data.other_leaf
    if data.edges is None:
        deepest = tree.level(tree.height)
        leaves = np.arange(deepest.start, deepest.stop - (deepest.stop - 1 == other))
    else:
        leaves = data.interval_leaves
    beside = np.setdiff1d(tree.leaves, leaves)
    if any(data.labels.label(leaf) not in BESIDE if data.edges is not None else leaf != other for leaf in beside):
        raise InputError(
            "CDF_SHAPE", "The leaves of the data set in use stand on different levels, so they are no bins in a row."
        )
    return leaves, beside
