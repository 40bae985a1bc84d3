"""Where a split that pages take over came from: the targets or the strategy, and the epsilon it was made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treedp_core import checks
from treedp_core.allocation.published import PUBLISHED_SPLITS
from treedp_core.checks import InputError, echo
from treedp_core.registry import lookup
from treedp_core.studies.budget.strategies import CUSTOM, STRATEGIES
from treedp_core.studies.budget.targets.reliability import checked_confidence
from treedp_core.studies.budget.targets.target import Ask, Target
from treedp_core.studies.budget.targets.target_text import targets_of_text
from treedp_core.words import setting_text

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
