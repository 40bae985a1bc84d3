"""How far one unit's records can move each level, when they may share a leaf and when they lie on distinct leaves.

A unit has at most m records. Let C_v be the leaves below node v of a level, and h_v the unit's records there.

Stacked (any leaves, also all the same): all m records may lie below one node, so a level moves by m in one count when
the unit comes or goes (L1 = L2 = m), and by m in two counts when its records are replaced (L1 = 2 m, L2 = sqrt(2) m).

Distinct (no two records on one leaf): h_v <= C_v, so the m records spread on fine levels.

    comes or goes   The sum of squares of h, a convex function, is largest at an extreme point of {0 <= h <= C,
                    sum h = m}: nodes full but one. Of those, filling the nodes with most leaves first majorises all
                    others. Call that sum Q(m); it grows with m. L1 = min(m, leaves), L2 = sqrt(Q(m)).
    replaced        The change d = h - h' has sum 0; let k be the sum of its positive part. The parts lie on
                    different nodes, so each is at most Q(k) in squares, and L1 = 2 k, L2 <= sqrt(2 Q(k)). As
                    |d_v| <= C_v, k is at most m; and one of the two parts avoids the node with most leaves, C_1, so k
                    is at most (all leaves) - C_1; and 2 k is at most all leaves. Where N nodes have C leaves each, the
                    smaller part has at most N // 2 nodes, so k = min(m, (N // 2) C), and the bound is attained: both
                    parts fill k // C nodes and put the rest on one more, 2 ceil(k / C) <= N nodes in all.

In a ragged tree records can also move to or from leaves that end above the level. Then d has no sum to keep: each part
is at most m, and both together at most all leaves of the level, so L1 = min(2 m, leaves), L2 <= sqrt(2 Q(m)).

The two parts also share the nodes: no node is in both. So d is at most k on each node and 2 k in all, and its squares
are at most those of 2 k leaves that fill the nodes with most leaves first, none with more than k: Q(2 k | k). The
smaller of 2 Q(k) and Q(2 k | k) is taken. Of nodes with 2, 1 and 1 leaves and two records it is 6 where 2 Q(2) is 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.tree import FloatArray, Tree


@dataclass(frozen=True)
class Capacities:
    """The nodes of a level by the number of leaves below them: (leaves, how many nodes) with most leaves first.

    `is_whole` says whether every record is below some node of the level: no leaf ends above it.
    """

    classes: tuple[tuple[int, int], ...]
    is_whole: bool = True

    @property
    def n_nodes(self) -> int:
        """Nodes of the level."""
        return sum(n for _, n in self.classes)

    @property
    def n_leaves(self) -> int:
        """Leaves below them."""
        return sum(c * n for c, n in self.classes)

    @property
    def holds_all_in_one(self) -> bool:
        """Whether one node holds all records, so that where their number is public nobody can change the level."""
        return self.is_whole and self.n_nodes == 1

    def largest_squares(self, m: int, most: int | None = None) -> int:
        """Return Q(m), the largest sum of squares when at most m distinct leaves are chosen, at most `most` a node.

        >>> Capacities(((3, 2),)).largest_squares(4), Capacities(((3, 2),)).largest_squares(4, 2)
        (10, 8)
        """
        total, left = 0, m
        for leaves, n in ((c if most is None else min(c, most), n) for c, n in self.classes):
            full = min(n, left // leaves)
            total, left = total + full * leaves**2, left - full * leaves
            if full < n:
                return total + left**2
        return total


def capacities_of_domain(sizes: Sequence[int]) -> tuple[Capacities, ...]:
    """Return the capacities of levels 0, 1, ... of the product of columns with so many categories each.

    >>> [c.classes for c in capacities_of_domain((2, 3))]
    [((6, 1),), ((3, 2),), ((1, 6),)]
    """
    nodes = [1]
    for size in sizes:
        nodes.append(nodes[-1] * int(size))
    return tuple(Capacities(((nodes[-1] // n, n),)) for n in nodes)


def capacities_of_tree(tree: Tree) -> tuple[Capacities, ...]:
    """Return the capacities of the levels of a tree; leaves that end higher up are leaves of their own level only."""
    levels = []
    for level in range(tree.n_levels):
        leaves, n = np.unique(tree.leaf_count[tree.level(level)], return_counts=True)
        classes = tuple(zip(leaves.tolist()[::-1], n.tolist()[::-1], strict=True))
        levels.append(Capacities(classes, bool(leaves @ n == tree.n_leaves)))
    return tuple(levels)


def level_sensitivities(
    unit: ProtectedUnit, levels: Iterable[Capacities], spread: Spread = Spread.STACKED
) -> tuple[FloatArray, FloatArray]:
    """Return the L1 and L2 change that the noise of each level is calibrated to, each (n_levels,), rounded up.

    Stacked records give what `ProtectedUnit` says; distinct ones at most that.

    Parameters
    ----------
    unit : ProtectedUnit
    levels : iterable of Capacities
    spread : Spread

    Raises
    ------
    InputError
        ``CONTRIBUTIONS_SPREAD`` for distinct leaves where only the unknown columns of a unit are protected.

    Examples
    --------
    Three records on distinct leaves of a domain of 2 x 3 cells, replaced by three others:

    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 3)
    >>> l1, l2 = level_sensitivities(unit, capacities_of_domain((2, 3)), Spread.DISTINCT)
    >>> l1.tolist(), (l2**2).round(9).tolist()
    ([0.0, 6.0, 6.0], [0.0, 18.0, 6.0])
    """
    levels = list(levels)
    if spread is Spread.STACKED or unit.contributions == 1:
        return unit.l1_sensitivity(len(levels)), unit.l2_sensitivity(len(levels))
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        raise InputError(
            "CONTRIBUTIONS_SPREAD",
            "Records on distinct leaves are for units that are added, removed or replaced; choose stacked records.",
        )
    moves = [
        _replaced(c, unit.contributions) if unit.total_is_public else _added(c, unit.contributions) for c in levels
    ]
    return (
        np.array([float(l1) for l1, _ in moves]),
        np.array([sqrt_above(square) if square else 0.0 for _, square in moves]),
    )


def _added(level: Capacities, m: int) -> tuple[int, int]:
    return min(m, level.n_leaves), level.largest_squares(m)


def _replaced(level: Capacities, m: int) -> tuple[int, int]:
    """Return the L1 change and the square of the L2 change."""
    if not level.is_whole:
        return min(2 * m, level.n_leaves), _both_parts(level, m)
    most, n_most = level.classes[0]
    smaller_part = min(level.n_leaves // 2, level.n_leaves - most)
    k = min(m, n_most // 2 * most if n_most == level.n_nodes else smaller_part)
    return 2 * k, _both_parts(level, k)


def _both_parts(level: Capacities, k: int) -> int:
    """Largest sum of squares of two parts of at most k leaves each that share no node, or a little more."""
    return min(2 * level.largest_squares(k), level.largest_squares(2 * k, k)) if k else 0
