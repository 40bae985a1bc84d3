"""One cell: its figure, what it says, the user's note, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import export_dialog, frame
from pages.ui.inputs import settings
from pages.ui.inputs.refusals import refusal, settings_refused
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import is_page
from pages.ui.inputs.text import lit, plain, prose, small_print
from pages.ui.notebook import book, notebook_file, pins, rerun, undo
from pages.ui.page import slides
from pages.ui.page.navigation import link
from pages.ui.page.page import Told, show_badge
from pages.ui.session.download import download
from pages.ui.tables import session_tables
from pages.ui.upload import required_tables
from sample_data.catalogue import SAMPLES
from treedp_core import __version__
from treedp_core.checks import InputError
from treedp_core.figures.base.cell_figures import redrawn
from treedp_core.notebook import Cell
from treedp_core.notebook.cell import MAX_NAME
from treedp_core.notebook.export.cell_summary import safe_markdown
from treedp_core.notebook.export.program import export_name
from treedp_core.notebook.export.script import tables_of
from treedp_core.notebook.validators import MAX_TEXT
from treedp_core.records import Dataset
from treedp_core.records.export.columns import Columns, source_line
from treedp_core.records.export.tables import IN_NAMES, csv_bytes, zipped
from treedp_core.words import bare, plural

# What the page Notebook says of a cell.

EMPTY: Final = (
    "Nothing is pinned yet. Below every figure and table there is **Pin**: it keeps the figure here, with its "
    "settings, numbers, code and seed, to be named, annotated, compared and saved."
)
LEARNT: Final = (
    "A figure without the settings it came from is worth little tomorrow. A cell keeps both, so that it can be opened "
    "in its page again and run again on other data. A saved notebook with data holds true counts: treat it as the data."
)


def stale(cell: Cell, own: Sequence[Dataset]) -> str:
    """Return why a cell is not what its page would show now; nothing where it is."""
    if cell.data is not None and all(one.fingerprint != cell.data.fingerprint for one in own):
        if any(one.name == cell.data.name for one in own):
            return f"{lit(cell.data.name, 40)} has changed since: it is another file, or was counted in another way."
        return f"{lit(cell.data.name, 40)} is not in this session."
    if cell.version != __version__:
        return f"Made with TreeDP {plain(cell.version)}; this is {__version__}."
    return book.sources().other_prior(cell)


def made_from(cell: Cell) -> str:
    """Return what a cell was made from, as its page said it, and when."""
    return f"{safe_markdown(cell.about) or _before(cell)} · {plain(cell.made[:16].replace('T', ' '))}"


def short_of(cell: Cell) -> list[str]:
    """Return the data a cell was made from and what was spent, as text only."""
    epsilon = _spent(cell)
    about = cell.about.split(" · ") if cell.about else [_data_of(cell), f"ε = {epsilon}"]
    return [about[0][:40], *(one for one in about[1:] if one.startswith(("ε", "ρ")))]


def _data_of(cell: Cell) -> str:
    """Return the name of the data a cell was made from, as text only; nothing where a file without data has none."""
    given = cell.settings
    if cell.data is not None or (cell.figure is None and cell.columns is None):
        return "" if cell.data is None else cell.data.name
    if given.get("source", ("sample",))[0] == "generate":
        return "Made-up data"
    name = given.get("sample", (settings.SAMPLE.default,))[0]
    return SAMPLES[name].title if name in SAMPLES else name


def _before(cell: Cell) -> str:
    """What a cell was made from, as its settings have it: older ones keep no more."""
    epsilon, seed = plain(_spent(cell)), "" if cell.seed is None else f" · seed {cell.seed}"
    return " · ".join(filter(None, (lit(_data_of(cell), 40), f"ε = {epsilon}{seed}")))


def _spent(cell: Cell) -> str:
    return cell.settings.get("eps", (bare(settings.EPSILON.default),))[0]


EDIT: Final = "nb_edit"


def show() -> Told:
    """Show the cell that is looked at; without any, how to get one."""
    cell = book.opened()
    if cell is None:
        empty()
        required_tables.show()
        return Told("no cells", "")
    _controls(cell)
    _drawing(cell)
    _footer(cell)
    required_tables.show()
    return Told(made_from(cell), ",".join(cell.badges), more=partial(_more, cell))


def empty(said: str = EMPTY) -> None:
    """Say how a figure, or another one, comes here."""
    st.info(said, icon=":material/keep:")
    with st.container(horizontal=True):
        undo.buttons()
        link("lab", "Errors to pin")
        link("budget", "Budgets to pin")
        link("data", "Your own data first")


def _controls(cell: Cell) -> None:
    cells = book.notebook().cells
    names = {one.id: f"{at}. {one.name}" for at, one in enumerate(cells, 1)}
    if st.session_state.get(book.OPEN) != cell.id:
        st.session_state[book.OPEN] = cell.id
    with in_a_row():
        st.selectbox(
            "Cell", list(names), key=book.OPEN, format_func=names.__getitem__, width=260, persist_state="session",
            help="Which of the cells is shown; the last one pinned at first.",
        )  # fmt: skip
        st.button("Open in its page", key="nb_follow", icon=":material/open_in_new:", on_click=follow, args=(cell,),
                  help="With all settings that it was made with; those of the other pages stay.")  # fmt: skip
        with st.popover("Edit", icon=":material/edit:", key=EDIT, on_change="rerun",
                        help="Name, note, copy, delete") as shown:  # fmt: skip
            if shown.open:
                _edit(cell)


def _edit(cell: Cell) -> None:
    name, note = f"nb_name_{cell.id}", f"nb_note_{cell.id}"
    st.session_state.setdefault(name, cell.name)
    st.session_state.setdefault(note, cell.note)
    st.text_input("Name", key=name, max_chars=MAX_NAME, on_change=_renamed, args=(cell.id, name),
                  help="What the cell is called in the lists and in exports.")  # fmt: skip
    st.text_area("Note", key=note, max_chars=MAX_TEXT, height=200, on_change=_annotated, args=(cell.id, note),
                 help="Markdown: headings, lists, **bold**, code. Pictures and links stay as they are written: a "
                 "note must ask for nothing elsewhere.")  # fmt: skip
    with st.container(horizontal=True):
        st.button("Run again", key="nb_again", icon=":material/replay:", on_click=rerun.start, args=([cell.id],),
                  help="Make it anew in its page, on its own table if it is here, else on the one in use.")  # fmt: skip
        st.button("Copy", key="nb_copy", icon=":material/content_copy:", on_click=_copy, args=(cell.id,),
                  help="Another cell like this one, behind it.")  # fmt: skip
        st.button("Delete", key="nb_delete", icon=":material/delete:", on_click=_delete, args=(cell.id,),
                  help="Take this cell out of the notebook.")  # fmt: skip


def _drawing(cell: Cell) -> None:
    alt = cell.alt or cell.name
    if cell.figure is not None:
        try:
            fig = frame.dressed(redrawn(cell.figure), on_stage=True)
            frame.chart(fig, key=f"nb_figure_{cell.id}", alt=alt, on_stage=True)
        except InputError as error:
            refusal(error)
    elif cell.columns is not None:
        with st.container(key=frame.STAGE):
            frame.plain_table(cell.columns, alt=alt)
    else:
        st.info(
            "This cell came without its figure, as the notebook was saved without data: open it in its page to see it "
            "again.", icon=":material/visibility_off:",
        )  # fmt: skip
    frame.say(cell.answer or cell.caption or lit(cell.name))
    if why := stale(cell, session_tables.datasets()):
        small_print(f":material/update: **Not up to date.** {why}")
    if cell.note:
        with st.container(key="nb_note"):
            st.markdown(safe_markdown(cell.note))


def _footer(cell: Cell) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        undo.buttons()
        if (cell.caption or cell.credit) and cell.answer:
            with st.popover("About", icon=":material/info:", type="tertiary", help="How to read it, and its source"):
                prose("\n\n".join(filter(None, (cell.caption, safe_markdown(source_line(cell.credit))))))
        if cell.code:
            with st.popover("Code", icon=":material/code:", type="tertiary", help="The call that gave these numbers"):
                st.code(cell.code, language="python")
        if cell.columns is not None:
            _data(cell)
        export_dialog.cells_button([cell], cell.name, key="nb_export")


def _data(cell: Cell) -> None:
    """Offer the table, what is true apart from what is released."""
    title = pins.title_of(cell.name, cell.part)
    files = tables_of(cell, export_name(title, private=False))
    name = export_name(title, private=any(IN_NAMES in one for one in files))
    if len(files) == 1:
        write, name, mime = partial(csv_bytes, *files.values()), f"{name}.csv", "text/csv"
    else:
        write, name, mime = partial(_files, files), f"{name}.zip", "application/zip"
    download("Data", write, name=name, mime=mime, key="nb_data", type="tertiary",
             help="The numbers behind the figure, as CSV")  # fmt: skip


def _files(files: Mapping[str, Columns]) -> bytes:
    return zipped({f"{name}.csv": csv_bytes(table) for name, table in files.items()})


def _more(cell: Cell) -> None:
    settings = {key: ", ".join(values) for key, values in cell.settings.items()}
    prose(f"**Settings that differed from their defaults:** {plural(len(settings), 'setting')}.")
    frame.plain_table(
        {"setting": list(settings), "value": list(settings.values())}, alt="The settings of this cell", width="content",
    )  # fmt: skip
    if cell.data is not None:
        levels = " › ".join(lit(name, 40) for name in cell.data.levels)
        prose(
            f"**Data:** {lit(cell.data.name)}, {levels}; categories {cell.data.domain}; fingerprint "
            f"`{cell.data.fingerprint[:16]}`."
        )
    for badge in cell.badges:
        show_badge(badge)


def follow(cell: Cell) -> None:
    """Open a cell in its page with all its settings: in a callback."""
    if not is_page(cell.page):
        notebook_file.tell("This TreeDP has no page that made this cell; the cell stays as it is.")
        return
    refused = rerun.put_back(cell)
    if refused:
        notebook_file.tell(settings_refused(refused, "Not taken: "))
    slides.open_page(cell.page)


def _renamed(id: str, key: str) -> None:
    book.change(lambda notebook: notebook.rename(id, st.session_state[key]))
    if book.notebook().cell(id).name != st.session_state[key]:
        st.session_state[key] = book.notebook().cell(id).name


def _annotated(id: str, key: str) -> None:
    book.change(lambda notebook: notebook.annotate(id, st.session_state[key] or ""))


def _copy(id: str) -> None:
    """Put a copy behind a cell, and look at it."""
    new, name = book.new_id(), book.name_for(book.notebook().cell(id).name[: MAX_NAME - 4])
    book.change(lambda notebook: notebook.duplicate(id, new).rename(new, name))
    if any(one.id == new for one in book.notebook().cells):
        st.session_state[book.OPEN] = new


def _delete(id: str) -> None:
    """Take a cell out, and close what it was edited in: another press there would take out the next one."""
    cells = [one.id for one in book.notebook().cells]
    at = cells.index(id)
    book.change(lambda notebook: notebook.delete(id))
    left = [one for one in cells if one != id]
    st.session_state[book.OPEN] = left[min(at, len(left) - 1)] if left else None
    st.session_state[EDIT] = False
