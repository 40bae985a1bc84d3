"""A cell made again by its view: the same inputs, and the very tables that it was made of."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import methodcaller
from typing import Any, Final

import streamlit as st

from pages.ui import book, kept, pins, plans, result, store
from pages.ui.pins import Awaited
from pages.ui.result import in_background
from pages.ui.setting import Setting
from pages.ui.settings import MADE_BRANCHING, MADE_RECORDS, MADE_SEED, MADE_SHAPE, SAMPLE, SOURCE, name_of
from pages.ui.view import Seen
from pages.ui.view import tables_of as view_tables
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError
from treedp_core.notebook import Cell
from treedp_core.notebook.code import Ran, call
from treedp_core.records import Dataset
from treedp_core.studies.budget.question import FROM_FILE
from treedp_core.views import Entry, Tables, entry_of
from treedp_core.views.budget import PRIOR
from treedp_core.views.entries import Work
from treedp_core.views.inputs import Inputs, parameters_of

SLOT: Final = "again_work"


def entry(cell: Cell) -> Entry | None:
    """Return the view that made a cell; None where no view of this app did."""
    return entry_of(cell.page, cell.view, cell.part)


def unknown(cell: Cell) -> list[str]:
    """Return what settings of a cell are called whose values are not known here, as a plug-in's are without it."""
    view = entry(cell)
    found = []
    for one in parameters_of(view.inputs).values() if view is not None else ():
        try:
            one.parse(list(cell.settings[one.key])) if one.key in cell.settings else None
        except InputError:
            found.append(name_of(one.key))
    return found


def is_of_table(cell: Cell) -> bool:
    """Whether a cell is of the table that was in use, so that another table makes another figure."""
    view = entry(cell)
    return view is None or view.is_of_table(view.inputs.of_texts(cell.settings))


def tables_of(cell: Cell) -> Ran[Tables]:
    """Return the tables that a cell was made of, and the call that makes them.

    Raises
    ------
    InputError
        ``DATA_MISSING`` where they are not here; `store.Pending` while made-up data are on their way.
    """
    view = entry(cell)
    if cell.plan is not None:
        return call(Tables, plan=plans.given_again(cell.plan)).named("tables")
    inputs = None if view is None else view.inputs.of_texts(cell.settings)
    if view is not None and inputs is not None and not view.is_of_table(inputs):
        return view.elsewhere(inputs, store.used_sample)
    if why := other_prior(cell):
        raise InputError("DATA_MISSING", why)
    return view_tables(view, inputs, store.call_of(_data(cell)))


def other_prior(cell: Cell) -> str:
    """Return why a cell that was tuned on a file cannot be made again; nothing where it can, or was on no file."""
    if cell.settings.get(PRIOR, ("",))[0] not in FROM_FILE or not _tuned_on_file(cell):
        return ""
    prior = kept.of(PRIOR)
    if prior is None:
        return "The file that it was tuned on is not in this session."
    is_same = any(one.slot == PRIOR and one.note.fingerprint == prior.data.fingerprint for one in book.held().asked)
    was_there = prior.when.replace(microsecond=0) <= datetime.fromisoformat(cell.made)
    return "" if is_same or was_there else "The file that it was tuned on has been exchanged since."


def _tuned_on_file(cell: Cell) -> bool:
    """Whether a file was there to tune on when the cell was pinned; one without its code is taken to have had one."""
    return not cell.code or "prior=earlier" in cell.code


def tables_here(cell: Cell) -> Ran[Tables] | None:
    """Return the tables that a cell was made of; None where they are not here now."""
    try:
        return tables_of(cell)
    except InputError:
        return None


def _data(cell: Cell) -> Dataset:
    if cell.data is not None:
        print_ = cell.data.fingerprint
        found = next((one for one in pins.own_datasets() if one.fingerprint == print_), None)
        if found is None:
            raise InputError("DATA_MISSING", "Its data are not here.")
        return found
    named, view = cell.settings, entry(cell)
    if view is not None and view.sample is not None and (name := view.sample(view.inputs.of_texts(named))):
        return store.sample(name)
    of = {one.key: one.parse(named[one.key]) if one.key in named else one.default for one in _OF_DATA}
    if of[SOURCE.key] == "sample" and of[SAMPLE.key] in SAMPLES:
        return store.sample(of[SAMPLE.key])
    if of[SOURCE.key] == "generate":
        return store.generated(*(of[one.key] for one in _MADE))
    raise InputError("DATA_MISSING", "Its data are not here.")


_MADE: Final[tuple[Setting[Any], ...]] = (MADE_SHAPE, MADE_RECORDS, MADE_BRANCHING, MADE_SEED)
_OF_DATA: Final[tuple[Setting[Any], ...]] = (SOURCE, SAMPLE, *_MADE)


def end() -> None:
    """Hold the tables that cells were made of, and put what has come meanwhile into cells: at the end of a run."""
    cells = book.notebook().cells
    kept.hold([cell.data.fingerprint for cell in cells if cell.data is not None])
    awaiting: dict[str, Awaited] = st.session_state.get(pins.AWAITING, {})
    for cell in cells:
        if cell.id not in awaiting:
            continue
        slot, question, of = awaiting[cell.id]
        value, is_coming = result.come(slot, question, of)
        view, tables = entry(cell), tables_here(cell)
        if value is not None and view is not None and view.slow is not None and tables is not None:
            inputs = view.inputs.of_texts(cell.settings)
            if (work := view.slow(inputs, tables.value)) is not None:
                made = _cell(cell, view, inputs, tables, replace(work, question=question), value)
                book.change(methodcaller("put", made))
        if not is_coming:
            del awaiting[cell.id]


def made_again(cell: Cell) -> Cell | None:
    """Return a cell as its view makes it now; None while what takes long of it is on its way, in the slot `SLOT`.

    Raises
    ------
    InputError
        What the view, its inputs or `tables_of` refuse.
    """
    view = entry(cell)
    assert view is not None
    inputs, tables = view.inputs.of_texts(cell.settings), tables_of(cell)
    work = None if view.slow is None else view.slow(inputs, tables.value)
    stands = view.start == "button" and "simulation" not in cell.badges
    if work is None or (stands and not view.found(inputs, tables.value, memo=store.remember).is_empty):
        return _cell(cell, view, inputs, tables)
    of = (cell.id, *tables.value.fingerprints)
    found = in_background(SLOT, (view.name, work.question), work.steps, work.on(tables.value), of=of)
    if found.is_pending:
        return None
    if found.error is not None:
        raise found.error
    return _cell(cell, view, inputs, tables, work, found.here())


def _cell(
    cell: Cell, view: Entry, inputs: Inputs, tables: Ran[Tables], work: Work | None = None, value: object = None
) -> Cell:
    """A cell as its view makes it, with what its work found."""
    finding = view.found(inputs, tables.value, value, store.remember)
    seen = Seen(view, inputs, tables, result.ready(finding, inputs), work=work)
    made = pins.of_parts(
        pins.of_seen(seen), id=cell.id, name=cell.name, page=cell.page, view=cell.view, settings=cell.settings,
        about=finding.provenance.line(), plan=cell.plan,
    )  # fmt: skip
    return replace(made, note=cell.note)
