"""Rules that make a level of a column, one line each; a rule looks at one label at a time, and at nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from treedp_core.checks import InputError, echo
from treedp_core.records.derive import bands, codes, spellings, times
from treedp_core.records.derive.rule import CODE, Rule
from treedp_core.registry import Table, lookup, table
from treedp_core.words import MAX_LITERAL, lower_first

MARK: Final = ":"
MAX_OPTION: Final = 20_000
"""Characters of what a rule is told at most: a table of spellings is."""


@dataclass(frozen=True)
class Derivation:
    """A kind of rule.

    Parameters
    ----------
    name : str
        As recipes and commands have it.
    label : str
        What people call it.
    rule : function
        What it is told (text) -> a function of a label that is not blank; "" where that is no value. What it is told is
        refused by `InputError`, a label that it cannot read by `ValueError` with the words for what it expects.
    suggest : function
        Distinct labels -> what it may be told of them, the likely first; none where the rule does not fit.
    names : function
        What it is told, and the column -> the name of the level.
    trees : function
        What it may be told -> what of that makes levels of one tree, from coarse to fine, for each that people want.
    goes_on : bool
        Whether the column itself is the level below.
    shorten : function
        Arrow array of labels (n,) -> labels (n,), of which the rule makes the same, and that are fewer.
    public_as : str
        Of a rule whose option the counts chose (NOT PRIVATE): the name of the same rule, once somebody says that its
        option is public.
    example : str
        What people may type; of several lines where they need as many.
    typed : function
        What people typed -> what the rule is told.
    """

    name: str
    label: str
    rule: Callable[[str], Rule]
    suggest: Callable[[Sequence[str]], tuple[str, ...]]
    names: Callable[[str, str], str]
    trees: Callable[[Sequence[str]], Sequence[Sequence[str]]] = lambda options: [[one] for one in options]
    goes_on: bool = False
    shorten: Callable[[Any], Any] = lambda labels: labels
    public_as: str = ""
    example: str = ""
    typed: Callable[[str], str] = str.strip


@dataclass(frozen=True)
class Derived:
    """A level that is made of a column.

    Parameters
    ----------
    column : str
        Of the file.
    derivation : str
        A name in `DERIVATIONS`.
    option : str
        What the rule is told.

    Raises
    ------
    InputError
        ``DERIVE``; ``VALUE_UNKNOWN`` for a rule that does not exist.

    >>> Derived("born", "time", "month").rule("2024-03-05"), derived_of("born:time:month").level
    ('2024-03', 'month of born')
    """

    column: str
    derivation: str
    option: str = ""

    def __post_init__(self) -> None:
        if len(self.option) > MAX_OPTION:
            raise InputError(CODE, f"The option of a rule has {MAX_OPTION} characters at most.")
        _ = self.rule
        if _parts_of(self.text) != (self.column, self.derivation, self.option):
            raise InputError(CODE, f"The name of column {echo(self.column)} reads as a rule; give it another one.")

    @property
    def of(self) -> Derivation:
        """The kind of its rule."""
        return lookup(DERIVATIONS, self.derivation, "derivation")

    @property
    def rule(self) -> Rule:
        """What makes its label of one of the column's."""
        return self.of.rule(self.option)

    @property
    def level(self) -> str:
        """Its name."""
        return self.of.names(self.option, self.column)

    @property
    def as_public(self) -> Derived:
        """The same level, once somebody says that what its rule is told is public."""
        return replace(self, derivation=self.of.public_as or self.derivation)

    @property
    def text(self) -> str:
        """The same as text."""
        return MARK.join(filter(None, (self.column, self.derivation, self.option)))

    @property
    def is_from_data(self) -> bool:
        """Whether the counts chose what its rule is told, and nobody has said that it is public: NOT PRIVATE."""
        return bool(self.of.public_as)

    def told(self, level: str) -> str:
        """Return in words how a level is made, for a list of them.

        >>> Derived("born", "time", "month").told("month")
        '“month” is made of “born”: dates and times, month'
        """
        of = f"“{level}” is made of “{self.column}”: {lower_first(self.of.label)}"
        return f"{of}, {self.option[:MAX_LITERAL]}{'…' * (len(self.option) > MAX_LITERAL)}" if self.option else of


def derived_of(text: str) -> Derived:
    """Return the level of a text such as ``born:time:month``.

    Raises
    ------
    InputError
        ``DERIVE``; the codes of `Derived`.
    """
    return Derived(*_parts_of(text))


def levels_said(texts: Sequence[str], columns: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the levels that a table is to have, and those among them that are made of one of its columns.

    >>> levels_said(["born:time:year", "city"], ["born", "city"])
    (['year of born', 'city'], {'year of born': 'born:time:year'})

    Raises
    ------
    InputError
        ``COLUMN_UNKNOWN``; the codes of `derived_of`.
    """
    by_text = {text: derived_of(text) for text in texts if text not in columns and MARK in text}
    made = {one.level: one.text for one in by_text.values()}
    levels = [by_text[text].level if text in by_text else text for text in texts]
    needed = [*levels, *(one.column for one in by_text.values())]
    unknown = [name for name in needed if name not in columns and name not in made]
    if unknown:
        shown = ", ".join(map(echo, columns[:8]))
        raise InputError("COLUMN_UNKNOWN", f"There is no column {echo(unknown[0])}; the columns are: {shown}.")
    return levels, made


def _parts_of(text: str) -> tuple[str, str, str]:
    """Column, rule and option: a rule is the first part that is one, as a column may have colons in its name."""
    parts = text.split(MARK)
    at = next((i for i, part in enumerate(parts) if i and part in DERIVATIONS), min(1, len(parts) - 1))
    column, derivation = MARK.join(parts[:at]), parts[at]
    if not column or not derivation:
        raise InputError(CODE, f"Expected a column, a rule and its option, such as born:time:month, got {echo(text)}.")
    return column, derivation, MARK.join(parts[at + 1 :])


def _of(what: str, option: str, column: str) -> str:
    return f"{what or option} of {column}"


DERIVATIONS: Final[Table[Derivation]] = table(
    Derivation("time", "Dates and times", times.part_of, times.parts_in, times.named, times.calendars,
               example="quarter/dmy", shorten=times.without_minutes),
    Derivation("prefix", "First characters of a code", codes.beginning, codes.lengths, codes.named,
               codes.usual, goes_on=True, example="3"),
    Derivation("spelling", "One spelling", spellings.one_spelling, spellings.ways, partial(_of, "spelling"),
               example="case"),
    Derivation("bands", "Bands of a number", bands.band_of, bands.edges_for, partial(_of, "band"),
               example="0; 18; 65; 100"),
    Derivation("names", "Own names", spellings.renamed, spellings.nothing, partial(_of, "name"),
               example="NRW = Nordrhein-Westfalen\nBY = Bayern", typed=spellings.names_typed),
    Derivation("keep", "A list, and the rest", spellings.listed_only, spellings.nothing, partial(_of, "group"),
               example="Ulm\nBonn", typed=spellings.list_typed),
    Derivation("frequent", "Frequent (FROM DATA), and the rest", spellings.listed_only, spellings.nothing,
               partial(_of, "group"), public_as="keep", example="Ulm\nBonn", typed=spellings.list_typed),
)  # fmt: skip
"""What a rule makes of a label does not depend on any other row; `public_as` says of which the option does."""
