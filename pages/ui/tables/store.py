"""The data set of this session. Nothing here is shared between sessions but the samples, which everyone has."""

from __future__ import annotations

import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar

import streamlit as st

from pages.ui.inputs import settings
from pages.ui.inputs.settings import REG, SOURCE, UNIT, get
from pages.ui.jobs import jobs
from pages.ui.jobs.memory_budget import PUBLIC_NODES, ROOM, Ask, admitted
from pages.ui.session import sessions, uploads
from pages.ui.tables import range_lists, session_tables
from sample_data.catalogue import SAMPLES, count_sample
from treedp_core.checks import InputError
from treedp_core.cli import FILE_VARIABLE
from treedp_core.notebook import Cell, study
from treedp_core.notebook.code import Ran, given
from treedp_core.notebook.study import WAITING
from treedp_core.records import Dataset, HeldColumns
from treedp_core.records.mock_data import generate
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.views.cells.rerun import NO_DATA, NOT_HERE, Sources, counted_sample
from treedp_core.views.finding import forgetful

MAX_NUMBERS: Final = 16_000_000
_LAST: Final = "_dataset"
_CHANGED: Final = "_data_changed"
_GENERATED: Final = "_generated"
_AWAITED: Final = "_data_awaited"
MEMORY: Final = "_remembered"

MAKING: Final = "make_data"
_SAMPLES: Final[dict[str, Dataset]] = {}
"""Those that were read."""
_MADE: Final[weakref.WeakValueDictionary[Hashable, Dataset]] = weakref.WeakValueDictionary()

T = TypeVar("T")


class Pending(InputError):
    """A data set is being made in the background, in the slot `MAKING`."""


def dataset() -> Dataset:
    """Return the data set in use: never nothing, and the last good one while a new choice cannot be had."""
    try:
        chosen = _chosen()
    except InputError:  # the page that sets it shows the refusal
        chosen = None
    data = chosen or st.session_state.get(_LAST) or sample(REG["sample"].default)
    st.session_state[_LAST] = data
    return data


def used() -> Ran[Dataset]:
    """Return the data set in use as the call that makes it: what a figure's code begins with."""
    return call_of(dataset())


def call_of(data: Dataset) -> Ran[Dataset]:
    """Return a data set of this session, or a sample, as the call that makes it."""
    if data is st.session_state.get(_GENERATED, (None, None))[1]:
        return given(data, generate, *st.session_state[_GENERATED][0]).named("data")
    name = name_of_sample(data)
    return used_sample(name) if name else counted_again(data)


def stood_in() -> dict[str, tuple[str, ...]]:
    """Return the settings, as texts of a link by key, of what is in use while the file asked for is not counted."""
    if get("source") not in session_tables.OWN or from_file(get("source")) is not None:
        return {}
    data = dataset()
    if data is st.session_state.get(_GENERATED, (None, None))[1]:
        return {"source": ("generate",)}
    name = name_of_sample(data)
    return {"source": ("sample",), "sample": (name,)} if name else {}


def used_sample(name: str) -> Ran[Dataset]:
    """Return a sample data set as the call that makes it."""
    return counted_sample(sample(name), count_sample, name)


def counted_again(counted: Dataset) -> Ran[Dataset]:
    """Return the call that counted a file of this session, and the check that it is that file still."""
    file = session_tables.file_of(counted)
    return study.counted_again(counted, None if file is None else file.ran)


def sources() -> Sources:
    """Return where the tables of views are: what this session has."""

    def made_up(*how: Any) -> Ran[Dataset]:
        return given(generated(*how), generate, *how).named("data")

    return Sources(
        sample=used_sample, made_up=made_up, own=session_tables.tables(), ranges=range_lists.lists(),
        memo=remember,
    )  # fmt: skip


def sources_at_hand() -> Sources:
    """Return where tables are that are there already, for another thread: nothing is made, and nothing kept."""

    def made_up(*how: Any) -> Ran[Dataset]:
        if (found := _MADE.get(how)) is None:
            raise InputError(NOT_HERE, f"{NO_DATA}.")
        return given(found, generate, *how).named("data")

    return replace(sources(), made_up=made_up, memo=forgetful)


def set_dataset(
    counted: Dataset, source: str = "upload", ran: Ran[Dataset] | None = None, columns: HeldColumns | None = None
) -> None:
    """Put a data set counted from a file in use; `source` is "upload" or "file".

    Nothing stays of one it replaces, but of the same file a column in bins. `ran` is the call that counted it,
    `columns` what is kept of the file besides.
    """
    bins = session_tables.bins_of(counted.source_digest)
    if from_file(source) is not None:
        remove(source)
    session_tables.put(source, session_tables.Kept(counted, ran, columns))
    _put_back(bins)


def from_file(source: str) -> Dataset | None:
    """Return the data set counted from a file ("upload" or "file"), if there is one in this session."""
    file = session_tables.of(source)
    return None if file is None else file.data


