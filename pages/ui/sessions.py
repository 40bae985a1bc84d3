"""What a session owns beside Streamlit's own state, and the clock that ends a session nobody returns to.

Nothing here lies in a cache of Streamlit: any session may empty those of all others with one message.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

TICK_SECONDS: Final = 5.0
TICKS_TO_LIVE: Final = 8
"""A short time to live is watched more closely: at least so many times."""

T = TypeVar("T", bound="Owned")

_log: Final = logging.getLogger("treedp")


class Owned(Protocol):
    """Something of a session that must be told when its last tab closes."""

    def left(self) -> None:
        """Stop what nobody waits for any more; the session may still return."""


@dataclass(eq=False)
class _Session:
    """What one session owns, by kind, and since when nobody is connected to it."""

    owned: dict[type[Any], Any] = field(default_factory=dict)
    left_at: float | None = None


_sessions: Final[dict[str, _Session]] = {}
_lock: Final = threading.RLock()
_clock: list[threading.Thread] = []


def current_id() -> str:
    """Return the id of the session whose page runs on this thread; "" outside of any."""
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def mine(kind: type[T]) -> T:
    """Return this session's only object of a kind, made on first use and let go when the session ends."""
    with _lock:
        owned = _sessions.setdefault(current_id(), _Session()).owned
        if kind not in owned:
            owned[kind] = kind()
        found: T = owned[kind]
        return found


def enter() -> None:
    """Note that this session runs a page, and see to it that the clock runs; called at the start of every run."""
    with _lock:
        _sessions.setdefault(current_id(), _Session())
        if not _clock and isinstance(runtime.exists() and runtime.get_instance(), runtime.Runtime):
            _clock.append(threading.Thread(target=_watch, name="sessions", daemon=True))
            _clock[0].start()


def known() -> tuple[str, ...]:
    """Return the ids of the sessions that have not ended."""
    with _lock:
        return tuple(_sessions)


def tick(is_connected: Callable[[str], bool], now: float, time_to_live: float) -> list[str]:
    """Tell those whose last tab has closed, and forget and return those who left `time_to_live` seconds ago."""
    ended: list[str] = []
    gone: list[Owned] = []
    with _lock:
        for name, session in list(_sessions.items()):
            if is_connected(name):
                session.left_at = None
            elif session.left_at is None:
                session.left_at = now
                gone += session.owned.values()
            elif now - session.left_at >= time_to_live:
                ended.append(name)
                del _sessions[name]
    for one in gone:
        one.left()
    return ended


def _watch() -> None:
    """End, again and again, the sessions that nobody returned to; a session that is over leaves nothing behind."""
    server = runtime.get_instance()
    time_to_live = float(st.get_option("server.disconnectedSessionTTL"))
    pause = min(TICK_SECONDS, time_to_live / TICKS_TO_LIVE)
    while True:
        time.sleep(pause)
        try:  # two ticks early: Streamlit loses sight of a session that outstays the time to live, but keeps it
            ended = tick(server.is_active_session, time.monotonic(), time_to_live - 2 * pause)
            if ended:
                _end(server, ended)
            server.media_file_mgr.remove_orphaned_files()
        except Exception as error:  # the next tick tries again
            _log.error("the clock of sessions: %s", type(error).__name__)


def _end(server: runtime.Runtime, names: list[str]) -> None:
    """Have Streamlit close sessions, on its own thread, and wait until nothing of them is left."""
    closed = threading.Event()

    def close() -> None:
        storage = server._session_mgr._session_storage  # type: ignore[attr-defined]
        for name in names:
            if not server.is_active_session(name):  # else somebody has returned just now
                server.close_session(name)
                with suppress(KeyError):  # it is not found after a sleep of the machine, and would be kept
                    storage.delete(name)
        closed.set()

    server._get_async_objs().eventloop.call_soon_threadsafe(close)
    closed.wait(TICK_SECONDS)
    gc.collect()
