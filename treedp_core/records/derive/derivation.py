"""Rules that make a level of a column, one line each; a rule looks at one label at a time, and at nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal

from treedp_core.checks import InputError, echo
from treedp_core.registry import Table, lookup, table
from treedp_core.words import MAX_LITERAL, lower_first

CODE: Final = "DERIVE"
MARK: Final = ":"
MAX_OPTION: Final = 20_000
"""Characters of what a rule is told at most: a table of spellings is."""
Rule = Callable[[str], str]


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
    reads : {"label", "number"}
        Kind of column.
    suggest : function
        Distinct labels -> what it may be told of them, the likely first; none where the rule does not fit.
    names : function
        What it is told, and the column -> the name of the level.
    """

    name: str
    label: str
    rule: Callable[[str], Rule]
    suggest: Callable[[Sequence[str]], tuple[str, ...]]
    names: Callable[[str, str], str]
    reads: Literal["label", "number"] = "label"


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
            raise InputError(CODE, f"A rule is told {MAX_OPTION} characters at most.")
        _ = self.rule

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
    def text(self) -> str:
        """The same as text."""
        return MARK.join(filter(None, (self.column, self.derivation, self.option)))

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
    column, _, rest = text.partition(MARK)
    derivation, _, option = rest.partition(MARK)
    if not column or not derivation:
        raise InputError(
            CODE, f"Expected a column, a rule and what it is told, such as born:time:month, got {echo(text)}."
        )
    return Derived(column, derivation, option)


def _late(module: str, name: str) -> Any:
    """A function of a module that is imported when it is called."""

    def call(*given: Any) -> Any:
        return getattr(import_module(f"treedp_core.records.derive.{module}"), name)(*given)

    return call


def _of(what: str, option: str, column: str) -> str:
    return f"{what or option} of {column}"


DERIVATIONS: Final[Table[Derivation]] = table(
    Derivation(
        "time", "Dates and times", _late("times", "part_of"), _late("times", "parts_in"), _late("times", "named"),
    ),
    Derivation(
        "prefix", "First characters of a code", _late("codes", "beginning"), _late("codes", "lengths"),
        _late("codes", "named"),
    ),
    Derivation(
        "bands", "Bands of a number", _late("bands", "band_of"), _late("bands", "edges_for"), partial(_of, "band"),
        "number",
    ),
    Derivation(
        "spelling", "One spelling", _late("spellings", "one_spelling"), _late("spellings", "ways"),
        partial(_of, "spelling"),
    ),
    Derivation(
        "names", "Own names", _late("spellings", "renamed"), _late("spellings", "nothing"), partial(_of, "name"),
    ),
    Derivation(
        "keep", "A list, and the rest", _late("spellings", "listed_only"), _late("spellings", "nothing"),
        partial(_of, "group"),
    ),
)  # fmt: skip
"""All rules are public: what they make of a label does not depend on any other row."""
