"""Ranges of bins that stood in tables: what a session keeps of these, each by the word that a setting has for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.notebook.validators import line
from treedp_core.records.strict_json import Json, members
from treedp_core.studies.cdf.matrices.workload import MAX_BINS, MAX_RANGES, OWN, Ranges, Terms, Wanted, terms_of

MAX_LISTS: Final = 8
"""Tables of ranges that a session keeps: a cell of the notebook may be of an earlier one."""
WORD: Final = re.compile("[0-9a-f]{8}")
"""What a setting calls one by: an address that has it tells nobody its ranges."""


@dataclass(frozen=True)
class Listed:
    """The ranges of a table, and the name of its file.

    Raises
    ------
    InputError
        ``STUDY_RANGES`` for a name that is none; ``RANGE_BOUNDS`` for what is no range of bins, or too many.
    """

    name: str
    ranges: Ranges

    def __post_init__(self) -> None:
        line("the name of a table of ranges", self.name, 256, "STUDY_RANGES")
        n_terms = sum(len(terms_of(one)) for one in self.ranges)
        checks.integer("the number of ranges", n_terms, low=1, high=MAX_RANGES, code="RANGE_BOUNDS")
        Wanted(MAX_BINS, OWN, self.ranges)


def checked(lists: Mapping[str, Listed]) -> dict[str, Listed]:
    """Return the tables of a session as they may be: few, and each by a word.

    Raises
    ------
    InputError
        ``STUDY_RANGES``.
    """
    if len(lists) > MAX_LISTS or not all(map(WORD.fullmatch, lists)):
        raise InputError("STUDY_RANGES", f"Expected at most {MAX_LISTS} tables of ranges, each by a word of its own.")
    return dict(lists)


def written(lists: Mapping[str, Listed]) -> list[Json]:
    """Return them as JSON.

    >>> written({"0123abcd": Listed("ages.csv", ((1, 10), ((2, 3, 0.5), (7, 7, 1.0))))})
    [{'word': '0123abcd', 'name': 'ages.csv', 'ranges': [[1, 10], [[2, 3, 0.5], [7, 7, 1.0]]]}]
    """
    return [{"word": word, "name": one.name, "ranges": [_plain(sums) for sums in one.ranges]}
            for word, one in lists.items()]  # fmt: skip


def read(said: list[Any]) -> dict[str, Listed]:
    """Return what JSON says they are.

    Raises
    ------
    InputError
        ``STUDY_RANGES``, ``RANGE_BOUNDS``, and those of `strict_json`.
    """
    found: dict[str, Listed] = {}
    for one in said:
        told = members(one, "A table of ranges", word=str, name=str, ranges=list)
        if told["word"] in found:
            raise InputError("STUDY_RANGES", f"The table of ranges {echo(told['word'])} is there twice.")
        found[told["word"]] = Listed(told["name"], tuple(map(_range, told["ranges"])))
    return checked(found)


def _plain(one: tuple[int, int] | Terms) -> Json:
    return [list(part) if isinstance(part, tuple) else part for part in one]


def _range(said: Json) -> tuple[int, int] | Terms:
    if _is(said, int, int):
        return tuple(said)  # type: ignore[arg-type]
    if isinstance(said, list) and said and all(_is(term, int, int, float) for term in said):
        return tuple(map(tuple, said))
    raise InputError("RANGE_BOUNDS", "A table of ranges holds what is no range of bins.")


def _is(said: Json, *kinds: type) -> bool:
    return isinstance(said, list) and tuple(map(type, said)) == kinds
