"""The page Data and tree, from the source of the records to the tree that their counts stand on."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui import asked as asked_for
from pages.ui import store
from pages.ui.exports import download, named
from pages.ui.header import explain
from pages.ui.page import Told
from pages.ui.settings import EPSILON, RELATION, SOURCE
from pages.ui.shared import experiment
from pages.ui.strip import of_data, strip
from pages.ui.text import lit, prose, small_print
from pages.ui.upload import choose_columns, counted_before
from pages.views.data.check import check, show_levels, warn
from pages.views.data.hierarchy import form, levels_in_use
from pages.views.data.source import about_source, choose, is_waited_for
from pages.views.data.tree import show_strips, show_tree
from pages.views.data.who import ask, is_asked, who
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.records.dataset import counts_table
from treedp_core.records.export.columns import labelled
from treedp_core.records.export.tables import csv_bytes
from treedp_core.studies.budget import NOT_PRIVATE
from treedp_core.studies.data import Hidden, hidden_leaves
from treedp_core.words import margin, percent, plural, setting_text


def show() -> Told:
    """Show the page: a file whose columns are to be chosen, else the tree of the data in use."""
    file = choose()
    data = store.dataset()
    promise = strip(*of_data(data), relation=NeighbouringRelation(RELATION.value), epsilon=EPSILON.value)
    if file is not None:  # nothing else is shown beside it
        choose_columns(file, form)
        small_print(f"{lit(data.name, 40)} stays in use until the file is counted.")
        return Told(promise, "NOT PRIVATE")
    show_tree(data, _answer(data))
    if asked := is_asked():
        ask()
    if is_waited_for():
        small_print(f"Until you count a file, {lit(data.name, 40)} stays in use.")
    asked_for.show()
    warn(data)
    return Told(promise, "formula, NOT PRIVATE", more=partial(_more, data, asked))


def _answer(data: Dataset) -> str:
    """What the noise of a leaf is beside the counts of the leaves."""
    settings = experiment()
    found = hidden_leaves(data, settings)
    return (
        f"{plural(data.total, 'record')} on {plural(data.tree.n_leaves, 'leaf', 'leaves')}; at ε = "
        f"{setting_text(settings.epsilon)} the 95 % margin of a leaf is {margin(found.margin)} records, and "
        f"{_hidden(found)}."
    )


def _hidden(found: Hidden) -> str:
    """How many leaves are not larger than the margin; "every" and "no" only where that is so."""
    if found.number == 0:
        return "every leaf is larger than that"
    if found.number == found.of:
        return "no leaf is larger than that"
    are = "is" if found.number == 1 else "are"
    return f"{plural(found.number, 'leaf', 'leaves')} ({percent(found.number / found.of)}) {are} not larger than that"


def _more(data: Dataset, asked: bool) -> None:
    """Who is protected, the hierarchy, what became of every record, and the levels in numbers."""
    explain(
        "The mechanism sees a tree of counts: every node holds how many records lie below it. The tree's shape and "
        "the list of categories must be public; only the counts get noise. Everything on this page is exact: none "
        "of it is a release."
    )
    about_source()
    st.header("Who is protected", anchor=False)
    who(asked)
    st.header("Hierarchy", anchor=False)
    levels_in_use()
    if (again := counted_before(SOURCE.value)) is not None:
        choose_columns(again, form)
    st.header("Check", anchor=False)
    prose(f"{lit(data.name)}: what became of every record.")
    check(data)
    download(
        "All counts", lambda: csv_bytes(labelled(counts_table(data), f"{NOT_PRIVATE}: exact counts.")),
        name=f"{named('all counts', private=True)}.csv", mime="text/csv", key="all_counts",
        help="Every node of the tree with its exact count, as CSV (NOT PRIVATE)",
    )  # fmt: skip
    show_levels(data)
    show_strips(data)
