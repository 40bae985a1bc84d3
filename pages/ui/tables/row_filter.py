"""Rows that are no records, such as totals: proposed by words and sums, left out by one press."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.ui.inputs.text import lit
from pages.ui.tables import store
from pages.ui.tables.upload_slot import Table
from treedp_core.records.count.row_filter import Suspect
from treedp_core.records.hierarchies import labels_of, suspected_in


def left_out_asked(table: Table, columns: Sequence[str] = (), weight: str | None = None) -> dict[str, list[str]]:
    """Ask which of the rows that look like totals are left out, where there are any; those of the last count are."""
    before = [(column, label) for column, labels in table.before.get("left_out", {}).items() for label in labels]
    found: tuple[Suspect, ...] = ()
    if table.columns is not None:
        held = table.columns
        key = ("suspected totals", held.source_digest, tuple(columns), weight)
        found = store.remember(key, lambda: suspected_in(held, columns, weight))
    offered = list(dict.fromkeys((*before, *found)))
    return as_option([*_of_offered(table, columns, offered, before), *_named(table, columns, offered)])


def _of_offered(
    table: Table, columns: Sequence[str], offered: Sequence[Suspect], before: Sequence[Suspect]
) -> list[Suspect]:
    """Ask which of the labels are left out that were last time, or are proposed."""
    if not offered:
        return []
    return st.pills(
        "Leave out rows that are totals of others", offered, selection_mode="multi",
        key=table.key("left_out", *columns), default=before,
        format_func=lambda one: f"{lit(one[1], 40)} in {lit(one[0], 40)}",
        help="Rows with one of these labels are no records: press those that are totals. Found by words and sums in "
        "the records, so the proposal is NOT PRIVATE; what you press is fixed, and stands in code and plan.",
    )  # fmt: skip


def _named(table: Table, columns: Sequence[str], offered: Sequence[Suspect]) -> list[Suspect]:
    """Ask for more labels whose rows are left out: of all that occur, where columns are here and have few, or typed."""
    held = table.columns
    looked_in = list(columns)
    if not columns and held is not None:
        looked_in = [one for one in table.preview.columns_for("label") if one not in held.numbers]
    if not looked_in:
        return []
    labels = [] if held is None else [(one, label) for one in looked_in for label in labels_of(held, one)]
    known = {_told(one): one for one in labels if one not in offered}
    chosen = st.multiselect(
        "Leave out rows with another label", list(known), key=table.key("named_out", *columns),
        accept_new_options=True, placeholder="pick or type one",
        help="For rows that you know to be no records, such as totals by a name of their own. A typed label is left "
        "out in every column that is asked for here. NOT PRIVATE: the list is read off the records.",
    )  # fmt: skip
    return [one for told in chosen for one in ([known[told]] if told in known else [(it, told) for it in looked_in])]


def _told(one: Suspect) -> str:
    return f"{one[1]} in {one[0]}"


def as_option(chosen: Sequence[Suspect]) -> dict[str, list[str]]:
    """Return labels by column, as counting takes them."""
    out: dict[str, list[str]] = {}
    for column, label in chosen:
        out.setdefault(column, []).append(label)
    return out
