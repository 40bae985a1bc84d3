"""What the buttons of the present run are about: their callbacks name it by a key.

Streamlit keeps the arguments of a callback for as long as the session lasts, also when the button is gone.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

_OFFERED: Final = "_offered"


def offer(key: str, what: object) -> str:
    """Hold what a button is about until the next run of the whole page; return its key."""
    st.session_state.setdefault(_OFFERED, {})[key] = what
    return key


def taken(key: str) -> Any:
    """Return what the button that was pressed is about."""
    return st.session_state[_OFFERED][key]


def begin() -> None:
    """Let go of what the last run offered: in place, as Streamlit has the value of before until the next run."""
    st.session_state.setdefault(_OFFERED, {}).clear()
