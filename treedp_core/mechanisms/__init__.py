"""Mechanisms: how noise is put on a tree. One line in the table for each; `plan` says what noise each level gets.

The mechanism of `mechanisms.thresholds` has no noise of a level to plan, so it is a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from treedp_core.mechanisms import stated as of
from treedp_core.mechanisms.calibration import LAWS, LevelLaw
from treedp_core.mechanisms.level_noise import LevelNoise, level_noise
from treedp_core.privacy import Budget, Currency, ProtectedUnit
from treedp_core.privacy.accounting import is_numerical
from treedp_core.registry import UNSTATED, Own, Promise, Stated, Table, table
from treedp_core.tree import Tree


@dataclass(frozen=True)
class Mechanism:
    """A table entry: its law, the noise it plans for a tree, and `colour`, a word of the figures' palette."""

    name: str
    label: str
    help: str
    law: LevelLaw
    plan: Callable[[Tree, Budget, ProtectedUnit], LevelNoise]
    colour: str
    promises: Promise = Promise.UNBIASED
    stated: Stated = UNSTATED

    @property
    def currency(self) -> Currency:
        """What its level budgets add up in."""
        return self.law.currency

    @property
    def continuous_gaussian(self) -> bool:
        """Whether the exact conversion of Gaussian noise to (epsilon, delta) holds for it."""
        return self.law.normal

    @property
    def needs_delta(self) -> bool:
        """Whether it is private only with delta > 0."""
        return self.currency is Currency.RHO

    @property
    def two_accountings(self) -> bool:
        """Whether its cost becomes epsilon by a formula or numerically: normal noise has an exact formula."""
        return self.needs_delta and not self.continuous_gaussian

    def is_composed(self, accounting: str) -> bool:
        """Whether its cost becomes epsilon numerically under this way of accounting, see `privacy.Accounting`."""
        return is_numerical(accounting) and self.two_accountings


@dataclass(frozen=True)
class _OfLevels:
    """Plans noise of one law on every level; unlike a function within a function it can be sent to another process."""

    law: LevelLaw

    def __call__(self, tree: Tree, budget: Budget, unit: ProtectedUnit) -> LevelNoise:
        return level_noise(tree, budget, unit, Own(self.law))


def of_levels(
    law: LevelLaw, label: str, about: str, colour: str, *, whole: bool = False, stated: Stated = UNSTATED
) -> Mechanism:
    """Return the mechanism that puts noise of one law on every level.

    `whole` says that the noise is whole numbers, `stated` what else is to be known of it.
    """
    promises = Promise.UNBIASED | (Promise.INTEGER if whole else Promise.NOTHING)
    LAWS.setdefault(law)
    return Mechanism(law.name, label, about, law, _OfLevels(law), colour, promises, stated)


MECHANISMS: Final[Table[Mechanism]] = table(
    of_levels(
        LAWS["laplace"], "Laplace", "Laplace noise on every level; pure differential privacy.", "green",
        stated=of.LAPLACE,
    ),
    of_levels(
        LAWS["discrete_laplace"],
        "Discrete Laplace",
        "Whole-number Laplace (two-sided geometric) noise; what Dawson et al. use. Pure differential privacy.",
        "blue",
        whole=True,
        stated=of.DISCRETE_LAPLACE,
    ),
    of_levels(
        LAWS["gaussian"], "Gaussian", "Gaussian noise on every level; needs delta > 0.", "pink", stated=of.GAUSSIAN,
    ),
    of_levels(
        LAWS["discrete_gaussian"],
        "Discrete Gaussian",
        "Whole-number Gaussian noise, as in the 2020 US Census and InfTDA; needs delta > 0.",
        "orange",
        whole=True,
        stated=of.DISCRETE_GAUSSIAN,
    ),
)  # fmt: skip

__all__ = ["MECHANISMS", "LevelNoise", "Mechanism", "level_noise", "of_levels"]
