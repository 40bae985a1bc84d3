"""Two views of every cumulative count, from the left and from the right (Rameshwar et al., Appendix B).

Every node is first combined with its descendants. The left view of a prefix adds up the nodes of its cover, the right
one takes those of the rest from N; their errors are uncorrelated. Averaging them gives Lemma IV.4; weighting them by
their precisions is better; least squares, which uses all other relations too, is better still.
"""

from __future__ import annotations

import numpy as np

from treedp_core.postprocess.least_squares import combination, combine_estimates
from treedp_core.studies.cdf.error.prefixes import own_subtree_variances, prefix_variances
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.tree.workloads import prefix_estimates


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
    best = _with_descendants(tree, noisy, variance)
    left = prefix_estimates(tree, best)
    right = best[..., :1] - counts_behind(tree, best)
    if not weighted:
        return np.asarray((left + right) / 2.0)
    of_left, of_right = _views(tree, variance)
    return combine_estimates(left, of_left, right, of_right)[0]


def two_view_variances(tree: Tree, variance: FloatArray, *, weighted: bool = True) -> FloatArray:
    """Return the variances of `two_view_estimates`, (K,); their sum without weights is N^2 E_2 of Lemma IV.4.

    >>> tree = Tree.from_branching_factors((2, 2, 2))
    >>> variance = np.repeat([0.0, 72.0, 72.0, 72.0], tree.level_sizes)
    >>> two_view_variances(tree, variance, weighted=False).sum().round(6).tolist()
    322.285714
    """
    left, right = _views(tree, variance)
    if not weighted:
        return np.asarray((left + right) / 4.0)
    return combination(left, right)[1]


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
