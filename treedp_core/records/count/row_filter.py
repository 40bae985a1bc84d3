"""Rows that are no records, such as totals: those with a label that was named for their column are left out.

Which rows they are depends on nothing but the row itself. What is left out is taken to be nobody's: "replace one"
protects a record among those that are counted, whose number it leaves as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of
from treedp_core.records.dataset import Dataset
from treedp_core.records.read import text
from treedp_core.records.read.table_reader import TableReader
from treedp_core.records.read.text import reads_as_total
from treedp_core.words import plural

if TYPE_CHECKING:
    import pyarrow as pa

CODE: Final = "LEFT_OUT"
BoolArray = NDArray[np.bool_]
Labels = Mapping[str, Collection[str]]


class LeftOut:
    """The rows of a table that are left out, over all batches.

    Parameters
    ----------
    table : TableReader
    given : mapping from column to labels, or None
        "(blank)" stands for blank cells.
    numeric : sequence of str or None
        Columns that are read as numbers, which name no rows.

    Raises
    ------
    InputError
        ``COLUMN_UNKNOWN``; ``LEFT_OUT`` for no labels, or a column of numbers.
    """

    def __init__(self, table: TableReader, given: Labels | None, numeric: Sequence[str | None]) -> None:
        self.labels: dict[str, tuple[str, ...]] = {}
        self.rows = 0
        self._table = table
        for name, labels in sorted((given or {}).items()):
            column = table.column(name)
            if column in numeric:
                raise InputError(CODE, f"Column {echo(column)} is read as numbers; name what is left out by labels.")
            if isinstance(labels, str) or not labels:
                raise InputError(CODE, f"Expected a list of labels of column {echo(column)} to leave out, got none.")
            self.labels[column] = tuple(dict.fromkeys(text.normalise(str(one)) or text.BLANK for one in labels))

    @property
    def as_pairs(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What a recipe says of them."""
        return tuple(sorted(self.labels.items()))

    def beside(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of labels that must be read besides."""
        return [column for column in self.labels if column not in columns]

    def kept(self, arrays: Mapping[str, pa.Array], row: int) -> BoolArray | None:
        """Return which rows (n,) of a batch whose first record is `row` (0-based) are records; None for all."""
        if not self.labels:
            return None
        from treedp_core.records.read.columns import LabelColumn

        out: BoolArray | None = None
        for column, labels in self.labels.items():
            encoded = LabelColumn(column, None, self._table.first_row).encoded(arrays[column], row)
            entries = [*encoded.dictionary.to_pylist(), ""]
            named = np.array([(text.normalise(one or "") or text.BLANK) in labels for one in entries], dtype=np.bool_)
            here = named[indices_of(encoded)]
            out = here if out is None else out | here
        assert out is not None
        self.rows += int(np.count_nonzero(out))
        return ~out

    def notices(self) -> list[text.Notice]:
        """Return what to know of them."""
        if not self.rows:
            return []
        named = "; ".join(
            f"{', '.join(map(echo, labels[:3]))}{', …' if len(labels) > 3 else ''} in column {echo(column)}"
            for column, labels in self.labels.items()
        )
        return [(CODE, f"Left out as no records: {plural(self.rows, 'row')} with {named}.")]


def without(array: pa.Array, kept: BoolArray | None) -> pa.Array:
    """Return an array (n,) whose cells are blank where a row is left out."""
    import pyarrow as pa

    return array if kept is None else array.take(pa.array(np.arange(kept.size), mask=~kept))


# ---- rows that look like totals of others: words and arithmetic propose them, a person decides. All of it is private


Suspect = tuple[str, str]
"""A column, and a label whose rows look like totals."""
MAX_SUSPECTS: Final = 20
TOTALS_CODE: Final = "TOTALS"
_MOST: Final = 0.9


def suspected(data: Dataset, unlisted: Iterable[Suspect] = ()) -> tuple[Suspect, ...]:
    """Return labels whose rows look like totals of others, by column.

    By words; and where a column says how many records a row stands for, by their counts: children that have as many
    records as all their siblings, of which there must be two.

    Parameters
    ----------
    data : Dataset
    unlisted : iterable of (column, label)
        Labels outside a public domain that were met.
    """
    found = dict.fromkeys(unlisted)
    for level in range(1, data.tree.n_levels):
        column, words = data.labels.level_names[level], data.labels.vocabularies[level]
        nodes = np.arange(*data.tree.level(level).indices(data.tree.n_nodes))
        codes, parents = data.labels.codes[nodes], data.tree.parent[nodes]
        held = data.counts[nodes] > 0
        of_label = np.bincount(codes[held], minlength=len(words))
        hits = np.zeros(len(words), dtype=np.int64)
        if data.report.recipe.weight:
            is_sum = held & (2 * data.counts[nodes] == data.counts[parents])
            siblings = np.bincount(parents[held], minlength=data.tree.n_nodes)[parents] >= 3
            hits = np.bincount(codes[is_sum & siblings], minlength=len(words))
        adds_up = (hits > 0) & (hits >= _MOST * of_label)
        for code in np.flatnonzero(of_label).tolist():
            label = str(words[code])
            if label != text.OTHER and (adds_up[code] or reads_as_total(label)):
                found[column, label] = None
            if len(found) >= MAX_SUSPECTS:
                break
    return tuple(found)


def notices(suspects: tuple[Suspect, ...]) -> list[text.Notice]:
    """Return what to know of rows that look like totals."""
    if not suspects:
        return []
    shown = ", ".join(f"{echo(label)} in column {echo(column)}" for column, label in suspects[:3])
    more = f" and {len(suspects) - 3} more" if len(suspects) > 3 else ""
    return [
        (TOTALS_CODE, f"Rows with {shown}{more} may be totals of others: if so, leave them out by the option left_out.")
    ]
