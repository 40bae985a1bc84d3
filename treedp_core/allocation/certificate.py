"""The factorisation norm of any tree, certified from both sides (Ghazi et al., Theorem A.3).

W holds a row for every node and a column for every leaf: 1 where the leaf lies below the node. For weights p of the
nodes and q of the leaves, each summing to 1, let X = diag(p)^(1/2) W diag(q)^(1/2) = U S V' by singular values. Then

    sum of S  <=  gamma_2(W)  <=  sqrt(max_v (U S U')_vv / p_v  max_j (V S V')_jj / q_j):

on the left the dual of Theorem A.3, on the right the factorisation of W into diag(p)^(-1/2) U S^(1/2) and the rest,
whose longest row times longest column is all that gamma_2 asks for. Both meet where each ratio is the same everywhere,
and multiplying the weights by their ratios goes there. Level-uniform trees have the closed form of `minimax`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.tree import FloatArray, Tree
from treedp_core.words import whole

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
