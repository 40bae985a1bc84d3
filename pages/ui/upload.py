"""A file on its way to counts, in the same steps on every page: inspect, choose, count, replace.

A page asks with a slot. `upload` shows the uploader, or the card of what was counted; `choose_columns` shows a file's
first rows and the page's questions about its columns, and counts when asked to. The file goes; its counts stay in the
session, and its columns as codes where they fit, to be counted again. A refusal leaves what was counted before as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import streamlit as st

from pages.ui import kept, store, uploads
from pages.ui.refusals import refusal
from pages.ui.room import ROOM
from pages.ui.snippets import Ran, given
from pages.ui.text import lit, refusal_text
from treedp_core.checks import InputError
from treedp_core.records import Dataset, HeldColumns, ReadOptions, inspect
from treedp_core.records.read.holding import HELD_BYTES, hold
from treedp_core.records.read.readers import formats
from treedp_core.records.read.sniff import Preview
from treedp_core.words import megabytes, plural, whole

PREVIEW_COLUMNS: Final = 30
DELIMITERS: Final = {"": "Find out", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar"}
READING: Final = "Reading …"
EACH_ROW: Final = "Each row is one record"

Asks = Literal["tree", "bins", "prior"]
Counted = Ran[Dataset]
"""Counts, with the call that gives them."""
Progress = Callable[[int, int], None]
Count = Callable[[Progress], Counted]
"""What counts a file, once its columns are chosen."""


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

    `wants` another file: "replace", or "add" where the one that is there is to wait.
    """

    revision: int = 0
    wants: Literal["", "replace", "add"] = ""
    asked: bool = False

    def use(self, slot: str, nth: int) -> None:
        """Put a table that waits in use."""
        store.use_table(slot, nth)
        self.revision, self.wants = self.revision + 1, ""


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
    def id(self) -> str:
        """Tells its content from that of others."""
        if isinstance(self.origin, Path):
            return f"{self.origin.resolve()} {self.origin.stat().st_mtime_ns}"
        return self.origin.source_digest if isinstance(self.origin, HeldColumns) else str(self.origin.file_id)


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
        self, count: Callable[..., Dataset], columns: Any, progress: Progress | None = None, **how: Any
    ) -> Counted:
        """Return the counts of the file, with the call that gives them where the file lies under its name."""
        how["options"] = self.options
        now = {key: one.value if isinstance(one, Ran) else one for key, one in how.items()}
        is_whole = self.columns is not None and not self.columns.left_out
        origin = self.columns if is_whole else self.file.origin
        found = count(origin, columns, name=self.file.name, progress=progress, **now)
        return given(found, count, self.file.name, columns, about="the file, under its name", **how).named("data")


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
    try:
        table = _looked_at(file)
    except InputError as error:
        _refuse(error)
        return
    _first_rows(table)
    count = form(table)
    st.button(
        _ASKS[file.asks].use, type="primary", key=f"{file.slot}_count", icon=":material/functions:", on_click=setattr,
        args=(slot, "asked", True), disabled=count is None,
        help="Count the records by these columns; a file is then discarded.",
    )  # fmt: skip
    if slot.asked and count is not None:
        slot.asked = False
        _count(table, count)


def _looked_at(file: Candidate) -> Table:
    """Look at a file, and read its columns into memory where they fit."""
    last = kept.of(file.slot)
    if isinstance(file.origin, HeldColumns):
        ran = last.ran if last is not None else None
        before = {} if ran is None else {"columns": ran.args[1], "numeric": ran.args[1], **ran.kwargs}
        return Table(file, inspect(file.origin), file.origin.options, file.origin, before)
    options = _reading_options(file)
    preview = inspect(file.origin, name=file.name, options=options)
    if file.asks == "prior":
        return Table(file, preview, options)
    return Table(file, preview, options, uploads.columns_of(file.id, options, partial(_hold, file, options)))


def _hold(file: Candidate, options: ReadOptions) -> HeldColumns | None:
    """Read the columns of a file into memory; where it is refused, counting it will say why."""
    room = kept.columns_room()
    if not room:
        return None
    bar = st.progress(0.0, text=READING)
    try:
        columns = hold(file.origin, name=file.name, options=options, limit=room, progress=partial(_show_progress, bar))
    except InputError:
        columns = None
    bar.empty()
    if columns is not None:
        ROOM.note_columns(columns)
    return columns


def notice(code: str, sentence: str) -> None:
    """Show something about a file that a person should know."""
    st.info(refusal_text(InputError(code, sentence)), icon=":material/info:")


def _count(table: Table, count: Count) -> None:
    """Count; put the counts in use, free the uploaded files, and show the page anew with an empty uploader."""
    bar, slot = st.progress(0.0, text=READING), _slot(table.file.slot)
    try:
        ran = count(partial(_show_progress, bar))
    except InputError as error:
        bar.empty()
        _refuse(error)
        return
    is_new, name = table.file.origin is not table.columns, table.file.slot
    if is_new and slot.wants == "add":
        kept.set_aside(name)
    store.set_dataset(ran.value, name, ran, table.columns)
    if name in kept.OWN:
        store.changed(source=name, recounted=not is_new)
    if is_new:
        uploads.forget_shown()
        slot.revision, slot.wants = slot.revision + 1, ""
    st.rerun()


def _show_progress(bar: Any, done: int, total: int) -> None:
    share = min(1.0, done / max(1, total))
    bar.progress(share, text=f"{READING} {whole(round(100 * share))} %")


def _refuse(error: InputError) -> None:
    refusal(error)
    st.caption("Nothing was changed.")


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
        st.button("Remove", key=f"{slot}_remove", icon=":material/delete:", on_click=store.remove, args=(slot,),
                  help="Forget these counts and columns now, and show what stood here before.")  # fmt: skip
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
    with st.expander("Reading options", icon=":material/tune:"):
        left, right = st.columns(2)
        encoding = left.text_input("Encoding", key=file.key("encoding"), max_chars=40, placeholder="utf-8",
                                   help="For example latin-1 or cp1252.")  # fmt: skip
        delimiter = right.selectbox(
            "Delimiter", list(DELIMITERS), key=file.key("delimiter"), format_func=DELIMITERS.__getitem__,
            help="What stands between the cells of a CSV file; choose it if the table below looks wrong.",
        )  # fmt: skip
    return ReadOptions(encoding.strip() or None, delimiter or None)


def _first_rows(table: Table) -> None:
    preview = table.preview
    columns = preview.columns
    shown = columns[:PREVIEW_COLUMNS]
    cells = {name: [row[j] if j < len(row) else "" for row in preview.rows[:8]] for j, name in enumerate(shown)}
    is_known = isinstance(table.file.origin, HeldColumns)
    place = st.expander("First rows", icon=":material/table:") if is_known else st.container()
    with place:
        st.dataframe(cells, hide_index=True, height="content", alt=f"First rows of a table of {len(columns)} columns")
        more = f", the first {PREVIEW_COLUMNS} of them shown" if len(columns) > PREVIEW_COLUMNS else ""
        read = f", {preview.encoding}" if preview.encoding else ""
        size = "" if preview.n_rows is None else f", {plural(preview.n_rows, 'row')}"
        st.caption(f"{preview.kind}{read}{size}, {plural(len(columns), 'column')}{more}. First rows: NOT PRIVATE.")
    for code, sentence in preview.notices:
        notice(code, sentence)
