"""Code that repeats a call: written from the function and the arguments of the call itself, so that it cannot differ.

A `Ran` is a call and its value. An argument may be another `Ran`, or a part of one; then the code has a line for each.
"""

from __future__ import annotations

import enum
import math
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np

from treedp_core.registry import CLAIM, Own, plugin_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

WIDTH: Final = 100
RESERVED: Final = ("OUT", "shown", "sys", "table")
"""Names that exported programs use themselves."""
FIGURE: Final = "figure"
"""What code calls the figure that it draws."""
_APP: Final = "sample_data"
APP_PATH: Final = (
    "import sys\n\nfrom treedp_core.cli import app_path\n\n"
    "sys.path.insert(0, str(app_path().parent))  # where the app keeps its samples and its tables\n"
)


class _Data(Protocol):
    """A value of a data class."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True, eq=False)
class Ran(Generic[T_co]):
    """A call and, once it is asked for, its value.

    Parameters
    ----------
    function : function or class
        Importable by its name.
    args, kwargs
        What can be written down: numbers, text, tuples, lists, dictionaries, arrays, enumerations, data classes,
        functions; or a `Ran`, whose value is passed; or a `File`.
    name : str
        What the code calls the value.
    about : str
        A comment in front of its line.
    figure : Ran, optional
        The call that draws the value: the code ends with both.
    """

    function: Callable[..., T_co]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    name: str = "found"
    about: str = ""
    figure: Ran[Any] | Part[Any] | None = None

    @cached_property
    def value(self) -> T_co:
        """What the call returns; it runs when this is first read."""
        given = {key: _value(one) for key, one in self.kwargs.items()}
        return self.function(*map(_value, self.args), **given)

    def named(self, name: str) -> Ran[T_co]:
        """Return the same call under another name in the code."""
        same = replace(self, name=name)
        same.__dict__.update({key: value for key, value in self.__dict__.items() if key == "value"})
        return same

    def giving(self, value: T) -> Ran[T]:
        """Return the same call with its value, found elsewhere."""
        same: Ran[Any] = self.named(self.name)
        same.__dict__["value"] = value
        return same

    def saying(self, about: str) -> Ran[T_co]:
        """Return the same call with a comment that its code begins with."""
        same = self.named(self.name)
        object.__setattr__(same, "about", about)
        return same

    def drawn_by(self, figure: Ran[Any] | Part[Any]) -> Ran[T_co]:
        """Return the same call, whose code draws a figure in the line before its last."""
        same = self.named(self.name)
        object.__setattr__(same, "figure", figure)
        return same

    def get(self, path: str, figure: str = "") -> Part[Any]:
        """Return a part of the value, such as "labels.level_names"; `figure` is the part that draws it, if one does."""
        return Part(self, path, Part(self, figure) if figure else None)

    def snippet(self) -> str:
        """Return code that runs as it is and ends with this call.

        >>> print(call(round, call(pow, 2, 0.5).named("root"), ndigits=2).snippet())
        root = pow(2, 0.5)
        round(root, ndigits=2)
        """
        return _Writer().program(self)


@dataclass(frozen=True)
class File:
    """A file that code reads, never what is in it: its path has a line of its own at the top, to be changed there.

    Parameters
    ----------
    path : str
    name : str
        What the code calls the path, in capitals.
    """

    path: str
    name: str = "DATA"


@dataclass(frozen=True, eq=False)
class Part(Generic[T_co]):
    """An attribute of a call's value; its code draws a `figure` in the line before its last, if it has one."""

    of: Ran[Any]
    path: str
    figure: Part[Any] | None = None

    @property
    def about(self) -> str:
        """A comment that its code begins with."""
        return self.of.about

    @property
    def value(self) -> T_co:
        """The attribute itself."""
        found: Any = self.of.value
        for name in self.path.split("."):
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]  # whatever the attribute is

    def snippet(self) -> str:
        """Return code that runs as it is and ends with this part."""
        return _Writer().program(self)


