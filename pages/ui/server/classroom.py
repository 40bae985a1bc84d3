"""A class that goes through the lesson: how often each number was guessed, and nothing of who guessed it.

In memory only, and in no log, file or address. Until a step is revealed each guess stands under the scrambled number of
a browser, so that its next guess takes the place of this one; then only how often each number was said is left. All is
forgotten when the teacher ends the class, and three hours after the first student came in at the latest.
"""

from __future__ import annotations

import hmac
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from pages.ui.server import qr
from pages.ui.server.admission import TEACHER_PARAMETER, WORD_PARAMETER, Door, name_at, seat_of
from pages.ui.session.uploads import is_class

LONGEST_SECONDS: Final = 3 * 3600.0
MOST_GUESSES: Final = 400
"""At one step: more than come to one lesson, and a bound for whoever opens the page again and again."""
MOST_STEPS: Final = 16
LARGEST: Final = 1e12
_SEAT: Final = "_seat_in_class"


class Guesses:
    """How often each number was guessed at each step: neither when, nor by whom, nor in which order.

    Parameters
    ----------
    now : function
        A clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.RLock()
        self._begun: float | None = None
        self._has_ended = False
        self._key = secrets.token_bytes(32)
        self._held: dict[str, dict[bytes, float]] = {}
        self._shown: dict[str, Counter[float]] = {}

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

    def count(self, step: str, guess: float, seat: str) -> bool:
        """Count a guess, in place of the seat's earlier one; False where nothing is counted (any more).

        >>> guesses = Guesses()
        >>> guesses.count("noise", 2.0, "a"), guesses.count("noise", 2.8, "a"), guesses.of("noise")
        (True, True, {2.8: 1})
        """
        if not (math.isfinite(guess) and abs(guess) <= LARGEST):
            return False
        with self._lock:
            if self.is_over or step in self._shown or (step not in self._held and len(self._held) >= MOST_STEPS):
                return False
            held, ticket = self._held.setdefault(step, {}), self._ticket(step, seat)
            if ticket not in held and len(held) >= MOST_GUESSES:
                return False
            # in order of tickets, which are random: who came first is not kept
            self._held[step] = dict(sorted({**held, ticket: rounded(guess)}.items()))
            return True

    def has(self, step: str, seat: str) -> bool:
        """Whether a seat's guess is counted, and may still change."""
        return self._ticket(step, seat) in self._held.get(step, {})

    def _ticket(self, step: str, seat: str) -> bytes:
        """Return under what a seat's guess at one step stands: another at each step, and nothing leads back."""
        return hmac.digest(self._key, f"{step} {seat}".encode(), "sha256")

    def number(self, step: str) -> int:
        """Return how many have guessed."""
        return sum(self.of(step).values())

    def of(self, step: str) -> dict[float, int]:
        """Return how often each number was guessed, in order of the numbers."""
        with self._lock:
            return {} if self.is_over else dict(sorted(self._counts(step).items()))

    def _counts(self, step: str) -> Counter[float]:
        return self._shown[step] if step in self._shown else Counter(self._held.get(step, {}).values())

    def show(self, step: str) -> None:
        """Show a step's guesses to the class: from now on none is counted, and only the counts are kept."""
        with self._lock:
            if not self.is_over and len(self._shown) < MOST_STEPS:
                self._shown[step] = self._counts(step)
                self._held.pop(step, None)

    def is_shown(self, step: str) -> bool:
        """Whether the class has seen them."""
        return step in self._shown

    def end(self) -> None:
        """End the class, and forget all guesses."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._has_ended = True
        self._held.clear()
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


def is_open() -> bool:
    """Whether a class is going on."""
    return is_class() and not guesses().is_over


def is_teacher() -> bool:
    """Whether the session that runs is the teacher's, of a class that is going on or has ended."""
    return is_class() and door().role(_cookie()) == "teacher"


def guess(step: str, value: float, *, had_one: bool) -> None:
    """Count the guess of the browser whose session runs: once, and the last of it; a teacher guesses nothing.

    Who `had_one` that was not counted here has it from elsewhere, such as a link, and may have seen what is right.
    """
    if not is_open() or is_teacher():
        return
    seat = seat_of(_cookie()) or st.session_state.setdefault(_SEAT, secrets.token_urlsafe(9))
    if not had_one or guesses().has(step, seat):
        guesses().count(step, value, seat)


def waits(step: str) -> bool:
    """Whether the session that runs must wait for its teacher before it sees what is right."""
    return is_open() and not is_teacher() and not guesses().is_shown(step)


def sweep() -> bool:
    """Let go of what is over; whether there was anything."""
    if not is_class():
        return False
    door().forget()
    had_any = bool(guesses()._held or guesses()._shown)
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


def _cookie() -> str:
    return str(st.context.cookies.get(name_at(int(st.get_option("server.port"))), ""))
