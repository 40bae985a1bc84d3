"""The router: which pages there are, and the guard that sends a page opened on a cold server through `app.py`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

import streamlit as st

from pages.ui import reconnect, sessions, uploads
from pages.ui.frame import guard
from pages.ui.settings import get

# One line for each page: file in pages/ (also its address), title, Material icon, help. The first is the home page.
PAGES: Final = {
    "": [("start", "Start here", "home", "Where to begin.")],
    "Explore": [
        ("data", "Data and tree", "account_tree", "Choose, generate or upload the records, and look at their tree."),
        ("lab", "Error lab", "monitoring", "Error curves: theory and simulation."),
        ("branching", "Branching factor", "device_hub", "How many children a node should have."),
        ("cdf", "CDF and ranges", "stacked_line_chart", "Cumulative counts, ranges and quantiles of a numeric column."),
        ("multiplicative", "Multiplicative error", "percent", "Errors relative to the count, on very deep trees."),
    ],
    "Tune": [
        ("budget", "Budget split", "pie_chart", "Which level gets how much of the budget, and what that buys."),
        ("consistency", "Consistency", "balance", "Make noisy counts add up, and see what it buys."),
        ("topdown", "TopDown and synthetic data", "grid_on", "Release columns top-down as whole synthetic records."),
    ],
}
HOME: Final = "start"
ROOT: Final = Path(__file__).parent.parent.parent

# Streamlit imports it with its first table; while one session does, plotly in another fails on the half-made module.
import_module("pandas")

_here = threading.local()  # a run of the script stays on one thread


def configure() -> None:
    """Set the title, the layout and the icon of the browser tab.

    The icon must be set before the navigation: else the browser takes the page's, and fetches it from the internet.
    """
    st.set_page_config(
        page_title="TreeDP",
        page_icon=str(ROOT / "static" / "favicon.svg"),  # absolute: a bare name would be looked up elsewhere
        layout="wide",
        initial_sidebar_state="collapsed" if get("present") else "auto",
    )


def run_router(sidebar: Callable[[], None]) -> None:
    """Show the navigation and the sidebar, and run the chosen page."""
    sessions.enter()
    embedded = bool(st.context.is_embedded)
    chosen = st.navigation(_pages(), expanded=True, position="hidden" if embedded else "sidebar")
    with guard():
        sidebar()
    _here.routed = True
    try:
        with guard():
            chosen.run()
    finally:
        _here.routed = False
    uploads.forget_unshown()
    reconnect.run_again()


def page() -> None:
    """First line of every file in pages/: return at once when the router runs it.

    Beside a `pages` folder Streamlit starts in its old mode, where the first visit to a page's address runs that file
    without `app.py`. Declaring the pages leaves that mode for the whole process; the rerun comes through `app.py`.
    """
    if not getattr(_here, "routed", False):
        configure()
        st.navigation(_pages())
        st.rerun()


def link(name: str, label: str | None = None) -> None:
    """Show a link to a page of this app, if it has that page."""
    line = next((line for lines in PAGES.values() for line in lines if line[0] == name and _exists(name)), None)
    if line is not None:
        st.page_link(f"pages/{name}.py", label=label or line[1], icon=f":material/{line[2]}:")


def _exists(name: str) -> bool:
    return (ROOT / "pages" / f"{name}.py").exists()


def _pages() -> dict[str, list[st.Page]]:
    return {section: [_page(*line) for line in lines if _exists(line[0])] for section, lines in PAGES.items()}


def _page(name: str, title: str, icon: str, about: str) -> st.Page:
    return st.Page(
        f"pages/{name}.py", title=title, icon=f":material/{icon}:", url_path=name, help=about, default=name == HOME
    )
