"""A file on its way to counts, in the same steps on every page: inspect, choose, count, replace.

A page asks with a slot. `upload` shows the uploader, or the card of what was counted; `choose_columns` shows a file's
first rows and the page's questions about its columns, and counts when asked to. Only counts stay in the session, never
the file; a refusal leaves what was counted before as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.snippets import Ran, given
from pages.ui.text import lit, refusal_text
from treedp_core.checks import InputError
from treedp_core.records import Dataset, ReadOptions, inspect
from treedp_core.records.read.readers import formats
from treedp_core.records.read.sniff import Preview
from treedp_core.words import plural

PREVIEW_COLUMNS: Final = 30
DELIMITERS: Final = {"": "Find out", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar"}
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
        "Also .csv.gz. The file is read once, on the computer that runs this app, and then discarded. Larger ones: "
        "treedp FILE on the command line, or upload counts that a database has grouped.",
    ),
    "bins": _Words("{formats} file", "Read once, on the computer that runs this app, and then discarded."),
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
    """What a session does in a slot; `revision` changes with every file counted: controls start afresh then."""

    revision: int = 0
    replacing: bool = False
    asked: bool = False


def _slot(name: str) -> _Slot:
    kept: _Slot = st.session_state.setdefault(f"_upload_{name}", _Slot())
    return kept


@dataclass(frozen=True, eq=False)
class Candidate:
    """A file that waits to be counted: a path or an uploaded file, its name, its slot, and what it is wanted for."""

    origin: Any
    name: str
    slot: str
    asks: Asks = "tree"

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every file counted, and with anything else it is `of`."""
        return f"{self.slot}_{name}_{_slot(self.slot).revision}" + (f"_{hash(of):x}" if of else "")


@dataclass(frozen=True, eq=False)
class Table:
    """A file that was looked at, for the questions about its columns."""

    file: Candidate
    preview: Preview
    options: ReadOptions

    def key(self, name: str, *of: object) -> str:
        """Key of a control that starts afresh with every other header, too."""
        return self.file.key(name, self.preview.columns, *of)

    def column(
        self, label: str, name: str, *, help: str, none: str = "", among: Sequence[str] | None = None
    ) -> str | None:
        """Ask for a column; `none` says what no column means, where that is a choice."""
        columns = list(self.preview.columns if among is None else among)
        offered = [none, *columns] if none else columns
        position = st.selectbox(
            label, range(len(offered)), index=1 if among is not None and len(among) == 1 else 0, key=self.key(name),
            format_func=offered.__getitem__, help=help,
        )  # fmt: skip
        return offered[position] if position or not none else None

    def counted(
        self, count: Callable[..., Dataset], columns: Any, progress: Progress | None = None, **how: Any
    ) -> Counted:
        """Return the counts of the file, with the call that gives them where the file lies under its name."""
        how["options"] = self.options
        now = {key: one.value if isinstance(one, Ran) else one for key, one in how.items()}
        found = count(self.file.origin, columns, name=self.file.name, progress=progress, **now)
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
    words, kept = _ASKS[asks], store.from_file(slot)
    if kept is not None:
        _card(kept, slot, ("" if path else ", file discarded") + words.note)
        if not _slot(slot).replacing:
            return store.counted_again(slot, kept)
    if path is not None:
        st.markdown(f"{lit(path.name)} is read where it is; nothing is uploaded.")
        return Candidate(path, path.name, slot, asks)
    label = words.label.format(formats=formats())
    file = uploads.uploader(label, key=f"{slot}_{_slot(slot).revision}", help=words.help)
    if file is not None:
        return Candidate(file, file.name, slot, asks)
    st.caption("Counts from a file are removed about two minutes after you close the tab; a link never carries them.")
    return None if kept is None else store.counted_again(slot, kept)


def choose_columns(file: Candidate, form: Callable[[Table], Count]) -> None:
    """Show a file's first rows and the questions about it; count, and put the counts in its slot, when asked to."""
    options, slot = _reading_options(file), _slot(file.slot)
    try:
        preview = inspect(file.origin, name=file.name, options=options)
    except InputError as error:
        _refuse(error)
        return
    _first_rows(preview)
    count = form(Table(file, preview, options))
    st.button(
        _ASKS[file.asks].use, type="primary", key=f"{file.slot}_count", icon=":material/functions:", on_click=setattr,
        args=(slot, "asked", True), help="Read the file once, keep its counts, and discard the file.",
    )  # fmt: skip
    if slot.asked:
        slot.asked = False
        _count(file, count)


def notice(code: str, sentence: str) -> None:
    """Show something about a file that a person should know."""
    st.info(refusal_text(InputError(code, sentence)), icon=":material/info:")


def _count(file: Candidate, count: Count) -> None:
    """Count; put the counts in use, free the uploaded files, and show the page anew with an empty uploader."""
    bar = st.progress(0.0, text="Reading …")

    def progress(done: int, total: int) -> None:
        share = min(1.0, done / max(1, total))
        bar.progress(share, text=f"Reading … {share:.0%}")

    try:
        ran = count(progress)
    except InputError as error:
        bar.empty()
        _refuse(error)
        return
    store.set_dataset(ran.value, file.slot, ran)
    uploads.forget_shown()
    slot = _slot(file.slot)
    slot.revision, slot.replacing = slot.revision + 1, False
    st.rerun()


def _refuse(error: InputError) -> None:
    refusal(error)
    st.caption("Nothing was changed.")


def _card(kept: Dataset, slot: str, note: str) -> None:
    size = f"{plural(kept.report.rows, 'row')} → {plural(kept.tree.n_nodes, 'count')}"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"{lit(kept.name, 40)} — {size}{note}")
        st.button(
            "Replace", key=f"{slot}_replace", icon=":material/swap_horiz:", on_click=setattr,
            args=(_slot(slot), "replacing", True),
            help="Count another file, or this one by other columns; these counts stay until then.",
        )  # fmt: skip
        st.button("Remove", key=f"{slot}_remove", icon=":material/delete:", on_click=store.remove, args=(slot,),
                  help="Forget these counts now, and show what stood here before.")  # fmt: skip


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


def _first_rows(preview: Preview) -> None:
    columns = preview.columns
    shown = columns[:PREVIEW_COLUMNS]
    cells = {name: [row[j] if j < len(row) else "" for row in preview.rows[:8]] for j, name in enumerate(shown)}
    st.dataframe(cells, hide_index=True, height="content", alt=f"First rows of a table of {len(columns)} columns")
    more = f", the first {PREVIEW_COLUMNS} of them shown" if len(columns) > PREVIEW_COLUMNS else ""
    read = f", {preview.encoding}" if preview.encoding else ""
    size = "" if preview.n_rows is None else f", {plural(preview.n_rows, 'row')}"
    st.caption(f"{preview.kind}{read}{size}, {plural(len(columns), 'column')}{more}. First rows: NOT PRIVATE.")
    for code, sentence in preview.notices:
        notice(code, sentence)
