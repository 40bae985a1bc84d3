"""Tables of named choices: a mechanism, metric, post-processor or allocation is one function and one line.

What was in a table from the start is TreeDP's own, and tests hold it to what it promises. Whatever joins later says so
wherever it is used: by `register`, by a plug-in, or as an entry that somebody passes instead of a name.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any, ClassVar, Final, Protocol, TypeVar

from treedp_core.checks import InputError, echo

CLAIM: Final = "not reviewed: its promise is its author's claim"
TABLES: Final = {
    "mechanisms": "treedp_core.mechanisms:MECHANISMS",
    "postprocessors": "treedp_core.postprocess:POSTPROCESSORS",
    "chains": "treedp_core.postprocess.chains:CHAINS",
    "allocations": "treedp_core.allocation:ALLOCATIONS",
    "metrics": "treedp_core.errors:METRICS",
    "fits": "treedp_core.postprocess.isotonic:FITS",
    "readers": "treedp_core.records.read.readers:READERS",
    "derivations": "treedp_core.records.derive.derivation:DERIVATIONS",
}
"""Kinds of entries that others may add, and where their tables are; ``treedp.<kind>`` is a group of entry points."""
MINE: Final = "own code"
"""The author of what was not loaded as a plug-in."""
TO_INSTALL: Final = "install it first (pip install FOLDER), as none is taken from the current folder"
"""What is said of a package that the command line names and Python does not find."""
_LOADING: ContextVar[str] = ContextVar("_LOADING", default=MINE)
_LOADED: dict[str, tuple[str, ...]] = {}


class Promise(enum.Flag):
    """What an entry promises about its estimates; the contract tests check every promise of every entry."""

    NOTHING = 0
    CONSISTENT = enum.auto()
    NON_NEGATIVE = enum.auto()
    INTEGER = enum.auto()
    UNBIASED = enum.auto()


@dataclass(frozen=True, kw_only=True)
class MethodCard:
    """What is to be known of an entry of a table, for the page that lists them; "" is not stated by its author.

    Parameters
    ----------
    assumptions, strengths, limitations : str
        What must hold for it, where it is the best of its kind, and where it loses: a sentence each.
    formula : str
        What it does, in LaTeX.
    source : str
        Where it comes from, with the number of the theorem; by default the entry's own `source`, if it has one.
    """

    assumptions: str = ""
    formula: str = ""
    source: str = ""
    strengths: str = ""
    limitations: str = ""


NO_CARD: Final = MethodCard()


class Named(Protocol):
    """Anything a table can hold."""

    @property
    def name(self) -> str:
        """What the table knows it by."""


E = TypeVar("E", bound=Named)


class Own(str):
    """The name of an entry that is in no table, with the entry: look-ups return that one."""

    entry: Named

    def __new__(cls, entry: Named) -> Own:
        """Return the name of an entry."""
        name = super().__new__(cls, entry.name)
        name.entry = entry
        return name

    def __eq__(self, other: object) -> bool:
        return str(self) == other if not isinstance(other, Own) else self.entry == other.entry

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[type[Own], tuple[Named]]:
        return type(self), (self.entry,)


class Choice:
    """A field of a data class that takes an entry of a table or its name, and reads as the name.

    Parameters
    ----------
    table : str
        Its kind in `TABLES`.
    default : str
    """

    def __init__(self, table: str, default: str) -> None:
        self._table, self._default = table, default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, one: object, owner: type | None = None) -> str:
        found: str = self._default if one is None else vars(one)[self._name]
        return found

    def __set__(self, one: object, value: str | Named) -> None:
        vars(one)[self._name] = name_of(self._table, value)


class Choices:
    """A field of a data class that takes entries of a table or their names in order, and reads as the names."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, one: object, owner: type | None = None) -> tuple[str, ...]:
        found: tuple[str, ...] = () if one is None else vars(one)[self._name]
        return found

    def __set__(self, one: object, value: Sequence[str | Named]) -> None:
        given = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else value
        vars(one)[self._name] = tuple(name_of(self._table, each) for each in given)


def name_of(table: str, value: str | Named) -> str:
    """Return what a field holds for an entry: the name of one that is in the table, else an `Own` name.

    Raises
    ------
    InputError
        ``ENTRY_KIND`` for an entry of another table; ``NAME_TAKEN`` when the table has another entry of that name.
    """
    if isinstance(value, str) or not isinstance(getattr(value, "name", None), str):
        return value  # type: ignore[return-value]  # a look-up refuses what is no name
    known: Table[Named] = resolve_name(TABLES[table])
    if not isinstance(value, _kind_of(known)):
        raise InputError("ENTRY_KIND", f"{echo(value.name)} is no entry of the table of {table}.")
    if value.name not in known:
        return Own(value)
    if known[value.name] is not value:
        raise InputError("NAME_TAKEN", f"The name {echo(value.name)} is that of another entry; choose another name.")
    return value.name


