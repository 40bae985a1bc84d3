"""Variance of every cumulative count and of any weighted sum of bins, on a tree that is built, in O(nodes)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.postprocess.least_squares import combination, combine_estimates
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.tree.workloads import prefix_estimates, range_cover


def prefix_variances(tree: Tree, variance: FloatArray) -> FloatArray:
    """Return the variance of `prefix_estimates` for independent noise, (K,): the sum over each cover.

    Parameters
    ----------
    variance : (n_nodes,)
        Noise variance of each node: 0 known exactly, inf not measured.

    >>> prefix_variances(Tree.from_branching_factors((2, 2)), np.repeat([0.0, 3.0, 1.0], [1, 2, 4])).tolist()
    [1.0, 3.0, 4.0, 0.0]
    """
    unmeasured = np.isinf(variance)
    finite = prefix_estimates(tree, np.where(unmeasured, 0.0, variance))
    if not unmeasured.any():
        return np.maximum(finite, 0.0)
    return np.where(prefix_estimates(tree, unmeasured.astype(np.int64)) > 0, np.inf, np.maximum(finite, 0.0))


def range_variance(tree: Tree, variance: FloatArray, start: int, stop: int) -> float:
    """Return the variance of bins start, ..., stop - 1 as a difference of two prefixes, independent noise.

    >>> range_variance(Tree.from_branching_factors((2, 2)), np.repeat([0.0, 3.0, 1.0], [1, 2, 4]), 1, 3)
    5.0
    """
    added, taken = range_cover(tree, start, stop)
    return float(variance[added].sum() + variance[taken].sum())


def least_squares_prefix_variances(tree: Tree, variance: FloatArray) -> FloatArray:
    """Return the variance of each cumulative count after least squares, (K,).

    From the root to the leaves, with u the variance of a node from its own subtree, B the count before a node, T its
    best estimate, g = u_c / U the share of child c, G and Y the sums of g and u over its earlier siblings:

        Var B_c = Var B + 2 G Cov(B, T) + G^2 Var T + Y - Y^2 / U,
        Cov(B_c, T_c) = g Cov(B, T) + G g Var T - Y u_c / U,     Var T_c = g^2 Var T + u_c - u_c^2 / U.

    >>> tree = Tree.from_branching_factors((3,))
    >>> least_squares_prefix_variances(tree, np.array([0.0, 1.0, 1.0, 1.0])).round(12).tolist()
    [0.666666666667, 0.666666666667, 0.0]
    """
    own, below = own_subtree_variances(tree, variance)
    before, shared, whole = np.zeros(1), np.zeros(1), own[:1].copy()
    for level in range(tree.height):
        u, total = own[tree.level(level + 1)], tree.spread(level, below[tree.level(level)])
        share = u / total
        y = _earlier_siblings(tree, level, u)
        gain = y / total
        b, c, t = (tree.spread(level, x) for x in (before, shared, whole))
        before = b + 2.0 * gain * c + gain**2 * t + y * (1.0 - gain)
        shared = share * (c + gain * t - y)
        whole = share**2 * t + u * (1.0 - share)
    return np.asarray(np.maximum(before + 2.0 * shared + whole, 0.0))


def least_squares_functional_variance(tree: Tree, variance: FloatArray, weights: AnyArray) -> FloatArray:
    """Return the variance after least squares of weighted sums of the bins, (...), weights (..., K).

    From the leaves to the root: a sum over a subtree is m T + D with m = sum g_c m_c and
    Var D = sum Var D_c + sum u_c (m_c - m)^2.

    >>> tree = Tree.from_branching_factors((3,))
    >>> weights = np.array([1.0, 1.0, 0.0])
    >>> least_squares_functional_variance(tree, np.array([0.0, 1.0, 1.0, 1.0]), weights).round(12).tolist()
    0.666666666667
    """
    own, below = own_subtree_variances(tree, variance)
    mean = np.asarray(weights, dtype=float)
    spread_out = np.zeros(mean.shape)
    for level in reversed(range(tree.height)):
        u = own[tree.level(level + 1)]
        of_parent = tree.sum_children(level, u * mean) / below[tree.level(level)]
        spread_out = tree.sum_children(level, spread_out + u * (mean - tree.spread(level, of_parent)) ** 2)
        mean = of_parent
    return np.asarray((spread_out + mean**2 * own[0])[..., 0])


def own_subtree_variances(tree: Tree, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variance of each node's best estimate from its own subtree, and from its children alone, (n_nodes,).

    1 / u = 1 / variance + 1 / (sum of the children's u); a leaf has no children (inf).

    Raises
    ------
    InputError
        ``VARIANCE_NEEDED`` when a leaf is not measured: then not every bin is determined.
    """
    if not np.isfinite(variance[tree.is_leaf]).all():
        raise InputError("VARIANCE_NEEDED", "Expected a finite variance for every leaf; measure the last level.")
    own, below = np.array(variance, dtype=float), np.full(tree.n_nodes, np.inf)
    for level in reversed(range(tree.height)):
        nodes = tree.level(level)
        below[nodes] = tree.sum_children(level, own[tree.level(level + 1)])
        own[nodes] = combination(own[nodes], below[nodes])[1]
    return own, below


