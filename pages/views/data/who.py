"""Who is protected: the unit, how many records it has at most, and which two data sets must look alike."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import store
from pages.ui.settings import get
from pages.ui.shared import experiment
from pages.ui.text import lit
from sample_data.catalogue import SAMPLES
from treedp_core.experiment import prepare
from treedp_core.privacy import NeighbouringRelation

_MIRROR: Final = "nbr_here"


def who() -> None:
    """Show and set who is protected; the relation is the one of the sidebar."""
    _note_of_sample()
    left, right = st.columns(2)
    with left:
        _relation()
    with right:
        st.text_input(
            "What is one unit?", key="unit", persist_state="session", max_chars=60,
            help="Whom the promise is about: a person, a household, a device. It changes no number.",
        )  # fmt: skip
        st.number_input(
            "Records of one unit, at most", 1, 50, step=1, key="contributions", persist_state="session",
            help="All noise grows by this factor. A unit with more records than this is not protected as promised.",
        )  # fmt: skip
        if get("nbr") == NeighbouringRelation.REPLACE_UNKNOWN.value:
            most = store.dataset().tree.n_levels
            if get("known_levels") > most:
                st.session_state["known_levels"] = most
            st.number_input(
                "Known levels", 1, most, step=1, key="known_levels", persist_state="session",
                help="Levels built from columns that are public about every unit, the root included.",
            )  # fmt: skip
    promise = prepare(experiment(), store.dataset().tree).guarantee.sentence()
    st.caption(f"For each unit ({lit(get('unit') or 'one person', 60)}): {promise}")


def _relation() -> None:
    relations = list(NeighbouringRelation)
    st.session_state[_MIRROR] = get("nbr")
    st.radio(
        "Two data sets that must be hard to tell apart",
        [relation.value for relation in relations],
        captions=[relation.description for relation in relations],
        key=_MIRROR,
        format_func=lambda value: NeighbouringRelation(value).label,
        on_change=_take_over,
        help="Whatever the data set, a release looks nearly the same for both. Also in the sidebar.",
    )


def _take_over() -> None:
    st.session_state["nbr"] = st.session_state[_MIRROR]


def _note_of_sample() -> None:
    if get("source") == "sample":
        sample = SAMPLES[get("sample")]
        known = f" Known levels: {sample.known_levels}." if sample.known_levels > 1 else ""
        st.caption(f"In this sample: {sample.protected}{known}")