def remove(source: str, *, for_good: bool = False) -> None:
    """Forget a data set counted from a file, its columns, and all that came of it; the sample is used instead.

    What cells were made of stays for them, unless it goes `for_good`: when its owner takes it away.
    """
    forget_results()
    if for_good and (table := session_tables.of(source)) is not None:
        session_tables.let_go(table, source)
    session_tables.drop(source)
    if source in session_tables.OWN:
        changed(source="")


def use_table(slot: str, nth: int) -> None:
    """Put a table that waits on the shelf in use; the one in the slot waits instead."""
    table = session_tables.shelf().pop(nth)
    bins = session_tables.bins_of(table.data.source_digest) or table.bins
    session_tables.set_aside(slot)
    session_tables.put(slot, replace(table, bins=None))
    _put_back(bins)
    changed(source=slot)


def _put_back(bins: session_tables.Kept | None) -> None:
    if bins is not None:
        session_tables.put(session_tables.BINS, bins)


def remove_table(nth: int) -> None:
    """Forget a table that waits on the shelf."""
    forget_results()
    session_tables.let_go(session_tables.shelf().pop(nth))


def put_back_removed() -> bool:
    """Have the table that was removed last where it was, or waiting where another is there now; False where it is gone.

    A name that another table has taken meanwhile gets a number.
    """
    last = session_tables.removed()
    table = None if last is None else last.table
    if last is None or table is None or not last.has_place:
        return False
    session_tables.forget_removed()
    if (name := session_tables.free_name(table.data.name, None)) != table.data.name:
        table = table.called(name)
    if last.slot == WAITING or session_tables.of(last.slot) is not None:
        session_tables.wait(table)
        return True
    session_tables.put(last.slot, replace(table, bins=None))
    _put_back(table.bins)
    if last.slot in session_tables.OWN:
        changed(source=last.slot)
    return True


def changed(*, source: str, recounted: bool = False) -> None:
    """Note that a table of one's own came into use, or, without a source, that there is none any more.

    It may be the one that was in use, `recounted` in another way.
    """
    st.session_state[_CHANGED] = source, recounted


def unchanged() -> None:
    """Note that whatever table came into use, the settings are set already as they should be."""
    st.session_state.pop(_CHANGED, None)


def follow() -> None:
    """Have every page take the data set that came into use in the last run; before any control is drawn."""
    st.session_state.pop(_AWAITED, None)
    source, recounted = st.session_state.pop(_CHANGED, (None, False))
    if source is not None:
        settings.follow(own=bool(source), recounted=recounted)
        if source:
            settings.SOURCE.set(source)


def forget_results() -> None:
    """Forget what was computed from data, and which data were used last."""
    jobs.forget_data()
    st.session_state.pop(_LAST, None)
    st.session_state.pop(MEMORY, None)


def is_uploaded() -> bool:
    """Whether the data set in use came from a file of the user."""
    return session_tables.file_of(dataset()) is not None


def unit() -> str:
    """Return what one unit of the data set in use is: of a file what was said, or the column that names units."""
    data = dataset()
    return UNIT.value.strip() or data.report.recipe.unit if is_uploaded() else unit_of(data)


def unit_of(data: Dataset) -> str:
    """Return what one unit of a data set is: of a file what was said, or the column that names units."""
    if any(from_file(slot) is data for slot in (*session_tables.OWN, session_tables.BINS)):
        return UNIT.value.strip() or data.report.recipe.unit
    name = name_of_sample(data)
    return SAMPLES[name].unit if name in SAMPLES else "record"


def bound_of(fingerprint: str) -> int:
    """Return how many records of each unit were counted at most of data of this session; 0 where no bound was kept."""
    alike = (one.data.report.recipe.bound for one in session_tables.everything() if one.data.fingerprint == fingerprint)
    return max(alike, default=0)


def turn_to_kept() -> None:
    """Where settings of another start name an empty place for one's own table, name the other one, if it is there."""
    other = {"upload": "file", "file": "upload"}.get(SOURCE.value)
    if (
        other is not None
        and session_tables.of(SOURCE.value) is None
        and (session_tables.of(other) or file_on_this_computer() is None)
    ):
        SOURCE.set(other if session_tables.of(other) else "upload")


def turn_to(cell: Cell) -> None:
    """Use the table of one's own that a cell was made from, wherever it is kept now, also where it waits."""
    made_from = "" if cell.data is None else cell.data.fingerprint
    here = {
        slot: one.data.fingerprint
        for slot, one in session_tables.slots().items()
        if slot in (*session_tables.OWN, session_tables.BINS)
    }
    waiting = [[one.data.fingerprint, one.bins and one.bins.data.fingerprint] for one in session_tables.shelf()]
    nth = next((nth for nth, prints in enumerate(waiting) if made_from in prints), None)
    found = next((slot for slot, fingerprint in here.items() if fingerprint == made_from), None)
    if found is None and nth is not None:
        found = "upload"
        use_table(found, nth)
        unchanged()
    if found in session_tables.OWN:
        SOURCE.set(found)


