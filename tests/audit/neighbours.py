"""Small trees, data sets on them, and every neighbour of a data set.

A tree is its list of parents, a data set the number of records at each leaf. A unit's records before and after are
multisets of leaves (sets, where the unit's records lie on distinct leaves); a neighbour is the data without the ones
and with the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.tree import Tree

IntArray = NDArray[np.int64]

ADD, REPLACE, UNKNOWN = "add_or_remove_one", "replace_one", "replace_unknown"


@dataclass(frozen=True)
class Who:
    """Who is protected: relation, records of a unit, known levels, and whether its records lie on distinct leaves."""

    relation: str
    contributions: int = 1
    known_levels: int = 1
    distinct: bool = False

    @property
    def unit(self) -> ProtectedUnit:
        """The same in the words of the code under audit."""
        return ProtectedUnit(NeighbouringRelation(self.relation), self.contributions, self.known_levels)

    @property
    def spread(self) -> Spread:
        """The same in the words of the code under audit."""
        return Spread.DISTINCT if self.distinct else Spread.STACKED

    @property
    def settings(self) -> dict[str, object]:
        """Fields of an `Experiment`."""
        return {
            "relation": self.relation,
            "contributions": self.contributions,
            "known_levels": self.known_levels,
        }


@dataclass(frozen=True)
class Small:
    """A small tree, read off its parents node by node."""

    parent: tuple[int, ...]

    def path(self, node: int) -> list[int]:
        """Nodes from the root to a node."""
        return [node] if self.parent[node] < 0 else [*self.path(self.parent[node]), node]

    @property
    def levels(self) -> list[int]:
        """Level of each node."""
        return [len(self.path(node)) - 1 for node in range(len(self.parent))]

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return max(self.levels) + 1

    @property
    def leaves(self) -> list[int]:
        """Nodes without children, in order."""
        return [node for node in range(len(self.parent)) if node not in self.parent]

    @property
    def below(self) -> IntArray:
        """Entry (i, v) is 1 where leaf i lies below node v or is it."""
        return np.array([[int(v in self.path(leaf)) for v in range(len(self.parent))] for leaf in self.leaves])

    def known(self, known_levels: int) -> IntArray:
        """Entry (i, g) is 1 where leaf i has the known columns g: the same node on the last known level."""
        group = [self.path(leaf)[:known_levels][-1] for leaf in self.leaves]
        return np.array([[int(g == own) for g in sorted(set(group))] for own in group])

    @property
    def tree(self) -> Tree:
        """The same for the code under audit."""
        levels = self.levels
        start = [levels.index(i) for i in range(self.n_levels)]
        return Tree(np.array(self.parent), np.array([*start, len(levels)]))


def small_trees(rng: np.random.Generator, n: int) -> Iterator[Small]:
    """Some fixed trees with few leaves, then random ones: ragged, with chains, of 2 to 5 levels."""
    yield from itertools.islice((Small(tuple(p)) for p in _FIXED), n)
    for _ in range(n - len(_FIXED)):
        yield random_tree(rng, int(rng.integers(2, 9)))


_FIXED = (
    (-1, 0, 0),
    (-1, 0, 0, 1, 1, 2, 2),
    (-1, 0, 0, 0, 1, 1, 1, 6),
    (-1, 0, 0, 0, 0),
    (-1,),
    (-1, 0, 1, 2),
)


def random_tree(rng: np.random.Generator, n_nodes: int) -> Small:
    """Return a random ragged tree in level order, siblings adjacent."""
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in range(1, n_nodes):
        children[int(rng.integers(node))].append(node)
    order = [0]
    for node in order:
        order.extend(children[node])
    place = {node: i for i, node in enumerate(order)}
    above = {child: node for node, below in enumerate(children) for child in below}
    return Small(tuple(place[above[node]] if node else -1 for node in order))


@lru_cache(maxsize=256)
def units(n_leaves: int, most: int, distinct: bool) -> IntArray:
    """Every choice of at most so many records of a unit, as records at each leaf, (n_choices, n_leaves)."""
    choose = itertools.combinations if distinct else itertools.combinations_with_replacement
    chosen = [which for size in range(most + 1) for which in choose(range(n_leaves), size)]
    return np.array([np.bincount(which, minlength=n_leaves) for which in map(_whole, chosen)])


def _whole(which: tuple[int, ...]) -> IntArray:
    return np.array(which, dtype=np.int64)


def neighbours(small: Small, data: IntArray, who: Who) -> IntArray:
    """Return the records at each leaf of all neighbours of a data set, (n_neighbours, n_leaves), itself left out."""
    choices = units(len(small.leaves), who.contributions, who.distinct)
    before = choices[(choices <= data).all(axis=1)]
    old, new = (np.repeat(before, len(choices), axis=0), np.tile(choices, (len(before), 1)))
    if who.relation == ADD:
        allowed = (old.sum(axis=1) == 0) | (new.sum(axis=1) == 0)
    elif who.relation == REPLACE:
        allowed = old.sum(axis=1) == new.sum(axis=1)
    else:  # each record keeps its known columns, appears or disappears
        known = small.known(who.known_levels)
        allowed = np.maximum(old @ known, new @ known).sum(axis=1) <= who.contributions
    found = np.unique(data - old[allowed] + new[allowed], axis=0)
    return np.asarray(found[(found != data).any(axis=1)])


def data_sets(small: Small, rng: np.random.Generator, most: int) -> Iterator[IntArray]:
    """No records at all, one full unit on a leaf, one record on every leaf, and a few anywhere."""
    n = len(small.leaves)
    yield np.zeros(n, dtype=np.int64)
    yield np.bincount([n - 1] * most, minlength=n)
    yield np.ones(n, dtype=np.int64)
    yield np.bincount(rng.integers(n, size=int(rng.integers(1, 6))), minlength=n)


@dataclass(frozen=True)
class Pairs:
    """How the counts of all nodes differ between neighbours.

    Parameters
    ----------
    n : int
        Pairs of a data set and a neighbour that were listed.
    changes : (n_changes, n_nodes)
        Their distinct differences.
    """

    small: Small
    who: Who
    n: int
    changes: IntArray

    def by_level(self) -> tuple[IntArray, IntArray]:
        """Distinct sums of absolute changes and of squares on each level, each (rows, n_levels)."""
        levels = np.array(self.small.levels)
        at = np.stack([levels == i for i in range(self.small.n_levels)], axis=1).astype(np.int64)
        return _largest_rows(np.abs(self.changes) @ at), _largest_rows(self.changes**2 @ at)


def _largest_rows(rows: IntArray) -> IntArray:
    """Rows that no other row reaches in every entry: only they can be the worst."""
    rows = np.unique(rows, axis=0)[::-1]
    kept: list[IntArray] = []
    for row in rows:
        if not any((row <= other).all() for other in kept):
            kept.append(row)
    return np.array(kept).reshape(-1, rows.shape[1])


def list_pairs(small: Small, who: Who, data: Iterable[IntArray]) -> Pairs:
    """List all neighbours of some data sets."""
    found = [neighbours(small, one, who) - one for one in data]
    moved = np.concatenate(found) @ small.below
    return Pairs(small, who, sum(map(len, found)), np.unique(moved, axis=0))


def everyone(small: Small, contributions: Iterable[int]) -> Iterator[Who]:
    """Every relation, contribution and number of known levels that says something else on this tree."""
    for m in contributions:
        yield Who(ADD, m)
        yield Who(REPLACE, m)
        for known in range(1, small.n_levels + 1):
            yield Who(UNKNOWN, m, known)


def both_spreads(who: Iterable[Who]) -> Iterator[Who]:
    """Who is protected with stacked records and, where the code offers that, with records on distinct leaves."""
    for one in who:
        yield one
        if one.relation != UNKNOWN and one.contributions > 1:
            yield replace(one, distinct=True)
