"""Work for worker processes: what tests send there must be importable there."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from treedp_core.checks import InputError
from treedp_core.watch import Cancelled, Watch


def echo(*content: Any, watch: Watch) -> Any:
    """What was sent."""
    return content


def process(*, watch: Watch) -> tuple[int, int, list[str]]:
    """Who does it: its id and niceness, and what it has loaded."""
    return os.getpid(), os.nice(0), sorted(sys.modules)


def niceness(*, watch: Watch) -> tuple[int, int]:
    """How far it steps back as it begins, and how far once that has changed."""
    begins = os.nice(0)
    while os.nice(0) == begins:
        pass
    return begins, os.nice(0)


def steps(n: int, *, watch: Watch) -> str:
    """Many steps, each after a look at the watch."""
    for _ in range(n):
        watch.check()
        watch.step(1)
    return "all"


def offers(*, watch: Watch) -> str:
    """What can be used before it is done, twice, with steps before and after."""
    for best in ("some", "more"):
        watch.step(2)
        watch.offer(best)
    watch.step(1)
    return "all"


def until_cancelled(told: str, *, watch: Watch) -> None:
    """Steps without end; the worker's id is written to a file first."""
    tell(told)
    while True:
        watch.step(1)


def runaway(told: str, *, watch: Watch) -> None:
    """No look at the watch, ever."""
    tell(told)
    while True:
        pass


def tell(told: str) -> None:
    """Write the worker's id to a file, whole or not at all."""
    with open(f"{told}.new", "w") as file:
        file.write(str(os.getpid()))
    os.replace(f"{told}.new", told)


def refused(*, watch: Watch) -> None:
    """Work that a setting makes impossible."""
    raise InputError("TRIALS_RANGE", "Too many.")


def stopped(*, watch: Watch) -> None:
    """Work that stops itself."""
    raise Cancelled


def broken(*, watch: Watch) -> None:
    """Work with a fault, that quotes data and prints it."""
    print("SECRET-4711", file=sys.stderr)
    raise ValueError("SECRET-4711")


def not_sent(*, watch: Watch) -> Any:
    """A result that cannot be pickled."""
    return lambda: 1


def crash(*, watch: Watch) -> None:
    """Work whose process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def fill(told: str, n_bytes: int, *, watch: Watch) -> int:
    """So many bytes of memory, in pieces, all written; the worker's id is written to a file first."""
    tell(told)
    return sum(len(bytes(1 << 20)) for _ in [bytearray(b"x" * (1 << 20)) for _ in range(n_bytes >> 20)])
