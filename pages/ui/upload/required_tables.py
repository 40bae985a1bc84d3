"""The data sets that a notebook saved without data asks for, and whether a file that is given is one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.ui.inputs.text import lit
from pages.ui.notebook import book
from pages.ui.page import navigation
from pages.ui.tables import session_tables
from treedp_core.notebook.cell import DataNote
from treedp_core.notebook.code import Ran, path_read
from treedp_core.notebook.data_lineage import recounted
from treedp_core.notebook.study import WAITING, Asked, Given, given_again, still_asked
from treedp_core.records import Dataset, HeldColumns
from treedp_core.words import short

ICON: Final = ":material/fingerprint:"
ALL_HERE: Final = "The files that it asks for are all here again."
SHORT: Final = 12
"""Digits of a fingerprint that are shown."""
WHERE: Final[Mapping[str, str]] = {"cdf": "cdf", "bud_prior": "budget"}
"""The pages that take a file of their own, by its slot; every other one is given on the page of the data."""


def show() -> None:
    """List what is asked for, how it was counted, and what has become of it; nothing where nothing is asked for."""
    asked = book.held().asked
    if not asked:
        return
    became = given_again(asked, session_tables.tables())
    left = sum(one is not Given.SAME for one in became)
    st.caption(
        ":material/upload_file: This notebook was saved without data. "
        + (f"Tables still to be given, each on its page: {left} of {len(asked)}." if left else ALL_HERE)
    )
    with st.container(key="asked_for"):
        st.markdown("\n".join(f"- {_line(one, state)}" for one, state in zip(asked, became, strict=True)))


def _line(one: Asked, state: Given) -> str:
    """Return what has become of a table that is asked for, how it was counted, and where it is given."""
    levels = " › ".join(lit(name, 40) for name in one.note.levels)
    return (
        f"**{lit(file_of(one), 100)}**: {state.value}. Counted by {levels}; {lit(how_counted(one.note), 100)}; "
        f"fingerprint {one.note.fingerprint[:SHORT]}; on the page {navigation.title(WHERE.get(one.slot, 'data'))}."
    )


def file_of(one: Asked) -> str:
    """Return what a table that is asked for is called, with its file where that has another name.

    >>> note = DataNote(name="Adults", fingerprint="0" * 64, levels=("sex",), domain="public")
    >>> file_of(Asked("upload", note, None))
    'Adults'
    """
    path = path_read(one.how)
    return one.note.name if path in (None, one.note.name) else f"{one.note.name} ({path})"


def how_counted(note: DataNote) -> str:
    """Return how a data set was counted, besides its columns."""
    bounds = "" if note.bounds is None else f"bounds {short(note.bounds[0])} to {short(note.bounds[1])}"
    weight = f"weight {note.weight}" if note.weight else ""
    return ", ".join(filter(None, (f"categories {note.domain}", bounds, weight)))


def say_of_file(source_digest: str) -> None:
    """Say of a file that has been read, but not counted, whether it is one that is asked for."""
    asked = book.held().asked
    if not asked or not source_digest:
        return
    mine = [one for one in asked if one.note.source_digest == source_digest]
    if mine:
        levels = "; or ".join(" › ".join(lit(name, 40) for name in one.note.levels) for one in mine)
        st.success(
            f"Same file: the notebook asks for {lit(mine[0].note.name, 40)}. It was counted by {levels}, "
            f"{lit(how_counted(mine[0].note), 100)}.", icon=ICON,
        )  # fmt: skip
    elif any(one.note.source_digest for one in asked):
        st.warning(f"Another file: the notebook asks for {', '.join(map(_named, asked[:3]))}.", icon=ICON)


def counted_by(slot: str, source_digest: str) -> Ran[Dataset] | None:
    """Return how a file that is asked for in a slot was counted, by the SHA-256 of its bytes."""
    slots = session_tables.OWN if slot in session_tables.OWN else (slot,)
    wanted = (one for one in book.held().asked if one.slot in (*slots, WAITING))
    return next((one.how for one in wanted if one.note.source_digest == source_digest != ""), None)


def sheet_of(name: str) -> str | None:
    """Return the sheet of a file of that name that is asked for; None where none is."""
    wanted = (one.how for one in book.held().asked if one.how is not None and path_read(one.how) == name)
    return next((how.kwargs["options"].sheet for how in wanted if "options" in how.kwargs), None)


def count_others(columns: HeldColumns, slot: str) -> None:
    """Count all else that is asked for of a file whose columns are here: bins, and tables that wait."""
    if not book.held().asked or columns.size > session_tables.MOST_ROWS:
        return
    left = [
        one
        for one in still_asked(book.held().asked, session_tables.tables())
        if one.slot not in (*session_tables.OWN, slot)
    ]
    counted = [
        (one.slot, session_tables.Kept(one.data, one.how, columns if one.slot == WAITING else None, one.when))
        for one in recounted(left, columns)
    ]
    room = session_tables.MAX_TABLES - 1 - len(session_tables.shelf())
    waiting = [one for one in counted if one[0] == WAITING]
    session_tables.add([*(one for one in counted if one[0] != WAITING), *waiting[:room]])


def is_wanted(data: Dataset) -> bool:
    """Whether it is a data set that is asked for, so that every setting stands as it was made for it."""
    return any(one.note.fingerprint == data.fingerprint for one in book.held().asked)


def called(data: Dataset) -> str:
    """Return what the notebook calls a data set that it asks for, else the data set's own name."""
    asked = (one.note for one in book.held().asked)
    return next((note.name for note in asked if note.fingerprint == data.fingerprint), data.name)


def say_of_data(data: Dataset) -> None:
    """Say of a data set of the session whether it is one that is asked for."""
    asked = book.held().asked
    if not asked:
        return
    name, fingerprint = lit(data.name, 40), data.fingerprint[:SHORT]
    if is_wanted(data):
        st.success(f"Same file: {name} has the fingerprint {fingerprint} that the notebook asks for.", icon=ICON)
    elif any(one.note.source_digest == data.source_digest != "" for one in asked):
        st.warning(
            f"Same file, counted in another way: {name} is what the notebook asks for, but not with these columns, "
            "categories or weights.", icon=ICON,
        )  # fmt: skip
    else:
        names = ", ".join(map(_named, asked[:3]))
        st.warning(f"Another file: {name} has the fingerprint {fingerprint}; the notebook asks for {names}.", icon=ICON)


def _named(one: Asked) -> str:
    return f"{lit(one.note.name, 40)} (fingerprint {one.note.fingerprint[:SHORT]})"
