"""The sidebar: the settings every page shares, the share link, and what happens to the data."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import address, store
from pages.ui import settings as params
from pages.ui import shared as settings
from pages.ui.settings import REG, get
from pages.ui.text import lit
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation
from treedp_core.words import setting_text, short

PRIVACY_NOTE: Final = (
    "Counts and columns of a file are kept in memory on the computer running this app, the file is not. "
    "They are removed about two minutes after you close the tab."
)
WIDE_EPSILON: Final = 10.0
MAX_NAMED: Final = 5


def sidebar() -> None:
    """Show the shared settings; every page has them, so that none is ever reset by changing pages."""
    with st.sidebar:
        st.caption("Settings of every page")
        _keep_to_counted_units()
        _budget()
        _advanced()
        with st.container(horizontal=True):
            _share()
            _view()
        st.caption(PRIVACY_NOTE)


def link_problems(refused: list[tuple[str, InputError]]) -> None:
    """Name the settings of a link that were ignored, once, in a passing message."""
    if not refused:
        return
    named = [f"{lit(key, 40)} ({error.code})" for key, error in refused[:MAX_NAMED]]
    more = f" and {len(refused) - MAX_NAMED} more" if len(refused) > MAX_NAMED else ""
    st.toast(
        f"Ignored in the link: {', '.join(named)}{more}. Everything else is as it says.",
        icon=":material/link_off:",
        duration="long",
    )


def _keep_to_counted_units() -> None:
    """Protect at least as many records of a unit as the data set in use was counted with, and say so."""
    counted = store.dataset().report.contributions
    if counted > get("contributions"):
        st.session_state["contributions"] = counted
        st.info(
            f"These data were counted with up to {counted} records of a unit, so that many are protected.",
            icon=":material/group:",
        )


def _budget() -> None:
    st.select_slider(
        "Privacy budget ε",
        REG["eps"].choices(get("eps")),
        key="eps",
        persist_state="session",
        format_func=setting_text,
        help="Left: more private, more noise. Right: more accurate, less private.",
    )
    if get("eps") > WIDE_EPSILON:
        st.warning(
            f"ε = {setting_text(get('eps'))} hardly limits what a release says about one unit.",
            icon=":material/warning:",
        )
    st.select_slider(
        "Failure probability δ",
        REG["delta"].choices(get("delta")),
        key="delta",
        persist_state="session",
        format_func=_delta,
        help="0 is pure differential privacy (Laplace noise). Gaussian noise needs δ > 0, far below 1 / records.",
    )
    st.selectbox(
        "Neighbouring relation",
        [relation.value for relation in NeighbouringRelation],
        key="nbr",
        persist_state="session",
        format_func=lambda value: NeighbouringRelation(value).label,
        help="Which two data sets must be hard to tell apart. " + NeighbouringRelation(get("nbr")).description,
    )
    used = settings.known_levels()
    if get("nbr") == NeighbouringRelation.REPLACE_UNKNOWN.value and used < get("known_levels"):
        st.warning(
            f"{get('known_levels')} known levels are set, but {lit(store.dataset().name, 40)} has {used}: all are "
            "taken as known, so only whether a record is there is protected.",
            icon=":material/warning:",
        )


def _advanced() -> None:
    st.number_input(
        "Seed", 0, checks.MAX_SEED, step=1, key="seed", persist_state="session",
        help="The same seed gives the same noise: quote it with a picture.",
    )  # fmt: skip
    st.segmented_control(
        "Controls", ["Basic", "Advanced"], key="level", persist_state="session", required=True,
        help="Advanced adds the settings of the error metrics: α and τ.",
    )  # fmt: skip
    if get("level") == "Advanced":
        st.slider(
            "Slack α", 0.0, params.MAX_ALPHA, step=0.05, key="alpha", persist_state="session",
            help="α-RMSE forgives errors below α times the true count (Ghazi et al.).",
        )  # fmt: skip
        st.select_slider(
            "Threshold τ", REG["tau"].choices(get("tau")), key="tau", persist_state="session", format_func=short,
            help="Relative errors divide by the count or by τ, whichever is larger (Dawson et al.).",
        )  # fmt: skip


def _share() -> None:
    with st.popover("Share", icon=":material/link:", help="A link that restores these settings, not the data"):
        st.code(address.share_url(), language=None, wrap_lines=True)
        st.caption("The link carries the settings and the seed. Data from a file are never part of it.")


def _view() -> None:
    with st.popover("View", icon=":material/visibility:", help="Explanations and presentation"):
        st.toggle("Explanations", key="explain", persist_state="session", help="Paragraphs that explain each page.")
        st.toggle("Presentation", key="present", persist_state="session", help="No prose, larger figures.")


def _delta(value: float) -> str:
    return "0 (pure)" if value == 0 else setting_text(value)
