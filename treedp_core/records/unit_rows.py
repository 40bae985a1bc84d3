"""How many records units have, and what each bound on them would leave out of every level: all bounds at once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.records.strict_json import Json, members
from treedp_core.tree import Tree

IntArray = NDArray[np.int64]

MOST: Final = 1_000
"""The largest bound that is looked at: as many records of one unit can be protected at most."""
MAX_TOTAL: Final = (1 << 31) - 1
"""Records whose squares still add up without overflow."""


@dataclass(frozen=True)
class UnitRows:
    """What bounds on the records of one unit leave out, where the first ones in the order of the file count.

    All of it is exact, and so NOT PRIVATE. The bounds are 0, 1, 2, ... up to the first that leaves nothing out, or up
    to `MOST`.

    Parameters
    ----------
    sums : tuple of tuple of int
        For each level, from the root down, and each bound: the records that its nodes lack, all with bound 0.
    squares : tuple of tuple of int
        The same of the records that each node lacks, squared and then added up over the nodes of the level.

    Examples
    --------
    Two units, with three records and with one, on two leaves:

    >>> rows = unit_rows(
    ...     Tree.from_branching_factors((2,)), np.array([1, 1, 2]), np.array([0, 2, 1]), np.array([2, 1, 1])
    ... )
    >>> rows.left_out, rows.squares, rows.units_above
    ((4, 2, 1, 0), ((16, 4, 1, 0), (10, 2, 1, 0)), (2, 1, 1))
    """

    sums: tuple[tuple[int, ...], ...]
    squares: tuple[tuple[int, ...], ...]

    @property
    def left_out(self) -> tuple[int, ...]:
        """Records that each bound leaves out."""
        return self.sums[0]

    @property
    def records(self) -> int:
        """Records of all units."""
        return self.left_out[0]

    @property
    def units(self) -> int:
        """Units with at least one record."""
        return self.units_above[0] if self.units_above else 0

    @property
    def largest(self) -> int:
        """Most records that one unit has; `MOST` also stands for more."""
        return len(self.sums[0]) - 1

    @cached_property
    def units_above(self) -> tuple[int, ...]:
        """Units with more than 0, 1, 2, ... records: each bound's next record is one of each of them."""
        return tuple((-np.diff(np.array(self.left_out, dtype=np.int64))).tolist())

    @property
    def units_with(self) -> tuple[int, ...]:
        """Units with 1, 2, ... records; the last one stands for `MOST` and more."""
        return tuple((-np.diff(np.array([*self.units_above, 0], dtype=np.int64))).tolist())

    def lacking(self, bounds: IntArray) -> IntArray:
        """Return how many records each of some bounds (n,) leaves out of each level, (n_levels, n)."""
        return np.stack([self._at(level, bounds) for level in self.sums])

    def lacking_squares(self, bounds: IntArray) -> IntArray:
        """Return the squares of what the nodes of each level lack, added up, (n_levels, n), of bounds (n,)."""
        return np.stack([self._at(level, bounds) for level in self.squares])

    def units_beyond(self, bounds: IntArray) -> IntArray:
        """Return how many units have more records than each of some bounds (n,), (n,)."""
        return self._at((*self.units_above, 0), bounds)

    def _at(self, values: tuple[int, ...], bounds: IntArray) -> IntArray:
        return np.array(values, dtype=np.int64)[np.minimum(bounds, self.largest)]


