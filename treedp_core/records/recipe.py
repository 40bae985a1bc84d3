"""How rows became records: one value of plain numbers and texts, which data sets, notebooks and plans carry along."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

from treedp_core.checks import InputError, echo
from treedp_core.records.derive.derivation import derived_of
from treedp_core.records.strict_json import Json, members
from treedp_core.records.unit_rows import MOST

CODE: Final = "RECIPE"
MARKS: Final[Mapping[str, str]] = {
    ".": "decimal point",
    ".,": "decimal point, thousands comma",
    ". ": "decimal point, thousands space",
    ".'": "decimal point, thousands apostrophe",
    ",": "decimal comma",
    ",.": "decimal comma, thousands point",
    ", ": "decimal comma, thousands space",
    ",'": "decimal comma, thousands apostrophe",
}
"""How numbers may be written: the decimal mark, then the one between thousands, if there is one; and in words."""
MAX_TEXT: Final = 1_000
MAX_ITEMS: Final = 1_000
"""Columns or labels that a recipe names at most."""


@dataclass(frozen=True)
class Recipe:
    """How rows became records, beside the columns and the domain: what was chosen, whatever the file holds.

    Parameters
    ----------
    weight : str
        Column that says how many records a row stands for; empty where each row is one.
    unit : str
        Column that names the unit of a row, of whose rows the first ones are counted; empty where all are.
    bound : int
        How many rows of each unit were counted at most; 0 where no column names units.
    blanks_out : bool
        Whether a record with a blank cell has a place in no category, not even in "(blank)".
    numbers : bool
        Whether the numbers of one column were counted in bins.
    cut : bool
        Whether a number beyond the bounds is counted in the end bin.
    bounds : tuple of float
        Lower and upper bound of the numbers; empty without them.
    marks : tuple of (column, marks)
        How the numbers of a column are written: a key of `MARKS`; a column that is not named has a decimal point.
    left_out : tuple of (column, tuple of labels)
        Rows that are no records, such as totals: those with one of these labels in their column; "(blank)" stands for
        blank cells.
    encoding, delimiter, sheet, part, header, footer, quote, escape, unnamed, short : str
        How the file was read, as `ReadOptions` has it, said or found out; empty where it is as most files are.
    derived : tuple of (level, text)
        Levels that were made of a column, as `derived_of` reads them.
    value, grid : str, float
        Column of a value of each row, and the public grid to whose multiples it is rounded; empty and 0 without one.
    clip : int
        Steps of the grid that a value adds at most, where the counts are sums of values; 0 where they are of records.

    Raises
    ------
    InputError
        ``RECIPE`` for what no count can mean.

    Examples
    --------
    >>> recipe = Recipe(weight="people", marks=(("people", ",."),), left_out=(("state", ("Total",)),))
    >>> recipe_of(as_json(recipe)) == recipe, recipe.marks_of("people"), recipe.marks_of("age")
    (True, ',.', '.')
    """

    weight: str = ""
    unit: str = ""
    bound: int = 0
    blanks_out: bool = False
    numbers: bool = False
    cut: bool = False
    bounds: tuple[float, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()
    encoding: str = ""
    delimiter: str = ""
    sheet: str = ""
    part: str = ""
    header: str = ""
    footer: str = ""
    quote: str = ""
    escape: str = ""
    unnamed: str = ""
    short: str = ""
    derived: tuple[tuple[str, str], ...] = ()
    value: str = ""
    grid: float = 0.0
    clip: int = 0

    def __post_init__(self) -> None:
        named = [column for column, *_ in (*self.marks, *self.left_out, *self.derived)]
        labels = [label for _, some in self.left_out for label in some]
        _expect(len(named) + len(labels) <= MAX_ITEMS, f"at most {MAX_ITEMS} columns and labels")
        for text in (*(one for one in vars(self).values() if isinstance(one, str)), *named, *labels):
            _expect(len(text) <= MAX_TEXT and not any("\ud800" <= char <= "\udfff" for char in text), "text as names")
        _expect(self.bound >= 0 and not (self.bound and not self.unit), "a bound on the rows of a unit with its column")
        of_values = bool(self.value) and math.isfinite(self.grid) and self.grid > 0
        _expect(of_values or (not self.value and self.grid == 0), "a column of values with a grid above 0")
        _expect(0 <= self.clip <= MOST and not (self.clip and not of_values), "a clip in steps of a grid")
        _expect(not (self.value and (self.weight or self.unit)), "values, or counts, or units, of a row")
        ordered = len(self.bounds) == 2 and self.bounds[0] < self.bounds[1] and all(map(math.isfinite, self.bounds))
        _expect(not self.bounds or ordered, "no bounds, or two in their order")
        for pairs in (self.marks, self.left_out, self.derived):
            columns = [column for column, _ in pairs]
            _expect(columns == sorted(set(columns)), "each column once, in alphabetical order")
        for column, marks in self.marks:
            _expect(marks in MARKS, f"marks of numbers in column {echo(column)} that are known")
        _expect(all(some for _, some in self.left_out), "labels of what is left out by a column")
        for _, text in self.derived:
            derived_of(text)

    def marks_of(self, column: str) -> str:
        """Return how the numbers of a column are written: a key of `MARKS`."""
        return dict(self.marks).get(column, ".")


def as_json(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as JSON: what it does not say is left out.

    >>> as_json(Recipe(unit="person", bound=2))
    {'unit': 'person', 'bound': 2}
    """
    plain = asdict(Recipe())
    return {name: _listed(value) for name, value in asdict(recipe).items() if value != plain[name]}


def recipe_of(given: Json) -> Recipe:
    """Return the recipe of `as_json`.

    Raises
    ------
    InputError
        ``RECIPE``, and the codes of `strict_json.members`.
    """
    plain: dict[str, Json] = {name: _listed(value) for name, value in asdict(Recipe()).items()}
    told = plain | (given if isinstance(given, dict) else {"recipe": given})
    said = members(told, "A recipe", **{name: type(value) for name, value in plain.items()})
    bounds = [members({"bound": one}, "A recipe", bound=float)["bound"] for one in said["bounds"]]
    marks = [(column, _text(one)) for column, one in _pairs(said["marks"])]
    left_out = [(column, tuple(map(_text, _list(one)))) for column, one in _pairs(said["left_out"])]
    derived = [(level, _text(one)) for level, one in _pairs(said["derived"])]
    lists = {"bounds": tuple(bounds), "marks": tuple(marks), "left_out": tuple(left_out), "derived": tuple(derived)}
    return Recipe(**said | lists)


def marks_in_order(given: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Return marks by column in a recipe's form: a decimal point, as any column has that is not named, is not said.

    >>> marks_in_order({"pay": ",.", "age": "."}), marks_in_order(None)
    ((('pay', ',.'),), ())
    """
    return tuple(sorted(one for one in (given or {}).items() if one[1] != "."))


def _listed(value: object) -> Json:
    return [_listed(one) for one in value] if isinstance(value, tuple) else cast("Json", value)


def _pairs(given: list[Json]) -> list[tuple[str, Json]]:
    pairs = [_list(one) for one in given]
    _expect(all(len(one) == 2 for one in pairs), "pairs of a column and what is said of it")
    return [(_text(column), one) for column, one in pairs]


def _list(value: Json) -> list[Json]:
    _expect(isinstance(value, list) and len(value) <= MAX_ITEMS, f"lists of at most {MAX_ITEMS}")
    return cast("list[Json]", value)


def _text(value: Json) -> str:
    _expect(isinstance(value, str), "names as text")
    return cast("str", value)


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise InputError(CODE, f"Expected {what} in how rows became records.")
