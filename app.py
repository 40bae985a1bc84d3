"""TreeDP in the browser: the application a server imports, and the script that Streamlit runs for every view."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

from treedp_core.cli import load_plugins

if TYPE_CHECKING:
    from pages.ui.page.page import Page

# Files of the pages in the order of the navigation, the home page first; a new page is one more name here. No string
# stands alone in this file: Streamlit would show it.
PAGES: Final = (
    "start", "lesson", "protects", "ranges", "methods", "notebook", "data", "lab", "branching", "cdf", "multiplicative",
    "budget", "consistency", "topdown", "plan",
)  # fmt: skip


def all_pages() -> tuple[Page, ...]:
    """Return the pages in the order of the navigation."""
    from pages.ui.page.navigation import declare

    load_plugins(os.environ)  # first: tables of pages are made from the core's

    return declare(tuple(import_module(f"pages.{name}").PAGE for name in PAGES))


def uncaught(error: Exception) -> bool:
    """Show what a run of the script did not catch itself; True, as Streamlit need not."""
    from pages.ui.inputs.refusals import trouble  # not above: the server is to start before the pages are imported

    return trouble(error)


if __name__ == "__main__":  # Streamlit runs it: read the link, configure the page, and hand over to the router
    known = all_pages()

    from pages.ui.page import address
    from pages.ui.page.page import configure
    from pages.ui.shell import router
    from pages.ui.shell.sidebar import link_problems, sidebar

    refused = address.hydrate()
    configure()
    link_problems(refused)
    router.run(known, sidebar)
else:  # the server imports it, and is to start before the pages are imported
    from streamlit.starlette import App

    from pages.ui.server.middleware import lifespan, middleware

    app = App(__file__, middleware=middleware(PAGES), lifespan=lifespan(all_pages), on_script_error=uncaught)
