"""Where the bins come from: the ages, the data set in use, or a numeric column of one's own table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import SOURCE
from pages.ui.inputs.text import lit, literal_sentence, small_print
from pages.ui.session import uploads
from pages.ui.tables import range_lists, session_tables, store
from pages.ui.tables.result import forget
from pages.ui.tables.upload_slot import Candidate, Table, marks_chosen
from pages.ui.tables.worker_read import by_worker, say
from pages.ui.upload.bins import BinsAsked, warn_of_cut
from pages.ui.upload.upload import Count, choose_columns, upload
from pages.views.cdf import settings as s
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.study import visible
from treedp_core.records import Dataset
from treedp_core.records.worker_read import read
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.matrices.workload import MAX_BINS, MAX_RANGES, doubtful_marks, ranges_of_table
from treedp_core.views.cdf import release
from treedp_core.views.cdf.inputs import SAMPLE, SOURCES
from treedp_core.words import plural, whole

# Ranges of bins of one's own: typed, or in a table that is uploaded. Those of a table stay in the session. A saved
# notebook has them; an address never does.

SLOT: Final = "cdf_queries"
FEWER: Final = "save it with fewer columns"
EXAMPLE: Final = "lower,upper,weight\n1,10,1\n5,20,0.5"


def show() -> None:
    """Show where ranges are typed or uploaded, or the card of the table in use."""
    word = s.LISTED.value
    table = range_lists.lists().get(word)
    if table is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"{lit(table.name, 40)} — {plural(len(table.ranges), 'range')}, file discarded")
            st.button("Remove", key=f"{SLOT}_remove", icon=":material/delete:", on_click=_remove, args=(word,),
                      help="Forget these ranges now, and type some.")  # fmt: skip
        return
    if not uploads.is_public():
        _upload()
    s.RANGES.draw()


def _upload() -> None:
    n_before = len(range_lists.lists())
    file = uploads.uploader(
        "A table of ranges, one a row", key=f"{SLOT}_{n_before}_{s.LISTED.value}",
        help=f"First and last bin in columns lower and upper, from bin 1 on, and, if some count more, their weight. At "
        f"most {whole(MAX_RANGES)} ranges. The file is read once and discarded. A saved notebook has its ranges; a "
        "link never has.",
    )  # fmt: skip
    if file is None:
        small_print("For example:")
        st.code(EXAMPLE, language=None)
        return
    content = file.getvalue()
    marks = _marks(file, content)
    if marks is None:
        return
    work = partial(read, ranges_of_table, content, MAX_BINS, name=file.name, marks=marks)
    found = by_worker(SLOT, (file.file_id, tuple(marks.items())), work, content, file.file_id, instead=FEWER)
    if not found.is_ready:
        say(found, "Reading ranges")
        return
    forget(SLOT)
    s.LISTED.set(range_lists.add(Listed(visible(file.name), found.here())))
    s.RANGES.set("")
    st.rerun()


def _marks(file: UploadedFile, content: bytes) -> dict[str, str] | None:
    """Ask how numbers are written that can be read in more than one way; None while that is not answered."""
    work = partial(read, doubtful_marks, content, name=file.name)
    found = by_worker(f"{SLOT}_marks", file.file_id, work, content, file.file_id, instead=FEWER)
    if not found.is_ready:
        say(found, "Reading ranges")
        return None
    looks = found.here().items()
    chosen = {one: marks_chosen(look, one, f"{SLOT}_marks_{one}_{file.file_id}") for one, look in looks}
    said = {one: marks for one, marks in chosen.items() if marks is not None}
    return said if len(said) == len(chosen) else None


def _remove(word: str) -> None:
    range_lists.drop(word)
    s.LISTED.set("")


FORM: Final = "Column and bounds"
_LAST: Final = "_cdf_bins_used"
_ASKED: Final = "_cdf_column_asked"
_OPEN: Final = "cdf_form"
APART: Final = (
    " Their labels are intervals, but do not meet end to end in this order, so they are not taken for numbers: list "
    "the categories in order and without gaps, or count the column of numbers itself."
)


def choose(beside: Callable[[], object]) -> tuple[Ran[Dataset], Callable[[], object]]:
    """Show the sources; return the data in use, and what says below the figure what there is to say of them.

    They are those of the ages, or the last good ones, after a refusal. `beside` draws the controls that stand in the
    same row; the questions about a column are in a popover there.
    """
    with in_a_row():
        s.SOURCE.draw(offered=uploads.offered(SOURCES, ("upload",), s.SOURCE.value))
        beside()
        if s.SOURCE.value == "upload":
            _popover()
    if s.SOURCE.value == "upload" and _column() is None:
        return _meanwhile(_say_what_is_missing)
    data = _data(s.SOURCE.value)
    try:
        bins = bins_in(data)
    except InputError as error:
        return _meanwhile(partial(refusal, error))
    st.session_state[_LAST] = s.SOURCE.value
    return data, partial(_say, bins)


def bins_in(data: Ran[Dataset]) -> Bins:
    """Return the bins of data, as the view keeps them."""
    return release.bins_in(data.value, store.remember)


def _popover() -> None:
    """Show the questions about a column; they go away once they are answered."""
    column = _column()
    found = None if column is None else column.value.fingerprint
    if st.session_state.setdefault(_ASKED, found) != found:
        st.session_state[_ASKED], st.session_state[_OPEN] = found, False
    with st.popover(
        FORM, icon=":material/tune:", width="content", type="primary" if column is None else "secondary", key=_OPEN,
        on_change="rerun",
    ):  # fmt: skip
        _ask_for_a_column()


def _say_what_is_missing() -> None:
    table = session_tables.of(_own())
    if table is not None and table.columns is not None and table.columns.numbers:
        small_print(f"{lit(table.data.name, 40)} has no bins in a row yet: choose one of its columns, and its bounds.")


def _meanwhile(why: Callable[[], object]) -> tuple[Ran[Dataset], Callable[[], object]]:
    """The last good data, in place of those that are not there."""
    last = st.session_state.get(_LAST, SAMPLE)
    data = _data(SAMPLE if last == "upload" and _column() is None else last)

    def say() -> None:
        why()
        small_print(f"{lit(data.value.name, 40)} is shown meanwhile.")

    return data, say


def _say(bins: Bins) -> None:
    """Say what the bounds cut off, and what order the bins have."""
    column = _column() if s.SOURCE.value == "upload" else None
    if column is not None:
        warn_of_cut(column.value)
        for _, sentence in column.value.report.notices:
            small_print(literal_sentence(sentence))
    if s.SOURCE.value == "current":
        warn_of_cut(store.dataset())
        if not bins.numeric:
            small_print(
                f"The leaves of {lit(bins.name, 40)} are categories in the order of the tree: “at most” and ranges "
                f"mean that order.{APART if bins.are_apart else ''}"
            )


def _data(source: str) -> Ran[Dataset]:
    column = _column() if source == "upload" else None
    if column is not None:
        return column
    return store.used() if source == "current" else store.used_sample(SAMPLE)


def _own() -> str:
    """The slot of one's own table: the one in use, else the uploaded one."""
    return SOURCE.value if session_tables.of(SOURCE.value) is not None else "upload"


def _column() -> Ran[Dataset] | None:
    """The counts of a column of one's own table: the one chosen here, or the one that the table was counted by."""
    for slot in (session_tables.BINS, _own()):
        data = store.from_file(slot)
        if data is not None and (slot == session_tables.BINS or _is_numeric(data)):
            return store.counted_again(data)
    return None


def _is_numeric(data: Dataset) -> bool:
    try:
        return bins_of(data).numeric
    except InputError:  # no bins in a row
        return False


def _ask_for_a_column() -> None:
    table = session_tables.of(_own())
    if table is None:
        found = upload("upload", asks="bins")
        if isinstance(found, Candidate):
            choose_columns(found, _form)
        return
    if table.columns is None:
        small_print(f"Only the counts of {lit(table.data.name, 40)} are kept, so no other column can be counted.")
    elif not table.columns.numbers:
        small_print(f"No column of {lit(table.data.name, 40)} holds numbers; choose another source.")
    else:
        choose_columns(
            Candidate(table.columns, table.data.name, session_tables.BINS, "bins", table.file_name, _own()), _form
        )


def _form(table: Table) -> Count | None:
    return BinsAsked(table, n_bins=128).count()
