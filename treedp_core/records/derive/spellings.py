"""Labels -> one spelling of each, names of one's own, or a fixed list and the rest."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.records.derive.rule import CODE, Rule
from treedp_core.records.read.text import REST


def _spaces(label: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", label).split())


def _case(label: str) -> str:
    return _spaces(label).casefold()


WAYS: Final[Mapping[str, Callable[[str], str]]] = {"spaces": _spaces, "case": _case}
"""What makes two labels one: spaces and Unicode forms; capital letters too, then in small letters."""


def one_spelling(option: str) -> Rule:
    """Return what writes labels in one way: a key of `WAYS`.

    >>> one_spelling("spaces")(" New  York "), one_spelling("case")("KÖLN ")
    ('New York', 'köln')

    Raises
    ------
    InputError
        ``DERIVE``.
    """
    if option not in WAYS:
        raise InputError(CODE, f"Expected one of {', '.join(WAYS)}, got {echo(option)}.")
    return WAYS[option]


def ways(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the ways in which some labels become one.

    >>> ways(["Ulm", "ulm", "Bonn"]), ways(["Ulm", "Ulm "]), ways(["Ulm", "Bonn"])
    (('case',), ('spaces',), ())
    """
    found, before = list[str](), len(set(labels))
    for name, way in WAYS.items():
        n = len({way(label) for label in labels})
        if n < before:
            found.append(name)
            before = n
    return tuple(found)


def nothing(labels: Sequence[str]) -> tuple[str, ...]:
    """Return no suggestion: what such a rule is told is not in the column."""
    return ()


@lru_cache(maxsize=64)
def renamed(option: str) -> Rule:
    """Return what gives labels names of one's own, as a JSON object has them; a label that is not named keeps its own.

    >>> renamed('{"NRW": "Nordrhein-Westfalen"}')("NRW"), renamed('{"NRW": "x"}')("Bayern")
    ('Nordrhein-Westfalen', 'Bayern')

    Raises
    ------
    InputError
        ``DERIVE``.
    """
    given = _json(option)
    if not isinstance(given, dict) or not given or not all(isinstance(one, str) for one in given.values()):
        raise InputError(CODE, 'Expected names as {"old": "new", ...}.')
    return lambda label: given.get(label, label)


@lru_cache(maxsize=64)
def listed_only(option: str) -> Rule:
    """Return what keeps the labels of a JSON list, and calls all others "(rest)".

    >>> listed_only('["Ulm", "Bonn"]')("Ulm"), listed_only('["Ulm", "Bonn"]')("Kiel")
    ('Ulm', '(rest)')

    Raises
    ------
    InputError
        ``DERIVE``.
    """
    given = _json(option)
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise InputError(CODE, 'Expected the labels that stay as ["one", "another", ...].')
    return partial(_kept, frozenset(given))


def names_typed(text: str) -> str:
    """Return own names as the rule is told, from "old = new", or both with a tab between them, a line each.

    >>> names_typed("NRW = Nordrhein-Westfalen")
    '{"NRW": "Nordrhein-Westfalen"}'

    Raises
    ------
    InputError
        ``DERIVE``.
    """
    names = dict[str, str]()
    for nth, line in enumerate(text.splitlines(), 1):
        old, mark, new = line.partition("\t" if "\t" in line else "=")
        if mark and old.strip():
            names[old.strip()] = new.strip()
        elif line.strip():
            raise InputError(CODE, f"Expected old = new in line {nth}, got {echo(line)}.")
    return json.dumps(names, ensure_ascii=False)


def list_typed(text: str) -> str:
    """Return a list as the rule is told, from a label a line.

    >>> list_typed("Ulm")
    '["Ulm"]'
    """
    return json.dumps([line.strip() for line in text.splitlines() if line.strip()], ensure_ascii=False)


def _kept(some: frozenset[str], label: str) -> str:
    return label if label in some else REST


def _json(option: str) -> object:
    try:
        return json.loads(option)
    except ValueError:
        raise InputError(CODE, f"Expected JSON, got {echo(option)}.") from None
