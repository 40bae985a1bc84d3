"""Targets as a short text, level by level, so that a link can carry them: "0, every:1, 0, random:10|share:5/90@100"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from treedp_core import checks
from treedp_core.allocation.shares import PUBLISHED_SPLITS, values_of_text
from treedp_core.checks import InputError, echo
from treedp_core.registry import lookup
from treedp_core.studies.budget.strategies import CUSTOM, STRATEGIES
from treedp_core.studies.budget.targets.reliability import checked_confidence
from treedp_core.studies.budget.targets.target import Ask, Target
from treedp_core.tree.text import pieces
from treedp_core.words import bare, setting_text

KINDS: Final = {
    "every": Ask.EVERY_NODE, "random": Ask.AVERAGE_NODE, "share": Ask.SHARE, "rmse": Ask.RMSE, "rmsre": Ask.RMSRE,
}  # fmt: skip
WORDS: Final = {ask: word for word, ask in KINDS.items()}
_NUMBER: Final = r"[0-9.eE+-]+?"
_ONE: Final = re.compile(
    rf"(?:(?P<kind>[a-z]+):)?(?P<value>{_NUMBER})(?P<records>r)?(?:/(?P<part>{_NUMBER}))?(?:@(?P<among>{_NUMBER}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Wanted:
    """A target as it is typed.

    Parameters
    ----------
    ask : Ask
    value : float
        Records for RMSE and a margin, else per cent; 0 for no target.
    in_records : bool
        Whether the error of single counts is a margin.
    part : float
        Per cent of the counts, where a part of them is asked about.
    among : float
        Only counts of at least so many records in the prior; 0 for all.
    """

    ask: Ask
    value: float
    in_records: bool = False
    part: float = 95.0
    among: float = 0.0

    @property
    def text(self) -> str:
        """The same as text.

        >>> Wanted(Ask.SHARE, 5.0, in_records=True, part=90.0, among=100.0).text
        'share:5r/90@100'
        """
        if not self.value:
            return "0"
        part = f"/{bare(self.part)}" if self.ask is Ask.SHARE else ""
        among = f"@{bare(self.among)}" if self.among else ""
        return f"{WORDS[self.ask]}:{bare(self.value)}{'r' * self.in_records}{part}{among}"

    def target(self, level: int, confidence: float, at_least: float) -> Target:
        """Return the target on a level: small counts are judged as if they were `at_least`."""
        is_size = self.in_records or self.ask is Ask.RMSE
        return Target(
            level, self.ask, self.value if is_size else 0.01 * self.value, confidence, at_least, self.among,
            self.in_records, 0.01 * self.part if self.ask is Ask.SHARE else 1.0,
        )  # fmt: skip

    def is_like(self, other: Wanted) -> bool:
        """Whether it asks the same of the same counts, by another number."""
        return replace(self, value=1.0) == replace(other, value=1.0)


ByLevel = tuple[tuple[Wanted, ...], ...]


def wanted_of_text(text: str, usual: Ask = Ask.AVERAGE_NODE) -> ByLevel:
    """Return what is wanted of each level from the root down; a number without a kind is of the `usual` one.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> [[(one.ask.name, one.value) for one in level] for level in wanted_of_text("0, every:1|random:5")]
    [[], [('EVERY_NODE', 1.0), ('AVERAGE_NODE', 5.0)]]
    """
    levels = [[_one(part, usual) for part in piece.split("|")] for piece in pieces(text)]
    return tuple(tuple(one for one in level if one.value) for level in levels)


def _one(text: str, usual: Ask) -> Wanted:
    found = _ONE.fullmatch(text)
    if found is None or (found["kind"] or "every") not in KINDS:
        raise InputError("TARGET_RANGE", f"Expected targets such as 0, every:5, random:10, got {echo(text)}.")
    ask = KINDS[found["kind"]] if found["kind"] else usual
    value, part, among = (values_of_text(found[name] or default)[0]
                          for name, default in (("value", ""), ("part", "95"), ("among", "0")))  # fmt: skip
    if ask is not Ask.SHARE and found["part"]:
        raise InputError("TARGET_RANGE", f"Expected a part of the counts with share only, got {echo(text)}.")
    if ask in (Ask.RMSE, Ask.RMSRE) and found["records"]:
        raise InputError("TARGET_RANGE", f"Expected records for single counts only, got {echo(text)}.")
    if ask is Ask.SHARE:
        checks.number("the part of the counts in %", part, low=0, high=100, open_low=True, code="TARGET_RANGE")
    return Wanted(ask, value, bool(found["records"]), part, among)


def usual_text(n_levels: int) -> str:
    """Return the targets that stand until others are set: large counts within 1 %, smaller ones within 10 %.

    >>> usual_text(3), usual_text(7)
    ('0, random:10', '0, every:1, 0, random:10')
    """
    return "0, every:1, 0, random:10" if n_levels > 4 else "0, " * max(1, n_levels - 2) + "random:10"


def with_target(text: str, level: int, wanted: Wanted, usual: Ask = Ask.AVERAGE_NODE) -> str:
    """Return the text with one more target on a level; one that asks the same of the same counts gives way to it.

    A value of 0 takes that one away. Numbers without a kind are of the `usual` one.

    >>> with_target("0, every:1", 1, Wanted(Ask.RMSE, 2.5)), with_target("0, every:1", 1, Wanted(Ask.EVERY_NODE, 3.0))
    ('0, every:1|rmse:2.5', '0, every:3')
    """
    levels = [list(here) for here in wanted_of_text(text, usual)]
    levels += [[] for _ in range(level + 1 - len(levels))]
    levels[level] = [one for one in levels[level] if not one.is_like(wanted)] + [wanted] * bool(wanted.value)
    return _text(levels)


def without(text: str, numbers: Sequence[int], usual: Ask = Ask.AVERAGE_NODE) -> str:
    """Return the text without some of its targets, by their numbers from the root down.

    >>> without("0, every:1|random:5, rmse:3", [0])
    '0, random:5, rmse:3'
    """
    left, at = [], 0
    for here in wanted_of_text(text, usual):
        left.append([one for i, one in enumerate(here, at) if i not in numbers])
        at += len(here)
    return _text(left)


def scaled(text: str, factor: float, usual: Ask = Ask.AVERAGE_NODE) -> str:
    """Return the text with the error of every target multiplied, as decimals.

    >>> scaled("0, every:5|rmse:3, share:0.7r/90", 1.2), scaled("0, 10", 1.0)
    ('0, every:6|rmse:3.6, share:0.84r/90', '0, 10')
    """
    if factor == 1.0:
        return text
    levels = wanted_of_text(text, usual)
    return _text([[replace(one, value=times(one.value, factor)) for one in here] for here in levels])


def times(value: float, factor: float) -> float:
    """Return the product of two decimals as they are written.

    >>> 0.7 * 1.2, times(0.7, 1.2)
    (0.84, 0.84)
    """
    return float(Decimal(repr(value)) * Decimal(repr(factor)))


def _text(levels: Sequence[Sequence[Wanted]]) -> str:
    return ", ".join("|".join(one.text for one in here) or "0" for here in levels)


def targets_of_text(text: str, n_levels: int, usual: Ask, confidence: float, at_least: float) -> tuple[Target, ...]:
    """Return the targets of a text, level by level; what is beyond the last level is left out.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> [one.described for one in targets_of_text("0, every:1", 3, Ask.RMSE, 0.95, 10.0)]
    ['level 1: every count within 1 % with probability 0.95']
    """
    levels = wanted_of_text(text, usual)[:n_levels]
    return tuple(one.target(level, confidence, at_least) for level, here in enumerate(levels) for one in here)


# ---- where a split that pages take over came from: the targets or the strategy, and the epsilon it was made for


TARGETS: Final = "targets"


@dataclass(frozen=True)
class Source:
    """What found a split.

    Parameters
    ----------
    found_by : str
        "targets", "custom", or a name of a strategy or of a published split.
    epsilon : float
        The total that it was made for, what it was tuned on included.
    targets : str
        As `targets_of_text` reads them; "" for none.
    confidence, at_least : float
        Of the targets.
    """

    found_by: str
    epsilon: float
    targets: str = ""
    confidence: float = 0.95
    at_least: float = 10.0

    @property
    def text(self) -> str:
        """The same in a few words, for a link; `source_of_text` reads it back.

        >>> Source("targets", 0.6121, "0, rmse:5").text
        'targets; 0.6121; 0, rmse:5; 0.95; 10.0'
        """
        words = [self.found_by, repr(float(self.epsilon))]
        if self.targets:
            words += [self.targets, repr(float(self.confidence)), repr(float(self.at_least))]
        return "; ".join(words)

    def told(self, n_levels: int) -> str:
        """Return the same for the screen, on a tree of so many levels: no text of a link is in it.

        >>> Source("targets", 0.6121, "0, rmse:5").told(2)
        'the smallest ε for its targets, 0.6121 (level 1: RMSE at most 5)'
        >>> Source("greedy", 1.0).told(2)
        '“Greedy” at ε = 1'
        """
        if self.found_by == TARGETS:
            every = "; ".join(target.described for target in self.wanted(n_levels))
            return f"the smallest ε for its targets, {setting_text(self.epsilon)}" + (f" ({every})" if every else "")
        name = "your own shares" if self.found_by == CUSTOM else f"“{_label(self.found_by)}”"
        return f"{name} at ε = {setting_text(self.epsilon)}"

    def wanted(self, n_levels: int) -> tuple[Target, ...]:
        """Return the targets on a tree of so many levels."""
        if not self.targets:
            return ()
        return targets_of_text(self.targets, n_levels, Ask.AVERAGE_NODE, self.confidence, self.at_least)


def _label(name: str) -> str:
    return STRATEGIES[name].label if name in STRATEGIES else PUBLISHED_SPLITS[name].label


def source_of_text(text: str) -> Source:
    """Return what `Source.text` wrote.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN``, ``VALUE_RANGE``, ``EPS_RANGE``, ``TARGET_RANGE``.

    >>> source_of_text("targets; 0.6121; 0, rmse:5; 0.95; 10.0").targets
    '0, rmse:5'
    """
    found_by, *more = text.split("; ")
    if found_by not in PUBLISHED_SPLITS and found_by not in (TARGETS, CUSTOM):
        lookup(STRATEGIES, found_by, "strategy")
    if len(more) not in (1, 4):
        raise InputError("VALUE_RANGE", f"Expected where a split came from as this app writes it, got {echo(text)}.")
    epsilon, *of_targets = more
    numbers = [checks.number("a number of a split's source", _number(one), low=0) for one in (epsilon, *of_targets[1:])]
    if not of_targets:
        return Source(found_by, checks.epsilon(numbers[0]))
    made = Source(found_by, checks.epsilon(numbers[0]), of_targets[0], checked_confidence(numbers[1]), numbers[2])
    made.wanted(checks.MAX_LEVEL_COLUMNS)
    return made


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError("VALUE_RANGE", f"Expected a number, got {echo(text)}.") from error
