"""The tree with all nodes of one variance class drawn together: the same errors from far fewer nodes.

After least squares under level budgets, the variance of a node depends on the shape of what lies below it (its
signature: the multiset of its children's signatures) and on the signatures of its ancestors. A class is therefore a
signature under a parent class. A level-uniform tree has one class a level; ragged trees have about a tenth to a
thirtieth as many classes as nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedp_core.tree import FloatArray, IntArray, Tree

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class QuotientLevel:
    """One level of a quotient.

    Parameters
    ----------
    n_signatures : int
        Different shapes of subtrees on this level; a leaf, if there is one, is signature 0.
    has_leaf : bool
    pair_parent, pair_child, pair_count : (n_pairs,)
        Each kind of child of each kind of node above (signatures, by parent), and how many of it one such node has.
    pair_begin : (inner signatures above,)
        Where each parent's pairs begin.
    class_parent, class_pair : (n_classes,)
        Parent class and pair of each class, sorted by parent class.
    class_begin : (classes above that have children,)
        Where each parent's classes begin.
    inner_above : (same,)
        Those parent classes.
    """

    n_signatures: int
    has_leaf: bool
    pair_parent: IntArray
    pair_child: IntArray
    pair_count: IntArray
    pair_begin: IntArray
    class_parent: IntArray
    class_pair: IntArray
    class_begin: IntArray
    inner_above: IntArray

    @cached_property
    def family(self) -> IntArray:
        """Which parent, by position in `pair_begin`, each pair belongs to, (n_pairs,)."""
        return np.repeat(np.arange(self.pair_begin.size), np.diff(self.pair_begin, append=self.pair_parent.size))

    @property
    def n_classes(self) -> int:
        """Number of variance classes on this level."""
        return self.class_parent.size


@dataclass(frozen=True, eq=False)
class Quotient:
    """A tree's variance classes, numbered level by level.

    Parameters
    ----------
    levels : tuple of QuotientLevel
    class_of : (n_nodes,)
        Class of each node.
    class_start : (n_levels + 1,)
        Level l holds classes ``class_start[l]:class_start[l + 1]``.
    multiplicity : (n_classes,)
        Nodes in each class.
    """

    levels: tuple[QuotientLevel, ...]
    class_of: IntArray
    class_start: IntArray
    multiplicity: IntArray

    @property
    def n_classes(self) -> int:
        """Number of variance classes."""
        return self.multiplicity.size

    def sums(self, node_values: FloatArray) -> FloatArray:
        """Return the sum of node values (n_nodes,) over each class, (n_classes,)."""
        return np.asarray(np.bincount(self.class_of, weights=node_values, minlength=self.n_classes), dtype=np.float64)

    def smallest(self, node_values: FloatArray) -> FloatArray:
        """Return the smallest node value (n_nodes,) of each class, (n_classes,)."""
        lowest = np.full(self.n_classes, np.inf)
        np.minimum.at(lowest, self.class_of, node_values)
        return lowest


def quotient(tree: Tree) -> Quotient:
    """Return the variance classes of a tree.

    Notes
    -----
    Multisets are compared by the sum of a 64-bit hash of each member, so two different shapes on one level are taken
    for one with probability about (number of shapes)^2 / 2^65: below 10^-8 for any tree that is admitted.

    >>> quotient(Tree.from_branching_factors((4, 5))).multiplicity.tolist()
    [1, 4, 20]
    >>> ragged = Tree.from_child_counts([np.array([3]), np.array([2, 0, 2])])
    >>> quotient(ragged).multiplicity.tolist()  # the root, the leaf, the two pairs' parents, their four leaves
    [1, 1, 2, 4]
    """
    signature, example = _signatures(tree)
    levels = [_root_level(tree, example[0].size)]
    class_of = [np.zeros(1, dtype=np.int64)]
    class_signature = np.zeros(1, dtype=np.int64)
    for level in range(1, tree.n_levels):
        own, n_own = signature[level], example[level].size
        of_parent = tree.spread(level - 1, class_of[-1])
        key, nodes = _classes(of_parent, own, n_own)
        parent, kind = np.divmod(key, n_own)
        pairs = _pairs(tree, level, example[level - 1], own, n_own)
        at = np.searchsorted(pairs[0], class_signature[parent] * n_own + kind)
        levels.append(_level(tree, level, n_own, pairs, parent, at))
        class_of.append(nodes)
        class_signature = kind
    start = np.cumsum([0, *(one.n_classes for one in levels)])
    whole = np.concatenate([nodes + begin for nodes, begin in zip(class_of, start[:-1], strict=True)])
    return Quotient(tuple(levels), whole, start, np.bincount(whole, minlength=int(start[-1])).astype(np.int64))


def _signatures(tree: Tree) -> tuple[list[IntArray], list[IntArray]]:
    """Signature of each node by level, and a node (counted within the level) of each signature; leaves come first."""
    signature: list[IntArray] = [np.zeros(0, dtype=np.int64)] * tree.n_levels
    example = list(signature)
    hashes = np.zeros(int(tree.level_sizes[-1]), dtype=np.uint64)
    for level in reversed(range(tree.n_levels)):
        if level < tree.height:
            hashes = tree.sum_children(level, hashes)
        kinds, example[level], signature[level] = _distinct(hashes)
        hashes = _mixed(np.arange(kinds.size, dtype=np.uint64))[signature[level]]
    return signature, example


def _distinct(keys: NDArray[Any]) -> tuple[NDArray[Any], IntArray, IntArray]:
    """Sorted distinct keys, where each first stands, and each key's position among them."""
    if (keys == keys[0]).all():
        return keys[:1], np.zeros(1, dtype=np.int64), np.zeros(keys.size, dtype=np.int64)
    kinds, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return kinds, first, inverse


