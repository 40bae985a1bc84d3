"""The public domain: which categories exist, said without looking at the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting, paths
from treedp_core.records.dataset import DomainSource
from treedp_core.records.export.columns import plain_labels
from treedp_core.records.read import text
from treedp_core.records.read.columns import LabelColumn
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import open_table, refuse_no_rows
from treedp_core.tree import AnyArray, Tree
from treedp_core.words import whole

MOST_LEAVES: Final = 2_000
"""Leaves that a domain lists one by one in code at most."""

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
        A table with one leaf path per row; empty deeper cells end a path early. Repeated rows are harmless. The
        apostrophe of `safe_cell`, before what a spreadsheet would run, is no part of a label.
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
    length = paths.lengths(codes_of_paths, blanks)
    _refuse_blanks_inside(label_columns, codes_of_paths, length)
    built = paths.build(codes_of_paths, length, np.ones(length.size, dtype=np.bool_))
    if built.extended is not None:
        at = int(built.extended)
        shown = " > ".join(label_columns[j].labels[codes_of_paths[at, j]] for j in range(int(length[at]))) or "all"
        raise InputError(
            "RAGGED_TREE",
            f"The domain path {echo(shown)} is a leaf, but other paths go on below it; list it as a leaf "
            f"{text.BLANK} below that node, or remove it.",
        )
    if records_are_public:
        vocabularies = tuple(tuple(column.labels) for column in label_columns)
        return Domain(DomainSource.PUBLIC, vocabularies, built, names=tuple(chosen))
    vocabularies = tuple(plain_labels(column.labels) for column in label_columns)
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


@dataclass(frozen=True, eq=False)
class Domain:
    """The categories of each column and which combinations of them are leaves.

    Use `domain_of_values`, `domain_of_paths`, `domain_of_leaves` or `domain_taken_from_the_data` to make one.

    Parameters
    ----------
    source : DomainSource
        PUBLIC or FROM_DATA.
    vocabularies : tuple of tuples of str
        The labels of each column, in the order of the tree; empty when taken from the data.
    path_tree : PathTree or None
        The listed paths; None means every combination of labels is a leaf.
    source_digest : str
        SHA-256 (hex) of the file it was read from; empty where there was none, or where its records are public.
    records : (n_nodes,) int or None
        How often the file lists each leaf, or the counts beside it; None for a list that only says what exists.
    names : tuple of str
        The column that each vocabulary is named by; empty where its place alone says whose it is.
    """

    source: DomainSource
    vocabularies: tuple[tuple[str, ...], ...] = ()
    path_tree: paths.PathTree | None = None
    source_digest: str = ""
    records: IntArray | None = None
    names: tuple[str, ...] = ()

    def of_columns(self, columns: Sequence[str]) -> Domain:
        """Return the domain of these columns, its lists in their order: names decide, wherever there are any.

        Raises
        ------
        InputError
            ``DOMAIN_LEVELS``, ``DOMAIN_COLUMNS``.

        Examples
        --------
        >>> domain_of_values({"city": ["Kiel", "Ulm"], "state": ["A"]}).of_columns(["state", "city"]).vocabularies
        (('A',), ('Kiel', 'Ulm'))
        """
        if self.source is DomainSource.FROM_DATA or self.names == tuple(columns):
            return self
        if self.path_tree is None and self.names:
            _refuse_other_names(self.names, columns)
            lists = dict(zip(self.names, self.vocabularies, strict=True))
            return replace(self, names=tuple(columns), vocabularies=tuple(lists[name] for name in columns))
        if len(self.vocabularies) != len(columns):
            raise InputError(
                "DOMAIN_LEVELS",
                f"The domain has {len(self.vocabularies)} levels but {len(columns)} columns are chosen.",
            )
        if set(self.names) == set(columns):
            raise InputError(
                "DOMAIN_COLUMNS",
                f"The paths of the domain are {_joined(self.names)}, but the columns are {_joined(columns)}; take both "
                "in one order.",
            )
        return self

    def refuse_own_records(self, source_digest: str, own: IntArray | None = None) -> None:
        """Refuse to call a file public whose bytes, or whose records on each leaf, are those of the private data.

        Parameters
        ----------
        source_digest : str
            Of the private file; empty where there is none.
        own : (n_nodes,) int, optional
            Private records on each leaf, if all of them are on the leaves.

        Raises
        ------
        InputError
            ``DOMAIN_IS_DATA``.
        """
        same_bytes = bool(source_digest) and source_digest == self.source_digest
        if same_bytes or (own is not None and self.records is not None and np.array_equal(own, self.records)):
            raise InputError(
                "DOMAIN_IS_DATA",
                "The domain file holds the private records themselves, so it is not public: list what exists from "
                "another source, or take the categories from the data, which is not private.",
            )

    @property
    def lists_other(self) -> bool:
        """Whether every record has a place in it: each column lists "(other)", and any combination is a leaf."""
        return self.path_tree is None and all(text.OTHER in vocabulary for vocabulary in self.vocabularies)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labels of each column."""
        return tuple(len(vocabulary) for vocabulary in self.vocabularies)

    @cached_property
    def tree(self) -> Tree | None:
        """The public tree, or None when it is taken from the data."""
        if self.source is DomainSource.FROM_DATA:
            return None
        return self.path_tree.tree if self.path_tree else Tree.from_branching_factors(self.sizes)

    def level_codes(self) -> tuple[IntArray, ...]:
        """Return the label codes (n_nodes,) of the nodes of levels 1, 2, ..."""
        if self.path_tree is not None:
            return self.path_tree.codes
        parents = np.cumprod([1, *self.sizes])[:-1]
        return tuple(np.tile(np.arange(size), n) for n, size in zip(parents, self.sizes, strict=True))


