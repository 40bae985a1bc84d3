"""What is released: columns and their order as a table, as a tree where that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import Dataset, Labels
from treedp_core.records.dataset import TextArray, labels_of, text_array
from treedp_core.studies.topdown.plan import known_levels
from treedp_core.studies.topdown.sparse import prefixes
from treedp_core.tree import IntArray, Tree
from treedp_core.tree.leaf_table import LeafTable, count_leaves, sizes_checked, table_of_tree
from treedp_core.watch import generator

DENSE_NODES: Final = 1_000_000
"""Nodes up to which a product of columns is laid out as a tree; larger ones are released without their zeros."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Records to release (private), and the public tree or product of columns they lie in.

    Parameters
    ----------
    name : str
        User text.
    columns : tuple of str
        Names of the levels below the root, in order; user text.
    words : tuple of (n_labels,) arrays of str
        Categories of each column.
    table : LeafTable
        The true leaves.
    fingerprint : str
    tree, counts, labels
        The same as a tree; None for a product too large to lay out.
    is_product : bool
        Whether every combination of categories is a leaf, so that the columns may change their order.
    order : tuple of int
        Where each column stands in the data set.
    seed : int or None
        Of made-up people.
    """

    name: str
    columns: tuple[str, ...]
    words: tuple[TextArray, ...]
    table: LeafTable
    fingerprint: str
    tree: Tree | None
    counts: IntArray | None
    labels: Labels | None
    is_product: bool
    order: tuple[int, ...]
    seed: int | None = None

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of all levels, root first."""
        return ("all", *self.columns)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Possible nodes of each level, root first; exact however many."""
        if self.tree is not None:
            return tuple(self.tree.level_sizes.tolist())
        return tuple(math.prod(self.table.sizes[:level]) for level in range(len(self.table.sizes) + 1))

    @property
    def n_leaves(self) -> int:
        """Possible leaves."""
        return self.cells[-1] if self.tree is None else self.tree.n_leaves

    @property
    def domain(self) -> tuple[int, ...] | Tree:
        """What a release is planned for: the columns' categories, or a tree whose levels are no columns."""
        if self.is_product:
            return self.table.sizes
        assert self.tree is not None
        return self.tree

    @property
    def has_orders(self) -> bool:
        """Whether its columns may stand in another order."""
        return self.is_product and len(self.columns) > 1

    @property
    def has_marginals(self) -> bool:
        """Whether it is counted by any of its columns: they are laid out."""
        return self.is_product and self.tree is not None

    def namer(self, level: int) -> Callable[[int], str] | None:
        """Return what names the nodes of a level by their position in it; None where nothing is laid out."""
        labels, tree = self.labels, self.tree
        if labels is None or tree is None:
            return None
        first = int(tree.level_start[level])
        return lambda i: " › ".join(labels.path(first + i)) or "all"

    def known_levels(self, in_data: int) -> int:
        """Return how many levels of this order of columns are known, where so many are in the data set's own order.

        Both numbers include the root.
        """
        return known_levels(self.order, range(in_data - 1))

    @property
    def total(self) -> int:
        """Number of records (private unless the relation makes it public)."""
        return self.table.total


def is_product(data: Dataset) -> bool:
    """Whether every combination of the labels of a data set's levels is a leaf of its tree."""
    factors = data.tree.branching_factors
    words = data.labels.vocabularies[1:]
    if not factors or any(k != len(w) for k, w in zip(factors, words, strict=True)):
        return False
    by_level = [data.labels.codes[data.tree.level(level)] for level in range(1, data.tree.n_levels)]
    return all(bool((c.reshape(-1, k) == c[:k]).all()) for c, k in zip(by_level, factors, strict=True))


def tree_as_it_is(data: Dataset) -> Subject:
    """Return a data set with its own levels in their own order.

    Raises
    ------
    InputError
        ``NO_LEVELS`` for a single node.
    """
    if data.tree.n_levels < 2:
        raise InputError("NO_LEVELS", "A top-down release needs at least one level below the root; choose other data.")
    words = data.labels.vocabularies[1:]
    table = table_of_tree(data.tree, data.counts, data.labels.codes, [len(w) for w in words])
    names = data.labels.level_names[1:]
    return Subject(data.name, names, words, table, data.fingerprint, data.tree, data.counts, data.labels, False,
                   tuple(range(len(names))))  # fmt: skip


