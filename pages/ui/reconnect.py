"""Values that browsers send: those of a session that has ended, after a sleep or a restart, and unreadable ones."""

from __future__ import annotations

from typing import Final

import streamlit as st

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
    kept = _keys_from_browser()
    st.session_state[_RETURNED] = st.session_state[_RERUN] = bool(kept)
    return kept


def run_again() -> None:
    """Rerun a page that has just met the values the browser kept: what stands above their widgets used defaults."""
    if st.session_state.pop(_RERUN, False):
        st.rerun()


def forget_unreadable_values() -> None:
    """Let go of widget values of a type that the widget does not take.

    No page sends them, but where one is sent Streamlit would raise over it in every later run of the session.
    """
    try:  # no documented interface lets go of a value that cannot be read
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        widgets = get_script_run_ctx().session_state._state._new_widget_state  # type: ignore[union-attr]
    except AttributeError:
        return
    for name in list(widgets.states):
        try:
            widgets[name]
        except KeyError:  # of a widget not met yet
            continue
        except Exception:
            del widgets.states[name]


def has_returned() -> bool:
    """Whether this session took over from one that had ended, and nobody has been told yet."""
    return bool(st.session_state.get(_RETURNED))


def dismiss() -> None:
    """Note that the person has been told."""
    st.session_state[_RETURNED] = False


def _keys_from_browser() -> frozenset[str]:
    try:  # no documented interface tells: without it settings start afresh, as they would have anyway
        from streamlit.runtime.scriptrunner import get_script_run_ctx
        from streamlit.runtime.state.common import user_key_from_element_id

        sent = get_script_run_ctx().session_state._state._new_widget_state.states  # type: ignore[union-attr]
        return frozenset(key for key in map(user_key_from_element_id, sent) if key)
    except Exception:
        return frozenset()
