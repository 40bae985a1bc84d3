"""A view as it was called: with what, and what it found; its code, and the cell that keeps it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from treedp_core.checks import InputError
from treedp_core.notebook import Cell, table_of
from treedp_core.notebook.code import Part, Ran
from treedp_core.notebook.data_lineage import may_hold_counts, own_data
from treedp_core.notebook.file.drawing import Drawing, checked
from treedp_core.notebook.study import Table, note_of
from treedp_core.notebook.validators import MAX_TABLE_ROWS
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.export.columns import Columns
from treedp_core.views.entries import Entry, Work
from treedp_core.views.finding import Finding, Tables
from treedp_core.views.inputs import Inputs
from treedp_core.words import whole

NO_NUMBERS: Final = "There are no numbers in it yet"
MAX_FIGURE: Final = 8 << 20
"""Bytes of a figure that is kept."""


@dataclass(frozen=True, eq=False)
class ViewCall:
    """A view as it was called, and what it found.

    Parameters
    ----------
    entry : Entry
    inputs : Inputs
    tables : Ran of Tables
        And the call that makes them.
    finding : Finding
    work : Work, optional
        What of it took long.
    value : object
        What came of that, as it was given to the view.
    """

    entry: Entry
    inputs: Inputs
    tables: Ran[Tables]
    finding: Finding
    work: Work | None = None
    value: Any = None

    @property
    def done(self) -> Ran[Any] | None:
        """The call that did its work, with what came of it."""
        return None if self.work is None else self.work.code(self.tables).giving(self.value)

    @property
    def ran(self) -> Part[Columns] | None:
        """The call of the view that gives its table, which its code is written from; None without numbers."""
        if self.finding.is_empty:
            return None
        ran = self.entry.code(self.inputs, self.tables, self.done).giving(self.finding)
        return ran.get("table", "" if self.finding.figure is None else "figure")

    @property
    def caption(self) -> str:
        """What stands below it, after what must stand in every copy."""
        found = self.finding
        return found.caption if found.caption.startswith(found.label) else f"{found.label} {found.caption}"

    @property
    def badges(self) -> tuple[str, ...]:
        """Kinds of its numbers: what it says itself, else what follows from its words."""
        told = {"simulation": self.finding.is_simulated, NOT_PRIVATE: NOT_PRIVATE in self.caption}
        return self.finding.badges or tuple(name for name, holds in told.items() if holds)

    def cell(self, own: Sequence[Table], *, besides: str = "", **words: Any) -> Cell:
        """Return the cell that keeps it, with the words that a `Cell` has of its page, and its version.

        Parameters
        ----------
        own : sequence of Table
            What was counted from files.
        besides : str
            What its caption says, too.

        Raises
        ------
        InputError
            Those of `Cell`; ``NOTHING_TO_KEEP``.
        """
        finding, ran, tables = self.finding, self.ran, self.tables.value
        if ran is None:
            raise InputError("NOTHING_TO_KEEP", f"{NO_NUMBERS}.")
        mine = sorted((one.data for one in own), key=lambda data: data is not tables.data)
        data = own_data(ran, mine)
        columns, left_out = _columns(finding.table)
        here = [one for one in (tables.data, tables.prior) if one is not None]
        return Cell(
            part=self.entry.part, answer=finding.answer, alt=finding.alt, badges=self.badges, label=finding.label,
            data=next((note_of(data, one.how) for one in own if one.data is data), None),
            figure=drawing_of(finding), columns=columns, code=_code(ran, finding.label),
            credit=finding.credit,
            caption="\n\n".join(filter(None, (self.caption, besides, left_out))),
            seed=getattr(self.inputs, "seed", None), made=datetime.now(UTC).isoformat(timespec="seconds"),
            holds_counts=bool(own) and may_hold_counts(
                ran, mine, self.caption, finding.answer, finding.alt, *self.badges, *(columns or ()),
                label=finding.label, public=[one for one in here if one.is_public],
            ),
            **words,
        )  # fmt: skip


def drawing_of(finding: Finding) -> Drawing | None:
    """Return a figure as JSON, as every notebook accepts it; one that is too large is left out, its table is kept."""
    if finding.figure is None:
        return None
    text = finding.figure.figure().to_json()
    return Drawing.of(checked(json.loads(text))) if len(text) <= MAX_FIGURE else None


def _columns(table: Columns) -> tuple[dict[str, Any] | None, str]:
    """The table behind a figure, and what is said where it is too long."""
    rows = len(next(iter(table.values()), ()))
    if rows > MAX_TABLE_ROWS:
        return None, f"The table has {whole(rows)} rows, more than a notebook keeps ({whole(MAX_TABLE_ROWS)})."
    return table_of(table), ""


def _code(ran: Part[Columns], label: str) -> str:
    try:
        snippet = ran.snippet()
    except TypeError:  # no code can be written for it, and none is shown
        return ""
    return (f"# {label}\n" if label else "") + snippet
