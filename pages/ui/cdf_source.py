"""Where the bins come from: the ages, the data set in use, or a numeric column of a file; only counts are kept."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, store, uploads
from pages.ui.cdf_model import SOURCES, Bins
from pages.ui.data_file import Candidate, finish, revision
from pages.ui.params import get
from pages.ui.text import lit, literal_sentence, plural
from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_bins, inspect
from treedp_core.records.bins import bin_edges
from treedp_core.records.sniff import Preview

SAMPLE: Final = "ages"
SLOT: Final = "cdf"
BOUNDS: Final = "Must not come from the data: bounds that do reveal its extremes."
_INTERVAL: Final = re.compile(r"\[(\S+), (\S+)[)\]]")
_LAST: Final = "_cdf_bins_used"
_ASKED: Final = "_cdf_count_asked"


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
        frame.refusal(error)
        bins = None
    if bins is None:
        kept = st.session_state.get(_LAST, "ages")
        bins = _of("ages" if kept == "upload" and store.from_file(SLOT) is None else kept)
        st.caption(f"{lit(bins.name, 40)} is shown meanwhile.")
    else:
        st.session_state[_LAST] = get("cdf_source")
    return bins


def bins_of(data: Dataset) -> Bins:
    """Return the bins of a data set: its leaves, with the edges of a binned column, else numbered in their order.

    A leaf "(other)" is the last bin, so that the bins hold all records.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` when its leaves stand on different levels; ``TREE_SHAPE`` for a single leaf.
    """
    tree, other = data.tree, data.other_leaf
    above = tree.is_leaf[: tree.level_start[-2]].sum()
    if above > (tree.height > 1 and other is not None):
        raise InputError(
            "CDF_SHAPE", "The leaves of the data set in use stand on different levels, so they are no bins in a row."
        )
    counts = data.counts[tree.level(tree.height)]
    if tree.height > 1 and other is not None:
        counts = np.append(counts, data.counts[other])
    if counts.size < 2:
        raise InputError("TREE_SHAPE", "A CDF needs at least 2 bins; the data set in use has 1.")
    edges = _edges(data, counts.size - (other is not None))
    unit = data.labels.level_names[-1].split(" (")[0] if edges is not None else "leaf, in its order"
    if edges is None:
        return Bins(data.name, unit, counts, np.arange(counts.size + 1, dtype=float), data.fingerprint, False)
    if other is not None:
        edges = np.append(edges, 2 * edges[-1] - edges[-2])
    return Bins(data.name, unit, counts, edges, data.fingerprint, has_other=other is not None)


def _bins() -> Bins | None:
    if get("cdf_source") == "upload":
        _upload()
        if store.from_file(SLOT) is None:
            return None
    return _of(get("cdf_source"))


def _of(source: str) -> Bins:
    counted = store.from_file(SLOT) if source == "upload" else None
    if counted is not None:
        return bins_of(counted)
    return bins_of(store.dataset() if source == "current" else store.sample(SAMPLE))


def _edges(data: Dataset, n_bins: int) -> Any:
    """Edges of equal bins from the labels of the first and last leaf, or None where they are no intervals."""
    last = data.tree.level(data.tree.height).stop - 1
    last -= last == data.other_leaf
    first = _INTERVAL.fullmatch(data.labels.label(last - n_bins + 1))
    final = _INTERVAL.fullmatch(data.labels.label(last))
    if first is None or final is None:
        return None
    try:
        return bin_edges(float(first[1]), float(final[2]), n_bins)
    except ValueError:  # labels of a user that only look like intervals; an InputError is one too
        return None


def _upload() -> None:
    """Show the uploader, or what was counted."""
    if uploads.is_public():
        st.info("This is a public app: it takes no files. Use the samples, or run TreeDP yourself.")
        return
    counted = store.from_file(SLOT)
    if counted is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"{lit(counted.name, 40)} — {plural(counted.report.rows, 'row')}, file discarded")
            st.button("Remove", key="cdf_remove", icon=":material/delete:", on_click=store.remove, args=(SLOT,),
                      help="Forget these counts; the ages are shown instead.")  # fmt: skip
        for _, sentence in counted.report.notices:
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
    left, middle, right = st.columns(3)
    lower = left.number_input("Lower bound (public)", value=0.0, key="cdf_lower", format="%g", help=BOUNDS)
    upper = middle.number_input("Upper bound (public)", value=128.0, key="cdf_upper", format="%g", help=BOUNDS)
    n_bins = right.number_input("Bins K", value=128, step=1, key="cdf_n_bins", help="Equal widths.")
    clamp = st.checkbox("Count values outside the bounds in the end bins", key="cdf_clamp",
                        help="Otherwise they are counted in a last bin “(other)”, as cells that are no number always "
                        "are: so replacing a record never changes the public total.")  # fmt: skip
    st.button("Count", type="primary", key="cdf_count", icon=":material/functions:", on_click=_ask,
              help="Read the file once and keep its counts.")  # fmt: skip
    if st.session_state.pop(_ASKED, False):
        counted = count_bins(
            candidate.origin, preview.columns[position or 0], lower=lower, upper=upper, n_bins=n_bins,
            outside="clamp" if clamp else "other", name=candidate.name,
        )  # fmt: skip
        finish(candidate, counted)


def _ask() -> None:
    st.session_state[_ASKED] = True
