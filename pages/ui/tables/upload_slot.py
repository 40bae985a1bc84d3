"""A file that waits to be counted, as its questions see it, and what a session does in its slot meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import streamlit as st

from pages.ui.inputs.setting import key_of
from pages.ui.inputs.text import lit, small_print
from pages.ui.tables import store
from pages.ui.tables.result import Result, show_state
from pages.ui.tables.worker_read import PRIOR, Content, Counted, Reading, by_worker
from treedp_core.notebook.code import File, Ran, call
from treedp_core.records import Dataset, HeldColumns, ReadOptions
from treedp_core.records.count.row_filter import Suspect
from treedp_core.records.hierarchies import labels_of, suspected_in
from treedp_core.records.read.numbers.marks import MarksLook, look_at_marks, reading
from treedp_core.records.read.sniff import Preview
from treedp_core.records.recipe import MARKS
from treedp_core.records.worker_read import read

# Rows that are no records, such as totals: proposed by words and sums, left out by one press.


def left_out_asked(
    table: Table, columns: Sequence[str] = (), weight: str | None = None, also: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Ask which rows are left out: those that look like totals, where there are any, as by the last count.

    Others are named by their labels in these columns, or in those that are `also` there.
    """
    before = [(column, label) for column, labels in table.before.get("left_out", {}).items() for label in labels]
    found = () if table.columns is None else suspects(table.columns, columns, weight)
    offered = list(dict.fromkeys((*before, *found)))
    return as_option([*_of_offered(table, columns, offered, before), *_named(table, [*columns, *also], offered)])


def suspects(held: HeldColumns, columns: Sequence[str], weight: str | None) -> tuple[Suspect, ...]:
    """Return the labels whose rows look like totals of others, worked out once for each choice of columns."""
    key = ("suspected totals", held.key, tuple(columns), weight)
    return store.remember(key, lambda: suspected_in(held, columns, weight))


def _of_offered(
    table: Table, columns: Sequence[str], offered: Sequence[Suspect], before: Sequence[Suspect]
) -> list[Suspect]:
    """Ask which of the labels are left out that were last time, or are proposed."""
    if not offered:
        return []
    key = table.key("left_out", *columns)
    return st.pills(
        "Leave out rows that are totals of others", offered, selection_mode="multi",
        key=key, default=None if key in st.session_state else before,
        format_func=lambda one: f"{lit(one[1], 40)} in {lit(one[0], 40)}",
        help="Rows with one of these labels are no records: press those that are totals. Found by words and sums in "
        "the records, so the proposal is NOT PRIVATE; what you press is fixed, and stands in code and plan.",
    )  # fmt: skip


def _named(table: Table, columns: Sequence[str], offered: Sequence[Suspect]) -> list[Suspect]:
    """Ask for more labels whose rows are left out: of all that occur, where columns are here and have few, or typed."""
    held = table.columns
    looked_in = list(columns)
    if not columns and held is not None:
        looked_in = [one for one in table.preview.columns_for("label") if one not in held.numbers]
    if not looked_in:
        return []
    labels = [] if held is None else [(one, label) for one in looked_in for label in labels_of(held, one)]
    known = {_label_in_column(one): one for one in labels if one not in offered}
    chosen = st.multiselect(
        "Leave out rows with another label", list(known), key=table.key("named_out", *columns),
        accept_new_options=True, placeholder="pick or type one",
        help="For rows that you know to be no records, such as totals by a name of their own. A typed label is left "
        "out in every column that is asked for here. NOT PRIVATE: the list is read off the records.",
    )  # fmt: skip
    return [one for told in chosen for one in ([known[told]] if told in known else [(it, told) for it in looked_in])]


def _label_in_column(one: Suspect) -> str:
    return f"{one[1]} in {one[0]}"


def as_option(chosen: Sequence[Suspect]) -> dict[str, list[str]]:
    """Return labels by column, as counting takes them."""
    out: dict[str, list[str]] = {}
    for column, label in chosen:
        out.setdefault(column, []).append(label)
    return out


# How the numbers of a column are written: proposed from its cells, shown in one line, fixed by one press.

COMMON: Final = (".", ",", ".,", ",.")


