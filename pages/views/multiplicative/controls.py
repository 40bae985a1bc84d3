"""Controls of the page Multiplicative error: views, presets, the slack, and what a run runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui.presets import Presets, popover
from pages.ui.settings import MAX_ALPHA, REG, get
from pages.ui.shared import fits
from pages.ui.text import short, whole
from pages.views.multiplicative import state
from pages.views.multiplicative.growth import VIEWS
from treedp_core.studies.multiplicative.run import PLANS
from treedp_core.studies.multiplicative.trees import SOURCES

PAPER: Final = {"alpha": 0.5, "eps": 1.0, "delta": 1e-6, "mul_total": 10_000.0}
PRESETS: Final[Presets] = {
    "Paper's example": (
        "1 000 levels with α = 1/2, ε = 1: what the paper's constants prove, and what they leave on the table. "
        "Sets α, ε and δ everywhere.",
        {**PAPER, "mul_view": "growth", "mul_levels": "1000"},
    ),
    "Break-even": (
        "About as many levels as thresholds need to beat every simple rule. Sets α, ε and δ everywhere.",
        {**PAPER, "mul_view": "growth", "mul_levels": "3200"},
    ),
    "Deep chain": (
        "One run on a sparse tree of 3 000 levels. Sets α, ε and δ everywhere.",
        {**PAPER, "mul_view": "run", "mul_source": "deep", "mul_deep_levels": 3000, "mul_plan": "tuned"},
    ),
    "Step by step": (
        "A tree of 31 nodes, one test at a time. Sets α, ε and δ everywhere.",
        {**PAPER, "mul_view": "run", "mul_source": "small", "mul_plan": "tuned", "mul_step": 0},
    ),
}


def view() -> None:
    """Show the views and the presets."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "View", list(VIEWS), key="mul_view", persist_state="session", required=True,
            format_func=VIEWS.__getitem__,
            help="Worst cases by number of levels; one run, threshold by threshold; what the budgets printed in the "
            "paper would cost; what the question means.",
        )  # fmt: skip
        popover("mul", PRESETS, _apply)


def alpha() -> None:
    """Show α here, unless the sidebar already does."""
    if get("level") == "Advanced":
        st.caption(f"α = {short(get('alpha'))} (set in the sidebar)", width="content")
        return
    with st.container(width=150):
        st.slider(
            "Slack α", 0.0, MAX_ALPHA, step=0.05, key="alpha", persist_state="session",
            help="Errors below α times the true count are forgiven (Ghazi et al., Definition 1.4); for every page.",
        )  # fmt: skip


def total(about: str) -> None:
    """Show the largest total that plans are made for."""
    with st.container(width=220):
        st.select_slider(
            "Records at most, N", REG["mul_total"].choices(get("mul_total")), key="mul_total", persist_state="session",
            format_func=short, help=about,
        )  # fmt: skip


def levels() -> None:
    """Show the number of levels at which mechanisms are ranked."""
    st.text_input(
        "Levels d", key="mul_levels", persist_state="session", max_chars=40, width=160, placeholder="as in the data",
        help="Where mechanisms are compared. Empty: the levels of the tree in use. Digits or a power, such as 10^4.",
    )  # fmt: skip


def run() -> None:
    """Show what is run on what."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _select("Tree", "mul_source", SOURCES, 195, "The small and the deep tree are made up; the data set in use is "
                "that of the page Data and tree.")  # fmt: skip
        if get("mul_source") == "deep":
            _grid("Levels", "mul_deep_levels", "Of a binary tree; only paths with records are stored.")
            _grid("Leaves with records", "mul_deep_leaves", "On average 50 records each, the r-th largest about 1/r.")
        _select(
            "Plan", "mul_plan", PLANS, 165,
            "**Tuned**: privacy proven, error simulated. **Provable**: error proven too. **Paper's constants**: those "
            "of Ghazi et al., corrected; made for enormous counts.",
        )  # fmt: skip
        st.toggle(
            "Clamp", key="mul_clamp", persist_state="session",
            help="Lemma 3.3 of Ghazi et al., the last part of Theorem 4.1: every count is measured once more, with "
            "noise of at most R, and what is released moves into that interval, for half of ε and δ. It bounds the "
            "error that a failed round leaves; tuned and provable plans do without.",
        )  # fmt: skip
        alpha()
        st.button(
            "Draw again", key="mul_draw", icon=":material/casino:", on_click=state.draw_again,
            help="The next seed: other noise.",
        )  # fmt: skip


def steps(n_steps: int) -> int:
    """Show which step is shown; return it."""
    step = state.fit_step(n_steps)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        for label, icon, target, about in (
            ("Start", "first_page", 0, "Before the first test."),
            ("Back", "chevron_left", max(0, step - 1), "One step back."),
            ("Next", "chevron_right", min(n_steps, step + 1), "One step on."),
            ("End", "last_page", n_steps, "What is released."),
        ):
            st.button(
                label, key=f"mul_{label.lower()}", icon=f":material/{icon}:", on_click=state.go, args=(target,),
                disabled=target == step, help=about, type="primary" if label == "Next" else "secondary",
            )  # fmt: skip
        with st.container(width=340):
            st.slider(
                f"Step of {whole(n_steps)}", 0, n_steps, key="mul_step", persist_state="session",
                help="Drag, or press Next.",
            )  # fmt: skip
    return step


def _select(label: str, key: str, options: Mapping[str, str], width: int, about: str) -> None:
    st.selectbox(
        label, list(options), key=key, persist_state="session", format_func=options.__getitem__, help=about, width=width
    )


def _grid(label: str, key: str, about: str) -> None:
    with st.container(width=180):
        st.select_slider(
            label, REG[key].choices(get(key)), key=key, persist_state="session", format_func=whole, help=about
        )


def _apply(settings: Mapping[str, Any]) -> None:
    st.session_state.update(settings)
    if "delta" in settings:
        st.session_state["delta"] = fits(get("mul_total"))
