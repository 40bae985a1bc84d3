"""What runs a sweep elsewhere, by name: threads, processes, a Dask cluster, or any executor of `concurrent.futures`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pkgutil import resolve_name
from threading import Event, Thread
from typing import Any, Final

from treedp_core import checks
from treedp_core.batch.output import say
from treedp_core.checks import InputError, echo
from treedp_core.registry import TO_INSTALL, load_plugin

EXECUTORS: Final = (
    "threads:N, processes:N, dask://HOST:PORT, or PACKAGE.MODULE:NAME of an executor of concurrent.futures"
)
MAX_WORKERS: Final = 256
WAIT_SECONDS: Final = 60
"""For the first worker of a cluster, and for another one when all are lost."""


class Ended(Exception):
    """An executor ended before its work was done: the name of what it raised."""


@contextmanager
def executor_of(name: str, plugins: Sequence[str] = ()) -> Iterator[Executor | None]:
    """Give the executor of a name while it is used; none, where the cells run one after the other, for no name.

    Parameters
    ----------
    name : str
        ``threads:4``, ``processes:4``, ``dask://host:port``, or ``package.module:name`` of a class or function that
        returns a `concurrent.futures.Executor`.
    plugins : sequence of str
        Packages that new processes load first.

    Raises
    ------
    InputError
        ``EXECUTOR_UNKNOWN``, ``EXECUTOR_MISSING``, ``EXECUTOR_FAILED``, ``VALUE_RANGE``.
    Ended
        When it cannot go on with what it was given.
    """
    if not name:
        yield None
        return
    with ExitStack() as until_used:
        executor = until_used.enter_context(_made(name, plugins, until_used))
        try:
            yield executor
        except Exception as error:
            if _is_of_executor(error):
                raise Ended(type(error).__name__) from None
            raise


def _is_of_executor(error: Exception) -> bool:
    """Whether an executor raised this, and not what it ran."""
    ended = isinstance(error, (BrokenExecutor, CancelledError, OSError))
    return ended or type(error).__module__.partition(".")[0] == "distributed"


def _made(name: str, plugins: Sequence[str], until_used: ExitStack) -> Executor:
    kind, _, rest = name.partition(":")
    if kind in ("threads", "processes"):
        n = checks.integer(f"N of {kind}:N", int(rest) if rest.isdecimal() else rest, low=1, high=MAX_WORKERS)
        if kind == "threads":
            return ThreadPoolExecutor(n)
        return ProcessPoolExecutor(n, get_context("spawn"), partial(_in_process, tuple(plugins)))
    if kind == "dask" and len(rest) > 2 and rest.startswith("//"):
        return _of_dask(rest[2:], plugins, until_used)
    try:
        make: Callable[[], object] = resolve_name(name)
        executor = make()
    except Exception as error:
        remedy = f"; {TO_INSTALL}" if isinstance(error, ModuleNotFoundError) else ""
        raise InputError(
            "EXECUTOR_UNKNOWN",
            f"Expected an executor as {EXECUTORS}; {echo(name)} gave {type(error).__name__}{remedy}.",
        ) from None
    if not isinstance(executor, Executor):
        raise InputError("EXECUTOR_UNKNOWN", f"{echo(name)} is no executor of concurrent.futures.")
    return executor


def _in_process(plugins: Sequence[str]) -> None:
    """Make a new process ready; Ctrl+C, which reaches it too, ends it at once and without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _ready(plugins)


def _ready(plugins: Sequence[str]) -> None:
    for package in plugins:
        load_plugin(package)


def _of_dask(address: str, plugins: Sequence[str], until_used: ExitStack) -> Executor:
    """The executor of a cluster, whose workers load the plug-ins first; its connection is closed with the others."""
    try:
        client: Callable[..., Any] = resolve_name("distributed:Client")
    except ImportError:
        raise InputError(
            "EXECUTOR_MISSING", "Dask is not installed here; install the package distributed, or name processes:N."
        ) from None
    try:
        cluster = until_used.enter_context(client(f"tcp://{address}", timeout=10))
    except (OSError, ValueError) as error:
        raise InputError(
            "EXECUTOR_FAILED", f"No Dask scheduler answers at {echo(address)} ({type(error).__name__})."
        ) from None
    if not cluster.scheduler_info()["workers"]:  # some clusters start one only for work
        _expect_worker(address, cluster.submit(_ready, (), pure=False).result)
    if plugins:
        cluster.run(_ready, tuple(plugins))
    executor: Executor = cluster.get_executor(pure=False)  # else Dask answers a call it has seen from memory
    return _Cluster(executor, address, lambda: bool(cluster.scheduler_info()["workers"]))


class _Cluster(Executor):
    """The executor of a cluster, which gives up when that has lost its workers: Dask waits for others without end."""

    def __init__(self, executor: Executor, address: str, has_workers: Callable[[], bool]) -> None:
        self._executor, self._address, self._has_workers = executor, address, has_workers
        self._futures: list[Future[Any]] = []
        self._over = Event()
        Thread(target=self._look, daemon=True).start()

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Have a worker do something."""
        there, here = self._executor.submit(work, *given, **named), Future[Any]()
        here.add_done_callback(lambda one: there.cancel() if one.cancelled() else None)
        there.add_done_callback(partial(_passed_on, here))
        self._futures.append(here)
        return here

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what was submitted, unless it was given up."""
        given_up = self._over.is_set()
        self._over.set()
        self._executor.shutdown(wait=wait and not given_up)

    def _look(self) -> None:
        alone = 0
        while alone < WAIT_SECONDS and not self._over.wait(1.0):
            alone += 1
            with suppress(Exception):  # the scheduler is lost, too
                alone = 0 if self._has_workers() else alone
        if alone < WAIT_SECONDS:
            return
        self._over.set()
        lost = InputError(
            "EXECUTOR_FAILED",
            f"The Dask scheduler at {echo(self._address)} lost its workers and found no other in {WAIT_SECONDS} "
            "seconds; start one beside it: dask worker.",
        )
        for future in self._futures:
            with suppress(InvalidStateError):  # it was done
                future.set_exception(lost)


def _passed_on(here: Future[Any], there: Future[Any]) -> None:
    """Take over how a call ended, unless it was given up."""
    with suppress(InvalidStateError):
        if there.cancelled():
            here.set_exception(CancelledError())
        elif (error := there.exception()) is not None:
            here.set_exception(error)
        else:
            here.set_result(there.result())


def _expect_worker(address: str, answer: Callable[..., object]) -> None:
    """Wait until a cluster without workers has found one for a call it was given, and say so."""
    say(f"The Dask scheduler at {echo(address)} has no workers yet; it has {WAIT_SECONDS} seconds to find one.")
    try:
        answer(timeout=WAIT_SECONDS)
    except TimeoutError:
        raise InputError(
            "EXECUTOR_FAILED",
            f"The Dask scheduler at {echo(address)} has no workers; start one beside it: dask worker.",
        ) from None
