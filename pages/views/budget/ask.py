"""What the Budget split page asks: the noise, what splits are judged by, and what they may be tuned on."""

from __future__ import annotations

import streamlit as st

from pages.ui.settings import LEVEL, SEED, THRESHOLD
from pages.ui.shared import experiment, note_of_slack, slack
from pages.views.budget import settings as s
from pages.views.budget.prior import show_upload
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.budget import Question
from treedp_core.words import short


def question() -> Question:
    """Return what is asked; settings that cannot matter stand at their defaults."""
    noisy = s.PRIOR.value == "noisy"
    one = experiment(
        mechanism=s.MECHANISM.value,
        postprocess=("least_squares",) if s.LEAST_SQUARES.value else (),
        metric=s.METRIC.value,
        alpha=0.1,
        delta=slack() if MECHANISMS[s.MECHANISM.value].needs_delta else 0.0,
        seed=SEED.value if noisy else 0,
    )
    return Question(one, s.PHASES_P.value, s.PRIOR.value, s.PRIOR_EPSILON.value if noisy else 0.0)


def draw(*, metric: bool = True, slices: bool = True) -> Question:
    """Show the controls of what is released, judged and looked at; return what is asked."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.MECHANISM.draw()
        s.LEAST_SQUARES.draw()
    note_of_slack([s.MECHANISM.value], "bud_set_delta")
    tuning(metric=metric, slices=slices)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.PRIOR.draw()
        if s.PRIOR.value == "noisy":
            s.PRIOR_EPSILON.draw()
    if s.PRIOR.value == "public":
        show_upload()
    if s.PRIOR.value == "true":
        st.error(
            "The splits “Greedy” and “Tuned” below are a function of the private counts. Look at them to learn how "
            "much tuning could gain; do not publish them, nor anything released with them.",
            title="NOT PRIVATE: tuned on the true counts",
            icon=":material/lock_open:",
        )
    return question()


def tuning(*, metric: bool = False, slices: bool = True) -> None:
    """Show what errors are relative to, and how finely greedy divides; τ unless the sidebar already does."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if metric:
            s.METRIC.draw()
        with st.container(width=220):
            if LEVEL.value == "Advanced":
                st.caption(f"τ = {short(THRESHOLD.value)} (set in the sidebar)")
            else:
                THRESHOLD.draw()
        if slices:
            s.PHASES_P.draw()
