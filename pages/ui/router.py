"""The router: the navigation of the pages, and the guard that sends a page opened on a cold server through `app.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

import streamlit as st

from pages.ui import (
    address,
    again,
    autosave,
    offered,
    plans,
    reconnect,
    result,
    sessions,
    settings,
    shell,
    slides,
    store,
    tuned,
    uploads,
)
from pages.ui.page import ROUTED, Page
from pages.ui.refusals import guard
from pages.ui.streamlit_compat import ask_for_home, page_asked
from pages.ui.text import lit

# Streamlit imports it with its first table; while one session does, plotly in another fails on the half-made module.
import_module("pandas")

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


def run(pages: Sequence[Page], sidebar: Callable[[Page, Sequence[Page]], None]) -> None:
    """Show the navigation and the sidebar, and run the chosen page; the first of the pages is the home page."""
    with sessions.running():
        _run(pages, sidebar)


def _run(pages: Sequence[Page], sidebar: Callable[[Page, Sequence[Page]], None]) -> None:
    store.follow()
    offered.begin()
    result.begin()
    tuned.settle()
    script = shell.room()
    embedded = bool(st.context.is_embedded)
    _begin_at_home(pages)
    chosen = st.navigation(_by_section(pages), expanded=True, position="hidden" if embedded else "sidebar")
    page = next((page for page in pages if page.name == chosen.url_path), pages[0])
    slides.turn(page, pages)
    with guard():
        sidebar(page, pages)
    ROUTED.now = True
    try:
        with guard():
            chosen.run()
    finally:
        ROUTED.now = False
    plans.end()
    again.end()
    slides.number()
    uploads.forget_unshown()
    shell.run(script, page, pages)
    with script:
        autosave.run()
    reconnect.run_again()


def _begin_at_home(pages: Sequence[Page]) -> None:
    """Have an address that no page has open the home page, and say so; Streamlit would speak of files in a folder."""
    sent_on = address.page_that_is_none()
    name = sent_on or page_asked()
    if name and name not in _known:
        if not sent_on:
            ask_for_home()
        said = f"There is no page {lit(name, 40)} in this app; this is “{pages[0].title}”."
        st.toast(said, icon=":material/link_off:", duration="long")


def link(name: str, label: str | None = None, opened: Mapping[str, str | list[str]] | None = None) -> None:
    """Show a link to a page of this app, if it has that page; `opened` are settings it opens with, as in a link."""
    if name in _known:
        page = _known[name]
        st.page_link(
            page.path, label=label or page.title, icon=f":material/{page.icon}:", width="content",
            query_params=dict(opened or {}),
        )  # fmt: skip


def _by_section(pages: Sequence[Page]) -> dict[str, list[st.Page]]:
    found: dict[str, list[st.Page]] = {}
    for page in pages:
        found.setdefault(page.section, []).append(page.streamlit(default=page is pages[0]))
    return found