class Table(Mapping[str, E]):
    """Named entries in their order, open for more: what reads the table offers a new entry from then on.

    Parameters
    ----------
    *entries
        Each with a `name` of its own.
    derived : function, optional
        Entries that follow from other tables and nothing else; they come first, and are read anew when a table changes.
    of : sequence of Table
        Tables whose entries `derived` has under their names: who answers for one there does so here.
    """

    _n_changes: ClassVar[int] = 0

    def __init__(self, *entries: E, derived: Callable[[], Iterable[E]] = tuple, of: Sequence[Table[Any]] = ()) -> None:
        self._own: dict[str, E] = {}
        self._derived, self._of = derived, tuple(of)
        self._authors: dict[str, str] = {}
        self._read: tuple[int, dict[str, E]] = (-1, {})
        for entry in entries:
            self.register(entry)
        self._authors.clear()

    def register(self, entry: E) -> E:
        """Add an entry, and return it; what a plug-in adds says so in its words.

        Raises
        ------
        ValueError
            When the table has an entry of that name.
        InputError
            ``ENTRY_KIND`` for what has no name.

        >>> from types import SimpleNamespace as Entry
        >>> some = Table(Entry(name="a"))
        >>> some.register(Entry(name="b")).name, list(some)
        ('b', ['a', 'b'])
        """
        if not isinstance(getattr(entry, "name", None), str):
            raise InputError("ENTRY_KIND", f"Expected an entry with a name, got {echo(entry)}.")
        if entry.name in self:
            raise ValueError(f"Names in a table must differ, and it has {entry.name!r} already.")
        author = _LOADING.get()
        entry = entry if author == MINE else _labelled(entry, author)
        self._own[entry.name], self._authors[entry.name] = entry, author
        Table._n_changes += 1
        return entry

    def author(self, name: str) -> str:
        """Return who answers for an entry: nobody else for TreeDP's own, else a plug-in's package, or "own code".

        >>> from types import SimpleNamespace as Entry
        >>> some = Table(Entry(name="a"))
        >>> some.register(Entry(name="b")).name, some.author("a"), some.author("b")
        ('b', '', 'own code')
        """
        if isinstance(name, Own):
            return MINE
        said = self._authors.get(name) or str(getattr(self.get(name), "author", ""))
        return said or next(filter(None, (entries.author(name) for entries in self._of)), "")

    def setdefault(self, entry: E) -> E:
        """Add an entry unless it is there already, and return it; of those that are not TreeDP's the newest counts."""
        if self._own.get(entry.name) is entry:
            return entry
        if entry.name in self._authors:
            self.withdraw(entry.name)
        return self.register(entry)

    def withdraw(self, name: str) -> None:
        """Take away an entry that was added.

        >>> from types import SimpleNamespace as Entry
        >>> some = Table(Entry(name="a"), Entry(name="b"))
        >>> some.withdraw("a")
        >>> list(some)
        ['b']
        """
        del self._own[name]
        self._authors.pop(name, None)
        Table._n_changes += 1

    def _all(self) -> dict[str, E]:
        if self._read[0] != Table._n_changes:
            self._read = Table._n_changes, {**{entry.name: entry for entry in self._derived()}, **self._own}
        return self._read[1]

    def __getitem__(self, name: str) -> E:
        if isinstance(name, Own):
            return name.entry  # type: ignore[return-value]
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


def generation() -> int:
    """Return a number that is another one once any table has changed: part of the key of what is kept."""
    return Table._n_changes


def lookup(entries: Mapping[str, E], name: str, what: str = "entry") -> E:
    """Return the entry of that name; the error lists the valid names.

    >>> from types import SimpleNamespace as Entry
    >>> lookup(table(Entry(name="a")), "b", "option")
    Traceback (most recent call last):
    treedp_core.checks.InputError: Unknown option 'b'; choose one of: a.
    """
    try:
        is_known = name in entries
    except TypeError:  # a list, say
        is_known = False
    if not is_known:
        raise InputError("VALUE_UNKNOWN", f"Unknown {what} {echo(name)}; choose one of: {', '.join(entries)}.")
    return entries[name]


