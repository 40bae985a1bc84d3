"""Run again: pinned cells are made anew in their own pages, one after the other, each on its own table if it is here.

Where that is not here any more, the data in use now take its place.

A page is shown with a cell's settings; once nothing of it is computed any more, its figure takes the cell's place. Then
the next page is shown, and at the end the notebook, with every setting as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any, Final

import streamlit as st

from pages.ui import address, book, jobs, kept, notebook_file, page, pins, plans, rerun, result, slides, store
from pages.ui.offered import taken
from pages.ui.settings import REG, is_page, name_of
from pages.ui.text import lit
from treedp_core.checks import InputError
from treedp_core.notebook import Cell
from treedp_core.views.parameters import PLUG_IN
from treedp_core.words import plural

RUN: Final = "_run_again"
LEFT: Final = "_not_made_again"
"""Where a session has why cells were not made again the last time, by their ids."""
NOT_SHOWN: Final = "its page did not show it"
UNKNOWN: Final = "its choice is not known here"
NO_DATA: Final = "its data are not here"
SAID: Final = 3
"""Cells that are named in a message."""


@dataclass
class _Again:
    """Cells that wait, the first of them under way; how settings and `tables` were; whether the next run `moves` on.

    Cells that are `new` have no figure of their own yet: they go where none was made. `then` ends it. Why cells
    `failed` stands by their ids; `refused` are settings of the first that are not known here.
    """

    waiting: list[str]
    back: dict[str, Any]
    tables: Any
    failed: dict[str, str] = field(default_factory=dict)
    done: int = 0
    moves: bool = False
    new: tuple[str, ...] = ()
    then: Callable[[], None] | None = None
    plan: plans.Kept | None = None
    refused: tuple[str, ...] = ()


def start(ids: list[str], *, is_new: bool = False, then: Callable[[], None] | None = None) -> None:
    """Begin to run cells again: in a callback; `then` is done when every setting is as it was, else they are shown."""
    if ids:
        back = {key: one.value for key, one in REG.items()}
        new = tuple(ids) if is_new else ()
        st.session_state[RUN] = _Again(list(ids), back, kept.places(), new=new, then=then, plan=plans.kept())
        st.session_state[page.OPEN_MORE] = True
        _show(book.notebook().cell(ids[0]))


def is_under_way() -> bool:
    """Whether cells are being run again."""
    return _again() is not None


def begin() -> None:
    """Show the next cell, where one is to be, and how far all are; before any control is drawn."""
    again = _again()
    if again is not None and again.moves:
        again.moves = False
        if again.waiting:
            kept.put_in_places(again.tables)
            _show(book.notebook().cell(again.waiting[0]))
        else:
            _end()
        st.rerun()
    if again is not None:
        _by_view(again)
        total = len(again.waiting) + again.done + len(again.failed)
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.caption(f":material/replay: Running {plural(total, 'cell')} again: {again.done + len(again.failed)} done.")
        right.button("Stop", key="again_stop", on_click=_end, help="Cells that were not run again stay as they are.")


def _by_view(again: _Again) -> None:
    """Have the view of the first cell make it again, where it has one; else its page does."""
    cell = next((one for one in book.notebook().cells if one.id == again.waiting[0]), None)
    if cell is None or rerun.entry(cell) is None:
        return
    if refused := rerun.unknown(cell):
        _went(again, cell, f"{UNKNOWN}: {', '.join(refused)}")
        return
    try:
        made = rerun.made_again(cell)
    except store.Pending:
        result.progress(store.MAKING, "Making the data", "data sets", can_stop=False)
        return
    except InputError as error:
        _went(again, cell, NO_DATA if error.code == "DATA_MISSING" else str(error).rstrip("."))
        return
    if made is None:
        result.progress(rerun.SLOT, "Simulating", "runs")
        return
    before = book.held().revision
    book.change(lambda notebook: notebook.put(made))
    _went(again, cell, "" if book.held().revision > before else NOT_SHOWN)


def _went(again: _Again, cell: Cell, why: str) -> None:
    """Note how it went with the first cell, and go on with the next."""
    if why:
        again.failed[cell.id] = why
    else:
        again.done += 1
        again.new = tuple(one for one in again.new if one != cell.id)
    del again.waiting[0]
    again.moves = True
    st.rerun()


def step() -> None:
    """Go on with what is run again; called at the end of every run."""
    again = _again()
    if again is None or again.moves:
        return
    cell = next((one for one in book.notebook().cells if one.id == again.waiting[0]), None)
    if cell is not None and rerun.entry(cell) is not None:
        return
    of_page = cell if cell is not None and is_page(cell.page) and not again.refused else None
    if of_page is not None and (_is_elsewhere(of_page) or any(one.is_running for one in jobs.jobs().slots.values())):
        return
    if of_page is not None and result.is_awaited():  # it came after the page was drawn
        st.rerun()
    unknown = f"{UNKNOWN}: {', '.join(again.refused)}" if again.refused else NOT_SHOWN
    why = unknown if of_page is None else _put(of_page, is_new=of_page.id in again.new)
    if of_page is not None and not why:
        again.done += 1
        again.new = tuple(one for one in again.new if one != of_page.id)
    elif cell is not None:
        again.failed[cell.id] = why
    del again.waiting[0]
    again.moves = True
    st.rerun()


def _put(cell: Cell, *, is_new: bool) -> str:
    """Put what the page has shown in place of a cell; return why not, where it did not show it."""
    try:
        made = replace(pins.cell_of(taken(cell.part), cell.id, cell.name), note=cell.note)
    except (InputError, KeyError):
        return NOT_SHOWN
    if not is_new and _is_of_a_sample_instead(cell, made):
        return NO_DATA
    before = book.held().revision
    book.change(lambda notebook: notebook.put(made))
    return "" if book.held().revision > before else NOT_SHOWN


def _is_of_a_sample_instead(cell: Cell, made: Cell) -> bool:
    """Whether a cell of one's own table was made of the sample that is in use while there is no such table."""
    if cell.plan is not None:  # a plan is of the data it was made for, whatever is in use
        return False
    named, now = (one.about.partition(" · ")[0] for one in (cell, made))
    return made.data is None and (cell.data is not None or (store.is_lost() and named not in ("", now)))