def is_lost() -> bool:
    """Whether an uploaded file is asked for, by a link or the source control, that this session does not hold."""
    return get("source") == "upload" and from_file("upload") is None


def origin() -> str:
    """Return where the data set in use came from, in words of our own."""
    file = session_tables.file_of(dataset())
    if file is not None:
        return f"counted from a file at {file.when:%H:%M} UTC, the file itself is not kept"
    if get("source") == "generate":
        return "generated from its seed"
    return "sample of published records" if dataset().credit else "synthetic sample"


def file_on_this_computer() -> Path | None:
    """Return the file of records named when the app was started, if there is one and files are taken."""
    return uploads.named(FILE_VARIABLE)


def sample(name: str) -> Dataset:
    """Return a sample data set; samples are public, so one copy serves all sessions (its arrays are read-only)."""
    if name not in _SAMPLES:
        _SAMPLES.setdefault(name, count_sample(name))  # another session may have been faster
    return _SAMPLES[name]


def name_of_sample(data: Dataset) -> str:
    """Return the name of the sample that a data set is; nothing where it is none. No sample is read for it."""
    return next((name for name, one in list(_SAMPLES.items()) if one is data), "")


def generated(shape: str, n_records: int, branching: str, seed: int) -> Dataset:
    """Return a made-up data set, one for all sessions that ask for the same; the last one is kept in the session.

    One that is not there when a run first asks for it is on its way until that run ends: all of a page is of one.

    Raises
    ------
    Pending
        It is large, or there is no room for it over all sessions now: it is made in the background.
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``RECORDS_RANGE``, ``VALUE_UNKNOWN``.
    """
    key = (shape, n_records, branching, seed)
    last = st.session_state.get(_GENERATED)
    if last is None or last[0] != key:
        n_nodes = sum(accumulate((1, *branching_factors_from_text(branching)), operator.mul))
        admitted(n_nodes)
        if st.session_state.get(_AWAITED) == key:
            raise _on_its_way()
        found = _MADE.get(key) or _made(key, n_nodes, partial(generate, shape, n_records, branching, seed))
        last = st.session_state[_GENERATED] = (key, found)
        _MADE[key] = found
        jobs.forget(MAKING)
    made: Dataset = last[1]
    return made


def _made(key: Hashable, n_nodes: int, make: Callable[[], Dataset]) -> Dataset:
    """Make a data set here if that is quick and there is room, else in the background."""
    ask = Ask()

    def work(watch: object = None) -> Dataset:
        try:
            data = make()
            ROOM.note(data)
            return data
        finally:
            ROOM.give_back(ask)

    if n_nodes <= PUBLIC_NODES and ROOM.reserve(ask, n_nodes):
        return work()
    job = jobs.current(MAKING)
    if job is None or job.key != key or (job.stop.is_set() and job.is_running) or job.state == "cancelled":
        jobs.forget_data()  # what was computed for the data in use makes room
        st.session_state.pop(MEMORY, None)
        job = jobs.start(MAKING, key, 1, work, of_data=False, admit=lambda: ROOM.reserve(ask, n_nodes))
    if job.error is not None:
        raise job.error
    if job.state != "done":
        st.session_state[_AWAITED] = key
        raise _on_its_way()
    result: Dataset = job.result
    return result


def _on_its_way() -> Pending:
    return Pending("BUSY", "The made-up data set is on its way.")


def remember(key: Hashable, compute: Callable[[], T], *, shelf: str = "", room: int = 0) -> T:
    """Return `compute()`, kept for this session under `key`; the least recently used results are let go.

    `key` must say everything the result depends on, for example (dataset().fingerprint, experiment). What stands on
    one shelf, with its own `room`, does not push out what stands on another.
    """
    shelves: dict[str, OrderedDict[Hashable, T]] = st.session_state.setdefault(MEMORY, {})
    results = shelves.setdefault(shelf, OrderedDict())
    if key in results:
        results.move_to_end(key)
        return results[key]
    result = results[key] = compute()
    while len(results) > (room or _room()):
        results.popitem(last=False)
    return result


def remembered(key: Hashable, shelf: str) -> Any:
    """Return what is remembered under a key of a shelf; None where nothing is."""
    return st.session_state.get(MEMORY, {}).get(shelf, {}).get(key)


def forget_one(key: Hashable, shelf: str) -> None:
    """Forget what was remembered under a key of a shelf."""
    st.session_state.get(MEMORY, {}).get(shelf, {}).pop(key, None)


def _room() -> int:
    """How many results are kept: fewer for large trees, whose results are large, and where many sessions share."""
    return max(4, min(128, MAX_NUMBERS // (dataset().tree.n_nodes * max(1, len(sessions.known())))))


def _chosen() -> Dataset | None:
    source = get("source")
    if source != "generate":
        jobs.forget(MAKING)
    if source == "sample":
        return sample(get("sample"))
    if source == "generate":
        return generated(get("gen_shape"), get("gen_n"), get("gen_branching"), get("gen_seed"))
    return from_file(source)
