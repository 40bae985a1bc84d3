"""Run again: pinned cells are made anew by their views, one after the other, each on the very table it was made of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from typing import Final

import streamlit as st

from pages.ui.inputs.text import lit, plain
from pages.ui.notebook import book, notebook_file, pins
from pages.ui.page import address, slides
from pages.ui.tables import plans, result, session_tables, store
from treedp_core import __version__
from treedp_core.checks import InputError
from treedp_core.notebook import Cell, Notebook
from treedp_core.views.cells.rerun import rerun_of
from treedp_core.words import plural

RUN: Final = "_run_again"
SLOT: Final = "again_work"
SAID: Final = 3
"""Cells that are named in a message."""


@dataclass
class _Again:
    """Cells that wait, the first of them under way; whether the next run `moves` on.

    Cells that are `new` have no figure of their own yet: they go where none was made. `then` ends it. Why cells
    `failed` stands by their ids.
    """

    waiting: list[str]
    failed: dict[str, str] = field(default_factory=dict)
    done: int = 0
    moves: bool = False
    new: tuple[str, ...] = ()
    then: Callable[[], None] | None = None


def start(ids: list[str], *, is_new: bool = False, then: Callable[[], None] | None = None) -> None:
    """Begin to run cells again: in a callback; `then` is done at the end, and what came of it is said."""
    if ids:
        st.session_state[RUN] = _Again(list(ids), new=tuple(ids) if is_new else (), then=then)


def is_under_way() -> bool:
    """Whether cells are being run again."""
    return _again() is not None


def begin() -> None:
    """Make the next cell, where one is to be, and say how far all are; before any control is drawn."""
    again = _again()
    if again is not None and again.moves:
        again.moves = False
        if not again.waiting:
            _end()
        st.rerun()
    if again is not None:
        _make(again)
        total = len(again.waiting) + again.done + len(again.failed)
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.caption(f":material/replay: Running {plural(total, 'cell')} again: {again.done + len(again.failed)} done.")
        right.button("Stop", key="again_stop", on_click=_end, help="Cells that were not run again stay as they are.")


def _make(again: _Again) -> None:
    """Have the view of the first cell make it again, where there is one."""
    cell = next((one for one in book.notebook().cells if one.id == again.waiting[0]), None)
    try:
        made = None if cell is None else _made_again(cell)
    except store.Pending:
        result.progress(store.MAKING, "Making the data", "data sets", can_stop=False)
        return
    except InputError as error:
        _went(again, cell, str(error).rstrip("."))
        return
    if cell is not None and made is None:
        result.progress(SLOT, "Simulating", "runs")
        return
    before = book.held().revision
    if made is not None:
        book.change(methodcaller("put", made))
    _went(again, cell, "" if book.held().revision > before else "there is no room for it")


def _made_again(cell: Cell) -> Cell | None:
    """A cell as its view makes it now; None while what takes long of it is on its way, in the slot `SLOT`."""
    rerun = rerun_of(cell, book.sources())
    work = rerun.work
    if work is None or not rerun.needs_work:
        return rerun.made(__version__)
    tables = rerun.tables.value
    of = (cell.id, *tables.fingerprints)
    found = result.in_background(SLOT, (rerun.entry.name, work.question), work.steps, work.on(tables), of=of)
    return None if found.is_pending else rerun.made(__version__, found.here())


def end() -> None:
    """Hold the tables that cells were made of, and put what has come meanwhile into cells: at the end of a run."""
    cells = book.notebook().cells
    session_tables.hold([cell.data.fingerprint for cell in cells if cell.data is not None])
    awaiting: dict[str, pins.Awaited] = st.session_state.get(pins.AWAITING, {})
    for cell in cells:
        if cell.id not in awaiting:
            continue
        slot, question, of = awaiting[cell.id]
        value, is_coming = result.come(slot, question, of)
        if value is not None:
            with suppress(InputError):
                rerun = rerun_of(cell, book.sources())
                if rerun.work is not None:
                    rerun = replace(rerun, work=replace(rerun.work, question=question))
                    book.amend(partial(_with, rerun.made(__version__, value)))
        if not is_coming:
            del awaiting[cell.id]


def _went(again: _Again, cell: Cell | None, why: str) -> None:
    """Note how it went with the first cell, and go on with the next."""
    if cell is not None and why:
        again.failed[cell.id] = why
    elif cell is not None:
        again.done += 1
        again.new = tuple(one for one in again.new if one != cell.id)
    del again.waiting[0]
    again.moves = True
    st.rerun()


def _with(made: Cell, notebook: Notebook) -> Notebook:
    """A notebook with what has come for one of its cells, where it has that cell."""
    return notebook.put(made) if notebook.has(made.id) else notebook


def put_back(cell: Cell) -> list[tuple[str, InputError]]:
    """Set everything as it was for a cell: settings, its own table where it is kept now, its plan; return refusals."""
    refused = address.put_back(cell.page, cell.settings)
    store.turn_to(cell)
    if cell.page == "plan":
        plans.of_cell(cell.plan)
    return refused


def _end() -> None:
    """Say what came of it, and show the notebook or what was to follow."""
    again = st.session_state.pop(RUN, None)
    if again is None:
        return
    for id in again.new:
        if any(one.id == id for one in book.notebook().cells):
            book.change(methodcaller("delete", id))
    slides.open_page("notebook")
    if again.then is not None:
        again.then()
    names = {one.id: lit(one.name, 40) for one in book.notebook().cells}
    failed = [f"{names[id]} ({plain(why)})" for id, why in again.failed.items() if id in names]
    more = f" and {len(failed) - SAID} more" if len(failed) > SAID else ""
    said = f" Not made again, so as before: {', '.join(failed[:SAID])}{more}." if failed else ""
    notebook_file.tell(f"{plural(again.done, 'cell')} made again.{said}")


def _again() -> _Again | None:
    again: _Again | None = st.session_state.get(RUN)
    return again
