"""The process that workers are forked from: it has the core in memory, computes nothing and has one thread.

Its orders come over the socket at its standard input: a socket for a new worker, answered with the worker's process
id, or the id of a worker to end. When nobody holds the other end any more, however the server ended, it ends, and its
workers with it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, Final, NoReturn

from pages.ui.jobs.ipc import parts_of, receive, send
from pages.ui.jobs.workers import FORK, ORDER
from treedp_core.checks import InputError
from treedp_core.cli import load_plugins
from treedp_core.watch import Cancelled, Watch

REPORT_SECONDS: Final = 0.1
NICENESS: Final = 10
"""The server's own process comes first: what somebody clicks is drawn while others simulate."""
AT_ONCE_SECONDS: Final = 1.0
"""Of computing, in which a file is read as fast as a page is drawn: somebody waits for it."""
_END_WITH_PARENT: Final = 1


def main(*preloaded: str) -> NoReturn:
    """Load the modules that workers need, and fork workers until nobody is there to order any."""
    load_plugins(os.environ)
    sys.meta_path.insert(0, _NoPandas())
    for module in preloaded:
        import_module(module)
    gc.freeze()  # no worker looks through what all of them have
    control = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    prctl = ctypes.CDLL(None).prctl
    running: set[int] = set()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, ORDER.size, 1)
        running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]}
        if not order:
            os._exit(0)
        (pid,) = ORDER.unpack(order)
        if pid in running:
            os.kill(pid, signal.SIGKILL)
        elif pid == FORK:
            channel = socket.socket(fileno=descriptors[0])
            pid = os.fork()
            if not pid:
                prctl(_END_WITH_PARENT, signal.SIGKILL)
                control.close()
                _serve(channel)
            channel.close()
            running.add(pid)
            control.send(ORDER.pack(pid))


def _serve(channel: socket.socket) -> NoReturn:
    """Do the one piece of work that comes over the channel, answer, and end; nothing of it is written anywhere."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        work: partial[Any]
        limits: tuple[int, int] | None
        work, limits = receive(channel)
        given = parts_of((work.args, work.keywords))
        if limits is None:
            os.nice(NICENESS)
        else:
            signal.signal(signal.SIGVTALRM, lambda *_: os.nice(NICENESS))
            signal.setitimer(signal.ITIMER_VIRTUAL, AT_ONCE_SECONDS)
            _limit(*limits)
        answer = _answer(work, _Reporter(channel))
        _allow_data(-1)  # what was found is sent in any case
        try:
            send(channel, answer, given)
        except OSError:  # nobody waits for it any more
            pass
        except Exception:  # it cannot be pickled
            send(channel, ("failed", None, 0))
    finally:
        os._exit(0)


def _limit(n_bytes: int, seconds: int) -> None:
    """Allow the process as much more data as it has now; what computes for too long is ended by the system."""
    _allow_data(int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize() + n_bytes)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # nothing of a file is written anywhere


def _allow_data(n_bytes: int) -> None:
    """Limit the process's data, as far as the server itself is not limited more; -1: no further."""
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (most if n_bytes < 0 or 0 <= most < n_bytes else n_bytes, most))


def _answer(work: Callable[..., Any], reporter: _Reporter) -> tuple[str, Any, int]:
    """How the work ended, what it found, and the steps that were not reported yet."""
    try:
        found = work(watch=Watch(reporter.step, reporter.cancelled, reporter.offer))
    except Cancelled:
        return "cancelled", None, reporter.unsaid
    except InputError as error:
        return "refused", (error.code, str(error)), reporter.unsaid
    except MemoryError:
        return "broken", None, reporter.unsaid
    except Exception:  # its text might quote data
        return "failed", None, reporter.unsaid
    return "done", found, reporter.unsaid


class _NoPandas(MetaPathFinder):
    """Says that there is no pandas: pyarrow would load it, in every worker anew, for tables that none of them has."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


class _Reporter:
    """Tells the server how far the work is, about ten times a second, and goes on when it says so."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.unsaid = 0
        self.said_at = time.monotonic()

    def step(self, n: int) -> None:
        """Count steps."""
        self.unsaid += n
        self._report()

    def cancelled(self) -> bool:
        """Never: a worker that is not wanted any more is ended."""
        self._report()
        return False

    def offer(self, best: object) -> None:
        """Send what can be used already."""
        self._send("best", best)

    def _report(self) -> None:
        if time.monotonic() - self.said_at >= REPORT_SECONDS:
            self._send("step", None)

    def _send(self, kind: str, found: object) -> None:
        try:
            send(self.channel, (kind, found, self.unsaid))
            goes_on = self.channel.recv(1)
        except OSError:
            goes_on = b""
        if not goes_on:
            os._exit(0)
        self.unsaid = 0
        self.said_at = time.monotonic()


if __name__ == "__main__":
    main(*sys.argv[1:])
