"""Rows that are no records, such as totals: proposed by words and sums, left out by one press."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.ui import store
from pages.ui.candidate import Table
from pages.ui.text import lit
from treedp_core.records.hierarchies import suspected_in
from treedp_core.records.totals import Suspect


def left_out_asked(table: Table, columns: Sequence[str] = (), weight: str | None = None) -> dict[str, list[str]]:
    """Ask which of the rows that look like totals are left out, where there are any; those of the last count are."""
    before = [(column, label) for column, labels in table.before.get("left_out", {}).items() for label in labels]
    found: tuple[Suspect, ...] = ()
    if table.columns is not None:
        held = table.columns
        key = ("suspected totals", held.source_digest, tuple(columns), weight)
        found = store.remember(key, lambda: suspected_in(held, columns, weight))
    offered = list(dict.fromkeys((*before, *found)))
    if not offered:
        return {}
    chosen = st.pills(
        "Leave out rows that are totals of others", offered, selection_mode="multi",
        key=table.key("left_out", *columns), default=before,
        format_func=lambda one: f"{lit(one[1], 40)} in {lit(one[0], 40)}",
        help="Rows with one of these labels are no records: press those that are totals. Found by words and sums in "
        "the records, so the proposal is NOT PRIVATE; what you press is fixed, and stands in code and plan.",
    )  # fmt: skip
    return as_option(chosen)


def as_option(chosen: Sequence[Suspect]) -> dict[str, list[str]]:
    """Return labels by column, as counting takes them."""
    out: dict[str, list[str]] = {}
    for column, label in chosen:
        out.setdefault(column, []).append(label)
    return out
