"""How far one unit's records can move each level, when they may share a leaf and when they lie on distinct leaves.

A unit has at most m records. Let C_v be the leaves below node v of a level, and h_v the unit's records there.

Stacked (any leaves, also all the same): all m records may lie below one node, so a level moves by m in one count when
the unit comes or goes (L1 = L2 = m), and by m in two counts when its records are replaced (L1 = 2 m, L2 = sqrt(2) m).

Distinct (no two records on one leaf): h_v <= C_v, so the m records spread on fine levels.

    comes or goes   The sum of squares of h, a convex function, is largest at an extreme point of {0 <= h <= C,
                    sum h = m}: nodes full but one. Of those, filling the nodes with most leaves first majorises all
                    others. Call that sum Q(m); it grows with m. L1 = min(m, leaves), L2 = sqrt(Q(m)).
    replaced        The change d = h - h' is positive on some nodes and negative on others. A record that stays on its
                    node changes nothing, so the two parts are any with |d_v| <= C_v, sums k, k' <= m, and |k - k'| <= R
                    where R leaves end above the level: records that come from there or go there have no sum to keep.
                    L1 = largest k + k'; L2 = root of the largest sum of squares. Both are exact, as follows.

Fix k and k' and take a change with these sums and most squares. (1) On one part, moving a record from node w to u adds
to the squares where d_u >= d_w; where d_u < d_w <= C_w <= C_u the two may be swapped first. So each part fills its
nodes with most leaves first, all but its last. (2) If a node of no part has more leaves than one that is used, it may
take that one's place; so the nodes used are those with most leaves, v_1, ..., v_J. Call the part that ends first, on
node v_(j+1), the first one: the nodes before are full, whichever part they belong to, so of the first part only the sum
a before v_(j+1) counts, any that a choice of v_1, ..., v_j adds up to; then comes its last node, with x records, and
the second part takes the nodes v_(j+2), ... in turn. For given j and a both sums, and with them L1 and the squares,
grow with x and with k': the largest x that k <= m, C and k' <= (leaves of all other nodes) allow, then the largest k'.
Each is a change that can be made, and every k and k' has its best one among them or below one of them. As j + 1 nodes
or more are used, j < 2 m.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.tree import FloatArray, Tree


@dataclass(frozen=True)
class Capacities:
    """The nodes of a level by the number of leaves below them: (leaves, how many nodes) with most leaves first.

    `elsewhere` leaves end above the level.
    """

    classes: tuple[tuple[int, int], ...]
    elsewhere: int = 0

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
        return self.elsewhere == 0 and self.n_nodes == 1

    def largest_squares(self, m: int) -> int:
        """Return Q(m), the largest sum of squares when at most m distinct leaves are chosen.

        >>> Capacities(((3, 2),)).largest_squares(4)
        10
        """
        total, left = 0, m
        for leaves, n in self.classes:
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
        levels.append(Capacities(classes, tree.n_leaves - int(leaves @ n)))
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
    """Return the L1 change and the square of the L2 change: the largest over j and a, see above."""
    nodes = (min(c, m) for c, n in level.classes for _ in range(min(n, 2 * m)))
    sizes = np.array(list(islice(nodes, 2 * m)))
    sums, squares = (np.concatenate(([0], np.cumsum(sizes**power))) for power in (1, 2))
    all_leaves = sum(min(c, m) * n for c, n in level.classes)
    elsewhere, most = min(level.elsewhere, m), 2 * level.largest_squares(m)
    reached = np.arange(m + 1) == 0
    l1 = square = 0
    for j, size in enumerate(sizes.tolist()):
        a = np.flatnonzero(reached)
        b = sums[j] - a
        others = b + min(all_leaves - int(sums[j + 1]), 2 * m)
        x = np.minimum(np.minimum(size, m - a), others + elsewhere - a)
        second = np.minimum(np.minimum(m, a + x + elsewhere), others)
        can = (x >= 0) & (b <= second)
        if can.any():
            x, b, moved, second = x[can], b[can], (a + x)[can], second[can]
            end = sums[j + 1] + second - b
            last = np.searchsorted(sums, end, side="right") - 1
            found = squares[j] + x**2 + squares[last] - squares[j + 1] + (end - sums[last]) ** 2
            l1, square = max(l1, int((moved + second).max())), max(square, int(found.max()))
        if l1 == 2 * m and square == most:
            break
        reached[size:] |= reached[: m + 1 - size].copy()
    return l1, square
