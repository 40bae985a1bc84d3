"""Controls of the page CDF and ranges: the release, and the presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import cdf_state, lab_controls
from pages.ui.cdf_model import ALLOCATIONS, FITS, TREES, VIEWS
from pages.ui.params import get

PRESETS: Final[Mapping[str, dict[str, Any]]] = {
    "Figure 1 of the paper": {"cdf_view": "error", "cdf_bins": "256"},
    "Section VI experiment": {"cdf_view": "experiment", "cdf_trials": 100},
}


def view() -> None:
    """Show the views and the presets; a preset sets only what it names."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "View", list(VIEWS), key="cdf_view", persist_state="session", required=True,
            format_func=VIEWS.__getitem__,
        )  # fmt: skip
        with st.popover("Presets", icon=":material/auto_awesome:", help="Ready-made comparisons"):
            for name, settings in PRESETS.items():
                st.button(
                    name, key=f"cdf_preset_{settings['cdf_view']}", on_click=_apply, args=(settings,), width="stretch"
                )


def _apply(settings: Mapping[str, Any]) -> None:
    st.session_state.update(settings)


def release() -> None:
    """Show what is released, on which tree, and how it is made consistent."""
    with st.container(horizontal=True, gap="small"):
        lab_controls.mechanisms("cdf_mechanism", "Mechanism", several=False)
        _choice("Tree", "cdf_tree", TREES, "Best found: least expected error of the cumulative counts for this K.")
        if get("cdf_tree") == "own":
            st.text_input(
                "Branching factors", key="cdf_factors", persist_state="session", max_chars=100, width=160,
                placeholder="10,10,10", help="Their product must be at least the number of bins.",
            )  # fmt: skip
    lab_controls.delta_note([get("cdf_mechanism")], "cdf_set_delta")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _choice("Level budgets", "cdf_allocation", ALLOCATIONS, "Optimal: least expected error on this tree.")
        if get("cdf_allocation") == "custom":
            st.text_input(
                "Shares", key="cdf_shares", persist_state="session", max_chars=200, width=180,
                placeholder="0, 0.4, 0.6",
                help="One share for each level from the root down, summing to at most 1; a public root takes 0.",
            )  # fmt: skip
        _choice("Consistency", "cdf_fit", FITS, "Which error the consistent counts minimise.")
        st.toggle("Least squares", key="cdf_post", persist_state="session", help="Free; uses the public total N.")
        st.button(
            "Draw again", key="cdf_draw", icon=":material/casino:", on_click=cdf_state.draw_again,
            help="The next seed: other noise on the same counts.",
        )  # fmt: skip


def _choice(label: str, key: str, options: Mapping[str, str], about: str) -> None:
    st.segmented_control(
        label, list(options), key=key, persist_state="session", required=True, format_func=options.__getitem__,
        help=about,
    )  # fmt: skip
