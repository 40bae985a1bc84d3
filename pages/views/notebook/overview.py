"""All cells in their order: moved, opened, and what is asked for before one can go on."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.figure import export_dialog
from pages.ui.inputs.setting import choice, in_a_row
from pages.ui.notebook import book, rerun, undo
from pages.ui.page.page import Told
from pages.ui.page.scripts import sortable
from pages.ui.tables import session_tables
from pages.ui.upload import required_tables
from pages.views.notebook import cell as words
from pages.views.notebook.cell import empty
from treedp_core.notebook import Cell
from treedp_core.words import plural

# Settings of the page Notebook, with their controls.

VIEWS: Final = {"cell": "One cell", "all": "All cells", "compare": "Compare"}

VIEW: Final = choice(
    "nb_view",
    "cell",
    VIEWS,
    label="View",
    help="A cell with its figure; every cell in order; two to four on the same axes.",
)

SETTINGS: Final = (VIEW,)


def show() -> Told:
    """Show the title of the notebook and its cells, each with where it came from."""
    notebook = book.notebook()
    if not notebook.cells:
        empty()
        required_tables.show()
        return Told("no cells", "")
    if st.session_state.get("nb_title") != notebook.title:  # also where another notebook was opened; a refused one goes
        st.session_state["nb_title"] = notebook.title
    with in_a_row():
        st.text_input("Title", key="nb_title", max_chars=120, on_change=_titled, width=480,
                      help="What the notebook and its file are called.")  # fmt: skip
        export_dialog.cells_button(notebook.cells, notebook.title, key="nb_export_all")
        st.button("Run all again", key="nb_again_all", icon=":material/replay:", on_click=rerun.start,
                  args=([one.id for one in notebook.cells],),
                  help="Every cell is made anew: on its own table if it is here, else on the one in use. Names and "
                  "notes stay.")  # fmt: skip
        undo.buttons()
    ids = {f"{at}. {one.name}": one.id for at, one in enumerate(notebook.cells, 1)}
    own = session_tables.datasets()
    rows = {
        name: _note(cell, bool(words.stale(cell, own))) for name, cell in zip(ids, notebook.cells, strict=True)
    }  # fmt: skip
    sortable(
        "Cells of the notebook", rows, key=f"nb_order_{book.held().revision}",
        on_move=lambda order: book.change(lambda held: held.reorder([ids[name] for name in order])),
        on_choose=lambda name: _open(ids[name]),
    )  # fmt: skip
    required_tables.show()
    badges = {badge for one in notebook.cells for badge in one.badges}
    return Told(plural(len(notebook.cells), "cell"), "NOT PRIVATE" if "NOT PRIVATE" in badges else "")


def _note(cell: Cell, is_stale: bool) -> str:
    parts = [
        *words.short_of(cell),
        *cell.badges,
        "not up to date" if is_stale else "",
        "note" if cell.note else "",
    ]
    return " · ".join(filter(None, parts))


def _open(id: str) -> None:
    st.session_state[book.OPEN] = id
    VIEW.set("cell")


def _titled() -> None:
    book.change(lambda notebook: notebook.entitled(st.session_state["nb_title"]))
