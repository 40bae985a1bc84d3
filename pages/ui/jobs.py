"""Simulations in the background: one at a time for each slot of a session, with progress and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from pages.ui import sessions
from pages.ui.text import whole
from treedp_core.checks import InputError
from treedp_core.montecarlo import Cancelled, Watch

WORKERS: Final = 2
REFRESH_SECONDS: Final = 0.4

Work = Callable[[Watch], Any]


@dataclass(eq=False)
class Job:
    """One simulation; the worker writes plain attributes, the page reads them.

    Parameters
    ----------
    key : hashable
        What it was computed for; compare with the present settings to see whether the result is stale.
    total : int
        Trials in all.
    of_data : bool
        Whether it may hold true counts.
    done : int
        Trials so far.
    state : {"queued", "running", "done", "cancelled", "error"}
    result : object
        What the work returned, once done.
    error : InputError or None
        Why it failed, as a sentence for the screen.
    """

    key: Hashable
    total: int
    of_data: bool = True
    done: int = 0
    state: str = "queued"
    result: Any = None
    error: InputError | None = None
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def is_running(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    @property
    def is_wanted(self) -> bool:
        """Whether it waits or runs and was not told to stop; its work notices that within one evaluation or chunk."""
        return self.is_running and not self.stop.is_set()

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time to go, once there is anything to judge by."""
        if not self.done:
            return None
        return (time.monotonic() - self.started) * (self.total - self.done) / self.done

    def run(self, work: Work) -> None:
        """Do the work here and now, and keep what came of it."""
        if self.stop.is_set():
            self.state = "cancelled"
            return
        self.state = "running"
        self.started = time.monotonic()
        try:
            self.result = work(Watch(step=self._step, cancelled=self.stop.is_set))
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except InputError as error:
            self.error = error
            self.state = "error"
        except Exception:  # a worker has no page to show it on; the text might quote data
            self.error = InputError("SIMULATION_FAILED", "The simulation failed; change a setting and run it again.")
            self.state = "error"

    def _step(self, n: int) -> None:
        self.done += n


class Jobs:
    """The jobs of one browser session, by slot."""

    def __init__(self) -> None:
        self.slots: dict[str, Job] = {}

    def left(self) -> None:
        """Ask every job to stop: nobody is there to see its result."""
        for job in self.slots.values():
            job.stop.set()


_POOL: Final = ThreadPoolExecutor(WORKERS, thread_name_prefix="simulation")


def pool() -> ThreadPoolExecutor:
    """Return the workers all sessions share."""
    return _POOL


def jobs() -> Jobs:
    """Return the jobs of this session."""
    return sessions.mine(Jobs)


def start(slot: str, key: Hashable, total: int, work: Work, *, of_data: bool = True) -> Job:
    """Start `work(watch)` in the background in place of the slot's last job, which is asked to stop.

    `total` is in the units that `watch.step` counts (trials). The work must not call Streamlit, and must not submit
    to this pool (give `sweep` no executor). `of_data` says whether it is about the records of the data set in use, so
    that nothing of it may stay when they go.
    """
    cancel(slot)
    job = Job(key, total, of_data)
    jobs().slots[slot] = job
    st.session_state[_seen(slot)] = False
    pool().submit(job.run, work)
    return job


def current(slot: str) -> Job | None:
    """Return the slot's last job."""
    return jobs().slots.get(slot)


def cancel(slot: str) -> None:
    """Ask the slot's job to stop; it does within a chunk of trials."""
    job = current(slot)
    if job is not None:
        job.stop.set()


def forget(slot: str) -> None:
    """Empty the slot, so that its work may start anew; a job that still runs is asked to stop."""
    cancel(slot)
    jobs().slots.pop(slot, None)


def forget_data() -> None:
    """Empty every slot whose job may hold true counts; one that still runs is asked to stop."""
    for slot in [slot for slot, job in jobs().slots.items() if job.of_data]:
        forget(slot)


def is_running(slot: str) -> bool:
    """Whether the slot's job waits or runs."""
    job = current(slot)
    return job is not None and job.is_running


def is_wanted(slot: str) -> bool:
    """Whether the slot's job waits or runs and was not told to stop, even before its thread notices that it was."""
    job = current(slot)
    return job is not None and job.is_wanted


def progress(slot: str, unit: str = "runs") -> None:
    """Show the progress of the slot's job, refreshed only while it runs; the page reruns once when it ends.

    `unit` is what its total counts.
    """
    st.fragment(_live, run_every=REFRESH_SECONDS if is_running(slot) else None)(slot, unit)


def _live(slot: str, unit: str) -> None:
    job = current(slot)
    if job is None:
        return
    if job.is_running:
        left = job.seconds_left
        time_left = "" if left is None else f" · about {left:.0f} s left"
        st.progress(
            min(1.0, job.done / max(1, job.total)), text=f"{whole(job.done)} of {whole(job.total)} {unit}{time_left}"
        )
    elif not st.session_state.get(_seen(slot), True):
        st.session_state[_seen(slot)] = True
        st.rerun()


def _seen(slot: str) -> str:
    """Where the session notes whether the page has run since the slot's job ended."""
    return f"_seen_{slot}"
