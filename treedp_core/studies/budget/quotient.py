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


# ---- variances after least squares on the classes of a quotient, for many budgets at once, and their gradient.
#
# With precision q = 1 / noise variance of each level, up = variance from a node's own subtree, below = the sum of its
# children's up, and result = the variance after least squares (the recurrences of `postprocess.least_squares`):
#
#     leaves to root   up = 1 / q for a leaf, below / (1 + q below) otherwise
#     root to leaves   gain = up / parent's below,  result = up (1 - gain) + gain^2 parent's result
#
# The gradient runs both sweeps backwards. The derivative of up by its own q is - up^2 for leaves and inner nodes alike.
# With rest = 1 - gain and ratio = parent's result / parent's below, the derivative of result by the node's own up is
# rest (rest + 2 gain ratio), and by a sibling's up gain^2 (1 - 2 ratio): no large terms that cancel.


@dataclass(frozen=True, eq=False)
class Sweeps:
    """What both sweeps found: a list entry for each level, (..., signatures), (..., pairs) or (..., classes)."""

    precision: FloatArray
    up: list[FloatArray]
    below: list[FloatArray]
    gain: list[FloatArray]
    own: list[FloatArray]
    result: list[FloatArray]

    @property
    def variance(self) -> FloatArray:
        """Variance of each class after least squares, (..., n_classes)."""
        return np.concatenate(self.result, axis=-1)


def sweeps(quotient: Quotient, precision: FloatArray) -> Sweeps:
    """Return the variances after least squares for level precisions (..., n_levels).

    Parameters
    ----------
    quotient : Quotient
    precision : (..., n_levels)
        1 / noise variance of each level: 0 not measured (not on a level that holds leaves), inf known exactly.

    >>> from treedp_core.studies.budget.quotient import quotient as of_tree
    >>> from treedp_core.tree import Tree
    >>> two_leaves = of_tree(Tree.from_branching_factors((2,)))
    >>> sweeps(two_leaves, np.array([np.inf, 1.0])).variance.tolist()  # a known total: 0, and half of 1
    [0.0, 0.5]
    """
    q = np.asarray(precision, dtype=np.float64)
    levels = quotient.levels
    n = len(levels)
    empty = np.zeros((*q.shape[:-1], 0))
    up, below, gain, own = [empty] * n, [empty] * n, [empty] * n, [empty] * n
    for i in reversed(range(n)):
        if i + 1 < n:
            deeper = levels[i + 1]
            children = up[i + 1].take(deeper.pair_child, axis=-1)
            below[i] = np.add.reduceat(children * deeper.pair_count, deeper.pair_begin, axis=-1)
        of_inner = below[i] / (1.0 + q[..., i, None] * below[i])
        up[i] = np.concatenate([1.0 / q[..., i, None], of_inner], axis=-1) if levels[i].has_leaf else of_inner
    result = [up[0]]
    for i in range(1, n):
        level, skipped = levels[i], int(levels[i - 1].has_leaf)
        children = up[i].take(level.pair_child, axis=-1)
        gain[i] = children / below[i - 1].take(level.pair_parent - skipped, axis=-1)
        own[i] = _own(level, children, gain[i])
        inherited = np.square(gain[i]).take(level.class_pair, axis=-1)
        inherited *= result[i - 1].take(level.class_parent, axis=-1)
        inherited += own[i].take(level.class_pair, axis=-1)
        result.append(inherited)
    return Sweeps(q, up, below, gain, own, result)


def _own(level: QuotientLevel, children: FloatArray, gain: FloatArray) -> FloatArray:
    """Up (1 - gain), without cancellation where one child holds nearly all its family's variance.

    There it is gain times its siblings' variance, summed without the child itself.
    """
    dominant = (gain > 0.5) & (level.pair_count == 1)
    if not dominant.any():
        return children * (1.0 - gain)
    others = np.add.reduceat(np.where(dominant, 0.0, children * level.pair_count), level.pair_begin, axis=-1)
    return np.asarray(np.where(dominant, gain * others.take(level.family, axis=-1), children * (1.0 - gain)))


def gradient(quotient: Quotient, found: Sweeps, weights: FloatArray) -> FloatArray:
    """Return the derivative of the weighted sum of class variances by each level's precision, (n_levels,).

    Parameters
    ----------
    quotient : Quotient
    found : Sweeps
        For one vector of precisions (n_levels,).
    weights : (n_classes,)

    Notes
    -----
    The weighted sum is homogeneous of order -1, so ``precision @ gradient`` is minus its value (exact levels aside).
    """
    levels, n = quotient.levels, len(quotient.levels)
    start = quotient.class_start
    to_result = [np.array(weights[start[i] : start[i + 1]], dtype=np.float64) for i in range(n)]
    to_up = [np.zeros(one.n_signatures) for one in levels]
    for i in reversed(range(1, n)):
        level, skipped = levels[i], int(levels[i - 1].has_leaf)
        gain, rest = found.gain[i], found.own[i] / found.up[i].take(level.pair_child)
        of_parent = level.pair_parent[level.class_pair] - skipped
        ratio = found.result[i - 1].take(level.class_parent) / found.below[i - 1].take(of_parent)
        squared = np.square(gain)
        to_result[i - 1][level.inner_above] += np.add.reduceat(
            to_result[i] * squared.take(level.class_pair), level.class_begin
        )
        weight = _added(level.class_pair, to_result[i], gain.size)
        times_ratio = _added(level.class_pair, to_result[i] * ratio, gain.size)
        by_own = rest * (rest * weight + 2.0 * gain * times_ratio)
        by_sibling = squared * (weight - 2.0 * times_ratio)
        to_up[i] += _added(level.pair_child, by_own + _of_siblings(level, gain, by_sibling), level.n_signatures)
    to_up[0] += to_result[0]
    by_precision = np.zeros(n)
    for i in range(n):
        by_precision[i] = -(to_up[i] @ np.square(found.up[i]))
        if i + 1 < n:
            deeper, skipped = levels[i + 1], int(levels[i].has_leaf)
            to_below = to_up[i][skipped:] / np.square(1.0 + found.precision[i] * found.below[i])
            shared = deeper.pair_count * to_below.take(deeper.pair_parent - skipped)
            to_up[i + 1] += _added(deeper.pair_child, shared, deeper.n_signatures)
    return by_precision


def _of_siblings(level: QuotientLevel, gain: FloatArray, given: FloatArray) -> FloatArray:
    """What all nodes of each pair give their siblings, seen from those who receive it, (pairs,).

    Each of a family's children receives what the family gives less what it gives itself; where one child holds nearly
    all the variance the others are summed without it.
    """
    whole = np.add.reduceat(given, level.pair_begin).take(level.family)
    received = level.pair_count * whole - given
    dominant = (gain > 0.5) & (level.pair_count == 1)
    if not dominant.any():
        return np.asarray(received)
    others = np.add.reduceat(np.where(dominant, 0.0, given), level.pair_begin).take(level.family)
    return np.asarray(np.where(dominant, others, received))


def _added(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)
