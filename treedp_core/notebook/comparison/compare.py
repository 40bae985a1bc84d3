"""Cells side by side: what differs, whether they promise the same, and how many times one's error is another's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from treedp_core.checks import InputError
from treedp_core.notebook.cell import NOT_REVIEWED, Cell, DataNote
from treedp_core.notebook.validators import Value
from treedp_core.privacy import NeighbouringRelation
from treedp_core.registry import CLAIM
from treedp_core.words import exact

MOST: Final = 4
LETTERS: Final = "ABCD"
ERROR: Final = "standard error"
PROMISE: Final[Mapping[str, str]] = {
    "eps": "ε", "delta": "δ", "nbr": "neighbouring relation", "contributions": "records of one unit",
    "known_levels": "known levels", "unit": "unit",
}  # fmt: skip
"""The settings of every page that a promise is made of."""
SHOWN: Final = ("level", "explain", "nb_view")
"""Settings that change no number."""


def checked(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return cells that can be compared.

    Raises
    ------
    InputError
        ``COMPARE_CELLS``.
    """
    if not 2 <= len(cells) <= MOST:
        raise InputError("COMPARE_CELLS", f"Choose 2 to {MOST} cells to compare, not {len(cells)}.")
    return cells


def differing(cells: Sequence[Cell], defaults: Mapping[str, str], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what differs between cells: a row for each setting, a column for each cell, by its letter.

    Parameters
    ----------
    defaults : mapping
        What a setting is where a cell does not name it, as in a link.
    names : mapping
        What a setting is called on its page; one without a name goes by its key.
    """
    keys = dict.fromkeys(key for one in cells for key in one.settings if key not in SHOWN)
    rows = {key: [_written(one, key, defaults) for one in cells] for key in keys}
    rows |= {
        "page": [one.page for one in cells],
        "view": [one.view for one in cells],
        **_of_data([one.data for one in cells]),
        "version": [one.version for one in cells],
    }
    differ = {key: values for key, values in rows.items() if len(set(values)) > 1}
    letters = LETTERS[: len(cells)]
    return {
        "what": [PROMISE.get(key) or names.get(key) or key for key in differ],
        **{letter: [values[at] for values in differ.values()] for at, letter in enumerate(letters)},
    }


def _of_data(notes: Sequence[DataNote | None]) -> dict[str, list[str]]:
    """What data sets were counted from and how, a row for each; without one a row says nothing."""
    rows: dict[str, Callable[[DataNote], str]] = {
        "data": lambda one: one.name,
        "levels of the data": lambda one: ", ".join(one.levels),
        "categories of the data": lambda one: one.domain,
        "bounds of the data": lambda one: "" if one.bounds is None else " to ".join(exact(end) for end in one.bounds),
        "weight of the data": lambda one: one.weight,
        "fingerprint of the data": lambda one: one.fingerprint[:16],
    }
    return {what: ["" if one is None else say(one) for one in notes] for what, say in rows.items()}


def other_promises(cells: Sequence[Cell], defaults: Mapping[str, str]) -> str:
    """Return how the promises of cells differ, to be said below a head; nothing where all promise the same.

    >>> a, b = (
    ...     Cell(
    ...         id=f"{i:016x}",
    ...         name="x",
    ...         page="lab",
    ...         settings={"eps": (eps,)},
    ...         version="1",
    ...         made="2026-11-22T15:00:00+00:00",
    ...     )
    ...     for i, eps in enumerate(("1", "2"))
    ... )
    >>> other_promises([a, b], {})
    'ε is 1 in A and 2 in B.'
    """
    parts = []
    for key, name in PROMISE.items():
        values = [_written(one, key, defaults) or "not said" for one in cells]
        if len(set(values)) > 1:
            each = [f"{value} in {letter}" for value, letter in zip(values, LETTERS, strict=False)]
            parts.append(f"{name} is {', '.join(each[:-1])} and {each[-1]}")
    return f"{'; '.join(parts)}." if parts else ""


def same_promise(cells: Sequence[Cell]) -> str:
    """Return that cells promise the same, and which of them used an entry that nobody reviewed.

    >>> same_promise([])
    'All of them promise the same.'
    """
    claimed = [letter for letter, one in zip(LETTERS, cells, strict=False) if NOT_REVIEWED in one.badges]
    who = claimed[0] if len(claimed) == 1 else f"each of {' and '.join(claimed)}"
    return f"All of them promise the same{f', but {who} is {CLAIM}' if claimed else ''}."


def _written(cell: Cell, key: str, defaults: Mapping[str, str]) -> str:
    """What a setting of a cell is, as its page says it: a relation by its label."""
    written = ", ".join(cell.settings[key]) if key in cell.settings else defaults.get(key, "")
    label = next((one.label for one in NeighbouringRelation if key == "nbr" and one.value == written), "")
    return label.lower() or written


def ratios(cells: Sequence[Cell]) -> dict[str, list[Value]]:
    """Return how many times the numbers of the first cell those of the others are, row by row of their tables.

    Rows belong together whose words, and whose number on the x axis, are the same. Where both are simulations with a
    standard error, so is their ratio: the cells were drawn independently of each other, so the errors add up.

    Raises
    ------
    InputError
        ``COMPARE_TABLES`` where the tables have no row or no number in common.
    """
    first = cells[0]
    if any(one.columns is None for one in cells):
        raise InputError("COMPARE_TABLES", "A cell has no table, so no ratio can be given.")
    keys = _keys(first)
    tables = [_by_key(one, keys) for one in cells]
    values = [name for name in first.columns or {} if name not in keys and name != ERROR and _is_number(first, name)]
    values = [name for name in values if all(_is_number(one, name) for one in cells)]
    common = [key for key in tables[0] if all(key in table for table in tables)]
    if not values or not common:
        raise InputError("COMPARE_TABLES", "The tables of these cells have no rows or no numbers in common.")
    found: dict[str, list[Value]] = {name: [key[at] for key in common] for at, name in enumerate(keys)}
    for name in values:
        for letter, table in zip(LETTERS[1:], tables[1:], strict=False):
            pairs = [(tables[0][key], table[key]) for key in common]
            quotients = [_ratio(a.get(name), b.get(name)) for a, b in pairs]
            if any(one is not None for one in quotients):
                found[f"{name}, {letter} ÷ A"] = list(quotients)
                if name == "simulation":
                    found[f"{ERROR} of {letter} ÷ A"] = [_error(a, b, name) for a, b in pairs]
    return found


def _keys(cell: Cell) -> list[str]:
    """The columns that say what a row is of: words, and numbers that rise as an x axis does."""
    columns = {name: of for name, of in (cell.columns or {}).items() if any(one is not None for one in of)}
    words = [name for name in columns if not _is_number(cell, name)]
    number = next((name for name in columns if _is_number(cell, name)), None)
    is_axis = number is not None and len(columns) > len(words) + 1 and number in list(columns)[: len(words) + 1]
    return [*words, *([number] if is_axis and number is not None and number not in _RESULTS else [])]


_RESULTS: Final = ("formula", "simulation", "error", "RMSE", ERROR)


def _is_number(cell: Cell, name: str) -> bool:
    values = (cell.columns or {}).get(name, ())
    return any(one is not None for one in values) and all(
        one is None or (isinstance(one, (int, float)) and not isinstance(one, bool)) for one in values
    )


def _by_key(cell: Cell, keys: Sequence[str]) -> dict[tuple[Value, ...], dict[str, Any]]:
    columns = cell.columns or {}
    if any(name not in columns for name in keys):
        return {}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {tuple(row[name] for name in keys): row for row in rows}


def _ratio(a: float | None, b: float | None) -> float | None:
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)) or a == 0:
        return None
    return b / a


def _error(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> float | None:
    """Standard error of a ratio of independent estimates, by the delta method."""
    ratio, errors = _ratio(a.get(name), b.get(name)), (a.get(ERROR), b.get(ERROR))
    if not ratio or None in errors:
        return None
    return abs(ratio) * math.hypot(errors[0] / a[name], errors[1] / b[name])
