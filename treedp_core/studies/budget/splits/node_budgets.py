"""Budgets finer than one for each level: what is to be known of each, and what it gains beside one for each level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import ErrorSummary
from treedp_core.postprocess import least_squares
from treedp_core.privacy import ADDED, NeighbouringRelation, ProtectedUnit
from treedp_core.registry import MethodCard, Table, table
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.words import float_above, whole

# ---- a budget for every node instead of every level, where the composition allows it.
#
# One record changes the nodes on one path from the root to a leaf by one, so what counts is the largest sum along such
# a path, not the sum over levels: on ragged trees a leaf that ends early may spend what deeper levels would have. When
# a record is replaced, the noise is scaled to two changes a level, and the two paths share the price: half of one
# path's sum and half of the other's, never more than the larger. When only unknown columns change, twice the sum of
# the unknown levels along a path bounds the price. All three hold for epsilon and for rho.


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


# ---- a split of its own for every subtree, tuned on its own prior, or on all of them pooled where it has none.
#
# Dawson et al. (Section 6) tune one split for each advertising partner; partners that are new are given the split tuned
# on all partners together. A record belongs to one subtree at a time, so the subtrees do not add up: the price is the
# largest among them (`path_charge`). Levels above the subtrees are not measured; they are sums.


Solve = Callable[[Problem, float], FloatArray]


@dataclass(frozen=True, eq=False)
class SubtreeSplits:
    """One split for each node of a level.

    Parameters
    ----------
    nodes : (n,)
        Roots of the subtrees, as nodes of the whole tree.
    amounts : (n, n_levels)
        What each level of each subtree spends.
    pooled : (n,) bool
        Whose split was tuned on all priors together, for want of one of its own.
    node_amounts : (n_nodes,)
        The same by node of the whole tree.
    """

    nodes: IntArray
    amounts: FloatArray
    pooled: AnyArray
    node_amounts: FloatArray


def split_by_subtree(problem: Problem, total: float, level: int, solve: Solve) -> SubtreeSplits:
    """Return a split of `total` for every subtree that begins on a level.

    Parameters
    ----------
    problem : Problem
        Its counts are the prior; a subtree whose prior counts are all 0 has none of its own.
    total : float
        What every subtree may spend, in the law's currency.
    level : int
        1 to the last level but one.
    solve : function
        ``solve(problem, total)`` returns the amounts of the levels, for example ``greedy(problem, total).amounts``.

    Raises
    ------
    InputError
        ``VALUE_RANGE`` for the level.
    """
    tree = problem.tree
    level = checks.integer("the level of the subtrees", level, low=1, high=max(1, tree.height - 1))
    nodes = np.arange(*tree.level(level).indices(tree.n_nodes))
    pooled_amounts = _solved(replace(problem, first_level=level), total, solve)
    pooled = np.asarray(problem.counts)[nodes] == 0
    amounts = np.tile(pooled_amounts, (nodes.size, 1))
    node_amounts = np.zeros(tree.n_nodes)
    for i, node in enumerate(nodes.tolist()):
        below, own = branch(tree, node)
        if below.n_levels == level + 1:  # nothing below: the node itself gets all
            alone = replace(problem, first_level=level)
            amounts[i] = _solved(alone, total, lambda alone, _: np.eye(alone.paid.size)[level])
        elif not pooled[i]:
            prior = replace(problem, tree=below, counts=np.asarray(problem.counts)[own], first_level=level)
            amounts[i] = 0.0
            amounts[i, : below.n_levels] = _solved(prior, total, solve)
        node_amounts[own] = np.repeat(amounts[i, : below.n_levels], below.level_sizes)
    return SubtreeSplits(nodes, amounts, pooled, node_amounts)


def _solved(problem: Problem, total: float, solve: Solve) -> FloatArray:
    """Amounts whose exact charge is at most the total; 0 on public levels."""
    per_level = np.array(problem.budget(solve(problem, total), total).per_level)
    return np.where(problem.paid > 0, per_level, 0.0)


def branch(tree: Tree, node: int) -> tuple[Tree, IntArray]:
    """Return the subtree of a node hung below its ancestors, so that levels keep their numbers, and its nodes there.

    >>> tree = Tree.from_branching_factors((2, 2))
    >>> below, nodes = branch(tree, 2)
    >>> below.level_sizes.tolist(), nodes.tolist()
    ([1, 1, 2], [0, 2, 5, 6])
    """
    above = tree.ancestors(node)[:-1]
    ranges = [slice(v, v + 1) for v in above] + tree.descendants(node, tree.n_levels - len(above))
    nodes = np.concatenate([np.arange(one.start, one.stop) for one in ranges])
    start = np.cumsum([0, *(one.stop - one.start for one in ranges)])
    return Tree(np.searchsorted(nodes, tree.parent[nodes]) - (nodes == 0), start), nodes


LEAVES: Final = (4, 16, 64, 256)
HEIGHTS: Final = (2, 3, 4, 5, 6, 7, 8)
BESIDE: Final = "Budgets by level"
Gain = tuple[str, list[float], dict[str, list[float]]]
"""What is varied, (n,) values of it, and the error at each with budgets of levels and with finer ones, (n,) each."""


@dataclass(frozen=True)
class Finer:
    """A table entry: budgets of parts of levels; `gain` compares them with budgets of levels, on what `about` says."""

    name: str
    label: str
    help: str
    card: MethodCard
    says: str
    about: str
    gain: Callable[[], Gain]


def by_node() -> Gain:
    """Return the root mean squared error of all counts of trees that have a leaf on every level."""
    coarse, fine = [], []
    for height in HEIGHTS:
        tree = Tree.from_child_counts([np.array([2]), *([np.array([0, 2])] * (height - 1))])
        problem = Problem(tree, np.zeros(tree.n_nodes), "discrete_laplace", ADDED, "rmse")
        levels = np.full(tree.n_levels, 1.0 / tree.n_levels)
        coarse.append(problem.error(levels))
        fine.append(node_error(problem, topped_up(tree, ADDED, levels, 1.0)).tree)
    return "levels", [height + 1.0 for height in HEIGHTS], {BESIDE: coarse, FINER["node"].label: fine}


def by_subtree() -> Gain:
    """Return the relative error of the counts of two subtrees: one has a leaf below every node, one all below one."""
    coarse, fine = [], []
    for n in LEAVES:
        tree = Tree.from_child_counts([np.array([2]), np.array([n, 1]), np.array([1] * n + [n])])
        counts = tree.counts_of_leaves(np.full(2 * n, 20))
        problem = Problem(tree, counts, "gaussian", ADDED, "rmsre", least_squares=False, first_level=1)
        coarse.append(problem.error(optimum(problem, 1.0).amounts))
        found = split_by_subtree(problem, 1.0, 1, lambda one, total: optimum(one, total).amounts)
        fine.append(node_error(problem, found.node_amounts).tree)
    return "leaves of each", list(map(float, LEAVES)), {BESIDE: coarse, FINER["subtree"].label: fine}


FINER: Final[Table[Finer]] = table(
    Finer(
        "node", "Budgets by node", "Leaves that end early also spend what deeper levels would have.",
        MethodCard(
            assumptions="A record changes the nodes of one path, so the largest sum along a path is paid.",
            formula=r"\varepsilon=\max_{\text{leaves }u}\ \sum_{v\text{ above or at }u}\varepsilon_v",
            source="Our own; Dawson et al. have one budget for each level.",
            strengths="Ragged trees: a leaf near the root has less noise, and no count has more.",
            limitations="Trees whose leaves are all on one level: there is nothing left to spend.",
        ),
        "RMSE ÷ the best",
        "Binary trees with a leaf on every level, equal budgets, ε = 1, least squares; one record added or removed.",
        by_node,
    ),
    Finer(
        "subtree", "Budgets by subtree", "Every subtree has a split of its own, tuned on its own prior.",
        MethodCard(
            assumptions="A record is in one subtree, so the dearest one is paid; levels above are "
            "sums of what they hold.",
            formula=r"\varepsilon=\max_{\text{subtrees }S}\ \sum_\ell\varepsilon_{S,\ell}",
            source="Dawson et al., Section 6: one split for each advertising partner, all pooled for a new one.",
            strengths="Subtrees of unlike shape or counts, such as partners with few and with many campaigns.",
            limitations="Subtrees that are alike: one split for all is as good.",
        ),
        "RMSRE ÷ the best",
        "Two subtrees, one with a leaf below every node, one with all below a single node; 20 records a leaf, Gaussian "
        "noise at ρ = 1, tuned splits; one record added or removed.",
        by_subtree,
    ),
)  # fmt: skip
