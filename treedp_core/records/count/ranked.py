"""Records by path and by their place among those of their unit, counted in the same pass as the paths alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.records.count import paths
from treedp_core.records.count.counting import PathCounter, Words, with_other_leaf
from treedp_core.records.count.table_counts import CodeArray, IntArray
from treedp_core.records.unit_rows import MAX_TOTAL, MOST, UnitRows, unit_rows
from treedp_core.records.values.leaf_values import LeafValues, leaf_values
from treedp_core.tree import Tree

NOWHERE: Final = 0
"""The root, where a record stands that has no node below it."""


class RankCounter:
    """Counts of paths by rank: how many earlier records the same unit has, `MOST` and more as one.

    A file with more such pairs than a tree may have nodes is counted without them.

    Parameters
    ----------
    sizes : sequence of int
        As in `PathCounter`.
    most : int
        The largest rank that is told apart.
    """

    def __init__(self, sizes: Sequence[int], most: int = MOST) -> None:
        self._most = most
        self._counter: PathCounter | None = PathCounter([*sizes, most + 1])
        self._strangers = np.zeros(most + 1, dtype=np.int64)
        self._n = 0

    def add(self, codes: Sequence[CodeArray], sizes: Sequence[int], ranks: IntArray) -> None:
        """Count a batch: for each column codes (n,), negative ones for what has no category, and ranks (n,).

        Rows of a rank below 0 are no records.
        """
        if self._counter is None:
            return
        is_record, lowest = ranks >= 0, np.minimum.reduce(list(codes))
        ranks = np.minimum(ranks, self._most)
        stranger, known = is_record & (lowest < 0), is_record & (lowest >= 0)
        self._strangers += np.bincount(ranks[stranger], minlength=self._most + 1)
        self._n += int(np.count_nonzero(is_record))
        columns = [*(one[known] for one in codes), ranks[known].astype(np.int32)]
        try:
            self._counter.add(columns, [*sizes, self._most + 1])
        except InputError:  # too many pairs
            self._counter = None

    def pairs(self) -> Pairs | None:
        """Return what was counted, where it could be."""
        if self._counter is None or self._n > MAX_TOTAL:
            return None
        try:
            codes, records = self._counter.paths()
        except InputError:
            return None
        return Pairs(codes[:, :-1], codes[:, -1].astype(np.int64), records, self._strangers)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs of a path and a rank.

    Parameters
    ----------
    codes : (n, n_columns) int32
        Of the paths.
    ranks, records : (n,)
    strangers : (most + 1,)
        Records of each rank whose path has no category.
    """

    codes: NDArray[np.int32]
    ranks: IntArray
    records: IntArray
    strangers: IntArray

    def on(self, tree: Tree, nodes: IntArray, other: int, *, counts: IntArray, bound: int) -> UnitRows | None:
        """Return what bounds leave out of a tree on which the paths lie at nodes (n,), strangers at `other`.

        None where the records within the `bound` are not the `counts` (n_nodes,) that are there.
        """
        where, rank, records = self._with_strangers(nodes, other)
        own, within = np.zeros(tree.n_nodes, dtype=np.int64), rank < bound
        np.add.at(own, where[within], records[within])
        if bound > MOST or not np.array_equal(tree.add_up(own), counts):
            return None
        return unit_rows(tree, where, rank, records)

    def values_on(self, tree: Tree, nodes: IntArray, other: int) -> LeafValues | None:
        """Return values, which stand as ranks, on a tree whose nodes (n,) are as in `on`; None where too many."""
        return leaf_values(*self._with_strangers(nodes, other))

    def _with_strangers(self, nodes: IntArray, other: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return the node, the rank and the records of each pair, also of those whose path has no category."""
        there = np.flatnonzero(self.strangers)
        where = np.concatenate([nodes, np.full(there.size, other)])
        return where, np.concatenate([self.ranks, there]), np.concatenate([self.records, self.strangers[there]])


def beside_other(tree: Tree, nodes: IntArray, level_codes: Sequence[IntArray], words: Words) -> tuple[IntArray, int]:
    """Return where nodes (n,) of a tree are once it has a leaf "(other)", and where that is: see `with_other_leaf`.

    Nodes below 0 are in that leaf.
    """
    after, own, *_ = with_other_leaf(tree, np.zeros(tree.n_nodes, dtype=np.int64), level_codes, words, 1)
    other = int(own.argmax())
    moved = nodes + (nodes >= other) * (after.n_nodes - tree.n_nodes)
    return np.where(nodes < 0, other, moved), other


def places(
    tree: Tree,
    level_codes: Sequence[IntArray],
    codes: NDArray[np.int32],
    special: Sequence[paths.Special],
    *,
    skip_blank: bool,
    is_listed: bool,
) -> IntArray:
    """Return the node of each path (n_paths,): its leaf, else -1 in a tree that `is_listed`.

    In one that was read off the records within the bound it is the last node on the way, but -1 for a path that lacks a
    value.
    """
    leaf, reached = paths.reach(tree, level_codes, codes, special, skip_blank=skip_blank)
    if is_listed:
        return np.where(leaf < 0, -1, leaf)
    return np.where(leaf == paths.UNSEEN, reached, np.where(leaf < 0, -1, leaf))
