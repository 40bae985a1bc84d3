"""A parameter of a view: its name in links, its usual value, and how the text of a link becomes a value or is refused.

One declaration serves the library (a value is checked), links and saved cells (a text is read), and the page's control.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.privacy.prior_provenance import origin_of_text
from treedp_core.registry import Table
from treedp_core.words import bare, setting_text

MAX_DIGITS: Final = 12
MAX_TEXT: Final = 200
PLUG_IN: Final = "What a plug-in adds is there once TreeDP is started with it (--plugin)."
TUNED: Final = "_tuned"
"""How the keys end of what says what shares were tuned on."""
_NUMBER: Final = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]{1,4})?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_FLAGS: Final = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
Check = Callable[[Any], Any]
T = TypeVar("T")


def _any(value: T) -> T:
    return value


@dataclass(frozen=True, kw_only=True)
class Parameter(Generic[T]):
    """What a view depends on besides its tables: one value, with its name in links.

    Parameters
    ----------
    key : str
        Its name in links and in saved cells.
    default : number, str, bool or tuple of str
        A tuple marks a parameter with many values.
    read : function
        Text of a link -> value; raises `InputError`.
    check : function
        A value -> nothing of interest; raises `InputError` for one that the parameter may not have.
    grid : tuple
        Choices of a slider; another valid value joins them (see `choices`).
    options : mapping or collection, optional
        Name -> label, or -> an entry with a `label` and perhaps a `help`; read anew at each use.
    label : str
        What its slider is called; a figure can follow one that has a name wherever there are sliders.
    in_words : function
        A value -> what a report's slider says of it.
    """

    key: str
    default: T
    read: Callable[[str], Any]
    check: Check = _any
    grid: tuple[Any, ...] = ()
    options: Mapping[str, Any] | Collection[str] | None = None
    label: str = ""
    in_words: Callable[[Any], str] = setting_text

    @property
    def is_many(self) -> bool:
        """Whether it has several values."""
        return isinstance(self.default, tuple)

    def accepts(self, value: Any) -> bool:
        """Return whether it may have a value."""
        try:
            self.check(value)
        except InputError:
            return False
        return True

    def parse(self, texts: Sequence[str]) -> Any:
        """Return the value that a link's texts stand for.

        Raises
        ------
        InputError
            ``LINK_REPEATED`` when a single value is given twice, else what `read` raises.
        """
        if self.is_many:
            values = tuple(self.read(text) for text in texts if text)
            if len(set(values)) != len(values):
                raise InputError("LINK_REPEATED", f"Expected each value of {self.key} once.")
            return values
        if len(texts) != 1:
            raise InputError("LINK_REPEATED", f"Expected {self.key} once, got it {len(texts)} times.")
        return self.read(texts[0])

    def write(self, value: Any) -> str | list[str]:
        """Return the text of a value in a link."""
        if self.is_many:
            return [str(item) for item in value] or [""]
        if isinstance(value, bool):
            return str(int(value))
        return bare(value) if isinstance(value, float) else str(value)

    def choices(self, value: Any) -> list[Any]:
        """Return the choices of its slider: the grid, and the present value where a link brought another one."""
        return sorted({*self.grid, value})


def number(
    key: str, default: float, check: Check, *, grid: tuple[float, ...] = (), code: str = "VALUE", label: str = "",
    in_words: Callable[[float], str] = setting_text,
) -> Parameter[float]:  # fmt: skip
    """Return a parameter that is a decimal number; `check` returns it or raises `InputError`."""

    def read(text: str) -> float:
        return float(check(_decimal(key, text, code)))

    return Parameter(key=key, default=default, read=read, check=check, grid=grid, label=label, in_words=in_words)


def whole(
    key: str, default: int, low: int, high: int, *, code: str = "VALUE_RANGE", grid: tuple[int, ...] = (),
    label: str = "",
) -> Parameter[int]:  # fmt: skip
    """Return a parameter that is a whole number in [low, high], or 0 if that is its default, for none of them."""

    def check(value: object) -> int:
        is_none = default == 0 < low and value == 0 and type(value) is int
        return 0 if is_none else checks.integer(key, value, low=low, high=high, code=code)

    def read(text: str) -> int:
        plain = re.fullmatch(r"-?[0-9]{1,20}", text, re.ASCII)
        return check(int(text) if plain else text)

    return Parameter(key=key, default=default, read=read, check=check, grid=grid, label=label)


def where_more(options: object) -> str:
    """Return where more options come from, to end a refusal with; nothing where they are not open for more."""
    return f" {PLUG_IN}" if isinstance(options, Table) else ""


def _one_of(key: str, options: Collection[str], label: str) -> Callable[[object], str]:
    """A check that refuses what is no option; where the options are open for more, it says where more come from."""

    def check(value: object) -> str:
        try:
            return checks.one_of(label or key, value, options)
        except InputError as error:
            raise InputError(error.code, f"{error}{where_more(options)}") from None

    return check


def choice(key: str, default: str, options: Mapping[str, Any] | Collection[str], *, label: str = "") -> Parameter[str]:
    """Return a parameter that is one of the names in `options`; `label` names it in refusals."""
    check = _one_of(key, options, label)
    return Parameter(key=key, default=default, read=check, check=check, options=options)


def several(
    key: str, default: tuple[str, ...], options: Mapping[str, Any] | Collection[str], *, label: str = ""
) -> Parameter[tuple[str, ...]]:
    """Return a parameter that is any number of the names in `options`."""
    one = _one_of(key, options, label)
    return Parameter(key=key, default=default, read=one, check=partial(_each, key, one, None), options=options)


def many(key: str, check: Check, most: int) -> Parameter[tuple[str, ...]]:
    """Return a parameter that is at most so many texts, none at first; `check` returns one or raises `InputError`."""
    return Parameter(key=key, default=(), read=check, check=partial(_each, key, check, most))


def _each(key: str, check: Check, most: int | None, values: object) -> None:
    if not isinstance(values, list | tuple):
        raise InputError("VALUE", f"Expected {key} to be a list of values, got {echo(values)}.")
    if most is not None and len(values) > most:
        raise InputError("VALUE_RANGE", f"Expected {key} to have at most {most} values, got {len(values)}.")
    for value in values:
        if not isinstance(value, str):
            raise InputError("VALUE", f"Expected {key} to be texts, got {echo(value)}.")
        check(value)


def flag(key: str, default: bool) -> Parameter[bool]:
    """Return a parameter that is on (1, true, yes, on) or off (0, false, no, off)."""

    def check(value: object) -> None:
        if not isinstance(value, bool):
            raise InputError("VALUE", f"Expected {key} to be true or false, got {echo(value)}.")

    def read(text: str) -> bool:
        return _FLAGS[checks.one_of(key, text.lower(), _FLAGS)]

    return Parameter(key=key, default=default, read=read, check=check)


def words(key: str, default: str, check: Callable[[str], object] = _any) -> Parameter[str]:
    """Return a parameter that is a short text; `check` raises `InputError` for a text in a link that it refuses.

    No text at all is refused only where the default is one.
    """

    def short(text: object) -> None:
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise InputError("VALUE_RANGE", f"Expected {key} to have at most {MAX_TEXT} characters.")

    def read(text: str) -> str:
        short(text)
        if text.strip() or default:
            check(text)
        return text

    return Parameter(key=key, default=default, read=read, check=short)


def tuned_on(key: str) -> Parameter[str]:
    """Return a parameter that says what shares were tuned on; nothing for shares that look at nothing."""
    return words(key, "", origin_of_text)


def _decimal(key: str, text: str, code: str) -> float:
    """Return a decimal number written with digits and a point; nan and inf pass, for the range check to refuse."""
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    mantissa = re.split("[eE]", text)[0]
    if not _NUMBER.fullmatch(text) or sum(c.isdecimal() for c in mantissa.lstrip("+-0.")) > MAX_DIGITS:
        raise InputError(
            f"{code}_FORMAT", f"Expected {key} in digits with a point, at most {MAX_DIGITS} of them, got {echo(text)}."
        )
    return float(text)
