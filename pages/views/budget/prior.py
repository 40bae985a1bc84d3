"""A public or historic prior from a file: read once, counted, matched leaf by leaf, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.text import lit, plural
from pages.views.budget.state import FROM_FILE, FilePrior, file_prior
from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_hierarchy, domain_of_paths, inspect
from treedp_core.studies.budget import public_by_labels

EACH_ROW: Final = "Each row is one record"
_REVISION: Final = "_budget_prior_revision"
_ASKED: Final = "_budget_prior_asked"


def upload() -> None:
    """Show the uploader of a prior, or the card of the one in use; a refusal leaves the one in use as it was."""
    kept, data = file_prior(), store.dataset()
    if kept is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"Prior: {lit(kept.name)}, {plural(kept.prior.counts.size, 'count')}; it costs no budget.")
            st.button("Remove", key="bud_prior_remove", icon=":material/delete:", on_click=_remove)
    if uploads.is_public():
        st.info("This is a public app: it takes no files. Use a noisy prior, or run TreeDP yourself.")
        return
    columns = data.labels.level_names[1:]
    file = uploads.uploader(
        "Another prior file" if kept else "Prior file: public or historic counts on the same leaves",
        key=f"bud_prior_file_{st.session_state.get(_REVISION, 0)}",
        help="One row a record, or one row a leaf with a column of counts. Every leaf of the data must occur, also "
        "where the count is 0. The file is read once and discarded. That it is public is your claim.",
    )
    st.caption("Columns it must have: " + ", ".join(lit(name, 40) for name in columns) + ".")
    if file is None:
        if kept is None:
            st.info("Until there is a prior, only strategies that look at no counts are shown.")
        return
    _pick(file, columns)


def _pick(file: Any, columns: Sequence[str]) -> None:
    try:
        found = inspect(file, name=file.name).columns
    except InputError as error:
        refusal(error)
        return
    others = [name for name in found if name not in columns]
    weight = st.selectbox(
        "Counts",
        range(len(others) + 1),
        index=1 if len(others) == 1 else 0,
        format_func=lambda i: EACH_ROW if i == 0 else others[i - 1],
        key=f"bud_prior_weight_{st.session_state.get(_REVISION, 0)}",
        help="The column that holds how many records a row stands for.",
    )
    st.button("Use as prior", key="bud_prior_use", type="primary", icon=":material/history:", on_click=_ask)
    if st.session_state.pop(_ASKED, False):
        try:
            _use(file, columns, others[weight - 1] if weight else None)
        except InputError as error:
            refusal(error)
            st.caption("Nothing was changed.")
            return
        st.rerun()


def _ask() -> None:
    st.session_state[_ASKED] = True


def _use(file: Any, columns: Sequence[str], weight: str | None) -> None:
    data = store.dataset()
    missing = [name for name in columns if name not in inspect(file, name=file.name).columns]
    if missing:
        raise InputError(
            "PRIOR_LEAVES", f"Expected a prior with the columns of the data; {plural(len(missing), 'column')} missing."
        )
    domain = domain_of_paths(file, columns, name=file.name, records_are_public=True)
    outside = "refuse" if data.other_leaf is None else "other"  # a prior has the same leaves as the data
    counted = count_hierarchy(file, columns, domain=domain, weight=weight, outside=outside, name=file.name)
    keep(data, counted)
    uploads.forget(file)
    st.session_state[_REVISION] = st.session_state.get(_REVISION, 0) + 1


def keep(data: Dataset, counted: Dataset) -> None:
    """Put the counts of another file in use as a prior for a data set.

    Raises
    ------
    InputError
        ``PRIOR_IS_DATA`` when it is the data once more; ``PRIOR_LEAVES`` when the leaves differ; ``PRIOR_EMPTY``.
    """
    if data.is_same_as(counted):
        raise InputError(
            "PRIOR_IS_DATA",
            "Expected public or historic counts, got the data themselves once more; tuning on them is not private, see "
            "“True counts”.",
        )
    prior = public_by_labels(data.tree, data.labels, counted.tree, counted.labels, counted.counts)
    st.session_state[FROM_FILE] = FilePrior(data.fingerprint, counted.name, counted.fingerprint, prior)


def _remove() -> None:
    st.session_state.pop(FROM_FILE, None)
