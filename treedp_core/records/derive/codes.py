"""Codes -> their first characters: regions of a postcode, chapters of a classification."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.records.derive.rule import CODE, Rule
from treedp_core.records.derive.times import parts_in

_SEEN: Final = 2_000
_LONGEST: Final = 12
_PUNCTUATION: Final = " .-/"
_LETTERED: Final = re.compile(r"[A-Z][A-Z0-9.-]*", re.ASCII)
_BAND: Final = re.compile(r"(0|[1-9]\d*)-([1-9]\d*)", re.ASCII)


def beginning(option: str) -> Rule:
    """Return what cuts a code: its first so many characters, spaces and marks before the last of them included.

    >>> beginning("2")("06075"), beginning("3")("J45.9"), beginning("5")("J45.9"), beginning("4")("0607")
    ('06', 'J45', 'J45.9', '0607')

    Raises
    ------
    InputError
        ``DERIVE``.
    """
    if not option.isascii() or not option.isdecimal() or not 1 <= int(option[:4]) <= 100:
        raise InputError(CODE, f"Expected how many characters of a code, 1 to 100, got {echo(option)}.")
    return partial(_cut, int(option))


def _cut(length: int, label: str) -> str:
    if len(label) < length:
        raise ValueError(f"a code of at least {length} characters")
    return label[:length].rstrip(_PUNCTUATION)


def named(option: str, column: str) -> str:
    """Return the name of a level: ``first 2 of zip``."""
    return f"first {option} of {column}"


def lengths(labels: Sequence[str]) -> tuple[str, ...]:
    """Return how many first characters make groups worth a level: fewer than before, more than one, never all.

    >>> lengths(["06075", "06001", "36061"]), lengths(["a", "b"]), lengths(["north", "south by east"])
    (('1',), (), ())
    >>> lengths(["15-19", "10-14", "25-29"]), lengths(["01/02/2023", "2023-07-08", "02/02/2023"])  # bands, mixed dates
    ((), ())
    >>> lengths(["01.11.12", "01.13.20", "10.11.20"])  # products
    ('1',)
    >>> (
    ...     lengths(["I21", "I21.4", "E10", "E11.65"]),
    ...     lengths(["DE", "DE1", "DE11", "FR", "FR1"]),
    ...     lengths(["5", "17", "1204"]),
    ... )
    (('1', '3'), ('1',), ())
    """
    some = [label for label in labels if label.strip()][:_SEEN]
    sizes = {len(label) for label in some}
    if len(some) < 3 or not _are_codes(some, sizes):
        return ()
    if all(map(_is_band, some)) or all(parts_in([label]) for label in some):
        return ()
    found, before = list[str](), 1
    for length in range(1, min(min(sizes) + (len(sizes) > 1), _LONGEST + 1)):
        groups = len({label[:length] for label in some})
        if before < groups < len(set(some)):
            found.append(str(length))
            before = groups
    return tuple(found)


def usual(lengths: Sequence[str]) -> list[list[str]]:
    """Return the cuts that classifications have most often, at 2 and 3, or else the first two.

    >>> usual(("1", "2", "3", "4")), usual(("1", "4"))
    ([['2', '3']], [['1', '4']])
    """
    return [[one for one in lengths if one in ("2", "3")] or list(lengths[:2])]


def _are_codes(labels: Sequence[str], sizes: set[int]) -> bool:
    """Whether labels are codes: of one length, or of several where each begins with a letter, and most have digits."""
    if len(sizes) == 1:
        return not _are_numbers(labels) and all(map(_is_code, labels))
    plain = [label for label in labels if _LETTERED.fullmatch(label)]
    return len(plain) == len(labels) < 2 * sum(map(_is_code, labels)) and min(sizes) > 1


def _are_numbers(labels: Sequence[str]) -> bool:
    """Whether they are small numbers rather than codes: none of three digits or less begins with 0."""
    return all(label.isdecimal() and len(label) <= 3 and not label.startswith("0") for label in labels)


def _is_band(label: str) -> bool:
    """Whether a label reads as a band of numbers, such as 10-14, rather than as a code of two parts."""
    ends = _BAND.fullmatch(label)
    return ends is not None and len(ends[1]) <= len(ends[2]) <= 9 and int(ends[1]) < int(ends[2])


def _is_code(label: str) -> bool:
    plain = "".join(one for one in label if one not in _PUNCTUATION)
    return plain.isalnum() and any(one.isdecimal() for one in plain) and " " not in label.strip()
