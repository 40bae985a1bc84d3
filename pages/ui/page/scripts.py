"""Scripts of our own for the browser: each is a file below ``static/``, so the security headers let it run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final
from weakref import WeakKeyDictionary

import streamlit as st

from pages.ui.page.page import ROOT
from pages.ui.session.streamlit_compat import ComponentRenderer, register_scripts

_PACKAGE: Final = "treedp"
_NAMES: Final = ("shell", "sortable", "splitbar", "autosave", "ranges", "guess")


_made: Final[WeakKeyDictionary[Hashable, dict[tuple[str, bool], ComponentRenderer]]] = WeakKeyDictionary()


def script(name: str, *, isolate_styles: bool = True) -> ComponentRenderer:
    """Return what puts ``static/<name>/<name>.js`` on a page."""
    made = _made.setdefault(register_scripts(_PACKAGE, _NAMES, ROOT), {})
    if (name, isolate_styles) not in made:
        made[name, isolate_styles] = st.components.v2.component(
            f"{_PACKAGE}.{name}", js=f"{name}.js", isolate_styles=isolate_styles
        )
    return made[name, isolate_styles]
