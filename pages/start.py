"""Where to begin: what the app is for, one picture, and what is in this session."""

import streamlit as st

from pages.ui import store
from pages.ui.page import Page, Told, View, explain
from pages.ui.settings import get
from pages.ui.shared import experiment, warn_of_delta
from pages.views.start.parts import about, cards, curves, sentence, session

LEDE = "See what noise does to hierarchical counts before you release any."


def show() -> Told:
    """Show the page."""
    data, settings = store.dataset(), experiment()
    explain(
        "Counts by region, state and county protect nobody by being sums. **Differential privacy** adds noise to "
        "every count; how much depends on the privacy budget ε, on how it is shared by the levels, and on what is "
        "done afterwards. Here you see that error for your own tree: by formula where theory has one, by "
        "simulation elsewhere."
    )
    if not get("present"):
        cards()
    st.header("Error against ε", anchor=False)
    sentence(data, settings)
    warn_of_delta(data.total)  # two of the curves are of laws that spend it
    curves(data, settings)
    st.header("What is in this session", anchor=False)
    session(data, settings)
    return Told(about(data, settings), "formula")


PAGE = Page(
    name="start",
    title="Start here",
    icon="home",
    section="",
    about="Where to begin.",
    heading="Publish counts on a tree, privately",
    lede=LEDE,
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
