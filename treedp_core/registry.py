"""Tables of named choices: a mechanism, metric, post-processor or allocation is one function and one line."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
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


@dataclass(frozen=True)
class Option:
    """A number that an entry takes, with what a control needs to draw it."""

    name: str
    label: str
    default: float
    low: float
    high: float
    unit: str = ""


class Named(Protocol):
    """Anything a table can hold."""

    @property
    def name(self) -> str:
        """What the table knows it by."""


E = TypeVar("E", bound=Named)


def table(*entries: E) -> Mapping[str, E]:
    """Return a read-only table of entries by name.

    Raises
    ------
    ValueError
        When two entries share a name.
    """
    by_name = {entry.name: entry for entry in entries}
    if len(by_name) != len(entries):
        raise ValueError(f"Names in a table must differ, got {[entry.name for entry in entries]}.")
    return MappingProxyType(by_name)


def lookup(entries: Mapping[str, E], name: str, what: str = "entry") -> E:
    """Return the entry of that name; the error lists the valid names.

    >>> lookup(table(Option("a", "A", 1, 0, 2)), "b", "option")
    Traceback (most recent call last):
    treedp_core.checks.InputError: Unknown option 'b'; choose one of: a.
    """
    if name not in entries:
        raise InputError("VALUE_UNKNOWN", f"Unknown {what} {echo(name)}; choose one of: {', '.join(entries)}.")
    return entries[name]
