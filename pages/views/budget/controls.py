"""Controls that views of the page Budget split share: the noise, what splits are judged by, and what they look at."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.inputs.inactive_settings import NO_ALPHA, NOTHING_DRAWN, Reasons, unspent
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import LEVEL, THRESHOLD
from pages.ui.inputs.text import small_print
from pages.ui.page.view import Seen, inputs_now
from pages.ui.session import uploads
from pages.ui.tables.experiment_inputs import note_of_delta
from pages.ui.tables.store import dataset
from pages.views.budget import settings as s
from pages.views.budget.prior import show_upload
from treedp_core.privacy.prior_provenance import DOOR
from treedp_core.studies.budget.question import FROM_FILE, NONE, PAID
from treedp_core.views.budget import BudgetInputs
from treedp_core.views.budget.inputs import PRIORS
from treedp_core.words import short


def _looks_at() -> str:
    """What splits are tuned on in the view that is shown; nothing where none depends on counts."""
    inputs, data = inputs_now(BudgetInputs), dataset()
    return inputs.prior_for(data) if inputs.reads_counts(data, targets=s.VIEW.value == "targets") else NONE


IGNORES: Final[Reasons] = (
    unspent(s.MECHANISM) | NO_ALPHA | {"seed": lambda: "" if _looks_at() in PAID else str(NOTHING_DRAWN["seed"])}
)
"""What no view looks at that compares splits: only a noisy prior is drawn."""


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
