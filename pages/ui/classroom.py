"""A class that goes through the lesson: how often each number was guessed, and nothing of who guessed it.

In memory only, and in no log, file or address. It is forgotten when the teacher ends the class, and three hours after
the first student came in at the latest.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Final
from urllib.parse import urlencode

import streamlit as st
from streamlit import config

from pages.ui import qr, uploads
from pages.ui.admission import TEACHER_PARAMETER, WORD_PARAMETER, Door, name_at
from treedp_core.cli import CLASS_VARIABLE

LONGEST_SECONDS: Final = 3 * 3600.0
MOST_GUESSES: Final = 400
"""At one step: more than come to one lesson, and a bound for whoever opens the page again and again."""
MOST_STEPS: Final = 16
LARGEST: Final = 1e12
_MINE: Final = "_guesses_counted"


class Guesses:
    """How often each number was guessed at each step: neither when, nor by whom, nor in which order.

    Parameters
    ----------
    now : function
        A clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._begun: float | None = None
        self._has_ended = False
        self._counts: dict[str, Counter[float]] = {}
        self._shown: set[str] = set()

    def begin(self) -> None:
        """Note that somebody has come in: three hours are counted from the first."""
        with self._lock:
            self._begun = self._now() if self._begun is None else self._begun

    @property
    def is_over(self) -> bool:
        """Whether the class has ended; then nothing is left of it."""
        with self._lock:
            if not self._has_ended and self._begun is not None and self._now() - self._begun >= LONGEST_SECONDS:
                self._forget()
            return self._has_ended

    def minutes_left(self) -> int:
        """Return the minutes until it ends by itself."""
        begun = self._now() if self._begun is None else self._begun
        return max(0, math.ceil((begun + LONGEST_SECONDS - self._now()) / 60))

    def count(self, step: str, guess: float, instead: float | None = None) -> bool:
        """Count a guess, `instead` of an earlier one; False where nothing is counted (any more).

        >>> guesses = Guesses()
        >>> guesses.count("noise", 2.0), guesses.count("noise", 2.8, instead=2.0), guesses.of("noise")
        (True, True, {2.8: 1})
        """
        if self.is_over or not (math.isfinite(guess) and abs(guess) <= LARGEST):
            return False
        with self._lock:
            if step in self._shown or (step not in self._counts and len(self._counts) >= MOST_STEPS):
                return False
            counts = self._counts.setdefault(step, Counter())
            old = None if instead is None else rounded(instead)
            if old is not None and counts[old] > 0:
                counts[old] -= 1
            elif counts.total() >= MOST_GUESSES:
                return False
            counts[rounded(guess)] += 1
            self._counts[step] = +counts
            return True

    def number(self, step: str) -> int:
        """Return how many have guessed."""
        return 0 if self.is_over else self._counts.get(step, Counter()).total()

    def of(self, step: str) -> dict[float, int]:
        """Return how often each number was guessed, in order of the numbers."""
        return {} if self.is_over else dict(sorted(self._counts.get(step, Counter()).items()))

    def show(self, step: str) -> None:
        """Show a step's guesses to the class: from now on none is counted."""
        if not self.is_over and len(self._shown) < MOST_STEPS:
            self._shown.add(step)

    def is_shown(self, step: str) -> bool:
        """Whether the class has seen them."""
        return step in self._shown

    def end(self) -> None:
        """End the class, and forget all guesses."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._has_ended = True
        self._counts.clear()
        self._shown.clear()


def rounded(guess: float) -> float:
    """Return a guess to six digits: the last ones of a number typed with twenty would tell who typed it."""
    digits = 5 - math.floor(math.log10(abs(guess))) if guess else 0
    return round(guess, digits) + 0.0  # no minus zero


@cache
def door() -> Door:
    """Return the door of this start's class."""
    return Door()


@cache
def guesses() -> Guesses:
    """Return the guesses of this start's class."""
    return Guesses()


def is_class() -> bool:
    """Whether this server was started for a class."""
    return uploads.is_on(CLASS_VARIABLE)


def is_open() -> bool:
    """Whether a class is going on."""
    return is_class() and not guesses().is_over


def is_teacher() -> bool:
    """Whether the session that runs is the teacher's, of a class that is going on or has ended."""
    return is_class() and door().role(st.context.cookies.get(name_at(_port()), "")) == "teacher"


def guess(step: str, value: float, *, had_one: bool) -> None:
    """Count the guess of the session that runs: once, and the last of it; a teacher guesses nothing.

    Who `had_one` that was not counted here has it from elsewhere, such as a link, and may have seen what is right.
    """
    if not is_open() or is_teacher():
        return
    mine: dict[str, float] = st.session_state.setdefault(_MINE, {})
    if had_one and step not in mine:
        return
    if guesses().count(step, value, instead=mine.get(step)):
        mine[step] = value


def waits(step: str) -> bool:
    """Whether the session that runs must wait for its teacher before it sees what is right."""
    return is_open() and not is_teacher() and not guesses().is_shown(step)


def sweep() -> bool:
    """Let go of what is over; whether there was anything."""
    if not is_class():
        return False
    door().forget()
    had_any = bool(guesses()._counts)
    return guesses().is_over and had_any


def join_link(address: str, step: str = "") -> str:
    """Return the link that lets a student in at once, below an address of the app."""
    named = {"step": step} if step else {}
    return f"{address.rstrip('/')}/lesson?{urlencode(named | {WORD_PARAMETER: door().word})}"


def teacher_link(address: str) -> str:
    """Return the teacher's link, below an address of the app."""
    return f"{address.rstrip('/')}/lesson?{urlencode({TEACHER_PARAMETER: door().teacher})}"


def told(address: str) -> tuple[str, ...]:
    """Return what the terminal says of a class, whose QR code comes last."""
    link = join_link(address)
    return (
        f"A class is at {address} (Ctrl+C ends it). No uploads; guesses are forgotten when it ends.",
        f"Its word, for students:   {door().word}",
        f"Teacher, keep it secret:  {teacher_link(address)}",
        qr.in_letters(link)
        + (f"\nNo network was found: {address} works on this computer only." if qr.note(link) else ""),
    )


def _port() -> int:
    return int(config.get_option("server.port"))
