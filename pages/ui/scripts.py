"""Scripts of our own for the browser: each is a file below ``static/``, so the security headers let it run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from pages.ui.page import ROOT

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_PACKAGE: Final = "treedp"
_NAMES: Final = ("shell", "sortable", "splitbar", "autosave", "ranges", "guess")


def script(name: str, *, isolate_styles: bool = True) -> ComponentRenderer:
    """Return what puts ``static/<name>/<name>.js`` on a page.

    Streamlit is told where it lies, as it looks for such files in installed packages only.
    """
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(f"{_PACKAGE}.{name}") is None:
        folders = [ComponentConfig(one, str(Path("static", one))) for one in _NAMES]
        manager.register_from_manifest(ComponentManifest(_PACKAGE, "1", folders), ROOT)
    return st.components.v2.component(f"{_PACKAGE}.{name}", js=f"{name}.js", isolate_styles=isolate_styles)
