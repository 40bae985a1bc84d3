"""Distinct paths of codes -> the tree of their prefixes, and the way of a path down a given tree.

A path ends where all its deeper cells are blank. Where other paths go on from there, "ending" is only a missing
detail: such a path goes on into a "(blank)" child, so that every count is the sum of its children's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.tree import Tree

IntArray = NDArray[np.int64]
CodeMatrix = NDArray[np.int32]  # (n_paths, n_columns)

UNSEEN, MISSING = -1, -2


@dataclass(frozen=True, eq=False)
class PathTree:
    """A tree whose children are sorted by code, with the code of each node.

    Parameters
    ----------
    tree : Tree
        Its structure.
    codes : tuple of (nodes of level l + 1,) int arrays
        Code of each node, for levels 1, 2, ...
    leaf_of_path : (n_paths,) int64
        The leaf each path ends on, or MISSING where it was left out.
    extended : int or None
        A path that ends where others go on, if there is one.
    """

    tree: Tree
    codes: tuple[IntArray, ...]
    leaf_of_path: IntArray
    extended: int | None


def lengths(codes: CodeMatrix, blanks: Sequence[int]) -> NDArray[np.int8]:
    """Return the number of cells of each path before its trailing blanks, (n_paths,).

    >>> lengths(np.array([[1, 0, 0], [0, 2, 0]], dtype=np.int32), (0, 0, 0)).tolist()
    [1, 2]
    """
    length = np.zeros(codes.shape[0], dtype=np.int8)
    for j, blank in enumerate(blanks):
        length[codes[:, j] != blank] = j + 1
    return length


def build(
    codes: CodeMatrix, length: NDArray[np.int8], alive: NDArray[np.bool_], *, keep_blank: bool = True
) -> PathTree:
    """Return the tree of all prefixes of the paths.

    Parameters
    ----------
    codes : (n_paths, n_columns) int32
        Distinct paths; children are put in the order of their codes. A blank cell holds the code of "(blank)".
    length : (n_paths,) int8
        Cells of each path before its trailing blanks.
    alive : (n_paths,) bool
        Which paths take part.
    keep_blank : bool
        Whether a path that ends where others go on gets a "(blank)" child; else it is left out.
    """
    n, height = codes.shape
    length, alive = length.copy(), alive.copy()
    node, level_of_path = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int8)  # node: position within its level
    sizes, child_counts, level_codes = [1], [], []
    extended: int | None = None
    for j in range(height):
        goes_on = alive & (length > j)
        if not goes_on.any():
            break
        torn = _torn(node, goes_on, np.flatnonzero(alive & (length == j)))
        if torn.size:
            extended = int(torn[0]) if extended is None else extended
            alive[torn] = goes_on[torn] = keep_blank
            length[torn] = j + 1
        here = slice(None) if goes_on.all() else goes_on  # a slice copies nothing
        n_codes = int(codes[:, j].max()) + 1
        key = node[here].astype(np.int64)
        key *= n_codes
        key += codes[here, j]
        distinct, position = _ranks(key)
        checks.nodes(sum(sizes) + distinct.size, "The hierarchy of these columns")
        node[here] = position
        level_of_path[here] = j + 1
        child_counts.append(np.bincount(distinct // n_codes, minlength=sizes[-1]))
        level_codes.append(distinct % n_codes)
        sizes.append(distinct.size)
    tree = Tree.from_child_counts(child_counts)
    leaf = np.where(alive, tree.level_start[level_of_path] + node, MISSING)
    return PathTree(tree, tuple(level_codes), leaf, extended)


def find(
    tree: Tree, level_codes: Sequence[IntArray], codes: CodeMatrix, special: Sequence[Special], *, skip_blank: bool
) -> IntArray:
    """Return the leaf of a given tree that each path leads to, (n_paths,); UNSEEN or MISSING where there is none.

    At a leaf the path must have ended. Elsewhere a blank cell leads to the "(blank)" child (if `skip_blank`, nowhere),
    and a cell without a child of its own to the "(other)" child, where there is one.
    """
    return reach(tree, level_codes, codes, special, skip_blank=skip_blank)[0]


def reach(
    tree: Tree, level_codes: Sequence[IntArray], codes: CodeMatrix, special: Sequence[Special], *, skip_blank: bool
) -> tuple[IntArray, IntArray]:
    """Return what `find` does, and the last node on the way of each path, (n_paths,)."""
    length = lengths(codes, [s.blank for s in special])
    node = np.zeros(codes.shape[0], dtype=np.int64)
    result = np.full(codes.shape[0], UNSEEN, dtype=np.int64)
    alive, in_other = np.ones(node.size, dtype=np.bool_), np.zeros(node.size, dtype=np.bool_)
    for level in range(tree.n_levels):
        at_leaf = alive & tree.is_leaf[node]
        arrived = at_leaf & ((length <= level) | in_other)
        result[arrived] = node[arrived]
        alive &= ~at_leaf
        if level == tree.height or not alive.any():
            break
        s, here = special[level], tree.level_start[level]
        cell = codes[:, level].astype(np.int64)
        blank = alive & (cell == s.blank)
        result[blank & skip_blank] = MISSING
        alive &= ~(blank & skip_blank)
        cell[blank] = s.blank_label
        keys = (tree.parent[tree.level(level + 1)] - here) * s.n_codes + level_codes[level]
        base = (node - here) * s.n_codes
        child, found = _look_up(keys, base + cell, alive & (cell >= 0))
        if s.other_label >= 0:
            other, is_other = _look_up(keys, base + s.other_label, alive & ~found)
            child = np.where(found, child, other)
            in_other |= is_other
            found |= is_other
        alive = found
        node[alive] = tree.level_start[level + 1] + child[alive]
    return result, node


@dataclass(frozen=True)
class Special:
    """The special codes of one column of a public domain; -1 where there is no such label."""

    blank: int
    blank_label: int
    other_label: int
    n_codes: int


def _torn(node: NDArray[np.int32], goes_on: NDArray[np.bool_], ended: IntArray) -> IntArray:
    """Return those of the ended paths whose last node others go on from."""
    if not ended.size:
        return ended
    inner = np.zeros(int(node.max()) + 1, dtype=np.bool_)
    inner[node[goes_on]] = True
    return ended[inner[node[ended]]]


def _ranks(key: IntArray) -> tuple[IntArray, NDArray[Any]]:
    """Return the distinct keys, ascending, and the rank of each key; linear time where they are sorted already."""
    if (key[1:] >= key[:-1]).all():
        new = np.ones(key.size, dtype=np.bool_)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        return key[new], np.cumsum(new, dtype=np.int32) - 1
    distinct, position = np.unique(key, return_inverse=True)
    return distinct, position


def _look_up(keys: IntArray, wanted: IntArray, mask: NDArray[np.bool_]) -> tuple[IntArray, NDArray[np.bool_]]:
    position = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return position, mask & (keys[position] == wanted)