def _earlier_siblings(tree: Tree, level: int, values: FloatArray) -> FloatArray:
    """Sum over the earlier siblings of each node of level + 1."""
    before = np.cumsum(values) - values
    first = tree.first_child[tree.level(level)] - tree.level_start[level + 1]
    return before - tree.spread(level, before[first])


VIEWS: Final = ("left", "right", "average", "weighted")
"""How a cumulative count is estimated from nodes that were combined with their descendants."""


# ---- two views of every cumulative count, from the left and from the right (Rameshwar et al., Appendix B).
#
# Every node is first combined with its descendants. The left view of a prefix adds up the nodes of its cover, the right
# one takes those of the rest from N; their errors are uncorrelated. Averaging them gives Lemma IV.4; weighting them by
# their precisions is better; least squares, which uses all other relations too, is better still.


def two_view_estimates(tree: Tree, noisy: AnyArray, variance: FloatArray, *, weighted: bool = True) -> FloatArray:
    """Return the cumulative counts from both views, (..., K).

    Parameters
    ----------
    tree : Tree
        Of a `Shape`; every node below the root is measured.
    noisy : (..., n_nodes)
        The root's value is N, exactly.
    variance : (n_nodes,)
        Of the independent noise; 0 for the root.
    weighted : bool
        By the precisions of the views, prefix by prefix; else their average (Eq. 14).

    >>> tree = Tree.from_branching_factors((3,))  # N = 6; the first prefix is 1 from the left, 6 - 4 from the right
    >>> noisy, variance = np.array([6.0, 1.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0])
    >>> two_view_estimates(tree, noisy, variance, weighted=False).tolist()
    [1.5, 2.5, 6.0]
    """
    return view_estimates(tree, noisy, variance, "weighted" if weighted else "average")


def two_view_variances(tree: Tree, variance: FloatArray, *, weighted: bool = True) -> FloatArray:
    """Return the variances of `two_view_estimates`, (K,); their sum without weights is N^2 E_2 of Lemma IV.4.

    >>> tree = Tree.from_branching_factors((2, 2, 2))
    >>> variance = np.repeat([0.0, 72.0, 72.0, 72.0], tree.level_sizes)
    >>> two_view_variances(tree, variance, weighted=False).sum().round(6).tolist()
    322.285714
    """
    return view_variances(tree, variance, "weighted" if weighted else "average")


