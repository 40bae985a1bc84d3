"""The options of a file, one line each: what plans and previews say of them, and what commands ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Final

from treedp_core.checks import echo
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.text import Notice

NAMES: Final = tuple(one.name for one in fields(ReadOptions))
FIXED: Final = dict.fromkeys(NAMES, "")
"""As options: nothing is found out, and what is not said is as most files have it."""
NO_HEADER: Final = "none"
"""Of the option header: no row names the columns, the first one is a record."""
KEYED: Final = "{}"
"""Of the option part: each name in the one object of a JSON file is the key of a record."""
GUESSED: Final = "GUESSED"
"""Code of the notice on what was found out and may be otherwise."""


@dataclass(frozen=True)
class Guess:
    """What was found out of a file and is not as most files have it.

    Parameters
    ----------
    option, value : str
        A name in `OPTIONS`, and what it would have to say for the file to be read like this.
    why : str
        What shows it, in words.
    sure : {"sure", "likely", "perhaps"}
    """

    option: str
    value: str
    why: str
    sure: str = "likely"

    @property
    def notice(self) -> Notice:
        """One line for a person."""
        told = f"{OPTIONS[self.option].told(self.value, echo)}, as {self.why} ({self.sure})"
        return GUESSED, f"{told[:1].upper()}{told[1:]}; the option {self.option} says it otherwise."


def guessed(notices: Iterable[Notice]) -> dict[str, str]:
    """Return the options that were found out, each with what shows it.

    >>> guessed([Guess("encoding", "cp1252", "its letters show").notice, ("OTHER", "x")])
    {'encoding': 'A text file is in cp1252, as its letters show (likely).'}
    """
    pairs = (sentence.rpartition("; the option ") for code, sentence in notices if code == GUESSED)
    return {option.removesuffix(" says it otherwise."): f"{told}." for told, _, option in pairs}


@dataclass(frozen=True)
class Option:
    """What is said of an option.

    Parameters
    ----------
    words : str
        Of its value, in which ``{}`` stands for it, or ``{name}`` where it is a name in the file.
    asks : str
        What a command asks for.
    """

    words: str
    asks: str

    def told(self, value: str, name: Callable[[str], str] = "“{}”".format) -> str:
        """Return in words how a file is read; `name` quotes what is a name in the file.

        >>> OPTIONS["footer"].told("2")
        'lines at the end that are no records: 2'
        >>> OPTIONS["header"].told("none")
        'no row names the columns'
        >>> OPTIONS["part"].told("{}")
        'of the tables in a file that of its named objects is read'
        """
        words = self.words.replace("row {}", "no row") if value == NO_HEADER else self.words
        words = words.replace("file {name}", "file that of its named objects") if value == KEYED else words
        return words.format(_SHOWN.get(value, value), name=name(value))


_SHOWN: Final = {
    ",": "a comma",
    ";": "a semicolon",
    "\t": "a tab",
    "|": "a bar",
    "\\": "a backslash",
    "'": "an apostrophe",
}
OPTIONS: Final[dict[str, Option]] = {
    "encoding": Option("a text file is in {}", "of a text file, such as cp1252"),
    "delimiter": Option("{} stands between cells", "between the cells of a text file"),
    "sheet": Option("of a workbook the sheet {name} is read", "of a workbook"),
    "part": Option(
        "of the tables in a file {name} is read", "which table of several: a file of an archive, a list of JSON"
    ),
    "header": Option("row {} names the columns", "row that names the columns, such as 3, or 3-4 where two do; none"),
    "footer": Option("lines at the end that are no records: {}", "how many lines at the end are no records"),
    "quote": Option("{} stands around cells", "mark around cells of a text file"),
    "escape": Option("{} stands before a mark in a cell", "mark before a quotation mark in a cell, such as \\"),
    "short": Option("cells that a short row lacks are {}", "what stands for cells that a short row lacks: blank"),
    "unnamed": Option("the {} cell of each row has no name", "which cell of each row has no name: first or last"),
}


def told(options: object) -> Iterator[str]:
    r"""Return in words what a recipe or `ReadOptions` say of a file.

    >>> list(told(ReadOptions(sheet="May", escape="\\")))
    ['of a workbook the sheet “May” is read', 'a backslash stands before a mark in a cell']
    """
    said = ((name, getattr(options, name)) for name in NAMES)
    yield from (OPTIONS[name].told(value) for name, value in said if value)


def with_guesses(options: ReadOptions, guesses: Iterable[Guess]) -> ReadOptions:
    """Return options that say what was found out as well."""
    return ReadOptions(**asdict(options) | {one.option: one.value for one in guesses})
