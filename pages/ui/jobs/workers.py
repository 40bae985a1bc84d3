"""Processes for work that takes long: each piece has one of its own, which ends with it.

The page's process stays free for what others click, work that is not wanted any more ends at once whatever it does,
and what it held in memory goes with it. Workers are forked from a process that has the core in memory and waits. It is
started with the server and takes up about 120 MB, half of it shared with its workers; a worker adds about 1 MB and what
its work needs, and is there some 30 ms after it was asked for (measured on a busy machine).
"""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pages.ui.jobs.ipc import parts_of, receive, send
from treedp_core.checks import InputError
from treedp_core.registry import uses_own
from treedp_core.watch import Cancelled, Watch

ORDER: Final = struct.Struct("!q")
FORK: Final = 0
"""What the forker is told: to fork a worker, else the id of the worker to end."""
GOES_ON: Final = ("step", "best")
"""What a worker says before it is done: how far it is, and what of its answer can be used."""
LOOK_SECONDS: Final = 0.1
STUDIES: Final = ("branching", "budget", "cdf", "multiplicative", "sweep", "topdown")
READERS: Final = ("numbers.amounts", "arrow.csv", "arrow.ipc", "arrow.tables", "columns", "json_records")
PRELOADED: Final = (
    "treedp_core.experiment",
    *(f"treedp_core.studies.{study}" for study in STUDIES),
    "treedp_core.notebook.file.archive",
    "treedp_core.records.worker_read",
    *(f"treedp_core.records.read.{reader}" for reader in READERS),
)
ONE_THREAD: Final = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve memory that nothing needs, which limits would count
}
FAILED: Final = ("SIMULATION_FAILED", "The simulation failed; change a setting and run it again.")


@dataclass(frozen=True)
class Limits:
    """What a worker may take up beyond what it begins with, and what is said of work that does not end well.

    Parameters
    ----------
    n_bytes : int
        Memory.
    seconds : int
        Time of computing.
    broken : (code, sentence)
        It wanted more; its process may have ended of it.
    failed : (code, sentence)
        It could not begin, or has a fault.
    """

    n_bytes: int
    seconds: int
    broken: tuple[str, str]
    failed: tuple[str, str]


def takes(work: object) -> bool:
    """Whether work is done in a process: a partial of a function of the core, where processes can be forked safely.

    Entries that this process's own code added to the tables are in none of its workers: work that names one is done
    here, and no other.

    >>> from treedp_core import experiment
    >>> takes(partial(experiment.run, 1)), takes(lambda watch: 1)
    (True, False)
    """
    if not isinstance(work, partial) or sys.platform != "linux":
        return False
    module, name = (getattr(work.func, part, "") for part in ("__module__", "__qualname__"))
    return module.startswith("treedp_core.") and "<" not in name and not uses_own((work.args, work.keywords))


class Workers:
    """Starts a worker for each piece of work; the process they are forked from starts on first use."""

    def __init__(self, preloaded: Sequence[str] = PRELOADED) -> None:
        self._preloaded = preloaded
        self._lock = threading.Lock()
        self._forker: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start what workers are forked from, if it does not run; it loads the core meanwhile."""
        if sys.platform == "linux":
            with self._lock:
                self._started()

    def close(self) -> None:
        """End every worker, and what they are forked from."""
        with self._lock:
            self._stopped()

    def run(
        self,
        work: partial[Any],
        watch: Watch,
        is_wanted: Callable[[], bool] = lambda: True,
        limits: Limits | None = None,
    ) -> Any:
        """Return what `work(watch)` returns in a process of its own.

        Parameters
        ----------
        work : functools.partial
            Of a public function of the core, with arguments that can be pickled. Arrays are not copied into the
            message, and arrays and dataclass objects of the arguments are themselves in the result again.
        watch : Watch
            Told and asked about ten times a second; while it makes the caller wait, the work waits too.
        is_wanted : function
            Asked as often, also while the work does not look at its watch.
        limits : Limits, optional
            Of the process, and what is said of work that breaks them.

        Raises
        ------
        InputError
            What the work raised; else what `limits` say of it; ``SIMULATION_FAILED`` without them.
        Cancelled
            It is not wanted any more, and its process ended.
        """
        pid, channel = self._fork()
        try:
            given = parts_of((work.args, work.keywords))
            send(channel, (work, None if limits is None else (limits.n_bytes, limits.seconds)))
            kind = "step"
            while kind in GOES_ON:
                while not select.select([channel], [], [], LOOK_SECONDS)[0]:
                    if not is_wanted():
                        raise Cancelled
                kind, found, steps = receive(channel, given)
                watch.step(steps)
                if kind == "best":
                    watch.offer(found)
                if kind in GOES_ON:
                    watch.check()
                    channel.sendall(b".")
        except (OSError, EOFError):
            kind = "broken"
        finally:
            self._end(pid, channel)
        if kind == "cancelled":
            raise Cancelled
        if kind == "done":
            return found
        if kind == "refused" and (limits is None or found[0] != limits.broken[0]):
            raise InputError(*found)
        if limits is None:
            raise InputError(*FAILED)
        raise InputError(*(limits.failed if kind == "failed" else limits.broken))

    def _fork(self) -> tuple[int, socket.socket]:
        """A new worker's process id and the channel to it; if the forker ended meanwhile, of a new one."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            for _ in range(2):
                with suppress(OSError):
                    control = self._started()
                    socket.send_fds(control, [ORDER.pack(FORK)], [theirs.fileno()])
                    if answer := control.recv(ORDER.size):
                        return ORDER.unpack(answer)[0], ours
                self._stopped()
        ours.close()
        raise OSError("No process can be started.")

    def _end(self, pid: int, channel: socket.socket) -> None:
        channel.close()
        with self._lock, suppress(OSError):
            if self._control is not None:
                self._control.send(ORDER.pack(pid))

    def _started(self) -> socket.socket:
        """The forker's socket; it is started if it does not run."""
        if self._control is None:
            control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            more = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **ONE_THREAD}
            command = [sys.executable, "-P", "-W", "ignore", "-m", "pages.ui.jobs.fork_server", *self._preloaded]
            with theirs, ExitStack() as unless_started:
                unless_started.callback(control.close)
                self._forker = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, **more},
                    start_new_session=True,
                )
                unless_started.pop_all()
            self._control = control
        return self._control

    def _stopped(self) -> None:
        """Have the forker end, which ends its workers."""
        if self._control is not None and self._forker is not None:
            self._control.close()
            self._forker.wait()
        self._control = self._forker = None


WORKERS: Final = Workers()
