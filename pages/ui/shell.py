"""What the app's own script in the browser is given: the address of the page. It also hands Ctrl+Enter to Run.

The script is served as a file of this app, so the security headers let it run as they let Streamlit's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.delta_generator import DeltaGenerator

from pages.ui import address
from pages.ui.page import ROOT, Page
from pages.ui.settings import SHARED

_NAME: Final = "treedp.shell"
_FOLDER: Final = Path("static", "shell")


def room() -> DeltaGenerator:
    """Return where the script is to stand, the same place on every page: static/app.css lets it take no room."""
    return st.container(key="shell")


def run(where: DeltaGenerator, page: Page, pages: Sequence[Page]) -> None:
    """Have the browser show the address of a page as it now is; `pages` begins with the home page."""
    home, *others = [one.name for one in pages]
    view = "" if page.switch is None else page.switch.value
    told = {
        "page": "" if page.name == home else page.name,
        "pages": others,
        "view": f"{page.name}/{view}",
        "query": address.query((*SHARED, *page.settings)),
    }
    _declare()
    with where:
        st.components.v2.component(_NAME, js="shell.js")(data=told, key="shell_script", height=1)


def _declare() -> None:
    """Tell Streamlit where the script lies: it looks for such files in installed packages only."""
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(_NAME) is None:
        package, _, name = _NAME.partition(".")
        manager.register_from_manifest(ComponentManifest(package, "1", [ComponentConfig(name, str(_FOLDER))]), ROOT)
