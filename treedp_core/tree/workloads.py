"""Cumulative counts and ranges over K bins as sums over the nodes of a level-uniform tree.

The tree may have more leaves than there are bins (padding). Bins past the last hold no records, whatever the data, so
the nodes that hold only such bins are left out: `Shape.tree` has exactly K leaves, and its last node of each level may
have fewer children than the others.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.tree.families import AnyArray, IntArray
from treedp_core.tree.tree import FloatArray, Tree
from treedp_core.words import whole

Whole = TypeVar("Whole", int, IntArray)
MAX_BINS: Final = 10**18
"""Bins up to which formulas are computed; a tree that is built is limited by its nodes."""


class Workload(enum.Enum):
    """Which counts are wanted, all with the same weight."""

    CDF = "cdf"
    RANGES = "ranges"
    NODES = "nodes"

    @property
    def label(self) -> str:
        """Short name for a control."""
        return {"cdf": "CDF", "ranges": "All ranges", "nodes": "Nodes"}[self.value]


@dataclass(frozen=True)
class Shape:
    """A level-uniform tree over K bins: its branching factors (n_1, ..., n_h of Rameshwar et al.) and K.

    Parameters
    ----------
    branching_factors : tuple of int
        Children per node by level, each at least 2, with a product of at least `n_bins`.
    n_bins : int
        K, from 2 to 10^18.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` when these are no tree over the bins.

    Examples
    --------
    >>> Shape((10, 10, 10), 997).padding
    3
    """

    branching_factors: tuple[int, ...]
    n_bins: int

    def __post_init__(self) -> None:
        bins = n_bins_checked(self.n_bins)
        factors = tuple(
            checks.integer(f"branching factor {i}", n, low=2, high=MAX_BINS, code="TREE_SHAPE")
            for i, n in enumerate(self.branching_factors, start=1)
        )
        if math.prod(factors) < bins:
            raise InputError(
                "TREE_SHAPE",
                f"Expected branching factors whose product is at least {whole(bins)}, the bins, got "
                f"{whole(math.prod(factors))}.",
            )
        object.__setattr__(self, "branching_factors", factors)
        object.__setattr__(self, "n_bins", bins)

    @classmethod
    def full(cls, branching_factors: Sequence[int]) -> Shape:
        """Return the shape with one bin for each leaf.

        >>> Shape.full((16, 16)).n_bins
        256
        """
        factors = [
            checks.integer(f"branching factor {i}", n, low=2, high=MAX_BINS, code="TREE_SHAPE")
            for i, n in enumerate(branching_factors, start=1)
        ]
        return cls(tuple(factors), math.prod(factors))

    @property
    def height(self) -> int:
        """Number of levels below the root (m - 1 in Rameshwar et al.)."""
        return len(self.branching_factors)

    @cached_property
    def leaves_below(self) -> tuple[int, ...]:
        """Leaves below a node of each level where nothing is left out, (n_levels,): s_0, ..., s_h = 1."""
        below = [1]
        for n in reversed(self.branching_factors):
            below.append(below[-1] * n)
        return tuple(reversed(below))

    @property
    def padding(self) -> int:
        """Leaves of the level-uniform tree that stand for no bin."""
        return self.leaves_below[0] - self.n_bins

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """Nodes of each level that hold a bin, (n_levels,)."""
        return tuple(-(-self.n_bins // s) for s in self.leaves_below)

    def tree(self) -> Tree:
        """Return the tree over the bins.

        Raises
        ------
        InputError
            ``TOO_MANY_NODES`` when it is too large to build.

        >>> Shape((2, 3), 5).tree().n_children.tolist()
        [2, 3, 2, 0, 0, 0, 0, 0]
        """
        sizes = self.level_sizes
        checks.nodes(sum(sizes), f"A tree over {whole(self.n_bins)} bins")
        children = []
        for n, above, below in zip(self.branching_factors, sizes, sizes[1:], strict=False):
            children.append(np.full(above, n))
            children[-1][-1] = below - (above - 1) * n
        return Tree.from_child_counts(children)


def n_bins_checked(n_bins: object) -> int:
    """Return a number of bins that a CDF makes sense for, or refuse it.

    >>> n_bins_checked(2)
    2
    """
    return checks.integer("the number of bins", n_bins, low=2, high=MAX_BINS, code="TREE_SHAPE")


def n_records_checked(n_records: object) -> int:
    """Return the public number of records N; a share of N = 0 records means nothing, so 0 is refused.

    >>> n_records_checked(900)
    900
    """
    return checks.integer("n_records", n_records, low=1, high=checks.MAX_COUNT, code="RECORDS_RANGE")


# ---- estimates


def prefix_estimates(tree: Tree, estimate: AnyArray) -> AnyArray:
    """Return the cumulative count up to and with each bin, (..., K), from estimates of all nodes (..., n_nodes).

    Each is the sum over the fewest nodes that hold exactly these bins (Rameshwar et al., Lemma IV.1); the last is the
    root's own estimate. No cover is formed: with R(v) = cumulative count up to the right end of node v,

        R(c) = R(node before c's parent) + c and its earlier siblings,  R(last child) = R(parent).

    Raises
    ------
    InputError
        ``TREE_SHAPE`` when a leaf is not on the last level.

    >>> tree = Shape((2, 2), 3).tree()
    >>> prefix_estimates(tree, np.array([9, 5, 4, 2, 2, 4])).tolist()
    [2, 5, 9]
    """
    _leaves_on_last_level(tree)
    right = estimate[..., :1]
    for level in range(tree.height):
        nodes = tree.level(level + 1)
        running = np.cumsum(estimate[..., nodes], axis=-1)
        parents = tree.level(level)
        last = tree.first_child[parents] + tree.n_children[parents] - 1 - nodes.start
        offset = np.zeros_like(right)
        offset[..., 1:] = right[..., :-1] - running[..., last[:-1]]
        running += tree.spread(level, offset)
        running[..., last] = right
        right = running
    return right


def range_count(cumulative: AnyArray, start: int, stop: int) -> AnyArray:
    """Return the count in bins start, ..., stop - 1 (...), from cumulative counts (..., K).

    >>> float(range_count(np.array([1.0, 4.0, 9.0]), 1, 3))
    8.0
    """
    first, end = _range_checked(start, stop, cumulative.shape[-1])
    upper = cumulative[..., end - 1]
    return upper - cumulative[..., first - 1] if first else upper


def range_cover(tree: Tree, start: int, stop: int) -> tuple[IntArray, IntArray]:
    """Return the nodes that `range_count` adds and those it takes away, for bins start, ..., stop - 1.

    They are the prefix covers of `stop` and of `start` without the nodes in both.

    >>> [nodes.tolist() for nodes in range_cover(Shape((2, 3), 6).tree(), 1, 4)]
    [[1, 6], [3]]
    """
    first, end = _range_checked(start, stop, tree.n_leaves)
    added, taken = tree.prefix_cover(end), tree.prefix_cover(first)
    return np.setdiff1d(added, taken), np.setdiff1d(taken, added)


# ---- how often a level's noise enters


def digit_sums(shape: Shape) -> list[int]:
    """Return how often nodes of each level 1, ..., h stand in the covers of all prefixes shorter than K, exactly.

    The cover of j bins holds d_i(j) nodes of level i, the i-th digit of j in the mixed radix of the branching
    factors; S_i is the sum of d_i(j) over j < K. With K = prod n_i it is K (n_i - 1) / 2 (Theorem IV.1).

    >>> digit_sums(Shape((2, 3), 5))
    [2, 4]
    """
    return [_power_sums(shape.n_bins, n, s)[0] for n, s in _families(shape)]


def level_weights(shape: Shape, workload: Workload) -> FloatArray:
    """Return weights (n_levels,) such that the mean query variance is their sum with the levels' noise variances.

    Without least squares, for independent noise: prefixes are sums over their covers, ranges differences of two
    prefixes. Means are over the K prefixes, the K (K + 1) / 2 ranges, or the nodes below the root.

    >>> level_weights(Shape((16, 16), 256), Workload.CDF).tolist()
    [0.00390625, 7.5, 7.5]
    """
    bins = shape.n_bins
    if workload is Workload.NODES:
        below = shape.level_sizes[1:]
        return np.array([0.0, *(size / sum(below) for size in below)])
    sums = [(1, 1), *(_power_sums(bins, n, s) for n, s in _families(shape))]
    return np.array([_weight(bins, first, second, workload) for first, second in sums])


def family_weights(n_bins: int, n: IntArray, s: IntArray, workload: Workload) -> FloatArray:
    """Return weights (n_levels,) of levels, of any trees, with n nodes in a family and s leaves below each (n_levels,).

    As `level_weights`, for prefixes or ranges, and K up to 10^6.

    >>> family_weights(256, np.array([16, 256]), np.array([16, 1]), Workload.CDF).tolist()
    [7.5, 127.5]
    """
    return np.asarray(_weight(n_bins, *_power_sums(n_bins, n, s), workload))


def _weight(n_bins: int, first: Whole, second: Whole, workload: Workload) -> float | FloatArray:
    if workload is Workload.CDF:
        return first / n_bins
    # the sum over i < j of Var(P_j - P_i), P_0 = 0 included, is (K + 1) sum Var(P_j) - Var(sum P_j)
    return ((n_bins + 1) * first - second) / (n_bins * (n_bins + 1) // 2)


def _families(shape: Shape) -> Iterable[tuple[int, int]]:
    """Siblings n, a node itself included, and leaves s below it, of each level below the root."""
    return zip(shape.branching_factors, shape.leaves_below[1:], strict=True)


def _power_sums(n_bins: int, n: Whole, s: Whole) -> tuple[Whole, Whole]:
    """Return the sums of c and c^2 over a level's nodes, c = number of prefixes shorter than K that use the node.

    A node with t leaves of its parent after it, within the K, is used by t prefixes: in a whole family
    t = 0, s, ..., (n - 1) s; in the last, partial one (q s + r leaves, r < s) t = r, r + s, ..., r + (q - 1) s.
    """
    whole, rest = n_bins // (n * s), n_bins % (n * s)
    q, r = rest // s, rest % s
    first = whole * s * (n * (n - 1) // 2) + q * r + s * (q * (q - 1) // 2)
    second = whole * s * s * _squares(n) + q * r * r + r * s * q * (q - 1) + s * s * _squares(q)
    return first, second


def _squares(n: Whole) -> Whole:
    """0^2 + 1^2 + ... + (n - 1)^2."""
    return (n - 1) * n * (2 * n - 1) // 6


def _range_checked(start: object, stop: object, n_bins: int) -> tuple[int, int]:
    first = checks.integer("start", start, low=0, high=n_bins - 1, code="RANGE_BOUNDS")
    return first, checks.integer("stop", stop, low=first + 1, high=n_bins, code="RANGE_BOUNDS")


def _leaves_on_last_level(tree: Tree) -> None:
    if tree.is_leaf[: tree.level_start[-2]].any():
        raise InputError("TREE_SHAPE", "Expected a tree over bins, whose leaves are all on its last level.")


def equal_tree(n_bins: int, beta: int) -> Shape:
    """Return the tree with the same branching factor on every level, the first lowered to what the bins need.

    >>> equal_tree(997, 10).branching_factors, equal_tree(10_000, 22).branching_factors
    ((10, 10, 10), (21, 22, 22))
    """
    factors: tuple[int, ...] = (min(beta, n_bins),)
    while math.prod(factors) < n_bins:
        factors = (beta, *factors)
    first = -(-n_bins // math.prod(factors[1:]))
    return Shape((first, *factors[1:]) if first >= 2 else factors[1:], n_bins)
