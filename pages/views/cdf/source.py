"""Where the bins come from: the ages, the data set in use, or a numeric column of a file; only counts are kept."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import store
from pages.ui.bins import BinsAsked, warn_of_cut
from pages.ui.refusals import refusal
from pages.ui.snippets import Ran, given
from pages.ui.text import lit, literal_sentence
from pages.ui.upload import Candidate, Count, Table, choose_columns, upload
from pages.views.cdf import settings as s
from treedp_core.checks import InputError
from treedp_core.records import Dataset
from treedp_core.studies.cdf.bins import Bins, bins_of

SAMPLE: Final = "ages"
SLOT: Final = "cdf"
_LAST: Final = "_cdf_bins_used"


def choose() -> Bins:
    """Show the sources and return the bins in use: those of the ages, or the last good ones, below any refusal."""
    s.SOURCE.draw()
    try:
        bins = _bins()
    except InputError as error:
        refusal(error)
        bins = None
    if bins is None:
        kept = st.session_state.get(_LAST, "ages")
        bins = _of("ages" if kept == "upload" and store.from_file(SLOT) is None else kept)
        st.caption(f"{lit(bins.name, 40)} is shown meanwhile.")
    else:
        st.session_state[_LAST] = s.SOURCE.value
    return bins


def _bins() -> Bins | None:
    if s.SOURCE.value == "upload":
        _upload()
        if store.from_file(SLOT) is None:
            return None
    if s.SOURCE.value == "current":
        warn_of_cut(store.dataset())
    return _of(s.SOURCE.value)


def _of(source: str) -> Bins:
    return bins_of(_data(source).value)


def _data(source: str) -> Ran[Dataset]:
    kept = store.from_file(SLOT) if source == "upload" else None
    if kept is not None:
        return store.counted_again(SLOT, kept)
    return store.used() if source == "current" else store.used_sample(SAMPLE)


def again(bins: Bins) -> Ran[Bins]:
    """Return the call that makes the bins in use again."""
    made = (_data(source) for source in s.SOURCES)
    data = next((one for one in made if one.value.fingerprint == bins.fingerprint), _data(s.SOURCE.value))
    return given(bins, bins_of, data).named("bins")


def _upload() -> None:
    found = upload(SLOT, asks="bins")
    if isinstance(found, Candidate):
        choose_columns(found, _form)
    kept = store.from_file(SLOT)
    if kept is not None:
        warn_of_cut(kept)
        for _, sentence in kept.report.notices:
            st.caption(literal_sentence(sentence))


def _form(table: Table) -> Count | None:
    return BinsAsked(table, n_bins=128).count()