def _mixed(x: Hashes) -> Hashes:
    """Hash small whole numbers to 64 well mixed bits (the finaliser of SplitMix64; Steele, Lea and Flood, 2014)."""
    x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _classes(of_parent: IntArray, own: IntArray, n_own: int) -> tuple[IntArray, IntArray]:
    """Sorted keys (parent class, signature) of a level's classes, and the class of each node."""
    if n_own > 1:
        kinds, _, nodes = _distinct(of_parent * n_own + own)
        return kinds, nodes
    kinds = np.flatnonzero(np.bincount(of_parent))  # one signature: a class for each parent class with children
    return kinds, np.searchsorted(kinds, np.arange(int(kinds[-1]) + 1))[of_parent]


def _pairs(tree: Tree, level: int, example: IntArray, own: IntArray, n_own: int) -> tuple[IntArray, IntArray]:
    """Sorted keys (parent signature, child signature) with their counts, read off one node of each signature."""
    nodes = example + tree.level_start[level - 1]
    n_children = tree.n_children[nodes]
    begin = np.cumsum(n_children) - n_children
    first = tree.first_child[nodes] - tree.level_start[level]
    children = np.arange(int(n_children.sum())) + np.repeat(first - begin, n_children)
    keys = np.repeat(np.arange(example.size), n_children) * n_own + own[children]
    kinds, counts = np.unique(keys, return_counts=True)
    return kinds, counts


def _level(
    tree: Tree, level: int, n_own: int, pairs: tuple[IntArray, IntArray], class_parent: IntArray, class_pair: IntArray
) -> QuotientLevel:
    pair_parent, pair_child = np.divmod(pairs[0], n_own)
    inner, begin = np.unique(class_parent, return_index=True)
    return QuotientLevel(
        n_own,
        bool(tree.is_leaf[tree.level(level)].any()),
        pair_parent,
        pair_child,
        pairs[1],
        np.unique(pair_parent, return_index=True)[1],
        class_parent,
        class_pair,
        begin,
        inner,
    )


def _root_level(tree: Tree, n_own: int) -> QuotientLevel:
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return QuotientLevel(n_own, tree.n_levels == 1, none, none, none, none, one, one, none, none)
