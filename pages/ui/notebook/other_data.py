"""The same figure on other data, beside one that was pinned: another table, another hierarchy, another sample."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.text import lit
from pages.ui.notebook import book, pins, rerun
from pages.ui.tables import session_tables, store
from sample_data.catalogue import SAMPLES
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.notebook import Cell
from treedp_core.notebook.cell import DataNote
from treedp_core.notebook.code import Ran
from treedp_core.notebook.study import note_of
from treedp_core.notebook.validators import settings as texts
from treedp_core.records import count_hierarchy
from treedp_core.records.export.columns import source_line
from treedp_core.views.cells.rerun import is_of_table

SLOT: Final = "upload"
_ASKED: Final = "_other_data_of"


def button(part: str) -> None:
    """Show what puts the figure on other data beside the last pin of it, once there is one that is of a table."""
    last = pins.last(part)
    if last is None or not is_of_table(book.notebook().cell(last)):
        return
    st.button(
        "Other data", key=f"{part}_other", icon=":material/table_view:", type="tertiary", on_click=_ask, args=(part,),
        help=f"Compare {lit(book.notebook().cell(last).name, 40)} with the same figure on other data",
    )  # fmt: skip
    if st.session_state.get(_ASKED) == part:
        del st.session_state[_ASKED]
        _choose(part, last)


def _ask(part: str) -> None:
    st.session_state[_ASKED] = part


@st.dialog("The same figure on other data", width="medium", icon=":material/table_view:")
def _choose(part: str, last: str) -> None:
    """Ask on which data; once that is said the dialog goes."""
    if rerun.is_under_way():
        st.rerun()
    st.caption("It is made there by the settings of the pinned figure, and both are shown side by side.")
    _tables(part, last)
    _hierarchy(part, last)
    _samples(part, last)


def _tables(part: str, last: str) -> None:
    for nth, table in enumerate(session_tables.shelf()):
        levels = " › ".join(lit(name, 24) for name in table.data.labels.level_names[1:])
        st.button(f"{lit(table.data.name, 40)}: {levels}", key=f"{part}_other_table_{nth}", on_click=_on_table,
                  args=(last, nth), help="This table, by the settings of the pinned figure.")  # fmt: skip


def _samples(part: str, last: str) -> None:
    if book.notebook().cell(last).data is not None:
        return
    mine = book.notebook().cell(last).settings
    for name, one in SAMPLES.items():
        if mine.get("source") or (name,) != mine.get("sample", ("small_town",)):
            told = f"This sample, by the settings of the pinned figure. {source_line(one.credit)}".strip()
            st.button(one.title, key=f"{part}_other_{name}", on_click=_on_sample, args=(last, name), help=told)


def _hierarchy(part: str, last: str) -> None:
    """Ask for other columns of the table in use, where it can be counted by them at once."""
    table = session_tables.of(SLOT)
    columns = None if table is None else table.columns
    if table is None or columns is None or table.domain_for(()) is None or columns.size > session_tables.MOST_ROWS:
        return
    if store.dataset() is not table.data or len(session_tables.shelf()) >= session_tables.MAX_TABLES - 1:
        return
    key = f"{part}_other_columns_{table.data.fingerprint[:8]}"
    chosen = st.multiselect(
        f"Another hierarchy of {lit(table.data.name, 40)}", columns.preview.columns, key=key,
        default=[name for name in table.data.labels.level_names[1:] if name in columns.preview.columns],
        max_selections=checks.MAX_LEVEL_COLUMNS, help="Columns from coarse to fine. The table in use stays as it is.",
    )  # fmt: skip
    st.button("Count and compare", key=f"{part}_other_count", type="primary", on_click=_on_columns, args=(last, key),
              disabled=not chosen,
              help="The table is kept besides, as one that waits.")  # fmt: skip


def _on_columns(last: str, key: str) -> None:
    table, columns = session_tables.of(SLOT), tuple(st.session_state[key])
    assert table is not None and table.ran is not None
    domain = table.domain_for(columns)
    try:
        if domain is None:
            raise InputError("DOMAIN_MISSING", "No values are listed for these columns: count them on Data and tree.")
        how = {**table.ran.kwargs, "domain": domain}
        ran = Ran(count_hierarchy, (table.ran.args[0], list(columns)), how, table.ran.name, table.ran.about)
        given = {name: one.value if isinstance(one, Ran) else one for name, one in how.items()}
        data = count_hierarchy(table.columns, list(columns), name=table.data.name, **given)
    except InputError as error:
        refusal_in_passing(error)
        return
    session_tables.wait(session_tables.Kept(data, ran.giving(data), table.columns))
    _on_table(last, len(session_tables.shelf()) - 1)


def _on_table(last: str, nth: int) -> None:
    """Have the figure made of a table that waits."""
    table, was = session_tables.shelf()[nth], book.notebook().cell(last).data
    is_same_file = was is not None and was.name == table.data.name
    named = ", ".join(table.data.labels.level_names[1:]) if is_same_file else table.data.name
    _make(last, named, {"source": (SLOT,)}, note_of(table.data, table.ran))


def _on_sample(last: str, name: str) -> None:
    _make(last, SAMPLES[name].title, {"source": ("sample",), "sample": (name,)}, None)


def _make(last: str, named: str, changed: dict[str, tuple[str, ...]], data: DataNote | None) -> None:
    """Put a copy of a cell behind it, if there is room, and have it made anew of other data; both are shown then."""
    new, before = book.new_id(), book.held().revision
    name = book.name_for(f"{book.notebook().cell(last).name[:60]}, {named[:50]}")

    def copy(cell: Cell) -> Cell:
        return replace(cell, id=new, name=name, note="", settings=texts({**cell.settings, **changed}), data=data)

    book.change(lambda notebook: notebook.duplicate(last, new).put(copy(notebook.cell(last))))
    if book.held().revision > before:
        rerun.start([new], is_new=True, then=partial(_show_both, last, new))


def _show_both(first: str, new: str) -> None:
    book.compare([one.id for one in book.notebook().cells if one.id in (first, new)])
