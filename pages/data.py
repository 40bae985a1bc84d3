"""Choose the records, say who is protected, and look at the tree their counts stand on."""

import streamlit as st

from pages.ui import store, upload
from pages.ui.page import Page, Told, View, explain
from pages.ui.settings import get
from pages.ui.strip import of_data, strip
from pages.ui.text import lit
from pages.views.data.check import check, show_levels
from pages.views.data.hierarchy import form, levels_in_use
from pages.views.data.source import choose
from pages.views.data.tree import show_tree
from pages.views.data.who import who
from treedp_core.privacy import NeighbouringRelation

LEDE = "Choose the records, and look at the tree that their counts stand on."


def show() -> Told:
    """Show the page."""
    relation = NeighbouringRelation(get("nbr"))
    promise = strip(*of_data(store.dataset()), relation=relation, epsilon=get("eps"))
    explain(
        "The mechanism sees a tree of counts: every node holds how many records lie below it. The tree's shape and "
        "the list of categories must be public; only the counts get noise. Everything on this page is exact: none "
        "of it is a release."
    )
    st.header("Source", anchor=False)
    candidate = choose()
    st.header("Who is protected", anchor=False)
    who()
    st.header("Hierarchy", anchor=False)
    if candidate is None:
        levels_in_use()
    else:
        upload.choose_columns(candidate, form)
    data = store.dataset()
    st.header("Check", anchor=False)
    st.markdown(f"{lit(data.name)}: what became of every record.")
    check(data)
    st.header("Preview", anchor=False)
    show_levels(data)
    show_tree(data)
    return Told(promise, "NOT PRIVATE")


PAGE = Page(
    name="data",
    title="Data and tree",
    icon="account_tree",
    section="Explore",
    about="Choose, generate or upload the records, and look at their tree.",
    heading="Data and tree",
    lede=LEDE,
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
