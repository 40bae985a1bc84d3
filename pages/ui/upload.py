"""A file on its way to counts, in the same steps on every page: inspect, choose, count, replace.

A page asks with a slot. `upload` shows the uploader, or the card of what was counted; `choose_columns` shows a file's
first rows and the page's questions about its columns, and counts when asked to. The file goes; its counts stay in the
session, and its columns as codes where they fit, to be counted again. A refusal leaves what was counted before as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import asked, kept, result, store, uploads
from pages.ui.reading import PRIOR, Content, Counted, Reading, by_worker, say, say_refused
from pages.ui.result import Result
from pages.ui.room import ROOM
from pages.ui.text import lit, refusal_text
from treedp_core.checks import InputError
from treedp_core.notebook.code import File, Ran, call
from treedp_core.records import Dataset, HeldColumns, ReadOptions, inspect
from treedp_core.records.read.holding import HELD_BYTES
from treedp_core.records.read.readers import formats
from treedp_core.records.read.sniff import Preview
from treedp_core.records.watched import look_at, read
from treedp_core.words import megabytes, plural

PREVIEW_COLUMNS: Final = 30
DELIMITERS: Final = {"": "Find out", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar"}
EACH_ROW: Final = "Each row is one record"

T = TypeVar("T")
Asks = Literal["tree", "bins", "prior"]


Count = Callable[[], Reading]
"""What says how a file is counted, once its columns are chosen."""


class _Words(NamedTuple):
    """What an uploader says, by what it asks for."""

    label: str
    help: str
    use: str = "Count"
    note: str = ""


_ASKS: Final[Mapping[Asks, _Words]] = {
    "tree": _Words(
        "{formats} file",
        "Also .csv.gz. The file is read on the computer that runs this app and discarded when it is counted; its "
        "columns stay in memory until you remove them. Larger ones: treedp FILE on the command line, or upload counts "
        "that a database has grouped.",
    ),
    "bins": _Words(
        "{formats} file",
        "Read on the computer that runs this app and discarded when it is counted; its columns stay in memory until "
        "you remove them.",
    ),
    "prior": _Words(
        "Prior file: public or historic counts on the same leaves",
        "One row a record, or one row a leaf with a column of counts. Every leaf of the data must occur, also where "
        "the count is 0. The file is read once and discarded. That it is public is your claim.",
        use="Use as prior",
        note="; it costs no budget",
    ),
}


@dataclass
class _Slot:
    """What a session does in a slot; `revision` changes with every file counted: controls start afresh then.

    `wants` another file: "replace", or "add" where the one that is there is to wait. `counting` is the count under
    way, the `n_counted`th.
    """

    revision: int = 0
    wants: Literal["", "replace", "add"] = ""
    asked: bool = False
    counting: _Counting | None = None
    n_counted: int = 0

    def use(self, slot: str, nth: int) -> None:
        """Put a table that waits in use."""
        store.use_table(slot, nth)
        self.revision, self.wants = self.revision + 1, ""

    def remove(self, slot: str) -> None:
        """Forget the counts and columns of the file, also while they are counted anew."""
        self.counting = None
        store.remove(slot)


def _slot(name: str) -> _Slot:
    kept: _Slot = st.session_state.setdefault(f"_upload_{name}", _Slot())
    return kept


@dataclass(frozen=True, eq=False)
class Candidate:
    """What waits to be counted: a path, an uploaded file or kept columns, its name and slot, and what it is for."""

    origin: Any
    name: str
    slot: str
    asks: Asks = "tree"

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every file counted, and with anything else it is `of`."""
        return f"{self.slot}_{name}_{_slot(self.slot).revision}" + (f"_{hash(of):x}" if of else "")

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
            return self.origin.source_digest
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
        What it was counted by last: "columns" and the settings of the call.
    """

    file: Candidate
    preview: Preview
    options: ReadOptions
    columns: HeldColumns | None = None
    before: Mapping[str, Any] = field(default_factory=dict)

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every other header, too."""
        return self.file.key(name, self.preview.columns, *of)

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
        is_whole = self.columns is not None and not self.columns.left_out
        origin = self.columns if is_whole else self.file.content
        work = partial(read, count, origin, columns, name=self.file.name, **given)
        path = File(self.file.name, PRIOR if self.file.asks == "prior" else "DATA")
        ran = call(count, path, columns, **code).named("data")
        return Reading(work, ran) if then is None else Reading(work, ran, then)

    def looked(self, name: str, look: Callable[..., T], column: str) -> Result[T]:
        """Return what a look at one of its columns finds."""
        origin = self.file.content if self.columns is None else self.columns
        work = partial(read, look, origin, column, name=self.file.name, options=self.options)
        return _read(self.file, name, (column, self.options), work)


@dataclass(frozen=True, eq=False)
class _Counting:
    """A table that is being counted, and how."""

    table: Table
    reading: Reading


