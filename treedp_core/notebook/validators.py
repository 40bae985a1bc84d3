"""What the fields of a cell may be: each check returns the value as the cell holds it, or refuses it by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.words import whole

MAX_TEXT: Final = 20_000
MAX_SETTINGS: Final = 400
MAX_VALUE: Final = 2_000
MAX_VALUES: Final = 200
MAX_TABLE_ROWS: Final = 100_000
MAX_TABLE_COLUMNS: Final = 200

_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Value = str | int | float | bool | None
"""What stands in one cell of a table."""


def table_of(columns: Mapping[str, Collection[object]]) -> dict[str, tuple[Value, ...]]:
    """Return a table as a cell holds it: each column all bool, int, float or text, with None for what is missing.

    A column of several kinds becomes text; numbers of several kinds become float. Arrays have shape (rows,).

    >>> table_of({"level": ["all", "city"], "rmse": np.array([1.5, 2.0]), "note": ["-", 3]})
    {'level': ('all', 'city'), 'rmse': (1.5, 2.0), 'note': ('-', '3')}
    """
    return {str(name): _column(values) for name, values in columns.items()}


def _column(values: Collection[object]) -> tuple[Value, ...]:
    plain: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    plain = [one.item() if isinstance(one, np.generic) else one for one in plain]
    kinds = {type(one) for one in plain if one is not None}
    if kinds <= {int} and all(one is None or -(2**63) <= one < 2**63 for one in plain):
        return tuple(plain)
    if kinds <= {int, float}:
        return tuple(None if one is None else float(one) for one in plain)
    if kinds in ({bool}, {str}):
        return tuple(plain)
    return tuple(None if one is None else str(one) for one in plain)


def columns(given: Mapping[str, Sequence[Value]]) -> Mapping[str, tuple[Value, ...]]:
    """Return a table of columns of equal length."""
    if not isinstance(given, Mapping) or len(given) > MAX_TABLE_COLUMNS:
        raise InputError("CELL_TABLE", f"Expected a table of at most {MAX_TABLE_COLUMNS} columns.")
    for name in given:
        text("the name of a column", name, MAX_TEXT, "CELL_TABLE")
    sizes = {len(values) for values in given.values()}
    if len(sizes) > 1 or max(sizes, default=0) > MAX_TABLE_ROWS:
        raise InputError("CELL_TABLE", f"Expected columns of equal length, at most {whole(MAX_TABLE_ROWS)} rows.")
    return {name: _column(values) for name, values in given.items()}


def settings(given: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
    """Return settings: the values of each, by its name."""
    if not isinstance(given, Mapping) or len(given) > MAX_SETTINGS:
        raise InputError("CELL_SETTINGS", f"Expected at most {MAX_SETTINGS} settings, by name.")
    for key in given:
        matches("the name of a setting", key, _KEY, "CELL_SETTINGS")
    return {key: texts(key, values, MAX_VALUES, MAX_VALUE, "CELL_SETTINGS") for key, values in given.items()}


def texts(name: str, values: Sequence[str], most: int, longest: int, code: str) -> tuple[str, ...]:
    """Return at most so many texts."""
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) > most:
        raise InputError(code, f"Expected {name} to be a list of at most {most} texts.")
    return tuple(text(f"a value of {name}", one, longest, code) for one in values)


def text(name: str, value: object, longest: int, code: str) -> str:
    """Return a text without characters that hide or turn others around."""
    if not isinstance(value, str):
        raise InputError(code, f"Expected {name} to be text, got {echo(value)}.")
    if len(value) > longest:
        raise InputError(code, f"Expected {name} to have at most {whole(longest)} characters, got {whole(len(value))}.")
    found = CONTROL.search(value)
    if found:
        raise InputError(code, f"Expected {name} without control characters, got U+{ord(found.group()):04X}.")
    return value


def line(name: str, value: object, longest: int, code: str) -> str:
    """Return a text on one line."""
    one = text(name, value, longest, code)
    if "\n" in one or "\r" in one:
        raise InputError(code, f"Expected {name} on one line.")
    return one


def matches(name: str, value: object, pattern: re.Pattern[str], code: str, *, empty: bool = False) -> None:
    """Refuse what is not of a pattern; `empty` allows no text at all."""
    if not isinstance(value, str) or not (pattern.fullmatch(value) or (empty and value == "")):
        raise InputError(code, f"Expected {name} as TreeDP writes it, got {echo(value)}.")


def pair(bounds: Sequence[float]) -> tuple[float, float]:
    """Return a lower and an upper bound."""
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise InputError("CELL_DATA", "Expected two bounds, the lower and the upper one.")
    lower, upper = (checks.number("a bound", one, code="CELL_DATA") for one in bounds)
    return lower, upper


def moment(value: object) -> None:
    """Refuse what is no time with an offset."""
    try:
        when = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= 40 else None
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise InputError("CELL_MADE", f"Expected a time with its offset, in ISO 8601, got {echo(value)}.")
