"""What is used of Streamlit without its documentation: what fails is said; a callback is done whole and in its turn."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from pages.ui.session.streamlit_compat import Use, check, have_presses_done_in_turn

DONE: list[str] = []
PATCHED = (
    (ScriptRunner, "_maybe_handle_execution_control_request"),
    (ScriptRunner, "start"),
    (ScriptRunner, "_run_script_thread"),
    (SafeSessionState, "on_script_will_rerun"),
)


IS_WHOLE = pytest.mark.parametrize("is_whole", [False, True], ids=["Streamlit", "ours"])
"""Once a test passes with Streamlit as it is, that part of `have_presses_done_in_turn` can go."""


@pytest.fixture(autouse=True)
def streamlit_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is ours in it is out, and what was in it is in again at the end."""
    for owner, name in PATCHED:
        now = getattr(owner, name)
        monkeypatch.setattr(owner, name, getattr(now, "__wrapped__", now))


def test_what_is_not_there_is_a_line_in_the_log_and_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    gone = Use("Runtime.gone", "to see it fail", "nothing", lambda: ScriptRunner.gone)  # type: ignore[attr-defined]
    refused = Use("Runtime.other", "to see it fail", "a nicety", lambda: False)
    fine = Use("Runtime", "to see it pass", "all", lambda: True)
    assert check([gone, fine, refused]) == [gone, refused]
    assert [one.getMessage().count(";") for one in caplog.records] == [1, 1] and "a nicety" in caplog.text


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


@IS_WHOLE
def test_a_press_is_done_whole_where_the_next_follows_at_once(is_whole: bool) -> None:
    if is_whole:
        have_presses_done_in_turn()
    DONE.clear()
    app = AppTest.from_function(script).run()
    app.button(key="pin").click().run()
    assert ["whole"] * is_whole == DONE and not app.exception


@IS_WHOLE
def test_a_thread_that_comes_late_does_not_put_an_older_press_over_a_newer(
    is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of the first press is held up before its callback; that of the second is not."""
    session, may_go, order = SessionState(), threading.Event(), list[str]()
    monkeypatch.setattr(SessionState, "on_script_will_rerun", lambda _state, pressed, **_: order.append(pressed))

    def thread(runner: Any) -> None:
        if runner.name == "first":
            may_go.wait()
        runner._session_state.on_script_will_rerun(runner.name)

    monkeypatch.setattr(ScriptRunner, "_run_script_thread", thread)
    if is_whole:
        have_presses_done_in_turn()
    threads = []
    for name in ("first", "second"):
        runner: Any = object.__new__(ScriptRunner)
        runner.name, runner._session_id, runner._execing, runner._script_thread = name, "one", False, None
        runner._session_state = SafeSessionState(session, runner._maybe_handle_execution_control_request)
        runner.start()
        threads.append(runner._script_thread)
    threads[1].join(0.5)
    may_go.set()
    for one in threads:
        one.join(30)
    assert order == (["first", "second"] if is_whole else ["second", "first"])
