"""The pages that this app has, by name, and links to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.ui.inputs import settings
from pages.ui.page.page import Page

_known: Final[dict[str, Page]] = {}


def declare(pages: tuple[Page, ...]) -> tuple[Page, ...]:
    """Make pages known, with their settings, so that links to them and to what they show can be read and written."""
    for page in pages:
        _known[page.name] = page
        settings.declare(page.settings, page.name)
    return pages


def known(name: str) -> Page | None:
    """Return a page by its name, if this app has it."""
    return _known.get(name)


def title(name: str) -> str:
    """Return what a page is called; nothing where this app does not have it."""
    return _known[name].title if name in _known else ""


def link(name: str, label: str | None = None, opened: Mapping[str, str | list[str]] | None = None) -> None:
    """Show a link to a page of this app, if it has that page; `opened` are settings it opens with, as in a link."""
    if name in _known:
        page = _known[name]
        st.page_link(
            page.path, label=label or page.title, icon=f":material/{page.icon}:", width="content",
            query_params=dict(opened or {}),
        )  # fmt: skip
