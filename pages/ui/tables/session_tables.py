"""What a session keeps of the files it was given: counts, columns as codes, and tables that wait for their turn.

A slot has one file. The slot "upload" may have others besides, each under the name of its file: they wait on a shelf.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, count
from threading import Timer
from typing import Final

import streamlit as st

from pages.ui.jobs.memory_budget import ROOM
from pages.ui.session.uploads import is_public
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError, echo
from treedp_core.notebook.code import Ran, call, path_read
from treedp_core.notebook.file.call_json import LISTED
from treedp_core.notebook.study import PINNED, WAITING, WAITING_BINS, Table, visible
from treedp_core.records import Dataset, HeldColumns, count_hierarchy, domain_taken_from_the_data
from treedp_core.records.domain import Domain
from treedp_core.records.read.column_cache import HELD_BYTES

MAX_TABLES: Final = 4
MOST_ROWS: Final = 2_000_000
"""Rows of a table that are counted anew while the page waits."""
MAX_NAME: Final = 60
"""Characters of a name that is given to a table here."""
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
HELD: Final = "_held_for_cells"
"""Where it has the tables that are here only because cells were made of them, by fingerprint."""
MOST_HELD: Final = 8
REMOVED: Final = "_removed"
"""Where it has the table that its owner removed last."""
SECONDS: Final = 60.0
"""How long that table can be put back."""


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
    bins : Kept, optional
        One of its columns in bins, while the table waits.
    """

    data: Dataset
    ran: Ran[Dataset] | None = None
    columns: HeldColumns | None = None
    when: datetime = field(default_factory=lambda: datetime.now(UTC))
    bins: Kept | None = None

    @property
    def file_name(self) -> str:
        """What its file is called, whatever the table is called here."""
        path = path_read(self.ran)
        return self.data.name if path is None else path

    @property
    def can_be_counted_again(self) -> bool:
        """Whether its columns are here, and all that its counts were made by."""
        if self.columns is None or self.ran is None or len(self.ran.args) < 2:
            return False
        return self.ran.function is not count_hierarchy or self.domain_for(self.ran.args[1]) is not None

    def called(self, name: str) -> Kept:
        """Return the same table under another name."""
        data = replace(self.data, name=name)
        return replace(self, data=data, ran=None if self.ran is None else self.ran.giving(data))

    def domain_for(self, columns: Collection[str]) -> Ran[Domain] | None:
        """Return the domain that it was counted with, for other columns; None where that cannot be said."""
        domain = None if self.ran is None or self.ran.function is not count_hierarchy else self.ran.kwargs.get("domain")
        if not isinstance(domain, Ran):
            return None
        if domain.function is domain_taken_from_the_data:
            return domain
        lists = domain.args[0] if domain.function in LISTED else None
        if isinstance(lists, dict) and set(columns) <= set(lists):
            return call(domain.function, {name: lists[name] for name in columns}).named("domain")
        return None


class Removed:
    """The table that its owner removed last: here until it is put back, another one is removed, or its time is over.

    A timer forgets it, also where no page runs any more.
    """

    def __init__(self, slot: str, table: Kept) -> None:
        self.slot, self.name, self.until = slot, table.data.name, time.monotonic() + SECONDS
        self.table: Kept | None = table
        self._timer = Timer(SECONDS, self.forget)
        self._timer.daemon = True
        self._timer.start()

    def forget(self) -> None:
        """Have nothing of it any more."""
        self._timer.cancel()
        self.table = None

    @property
    def has_place(self) -> bool:
        """Whether it can be put back: another may stand in its slot, and the shelf be full."""
        if self.slot != WAITING and of(self.slot) is None:
            return True
        return self.slot in (*OWN, WAITING) and len(shelf()) < MAX_TABLES - 1


def put(slot: str, kept: Kept) -> None:
    """Keep a file in its slot, in place of the one there."""
    ROOM.note(kept.data)
    _files()[slot] = kept


def of(slot: str) -> Kept | None:
    """Return what is kept in a slot."""
    return _files().get(slot)


def everything() -> list[Kept]:
    """Return what is kept of every file, those that wait last."""
    return [one for _, one in named()]


def file_of(data: Dataset) -> Kept | None:
    """Return what is kept of the file that a data set was counted from."""
    return next((one for one in everything() if one.data is data), None)


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


def bins_of(digest: str) -> Kept | None:
    """Return what is kept of a column in bins of the file with this SHA-256, whatever else was counted of it."""
    found = of(BINS)
    return found if found is not None and found.data.source_digest == digest != "" else None


def places() -> tuple[dict[str, Kept], list[Kept]]:
    """Return what is kept in every slot, by its name, and on the shelf."""
    return slots(), list(shelf())


def put_in_places(before: tuple[dict[str, Kept], list[Kept]]) -> None:
    """Have every table where it was."""
    st.session_state[FILES], st.session_state[SHELF] = dict(before[0]), list(before[1])


def in_places(
    tables: Iterable[tuple[str, Kept]], before: tuple[dict[str, Kept], list[Kept]] = ({}, [])
) -> tuple[dict[str, Kept], list[Kept]]:
    """Return `places` with more tables, by the slots that a notebook names; a column in bins waits with its table."""
    files, waiting = dict(before[0]), list(before[1])
    for slot, one in tables:
        if slot == WAITING:
            waiting.append(one)
        elif slot == WAITING_BINS:
            of_file = [nth for nth, table in enumerate(waiting) if _is_of_same_file(table, one) and not table.bins]
            if of_file:
                waiting[of_file[-1]] = replace(waiting[of_file[-1]], bins=one)
            elif any(_is_of_same_file(files[own], one) for own in OWN if own in files):
                files.setdefault(BINS, one)
        else:
            files[slot] = one
    return files, waiting


