"""Tables of named choices: a mechanism, metric, post-processor or allocation is one function and one line."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from treedp_core.checks import InputError, echo


class Promise(enum.Flag):
    """What an entry promises about its estimates; the contract tests check every promise of every entry."""

    NOTHING = 0
    CONSISTENT = enum.auto()
    NON_NEGATIVE = enum.auto()
    INTEGER = enum.auto()
    UNBIASED = enum.auto()
    MONOTONE = enum.auto()


class Named(Protocol):
    """Anything a table can hold."""

    @property
    def name(self) -> str:
        """What the table knows it by."""


E = TypeVar("E", bound=Named)


class Table(Mapping[str, E]):
    """Named entries in their order, open for more: what reads the table offers a new entry from then on.

    Parameters
    ----------
    *entries
        Each with a `name` of its own.
    derived : function, optional
        Entries that follow from other tables; they come first, and are read anew each time.
    """

    def __init__(self, *entries: E, derived: Callable[[], Iterable[E]] = tuple) -> None:
        self._own: dict[str, E] = {}
        self._derived = derived
        for entry in entries:
            self.register(entry)

    def register(self, entry: E) -> E:
        """Add an entry, and return it.

        Raises
        ------
        ValueError
            When the table has an entry of that name.

        >>> from types import SimpleNamespace as Entry
        >>> some = Table(Entry(name="a"))
        >>> some.register(Entry(name="b")).name, list(some)
        ('b', ['a', 'b'])
        """
        if entry.name in self:
            raise ValueError(f"Names in a table must differ, and it has {entry.name!r} already.")
        self._own[entry.name] = entry
        return entry

    def setdefault(self, entry: E) -> E:
        """Add an entry unless it is there already, and return it."""
        return entry if self.get(entry.name) is entry else self.register(entry)

    def withdraw(self, name: str) -> None:
        """Take away an entry that was added.

        >>> from types import SimpleNamespace as Entry
        >>> some = Table(Entry(name="a"), Entry(name="b"))
        >>> some.withdraw("a")
        >>> list(some)
        ['b']
        """
        del self._own[name]

    def _all(self) -> dict[str, E]:
        return {**{entry.name: entry for entry in self._derived()}, **self._own}

    def __getitem__(self, name: str) -> E:
        return self._own[name] if name in self._own else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def table(*entries: E) -> Table[E]:
    """Return a table of entries by name.

    Raises
    ------
    ValueError
        When two entries share a name.
    """
    return Table(*entries)


def lookup(entries: Mapping[str, E], name: str, what: str = "entry") -> E:
    """Return the entry of that name; the error lists the valid names.

    >>> from types import SimpleNamespace as Entry
    >>> lookup(table(Entry(name="a")), "b", "option")
    Traceback (most recent call last):
    treedp_core.checks.InputError: Unknown option 'b'; choose one of: a.
    """
    if name not in entries:
        raise InputError("VALUE_UNKNOWN", f"Unknown {what} {echo(name)}; choose one of: {', '.join(entries)}.")
    return entries[name]