def _is_elsewhere(cell: Cell) -> bool:
    """Whether the page of a cell is not the one that has just been shown."""
    where = page.shown()
    return where is None or where.name != cell.page


def _show(cell: Cell) -> None:
    if rerun.entry(cell) is not None:
        return
    st.session_state[result.START_ALL] = "simulation" in cell.badges
    st.session_state[RUN].refused = tuple(name_of(key) for key, _ in put_back(cell))
    slides.open_page(cell.page)


def put_back(cell: Cell) -> list[tuple[str, InputError]]:
    """Set everything as it was for a cell: settings, its own table where it is kept now, its plan; return refusals."""
    refused = address.put_back(cell.page, cell.settings)
    store.turn_to(cell)
    if cell.page == "plan":
        plans.of_cell(cell.plan)
    return refused


def _end() -> None:
    """Put every setting back, and say what came of it."""
    again = st.session_state.pop(RUN, None)
    st.session_state.pop(result.START_ALL, None)
    st.session_state.pop(page.OPEN_MORE, None)
    if again is None:
        return
    st.session_state[LEFT] = again.failed
    kept.put_in_places(again.tables)
    for key, value in again.back.items():
        REG[key].set(value)
    plans.put_back(again.plan)
    for id in again.new:
        if any(one.id == id for one in book.notebook().cells):
            book.change(methodcaller("delete", id))
    slides.open_page("notebook")
    if again.then is not None:
        again.then()
    names = {one.id: lit(one.name, 40) for one in book.notebook().cells}
    failed = [f"{names[id]} ({why})" for id, why in again.failed.items() if id in names]
    more = f" and {len(failed) - SAID} more" if len(failed) > SAID else ""
    said = f" Not made again, so as before: {', '.join(failed[:SAID])}{more}." if failed else ""
    more_is = f" {PLUG_IN}" if any(why.startswith(UNKNOWN) for why in again.failed.values()) else ""
    notebook_file.tell(f"{plural(again.done, 'cell')} made again.{said}{more_is}")


def _again() -> _Again | None:
    again: _Again | None = st.session_state.get(RUN)
    return again