def upload(slot: str, *, asks: Asks, path: Path | None = None) -> Candidate | Counted | None:
    """Show the uploader, the card of what was counted, or both while it is to be replaced.

    Parameters
    ----------
    slot : str
        Where the counts are kept: what `store.from_file` is asked with.
    asks : {"tree", "bins", "prior"}
        What the file is wanted for.
    path : Path, optional
        A file of this computer, which is read where it is.

    Returns
    -------
    A file that waits for `choose_columns`; else what was counted, if anything was.
    """
    if uploads.is_public():
        st.info("This is a public app: it takes no files. Use what comes with it, or run TreeDP yourself.")
        return None
    words, counted = _ASKS[asks], kept.of(slot)
    again = None if counted is None else store.counted_again(slot, counted.data)
    if counted is not None:
        _card(counted, slot, ("" if path else ", file discarded") + words.note, keeps=asks != "prior")
    if slot == "upload":
        _waiting(slot)
    if counted is not None and not _slot(slot).wants:
        return again
    if path is not None:
        st.markdown(f"{lit(path.name)} is read where it is; nothing is uploaded.")
        return Candidate(path, path.name, slot, asks)
    label = words.label.format(formats=formats())
    file = uploads.uploader(label, key=f"{slot}_{_slot(slot).revision}", help=words.help)
    if file is not None:
        return Candidate(file, file.name, slot, asks)
    st.caption(
        "Counts from a file are gone after a reload or two minutes after you close the tab; a link never has them."
    )
    return again


def counted_before(slot: str, asks: Asks = "tree") -> Candidate | None:
    """Return the columns kept of the file in a slot, to be counted in another way."""
    file = kept.of(slot)
    if file is None or file.columns is None:
        return None
    return Candidate(file.columns, file.data.name, slot, asks)


def choose_columns(file: Candidate, form: Callable[[Table], Count | None]) -> None:
    """Show a file's first rows and the questions about it; count, and put the counts in its slot, when asked to."""
    slot = _slot(file.slot)
    options, rows = [st.container()] * 2 if isinstance(file.origin, HeldColumns) else st.columns([1, 2])
    table = _looked_at(file, options)
    if table is None:
        return
    with rows:
        _first_rows(table.preview)
    for code, sentence in table.preview.notices:
        notice(code, sentence)
    if table.columns is not None and table.columns is not file.origin:
        asked.say_of_file(table.columns.source_digest)
    count = form(table)
    with st.container(key=f"{file.slot}_in_reach"):  # static/app.css holds it at the window's lower edge
        st.button(
            _ASKS[file.asks].use, type="primary", key=f"{file.slot}_count", icon=":material/functions:",
            on_click=setattr, args=(slot, "asked", True), disabled=count is None,
            help="Choose the columns first, and the bounds of numbers." if count is None
            else "Count the records by these columns; a file is then discarded.",
        )  # fmt: skip
        if slot.asked and count is not None:
            slot.asked = False
            _ask(slot, table, count)
        if slot.counting is not None:
            _count(slot, file)


def _looked_at(file: Candidate, place: DeltaGenerator) -> Table | None:
    """Look at a file, and read its columns into memory where they fit; None while nothing is known of it."""
    last = kept.of(file.slot)
    if isinstance(file.origin, HeldColumns):
        ran = last.ran if last is not None else None
        before = {} if ran is None else {"columns": ran.args[1], "numeric": ran.args[1], **ran.kwargs}
        return Table(file, inspect(file.origin), file.origin.options, file.origin, before)
    with place:
        options = _reading_options(file)
    room = 0 if file.asks == "prior" else kept.columns_room()
    work = partial(look_at, file.content, name=file.name, options=options, limit=room)
    found = _read(file, "look", options, work)
    if not found.is_ready:
        say(found)
        return None
    preview, columns = found.here()
    if columns is not None:
        ROOM.note_columns(columns)
    return Table(file, preview, options, columns)


def _read(file: Candidate, name: str, key: Hashable, work: partial[T]) -> Result[T]:
    """Have a worker read a file, for something that goes by this name in its slot."""
    return by_worker(f"{file.slot}_{name}", key, work, file.content, file.id)


def notice(code: str, sentence: str) -> None:
    """Show something about a file that a person should know."""
    st.info(refusal_text(InputError(code, sentence)), icon=":material/info:")


def _ask(slot: _Slot, table: Table, count: Count) -> None:
    """Have a table counted, in place of what is being counted."""
    slot.counting = None
    try:
        slot.counting = _Counting(table, count())
    except InputError as error:
        say_refused(error)
    slot.n_counted += 1
    if not isinstance(table.file.origin, HeldColumns):
        uploads.shown(table.file.id, f"{table.file.slot}_asked", partial(setattr, slot, "counting", None))


def _count(slot: _Slot, file: Candidate) -> None:
    """Show how the count stands; once it is there, put it in use."""
    assert slot.counting is not None
    table, reading = slot.counting.table, slot.counting.reading
    if table.file.id != file.id:  # another file is on the page now
        slot.counting = None
        return
    found = _read(file, "counting", slot.n_counted, reading.work)
    if not found.is_ready:
        say(found)
    if not found.is_ready and found.error is None:
        return
    slot.counting = None
    result.forget(found.slot)
    if found.is_ready:
        try:
            _put_in_use(table, reading.then(reading.ran.giving(found.here())))
        except InputError as error:
            say_refused(error)


