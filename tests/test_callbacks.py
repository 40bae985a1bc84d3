"""A callback is not ended midway where the browser asks for something else meanwhile."""

from __future__ import annotations

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from pages.ui.callbacks import do_whole

DONE: list[str] = []


def script() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from test_callbacks import DONE

    def press() -> None:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_rerun(RerunData())  # as when a page is left at once
        st.session_state["kept"] = True
        st.toast("Kept")
        DONE.append("whole")

    st.button("Pin", key="pin", on_click=press)


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_press_is_done_whole_where_the_next_follows_at_once(is_whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first case is Streamlit as it is: once it passes by itself, `do_whole` can go."""
    give_way, dispatch = ScriptRunner._maybe_handle_execution_control_request, SafeSessionState.on_script_will_rerun
    for owner, name, now in (
        (ScriptRunner, "_maybe_handle_execution_control_request", give_way),
        (SafeSessionState, "on_script_will_rerun", dispatch),
    ):
        monkeypatch.setattr(owner, name, getattr(now, "__wrapped__", now))  # and as it was, at the end
    if is_whole:
        do_whole()
    DONE.clear()
    app = AppTest.from_function(script).run()
    app.button(key="pin").click().run()
    assert ["whole"] * is_whole == DONE and not app.exception
