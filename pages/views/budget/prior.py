"""A public or historic prior from a file: read once, counted, matched leaf by leaf, and forgotten."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.reading import PRIOR, Counted, Reading, leaves_listed_in
from pages.ui.text import lit
from pages.ui.upload import EACH_ROW, Candidate, Count, Table, choose_columns, notice, upload
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran, given
from treedp_core.records import Dataset, count_hierarchy
from treedp_core.studies.budget import Prior, absent_leaves, public_of_file
from treedp_core.words import plural

ABSENT: Final = "ABSENT_LEAVES"
SLOT: Final = "bud_prior"


def show_upload() -> None:
    """Show the uploader of a prior, or the card of the one in use; a refusal leaves the one in use as it was."""
    found = upload(SLOT, asks="prior")
    if isinstance(found, Candidate):
        choose_columns(found, _form)
    if uploads.is_public():
        return
    names = ", ".join(lit(name, 40) for name in store.dataset().labels.level_names[1:])
    if not isinstance(found, Ran):
        st.caption(f"Columns it must have: {names}.")
    counted = store.from_file(SLOT)
    if counted is not None and ABSENT in dict(counted.report.notices):
        notice(ABSENT, dict(counted.report.notices)[ABSENT])
    if file_prior() is None:
        st.info("Until there is a prior for these data, only strategies that look at no counts are shown.")


def file_prior() -> Ran[Prior] | None:
    """Return the prior from a file, as the call that gives it, if there is one for the data set in use."""
    counted, data = store.from_file(SLOT), store.dataset()
    if counted is None:
        return None
    how: dict[str, Any] = {"absent_are_zero": True} if ABSENT in dict(counted.report.notices) else {}

    def matched() -> Prior | None:
        try:
            return public_of_file(data, counted, **how)
        except InputError:  # it was counted for other data
            return None

    prior = store.remember(("prior of a file", data.fingerprint, counted.fingerprint), matched)
    earlier = store.counted_again(SLOT, counted).named("earlier")
    return None if prior is None else given(prior, public_of_file, store.used(), earlier, **how).named("prior")


def _form(table: Table) -> Count:
    data, file = store.dataset(), table.file
    columns = data.labels.level_names[1:]
    others = [name for name in table.preview.columns if name not in columns]
    weight = table.column(
        "Counts", "weight", none=EACH_ROW, among=others, help="The column that holds how many records a row stands for."
    )

    zeros = st.checkbox(
        "Leaves that the file lacks count 0: they are public in my domain", key=table.key("zeros"),
        help="A past year without a single record of some category lacks its leaf. That the leaf exists must be public "
        "all the same.",
    )  # fmt: skip

    def count() -> Reading:
        missing = [name for name in columns if name not in table.preview.columns]
        if missing:
            few = f"{plural(len(missing), 'column')} missing"
            raise InputError("PRIOR_LEAVES", f"Expected a prior with the columns of the data; {few}.")
        domain = leaves_listed_in(file.origin, columns, called=PRIOR, options=table.options, records_are_public=True)
        outside = "refuse" if data.other_leaf is None else "other"  # a prior has the same leaves as the data
        then = partial(_matched, data, zeros)
        return table.counted(count_hierarchy, columns, domain=domain, weight=weight, outside=outside, then=then)

    return count


def _matched(data: Dataset, zeros: bool, counted: Counted) -> Counted:
    """Return the counts of a prior with a note of the leaves that it lacks; what is no prior is refused."""
    n_absent = absent_leaves(data, counted.value) if zeros else 0
    if n_absent:
        said = f"{plural(n_absent, 'leaf of the data is', 'leaves of the data are')} absent from the prior and count 0."
        report = counted.value.report
        counted = counted.giving(
            replace(counted.value, report=replace(report, notices=(*report.notices, (ABSENT, said))))
        )
    public_of_file(data, counted.value, absent_are_zero=zeros)  # refused before it takes another one's place
    return counted
