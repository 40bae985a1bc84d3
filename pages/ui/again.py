"""Run again: pinned cells are made anew by their views, one after the other, each on the very table it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Final

import streamlit as st

from pages.ui import address, book, notebook_file, plans, rerun, result, slides, store
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
    if cell is None or rerun.entry(cell) is None:
        _went(again, cell, NOT_SHOWN)
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
    st.session_state[LEFT] = again.failed
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
