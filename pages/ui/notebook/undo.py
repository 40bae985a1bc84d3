"""Undo and redo of pins, notes and splits; settings have Back, and text fields their own Ctrl+Z."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.notebook import book
from pages.ui.page import handover
from treedp_core.words import plural

WHAT: Final = "pins, notes and splits that pages took over. Settings have Back, text fields their own Ctrl+Z."


def take_split(*split: Any) -> None:
    """Have all pages take a split over, which can be undone: see `handover.take`."""
    book.note(book.state())
    handover.take(*split)


def buttons() -> None:
    """Show what takes the last change back, and what makes it again, where there is something to."""
    history = book.held().history
    if history.past or history.future:
        st.button("Undo", key="nb_undo", icon=":material/undo:", on_click=turn, args=("undo",),
                  disabled=not history.past, help=f"Ctrl+Z, on every page: {WHAT}")  # fmt: skip
        st.button("Redo", key="nb_redo", icon=":material/redo:", on_click=turn, args=("redo",),
                  disabled=not history.future, help=f"Ctrl+Shift+Z, on every page: {WHAT}")  # fmt: skip


def turn(which: str) -> None:
    """Undo or redo the last change, in a callback, and say what came of it."""
    before, history = book.state(), book.held().history
    if not (history.past if which == "undo" else history.future):
        st.toast(f"There is nothing to {which}: it is for {WHAT}", icon=f":material/{which}:")
        return
    after = book.put_back(*(history.back(before) if which == "undo" else history.forth(before)))
    said = f"the notebook, of {plural(len(after.notebook.cells), 'cell')} now"
    if after.notebook == before.notebook:  # it was a split: Back may have turned it since a pin
        handover.turn_to(after.split)
        said = "the split"
    st.toast(f"{'Undone' if which == 'undo' else 'Redone'}: {said}.", icon=f":material/{which}:")