def unit_rows(tree: Tree, nodes: IntArray, ranks: IntArray, records: IntArray) -> UnitRows:
    """Return what bounds leave out, from pairs of a node and a place among the records of a unit.

    Parameters
    ----------
    tree : Tree
    nodes : (n,)
        Where records lie; those without a leaf in the tree at the last node above them that is.
    ranks : (n,)
        How many earlier records their units have; `MOST` stands for more as well.
    records : (n,)
        How many records there are of each pair. A pair may occur more than once.

    Notes
    -----
    One pass over the pairs for each level: what a node lacks with bound m is the sum of its pairs from rank m on, so a
    pair of c records, with L after it in its node, adds (L + c)^2 - L^2 to the squares of all bounds up to its rank.
    """
    top = int(min(ranks.max(initial=-1) + 1, MOST))
    sums, squares = list[tuple[int, ...]](), list[tuple[int, ...]]()
    for level in reversed(range(tree.n_levels)):
        nodes, ranks, records = _merged(nodes, ranks, records)
        here = nodes >= tree.level_start[level]
        after = _after(nodes[here], records[here])
        grown = records[here] * (2 * after + records[here])
        sums.append(_with_bounds(ranks[here], records[here], top))
        squares.append(_with_bounds(ranks[here], grown, top))
        nodes = np.where(here, tree.parent[nodes], nodes)
    return UnitRows(tuple(reversed(sums)), tuple(reversed(squares)))


def each_alone(total: int, n_levels: int) -> UnitRows:
    """Return what bounds leave out where each of so many records is a unit of its own: nothing.

    >>> each_alone(7, 2).left_out, each_alone(7, 2).lacking_squares(np.array([1, 5])).tolist()
    ((7, 0), [[0, 0], [0, 0]])
    """
    return UnitRows(((total, 0),) * n_levels, ((total * total, 0),) * n_levels)


def _merged(nodes: IntArray, ranks: IntArray, records: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return each pair once, by node and then by rank."""
    keys, which = np.unique(nodes * (MOST + 1) + ranks, return_inverse=True)
    sums = np.zeros(keys.size, dtype=np.int64)
    np.add.at(sums, which, records)
    return keys // (MOST + 1), keys % (MOST + 1), sums


def _after(nodes: IntArray, records: IntArray) -> IntArray:
    """Return the records of the same node after each pair, (n,)."""
    so_far = np.cumsum(records)
    return np.asarray(so_far[np.searchsorted(nodes, nodes, side="right") - 1] - so_far)


def _with_bounds(ranks: IntArray, values: IntArray, top: int) -> tuple[int, ...]:
    """Return the values (n,) from rank m on, added up, for m = 0, 1, ..., `top`."""
    found = np.zeros(top + 1, dtype=np.int64)
    np.add.at(found, ranks, values)
    return tuple(np.cumsum(found[::-1])[::-1].tolist())


def as_json(rows: UnitRows | None) -> Json:
    """Return what is stored of it."""
    if rows is None:
        return None
    return {"sums": [list(one) for one in rows.sums], "squares": [list(one) for one in rows.squares]}


def restored(given: Json, n_levels: int) -> UnitRows | None:
    """Return what was stored of it by `as_json`.

    Raises
    ------
    InputError
        ``DATA_STORED`` for what no records can give, and the codes of `strict_json.members`.
    """
    if given is None:
        return None
    told = members(given, "Records by unit", sums=list, squares=list)
    sums, squares = ([_falling(one) for one in told[name]] for name in ("sums", "squares"))
    if len(sums) != n_levels or len(squares) != n_levels or len({len(one) for one in (*sums, *squares)}) != 1:
        raise _damaged()
    of_root, total, lacking = np.array(sums[0]), np.array(sums), np.array(squares)
    above = -np.diff(of_root)
    if np.any(above <= 0) or np.any(np.diff(above) > 0) or (of_root[-1] > 0 and of_root.size <= MOST):
        raise _damaged()
    is_possible = (total <= of_root) & (total <= lacking) & (lacking <= total**2)
    if not is_possible.all() or squares[0] != tuple(one * one for one in sums[0]):
        raise _damaged()
    return UnitRows(tuple(sums), tuple(squares))


def _falling(given: Json) -> tuple[int, ...]:
    """Whole numbers from 0 on, none larger than the one before."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST + 1 or any(type(one) is not int for one in given):
        raise _damaged()
    if any(not 0 <= one < MAX_TOTAL**2 for one in given) or any(a < b for a, b in itertools.pairwise(given)):
        raise _damaged()
    return tuple(given)


def _damaged() -> InputError:
    return InputError("DATA_STORED", "A stored data set is damaged: its records by unit do not add up.")