def _put_in_use(table: Table, ran: Counted) -> None:
    """Put counts in use, free the uploaded files, and show the page anew with an empty uploader."""
    slot = _slot(table.file.slot)
    is_new, name = table.file.origin is not table.columns, table.file.slot
    if is_new and slot.wants == "add":
        kept.set_aside(name)
    store.set_dataset(ran.value, name, ran, table.columns)
    if name in kept.OWN and not asked.is_wanted(ran.value):  # a notebook's settings stand as they were made for it
        store.changed(source=name, recounted=not is_new)
    if is_new:
        uploads.forget_shown()
        slot.revision, slot.wants = slot.revision + 1, ""
    st.rerun()


def _card(file: kept.Kept, slot: str, note: str, *, keeps: bool) -> None:
    data = file.data
    size = f"{plural(data.report.rows, 'row')} → {plural(data.tree.n_nodes, 'count')}"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"{lit(data.name, 40)} — {size}{note}")
        st.button(
            "Replace", key=f"{slot}_replace", icon=":material/swap_horiz:", on_click=setattr,
            args=(_slot(slot), "wants", "replace"),
            help="Count another file; these counts stay until then.",
        )  # fmt: skip
        if slot == "upload":
            st.button(
                "Add a table", key=f"{slot}_add", icon=":material/add:", on_click=setattr,
                args=(_slot(slot), "wants", "add"), disabled=len(kept.shelf()) >= kept.MAX_TABLES - 1,
                help=f"Count another file besides; this one then waits. At most {kept.MAX_TABLES} tables.",
            )  # fmt: skip
        st.button("Remove", key=f"{slot}_remove", icon=":material/delete:", on_click=_slot(slot).remove, args=(slot,),
                  help="Forget these counts and columns now, and show what stood here before.")  # fmt: skip
    asked.say_of_data(data)
    if keeps:
        st.caption(_memory_note(file.columns))


def _waiting(slot: str) -> None:
    """Show the tables that wait, each with what puts it in use or forgets it."""
    for nth, table in enumerate(kept.shelf()):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            levels = " › ".join(lit(name, 24) for name in table.data.labels.level_names[1:])
            st.markdown(f"{lit(table.data.name, 40)} — {levels}, waiting")
            st.button("Use", key=f"{slot}_use_{nth}", icon=":material/check:", on_click=_slot(slot).use,
                      args=(slot, nth), help="Have every page work on this table; the other one waits.")  # fmt: skip
            st.button("Remove", key=f"{slot}_forget_{nth}", icon=":material/delete:", on_click=store.remove_table,
                      args=(nth,), help="Forget the counts and columns of this table now.")  # fmt: skip


def _memory_note(columns: HeldColumns | None) -> str:
    """Say what is kept of a file besides its counts."""
    most = f"{HELD_BYTES >> 20} MB"
    if columns is None:
        return f"Only counts are kept: its columns would take more memory than a table may ({most})."
    missing = ", ".join(lit(name, 40) for name in columns.left_out)
    return (
        f"Its columns stay in memory as codes ({megabytes(columns.n_bytes)} of at most {most}) until you remove it: "
        f"other levels, bounds or bins need no new upload.{f' Not kept: {missing}.' if missing else ''}"
    )


def _reading_options(file: Candidate) -> ReadOptions:
    with st.expander("Reading options", icon=":material/tune:"):  # no popover, as it may stand in one
        left, right = st.columns(2)
        encoding = left.text_input("Encoding", key=file.key("encoding"), max_chars=40, placeholder="utf-8",
                                   help="For example latin-1 or cp1252.")  # fmt: skip
        delimiter = right.selectbox(
            "Delimiter", list(DELIMITERS), key=file.key("delimiter"), format_func=DELIMITERS.__getitem__,
            help="What stands between the cells of a CSV file; choose it if the table below looks wrong.",
        )  # fmt: skip
    return ReadOptions(encoding.strip() or None, delimiter or None)


def _first_rows(preview: Preview) -> None:
    columns = preview.columns
    shown = columns[:PREVIEW_COLUMNS]
    cells = {name: [row[j] if j < len(row) else "" for row in preview.rows[:8]] for j, name in enumerate(shown)}
    more = f", the first {PREVIEW_COLUMNS} of them shown" if len(columns) > PREVIEW_COLUMNS else ""
    read = f", {preview.encoding}" if preview.encoding else ""
    size = "" if preview.n_rows is None else f", {plural(preview.n_rows, 'row')}"
    about = f"{preview.kind}{read}{size}, {plural(len(columns), 'column')}{more}. First rows: NOT PRIVATE."
    with st.expander(about, icon=":material/table:"):
        st.dataframe(cells, hide_index=True, height="content", alt=f"First rows of a table of {len(columns)} columns")
