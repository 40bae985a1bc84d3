"""What a press does is done whole: what is pressed next waits until the callback of the first press is over.

Streamlit ends a callback midway, and never begins it again, where the browser asks for something else meanwhile: a pin
was lost where its page was left at once, and a notebook that is being opened would be put in place by half.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any, Final

_HERE: Final = threading.local()


def do_whole() -> None:
    """Have callbacks of every session done whole from now on; once a process."""
    try:  # no documented interface says so: without it they may be ended midway, as before
        from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
        from streamlit.runtime.state.safe_session_state import SafeSessionState

        give_way, dispatch = ScriptRunner._maybe_handle_execution_control_request, SafeSessionState.on_script_will_rerun
    except (ImportError, AttributeError):
        return
    if hasattr(give_way, "__wrapped__"):
        return

    @wraps(give_way)
    def later(runner: ScriptRunner) -> None:
        if not getattr(_HERE, "is_in_callbacks", False):
            give_way(runner)

    @wraps(dispatch)
    def whole(state: SafeSessionState, *args: Any, **kwargs: Any) -> None:
        _HERE.is_in_callbacks = True
        try:
            dispatch(state, *args, **kwargs)
        finally:
            _HERE.is_in_callbacks = False

    ScriptRunner._maybe_handle_execution_control_request = later  # type: ignore[assignment,method-assign]
    SafeSessionState.on_script_will_rerun = whole  # type: ignore[assignment,method-assign]
