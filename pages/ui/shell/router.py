"""The router: the navigation of the pages, and the guard that sends a page opened on a cold server through `app.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import streamlit as st

from pages.ui.inputs import button_subjects
from pages.ui.inputs.refusals import guard
from pages.ui.inputs.text import lit
from pages.ui.notebook import autosave, rerun
from pages.ui.page import address, slides
from pages.ui.page.navigation import known
from pages.ui.page.page import ROUTED, Page
from pages.ui.session import sessions, uploads
from pages.ui.session.streamlit_compat import ask_for_home, page_asked
from pages.ui.shell import shell
from pages.ui.tables import plans, result, store, tuning_provenance

# Streamlit imports it with its first table; while one session does, plotly in another fails on the half-made module.
import_module("pandas")


def run(pages: Sequence[Page], sidebar: Callable[[Page, Sequence[Page]], None]) -> None:
    """Show the navigation and the sidebar, and run the chosen page; the first of the pages is the home page."""
    with sessions.running():
        _run(pages, sidebar)


def _run(pages: Sequence[Page], sidebar: Callable[[Page, Sequence[Page]], None]) -> None:
    store.follow()
    button_subjects.begin()
    result.begin()
    tuning_provenance.settle()
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
    rerun.end()
    slides.number()
    uploads.forget_unshown()
    shell.run(script, page, pages)
    with script:
        autosave.run()
    sessions.run_again()


def _begin_at_home(pages: Sequence[Page]) -> None:
    """Have an address that no page has open the home page, and say so; Streamlit would speak of files in a folder."""
    sent_on = address.page_that_is_none()
    name = sent_on or page_asked()
    if name and known(name) is None:
        if not sent_on:
            ask_for_home()
        said = f"There is no page {lit(name, 40)} in this app; this is “{pages[0].title}”."
        st.toast(said, icon=":material/link_off:", duration="long")


def _by_section(pages: Sequence[Page]) -> dict[str, list[st.Page]]:
    found: dict[str, list[st.Page]] = {}
    for page in pages:
        found.setdefault(page.section, []).append(page.streamlit(default=page is pages[0]))
    return found
