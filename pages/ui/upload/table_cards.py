"""Tables that were counted from files: the cards that name them, and what replaces, renames or removes one."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.text import lit
from pages.ui.notebook import autosave, book
from pages.ui.tables import session_tables, store
from pages.ui.tables.upload_slot import slot_of
from pages.ui.upload import required_tables
from treedp_core.checks import InputError
from treedp_core.notebook.code import path_read
from treedp_core.notebook.study import visible
from treedp_core.records.read.column_cache import HELD_BYTES
from treedp_core.words import megabytes, plural

RENAME: Final = "What this table is called on every page and in what you keep from now on; at most {} characters."

BACK: Final = f"For {round(session_tables.SECONDS)} seconds, or until another table is removed, it can be put back."


def card(file: session_tables.Kept, slot: str, note: str, *, keeps: bool) -> None:
    """Show what was counted from a file, and what replaces, renames or removes it."""
    data = file.data
    size = f"{plural(data.total, 'record')} → {plural(data.tree.n_nodes, 'count')}"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"{lit(data.name, 40)} — {size}{note}")
        if slot in session_tables.OWN:
            _name(slot)
        st.button(
            "Replace", key=f"{slot}_replace", icon=":material/swap_horiz:", on_click=setattr,
            args=(slot_of(slot), "wants", "replace"),
            help="Count another file; these counts stay until then.",
        )  # fmt: skip
        if slot == "upload":
            st.button(
                "Add a table", key=f"{slot}_add", icon=":material/add:", on_click=setattr,
                args=(slot_of(slot), "wants", "add"),
                disabled=len(session_tables.shelf()) >= session_tables.MAX_TABLES - 1,
                help=f"Count another file besides; this one then waits. At most {session_tables.MAX_TABLES} tables.",
            )  # fmt: skip
        st.button("Remove", key=f"{slot}_remove", icon=":material/delete:", on_click=slot_of(slot).remove, args=(slot,),
                  help="Forget these counts and columns, and show what stood here before. " + BACK)  # fmt: skip
    required_tables.say_of_data(data)
    with st.container(horizontal=True, vertical_alignment="center"):
        if keeps:
            st.caption(_memory_note(file), width="content")
        if slot in session_tables.OWN:
            autosave.by_a_table()


def waiting(slot: str) -> None:
    """Show the tables that wait, each with what puts it in use, renames or forgets it."""
    for nth, table in enumerate(session_tables.shelf()):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            levels = " › ".join(lit(name, 24) for name in table.data.labels.level_names[1:])
            st.markdown(f"{lit(table.data.name, 40)} — {levels}, waiting")
            _name(slot, nth)
            st.button("Use", key=f"{slot}_use_{nth}", icon=":material/check:", on_click=slot_of(slot).use,
                      args=(slot, nth), help="Have every page work on this table; the other one waits.")  # fmt: skip
            st.button("Remove", key=f"{slot}_forget_{nth}", icon=":material/delete:", on_click=store.remove_table,
                      args=(nth,), help="Forget the counts and columns of this table. " + BACK)  # fmt: skip


def put_back_offer(*slots: str) -> None:
    """Say of a table removed from one of these slots that it can be put back, until that is over."""
    last = session_tables.removed()
    if last is not None and last.slot in slots:
        st.fragment(_put_back_offer, run_every=last.until - time.monotonic() + 1.0)()


def _put_back_offer() -> None:
    last = session_tables.removed()
    if last is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/delete: {lit(last.name, 40)} was removed. {BACK}")
        if st.button("Put back", key="put_back", icon=":material/undo:", disabled=not last.has_place,
                     help="Its counts and columns are here again, and what they were called."):  # fmt: skip
            if not store.put_back_removed():
                st.toast("The table is gone: open its file again.", icon=":material/delete:")
            st.rerun()


def _name(slot: str, nth: int | None = None) -> None:
    """Show what gives the table in a slot, or the `nth` that waits, another name."""
    table, key = _table(slot, nth), f"{slot}_name" if nth is None else f"{slot}_name_{nth}"
    with st.popover("Rename", icon=":material/edit:", key=key):
        typed = f"{key}_{table.data.name}"  # a name that was refused is not there when it is opened again
        st.text_input("Name of the table", table.data.name, key=typed, max_chars=session_tables.MAX_NAME,
                      help=RENAME.format(session_tables.MAX_NAME), on_change=_rename,
                      args=(slot, nth, typed))  # fmt: skip


def _table(slot: str, nth: int | None) -> session_tables.Kept:
    """The table in a slot, or the `nth` that waits: a control that had it itself would keep it from being forgotten."""
    found = session_tables.of(slot) if nth is None else session_tables.shelf()[nth]
    assert found is not None
    return found


def _rename(slot: str, nth: int | None, typed: str) -> None:
    """Give a table the name that was typed, or say why it cannot have it."""
    before = _table(slot, nth).data
    try:
        session_tables.rename(_table(slot, nth), st.session_state[typed])
    except InputError as error:
        refusal_in_passing(error)
        del st.session_state[typed]
        return
    name = visible(_table(slot, nth).data.name)
    book.amend(lambda notebook: notebook.call_table(visible(before.name), name, before.source_digest))
    store.forget_results()  # words among them have the old name


def _memory_note(file: session_tables.Kept) -> str:
    """Say what is kept of a file besides its counts."""
    most, columns = f"{HELD_BYTES >> 20} MB", file.columns
    if columns is None and path_read(file.ran) is None:
        return "Only counts are kept: they are a part of another table, which has the columns."
    if columns is None:
        return f"Only its counts are here: other levels need the file again. Columns stay for one visit, up to {most}."
    missing = ", ".join(lit(name, 40) for name in columns.left_out)
    return (
        f"Columns stay in memory ({megabytes(columns.n_bytes)} of at most {most}): other levels need no new upload."
        f"{f' Not kept: {missing}.' if missing else ''}"
    )
