"""One pass over the records: label codes into a counter, and an account of every record left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import echo
from treedp_core.records.count import counting, paths
from treedp_core.records.count.ranked import RankCounter
from treedp_core.records.count.row_filter import LeftOut, without
from treedp_core.records.dataset import DomainSource
from treedp_core.records.domain import Domain
from treedp_core.records.read import text
from treedp_core.records.read.table_reader import Progress, TableReader, refuse_no_rows
from treedp_core.records.read.units import UnitQuota, UnitReader, unit_notices
from treedp_core.records.unit_rows import MOST
from treedp_core.records.values.column import ValueColumn
from treedp_core.records.values.leaf_values import MOST_STEPS
from treedp_core.words import plural, whole

if TYPE_CHECKING:
    import pyarrow as pa

    from treedp_core.records.read.columns import LabelColumn

IntArray = NDArray[np.int64]
LISTED_WITH_SPACES: Final = "LISTED_WITH_SPACES"
"""Code of the notice on a label that is listed with other spaces than it is written."""


@dataclass
class Tally:
    """What one pass over the records collected."""

    columns: list[LabelColumn]
    counter: counting.PathCounter
    rows: int = 0
    missing: int = 0
    unseen: int = 0
    other: int = 0
    largest: int = 1
    quota: UnitQuota | None = None
    ranked: RankCounter | None = None
    notices: list[text.Notice] = field(default_factory=list)

    def release(self) -> None:
        """Give the memory of the counting back."""
        self.counter, self.ranked = counting.PathCounter([1]), None


def read_records(
    table: TableReader,
    chosen: Sequence[str],
    weight: str | None,
    domain: Domain,
    missing: str,
    progress: Progress | None,
    *,
    quota: UnitQuota | None = None,
    out: LeftOut,
    marks: Mapping[str, str],
    value: ValueColumn | None = None,
) -> Tally:
    """Pass once over the records; memory grows with distinct labels and paths only."""
    from treedp_core.records.read.numbers import amounts as amounts_of

    columns = _label_columns(table, chosen, domain, missing)
    counter = counting.PathCounter([max(1, column.size) for column in columns], weight is not None)
    tally = Tally(columns, counter, quota=quota)
    if quota is not None or value is not None:
        tally.ranked = RankCounter(counter.sizes, MOST if value is None else MOST_STEPS)
    reader = UnitReader(quota, table.first_row)
    read = [*chosen, *reader.columns]
    read += out.beside(read)
    numbers = [weight] if weight is not None else [] if value is None else [value.name]
    with table.reading(read, numbers) as batches:
        for arrays, done in batches:
            row = table.first_row + tally.rows
            kept = out.kept(dict(zip(read, arrays, strict=False)), tally.rows)
            labels = [without(array, kept) for array in arrays[: len(chosen)]]
            codes = [column.codes(array, tally.rows) for column, array in zip(columns, labels, strict=True)]
            amounts = None if weight is None else amounts_of.weights(arrays[-1], weight, row, marks.get(weight), kept)
            if value is not None and tally.ranked is not None:
                steps = value.steps(arrays[-1], row, kept, marks.get(value.name, "."))
                tally.ranked.add(codes, [column.size for column in columns], steps)
            if quota is not None:
                kept = _within(tally, reader, arrays[len(chosen)], codes, kept)
            if kept is not None:
                codes = [column_codes[kept] for column_codes in codes]
                amounts = None if amounts is None else amounts[kept]
            if quota is None and amounts is not None and amounts.size:
                tally.largest = max(tally.largest, int(amounts.max()))
            tally.rows += len(arrays[0])
            codes, amounts = _without_strangers(tally, codes, amounts)
            counter.add(codes, [column.size for column in columns], amounts)
            if progress is not None:
                progress(done, table.total)
    refuse_no_rows(tally.rows)
    for column in columns:
        tally.notices += _column_notices(column)
    tally.notices += [*out.notices(), *unit_notices(quota, tally.largest)]
    return tally


def _label_columns(table: TableReader, chosen: Sequence[str], domain: Domain, missing: str) -> list[LabelColumn]:
    """Return the columns of the levels, with a place for what is listed nowhere or blank."""
    from treedp_core.records.read import columns as cells

    listed = domain.vocabularies if domain.source is DomainSource.PUBLIC else (None,) * len(chosen)
    columns = [
        cells.LabelColumn(column, labels, table.first_row) for column, labels in zip(chosen, listed, strict=True)
    ]
    for column in columns:
        if column.is_listed:
            _treat_special(column, domain, missing)
    return columns


def _within(
    tally: Tally, reader: UnitReader, units: pa.Array, codes: list[NDArray[np.int32]], kept: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Count a batch by the places of its rows among those of their units; return which rows count, (n,)."""
    ranks = reader.ranks(units, tally.rows, kept)
    if tally.ranked is not None:
        tally.ranked.add(codes, [column.size for column in tally.columns], ranks)
    return reader.within(ranks)


