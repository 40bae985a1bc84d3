"""A table with more columns than its file: each level that is derived is one of them, made batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of
from treedp_core.records.derive.derivation import Derivation, Derived, derived_of
from treedp_core.records.derive.rule import CODE
from treedp_core.records.read.readers import Batch
from treedp_core.records.read.table_reader import TableReader
from treedp_core.records.read.text import normalise
from treedp_core.words import whole

if TYPE_CHECKING:
    import pyarrow as pa

Given = Mapping[str, Derived | str]
Encoded = dict[tuple[str, str], Any]
"""Batches of columns as a kind of rule tells their labels apart."""
MOST: Final = 100
"""Levels that are derived at most."""


def with_derived(table: TableReader, given: Given | None) -> TableReader:
    """Return a table that has more columns, by their names.

    Parameters
    ----------
    given : mapping from name to Derived, or to its text such as "born:time:month"

    Raises
    ------
    InputError
        ``COLUMN_UNKNOWN``; ``DERIVE`` for a name that the file has already; the codes of `Derived`.
    """
    made: dict[str, Derived] = {}
    for name, one in (given or {}).items():
        made[normalise(name)] = derived_of(one) if isinstance(one, str) else one
    if len(made) > MOST:
        raise InputError(CODE, f"Expected at most {MOST} levels that are derived.")
    for name, one in made.items():
        table.column(one.column)
        if not name or name in table.preview.columns:
            raise InputError(CODE, f"The file has a column {echo(name)} already; give the level another name.")
    if not made:
        return table
    preview = table.preview
    uses = preview.uses or ("any",) * len(preview.columns)
    more = replace(preview, columns=(*preview.columns, *made), uses=(*uses, *("label" for _ in made)))
    return DerivedTable(table.source, table.reader, more, table, made)


def derived_as_pairs(table: TableReader, used: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what a recipe says of the derived columns among those that are used."""
    made = table.made if isinstance(table, DerivedTable) else {}
    return tuple(sorted((name, one.text) for name, one in made.items() if name in used))


@dataclass(frozen=True, eq=False)
class DerivedTable(TableReader):
    """A table and the columns that are made of its own.

    Parameters
    ----------
    file : TableReader
        The table as it is.
    made : mapping from name to Derived
    """

    file: TableReader
    made: Mapping[str, Derived]
    _labels: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    @contextmanager
    def reading(self, labels: Sequence[str], numeric: Sequence[str] = ()) -> Iterator[Iterator[Batch]]:
        """Give what `TableReader.reading` gives: of a derived column the one it is made of is read."""
        of = [self.made[name].column if name in self.made else name for name in labels]
        wanted = list(dict.fromkeys(of))
        with self.file.reading(wanted, numeric) as batches:
            yield self._batches_of(labels, of, wanted, batches)

    def _batches_of(
        self, labels: Sequence[str], of: Sequence[str], wanted: Sequence[str], batches: Iterator[Batch]
    ) -> Iterator[Batch]:
        rows = 0
        for arrays, done in batches:
            by_name = dict(zip(wanted, arrays, strict=False))
            known: Encoded = {}
            made = [self._made(name, by_name[column], rows, known) for name, column in zip(labels, of, strict=True)]
            yield [*made, *arrays[len(wanted) :]], done
            rows += len(arrays[0])

    def _made(self, name: str, array: pa.Array, rows: int, seen: Encoded) -> pa.Array:
        if name not in self.made:
            return array
        import pyarrow as pa

        by = self.made[name].of
        key = self.made[name].column, by.name
        if key not in seen:
            seen[key] = _shortened(array, by)
        encoded = seen[key]
        known = self._labels.setdefault(name, {"": ""})
        raw = [one or "" for one in encoded.dictionary.to_pylist()]
        rule = self.made[name].rule
        for at, label in enumerate(raw):
            if label in known:
                continue
            try:
                known[label] = rule(label) if label.strip() else ""
            except ValueError as error:
                row = self.first_row + rows + int(np.argmax(indices_of(encoded) == at))
                column = echo(self.made[name].column)
                raise InputError(
                    CODE, f"The cell of column {column} in row {whole(row)} is not read: expected {error}."
                ) from None
        words = {word: at for at, word in enumerate(dict.fromkeys(known[label] for label in raw))}
        codes = pa.array([words[known[label]] for label in raw], pa.int32())
        return pa.DictionaryArray.from_arrays(codes.take(encoded.indices), pa.array(words, pa.string()))


def _shortened(array: pa.Array, by: Derivation) -> pa.Array:
    """Return a batch of a column as codes of the labels that a rule tells apart."""
    import pyarrow as pa

    from treedp_core.records.read.arrow.cells import as_words

    encoded = array if pa.types.is_dictionary(array.type) else as_words(array).dictionary_encode()
    short = by.shorten(as_words(encoded.dictionary)).dictionary_encode()
    return pa.DictionaryArray.from_arrays(short.indices.take(encoded.indices), short.dictionary)
