"""What a press does is done whole and in its turn: what is pressed next waits until the first press is done.

Streamlit begins a thread for each press, and so ends a callback midway, and never begins it again, where the browser
asks for something else meanwhile: a pin was lost where its page was left at once, and a notebook that is being opened
would be put in place by half. Nor does a thread wait for the one before it: one that came late put the controls of an
older message over what the callback of a newer one had set.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any, Final

_HERE: Final = threading.local()
_LAST: Final[dict[str, threading.Event]] = {}
"""Of each session that runs: what tells that the callbacks of its last press are done."""


def do_whole() -> None:
    """Have callbacks of every session done whole, and in the order of what was pressed; once a process."""
    try:  # no documented interface says so: without it they may be ended midway, as before
        from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
        from streamlit.runtime.state.safe_session_state import SafeSessionState

        give_way, dispatch = ScriptRunner._maybe_handle_execution_control_request, SafeSessionState.on_script_will_rerun
        start, thread = ScriptRunner.start, ScriptRunner._run_script_thread
    except (ImportError, AttributeError):
        return
    if hasattr(give_way, "__wrapped__"):
        return

    @wraps(give_way)
    def later(runner: ScriptRunner) -> None:
        if not getattr(_HERE, "is_in_callbacks", False):
            give_way(runner)

    @wraps(start)
    def in_turn(runner: Any) -> None:
        runner.turn = threading.Event()
        runner.turn_before, _LAST[runner._session_id] = _LAST.get(runner._session_id), runner.turn
        start(runner)

    @wraps(thread)
    def to_the_end(runner: Any) -> None:
        if runner.turn_before is not None:
            runner.turn_before.wait()
        runner.turn_before, _HERE.turn = None, runner.turn
        try:
            thread(runner)
        finally:  # also where it had no callback to do
            runner.turn.set()
            if _LAST.get(runner._session_id) is runner.turn:
                del _LAST[runner._session_id]

    @wraps(dispatch)
    def whole(state: SafeSessionState, *args: Any, **kwargs: Any) -> None:
        _HERE.is_in_callbacks = True
        try:
            dispatch(state, *args, **kwargs)
        finally:
            _HERE.is_in_callbacks = False
            _HERE.turn.set()

    for owner, name, ours in (
        (ScriptRunner, "_maybe_handle_execution_control_request", later),
        (ScriptRunner, "start", in_turn),
        (ScriptRunner, "_run_script_thread", to_the_end),
        (SafeSessionState, "on_script_will_rerun", whole),
    ):
        setattr(owner, name, ours)
