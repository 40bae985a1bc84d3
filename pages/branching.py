"""Branching factor: how many children a node should have."""

import streamlit as st

from pages.ui.page import Page, Told, View
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.views.branching import settings as page_settings
from pages.views.branching import state as branching_state
from pages.views.branching import view as branching_view
from treedp_core.checks import InputError
from treedp_core.studies.branching import question as model

PRESETS = {"K = 2²⁰": "2^20", "K = 3⁶": "3^6", "K = 2¹¹": "2^11", "K = 997": "997"}


def choose(label: str, key: str, options: dict[str, str], about: str) -> None:
    """One setting of the question."""
    st.segmented_control(
        label, list(options), key=key, persist_state="session", required=True, format_func=options.__getitem__,
        help=about,
    )  # fmt: skip


def use(text: str) -> None:
    """Take a preset's number of bins."""
    st.session_state["bra_bins"] = text


def controls() -> int:
    """What is asked; returns K."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Bins K", key="bra_bins", persist_state="session", max_chars=40, width=200,
            help="Digits or a power: 997, 1 000 000, 2^20. From 2 to 10^15.",
        )  # fmt: skip
        for label, text in PRESETS.items():
            st.button(label, key=f"bra_preset_{text}", on_click=use, args=(text,), help="Take this number of bins.")
    bins = branching_state.n_bins()
    with st.container(horizontal=True, gap="small"):
        choose("Noise", "bra_noise", model.NOISES, "Laplace adds up in ε, Gaussian in ρ (zCDP), which favours levels.")
        choose("Queries", "bra_workload", model.WORKLOADS, "The mean over all prefixes, all ranges, or all nodes.")
        choose("Post-processing", "bra_post", model.POSTS, "Least squares with the known total costs no budget.")
        choose("Level budgets", "bra_budgets", model.BUDGETS, "Equal for all levels, or the best for each tree.")
        st.toggle(
            "Padding", key="bra_padded", persist_state="session",
            help="Allow trees with more leaves than bins. Without it branching factors multiply to K exactly.",
        )  # fmt: skip
    return bins


def show() -> Told:
    """Show the page."""
    asked = branching_state.question(controls())
    try:
        found, is_final = branching_state.ranked(asked)
    except InputError as error:
        refusal(error)
        asked = asked.with_equal_budgets
        found, is_final = branching_state.ranked(asked)
    best = branching_state.by_height(asked, found)
    branching_view.live(asked, best)
    branching_view.cards(asked, found)
    branching_view.ranking(asked, found, is_final)
    branching_view.heights(asked, best, found)
    branching_view.grid()
    branching_view.checks(asked.n_bins)
    without = "" if get("bra_padded") else "Without padding a prime K leaves nothing but the histogram."
    return Told(branching_view.about(asked), "formula", without)


PAGE = Page(
    name="branching",
    title="Branching factor",
    icon="device_hub",
    section="Explore",
    about="How many children a node should have.",
    settings=page_settings.SETTINGS,
    heading="Branching factor",
    lede=(
        "How many children should a node have? With few, many levels share the budget; with many, long ranges add "
        "up many noisy counts."
    ),
    learnt=(
        "The optimum is flat: anything within the shaded band costs at most 5 %, so whole numbers and the padding "
        "of K matter more than 16 against 17. Least squares and Gaussian noise both favour fewer children: binary "
        "trees are best where the two meet, and far from it with plain Laplace noise."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