def product_of_columns(data: Dataset, order: Sequence[int]) -> Subject:
    """Return the product of some columns of a data set, in the given order; the other columns are summed over.

    Parameters
    ----------
    order : sequence of int
        Positions among the data set's columns, each at most once.

    Raises
    ------
    InputError
        ``ONE_CATEGORY`` for a column that tells nothing apart, ``NO_LEVELS`` without columns.
    """
    names = [data.labels.level_names[1 + i] for i in order]
    words = tuple(data.labels.vocabularies[1 + i] for i in order)
    every = [len(w) for w in data.labels.vocabularies[1:]]
    whole = table_of_tree(data.tree, data.counts, data.labels.codes, every)
    if (whole.codes < 0).any():
        raise InputError(
            "COLUMNS", "Some branches of this tree end early, so its levels are no columns of all records."
        )
    codes = [whole.codes[:, i] for i in order]
    distinct = count_leaves(codes, [len(w) for w in words], names)  # refuses what cannot be released
    table = LeafTable(distinct.codes, _summed(whole, distinct, order), distinct.sizes)
    return _of_table(data.name, tuple(names), words, table, f"{data.fingerprint} {tuple(order)}", tuple(order))


def _summed(whole: LeafTable, distinct: LeafTable, order: Sequence[int]) -> IntArray:
    """Records of each distinct combination: `count_leaves` counted rows, here a row stands for several records."""
    codes = whole.codes[:, list(order)]
    at = np.lexsort(codes.T[::-1])
    starts = np.cumsum(distinct.counts) - distinct.counts
    return np.add.reduceat(whole.counts[at], starts) if at.size else np.zeros(0, dtype=np.int64)


def made_up(sizes: Sequence[int], n_records: int, seed: int) -> Subject:
    """Return made-up people in a table of columns with so many categories: mostly among the first few of each.

    Raises
    ------
    InputError
        ``RECORDS_RANGE``, ``ONE_CATEGORY``, ``TOO_MANY_LEVELS``, ``NO_LEVELS``, ``TREE_SHAPE``.
    """
    n = checks.integer("records", n_records, low=0, high=1_000_000, code="RECORDS_RANGE")
    names = tuple(f"column {i}" for i in range(1, len(sizes) + 1))
    rng = generator("made-up records", seed)
    codes = [np.minimum(rng.geometric(0.6, n) - 1, k - 1) for k in sizes_checked(sizes, names)]
    table = count_leaves(codes, sizes, names)
    words = tuple(text_array([str(i + 1) for i in range(k)]) for k in sizes)
    made = _of_table(
        "Made-up people", names, words, table, f"made up {tuple(sizes)} {n} {seed}", tuple(range(len(names)))
    )
    return replace(made, seed=seed)


def _of_table(
    name: str, columns: tuple[str, ...], words: tuple[TextArray, ...], table: LeafTable, fingerprint: str,
    order: tuple[int, ...],
) -> Subject:  # fmt: skip
    if not is_laid_out(table.sizes):
        return Subject(name, columns, words, table, fingerprint, None, None, None, True, order)
    tree = Tree.from_branching_factors(table.sizes)
    leaves = np.zeros(tree.n_leaves, dtype=np.int64)
    leaves[np.ravel_multi_index(table.codes.T.astype(np.int64), table.sizes)] = table.counts
    codes = [np.tile(np.arange(k), n) for n, k in zip(tree.level_sizes[:-1].tolist(), table.sizes, strict=True)]
    labels = labels_of(tree, codes, [w.tolist() for w in words], columns)
    return Subject(name, columns, words, table, fingerprint, tree, tree.counts_of_leaves(leaves), labels, True, order)


def n_nodes(sizes: Sequence[int]) -> int:
    """Return how many nodes a product of columns with so many categories has, the root included."""
    return sum(math.prod(sizes[:level]) for level in range(len(sizes) + 1))


def is_laid_out(sizes: Sequence[int]) -> bool:
    """Whether a product of columns with so many categories is laid out as a tree."""
    return n_nodes(sizes) <= DENSE_NODES


def union_tree(subject: Subject, released: LeafTable) -> tuple[Tree, Labels, IntArray, IntArray]:
    """Return the tree of the leaves that are in the truth or in a release, with true and released counts (n_nodes,).

    What an icicle of a sparse release shows: every other node is 0 in both.
    """
    true = subject.table
    codes = np.concatenate([true.codes, released.codes])
    both = np.zeros((2, codes.shape[0]), dtype=np.int64)
    both[0, : true.n_leaves], both[1, true.n_leaves :] = true.counts, released.counts
    at = np.lexsort(codes.T[::-1])
    codes, both = codes[at], both[:, at]
    start = np.flatnonzero(np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1)]))
    codes, both = codes[start], np.add.reduceat(both, start, axis=1)
    levels = prefixes(LeafTable(codes, both[0], true.sizes))
    sizes = [level.count.size for level in levels]
    starts = np.cumsum([0, *sizes])
    parent = np.concatenate([levels[0].parent, *(lv.parent + starts[i] for i, lv in enumerate(levels[1:]))])
    tree = Tree(parent.astype(np.int64), starts.astype(np.int64))
    labels = labels_of(tree, [lv.code for lv in levels[1:]], [w.tolist() for w in subject.words], subject.columns)
    truth, out = (tree.counts_of_leaves(row) for row in both)
    return tree, labels, truth, out
