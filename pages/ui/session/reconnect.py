"""Values that browsers send: those of a session that has ended, after a sleep or a restart."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.session.streamlit_compat import keys_sent

_STARTED: Final = "_started"
_RETURNED: Final = "_returned"
_RERUN: Final = "_rerun_after_return"


def settings_kept_by_browser() -> frozenset[str]:
    """Return the keys of widgets whose values a new session got from a browser that had another session before.

    Empty in every run of a session but its first. Defaults must not be written over these values.
    """
    if _STARTED in st.session_state:
        return frozenset()
    st.session_state[_STARTED] = True
    kept = keys_sent()
    st.session_state[_RETURNED] = st.session_state[_RERUN] = bool(kept)
    return kept


def run_again() -> None:
    """Rerun a page that has just met the values the browser kept: what stands above their widgets used defaults."""
    if st.session_state.pop(_RERUN, False):
        st.rerun()


def has_returned() -> bool:
    """Whether this session took over from one that had ended, and nobody has been told yet."""
    return bool(st.session_state.get(_RETURNED))


def dismiss() -> None:
    """Note that the person has been told."""
    st.session_state[_RETURNED] = False
