"""Turns: who may compute now. Sessions take turns, however long their work and however many their jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

QUANTUM_SECONDS: Final = 0.1
LOOK_AGAIN_SECONDS: Final = 0.25


@dataclass(eq=False)
class Turn:
    """The place of one job in the queue.

    Parameters
    ----------
    session : str
        Whose it is; a session computes one job at a time.
    is_wanted : function
        Whether somebody still waits for the job; asked while it is in the queue.
    admit : function
        Asked before the first turn, under the queue's lock: whether there is room for the job. It may reserve it.
    is_heavy : bool
        Whether it may take up much memory: of these, fewer may have begun.
    """

    session: str
    is_wanted: Callable[[], bool] = field(default=lambda: True)
    admit: Callable[[], bool] = field(default=lambda: True)
    is_heavy: bool = False
    is_admitted: bool = False
    served: int = 0
    since: float = 0.0


class Turns:
    """A queue in which `at_once` jobs compute, and at most `under_way` have begun, `heavy` of them heavy ones.

    The next turn is that of the session that has waited longest since its last one, and within a session that of the
    job that has. A job that computes asks from time to time whether it must step back (`breathe`).
    """

    def __init__(self, at_once: int, under_way: int, heavy: int) -> None:
        self.at_once, self.under_way, self.heavy = at_once, under_way, heavy
        self._changed = threading.Condition()
        self._waiting: list[Turn] = []
        self._working: list[Turn] = []
        self._begun: set[Turn] = set()
        self._served: dict[str, int] = {}
        self._count = 0

    def begin(self, turn: Turn) -> None:
        """Return when it is the job's turn, or nobody wants it any more."""
        with self._changed:
            self._wait(turn)

    def end(self, turn: Turn) -> None:
        """Leave the queue."""
        with self._changed:
            self._stop(turn)
            self._begun.discard(turn)
            if all(one.session != turn.session for one in (*self._waiting, *self._begun)):
                self._served.pop(turn.session, None)
            self._changed.notify_all()

    def breathe(self, turn: Turn) -> None:
        """Let the next one compute, if the turn has lasted long enough and somebody waits; return as `begin` does."""
        if time.monotonic() - turn.since < QUANTUM_SECONDS:
            return
        with self._changed:
            self._stop(turn)
            self._changed.notify_all()
            self._wait(turn)

    def position(self, turn: Turn) -> int:
        """Return the job's place among those that wait, from 1; 0 when it does not."""
        with self._changed:
            return self._line().index(turn) + 1 if turn in self._waiting else 0

    @property
    def n_sessions(self) -> int:
        """How many sessions have a job that computes, or waits for its turn."""
        with self._changed:
            return len({turn.session for turn in (*self._waiting, *self._working)})

    def _wait(self, turn: Turn) -> None:
        self._waiting.append(turn)
        while turn.is_wanted() and not (len(self._working) < self.at_once and self._next() is turn):
            self._changed.wait(LOOK_AGAIN_SECONDS)
        self._waiting.remove(turn)
        if turn.is_wanted():
            self._count += 1
            turn.served = self._served[turn.session] = self._count
            self._working.append(turn)
        turn.since = time.monotonic()

    def _stop(self, turn: Turn) -> None:
        if turn in self._working:
            self._working.remove(turn)

    def _line(self) -> list[Turn]:
        """Those who wait, in the order of their turns."""
        return sorted(self._waiting, key=lambda turn: (self._served.get(turn.session, 0), turn.served))

    def _next(self) -> Turn | None:
        busy = {turn.session for turn in self._working}
        return next((turn for turn in self._line() if turn.session not in busy and self._may_begin(turn)), None)

    def _may_begin(self, turn: Turn) -> bool:
        if not turn.is_admitted and self._has_room(turn) and turn.admit():
            turn.is_admitted = True
            self._begun.add(turn)
        return turn.is_admitted

    def _has_room(self, turn: Turn) -> bool:
        n_heavy = sum(one.is_heavy for one in self._begun)
        return len(self._begun) < self.under_way and not (turn.is_heavy and n_heavy >= self.heavy)
