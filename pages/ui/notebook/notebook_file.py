"""Save and open a notebook: the buttons, what they say of true counts, and a file on its way in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.inputs.refusals import refusal, settings_refused
from pages.ui.inputs.text import lit
from pages.ui.notebook import book, session_study
from pages.ui.session import uploads
from pages.ui.session.download import download
from pages.ui.tables import result, session_tables, worker_read
from treedp_core.checks import InputError
from treedp_core.notebook.file.archive import admit, file_name, open_study, save
from treedp_core.notebook.study import Study
from treedp_core.words import plural

MIME: Final = "application/vnd.treedp+zip"
SLOT: Final = "notebook_file"
PLACES: Final = ("page", "side")
"""Of the buttons that save and open it: beside the page's own views, and in the sidebar of every page."""
_STATE: Final = "_notebook_file"


@dataclass
class _State:
    """How often a file was taken from the uploader, which is empty then. `said` is what the next run says of it.

    `coming` is what the next run begins with.
    """

    nth: int = 0
    said: str = ""
    coming: Study | None = None


def begin() -> None:
    """Open what was read while there was nothing to lose; before any control is drawn."""
    state = _state()
    study, state.coming = state.coming, None
    if study is not None:
        replace(study)


def popover(place: str, *, label: str = "Notebook", besides: Callable[[], None] = lambda: None) -> None:
    """Show what saves and opens the notebook, below a button; `place` tells one such button from another.

    `besides` shows what else is said where it is saved.
    """
    with st.popover(
        label, icon=":material/book_2:", key=_key(place), on_change="rerun",
        help="Save this session's work in a file, or open one",
    ) as shown:  # fmt: skip
        if shown.open:
            save_buttons(place)
            besides()
            opener(place)
    _say()


def save_buttons(place: str) -> None:
    """Show what saves the session: its notebook, settings and, if asked for, its own data sets."""
    study = session_study.study()
    n_cells, n_tables = len(study.notebook.cells), len(study.tables)
    st.markdown(f"**Save** {plural(n_cells, 'cell')} and the settings of every page.")
    if n_tables and _opens_again(study):
        _button(
            place, study, with_data=True, label="Save with data (TRUE COUNTS)",
            help=f"NOT PRIVATE: the file holds the true counts of {plural(n_tables, 'data set')}, and whatever was "
            "pinned. Columns of a file that are kept besides its counts are not saved.",
        )  # fmt: skip
        st.caption(
            ":red[NOT PRIVATE]: with data the file holds TRUE COUNTS. Without data it holds settings, notes, "
            "fingerprints and what does not depend on counts; a guess of the data can be tested with a fingerprint."
        )
    _button(
        place, study, with_data=False, label="Save without data",
        help="Settings, notes and what does not depend on counts of your files.",
    )  # fmt: skip


def _opens_again(study: Study) -> bool:
    """Whether the session with its data can be opened again once it is saved; says so where it cannot."""
    try:
        admit(study.tables, sum(book.held().weights.values()))
    except InputError as error:
        refusal(error)
        return False
    return True


def _button(place: str, study: Study, *, with_data: bool, label: str, help: str) -> None:
    download(
        label, partial(save, study, with_data=with_data), mime=MIME, help=help,
        name=file_name(study.notebook.title, with_data=with_data),
        key=f"{place}_save_{'with' if with_data else 'without'}",
    )  # fmt: skip


def opener(place: str) -> None:
    """Show what opens a notebook; what is here stays until the file was read and found sound."""
    if uploads.is_public():
        st.caption(f"A {uploads.called()} takes no files, so no notebook can be opened here.")
        return
    state = _state()
    key = f"{place}_open_{state.nth}"
    file = uploads.uploader(
        "Open a notebook", key=key, types=["treedp"],
        help="A file saved here before. It takes the place of the cells, settings and data sets of this session.",
        on_change=lambda: _given(st.session_state.get(key)),  # another file may have been opened since
    )  # fmt: skip
    if file is not None:
        found = _read(file)
        if not found.is_ready:
            worker_read.say(found, "Reading the notebook")
        elif session_study.is_untouched():
            state.coming = found.here()
            st.rerun()
        else:
            _offer(place, found.here())


def _read(file: UploadedFile) -> result.Result[Study]:
    content = bytes(file.getvalue())
    return worker_read.by_worker(
        SLOT, _state().nth, partial(open_study, content), content, str(file.file_id), instead=worker_read.FEWER
    )


def _given(file: UploadedFile | None) -> None:
    """Have a file open in the run that takes it in, where it is read by then: in a callback."""
    if file is not None and session_study.is_untouched() and (found := _read(file)).is_ready:
        _state().coming = found.here()


def _offer(place: str, study: Study) -> None:
    """Say what a file holds, and put it in place of the session when that is wanted."""
    names = ", ".join(lit(one.data.name, 40) for one in study.tables)
    st.markdown(
        f"{lit(study.notebook.title)}: {plural(len(study.notebook.cells), 'cell')}, "
        + (f"with TRUE COUNTS of {names}." if study.tables else f"without data{_asks_for(study)}.")
    )
    losing = len(book.notebook().cells) + len(session_tables.everything())
    st.button(
        "Open it", key=f"{place}_open_it", type="primary", icon=":material/folder_open:", on_click=replace,
        args=(study,), help="It takes the place of what is here now."
        + (" Save that first, if it is to be kept." if losing else ""),
    )  # fmt: skip


def _asks_for(study: Study) -> str:
    names = ", ".join(lit(one.note.name, 40) for one in study.asked)
    return f"; it asks for {names}" if names else ""


def replace(study: Study) -> None:
    """Put a saved session in place of this one, in a callback or before any control is drawn."""
    state = _state()
    result.forget(SLOT)
    uploads.forget_shown()
    state.nth += 1
    try:
        refused = session_study.restore(study)
    except InputError as error:
        state.said = f"{error} Nothing was changed."
        return
    st.session_state.update(dict.fromkeys(map(_key, PLACES), False))
    left_out = settings_refused(refused, " Not taken: ") if refused else ""
    n, tables = len(study.notebook.cells), ", ".join(lit(one.data.name, 40) for one in study.tables)
    only = tables and not n  # a table that was kept for a reload, and nothing pinned
    state.said = (
        f"{tables}: here again." if only else f"{lit(study.notebook.title)} is open: {plural(n, 'cell')}."
    ) + left_out


def tell(said: str) -> None:
    """Have the next run say something in a passing message."""
    _state().said = said


def _key(place: str) -> str:
    return f"{place}_notebook"


def _say() -> None:
    state = _state()
    if state.said:
        st.toast(state.said, icon=":material/book_2:", duration="long")
        state.said = ""


def _state() -> Any:
    return st.session_state.setdefault(_STATE, _State())
