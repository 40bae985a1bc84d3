"""A domain file: the leaf paths that exist, one per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting, paths
from treedp_core.records.dataset import DomainSource
from treedp_core.records.domain import Domain, levels_checked
from treedp_core.records.read import text
from treedp_core.records.read.columns import LabelColumn
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import open_table, refuse_no_rows
from treedp_core.tree import AnyArray


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