def view_estimates(tree: Tree, noisy: AnyArray, variance: FloatArray, view: str) -> FloatArray:
    """Return the cumulative counts by one of `VIEWS` of every prefix, (..., K): see `two_view_estimates`.

    >>> tree = Tree.from_branching_factors((3,))
    >>> noisy, variance = np.array([6.0, 1.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0])
    >>> view_estimates(tree, noisy, variance, "left").tolist(), view_estimates(tree, noisy, variance, "right").tolist()
    ([1.0, 2.0, 6.0], [2.0, 3.0, 6.0])
    """
    best = _with_descendants(tree, noisy, variance)
    left = prefix_estimates(tree, best)
    if view == "left":
        return np.asarray(left)
    right = best[..., :1] - counts_behind(tree, best)
    if view == "right":
        return np.asarray(right)
    if view == "average":
        return np.asarray((left + right) / 2.0)
    of_left, of_right = _views(tree, variance)
    return combine_estimates(left, of_left, right, of_right)[0]


def view_variances(tree: Tree, variance: FloatArray, view: str) -> FloatArray:
    """Return the variances of `view_estimates`, (K,); the root is known."""
    left, right = _views(tree, variance)
    if view in ("left", "right"):
        return left if view == "left" else right
    return np.asarray((left + right) / 4.0) if view == "average" else combination(left, right)[1]


def view_weights(tree: Tree, variance: FloatArray, view: str, end: int) -> FloatArray:
    """Return how much of each node's noisy count is in the view of the first `end` bins, (n_nodes,), but for N.

    From the root down: of what a view takes of a node that was combined with its descendants, its own noisy count has
    the weight of that combination, its children the rest.

    >>> tree = Tree.from_branching_factors((2, 2))
    >>> variance = np.repeat([0.0, 1.0, 1.0], tree.level_sizes)
    >>> view_weights(tree, variance, "left", 3).round(3).tolist()
    [0.0, 0.667, 0.0, 0.333, 0.333, 1.0, 0.0]
    """
    if end >= tree.n_leaves:
        return np.zeros(tree.n_nodes)
    left, right = (one[end - 1] for one in _views(tree, variance))
    part = {"left": 1.0, "right": 0.0, "average": 0.5}.get(view, float(combination(left, right)[0]))
    used = np.zeros(tree.n_nodes)
    used[tree.prefix_cover(end)] = part
    path = tree.ancestors(int(tree.leaves[end - 1]))
    for parent, node in pairwise(path):
        used[node + 1 : tree.first_child[parent] + tree.n_children[parent]] -= 1.0 - part
    _, below = own_subtree_variances(tree, variance)
    for level in range(1, tree.height):
        nodes = tree.level(level)
        own = combination(variance[nodes], below[nodes])[0]
        used[tree.level(level + 1)] += tree.spread(level, used[nodes] * (1.0 - own))
        used[nodes] *= own
    return used


def counts_behind(tree: Tree, estimate: AnyArray) -> AnyArray:
    """Return the count behind each bin, (..., K): the sum over its right cover (Lemma B.1), 0 for the last bin.

    Behind a child: behind its parent, and its later siblings.
    """
    behind = np.zeros_like(estimate[..., :1])
    for level in range(tree.height):
        nodes = tree.level(level + 1)
        running = np.cumsum(estimate[..., nodes], axis=-1)
        parents = tree.level(level)
        last = tree.first_child[parents] + tree.n_children[parents] - 1 - nodes.start
        behind = tree.spread(level, behind + running[..., last]) - running
    return behind


def _views(tree: Tree, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    own, _ = own_subtree_variances(tree, variance)
    return prefix_variances(tree, own), np.maximum(counts_behind(tree, own), 0.0)


def _with_descendants(tree: Tree, noisy: AnyArray, variance: FloatArray) -> FloatArray:
    """Return each node combined with its subtree by inverse variances (Eq. 11); the root stays what it is."""
    best = np.array(noisy, dtype=np.float64)
    _, below = own_subtree_variances(tree, variance)
    for level in reversed(range(1, tree.height)):
        nodes = tree.level(level)
        sums = tree.sum_children(level, best[..., tree.level(level + 1)])
        best[..., nodes], _ = combine_estimates(best[..., nodes], variance[nodes], sums, below[nodes])
    return best
