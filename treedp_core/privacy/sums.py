r"""Sums of values on a tree: how far one record moves them, when each value is clipped to [0, c].

A record on leaf a with a value v in [0, c] adds v to every node on the way from the root to a. In steps of a public
grid, v and c are whole numbers. Let b_l be the noise scale of level l.

    comes or goes   One node of each level moves by v, so each by at most c, and all by c at once where v = c.
    replaced        From (a, v) to (b, w): let the paths part below level k. A level up to k moves by |v - w| in one
                    node, one below by v in one node and by w in another. Both |v - w| and v + w are convex in (v, w),
                    and so are their squares and every sum over levels with weights >= 0: the largest cost is at a
                    corner of [0, c]^2. At (c, 0) each level moves by c, as if the record came or went. At (c, c) levels
                    up to k do not move, and those below move twice by c: the worst k is the last level where the
                    path is public.

So sums move as the counts of c records do that share a leaf and whose presence is not known: the value of a record that
is replaced may become 0, where it had c. In particular the sum of all values is never public, though the number of
records may be, and levels below the root move by 2 c (L1) or sqrt(2) c (L2), the root by c. In a ragged tree a path can
end early, which moves no more.
"""

from __future__ import annotations

from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit


def unit_of_sums(unit: ProtectedUnit, clip: int) -> ProtectedUnit:
    """Return the unit whose counts move as sums do of values clipped to a whole number of steps.

    Parameters
    ----------
    unit : ProtectedUnit
        One record: its contributions are not looked at.
    clip : int
        c in steps of the grid, 1 to 1000.

    Raises
    ------
    InputError
        ``CONTRIBUTIONS_RANGE``.

    Examples
    --------
    Where the number of records is public, their sum is not:

    >>> unit = unit_of_sums(ProtectedUnit(NeighbouringRelation.REPLACE_ONE), 50)
    >>> unit.relation.value, unit.known_levels, unit.contributions
    ('replace_unknown', 1, 50)
    >>> unit.charge([0.5, 0.25, 0.25]), unit.charge([0.0, 0.5, 0.5])
    (1.0, 2.0)
    """
    if unit.relation is NeighbouringRelation.REPLACE_ONE:
        return ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, clip)
    return ProtectedUnit(unit.relation, clip, unit.known_levels)