def _treat_special(column: LabelColumn, domain: Domain, missing: str) -> None:
    """Give blank cells and unlisted labels a code: a listed category's, one of their own, or a reason to leave out."""
    labels = column.labels
    if domain.path_tree is not None:  # what becomes of them depends on the path, so they need codes of their own
        column.treat(len(labels), len(labels) + 1)
        return
    other = labels.index(text.OTHER) if text.OTHER in labels else paths.UNSEEN
    blank = labels.index(text.BLANK) if text.BLANK in labels else other
    column.treat(paths.MISSING if missing == "other" else blank, other)


def _without_strangers(
    tally: Tally, codes: list[NDArray[np.int32]], amounts: IntArray | None
) -> tuple[list[NDArray[np.int32]], IntArray | None]:
    """Leave out, and account for, records with a code that stands for no category."""
    if all(column.blank >= 0 and column.unknown >= 0 for column in tally.columns if column.is_listed):
        return codes, amounts
    lowest = codes[0]
    for column_codes in codes[1:]:
        lowest = np.minimum(lowest, column_codes)
    out = lowest < 0
    if not out.any():
        return codes, amounts
    of_missing = lowest == paths.MISSING
    tally.missing += counting.records_where(of_missing, amounts)
    tally.unseen += counting.records_where(out & ~of_missing, amounts)
    counting.total_checked(tally.missing + tally.unseen, 0)
    keep = ~out
    return [column_codes[keep] for column_codes in codes], None if amounts is None else amounts[keep]


def _column_notices(column: LabelColumn) -> list[text.Notice]:
    notices = text.look_alikes(column.name, [label for label in column.labels if label])
    if column.renormalised:
        notices.append(
            (
                "LABELS_NORMALISED",
                f"{plural(column.renormalised, 'label')} of column {echo(column.name)} in another Unicode form: read "
                "in form NFC, and merged with what looks the same.",
            )
        )
    return notices


def example_of(tally: Tally) -> str:
    """Return one label outside the public domain and its place, in words that follow a sentence; empty without one."""
    example = next((c for c in tally.columns if c.first_unknown), None)
    if example is None or example.first_unknown is None:
        return ""
    label, row = example.first_unknown
    return f", for example {echo(label)} in column {echo(example.name)}, row {whole(row)}"


def strangers_notice(tally: Tally) -> list[text.Notice]:
    """Return the notices on records outside the public domain, with an example, and on those that lack a value."""
    notices = []
    if tally.unseen:
        notices.append(
            (
                "UNSEEN",
                f"{plural(tally.unseen, 'record has', 'records have')} a category outside the public domain, counted "
                f"under {text.OTHER}{example_of(tally)}.",
            )
        )
    for column in tally.columns:
        if column.spaced is not None:
            label, row, listed = column.spaced
            notices.append(
                (
                    LISTED_WITH_SPACES,
                    f"Column {echo(column.name)} has {echo(label)} in row {whole(row)}, the public domain has "
                    f"{echo(listed)}: spaces make them two labels; list it as the file has it.",
                )
            )
    if tally.missing:
        notices.append(
            ("MISSING", f"{plural(tally.missing, 'record')} with a missing value counted under {text.OTHER}.")
        )
    return notices
