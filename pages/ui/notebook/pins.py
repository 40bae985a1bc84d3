"""Pin: what stands below every figure, and what the notebook keeps of one that is pinned."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from pages.ui.inputs.button_subjects import offer, taken
from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.text import lit
from pages.ui.notebook import book
from pages.ui.page import address, page
from pages.ui.page.view import Seen
from pages.ui.tables import plans, result, session_tables, store
from treedp_core import __version__
from treedp_core.checks import InputError
from treedp_core.notebook import Cell
from treedp_core.notebook.export import cell_summary
from treedp_core.notebook.export.program import slug
from treedp_core.views.cells.view_call import NO_NUMBERS
from treedp_core.views.inputs import parameters_of

CHANGE: Final = "move a control, or choose other data, then press Compare"
AWAITING: Final = "_cells_awaiting"
"""In the session: by the id of a cell what it waits for, as what takes long of it was on its way when it was pinned."""
Awaited = tuple[str, Hashable, Hashable]
"""The slot of a job, what it was asked, and of which tables."""


def button(seen: Seen[Any]) -> None:
    """Show the button that keeps a figure, unless the page is the notebook's own."""
    if not can_keep():
        return
    key, is_empty = seen.entry.part, seen.finding.is_empty
    offer(key, seen)
    st.button(
        "Pin", key=f"{key}_pin", icon=":material/keep:", type="tertiary", on_click=pin, args=(key,), disabled=is_empty,
        help=NO_NUMBERS if is_empty else
        "Keep it in the notebook of this session, with its settings, table, code and seed",
    )  # fmt: skip
    before = None if is_empty else last(key)
    if before is not None:
        st.button(
            "Compare", key=f"{key}_compare", icon=":material/compare:", type="tertiary", on_click=_compare,
            args=(key, before), help=f"Pin it, and put it beside {lit(book.notebook().cell(before).name, 40)}",
        )  # fmt: skip


def can_keep() -> bool:
    """Whether a page stands around a figure that it can be opened in again."""
    return page.shown() is not None


def last(part: str) -> str | None:
    """Return the id of the last cell of a figure."""
    return next((one.id for one in reversed(book.notebook().cells) if one.part == part), None)


def _compare(key: str, first: str) -> None:
    """Pin a figure, and show it beside another cell, from which it differs."""
    cell, other = _made(key), book.notebook().cell(first)
    if cell is not None and (cell.settings, cell.columns, cell.data) == (other.settings, other.columns, other.data):
        st.toast(f"Nothing has changed since {lit(other.name, 40)} was pinned: {CHANGE}.", icon=":material/compare:")
    elif cell is not None and _keep(cell):
        book.compare([first, cell.id])


def pin(key: str) -> None:
    """Keep a figure of the page as the last cell of the notebook."""
    cell = _made(key)
    if cell is not None and _keep(cell):
        if (awaited := taken(key).awaits) is not None:
            st.session_state.setdefault(AWAITING, {})[cell.id] = awaited
        st.toast(f"Pinned as {lit(cell.name)}: see the page Notebook.", icon=":material/keep:")


def _made(key: str) -> Cell | None:
    """Return what a figure of the page is kept as; None where it is refused, which is said."""
    try:
        cell = cell_of(taken(key), book.new_id(), name_now())
        return replace(cell, name=book.apart(cell))
    except InputError as error:
        refusal_in_passing(error)
        return None


def _keep(cell: Cell) -> bool:
    """Add a cell and open it on its page; whether there was room."""
    before = book.held().revision
    book.change(lambda notebook: notebook.add(cell))
    if book.held().revision > before:
        st.session_state[book.OPEN] = cell.id
    return book.held().revision > before


def cell_of(seen: Seen[Any], id: str, name: str) -> Cell:
    """Return the cell that a figure of the page is kept as.

    Raises
    ------
    InputError
        As of `ViewCall.cell`.
    """
    where, called = page.shown(), seen.called
    assert where is not None
    keys = {one.key for one in parameters_of(type(called.inputs)).values()}
    texts = {key: text for key, text in (address.settings_of(where) | store.stood_in()).items() if key not in keys}
    return called.cell(
        session_tables.tables(), id=id, name=name, page=where.name,
        view=where.view.name if where.switch is not None else "",
        settings=texts | called.inputs.texts(), about=cell_summary.plain(page.strip_shown()),
        besides=result.said_meanwhile(),
        plan=plans.to_keep() if where.name == "plan" else None, version=__version__,
    )  # fmt: skip


def what_of(part: str) -> str:
    """What a figure shows besides what its page and view say: its key without the word of its page.

    >>> what_of("con_boxes"), what_of("con_figure"), what_of("strips")
    ('boxes', '', 'strips')
    """
    words = part.split("_")
    return " ".join(word for word in words[len(words) > 1 :] if word not in ("figure", "live"))


def title_of(name: str, part: str) -> str:
    """What a file of one figure is called: as its cell is, and what it shows of that where this says more.

    >>> title_of("Consistency", "con_boxes"), title_of("Error lab: One draw", "lab_draw")
    ('Consistency boxes', 'Error lab: One draw')
    """
    what = what_of(part)
    return name if slug(name).endswith(slug(what)) else f"{name} {what}".strip()


def name_now() -> str:
    """What a cell is called at first: its page and view."""
    where = page.shown()
    assert where is not None
    view = "" if where.switch is None else f": {where.switch.label_of(where.view.name)}"
    return f"{where.title}{view}"