def marks_asked(table: Table, column: str, what: str = "marks") -> dict[str, str] | None:
    """Ask how a column's numbers are written, where its cells show marks; None while that is not answered."""
    found = table.looked(what, look_at_marks, column)
    if not found.is_ready:
        show_state(found, "Looking at the column")
        return None
    look = found.here()
    before = table.before.get("marks", {}).get(column)
    if not look.examples:
        return {} if before is None else {column: before}
    chosen = marks_chosen(look, column, table.key(what, column), before)
    return None if chosen is None else {column: chosen}


def marks_by_cells(held: HeldColumns, column: str, said: str | None) -> str | None:
    """Return how a column's numbers are written: as `said`, or as its cells show; "" without marks, None where open."""
    look = _marks_of(held, column)
    return "" if not look.examples else said or (None if look.is_open else look.proposed[0])


def ask_marks_beside(
    held: HeldColumns, column: str, key: str, *, before: str | None, on_change: Callable[[], None], if_open: bool
) -> None:
    """Ask how a column in memory is written where its cells show marks: if they leave it open, or else if they do not.

    The answer is for `on_change`, by way of `key`.
    """
    look = _marks_of(held, column)
    if look.examples and look.is_open == if_open:
        marks_chosen(look, column, key, before, on_change)


def _marks_of(held: HeldColumns, column: str) -> MarksLook:
    return store.remember(("marks in memory", held.key, column), lambda: look_at_marks(held, column))


def marks_chosen(
    look: MarksLook, column: str, key: str, before: str | None = None, on_change: Callable[[], None] | None = None
) -> str | None:
    """Ask which of the ways that a look found is how a column's numbers are written; None while that is not said."""
    offered = list(dict.fromkeys((*look.proposed, *([before] if before else []), *COMMON)))
    first = before or (None if look.is_open else look.proposed[0])
    chosen = st.segmented_control(
        f"Numbers of {lit(column, 40)} are written with", offered, key=key, default=first, on_change=on_change,
        format_func=lambda marks: _told(look, marks),
        help="Read off the first rows (NOT PRIVATE), then fixed: a cell that does not fit is no number, whatever the "
        "others are.",
    )  # fmt: skip
    if chosen is None:
        small_print("Its cells can be read in more than one way: say which it is.")
        return None
    cells = ", ".join(f"{lit(cell, 24)} is read as {reading(cell, chosen)}" for cell in look.examples)
    small_print(f"{cells}: {MARKS[chosen]}. NOT PRIVATE.")
    return chosen


def _told(look: MarksLook, marks: str) -> str:
    """A number as it is written with these marks, and what the first cell means then: four stand in one row."""
    decimal, thousands = marks[0], marks[1:]
    return f"1{thousands}234{decimal}5: {look.examples[0]} = {reading(look.examples[0], marks)}"


T = TypeVar("T")
Asks = Literal["tree", "bins", "prior", "units"]
FROM_ELSEWHERE: Final[tuple[Asks, ...]] = ("prior", "units")
"""What a file is wanted for that is read beside the data, once: its columns are not kept."""
COME: Final = "_counts_come"
"""In the session: how many counts have come of those that were asked for by *Count*."""


@dataclass
class Slot:
    """What a session does in a slot; `revision` changes with every file counted: controls start afresh then.

    `wants` another file: "replace", or "add" where the one that is there is to wait. `counting` is the count under
    way, the `n_counted`th. `levels` are those that a table had before some were left out.
    """

    revision: int = 0
    wants: Literal["", "replace", "add"] = ""
    asked: bool = False
    counting: Counting | None = None
    n_counted: int = 0
    levels: tuple[str, ...] = ()

    def use(self, slot: str, nth: int) -> None:
        """Put a table that waits in use."""
        store.use_table(slot, nth)
        self.revision, self.wants = self.revision + 1, ""

    def remove(self, slot: str) -> None:
        """Forget the counts and columns of the file, also while they are counted anew."""
        self.counting = None
        store.remove(slot, for_good=True)


def slot_of(name: str) -> Slot:
    """Return what this session does in a slot."""
    found: Slot = st.session_state.setdefault(f"_upload_{name}", Slot())
    return found


