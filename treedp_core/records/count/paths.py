"""Distinct paths of codes -> the tree of their prefixes, and the way of a path down a given tree.

A path ends where all its deeper cells are blank. Where other paths go on from there, "ending" is only a missing
detail: such a path goes on into a "(blank)" child, so that every count is the sum of its children's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting
from treedp_core.records.dataset import DomainSource
from treedp_core.records.domain import Domain, levels_checked
from treedp_core.records.read import text
from treedp_core.records.read.columns import LabelColumn
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import open_table, refuse_no_rows
from treedp_core.tree import AnyArray, Tree

# A domain file: the leaf paths that exist, one per row.


@in_words
def domain_of_paths(
    origin: Origin,
    columns: Sequence[str] | None = None,
    *,
    name: str | None = None,
    options: ReadOptions | None = None,
    weight: str | None = None,
    marks: Mapping[str, str] | None = None,
    records_are_public: bool = False,
) -> Domain:
    r"""Return the public domain whose leaves are the listed paths.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        A table with one leaf path per row; empty deeper cells end a path early. Repeated rows are harmless.
    columns : sequence of str, optional
        Its columns for levels 1, 2, ...; all of them, in order, by default.
    name, options
        As in `inspect`.
    weight : str, optional
        The column of counts of the private records. Where this file has it too, the counts in it are remembered, so
        that the private records are known again if they are given as their own domain.
    marks : mapping from column to marks, optional
        How these counts are written, as in `count_bins`.
    records_are_public : bool
        Whether the records of this very file may serve as the domain of themselves: a sample, a historic table.

    Raises
    ------
    InputError
        ``RAGGED_TREE`` when a path ends where another goes on, ``EMPTY_LABEL`` for a blank cell inside a path, and
        the codes of `inspect` and of labels.

    Examples
    --------
    >>> domain_of_paths(b"region,city\nNorth,Kiel\nNorth,Ulm\nAbroad,\n").tree.n_children.tolist()
    [2, 2, 0, 0, 0]
    """
    from treedp_core.records.read.numbers import amounts as amounts_of
    from treedp_core.records.read.numbers.marks import checked

    table = open_table(origin, name, options)
    chosen = [table.column(column) for column in columns or table.preview.columns]
    levels_checked(len(chosen))
    beside = [c for c in table.preview.columns if weight is not None and c == text.normalise(weight)]
    label_columns = [LabelColumn(column, None, table.first_row) for column in chosen]
    counter = counting.PathCounter([1] * len(chosen), bool(beside))
    said = checked({one: marks[one] for one in beside if marks and one in marks}, beside).get("".join(beside))
    rows = 0
    with table.reading(chosen, beside) as batches:
        for arrays, _ in batches:
            codes = [column.codes(array, rows) for column, array in zip(label_columns, arrays, strict=False)]
            amounts = amounts_of.weights(arrays[-1], beside[0], table.first_row + rows, said) if beside else None
            counter.add(codes, [column.size for column in label_columns], amounts)
            rows += len(arrays[0])
    refuse_no_rows(rows)
    codes_of_paths, sums = counter.paths()
    blanks = [column.blank for column in label_columns]
    length = lengths(codes_of_paths, blanks)
    _refuse_blanks_inside(label_columns, codes_of_paths, length)
    built = build(codes_of_paths, length, np.ones(length.size, dtype=np.bool_))
    if built.extended is not None:
        at = int(built.extended)
        shown = " > ".join(label_columns[j].labels[codes_of_paths[at, j]] for j in range(int(length[at]))) or "all"
        raise InputError(
            "RAGGED_TREE",
            f"The domain path {echo(shown)} is a leaf, but other paths go on below it; list it as a leaf "
            f"{text.BLANK} below that node, or remove it.",
        )
    vocabularies = tuple(tuple(column.labels) for column in label_columns)
    if records_are_public:
        return Domain(DomainSource.PUBLIC, vocabularies, built, names=tuple(chosen))
    lists_only = not beside and int(sums.max()) == 1
    own = np.zeros(built.tree.n_nodes, dtype=np.int64)
    np.add.at(own, built.leaf_of_path, sums)
    return Domain(DomainSource.PUBLIC, vocabularies, built, table.digest(), None if lists_only else own, tuple(chosen))


def _refuse_blanks_inside(label_columns: Sequence[LabelColumn], codes_of_paths: AnyArray, length: AnyArray) -> None:
    """Refuse a path that goes on below a blank cell; codes (n_paths, n_columns), lengths (n_paths,)."""
    for j, column in enumerate(label_columns):
        if ((codes_of_paths[:, j] == column.blank) & (length > j)).any():
            raise InputError(
                "EMPTY_LABEL",
                f"Column {echo(column.name)} of the domain is blank inside a path; write {text.BLANK} to mean that.",
            )


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
    return result


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
