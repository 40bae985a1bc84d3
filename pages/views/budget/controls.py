"""Controls of the Budget split page: noise, threshold, slices, and what greedy and tuned splits may look at."""

from __future__ import annotations

import streamlit as st

from pages.ui import controls as lab_controls
from pages.ui.settings import REG, get
from pages.ui.shared import note_of_slack
from pages.ui.text import short
from pages.views.budget.prior import show_upload
from pages.views.budget.settings import JUDGED_BY, PRIORS, VIEWS
from pages.views.budget.split import Settings
from pages.views.budget.state import Results
from treedp_core.errors import METRICS
from treedp_core.studies.budget import STRATEGIES
from treedp_core.words import privacy_text


def release() -> None:
    """Show what is released: the noise, and whether least squares follows."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        lab_controls.mechanisms("bud_mechanism", "Mechanism", several=False)
        st.toggle(
            "Least squares",
            key="bud_least_squares",
            persist_state="session",
            help="Judge splits by the errors after least squares (Dawson et al., Algorithm 2), or by those of the "
            "noise itself, where a level without budget has no estimate at all (∞).",
        )
    note_of_slack([get("bud_mechanism")], "bud_set_delta")


def tuning() -> None:
    """Show what errors are relative to, and how finely greedy divides."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if get("bud_view") not in ("curves", "targets"):
            _metric()
        with st.container(width=220):
            _threshold()
        if get("bud_view") == "targets":
            return
        with st.container(width=220):
            st.select_slider(
                "Greedy slices P",
                REG["bud_phases"].choices(get("bud_phases")),
                key="bud_phases",
                persist_state="session",
                help="Greedy hands the budget out in P equal slices (Dawson et al., Algorithm 3).",
            )


def _metric() -> None:
    """Show what splits are judged by."""
    st.segmented_control(
        "Metric",
        list(JUDGED_BY),
        required=True,
        key="bud_metric",
        persist_state="session",
        format_func=lambda name: METRICS[name].label,
        help="What greedy and tuned splits lower, and what strategies are compared by: metrics that follow from "
        "variances alone. " + " ".join(f"**{METRICS[name].label}**: {METRICS[name].help}" for name in JUDGED_BY),
    )


def _threshold() -> None:
    """Show τ here, unless the sidebar already does."""
    if get("level") == "Advanced":
        st.caption(f"τ = {short(get('tau'))} (set in the sidebar)")
        return
    st.select_slider(
        "Threshold τ",
        REG["tau"].choices(get("tau")),
        key="tau",
        persist_state="session",
        format_func=short,
        help="RMSRE divides an error by the count or by τ, whichever is larger (Dawson et al., Definition 7).",
    )


def prior(settings: Settings) -> None:
    """Show what greedy and tuned splits look at, and what that costs."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "Tune on",
            list(PRIORS),
            required=True,
            key="bud_prior",
            persist_state="session",
            format_func=PRIORS.__getitem__,
            help="**Noisy prior**: a release of its own, charged to the total. **Public or historic file**: free, if "
            "it really is public. **True counts**: how much tuning could gain at most; the split then tells about "
            "the records and must not be published.",
        )
        if get("bud_prior") == "noisy":
            with st.container(width=230):
                st.number_input(
                    "ε for the prior (0: automatic)",
                    min_value=0.0,
                    step=0.1,
                    key="bud_prior_eps",
                    persist_state="session",
                    format="%g",
                    help="Charged to the total ε. 0 chooses 1, or half of the total where that is less; now "
                    f"{privacy_text(settings.epsilon_of_prior)}.",
                )
    if get("bud_prior") == "public":
        show_upload()
    if get("bud_prior") == "true":
        st.error(
            "The splits “Greedy” and “Tuned” below are a function of the private counts. Look at them to learn how "
            "much tuning could gain; do not publish them, nor anything released with them.",
            title="NOT PRIVATE: tuned on the true counts",
            icon=":material/lock_open:",
        )


def view() -> None:
    """Show what one wants to see."""
    st.segmented_control(
        "View",
        list(VIEWS),
        required=True,
        key="bud_view",
        persist_state="session",
        format_func=VIEWS.__getitem__,
        help="Strategies side by side; a split of your own; errors against ε as in Dawson et al., Figure 4; the "
        "smallest ε for wanted accuracies; which counts one can rely on.",
    )


def strategy(result: Results) -> None:
    """Show which strategy the ledger, the reliability map and the other pages take."""
    names = [row.name for row in result.rows or ()]
    labels = {row.name: row.label for row in result.rows or ()}
    if result.pending:
        names.append("optimum")
        labels["optimum"] = STRATEGIES["optimum"].label
    if get("bud_strategy") not in names:
        st.caption(f"The strategy “{get('bud_strategy').replace('_', ' ')}” cannot be had with these settings.")
        return
    st.selectbox(
        "Chosen split",
        names,
        key="bud_strategy",
        persist_state="session",
        format_func=labels.__getitem__,
        help="Its ledger is below; the reliability map and “Use this split” take it.",
    )
