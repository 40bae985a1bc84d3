"""The bins of a numeric column: their true counts and their public edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.checks import InputError
from treedp_core.records import Dataset
from treedp_core.records.count.bins import column_of
from treedp_core.tree import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Bins:
    """True counts of the bins of a numeric column (private), and their public edges.

    Parameters
    ----------
    name, unit : str
        User text.
    counts : (K,)
    edges : (K + 1,)
    fingerprint : str
    numeric : bool
        Whether the edges are numbers of the column; else bins are numbered in the order of the leaves.
    has_other : bool
        Whether the last bin holds the records that have no place in the others: its upper edge is infinite, and no
        number of the column is its.
    is_cut : bool
        Whether numbers beyond the bounds were cut to them, so that these counts are not those of the column.
    is_part : bool
        Whether numbers of the column lie beyond the bounds.
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

    @property
    def n_bins(self) -> int:
        """K."""
        return int(self.counts.size)

    @property
    def total(self) -> int:
        """N, the number of records."""
        return int(self.counts.sum())

    @property
    def truth_name(self) -> str:
        """What its counts are called beside a release: never simply true where numbers lie beyond the bounds."""
        return "cut to the bounds" if self.is_cut else "true within the bounds" if self.is_part else "true"

    @property
    def n_within(self) -> int:
        """How many bins lie between the bounds."""
        return self.n_bins - self.has_other

    @property
    def truth(self) -> IntArray:
        """True cumulative counts, (K,)."""
        return np.cumsum(self.counts)

    def within(self, start: int, stop: int) -> int:
        """Return the true count of the bins from `start` up to the one before `stop`."""
        return int(self.counts[start:stop].sum())

    def bin_at(self, value: float) -> int:
        """Return the edge nearest to a value of the column."""
        return int(np.argmin(np.abs(self.edges - value)))

    def ends(self, start: int, stop: int) -> tuple[float, float]:
        """Return two edges, in the column's unit."""
        return float(self.edges[start]), float(self.edges[stop])


def bins_of(data: Dataset) -> Bins:
    """Return the bins of a data set: its leaves, with the edges that they have, else numbered in their order.

    A leaf "(other)" is the last bin, so that the bins hold all records.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` when its leaves stand on different levels; ``TREE_SHAPE`` for a single leaf.
    """
    tree, other = data.tree, data.other_leaf
    above = tree.is_leaf[: tree.level_start[-2]].sum()
    if above > (tree.height > 1 and other is not None):
        raise InputError(
            "CDF_SHAPE", "The leaves of the data set in use stand on different levels, so they are no bins in a row."
        )
    counts = data.counts[tree.level(tree.height)]
    if tree.height > 1 and other is not None:
        counts = np.append(counts, data.counts[other])
    if counts.size < 2:
        raise InputError("TREE_SHAPE", "A CDF needs at least 2 bins; the data set in use has 1.")
    within = counts.size - (other is not None)
    edges = data.edges
    if edges is None:
        unit = "category, in its order"
        return Bins(data.name, unit, counts, np.arange(counts.size + 1, dtype=float), data.fingerprint, False)
    unit = column_of(data.labels.level_names[1:], within)
    if other is not None:
        edges = np.append(edges, np.inf)
    return Bins(data.name, unit, counts, edges, data.fingerprint, has_other=other is not None,
                is_cut=data.report.cut > 0,
                is_part=data.report.outside_range > 0 or (other is not None and counts[-1] > 0))  # fmt: skip