@dataclass(frozen=True, eq=False)
class Candidate:
    """What waits to be counted: a path, an uploaded file or kept columns, its name and slot, and what it is for.

    `path` is what its file is called in code, where its table has another name. What is asked `as_in` another slot
    begins with what was answered there.
    """

    origin: Any
    name: str
    slot: str
    asks: Asks = "tree"
    path: str = ""
    as_in: str = ""

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every file counted, and with anything else it is `of`."""
        return f"{self.slot}_{name}_{slot_of(self.slot).revision}" + (f"_{key_of(*of)}" if of else "")

    @property
    def content(self) -> Content:
        """What a worker reads: the bytes of an upload, not a copy of them."""
        return self.origin if isinstance(self.origin, Path | HeldColumns) else bytes(self.origin.getvalue())

    @property
    def id(self) -> str:
        """Tells its content from that of others."""
        if isinstance(self.origin, Path):
            return f"{self.origin.resolve()} {self.origin.stat().st_mtime_ns}"
        if isinstance(self.origin, HeldColumns):
            return repr(self.origin.key)
        return str(self.origin.file_id)


@dataclass(frozen=True, eq=False)
class Table:
    """A file that was looked at, for the questions about its columns.

    Parameters
    ----------
    file : Candidate
    preview : Preview
    options : ReadOptions
    columns : HeldColumns, optional
        Its columns in memory, where they fit.
    before : mapping
        What it was counted by last, or by the notebook that asks for it: "columns" and the settings of the call.
    """

    file: Candidate
    preview: Preview
    options: ReadOptions
    columns: HeldColumns | None = None
    before: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all of its columns are in memory: the file is then not read to count it."""
        return self.columns is not None and not self.columns.left_out

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every other header, and with a file that a notebook asks for."""
        new = None if self.columns is self.file.origin else self.columns
        wanted = [new.source_digest] if new is not None and self.before else []
        return self.file.key(name, self.preview.columns, *wanted, *of)

    def column(
        self, label: str, name: str, *, help: str, none: str = "", among: Sequence[str] | None = None
    ) -> str | None:
        """Ask for a column; `none` says what no column means, where that is a choice."""
        columns = list(self.preview.columns if among is None else among)
        offered = [none, *columns] if none else columns
        last = self.before.get(name)
        position = st.selectbox(
            label, range(len(offered)), key=self.key(name), format_func=offered.__getitem__, help=help,
            index=offered.index(last) if last in offered else int(among is not None and len(among) == 1),
        )  # fmt: skip
        return offered[position] if position or not none else None

    def counted(
        self, count: Callable[..., Dataset], columns: Any, *, then: Callable[[Counted], Counted] | None = None,
        **how: Any,
    ) -> Reading:  # fmt: skip
        """Return what counts the file, with the call that does so where the file lies under its name."""
        how["options"] = self.options
        code = {key: one.ran if isinstance(one, Reading) else one for key, one in how.items()}
        given = {key: one.value if isinstance(one, Ran) else one for key, one in how.items()}
        given |= {key: one.work for key, one in how.items() if isinstance(one, Reading)}
        origin = self.columns if self.is_whole else self.file.content
        work = partial(read, count, origin, columns, name=self.file.name, **given)
        path = File(self.file.path or self.file.name, PRIOR if self.file.asks in FROM_ELSEWHERE else "DATA")
        ran = call(count, path, columns, **code).named("data")
        return Reading(work, ran) if then is None else Reading(work, ran, then)

    def looked(self, name: str, look: Callable[..., T], column: str, **how: Any) -> Result[T]:
        """Return what a look at one of its columns finds."""
        held = self.columns
        origin = self.file.content if held is None or column in held.left_out else held
        work = partial(read, look, origin, column, name=self.file.name, options=self.options, **how)
        return read_file(self.file, name, (column, self.options, repr(how)), work)


@dataclass(frozen=True, eq=False)
class Counting:
    """A table that is being counted, and how; `in_place` where that is shown beside its levels, not its columns."""

    table: Table
    reading: Reading
    in_place: bool = False


def read_file(file: Candidate, name: str, key: Hashable, work: partial[T]) -> Result[T]:
    """Have a worker read a file, for something that goes by this name in its slot."""
    return by_worker(f"{file.slot}_{name}", key, work, file.content, file.id)
