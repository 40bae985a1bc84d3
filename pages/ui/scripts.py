"""Scripts of our own for the browser: each is a file below ``static/``, so the security headers let it run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from pages.ui.page import ROOT

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_PACKAGE: Final = "treedp"
_NAMES: Final = ("shell", "sortable", "splitbar", "autosave", "ranges", "guess")


_made: Final[WeakKeyDictionary[BidiComponentManager, dict[tuple[str, bool], ComponentRenderer]]] = WeakKeyDictionary()


def script(name: str, *, isolate_styles: bool = True) -> ComponentRenderer:
    """Return what puts ``static/<name>/<name>.js`` on a page.

    Streamlit is told where it lies, as it looks for such files in installed packages only, and once: each time
    it looks at every folder above anew.
    """
    manager = get_bidi_component_manager()
    made = _made.setdefault(manager, {})
    if not made:
        folders = [ComponentConfig(one, str(Path("static", one))) for one in _NAMES]
        manager.register_from_manifest(ComponentManifest(_PACKAGE, "1", folders), ROOT)
    if (name, isolate_styles) not in made:
        made[name, isolate_styles] = st.components.v2.component(
            f"{_PACKAGE}.{name}", js=f"{name}.js", isolate_styles=isolate_styles
        )
    return made[name, isolate_styles]
