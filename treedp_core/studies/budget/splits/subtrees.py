"""A split of its own for every subtree, tuned on its own prior, or on all of them pooled where it has none.

Dawson et al. (Section 6) tune one split for each advertising partner; partners that are new are given the split tuned
on all partners together. A record belongs to one subtree at a time, so the subtrees do not add up: the price is the
largest among them (`per_node.path_charge`). Levels above the subtrees are not measured; they are sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treedp_core import checks
from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree

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
