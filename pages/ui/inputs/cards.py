"""Numbers on cards, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from treedp_core.views.finding import Finding

WIDTH: Final = 192
"""Of a card in pixels: its label fits, and four stand side by side on a wide page."""
Card = tuple[str, str, str, str]
"""What it is called, its number, what stands below it, and its help."""


def found_cards(found: Finding, *, flow: bool = False) -> None:
    """Show a table of four columns of texts as cards: see `cards`. Its caption is added to their help."""
    rows = zip(*found.table.values(), strict=True)
    cards([(label, value, note, f"{about} {found.caption}".strip()) for label, value, note, about in rows], flow=flow)


def cards(shown: Sequence[Card], *, flow: bool = False) -> None:
    """Show cards over the whole width, or with `flow` as many in a row as there is room for."""
    places = [st.container(horizontal=True)] * len(shown) if flow else st.columns(len(shown))
    for place, (label, value, below, about) in zip(places, shown, strict=True):
        place.metric(
            label, value, below or None, delta_arrow="off", delta_color="off", border=True, help=about or None,
            height="content" if flow else "stretch", width=WIDTH if flow else "stretch",
        )  # fmt: skip
