"""Controls that views of the page Budget split share: the noise, what splits are judged by, and what they look at."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.inputs.inactive_settings import NO_ALPHA, NOTHING_DRAWN, Reasons, unspent
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import EPSILON, LEVEL, THRESHOLD
from pages.ui.inputs.text import lit, small_print
from pages.ui.page.view import Seen
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.store import dataset
from pages.ui.tables.upload_slot import Candidate, Table, left_out_asked, marks_asked
from pages.ui.tables.worker_read import PRIOR, Counted, Reading, leaves_listed_in
from pages.ui.upload.upload import EACH_ROW, Count, choose_columns, notice, upload
from pages.views.budget import settings as s
from pages.views.budget.settings import ABSENT
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran, call
from treedp_core.privacy.prior_provenance import DOOR
from treedp_core.records import Dataset, count_hierarchy
from treedp_core.studies.budget import absent_leaves, public_of_file
from treedp_core.studies.budget.prior import by_period
from treedp_core.studies.budget.question import FROM_FILE, NONE, PAID
from treedp_core.views.budget import PRIOR as SLOT
from treedp_core.views.budget import BudgetInputs
from treedp_core.views.budget.inputs import PRIORS
from treedp_core.words import plural, short, whole

# A public or historic prior from a file: read once, counted, matched leaf by leaf, and forgotten.

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


def _looks_at() -> str:
    """What splits are tuned on in the view that is shown; nothing where none depends on counts."""
    inputs, data = inputs_now(BudgetInputs), dataset()
    return inputs.prior_for(data) if inputs.reads_counts(data, targets=s.VIEW.value == "targets") else NONE


IGNORES: Final[Reasons] = (
    unspent(s.MECHANISM) | NO_ALPHA | {"seed": lambda: "" if _looks_at() in PAID else str(NOTHING_DRAWN["seed"])}
)
"""What no view looks at that compares splits: only a noisy prior is drawn."""
SOUGHT: Final[Reasons] = {
    EPSILON.key: lambda: "" if _looks_at() in PAID else "The smallest ε is what is sought here; drag **Margins ×**."
}
"""Where ε is the answer it is no setting, but for the price of a prior, which it bounds."""


def draw_prior() -> None:
    """Show what splits may be tuned on: another draw is of made-up data only."""
    data = dataset()
    s.PRIOR.set(inputs_now(BudgetInputs).prior_for(data))
    here = [name for name in PRIORS if name != "draw" or data.is_made_up]
    s.PRIOR.draw(offered=uploads.offered(here, FROM_FILE, s.PRIOR.value))


def say(seen: Seen[BudgetInputs], what: str) -> None:
    """Say how a view stands, and below the figure, which is not moved by it, what is to be said of noise and prior."""
    seen.say_state(what)
    note_of_delta([s.MECHANISM.value], "bud_set_delta")
    prior = _looks_at()
    if prior in FROM_FILE:
        show_upload()
    if prior == "true":
        st.error(
            "The splits “Greedy” and “Tuned” are a function of the private counts. Look at them to learn how "
            f"much tuning could gain; do not publish them, nor anything released with them. {DOOR}",
            title="NOT PRIVATE: tuned on the true counts",
            icon=":material/lock_open:",
        )


def more(*, metric: bool = False, slices: bool = False) -> None:
    """Show the controls of what is released, and, where they matter, of what it is judged by."""
    with in_a_row():
        s.MECHANISM.draw()
        s.LEAST_SQUARES.draw()
        if inputs_now(BudgetInputs).prior_for(dataset()) in PAID:
            s.PRIOR_EPSILON.draw()
    tuning(metric=metric, slices=slices)


def tuning(*, metric: bool = False, slices: bool = True) -> None:
    """Show what errors are relative to, and how finely greedy divides; τ unless the sidebar already does."""
    with in_a_row():
        if metric:
            s.METRIC.draw()
        with st.container(width=220):
            if LEVEL.value == "Advanced":
                small_print(f"τ = {short(THRESHOLD.value)} (set in the sidebar)")
            else:
                THRESHOLD.draw()
        if slices:
            s.PHASES_P.draw()
