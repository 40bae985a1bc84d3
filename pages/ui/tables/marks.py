"""How the numbers of a column are written: proposed from its cells, shown in one line, fixed by one press."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.inputs.text import lit, small_print
from pages.ui.tables.result import show_state
from pages.ui.tables.upload_slot import Table
from treedp_core.records.read.numbers.marks import MarksLook, look_at_marks, reading
from treedp_core.records.recipe import MARKS

COMMON: Final = (".", ",", ".,", ",.")


def marks_asked(table: Table, column: str, what: str = "marks") -> dict[str, str] | None:
    """Ask how a column's numbers are written, where its cells show marks; None while that is not answered."""
    found = table.looked(what, look_at_marks, column)
    if not found.is_ready:
        show_state(found, "Looking at the column")
        return None
    look = found.here()
    before = table.before.get("marks", {}).get(column)
    if not look.examples:
        return {} if before is None else {column: before}
    chosen = marks_chosen(look, column, table.key(what, column), before)
    return None if chosen is None else {column: chosen}


def marks_chosen(look: MarksLook, column: str, key: str, before: str | None = None) -> str | None:
    """Ask which of the ways that a look found is how a column's numbers are written; None while that is not said."""
    offered = list(dict.fromkeys((*look.proposed, *([before] if before else []), *COMMON)))
    first = before or (None if look.is_open else look.proposed[0])
    chosen = st.segmented_control(
        f"Numbers of {lit(column, 40)} are written with", offered, key=key, default=first,
        format_func=lambda marks: _told(look, marks),
        help="Read off the first rows (NOT PRIVATE), then fixed: a cell that does not fit is no number, whatever the "
        "others are.",
    )  # fmt: skip
    if chosen is None:
        small_print("Its cells can be read in more than one way: say which it is.")
        return None
    cells = ", ".join(f"{lit(cell, 24)} is read as {reading(cell, chosen)}" for cell in look.examples)
    small_print(f"{cells}: {MARKS[chosen]}. NOT PRIVATE.")
    return chosen


def _told(look: MarksLook, marks: str) -> str:
    """A number as it is written with these marks, and what the first cell means then: four stand in one row."""
    decimal, thousands = marks[0], marks[1:]
    return f"1{thousands}234{decimal}5: {look.examples[0]} = {reading(look.examples[0], marks)}"
