"""Values of rows, such as amounts: how often each leaf has which, in steps of a public grid."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.strict_json import Json, members
from treedp_core.records.unit_rows import MAX_TOTAL, MOST, UnitRows
from treedp_core.tree import Tree

IntArray = NDArray[np.int64]

MOST_STEPS: Final = 1_000_000
"""Steps of the grid that a value may have."""
MOST_VALUES: Final = 200_000
"""Pairs of a leaf and a value that are kept."""
_CELLS: Final = 1 << 22


@dataclass(frozen=True)
class LeafValues:
    """How many records of each leaf have which value, in steps of the grid; exact, and so NOT PRIVATE.

    Parameters
    ----------
    nodes, steps, records : tuple of int
        Each pair of a leaf and a value once, in ascending order, with at least one record.

    Examples
    --------
    >>> values = leaf_values(np.array([1, 2, 1, 1]), np.array([3, 0, 3, 1]), np.ones(4, dtype=np.int64))
    >>> values.nodes, values.steps, values.records
    ((1, 1, 2), (1, 3, 0), (1, 2, 1))
    >>> values.sums(Tree.from_branching_factors((2,)), 2).tolist()
    [5, 5, 0]
    """

    nodes: tuple[int, ...]
    steps: tuple[int, ...]
    records: tuple[int, ...]

    def sums(self, tree: Tree, clip: int) -> IntArray:
        """Return the sum of values clipped to some steps at each node of a tree, (n_nodes,), in steps."""
        nodes, steps, records = self.arrays
        own = np.zeros(tree.n_nodes, dtype=np.int64)
        np.add.at(own, nodes, np.minimum(steps, clip) * records)
        return tree.add_up(own)

    def counts(self, tree: Tree) -> IntArray:
        """Return the records at each node of a tree, (n_nodes,)."""
        nodes, _, records = self.arrays
        own = np.zeros(tree.n_nodes, dtype=np.int64)
        np.add.at(own, nodes, records)
        return tree.add_up(own)

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """Nodes, steps and records, (n,) each."""
        nodes, steps, records = (np.array(one, dtype=np.int64) for one in (self.nodes, self.steps, self.records))
        return nodes, steps, records

    def rows(self, tree: Tree) -> UnitRows:
        """Return what each clip leaves out of each level, as if a record of v steps were a unit with v records.

        Notes
        -----
        A clip m leaves max(v - m, 0) of a value v out, just as a bound m does of a unit with v records on one leaf. A
        node lacks L(m) = L(m + 1) + N(m) with N(m) records above m: two running sums along m for each node.
        """
        nodes, steps, records = self.arrays
        top = int(min(steps.max(initial=0), MOST))
        sums, squares = list[tuple[int, ...]](), list[tuple[int, ...]]()
        for level in reversed(range(tree.n_levels)):
            here = nodes >= tree.level_start[level]
            found = _lacking(nodes[here], steps[here], records[here], top)
            sums.append(tuple(found[0].tolist()))
            squares.append(tuple(found[1].tolist()))
            nodes = np.where(here, tree.parent[nodes], nodes)
        return UnitRows(tuple(reversed(sums)), tuple(reversed(squares)))


def leaf_values(nodes: IntArray, steps: IntArray, records: IntArray) -> LeafValues | None:
    """Return the values (n,) of records (n,) at nodes (n,); None where they are too many, or too large to square."""
    order = np.lexsort((steps, nodes))
    nodes, steps, records = nodes[order], steps[order], records[order]
    new = np.ones(nodes.size, dtype=bool)
    new[1:] = (nodes[1:] != nodes[:-1]) | (steps[1:] != steps[:-1])
    at = np.flatnonzero(new)
    if at.size > MOST_VALUES or float(steps @ records.astype(float)) > MAX_TOTAL:
        return None
    often = np.add.reduceat(records, at) if at.size else records
    return LeafValues(tuple(nodes[at].tolist()), tuple(steps[at].tolist()), tuple(often.tolist()))


def _lacking(nodes: IntArray, steps: IntArray, records: IntArray, top: int) -> tuple[IntArray, IntArray]:
    """Return what the nodes lack with clips 0, 1, ..., `top`, and its squares, each added up over nodes, (top + 1,)."""
    _, which = np.unique(nodes, return_inverse=True)
    order = np.argsort(which, kind="stable")
    which, steps, records = which[order], steps[order], records[order]
    n = int(which[-1]) + 1 if which.size else 0
    sums, squares = np.zeros(top + 1, dtype=np.int64), np.zeros(top + 1, dtype=np.int64)
    width = max(1, _CELLS // (top + 1))
    for first in range(0, n, width):
        part = slice(*np.searchsorted(which, (first, first + width)).tolist())
        rows = which[part] - first
        above = np.zeros((min(width, n - first), top + 1), dtype=np.int64)
        np.add.at(above, (rows, np.minimum(steps[part], top)), records[part])
        lacking = np.zeros_like(above)
        np.add.at(lacking[:, top], rows, np.maximum(steps[part] - top, 0) * records[part])
        lacking[:, :top] = np.cumsum(above[:, :0:-1], axis=1)[:, ::-1]  # N(m): steps of at least m + 1
        lacking = np.cumsum(lacking[:, ::-1], axis=1)[:, ::-1]
        sums += lacking.sum(axis=0)
        squares += (lacking * lacking).sum(axis=0)
    return sums, squares


# ---- stored


def as_json(values: LeafValues | None) -> Json:
    """Return what is stored of it."""
    if values is None:
        return None
    return {"nodes": list(values.nodes), "steps": list(values.steps), "records": list(values.records)}


def restored(given: Json, tree: Tree, counts: IntArray, clip: int) -> LeafValues | None:
    """Return what was stored of it by `as_json`, for counts (n_nodes,) of records, or of values clipped to `clip`.

    Raises
    ------
    InputError
        ``DATA_STORED`` for what no records can give, and the codes of `strict_json.members`.
    """
    if given is None:
        return None
    told = members(given, "Values", nodes=list, steps=list, records=list)
    lists = (told["nodes"], told["steps"], told["records"])
    for one, high in zip(lists, (tree.n_nodes - 1, MOST_STEPS, checks.MAX_COUNT), strict=True):
        if len(one) > MOST_VALUES or any(type(value) is not int or not 0 <= value <= high for value in one):
            raise _damaged()
    pairs = list(zip(*lists[:2], strict=False))
    if len({len(one) for one in lists}) != 1 or any(a >= b for a, b in itertools.pairwise(pairs)):
        raise _damaged()
    total = math.fsum(step * n for step, n in zip(*lists[1:], strict=True))
    if total > MAX_TOTAL or 0 in told["records"] or not all(bool(tree.is_leaf[node]) for node in told["nodes"]):
        raise _damaged()
    found = LeafValues(*(tuple(one) for one in lists))
    if not np.array_equal(found.sums(tree, clip) if clip else found.counts(tree), counts):
        raise _damaged()
    return found


def _damaged() -> InputError:
    return InputError("DATA_STORED", "A stored data set is damaged: its values do not add up.")
