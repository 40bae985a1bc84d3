"""What was counted, and what the levels of the tree look like: tables of exact numbers."""

from __future__ import annotations

import streamlit as st

from pages.ui.figure.frame import plain_table
from pages.ui.inputs.setting import key_of
from pages.ui.inputs.settings import SOURCE
from pages.ui.inputs.text import lit
from pages.ui.tables import session_tables
from pages.ui.tables.store import remember
from pages.ui.upload.bins import warn_of_cut
from pages.ui.upload.upload import count_again, notice
from pages.views.data.hierarchy import taken_from_the_data_warning
from treedp_core.records import Dataset, DomainSource
from treedp_core.studies.data import level_table
from treedp_core.words import halves, whole


def check(data: Dataset) -> None:
    """Show what became of every record."""
    report = data.report
    numbers = (
        ("Rows read", report.rows, "Rows of the table, without its header."),
        ("Records counted", report.counted, "Records in the tree; a row with a weight stands for several."),
        ("Units", report.units, "Named by the unit column."),
        ("Left out, beyond the unit’s share", report.clipped, "Rows after the first ones of their unit."),
        ("Left out, no records", report.left_out, "Rows that were named as totals, or as nobody’s."),
        ("Outside the bounds", report.outside_range, "Their value is below the lower or above the upper bound."),
        ("Under “(other)”", report.other, "No category or bin has a place for them; the leaf is always there."),
        ("Under “(blank)”", report.blank_labels, "A chosen cell was empty; they are counted in that category."),
    )
    with st.container(horizontal=True):
        for label, number, about in numbers:
            if number or label in ("Rows read", "Records counted"):
                st.metric(label, whole(number), border=True, width=190, help=about)


def warn(data: Dataset) -> None:
    """Show what a person should look at."""
    if data.domain_source is DomainSource.FROM_DATA:
        taken_from_the_data_warning()
    warn_of_cut(data)
    for code, sentence in data.report.notices:
        notice(code, sentence)
    _count_again(data)
    if not data.total:
        st.info("All counts are 0: relative errors have no meaning here.", icon=":material/info:")


def _count_again(data: Dataset) -> None:
    """Offer to leave out what looks like totals."""
    slot, recipe = SOURCE.value, data.report.recipe
    table = session_tables.of(slot)
    if table is None or table.data is not data or not table.can_be_counted_again:
        return
    with st.container(horizontal=True):
        for column, label in data.report.totals:
            named: dict[str, list[str]] = {one: list(labels) for one, labels in recipe.left_out}
            named[column] = [*named.get(column, ()), label]
            st.button(
                f"Leave out {lit(label, 30)} in {lit(column, 30)}", key=f"leave_out_{key_of(column, label)}",
                icon=":material/block:", on_click=count_again, args=(slot,), kwargs={"left_out": named},
                help="These rows look like totals of others, by words or sums in the records (NOT PRIVATE). The table "
                "is counted without them, and code and plan say so.",
            )  # fmt: skip


def show_levels(data: Dataset) -> None:
    """Show what the levels of the tree look like."""
    percent = st.column_config.NumberColumn(format="percent")
    plain_table(
        remember(("level table", data.fingerprint), lambda: level_table(data)),
        alt=f"Nodes, empty share, counts and fan-out of each of {data.tree.n_levels} levels",
        caption="NOT PRIVATE: exact counts. Empty: share of nodes with count 0. Median, largest: records of a node. "
        "Children: fewest, median and most children of a node.",
        formats={"Nodes": whole, "Median": halves, "Largest": whole, "Empty": percent},
        height="content",
    )