def domain_of_values(values: Mapping[str, Sequence[str]] | Sequence[Sequence[str]]) -> Domain:
    """Return the public domain in which every combination of the listed values is a leaf.

    Parameters
    ----------
    values : mapping from column name to labels, or a sequence of label lists
        One entry per level: of a mapping in any order, as its names are those of the columns that are counted; of a
        sequence in the order of the levels. A label "(blank)" receives records without a value in that column, a label
        "(other)" those with a value that is not listed.

    Raises
    ------
    InputError
        ``NO_LEVELS``, ``TOO_MANY_LEVELS``, ``DOMAIN_EMPTY``, ``DOMAIN_REPEATED``, ``TOO_MANY_NODES``
        and the codes of labels.

    Examples
    --------
    >>> domain_of_values({"sex": ["F", "M"], "age": ["0-17", "18+"]}).tree.n_leaves
    4
    """
    is_named = isinstance(values, Mapping)
    named = values if isinstance(values, Mapping) else {f"column {j}": v for j, v in enumerate(values, start=1)}
    levels_checked(len(named))
    n_nodes, n_level = 1, 1
    for labels in named.values():
        n_level *= len(labels)
        n_nodes += n_level
    checks.nodes(n_nodes, "The full product of the listed values")
    lists = tuple(_listed(str(name), labels) for name, labels in named.items())
    names = tuple(text.normalise(str(name)) for name in named) if is_named else ()
    return Domain(DomainSource.PUBLIC, lists, names=names)


def domain_of_leaves(leaves: Mapping[str, Sequence[str]]) -> Domain:
    """Return the public domain of these leaves, which somebody says are public, wherever the list came from.

    Parameters
    ----------
    leaves : mapping from column name to labels (n_leaves,)
        A label for each leaf, columns in the order of the levels; empty deeper cells end a path early. At most
        `MOST_LEAVES`: what is longer has a file of its own, see `domain_of_paths`.

    Raises
    ------
    InputError
        ``TOO_MANY_NODES``, ``DOMAIN_EMPTY``, and the codes of `domain_of_paths`.

    Examples
    --------
    >>> domain_of_leaves({"region": ["North", "North", "Abroad"], "city": ["Kiel", "Ulm", ""]}).tree.n_children.tolist()
    [2, 2, 0, 0, 0]
    """
    import pyarrow as pa

    levels_checked(len(leaves))
    sizes = {len(labels) for labels in leaves.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise InputError("DOMAIN_EMPTY", "Expected as many labels of every level, one for each leaf, and at least one.")
    if max(sizes) > MOST_LEAVES:
        raise InputError(
            "TOO_MANY_NODES",
            f"At most {whole(MOST_LEAVES)} leaves are listed one by one, got {whole(max(sizes))}; list them in a file.",
        )
    names = [str(name) for name in leaves]
    columns = [pa.array(map(str, labels), pa.string()) for labels in leaves.values()]
    return domain_of_paths(pa.table(columns, names), names, records_are_public=True)


def domain_taken_from_the_data() -> Domain:
    """Return the instruction to use exactly the paths that occur in the records.

    Not private: which categories exist, and which do not, is then read off the private records themselves, and no
    noise on counts hides it. Use it to explore; for a release list the categories.
    """
    return Domain(DomainSource.FROM_DATA)


def levels_checked(n_levels: int) -> int:
    """Return the number of hierarchy columns if it is accepted."""
    if n_levels == 0:
        raise InputError("NO_LEVELS", "Choose at least one column for the hierarchy.")
    if n_levels > checks.MAX_LEVEL_COLUMNS:
        raise InputError(
            "TOO_MANY_LEVELS",
            f"{n_levels} columns were chosen for the hierarchy; at most {checks.MAX_LEVEL_COLUMNS} are accepted.",
        )
    return n_levels


def _refuse_other_names(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse lists for columns that are not counted, and columns that are without a list."""
    unknown = [name for name in names if name not in columns]
    missing = [name for name in columns if name not in names]
    if unknown:
        raise InputError(
            "DOMAIN_COLUMNS",
            f"The domain lists values for {_joined(unknown)}; the columns of the tree are {_joined(columns)}.",
        )
    if missing:
        raise InputError("DOMAIN_COLUMNS", f"The domain lists no values for {_joined(missing)}; list them, too.")


def _joined(names: Sequence[str]) -> str:
    return ", ".join(map(echo, names))


def _listed(column: str, labels: Sequence[str]) -> tuple[str, ...]:
    if isinstance(labels, str) or not len(labels):
        raise InputError("DOMAIN_EMPTY", f"Expected a list of values for {echo(column)}, with at least one.")
    cleaned = []
    for position, label in enumerate(map(str, labels), start=1):
        trouble = text.problem(label)
        if trouble or not text.normalise(label):
            code, reason = trouble or ("EMPTY_LABEL", "no visible character")
            raise InputError(code, f"Value {position} listed for {echo(column)} has {reason}; {text.accepted(code)}.")
        cleaned.append(text.normalise(label))
    if len(set(cleaned)) < len(cleaned):
        repeated = next(label for label in cleaned if cleaned.count(label) > 1)
        raise InputError("DOMAIN_REPEATED", f"The value {echo(repeated)} is listed twice for {echo(column)}.")
    return tuple(cleaned)
