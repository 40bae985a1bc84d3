"""The page Data and tree, from the source of the records to the tree that their counts stand on."""

from __future__ import annotations

import streamlit as st

from pages.ui import store
from pages.ui.page import Told, explain
from pages.ui.settings import EPSILON, RELATION, SOURCE
from pages.ui.strip import of_data, strip
from pages.ui.text import lit
from pages.ui.upload import choose_columns, counted_before
from pages.views.data.check import check, show_levels
from pages.views.data.hierarchy import form, levels_in_use
from pages.views.data.source import choose
from pages.views.data.tree import show_tree
from pages.views.data.who import who
from treedp_core.privacy import NeighbouringRelation


def show() -> Told:
    """Show the page."""
    relation = NeighbouringRelation(RELATION.value)
    promise = strip(*of_data(store.dataset()), relation=relation, epsilon=EPSILON.value)
    explain(
        "The mechanism sees a tree of counts: every node holds how many records lie below it. The tree's shape and "
        "the list of categories must be public; only the counts get noise. Everything on this page is exact: none "
        "of it is a release."
    )
    st.header("Source", anchor=False)
    file = choose()
    is_set_up = file is None
    st.header("Who is protected", anchor=False)
    who()
    st.header("Hierarchy", anchor=False)
    if file is None:
        levels_in_use()
        file = counted_before(SOURCE.value)
    if file is not None:
        choose_columns(file, form)
    data = store.dataset()
    if not is_set_up:  # nothing else is shown beside a file whose columns are chosen
        st.caption(f"{lit(data.name, 40)} stays in use until the file is counted.")
        return Told(promise, "NOT PRIVATE")
    st.header("Check", anchor=False)
    st.markdown(f"{lit(data.name)}: what became of every record.")
    check(data)
    st.header("Preview", anchor=False)
    show_levels(data)
    show_tree(data)
    return Told(promise, "NOT PRIVATE")
