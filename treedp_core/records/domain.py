"""The public domain: which categories exist, said without looking at the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import paths
from treedp_core.records.dataset import DomainSource
from treedp_core.records.read import text
from treedp_core.tree import Tree

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Domain:
    """The categories of each column and which combinations of them are leaves.

    Use `domain_of_values`, `domain_of_paths` or `domain_taken_from_the_data` to make one.

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