def named() -> list[tuple[str, Kept]]:
    """Return what is kept with the slot that a notebook names for each, those that wait last."""
    waiting = ([(WAITING, one)] + ([] if one.bins is None else [(WAITING_BINS, one.bins)]) for one in shelf())
    found = [*slots().items(), *chain.from_iterable(waiting)]
    here = {one.data.fingerprint for _, one in found}
    return found + [(PINNED, one) for print_, one in held_for_cells().items() if print_ not in here]


def datasets() -> list[Dataset]:
    """Return what was counted from every file, those that wait last."""
    return [one.data for one in everything()]


def tables() -> list[Table]:
    """Return the data sets that this session counted from files."""
    return [Table(slot, one.data, one.ran, one.when) for slot, one in named()]


def held_for_cells() -> dict[str, Kept]:
    """Return the tables that cells were made of, by fingerprint, wherever else they are, or no more."""
    tables: dict[str, Kept] = st.session_state.get(HELD, {})
    return tables


def hold(fingerprints: Collection[str]) -> None:
    """Keep the tables that cells were made of for as long as there is such a cell; of very many the newest.

    So a hierarchy that another one takes the place of can still be told, saved and made again.
    """
    here = {one.data.fingerprint: replace(one, columns=None, bins=None) for one in everything()}
    mine = {print_: here[print_] for print_ in dict.fromkeys(fingerprints) if print_ in here}
    st.session_state[HELD] = dict(list(mine.items())[-MOST_HELD:])


def let_go(table: Kept, slot: str = WAITING) -> None:
    """Forget a table that its owner removes, also where cells were made of it, with a column in bins of its file.

    It can be put back for a while: see `Removed`.
    """
    bins = [one for one in (table.bins, bins_of(table.data.source_digest)) if one]
    gone = {one.data.fingerprint for one in (table, *bins)}
    st.session_state[HELD] = {print_: one for print_, one in held_for_cells().items() if print_ not in gone}
    forget_removed()
    st.session_state[REMOVED] = Removed(
        slot, replace(table, bins=bins[0] if bins and slot in (*OWN, WAITING) else None)
    )


def removed() -> Removed | None:
    """Return the table that was removed last, for as long as it can be put back."""
    last: Removed | None = st.session_state.get(REMOVED)
    return None if last is None or last.table is None else last


def forget_removed() -> None:
    """Have nothing any more of the table that was removed last."""
    if (last := st.session_state.pop(REMOVED, None)) is not None:
        last.forget()


def add(tables: Iterable[tuple[str, Kept]]) -> None:
    """Keep more tables, by the slots that a notebook names."""
    more = list(tables)
    for _, one in more:
        ROOM.note(one.data)
    put_in_places(in_places([one for one in more if one[0] != PINNED], places()))
    st.session_state[HELD] = held_for_cells() | {one.data.fingerprint: one for slot, one in more if slot == PINNED}


def _is_of_same_file(table: Kept, bins: Kept) -> bool:
    return table.data.source_digest == bins.data.source_digest != ""


def set_aside(slot: str) -> None:
    """Put the table in a slot on the shelf, with its column in bins; the slot is empty then."""
    table = of(slot)
    if table is not None:
        shelf().append(replace(table, bins=bins_of(table.data.source_digest)))
    drop(slot)


def wait(table: Kept) -> None:
    """Put a table on the shelf."""
    ROOM.note(table.data)
    shelf().append(table)


def rename(table: Kept, wanted: str) -> None:
    """Call a table by another name from now on, everywhere; its caller tells the notebook.

    Raises
    ------
    InputError
        ``TABLE_NAME`` for no name, a long one, or one that another table or a sample has.
    """
    name = visible(wanted)
    if not 0 < len(name) <= MAX_NAME:
        raise InputError("TABLE_NAME", f"Expected a name of 1 to {MAX_NAME} characters for the table.")
    if name in names_of_others(table):
        raise InputError("TABLE_NAME", f"Another table or a sample is called {echo(name)}; give it another name.")
    for slot, one in slots().items():
        if one is table or (slot == BINS and one.data.name == table.data.name):
            _files()[slot] = one.called(name)
    waiting = shelf()
    waiting[:] = [one.called(name) if one is table else one for one in waiting]


def names_of_others(table: Kept | None) -> set[str]:
    """Return what the samples and all tables but one are called."""
    tables = [*(one for slot, one in slots().items() if slot in OWN), *shelf()]
    return {one.title for one in SAMPLES.values()} | {one.data.name for one in tables if one is not table}


def free_name(name: str, instead_of: Kept | None) -> str:
    """Return a name for a table that comes `instead_of` another: its own, or with a number where it is taken."""
    taken, numbers = names_of_others(instead_of), count(2)
    return name if name not in taken else next(one for n in numbers if (one := f"{name} ({n})") not in taken)


def shelf() -> list[Kept]:
    """Return the tables that wait, the oldest first."""
    waiting: list[Kept] = st.session_state.setdefault(SHELF, [])
    return waiting


def _files() -> dict[str, Kept]:
    files: dict[str, Kept] = st.session_state.setdefault(FILES, {})
    return files
