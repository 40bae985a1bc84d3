"""Where the bins come from: the ages, the data set in use, or a numeric column of one's own table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import SOURCE
from pages.ui.inputs.text import lit, literal_sentence, small_print
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.upload_slot import Candidate, Table
from pages.ui.upload.bins import BinsAsked, warn_of_cut
from pages.ui.upload.upload import Count, choose_columns, upload
from pages.views.cdf import settings as s
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran
from treedp_core.records import Dataset
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.views.cdf import release
from treedp_core.views.cdf.inputs import SAMPLE, SOURCES

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
