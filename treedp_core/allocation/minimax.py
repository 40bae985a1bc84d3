"""Level shares that give every node of a level-uniform tree the same variance after least squares.

For the workload "all nodes" these attain the factorisation norm gamma_2, with
gamma_2^2 = 1 + sum_i (n_i - 1) / (n_i + 1) over the branching factors n_i, so no unbiased Gaussian mechanism has a
smaller largest node variance (the dual certificate is the level-weighted nuclear norm of Ghazi et al., Theorem A.3).
That holds when records are added or removed, and likewise, with a norm of its own, for a public root when they are
replaced; not when known columns are public, where more on the known levels may cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.tree import FloatArray, Tree


def shares(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    """Return the minimax share of each level, (n_levels,), summing to 1.

    For Gaussian noise precision is linear in the share; for Laplace it is quadratic, so there the square root is taken:
    every node again gets the same variance, but optimality is not claimed. Where a public total tells every count
    (a tree without a branch), the leaves get all.
    """
    factors = mean_branching_factors(tree)
    precision = public_root_precisions(factors) if unit.total_is_public else precisions(factors)
    part = np.maximum(precision, 0.0) if currency is Currency.RHO else np.sqrt(np.maximum(precision, 0.0))
    if not part.any():
        part[-1] = 1.0
    return np.asarray(part / part.sum())


def squared_norm(branching_factors: Sequence[float], public_root: bool = False) -> float:
    """Return gamma_2 squared: the node variance times 2 rho (noisy root), or times rho (public root, replaced record).

    >>> squared_norm((2, 2))
    1.6666666666666665
    """
    n = _without_leading_ones(branching_factors) if public_root else np.asarray(branching_factors, dtype=float)
    rest = ((n - 1) / (n + 1)).sum()
    if not public_root:
        return float(1 + rest)
    return float(rest + (1 - 1 / n[0]) - (n[0] - 1) / (n[0] + 1)) if n.size else 0.0


def precisions(branching_factors: Sequence[float]) -> FloatArray:
    """Return the level shares of rho, root first, summing to 1, when the root is noisy.

    Root 1 - 1/(n_1 + 1), level i n_i/(n_i + 1) - 1/(n_(i+1) + 1), leaves n_h/(n_h + 1), all over gamma_2 squared.

    >>> (4 / 3 * precisions((2,))).round(12).tolist()
    [0.666666666667, 0.666666666667]
    """
    n = np.asarray(branching_factors, dtype=float)
    own, above = np.concatenate([[1.0], n / (n + 1)]), np.concatenate([1 / (n + 1), [0.0]])
    return np.asarray((own - above) / squared_norm(branching_factors))


def public_root_precisions(branching_factors: Sequence[float]) -> FloatArray:
    """Return the level shares of rho, root first (0: it is known), summing to 1, when the total is public.

    Levels reached from the root without a branch are known with it and get nothing.

    >>> public_root_precisions((1, 2)).round(12).tolist()
    [0.0, 0.0, 1.0]
    """
    n = _without_leading_ones(branching_factors)
    known = np.zeros(len(branching_factors) - n.size + 1)
    if n.size == 0:
        return known
    leaves_below = np.cumprod(n[::-1])[::-1] / n
    above = np.concatenate([leaves_below[:1] * (1 - 1 / n[0]), leaves_below[:-1] / (n[1:] + 1), [0.0]])
    return np.concatenate([known, -np.diff(above) / leaves_below / squared_norm(n.tolist(), public_root=True)])


def mean_branching_factors(tree: Tree) -> tuple[float, ...]:
    """Return the mean number of children of each level's inner nodes; exact on a level-uniform tree."""
    inner = np.add.reduceat(~tree.is_leaf, tree.level_start[:-1])[:-1]
    return tuple((tree.level_sizes[1:] / inner).tolist())


def _without_leading_ones(branching_factors: Sequence[float]) -> FloatArray:
    n = np.asarray(branching_factors, dtype=float)
    branching = np.flatnonzero(n > 1)
    return n[branching[0] :] if branching.size else n[:0]
