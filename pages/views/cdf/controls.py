"""Controls of the page CDF and ranges: the release, and the presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import controls as lab_controls
from pages.ui import tuned
from pages.ui.presets import Presets, popover
from pages.ui.settings import get
from pages.ui.shared import note_of_slack
from pages.views.cdf import state as cdf_state
from pages.views.cdf.model import ALLOCATIONS, FITS, TREES, VIEWS

PRESETS: Final[Presets] = {
    "Figure 1 of the paper": (
        "Error against ε with 256 bins, as in Rameshwar et al.; sets this page only.",
        {"cdf_view": "error", "cdf_bins": "256"},
    ),
    "Section VI experiment": (
        "A hundred releases of 997 bins, as in Rameshwar et al.; sets this page only.",
        {"cdf_view": "experiment", "cdf_trials": 100},
    ),
}


def view() -> None:
    """Show the views and the presets; a preset sets only what it names, and runs what needs to be run."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "View", list(VIEWS), key="cdf_view", persist_state="session", required=True,
            format_func=VIEWS.__getitem__, help="One release, its error against ε, a published experiment, or a bound.",
        )  # fmt: skip
        popover("cdf", PRESETS, _apply, [settings["cdf_view"] for _, settings in PRESETS.values()])


def _apply(settings: Mapping[str, Any]) -> None:
    st.session_state.update(settings)
    if settings["cdf_view"] == "experiment":
        cdf_state.start_experiment()


def release(total: int) -> None:
    """Show what is released, on which tree, and how it is made consistent."""
    lab_controls.mechanisms("cdf_mechanism", "Mechanism", several=False)
    note_of_slack([get("cdf_mechanism")], "cdf_set_delta", total)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _choice("Tree", "cdf_tree", TREES, "Best found: least expected error of the cumulative counts for this K.")
        if get("cdf_tree") == "own":
            _text("Branching factors", "cdf_factors", "10,10,10", "Their product must be at least the number of bins.")
        _choice("Level budgets", "cdf_allocation", ALLOCATIONS, "Optimal: least expected error on this tree.")
        if get("cdf_allocation") == "custom":
            about = "One share for each level from the root down, summing to at most 1; a public root takes 0."
            _text("Shares", "cdf_shares", "0, 0.4, 0.6", about)
        _choice("Consistency", "cdf_fit", FITS, "Which error the consistent counts minimise.")
        st.toggle("Least squares", key="cdf_post", persist_state="session", help="Free; uses the public total N.")
        st.button(
            "Draw again", key="cdf_draw", icon=":material/casino:", on_click=cdf_state.draw_again,
            help="The next seed: other noise on the same counts.",
        )  # fmt: skip
    tuned.note("cdf")


def _choice(label: str, key: str, options: Mapping[str, str], about: str) -> None:
    st.selectbox(
        label, list(options), key=key, persist_state="session", format_func=options.__getitem__, help=about, width=150
    )


def _text(label: str, key: str, example: str, about: str) -> None:
    st.text_input(label, key=key, persist_state="session", max_chars=200, width=160, placeholder=example, help=about)
