"""A public or historic prior from a file: read once, counted, matched leaf by leaf, and forgotten."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.text import lit, small_print
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.marks import marks_asked
from pages.ui.tables.row_filter import left_out_asked
from pages.ui.tables.upload_slot import Candidate, Table
from pages.ui.tables.worker_read import PRIOR, Counted, Reading, leaves_listed_in
from pages.ui.upload.upload import EACH_ROW, Count, choose_columns, notice, upload
from pages.views.budget.settings import ABSENT
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran, call
from treedp_core.records import Dataset, count_hierarchy
from treedp_core.studies.budget import absent_leaves, public_of_file
from treedp_core.studies.budget.prior import by_period
from treedp_core.views.budget import PRIOR as SLOT
from treedp_core.words import plural, whole

NOTED: Final = "ABSENT_LEAVES"
MOST_PERIODS: Final = 1000
_REFUSED: Final = "_budget_period_refused"


def show_upload() -> None:
    """Show the uploader of a prior, or the card of the one in use; a refusal leaves the one in use as it was."""
    found = upload(SLOT, asks="prior")
    if isinstance(found, Candidate):
        choose_columns(found, _form)
    if uploads.is_public():
        return
    _split_by_period()
    names = ", ".join(lit(name, 40) for name in store.dataset().labels.level_names[1:])
    if not isinstance(found, Ran):
        small_print(f"Columns it must have: {names}.")
    counted = store.from_file(SLOT)
    if counted is not None and NOTED in dict(counted.report.notices):
        notice(NOTED, dict(counted.report.notices)[NOTED])


def _split_by_period() -> None:
    """Offer to take the earlier periods of the data in use as the prior, and to go on with the later ones."""
    data = store.dataset()
    if data.tree.height < 2 or store.from_file(SLOT) is not None:
        return
    with st.popover("Split by period", icon=":material/calendar_month:",
                    help="One of the levels is a period: earlier records tune, later ones are released."):  # fmt: skip
        names = data.labels.level_names
        level = st.selectbox(
            "Period", range(1, data.tree.n_levels), key="bud_period", format_func=lambda i: lit(names[i], 40),
            help="The level that says when; the tree goes on without it.",
        )  # fmt: skip
        periods = data.labels.vocabularies[level].tolist()
        chosen = st.multiselect(
            "Earlier", periods[:MOST_PERIODS], key=f"bud_earlier_{level}",
            format_func=lambda word: lit(word, 40),
            help="Their records tune the split; those of all others are released.",
        )  # fmt: skip
        st.button(
            "Split", key="bud_split", icon=":material/call_split:", disabled=not chosen, on_click=_divide,
            args=(level, tuple(chosen)),
            help="Puts the later records in use on all pages, and the earlier ones here.",
        )  # fmt: skip
        if len(periods) > MOST_PERIODS:
            small_print(f"The first {whole(MOST_PERIODS)} of {plural(len(periods), 'category', 'categories')}.")
        small_print(
            "Where a record is replaced by another one, how many records each period has is taken to be public."
        )
    if (error := st.session_state.pop(_REFUSED, None)) is not None:
        refusal(error)


def _divide(level: int, earlier: tuple[str, ...]) -> None:
    """Put the later records in use, and the earlier ones in the prior's slot; the whole table waits on its shelf."""
    try:
        data = store.used().named("table")
        before = call(by_period, data, level, earlier, "earlier").named("earlier")
        after = call(by_period, data, level, earlier).named("data")
        found = (before.value, after.value)
    except InputError as error:
        st.session_state[_REFUSED] = error
        return
    if store.from_file("upload") is store.dataset():
        session_tables.set_aside("upload")
    store.set_dataset(found[1], "upload", after)
    store.set_dataset(found[0], SLOT, before)
    store.changed(source="upload", recounted=True)


def _form(table: Table) -> Count | None:
    data, file = store.dataset(), table.file
    columns = data.labels.level_names[1:]
    others = [name for name in table.preview.columns if name not in columns]
    weight = table.column(
        "Counts", "weight", none=EACH_ROW, among=others, help="The column that holds how many records a row stands for."
    )

    marks = {} if weight is None else marks_asked(table, weight, "count_marks")
    out = left_out_asked(table, [name for name in columns if name in table.preview.columns], weight)
    zeros = ABSENT.draw()
    if marks is None:
        return None

    def count() -> Reading:
        missing = [name for name in columns if name not in table.preview.columns]
        if missing:
            few = f"{plural(len(missing), 'column')} missing"
            raise InputError("PRIOR_LEAVES", f"Expected a prior with the columns of the data; {few}.")
        domain = leaves_listed_in(file.origin, columns, called=PRIOR, options=table.options, records_are_public=True)
        outside = "refuse" if data.other_leaf is None else "other"  # a prior has the same leaves as the data
        then = partial(_matched, data, zeros)
        return table.counted(
            count_hierarchy, columns, domain=domain, weight=weight, outside=outside, then=then, marks=marks or None,
            left_out=out or None,
        )  # fmt: skip

    return count


def _matched(data: Dataset, zeros: bool, counted: Counted) -> Counted:
    """Return the counts of a prior with a note of the leaves that it lacks; what is no prior is refused."""
    n_absent = absent_leaves(data, counted.value) if zeros else 0
    if n_absent:
        said = f"{plural(n_absent, 'leaf of the data is', 'leaves of the data are')} absent from the prior and count 0."
        report = counted.value.report
        counted = counted.giving(
            replace(counted.value, report=replace(report, notices=(*report.notices, (NOTED, said))))
        )
    public_of_file(data, counted.value, absent_are_zero=zeros)  # refused before it takes another one's place
    return counted
