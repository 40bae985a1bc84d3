"""What a user's work was before its changes, to be undone and redone: whole values, as nothing of them ever changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST: Final = 50
"""Changes that can be undone."""


@dataclass(frozen=True)
class History(Generic[T]):
    """States before changes that were made, the last one last, and after those that were undone, the first one last.

    >>> history = History[str]().after("a").after("b")  # which is "c" by now
    >>> now, history = history.back("c")
    >>> now, history.forth(now)[0], history.after(now).future
    ('b', 'c', ())
    """

    past: tuple[T, ...] = ()
    future: tuple[T, ...] = ()

    def after(self, before: T) -> History[T]:
        """Return the history once what was `before` has been changed: what was undone cannot be redone any more."""
        return History((*self.past, before)[-MOST:])

    def back(self, now: T) -> tuple[T, History[T]]:
        """Return what was before the last change, and the history then; all as it is where there is none."""
        if not self.past:
            return now, self
        return self.past[-1], History(self.past[:-1], (*self.future, now))

    def forth(self, now: T) -> tuple[T, History[T]]:
        """Return what was before the last undoing, and the history then; all as it is where there is none."""
        if not self.future:
            return now, self
        return self.future[-1], History((*self.past, now), self.future[:-1])

    def mapped(self, change: Callable[[T], T]) -> History[T]:
        """Return the history with every state changed: what is to hold whatever is undone."""
        return History(tuple(map(change, self.past)), tuple(map(change, self.future)))

    def within(self, fits: Callable[[tuple[T, ...]], bool]) -> History[T]:
        """Return as much of the history as fits: the oldest states go first, then all that was undone."""
        found = self
        while found.past and not fits((*found.past, *found.future)):
            found = History(found.past[1:], found.future)
        return found if fits(found.future) else History(found.past)
