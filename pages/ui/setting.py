"""One setting: its default, and how the text of a link becomes its value or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.studies.budget import origin_of_text

MAX_DIGITS: Final = 12
MAX_TEXT: Final = 200
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)

Check = Callable[[Any], Any]


@dataclass(frozen=True)
class Param:
    """A linkable setting.

    Parameters
    ----------
    key : str
        Its name in links and in the session, and the key of its widget.
    default : number, str, bool or tuple of str
        A tuple marks a setting with many values; its widget holds a list.
    read : function
        Text of a link -> value; raises `InputError`.
    grid : tuple
        Choices of a select slider; another valid value from a link joins them (see `choices`).
    accepts : function
        Whether a widget's value is one the setting may have: what a browser sends is never trusted.
    """

    key: str
    default: Any
    read: Callable[[str], Any]
    grid: tuple[Any, ...] = ()
    accepts: Callable[[Any], bool] = lambda value: True

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.key

    @property
    def is_many(self) -> bool:
        """Whether it holds several values."""
        return isinstance(self.default, tuple)

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
        return (
            str(int(value)) if isinstance(value, bool) else f"{value:.12g}" if isinstance(value, float) else str(value)
        )

    def fresh(self) -> Any:
        """Return the default, as its widget holds it."""
        return list(self.default) if self.is_many else self.default

    def choices(self, value: Any) -> list[Any]:
        """Return the choices of its slider: the grid, and the present value where a link brought another one."""
        return sorted({*self.grid, value})


def number(key: str, default: float, check: Check, *, grid: tuple[float, ...] = (), code: str = "VALUE") -> Param:
    """Return a setting that is a decimal number; `check` returns it or raises `InputError`."""
    return Param(key, default, lambda text: check(_decimal(key, text, code)), grid, _passes(check))


def whole(
    key: str, default: int, low: int, high: int, *, code: str = "VALUE_RANGE", grid: tuple[int, ...] = ()
) -> Param:
    """Return a setting that is a whole number in [low, high]."""

    def check(value: Any) -> int:
        return checks.integer(key, value, low=low, high=high, code=code)

    def read(text: str) -> int:
        plain = re.fullmatch(r"-?[0-9]{1,20}", text, re.ASCII)
        return check(int(text) if plain else text)

    return Param(key, default, read, grid, _passes(check))


def choice(key: str, default: str, options: Collection[str]) -> Param:
    """Return a setting that is one of the names in `options`."""

    def check(value: Any) -> str:
        return checks.one_of(key, value, options)

    return Param(key, default, check, (), _passes(check))


def several(key: str, default: tuple[str, ...], options: Collection[str]) -> Param:
    """Return a setting that is any number of the names in `options`."""

    def check(value: Any) -> str:
        return checks.one_of(key, value, options)

    return Param(key, default, check, (), lambda values: all(map(_passes(check), values)))


def flag(key: str, default: bool) -> Param:
    """Return a setting that is on (1) or off (0)."""
    return Param(key, default, lambda text: checks.one_of(key, text, ("0", "1")) == "1", (), _is_bool)


def words(key: str, default: str, check: Callable[[str], object] = lambda text: None) -> Param:
    """Return a setting that is a short text; `check` raises `InputError` for a text it refuses."""

    def read(text: str) -> str:
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise InputError("VALUE_RANGE", f"Expected {key} to have at most {MAX_TEXT} characters.")
        check(text)
        return text

    return Param(key, default, read, (), lambda value: isinstance(value, str) and len(value) <= MAX_TEXT)


def tuned_on(key: str) -> Param:
    """Return a setting that says what shares were tuned on; nothing for shares that look at nothing."""
    return words(key, "", lambda text: origin_of_text(text) if text else None)


def _passes(check: Check) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        try:
            check(value)
        except InputError:
            return False
        return True

    return accepts


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


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
