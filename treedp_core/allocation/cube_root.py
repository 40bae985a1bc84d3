"""Level shares that give cumulative counts the smallest total error before least squares.

The first k leaves are counted by the earlier siblings of the nodes on the path to leaf k + 1 (`Tree.prefix_cover`).
If all prefixes together use nodes of level l S_l times, their total error is the sum of S_l times the level's noise
variance. For Laplace noise that is least for epsilon_l proportional to the cube root of S_l (Rameshwar et al.,
Theorem IV.2, where S_l = K (n_l - 1) / 2), for Gaussian noise for rho_l proportional to its square root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.tree import FloatArray, IntArray, Tree


def shares(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    """Return the share of each level, (n_levels,), summing to 1; a tree without a branch gives its leaves all."""
    uses = uses_in_prefixes(tree).astype(float)
    if unit.total_is_public:
        uses[0] = 0.0
    if not uses.any():
        uses[-1] = 1.0
    part = uses ** (1.0 / 3.0) if currency is Currency.EPSILON else np.sqrt(uses)
    return np.asarray(part / part.sum())


def uses_in_prefixes(tree: Tree) -> IntArray:
    """Return how many nodes of each level the covers of all prefixes (1 leaf to all leaves) use, (n_levels,).

    A node counts towards the prefixes that end below a later sibling of its own; the root towards the last alone.

    >>> uses_in_prefixes(Tree.from_branching_factors((2, 8))).tolist()  # 1, 16 * 1 / 2, 16 * 7 / 2
    [1, 8, 56]
    """
    uses = np.ones(tree.n_levels, dtype=np.int64)
    end = tree.leaf_start + tree.leaf_count
    for level in range(1, tree.n_levels):
        later = tree.spread(level - 1, end[tree.level(level - 1)]) - end[tree.level(level)]
        uses[level] = later.sum()
    return uses
