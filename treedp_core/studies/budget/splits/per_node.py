"""A budget for every node instead of every level, where the composition allows it.

One record changes the nodes on one path from the root to a leaf by one, so what counts is the largest sum along such
a path, not the sum over levels: on ragged trees a leaf that ends early may spend what deeper levels would have. When
a record is replaced, the noise is scaled to two changes a level, and the two paths share the price: half of one
path's sum and half of the other's, never more than the larger. When only unknown columns change, twice the sum of
the unknown levels along a path bounds the price. All three hold for epsilon and for rho.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from treedp_core.checks import InputError
from treedp_core.errors import ErrorSummary
from treedp_core.postprocess import least_squares
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import FloatArray, Tree
from treedp_core.words import float_above, whole


def path_charge(tree: Tree, unit: ProtectedUnit, amounts: FloatArray) -> float:
    """Return what node amounts (n_nodes,) cost: the largest sum along a path from the root, rounded up.

    Parameters
    ----------
    tree : Tree
    unit : ProtectedUnit
    amounts : (n_nodes,)
        Epsilon or rho of each node, at least 0; the root's is not counted where the total is public.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> ragged = Tree.from_child_counts([np.array([2]), np.array([0, 1])])
    >>> path_charge(ragged, unit, np.array([0.25, 0.75, 0.5, 0.25]))
    1.0
    """
    first, doubled = _first_levels(tree, unit)
    return float_above(max(_largest(tree, amounts, first), 2 * _largest(tree, amounts, doubled)))


def _largest(tree: Tree, amounts: FloatArray, first: int) -> Fraction:
    """Largest sum of the amounts of levels `first` and deeper along a path: exact among the paths that come close."""
    sums = _down(tree, amounts, first)
    close = np.flatnonzero(sums >= sums.max() * (1.0 - 1e-12))
    paths = np.zeros((close.size, tree.n_levels))
    for level in reversed(range(tree.n_levels)):
        here = tree.level_of[close] == level
        paths[here, level] = amounts[close[here]] if level >= first else 0.0
        close = np.where(here & (level > 0), tree.parent[close], close)
    return max(sum(map(Fraction, path), Fraction(0)) for path in np.unique(paths, axis=0).tolist())


def _first_levels(tree: Tree, unit: ProtectedUnit) -> tuple[int, int]:
    """The first level that is charged, and the first that is charged twice."""
    doubled = unit.known_levels if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN else tree.n_levels
    return int(unit.total_is_public), doubled


def _sums(tree: Tree, unit: ProtectedUnit, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of the amounts from the root to each node, (n_nodes,): of all charged levels, and of those charged twice."""
    first, doubled = _first_levels(tree, unit)
    return _down(tree, amounts, first), _down(tree, amounts, doubled)


def _down(tree: Tree, amounts: FloatArray, first: int) -> FloatArray:
    own = np.where(tree.level_of >= first, amounts, 0.0)
    for level in range(tree.height):
        own[tree.level(level + 1)] += tree.spread(level, own[tree.level(level)])
    return own


def topped_up(tree: Tree, unit: ProtectedUnit, level_amounts: FloatArray, total: float) -> FloatArray:
    """Return node amounts (n_nodes,) in which every leaf also spends what its path leaves of the total.

    Never less than the level amounts anywhere, so no variance grows; the charge stays within the total.

    Parameters
    ----------
    level_amounts : (n_levels,)
        A split whose charge is at most `total`.
    total : float

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> ragged = Tree.from_child_counts([np.array([2]), np.array([0, 1])])
    >>> topped_up(ragged, unit, np.array([0.0, 0.5, 0.5]), 1.0).round(9).tolist()  # the early leaf gets all
    [0.0, 1.0, 0.5, 0.5]
    """
    levels = np.asarray(level_amounts, dtype=np.float64)
    amounts = np.repeat(np.where(np.isfinite(levels), levels, 0.0), tree.level_sizes)
    whole, unknown = _sums(tree, unit, amounts)
    free = 1 if unit.total_is_public else 0
    total = total * (1.0 - 8.0 * tree.n_levels * np.finfo(float).eps)  # room for the rounding of sums
    left = total - whole
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        left = np.where(tree.level_of >= unit.known_levels, np.minimum(left, total / 2.0 - unknown), left)
    grows = tree.is_leaf & (tree.level_of >= free)
    return amounts + np.where(grows, np.maximum(left, 0.0), 0.0)


def node_variance(problem: Problem, amounts: FloatArray) -> FloatArray:
    """Return the variance of each node's final error when node v spends ``amounts[v]``, (n_nodes,).

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when there is not one amount >= 0 for each node.
    """
    tree = problem.tree
    spent = np.asarray(amounts, dtype=np.float64)
    if spent.shape != (tree.n_nodes,) or not (spent >= 0).all():
        raise InputError("BUDGET_SPLIT", f"Expected one amount >= 0 for each of the {whole(tree.n_nodes)} nodes.")
    variance = np.empty(tree.n_nodes)
    with np.errstate(divide="ignore"):
        for level in range(tree.n_levels):
            nodes = tree.level(level)
            variance[nodes] = 1.0 / problem.precision.of_level(level, spent[nodes]) if problem.judged[level] else np.inf
    return least_squares.prepare(tree, variance)[1] if problem.least_squares else variance


def node_error(problem: Problem, amounts: FloatArray) -> ErrorSummary:
    """Return a squared metric's value for every level and the tree when node v spends ``amounts[v]``, (n_nodes,)."""
    return problem.summary_of(node_variance(problem, amounts))
