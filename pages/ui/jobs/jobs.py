"""Work in the background: one job at a time for each slot of a session, in fair turns, with progress and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from pages.ui.jobs.fair_queue import Turn, Turns
from pages.ui.jobs.workers import FAILED, WORKERS, Limits, takes
from pages.ui.session import sessions
from pages.ui.session.streamlit_compat import session_id
from treedp_core.checks import InputError
from treedp_core.watch import Cancelled, Watch

AT_ONCE: Final = 2
UNDER_WAY: Final = 16
"""Jobs that may have begun, over all sessions: what they hold in memory waits with them for their turns."""
HEAVY: Final = 2
"""Of them, how many may have limits: each may take up as much memory as those allow."""
REFRESH_SECONDS: Final = 0.4
REFRESHES: Final = 20
"""How often a second progress is drawn anew, over all sessions: beyond that each waits a little longer."""

Work = Callable[[Watch], Any]


@dataclass(eq=False)
class Job:
    """One simulation or search; the worker writes plain attributes, the page reads them.

    Parameters
    ----------
    key : hashable
        What it was computed for; compare with the present settings to see whether the result is stale.
    total : int
        Trials in all.
    of_data : bool
        Whether it may hold true counts.
    session : str
        Whose it is.
    admit : function
        Asked before it begins: whether there is room for it over all sessions, which it then has.
    limits : Limits, optional
        What its worker may take up.
    done : int
        Trials so far.
    state : {"queued", "running", "done", "cancelled", "error"}
    result : object
        What the work returned, once done.
    best : object
        What it showed last of what can be used before it is done.
    error : InputError or None
        Why it failed, as a sentence for the screen.
    """

    key: Hashable
    total: int
    of_data: bool = True
    session: str = ""
    admit: Callable[[], bool] = field(default=lambda: True)
    limits: Limits | None = None
    done: int = 0
    state: str = "queued"
    result: Any = None
    best: Any = None
    error: InputError | None = None
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        is_heavy = self.limits is not None
        self.turn = Turn(self.session, lambda: not self.stop.is_set(), self.admit, is_heavy)

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

    @property
    def standing(self) -> str:
        """Its place in the queue, in words; "" once it has begun."""
        place = _TURNS.position(self.turn) if self.state == "queued" else 0
        return f"busy: position {place} in the queue" if place else ""

    def run(self, work: Work) -> None:
        """Do the work on this thread when its turn comes, and keep what came of it."""
        _TURNS.begin(self.turn)
        try:
            self._run(work)
        finally:
            _TURNS.end(self.turn)
            self.ended.set()

    def _run(self, work: Work) -> None:
        if self.stop.is_set():
            self.state = "cancelled"
            return
        self.state = "running"
        self.started = time.monotonic()
        try:
            self.result = self._result(work, Watch(self._step, self._cancelled, self._offer))
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except InputError as error:
            self.error = error.with_traceback(None)  # whose frames hold what was read
            self.state = "error"
        except Exception:  # a worker has no page to show it on; the text might quote data
            self.error = InputError(*(FAILED if self.limits is None else self.limits.failed))
            self.state = "error"

    def _result(self, work: Work, watch: Watch) -> Any:
        if not isinstance(work, partial):
            return work(watch)
        if takes(work):
            return WORKERS.run(work, watch, lambda: not self.stop.is_set(), self.limits)
        return work(watch=watch)

    def _step(self, n: int) -> None:
        self.done += n
        _TURNS.breathe(self.turn)

    def _offer(self, best: object) -> None:
        self.best = best

    def _cancelled(self) -> bool:
        _TURNS.breathe(self.turn)
        return self.stop.is_set()


class Jobs:
    """The jobs of one browser session, by slot."""

    def __init__(self) -> None:
        self.slots: dict[str, Job] = {}

    def left(self) -> None:
        """Ask every job to stop: nobody is there to see its result."""
        for job in self.slots.values():
            job.stop.set()


class Threads:
    """An executor that gives each job a thread of its own: which of them go on is a matter of turns."""

    def submit(self, work: Callable[..., None], *arguments: object) -> None:
        """Begin."""
        threading.Thread(target=work, args=arguments, name="job", daemon=True).start()


_TURNS: Final = Turns(AT_ONCE, UNDER_WAY, HEAVY)


def pool() -> Threads:
    """Return what jobs are given to."""
    return Threads()


def jobs() -> Jobs:
    """Return the jobs of this session."""
    return sessions.mine(Jobs)


def refresh_seconds() -> float:
    """Return how long progress stands until it is drawn anew: longer where many sessions look at theirs."""
    return max(REFRESH_SECONDS, _TURNS.n_sessions / REFRESHES)


def start(
    slot: str,
    key: Hashable,
    total: int,
    work: Work,
    *,
    of_data: bool = True,
    admit: Callable[[], bool] = lambda: True,
    limits: Limits | None = None,
) -> Job:
    """Start `work(watch)` in the background in place of the slot's last job, which is asked to stop.

    `total` is in the units that `watch.step` counts (trials). The work must not call Streamlit, must not start jobs,
    and asks its watch often, as that is where it steps back for others. A partial of a public function of the core that
    takes `watch` is done in a process of its own: it and its result are pickled; any other work on a thread of this
    process. `of_data` says whether it is about the records of the data set in use, so that nothing of it may stay when
    they go; `admit` is asked before it begins; `limits` hold for the process.
    """
    cancel(slot)
    job = Job(key, total, of_data, session_id(), admit, limits)
    jobs().slots[slot] = job
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
