"""What a session owns beside Streamlit's own state, and the clock that ends a session nobody returns to.

Nothing here lies in a cache of Streamlit: any session may empty those of all others with one message.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import streamlit as st

from pages.ui.session import streamlit_compat
from pages.ui.session.streamlit_compat import keys_sent, session_id

# Values that browsers send: those of a session that has ended, after a sleep or a restart.

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


TICK_SECONDS: Final = 5.0
TICKS_TO_LIVE: Final = 8
"""A short time to live is watched more closely: at least so many times."""

NEWCOMERS: Final = 2
"""First runs of sessions that are under way at a time."""
LONGEST_WAIT_SECONDS: Final = 20.0

COLLECT_SECONDS: Final = 15.0
"""At least so long from one collection of garbage to the next; after every run it would take longer than the run."""

T = TypeVar("T", bound="Owned")

_log: Final = logging.getLogger("treedp")


class Owned(Protocol):
    """Something of a session that must be told when its last tab closes."""

    def left(self) -> None:
        """Stop what nobody waits for any more; the session may still return."""


@dataclass(eq=False)
class _Session:
    """What one session owns, by kind, since when nobody is connected to it, and whether it has run a page."""

    owned: dict[type[Any], Any] = field(default_factory=dict)
    left_at: float | None = None
    has_run: bool = False


_sessions: Final[dict[str, _Session]] = {}
_lock: Final = threading.RLock()
_litter: Final = threading.Event()
"""Whether a page has run since garbage was last collected."""
_door: Final = threading.Semaphore(NEWCOMERS)


def mine(kind: type[T]) -> T:
    """Return this session's only object of a kind, made on first use and let go when the session ends."""
    with _lock:
        owned = _sessions.setdefault(session_id(), _Session()).owned
        if kind not in owned:
            owned[kind] = kind()
        found: T = owned[kind]
        return found


@contextmanager
def running() -> Iterator[None]:
    """Around every run of a page: note that this session runs one, and have its first one wait for its turn.

    Those who are there are answered before those who come: of these, few are served at a time.
    """
    with _lock:
        session = _sessions.setdefault(session_id(), _Session())
        is_new, session.has_run = not session.has_run, True
    has_turn = is_new and _door.acquire(timeout=LONGEST_WAIT_SECONDS)
    try:
        yield
    finally:
        _litter.set()
        if has_turn:
            _door.release()


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


@asynccontextmanager
async def clock(chore: Callable[[], bool]) -> AsyncIterator[None]:
    """While the server runs, end the sessions that nobody returned to, also when nobody is connected.

    `chore` is done at every tick, and says whether it freed anything.
    """
    ticking = asyncio.create_task(_watch(chore), name="clock of sessions")
    yield
    ticking.cancel()


async def _watch(chore: Callable[[], bool]) -> None:
    time_to_live = float(st.get_option("server.disconnectedSessionTTL"))
    pause = min(TICK_SECONDS, time_to_live / TICKS_TO_LIVE)
    due = 0.0
    while True:
        await asyncio.sleep(pause)
        try:  # two ticks early: Streamlit loses sight of a session that outstays the time to live, but keeps it
            now = time.monotonic()
            ended = tick(streamlit_compat.is_connected, now, time_to_live - 2 * pause)
            for name in ended:
                streamlit_compat.close_session(name)
            streamlit_compat.remove_orphans()
            has_freed = chore()
            if ended or (_litter.is_set() and now >= due):
                _litter.clear()
                due = now + COLLECT_SECONDS
                await asyncio.to_thread(collect)
            if ended or has_freed:
                await asyncio.to_thread(return_pages)
        except Exception as error:  # the next tick tries again
            _log.error("the clock of sessions: %s", type(error).__name__)


def collect() -> None:
    """Collect everything once, and look no more through what then stays: each time all would wait for that."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def return_pages() -> None:
    """Return the free pages of the heap to the system; glibc keeps those below anything still in use."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, or Windows
        ctypes.CDLL(None).malloc_trim(0)