def call(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Ran[T]:
    """Return the call, from which its value and its code both come.

    >>> call(max, 3, 5).value
    5
    """
    return Ran(function, args, kwargs)


def given(value: T, function: Callable[..., T], /, *args: Any, about: str = "", **kwargs: Any) -> Ran[T]:
    """Return a call whose value is there already: what it would return, such as the counts of a file that is gone."""
    ran = Ran(function, args, kwargs, about=about)
    ran.__dict__["value"] = value
    return ran


def path_read(how: Ran[Any] | None) -> str | None:
    """Return the path of the file that a call reads first, as it stands in its code; None if it reads none.

    >>> path_read(call(len, File("people.csv"))), path_read(call(max, 3, 5))
    ('people.csv', None)
    """
    first = how.args[0] if how is not None and how.args else None
    return first.path if isinstance(first, File) else None


def _value(one: object) -> object:
    if isinstance(one, File):
        return one.path
    if type(one) is tuple or type(one) is list:
        return type(one)(map(_value, one))
    return one.value if isinstance(one, (Ran, Part)) else one


class _Writer:
    """Writes one program: imports, a line for each call, each once."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}
        self.lines: list[str] = []
        self.files: dict[File, str] = {}
        self.names: dict[int, str] = {}
        self.known: dict[str, str] = {}
        self.taken = set(RESERVED)
        self.from_app = False
        self.plugins: dict[str, None] = {}

    def program(self, ran: Ran[Any] | Part[Any]) -> str:
        if ran.figure is not None:
            self.taken.add(FIGURE)
            drawn = self.written(ran.figure)
            self.lines.append(f"{FIGURE} = {drawn}")
            self.names[id(ran.figure)] = self.known[drawn] = FIGURE
        last = self.written(ran)
        last = self.known.get(last, last)
        if self.plugins:
            self.imports.setdefault("treedp_core.registry", set()).add("load_plugin")
        modules = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.imports.items())]
        if "np." in "\n".join([*self.lines, last]):
            modules.insert(0, "import numpy as np")
        about = _comment(ran.about)
        head = about + (APP_PATH if self.from_app else "") + "\n".join(modules)
        loaded = [f"load_plugin({name!r})  # {CLAIM}" for name in self.plugins]
        files = [f"{name} = {one.path!r}  # where the file lies" for one, name in self.files.items()]
        return "\n".join(
            [
                *([head, ""] if head else []),
                *([*loaded, ""] if loaded else []),
                *([*files, ""] if files else []),
                *self.lines,
                last,
            ]
        )

    def written(self, ran: Ran[Any] | Part[Any]) -> str:
        """A call, or an attribute of one whose line is written first."""
        return self.call(ran) if isinstance(ran, Ran) else self.literal(ran)

    def variable(self, ran: Ran[Any]) -> str:
        """The name of a call's value, its line written first."""
        if id(ran) not in self.names:
            text = self.call(ran)
            if text not in self.known:
                self.known[text] = self.free(ran.name)
                self.lines.append(f"{_comment(ran.about)}{self.known[text]} = {text}")
            self.names[id(ran)] = self.known[text]
        return self.names[id(ran)]

    def free(self, name: str) -> str:
        """A name that nothing else has: this one, or with a number."""
        numbered = (name, *(f"{name}_{n}" for n in range(2, 1000)))
        found = next(one for one in numbered if one not in self.taken)
        self.taken.add(found)
        return found

    def call(self, ran: Ran[Any]) -> str:
        parts = [self.literal(one) for one in ran.args]
        parts += [f"{key}={self.literal(one)}" for key, one in ran.kwargs.items()]
        return _wrapped(self.imported(ran.function), parts)

    def imported(self, thing: Callable[..., object]) -> str:
        """The name of a function or class, with what must be imported for it."""
        module, name = thing.__module__, thing.__qualname__
        if "<" in name:
            raise TypeError(f"{name} is local: no code can import it.")
        if module != "builtins":
            root = name.partition(".")[0]
            self.imports.setdefault(_front(module, root), set()).add(root)
            self.taken.add(root)
            self.from_app |= module.partition(".")[0] == _APP
        return str(name)

    def literal(self, value: object) -> str:
        """An expression for a value."""
        if isinstance(value, Ran):
            return self.variable(value)
        if isinstance(value, Own):
            return self.literal(value.entry)
        if isinstance(value, str) and (package := plugin_of(value)):
            self.plugins[package] = None
        if isinstance(value, Part):
            return f"{self.variable(value.of)}.{value.path}"
        if isinstance(value, File):
            if value not in self.files:
                self.files[value] = self.free(value.name)
            return self.files[value]
        if isinstance(value, enum.Enum):
            return f"{self.imported(type(value))}.{value.name}"
        if isinstance(value, np.ndarray):
            kind = "" if value.dtype.kind == "f" else f", dtype=np.{value.dtype}"
            return f"np.array({self.literal(value.tolist())}{kind})"
        if isinstance(value, np.generic):
            return self.literal(value.item())
        return self.plain(value)

    def plain(self, value: object) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, Fraction):
            return f"{self.imported(Fraction)}({value.numerator}, {value.denominator})"
        if value is None or isinstance(value, (bool, int, float, str, range)):
            return repr(value)
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{self.literal(k)}: {self.literal(v)}" for k, v in value.items()) + "}"
        if isinstance(value, (list, tuple)):
            return self.sequence(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self.dataclass(value)
        if callable(value):
            return self.imported(value)
        raise TypeError(f"No code can be written for a {type(value).__name__}.")

    def sequence(self, value: Sequence[object]) -> str:
        parts = [self.literal(one) for one in value]
        if isinstance(value, list):
            return _wrapped("", parts, "[]")
        if type(value) is not tuple:  # a named one
            return _wrapped(self.imported(type(value)), parts)
        return _wrapped("", parts) if len(parts) != 1 else f"({parts[0]},)"

    def dataclass(self, value: _Data) -> str:
        """A constructor's call, defaults left out."""
        parts = []
        for one in fields(value):
            mine = getattr(value, one.name)
            default = one.default_factory() if one.default_factory is not MISSING else one.default
            if one.init and (default is MISSING or not _same(mine, default)):
                parts.append(f"{one.name}={self.literal(mine)}")
        return _wrapped(self.imported(type(value)), parts)


def _comment(about: str) -> str:
    """What is said in front of a line."""
    lines = textwrap.wrap(" ".join(about.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {one}\n" for one in lines)


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and bool(np.all(a == b))


def _front(module: str, name: str) -> str:
    """The shortest module, below the top one, that offers the same thing under the same name."""
    thing, words = getattr(sys.modules[module], name), module.split(".")
    fronts = (".".join(words[:n]) for n in range(2, len(words)))
    return next((one for one in fronts if getattr(sys.modules.get(one), name, None) is thing), module)


def _wrapped(name: str, parts: list[str], brackets: str = "()") -> str:
    """A call or a sequence: on one line where it fits, numbers on full lines, else a line for each."""
    line = f"{name}{brackets[0]}{', '.join(parts)}{brackets[1]}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    if not name and all(len(part) <= WIDTH // 4 for part in parts):
        rows = _filled(parts)
    else:
        rows = [f"{part}," for part in parts]
    inner = textwrap.indent("\n".join(rows), "    ", lambda row: True)
    return f"{name}{brackets[0]}\n{inner}\n{brackets[1]}"


def _filled(parts: list[str]) -> list[str]:
    """Full lines of short parts, each with its comma."""
    rows = [""]
    for part in parts:
        if rows[-1] and len(rows[-1]) + len(part) + 2 > WIDTH:
            rows.append("")
        rows[-1] += f" {part}," if rows[-1] else f"{part},"
    return rows
