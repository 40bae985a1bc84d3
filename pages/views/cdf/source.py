"""Where the bins come from: the ages, the data set in use, or a numeric column of one's own table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import streamlit as st

from pages.ui import kept, store
from pages.ui.bins import BinsAsked, warn_of_cut
from pages.ui.refusals import refusal
from pages.ui.setting import in_a_row
from pages.ui.settings import SOURCE
from pages.ui.text import lit, literal_sentence
from pages.ui.upload import Candidate, Count, Table, choose_columns, upload
from pages.views.cdf import settings as s
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran, given
from treedp_core.records import Dataset
from treedp_core.studies.branching.question import bins_from_text
from treedp_core.studies.cdf.bins import Bins, bins_of

SAMPLE: Final = "ages"
NO_DATA: Final = "no data"
_LAST: Final = "_cdf_bins_used"


def choose(beside: Callable[[], object]) -> Bins:
    """Show the sources and return the bins in use: those of the ages, or the last good ones, below any refusal.

    `beside` draws the controls that stand in the same row.
    """
    with in_a_row():
        s.SOURCE.draw()
        beside()
        has_column = s.SOURCE.value == "upload" and _column() is not None
        form = st.popover("Column and bounds", icon=":material/tune:", width="content") if has_column else nullcontext()
    try:
        bins = _bins(form)
    except InputError as error:
        refusal(error)
        bins = None
    if bins is None:
        last = st.session_state.get(_LAST, "ages")
        bins = _of("ages" if last == "upload" and _column() is None else last)
        st.caption(f"{lit(bins.name, 40)} is shown meanwhile.")
    else:
        st.session_state[_LAST] = s.SOURCE.value
    return bins


def asked_bins() -> tuple[int, InputError | None]:
    """Show the source and the number of bins; return K: the one asked for, or that of the data; and what is refused."""
    n_bins = choose(s.BINS.draw).n_bins
    text = s.BINS.value.strip()
    try:
        return bins_from_text(text) if text else n_bins, None
    except InputError as error:
        return n_bins, error


def say_refused(error: InputError | None) -> None:
    """Say why the bins asked for are not those shown, if they are not."""
    if error is not None:
        refusal(error)
        st.caption("The bins of the data are used meanwhile.")


def _bins(form: AbstractContextManager[object]) -> Bins | None:
    if s.SOURCE.value == "upload":
        with form:
            _ask_for_a_column()
        column = _column()
        if column is None:
            return None
        warn_of_cut(column.value)
        for _, sentence in column.value.report.notices:
            st.caption(literal_sentence(sentence))
    found = _of(s.SOURCE.value)
    if s.SOURCE.value == "current":
        warn_of_cut(store.dataset())
        if not found.numeric:
            st.caption(
                f"The leaves of {lit(found.name, 40)} are categories in the order of the tree: “at most” and ranges "
                "mean that order."
            )
    return found


def _of(source: str) -> Bins:
    return bins_of(_data(source).value)


def _data(source: str) -> Ran[Dataset]:
    column = _column() if source == "upload" else None
    if column is not None:
        return column
    return store.used() if source == "current" else store.used_sample(SAMPLE)


def again(bins: Bins) -> Ran[Bins]:
    """Return the call that makes the bins in use again."""
    made = (_data(source) for source in s.SOURCES)
    data = next((one for one in made if one.value.fingerprint == bins.fingerprint), _data(s.SOURCE.value))
    return given(bins, bins_of, data).named("bins")


def _own() -> str:
    """The slot of one's own table: the one in use, else the uploaded one."""
    return SOURCE.value if store.is_uploaded() else "upload"


def _column() -> Ran[Dataset] | None:
    """The counts of a column of one's own table: the one chosen here, or the one that the table was counted by."""
    for slot in (kept.BINS, _own()):
        data = store.from_file(slot)
        if data is not None and (slot == kept.BINS or _is_numeric(data)):
            return store.counted_again(slot, data)
    return None


def _is_numeric(data: Dataset) -> bool:
    try:
        return bins_of(data).numeric
    except InputError:  # no bins in a row
        return False


def _ask_for_a_column() -> None:
    table = kept.of(_own())
    if table is None:
        found = upload("upload", asks="bins")
        if isinstance(found, Candidate):
            choose_columns(found, _form)
        return
    if table.columns is None:
        st.caption(f"Only the counts of {lit(table.data.name, 40)} are kept, so no other column can be counted.")
    elif not table.columns.numbers:
        st.caption(f"No column of {lit(table.data.name, 40)} holds numbers; choose another source.")
    else:
        choose_columns(Candidate(table.columns, table.data.name, kept.BINS, "bins"), _form)


def _form(table: Table) -> Count | None:
    return BinsAsked(table, n_bins=128).count()