def load_plugin(package: str) -> tuple[str, ...]:
    """Import an installed package and take its entries into the tables; return what it added, such as "metrics: mine".

    A package adds what it registers when it is imported, and what its entry points in the groups ``treedp.<kind>``
    name. Nothing but this call, and ``treedp --plugin``, which makes it, runs a plug-in's code.

    Parameters
    ----------
    package : str
        Its name, as it is imported.

    Raises
    ------
    InputError
        ``PLUGIN_MISSING`` when there is no such package, ``PLUGIN_FAILED`` when its code fails or what it adds is no
        entry, ``PLUGIN_EMPTY`` when it adds nothing; then the tables stay as they were.
    """
    if package not in _LOADED:
        if not all(part.isidentifier() for part in package.split(".")):
            raise InputError("PLUGIN_MISSING", f"Expected the name of a package, got {echo(package)}.")
        tables: dict[str, Table[Any]] = {kind: resolve_name(place) for kind, place in TABLES.items()}
        before = {kind: set(entries._own) for kind, entries in tables.items()}
        token = _LOADING.set(package)
        try:
            added = _added(package, tables, before)
        except BaseException:
            for kind, entries in tables.items():
                for name in set(entries._own) - before[kind]:
                    entries.withdraw(name)
            raise
        finally:
            _LOADING.reset(token)
        _LOADED[package] = added
    return _LOADED[package]


def is_loaded(package: str) -> bool:
    """Whether a package was loaded as a plug-in."""
    return package in _LOADED


def uses_own(values: object) -> bool:
    """Return whether some values name an entry of this process's own code, which other processes do not have.

    Arrays are not looked at; of data classes, dictionaries and sequences every part is.
    """
    own = {name for place in TABLES.values() for name, one in resolve_name(place)._authors.items() if one == MINE}
    waiting: list[object] = [values]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Own) or (isinstance(one, str) and one in own):
            return True
        if is_dataclass(one) and not isinstance(one, type):
            waiting += [getattr(one, field.name, None) for field in fields(one)]
        elif isinstance(one, Mapping) and not isinstance(one, Table):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
    return False


def plugin_of(name: str) -> str:
    """Return the package of the plug-in that an entry of this name came with; nothing for all others."""
    if not _LOADED:
        return ""
    authors = (resolve_name(place).author(name) for place in TABLES.values())
    return next((one for one in authors if one not in ("", MINE)), "")


def _added(package: str, tables: Mapping[str, Table[Any]], before: Mapping[str, set[str]]) -> tuple[str, ...]:
    try:
        import_module(package)
        for kind, entries in tables.items():
            for point in entry_points(group=f"treedp.{kind}"):
                if point.module == package or point.module.startswith(f"{package}."):
                    _take(entries, point.load())
    except ModuleNotFoundError as error:
        if error.name and f"{package}.".startswith(f"{error.name}."):
            raise InputError("PLUGIN_MISSING", f"There is no package {echo(package)} to load; {TO_INSTALL}.") from None
        raise _failed(package, error) from None
    except Exception as error:
        raise _failed(package, error) from None
    added = tuple(f"{kind}: {name}" for kind in tables for name in tables[kind]._own if name not in before[kind])
    if not added:
        raise InputError("PLUGIN_EMPTY", f"The package {echo(package)} adds no entry to any table.")
    return added


def _take(entries: Table[Any], entry: Named) -> None:
    """Add what an entry point names, unless the package has registered it itself."""
    if getattr(entry, "name", None) not in entries:
        wanted = _kind_of(entries)
        if not isinstance(entry, wanted):
            raise TypeError(f"an entry point is no {wanted.__name__}")
        entries.register(entry)


def _kind_of(entries: Table[Any]) -> type:
    """What the entries of a table are."""
    return type(next(iter(entries.values())))


def _failed(package: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:200].rstrip(".")
    return InputError("PLUGIN_FAILED", f"The plug-in {echo(package)} cannot be loaded: {type(error).__name__}: {said}.")


def _labelled(entry: E, package: str) -> E:
    """The same entry with words that say whose it is, where it has words."""
    one: Any = entry
    said = {"label": "{} (not reviewed)", "help": f"{{}} From {package}, {CLAIM}."}
    words = {field.name for field in fields(one) if field.init} if is_dataclass(one) else set()
    mine = {key: text.format(getattr(one, key)) for key, text in said.items() if key in words}
    return replace(one, **mine) if mine else entry
