"""What the Budget split page asks: the noise, what splits are judged by, and what they may be tuned on."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import uploads
from pages.ui.setting import in_a_row
from pages.ui.settings import LEVEL, SEED, THRESHOLD
from pages.ui.shared import experiment, note_of_slack, slack
from pages.ui.store import dataset, is_uploaded
from pages.ui.text import small_print
from pages.ui.unused import NO_SLACK, NOTHING_DRAWN, Reasons, unspent
from pages.views.budget import settings as s
from pages.views.budget.prior import show_upload
from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.errors.metrics import squared
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Accounting
from treedp_core.privacy.accounting import USUAL
from treedp_core.privacy.origin import DOOR
from treedp_core.studies.budget import Ask, Question, Target, targets_of_text, usual_text
from treedp_core.studies.budget.question import FROM_FILE, NONE, PAID
from treedp_core.words import short


def wanted() -> tuple[Target, ...]:
    """Return the targets that are set, level by level.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.
    """
    return targets_of_text(text(), dataset().tree.n_levels, usual(), s.CONFIDENCE.value, THRESHOLD.value)


def text() -> str:
    """Return the targets as they are typed, or those that stand until others are."""
    return s.TARGETS.value.strip() or usual_text(dataset().tree.n_levels)


def usual() -> Ask:
    """Return what kind a target without one is of."""
    return Ask[s.ASK.value.upper()]


def _reads_counts() -> bool:
    """Whether the best split depends on the counts: errors in records are the same whatever they are."""
    if s.VIEW.value != s.TARGETS_VIEW:
        return METRICS[s.METRIC.value].loss is not squared
    try:
        return any(target.reads_counts for target in wanted())
    except InputError:
        return True


def prior() -> str:
    """Return what splits are tuned on: nothing where no split depends on counts."""
    return _chosen() if _reads_counts() else NONE


def _chosen() -> str:
    """What splits may be tuned on: another draw is of made-up data only."""
    return "noisy" if s.PRIOR.value == "draw" and is_uploaded() else s.PRIOR.value


IGNORES: Final[Reasons] = (
    unspent(s.MECHANISM) | NO_SLACK | {"seed": lambda: "" if prior() in PAID else str(NOTHING_DRAWN["seed"])}
)
"""What no view looks at that compares splits: only a noisy prior is drawn."""


def question() -> Question:
    """Return what is asked; settings that cannot matter stand at their defaults."""
    tuned_on = prior()
    noisy = tuned_on in PAID
    one = experiment(
        mechanism=s.MECHANISM.value,
        postprocess=("least_squares",) if s.LEAST_SQUARES.value else (),
        metric=s.METRIC.value,
        alpha=0.1,
        accounting=(Accounting.FORMULA if noisy and MECHANISMS[s.MECHANISM.value].two_accountings else USUAL).value,
        delta=slack() if MECHANISMS[s.MECHANISM.value].needs_delta else 0.0,
        seed=SEED.value if noisy else 0,
    )
    return Question(one, s.PHASES_P.value, tuned_on, s.PRIOR_EPSILON.value if noisy else 0.0)


def draw_prior() -> None:
    """Show what splits may be tuned on."""
    s.PRIOR.set(_chosen())
    here = [name for name in s.PRIORS if name != "draw" or not is_uploaded()]
    s.PRIOR.draw(offered=uploads.offered(here, FROM_FILE, _chosen()))


def notes() -> None:
    """Show what is to be said of the noise and of the prior: below the figure, which is not moved by it."""
    note_of_slack([s.MECHANISM.value], "bud_set_delta")
    if prior() == NONE:
        small_print("Errors in records are the same whatever the counts: nothing is tuned on them, nothing charged.")
    if prior() in FROM_FILE:
        show_upload()
    if prior() == "true":
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
        if _chosen() in PAID:
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
