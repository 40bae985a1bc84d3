"""Where the bins come from: the ages, the data set in use, or a numeric column of a file; only counts are kept."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import Ran, given
from pages.ui.text import lit, literal_sentence, plural
from pages.ui.upload import Candidate, counted, finish, revision
from pages.views.cdf.model import SOURCES, Bins
from pages.views.cdf.tables import bins_of
from pages.views.data.check import warn_of_cut
from pages.views.data.numbers import BOUNDS, show_column
from treedp_core.checks import InputError
from treedp_core.records import Dataset, ReadOptions, count_bins, inspect
from treedp_core.records.read.sniff import Preview

SAMPLE: Final = "ages"
SLOT: Final = "cdf"
_LAST: Final = "_cdf_bins_used"
_ASKED: Final = "_cdf_count_asked"
_COLUMN: Final = "_cdf_column"


def choose() -> Bins:
    """Show the sources and return the bins in use: those of the ages, or the last good ones, below any refusal."""
    st.segmented_control(
        "Numeric column", list(SOURCES), key="cdf_source", persist_state="session", required=True,
        format_func=SOURCES.__getitem__,
        help="Ages: a synthetic sample. Data set in use: the bins of the Data and tree page. Upload: a column of a "
        "CSV or Parquet file, of which only the counts of bins are kept.",
    )  # fmt: skip
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
        st.session_state[_LAST] = get("cdf_source")
    return bins


def _bins() -> Bins | None:
    if get("cdf_source") == "upload":
        _upload()
        if store.from_file(SLOT) is None:
            return None
    return _of(get("cdf_source"))


def _of(source: str) -> Bins:
    return bins_of(_data(source).value)


def _data(source: str) -> Ran[Dataset]:
    kept = store.from_file(SLOT) if source == "upload" else None
    if kept is not None:
        return store.counted_again(SLOT, kept)
    return store.used() if source == "current" else store.used_sample(SAMPLE)


def again(bins: Bins) -> Ran[Bins]:
    """Return the call that makes the bins in use again."""
    made = (_data(source) for source in SOURCES)
    data = next((one for one in made if one.value.fingerprint == bins.fingerprint), _data(get("cdf_source")))
    return given(bins, bins_of, data).named("bins")


def _upload() -> None:
    """Show the uploader, or what was counted."""
    if uploads.is_public():
        st.info("This is a public app: it takes no files. Use the samples, or run TreeDP yourself.")
        return
    kept = store.from_file(SLOT)
    if kept is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"{lit(kept.name, 40)} — {plural(kept.report.rows, 'row')}, file discarded")
            st.button("Remove", key="cdf_remove", icon=":material/delete:", on_click=store.remove, args=(SLOT,),
                      help="Forget these counts; the ages are shown instead.")  # fmt: skip
        warn_of_cut(kept)
        for _, sentence in kept.report.notices:
            st.caption(literal_sentence(sentence))
        return
    file = uploads.uploader(
        "CSV or Parquet file", key=f"cdf_upload_{revision()}",
        help="Read once, on the computer that runs this app, and then discarded.",
    )  # fmt: skip
    if file is not None:
        _count(Candidate(file, file.name, SLOT), inspect(file, name=file.name))


def _count(candidate: Candidate, preview: Preview) -> None:
    position = st.selectbox(
        "Column", range(len(preview.columns)), format_func=lambda i: preview.columns[i],
        key=f"cdf_column_{revision()}_{hash(preview.columns):x}", help="A column of numbers.",
    )  # fmt: skip
    column = preview.columns[position or 0]
    if st.session_state.get(_COLUMN) != (revision(), preview.columns, column):  # bounds of one column are no other's
        st.session_state[_COLUMN] = (revision(), preview.columns, column)
        st.session_state.pop("cdf_lower", None)
        st.session_state.pop("cdf_upper", None)
    left, middle, right = st.columns(3)
    lower = left.number_input("Lower bound (public)", value=0.0, key="cdf_lower", format="%g", help=BOUNDS)
    upper = middle.number_input("Upper bound (public)", value=128.0, key="cdf_upper", format="%g", help=BOUNDS)
    n_bins = right.number_input("Bins K", value=128, step=1, key="cdf_n_bins", help="Equal widths.")
    show_column(candidate, column, ReadOptions(), lower, upper, key="cdf_numbers")
    clamp = st.checkbox("Count values outside the bounds in the end bins", key="cdf_clamp",
                        help="Otherwise they are counted in a last bin “(other)”, as cells that are no number always "
                        "are: so replacing a record never changes the public total.")  # fmt: skip
    st.button("Count", type="primary", key="cdf_count", icon=":material/functions:", on_click=_ask,
              help="Read the file once and keep its counts.")  # fmt: skip
    if st.session_state.pop(_ASKED, False):
        ran = counted(
            candidate, count_bins, column, lower=lower, upper=upper, n_bins=n_bins,
            outside="clamp" if clamp else "other",
        )  # fmt: skip
        finish(candidate, ran)


def _ask() -> None:
    st.session_state[_ASKED] = True
