"""The page Data and tree, from the source of the records to the tree that their counts stand on."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.settings import SOURCE
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.page.header import explain
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, inputs_now, section, see
from pages.ui.session.download import download
from pages.ui.tables import store
from pages.ui.upload import required_tables as asked_for
from pages.ui.upload.upload import choose_columns, counted_before
from pages.views.data.check import check, show_levels, warn
from pages.views.data.hierarchy import form, levels_in_use
from pages.views.data.source import about_source, choose, is_waited_for
from pages.views.data.tree import show_tree
from pages.views.data.who import ask, is_asked, who
from treedp_core.notebook.export.program import export_name
from treedp_core.records import Dataset
from treedp_core.records.dataset import counts_table
from treedp_core.records.export.columns import labelled
from treedp_core.records.export.tables import csv_bytes
from treedp_core.studies.budget import NOT_PRIVATE
from treedp_core.views import VIEWS
from treedp_core.views.data import MAX_BLOCKS, DataInputs


def show() -> Told:
    """Show the page: a file whose columns are to be chosen, else the tree of the data in use."""
    file = choose()
    data, seen = store.dataset(), see(VIEWS["data"], inputs_now(DataInputs))
    if file is not None:  # nothing else is shown beside it
        choose_columns(file, form)
        small_print(f"{lit(data.name, 40)} stays in use until the file is counted.")
        return Told(seen.line(), NOT_PRIVATE)
    show_tree(seen)
    if asked := is_asked():
        ask()
    if is_waited_for():
        small_print(f"Until you count a file, {lit(data.name, 40)} stays in use.")
    asked_for.show()
    warn(data)
    return seen.told(more=partial(_more, seen, data, asked))


def _more(seen: Seen[DataInputs], data: Dataset, asked: bool) -> None:
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
        name=f"{export_name('all counts', private=True)}.csv", mime="text/csv", key="all_counts",
        help="Every node of the tree with its exact count, as CSV (NOT PRIVATE)",
    )  # fmt: skip
    show_levels(data)
    if data.tree.n_nodes > MAX_BLOCKS:
        frame.found(section(seen, "strips"))
