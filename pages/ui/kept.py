"""What a session keeps of the files it was given: counts, columns as codes, and tables that wait for their turn.

A slot has one file. The slot "upload" may have others besides, each under the name of its file: they wait on a shelf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from pages.ui.room import ROOM
from pages.ui.uploads import is_public
from treedp_core.notebook.code import Ran
from treedp_core.records import Dataset, HeldColumns
from treedp_core.records.read.holding import HELD_BYTES

MAX_TABLES: Final = 4
SESSION_BYTES: Final = 2 * HELD_BYTES
"""Of columns that one session may keep, over all its tables."""
OWN: Final = ("upload", "file")
"""Slots whose file is the data set of every page."""
BINS: Final = "cdf"
"""The slot of one of its columns in bins, for CDFs."""
FILES: Final = "_from_file"
"""Where a session has what is kept of files, by slot."""
SHELF: Final = "_shelf"
"""Where it has the tables that wait."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of one file.

    Parameters
    ----------
    data : Dataset
        Its counts.
    ran : Ran, optional
        The call that counted it.
    columns : HeldColumns, optional
        Its columns, where they fit.
    when : datetime
    """

    data: Dataset
    ran: Ran[Dataset] | None = None
    columns: HeldColumns | None = None
    when: datetime = field(default_factory=lambda: datetime.now(UTC))


def put(slot: str, kept: Kept) -> None:
    """Keep a file in its slot, in place of the one there."""
    ROOM.note(kept.data)
    _files()[slot] = kept


def of(slot: str) -> Kept | None:
    """Return what is kept in a slot."""
    return _files().get(slot)


def everything() -> list[Kept]:
    """Return what is kept of every file, those that wait last."""
    return [*_files().values(), *shelf()]


def slots() -> dict[str, Kept]:
    """Return what is kept in every slot, by its name."""
    return dict(_files())


def drop(slot: str) -> None:
    """Keep nothing of the file in a slot, nor of one of its columns in bins."""
    for name in (slot, BINS) if slot in OWN else (slot,):
        _files().pop(name, None)


def columns_room() -> int:
    """Return how many bytes the columns of one more file may take up: none in a public app."""
    if is_public():
        return 0
    held = {id(one.columns): one.columns for one in (*_files().values(), *shelf()) if one.columns is not None}
    taken = sum(columns.n_bytes for columns in held.values())
    return max(0, min(HELD_BYTES, SESSION_BYTES - taken, ROOM.bytes_left()))


def set_aside(slot: str) -> None:
    """Put the table in a slot on the shelf; the slot is empty then."""
    table = of(slot)
    drop(slot)
    if table is not None:
        shelf().append(table)


def wait(table: Kept) -> None:
    """Put a table on the shelf."""
    ROOM.note(table.data)
    shelf().append(table)


def shelf() -> list[Kept]:
    """Return the tables that wait, the oldest first."""
    waiting: list[Kept] = st.session_state.setdefault(SHELF, [])
    return waiting


def _files() -> dict[str, Kept]:
    files: dict[str, Kept] = st.session_state.setdefault(FILES, {})
    return files
