"""What runs a sweep elsewhere, by name: threads, processes, a Dask cluster, or any executor of `concurrent.futures`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from pkgutil import resolve_name
from typing import Any, Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.registry import load_plugin

EXECUTORS: Final = (
    "threads:N, processes:N, dask://HOST:PORT, or PACKAGE.MODULE:NAME of an executor of concurrent.futures"
)
MAX_WORKERS: Final = 256
WAIT_SECONDS: Final = 60
"""For the first worker of a cluster."""


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
        n = checks.integer("workers", int(rest) if rest.isdecimal() else rest, low=1, high=MAX_WORKERS)
        if kind == "threads":
            return ThreadPoolExecutor(n)
        return ProcessPoolExecutor(n, get_context("spawn"), partial(_in_process, tuple(plugins)))
    if kind == "dask" and rest.startswith("//"):
        return _of_dask(rest[2:], plugins, until_used)
    try:
        make: Callable[[], object] = resolve_name(name)
        executor = make()
    except Exception as error:
        raise InputError(
            "EXECUTOR_UNKNOWN", f"Expected an executor as {EXECUTORS}; {echo(name)} gave {type(error).__name__}."
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
    return executor


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


def say(text: str) -> None:
    """Write a line on standard error."""
    print(f"treedp: {text}", file=sys.stderr, flush=True)
