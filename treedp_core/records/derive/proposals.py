"""Levels that the columns of a table could be made into, read off its records, and the columns made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treedp_core import checks
from treedp_core.records.derive.derivation import DERIVATIONS, Derivation, Derived
from treedp_core.records.derive.derived_table import DerivedTable, Given, with_derived
from treedp_core.records.read.arrow.cells import as_words, is_binary
from treedp_core.records.read.column_cache import distinct, joined
from treedp_core.records.read.readers import HeldColumns
from treedp_core.records.read.table_reader import Progress, open_table
from treedp_core.records.read.text import normalise

SEEN: Final = 2_000
"""Labels of a column that proposals look at."""


@dataclass(frozen=True)
class Proposal:
    """Levels that could be made of one column, read off its first labels: NOT PRIVATE.

    Parameters
    ----------
    made : tuple of Derived
        From coarse to fine.
    goes_on : bool
        Whether the column itself is the level below.
    """

    made: tuple[Derived, ...]
    goes_on: bool

    @property
    def column(self) -> str:
        """What they are made of."""
        return self.made[0].column

    @property
    def levels(self) -> tuple[str, ...]:
        """Their names, from coarse to fine, without that of their column."""
        return tuple(one.level.removesuffix(f" of {self.column}") for one in self.made) + (self.column,) * self.goes_on

    def tells(self, other: Proposal, labels: Sequence[str]) -> str:
        """Return what a label becomes, of the first that becomes something else by another proposal; "" if none does.

        >>> first, second = proposals({"at": ["01/01/2024", "03/05/2024", "03/06/2023"]})
        >>> first.tells(second, ["01/01/2024", "03/05/2024"])
        '03/05/2024 is 2024-05'
        """
        ours, theirs = self.made[-1].rule, other.made[-1].rule
        return next((f"{label} is {ours(label)}" for label in labels if label and ours(label) != theirs(label)), "")


def proposals(labels: Mapping[str, Sequence[str]]) -> tuple[Proposal, ...]:
    """Return what could be made of columns, by some labels of each: by the first rule that fits.

    >>> [found.levels for found in proposals({"born": ["2023-01-31", "2024-02-01", "2024-02-02"]})]
    [('year', 'day')]
    """
    found = list[Proposal]()
    for column, some in labels.items():
        for one in DERIVATIONS.values():
            told = [_telling(one, column, options, some) for options in one.trees(one.suggest(some))]
            if any(told):
                found += [Proposal(made, one.goes_on) for made in told if made]
                break
    order = list(DERIVATIONS)
    return tuple(sorted(found, key=lambda one: order.index(one.made[0].derivation)))


def _telling(one: Derivation, column: str, options: Sequence[str], labels: Sequence[str]) -> tuple[Derived, ...]:
    """Return the levels that split what the one before did not; none where they only repeat the column."""
    made, before = list[Derived](), 1
    for option in options:
        rule = one.rule(option)
        try:
            groups = len({rule(label) for label in labels if label.strip()})
        except ValueError:
            return ()
        if groups > before:
            made.append(Derived(column, one.name, option))
            before = groups
    return tuple(made) if len(made) > 1 or before < len(set(labels)) else ()


def labels_seen(held: HeldColumns) -> dict[str, list[str]]:
    r"""Return the first labels of each column, at most 2,000, in the order in which they occur.

    >>> from treedp_core.records.read.column_cache import hold
    >>> labels_seen(hold(b"at,n\n2024-01-31,1.5\n2024-02-01,2\n"))["at"]
    ['2024-01-31', '2024-02-01']
    """
    found = dict[str, list[str]]()
    for name in held.preview.columns:
        column = held.table.column(name).combine_chunks()
        is_coded = pa.types.is_dictionary(column.type)
        cells = column.dictionary if is_coded else column
        if (is_coded and not is_binary(cells.type)) or pa.types.is_temporal(cells.type):
            texts = [one for one in as_words(cells.slice(0, SEEN)).to_pylist() if one is not None]
            found[name] = [one for text in dict.fromkeys(texts) if 0 < len(one := normalise(text)) <= checks.MAX_LABEL]
    return found


def frequent(held: HeldColumns, column: str, least: int) -> list[str]:
    r"""Return the labels of a column that occur in so many rows at least, the most frequent first: NOT PRIVATE.

    >>> from treedp_core.records.read.column_cache import hold
    >>> frequent(hold(b"town\nUlm\nKiel\nUlm\n"), "town", 2)
    ['Ulm']
    """
    counts = pc.value_counts(held.table.column(column).combine_chunks().cast(pa.string()))
    often = sorted(counts.to_pylist(), key=lambda one: -one["counts"])
    return [normalise(one["values"]) for one in often if one["counts"] >= least and (one["values"] or "").strip()]


def made_columns(held: HeldColumns, given: Given, *, progress: Progress | None = None) -> HeldColumns:
    """Return the columns that are made of those in memory, at least one, without them; see `joined_with`.

    Raises
    ------
    InputError
        The codes of `with_derived` and of its rows.
    """
    table = with_derived(open_table(held, None, None), given)
    assert isinstance(table, DerivedTable), "some levels"
    parts: dict[str, list[pa.Array]] = {name: [] for name in table.made}
    with table.reading(list(parts)) as batches:
        for arrays, done in batches:
            for some, array in zip(parts.values(), arrays, strict=True):
                some.append(array)
            if progress is not None:
                progress(done, table.total)
    columns = {name: joined(some) for name, some in parts.items()}
    told = [held.key, *(one.text for one in table.made.values())]
    return replace(
        held, table=pa.table(columns), distinct={name: distinct(column) for name, column in columns.items()},
        preview=replace(held.preview, columns=tuple(columns), uses=("label",) * len(columns)), numbers=(),
        source_digest=hashlib.sha256(repr(told).encode()).hexdigest(),
    )  # fmt: skip


def joined_with(held: HeldColumns, made: HeldColumns) -> HeldColumns:
    r"""Return columns in memory with those that are made of them, as if a file of its own digest had all.

    >>> from treedp_core.records.read.column_cache import hold
    >>> held = hold(b"at\n2024-01-31\n2024-02-01\n")
    >>> more = joined_with(held, made_columns(held, {"year": "at:time:year"}))
    >>> more.preview.columns, more.distinct
    (('at', 'year'), {'at': 2, 'year': 1})
    """
    grown = held.table
    for name in made.preview.columns:
        grown = grown.append_column(name, made.table.column(name))
    uses = held.preview.uses or ("any",) * len(held.preview.columns)
    preview = replace(
        held.preview, columns=(*held.preview.columns, *made.preview.columns), uses=(*uses, *made.preview.uses)
    )
    distinct_of = {**held.distinct, **made.distinct}
    return replace(held, table=grown, preview=preview, distinct=distinct_of, source_digest=made.source_digest)
