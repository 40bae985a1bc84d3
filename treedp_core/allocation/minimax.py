"""Level shares that give every node of a level-uniform tree the same variance after least squares.

For the workload "all nodes" these attain the factorisation norm gamma_2, with
gamma_2^2 = 1 + sum_i (n_i - 1) / (n_i + 1) over the branching factors n_i, so no unbiased Gaussian mechanism has a
smaller largest node variance (the dual certificate is the level-weighted nuclear norm of Ghazi et al., Theorem A.3).
That holds when records are added or removed, and likewise, with a norm of its own, for a public root when they are
replaced; not when known columns are public, where more on the known levels may cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.tree import FloatArray, Tree
from treedp_core.words import whole

# The factorisation norm of any tree, certified from both sides (Ghazi et al., Theorem A.3). W holds a row for every
# node and a column for every leaf: 1 where the leaf lies below the node. For weights p of the nodes and q of the
# leaves, each summing to 1, let X = diag(p)^(1/2) W diag(q)^(1/2) = U S V' by singular values. Then sum of S <=
# gamma_2(W) <= sqrt(max_v (U S U')_vv / p_v max_j (V S V')_jj / q_j): on the left the dual of Theorem A.3, on the
# right the factorisation of W into diag(p)^(-1/2) U S^(1/2) and the rest, whose longest row times longest column is
# all that gamma_2 asks for. Both meet where each ratio is the same everywhere, and multiplying the weights by their
# ratios goes there. Level-uniform trees have the closed form of `minimax`.

MAX_CELLS: Final = 2_000_000
"""Nodes times leaves up to which singular values take a moment."""
ROUNDS: Final = 2_000
_ROUNDING: Final = 1e-10
_LEAST: Final = 1e-9  # of all weight, so that no ratio is noise over noise


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on gamma_2 of a tree's nodes, and the weights that prove the lower one.

    Parameters
    ----------
    lower, upper : float
        Rounded outwards. No unbiased Gaussian mechanism has a worst node below lower / sqrt(2 rho); one attains
        upper / sqrt(2 rho), one record added or removed.
    nodes : (n_nodes,)
        p, the squares of Theorem A.3's v.
    leaves : (n_leaves,)
        q, the squares of its u, in the order of `Tree.leaves`.
    """

    lower: float
    upper: float
    nodes: FloatArray
    leaves: FloatArray


def certificate(tree: Tree, within: float = 1e-4) -> Certificate:
    """Return bounds on the factorisation norm of all nodes of a tree, ragged or not.

    Parameters
    ----------
    tree : Tree
    within : float
        Relative gap at which the search ends; it ends after 2 000 rounds at the latest, and the bounds say how near.

    Raises
    ------
    InputError
        ``TREE_SIZE`` when nodes times leaves are more than two million.

    >>> found = certificate(Tree.from_branching_factors((2, 2)))
    >>> round(found.lower**2, 3), round(found.upper**2, 3)  # 5/3, as the closed form says
    (1.667, 1.667)
    """
    if tree.n_nodes * tree.n_leaves > MAX_CELLS:
        raise InputError("TREE_SIZE", f"Expected at most {whole(MAX_CELLS)} pairs of a node and a leaf.")
    matrix = np.zeros((tree.n_nodes, tree.n_leaves))
    for column, leaf in enumerate(tree.leaves.tolist()):
        matrix[tree.ancestors(leaf), column] = matrix[leaf, column] = 1.0
    p, q = np.full(tree.n_nodes, 1.0 / tree.n_nodes), np.full(tree.n_leaves, 1.0 / tree.n_leaves)
    for _ in range(ROUNDS):
        found, of_nodes, of_leaves = _bounds(matrix, p, q)
        if found.upper <= found.lower * (1.0 + within):
            break
        p, q = p * of_nodes / found.lower, q * of_leaves / found.lower
        p, q = (x / x.sum() * (1.0 - _LEAST) + _LEAST / x.size for x in (p, q))
    return found


def _bounds(matrix: FloatArray, p: FloatArray, q: FloatArray) -> tuple[Certificate, FloatArray, FloatArray]:
    """Both bounds at given weights, and the ratios (n_nodes,) and (n_leaves,)."""
    left, values, right = np.linalg.svd(np.sqrt(p)[:, None] * matrix * np.sqrt(q), full_matrices=False)
    norm = float(values.sum())
    of_nodes, of_leaves = (left**2 @ values) / p, (values @ right**2) / q
    upper = math.sqrt(float(of_nodes.max()) * float(of_leaves.max()))
    return Certificate(norm * (1.0 - _ROUNDING), upper * (1.0 + _ROUNDING), p, q), of_nodes, of_leaves


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
