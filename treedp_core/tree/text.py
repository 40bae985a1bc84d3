"""Numbers as people type them: "2^20" bins, "10^3, 4" children, "0.2, 0.8" of a budget; and trees in a few signs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.tree.tree import branching_factors_checked
from treedp_core.words import powers, whole

MAX_TEXT: Final = 200
MAX_FACTORS: Final = 1000
_SPACE: Final = re.compile(r"[\s,_\u202f]")
_WHOLE: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_POWER: Final = re.compile(r"([0-9]{1,18})(?:\^|\*\*)([0-9]{1,3})", re.ASCII)


def pieces(text: str) -> list[str]:
    """Return the entries of a list typed with commas, semicolons or spaces.

    >>> pieces("0.2, 0.3;0.5  1")
    ['0.2', '0.3', '0.5', '1']
    """
    return text.replace(",", " ").replace(";", " ").split()


def whole_from_text(text: str, what: str, low: int, high: int, code: str) -> int:
    """Return one whole number written in digits, perhaps grouped, or as a power.

    Parameters
    ----------
    what : str
        What it is a number of.
    low, high : int
        Least and largest number allowed.
    code : str
        Code of the refusal.

    Raises
    ------
    InputError
        `code`.

    >>> [whole_from_text(text, "bins", 2, 10**15, "TREE_SHAPE") for text in ("2^20", "1 000 000", " 997 ")]
    [1048576, 1000000, 997]
    """
    plain = _SPACE.sub("", text) if len(text) <= MAX_TEXT else ""
    if power := _POWER.fullmatch(plain):
        base, exponent = int(power[1]), int(power[2])
        number = base**exponent if exponent * math.log2(max(base, 1)) < 64 else high + 1
    elif _WHOLE.fullmatch(plain):
        number = int(plain)
    else:
        raise InputError(code, f"Expected a number of {what} such as 997 or 2^20, got {echo(text)}.")
    if not low <= number <= high:
        raise InputError(code, f"Expected from {low} to {whole(high)} {what}, got {echo(text)}.")
    return number


def factors_from_text(text: str, low: int = 1) -> tuple[int, ...]:
    """Return a list of whole numbers; a power stands for a run of equal ones.

    Parameters
    ----------
    low : int
        The least number allowed.

    Raises
    ------
    InputError
        ``TREE_SHAPE``.

    >>> factors_from_text("10^3, 4"), factors_from_text("2,2")
    ((10, 10, 10, 4), (2, 2))
    """
    found: list[int] = []
    entries = re.split("[,;]", text) if len(text) <= MAX_TEXT else []
    for piece in (piece for entry in entries for piece in entry.split() or [""]):
        base, hat, times = piece.partition("^")
        runs = int(times) if _WHOLE.fullmatch(times) and len(times) <= 4 else 0 if hat else 1
        if not _WHOLE.fullmatch(base) or int(base) < low or not runs or len(found) + runs > MAX_FACTORS:
            found.clear()
            break
        found += [int(base)] * runs
    if not found:
        raise InputError(
            "TREE_SHAPE", f"Expected whole numbers >= {low} with commas, such as 16,16,16 or 2^12, got {echo(text)}."
        )
    return tuple(found)


def branching_factors_from_text(text: str) -> tuple[int, ...]:
    """Return branching factors, each at least 2; their tree is admitted by size.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for anything but whole numbers of at least 2, ``TOO_MANY_NODES`` for a tree too large.

    Examples
    --------
    >>> branching_factors_from_text("16, 16,16"), branching_factors_from_text("2^3")
    ((16, 16, 16), (2, 2, 2))
    >>> branching_factors_from_text("16,x")
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected whole numbers >= 2 with commas, such as 16,16,16 or 2^12, got '16,x'.
    """
    return branching_factors_checked(factors_from_text(text, low=2))


def product_text(factors: Sequence[int]) -> str:
    """Return branching factors from the root down, runs of equal ones as powers.

    >>> product_text((8, 16, 16)), product_text((997,))
    ('8 · 16²', '997')
    """
    return powers(factors, " · ") if factors else ""
