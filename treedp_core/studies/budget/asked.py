"""Targets as a short text, one for each level, so that a link can carry them: "0, every:1, 0, random:10"."""

from __future__ import annotations

from typing import Final

from treedp_core.allocation.shares import values_of_text
from treedp_core.checks import InputError, echo
from treedp_core.studies.budget.targets import Ask, Target
from treedp_core.tree.text import pieces

KINDS: Final = {"every": Ask.EVERY_NODE, "random": Ask.AVERAGE_NODE, "rmse": Ask.RMSE, "rmsre": Ask.RMSRE}
WORDS: Final = {ask: word for word, ask in KINDS.items()}

Wanted = tuple[Ask, float]
"""A kind, and its number as it is typed: records for RMSE, else per cent; 0 for no target."""


def wanted_of_text(text: str, usual: Ask = Ask.AVERAGE_NODE) -> tuple[Wanted, ...]:
    """Return what is wanted of each level from the root down; a number without a kind is of the `usual` one.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> [(ask.name, value) for ask, value in wanted_of_text("0, every:1")]
    [('AVERAGE_NODE', 0.0), ('EVERY_NODE', 1.0)]
    """
    found = []
    for piece in pieces(text):
        kind, colon, number = piece.rpartition(":")
        if colon and kind not in KINDS:
            raise InputError("TARGET_RANGE", f"Expected targets such as 0, every:5, random:10, got {echo(piece)}.")
        found.append((KINDS.get(kind, usual), values_of_text(number)[0] if number else 0.0))
    return tuple(found)


def usual_text(n_levels: int) -> str:
    """Return the targets that stand until others are set: large counts within 1 %, smaller ones within 10 %.

    >>> usual_text(3), usual_text(7)
    ('0, random:10', '0, every:1, 0, random:10')
    """
    return "0, every:1, 0, random:10" if n_levels > 4 else "0, " * max(1, n_levels - 2) + "random:10"


def with_target(text: str, level: int, ask: Ask, value: float, usual: Ask = Ask.AVERAGE_NODE) -> str:
    """Return the text with another target for a level; 0 takes it away. Numbers without a kind are of the `usual` one.

    >>> with_target("0, every:1", 3, Ask.RMSE, 2.5)
    '0, every:1, 0, rmse:2.5'
    """
    every = list(wanted_of_text(text, usual))
    every += [(ask, 0.0)] * (level + 1 - len(every))
    every[level] = (ask, value)
    return ", ".join(f"{WORDS[one]}:{number:.12g}" if number else "0" for one, number in every)


def targets_of_text(text: str, n_levels: int, usual: Ask, confidence: float, at_least: float) -> tuple[Target, ...]:
    """Return the targets of a text, level by level; what is beyond the last level is left out.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> [one.described for one in targets_of_text("0, every:1", 3, Ask.RMSE, 0.95, 10.0)]
    ['level 1: every count within 1 % with probability 0.95']
    """
    wanted = wanted_of_text(text, usual)[:n_levels]
    return tuple(
        Target(level, ask, value if ask is Ask.RMSE else 0.01 * value, confidence, at_least)
        for level, (ask, value) in enumerate(wanted)
        if value > 0
    )
