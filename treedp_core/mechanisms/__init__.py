"""Mechanisms: how noise is put on a tree. One line in the table for each; `plan` says what noise each level gets.

The mechanism of `mechanisms.thresholds` has no noise of a level to plan, so it is a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from treedp_core.mechanisms.level_noise import LevelNoise, level_noise
from treedp_core.privacy import Budget, Currency, ProtectedUnit
from treedp_core.registry import Promise, table
from treedp_core.tree import Tree


@dataclass(frozen=True)
class Mechanism:
    """A table entry: its law, the currency its level budgets add up in, and the noise it plans for a tree.

    `continuous_gaussian` tells the accountant that the exact Gaussian conversion to (epsilon, delta) may be used.
    """

    name: str
    label: str
    help: str
    currency: Currency
    plan: Callable[[Tree, Budget, ProtectedUnit], LevelNoise]
    continuous_gaussian: bool = False
    promises: Promise = Promise.UNBIASED


def _level(law: str, label: str, currency: Currency, about: str, promises: Promise = Promise.UNBIASED) -> Mechanism:
    def plan(tree: Tree, budget: Budget, unit: ProtectedUnit) -> LevelNoise:
        return level_noise(tree, budget, unit, law)

    return Mechanism(law, label, about, currency, plan, law == "gaussian", promises)


MECHANISMS: Final[Mapping[str, Mechanism]] = table(
    _level("laplace", "Laplace", Currency.EPSILON, "Laplace noise on every level; pure differential privacy."),
    _level(
        "discrete_laplace",
        "Discrete Laplace",
        Currency.EPSILON,
        "Whole-number Laplace (two-sided geometric) noise; what Dawson et al. use. Pure differential privacy.",
        Promise.UNBIASED | Promise.INTEGER,
    ),
    _level("gaussian", "Gaussian", Currency.RHO, "Gaussian noise on every level; needs delta > 0."),
    _level(
        "discrete_gaussian",
        "Discrete Gaussian",
        Currency.RHO,
        "Whole-number Gaussian noise, as in the 2020 US Census and InfTDA; needs delta > 0.",
        Promise.UNBIASED | Promise.INTEGER,
    ),
)

__all__ = ["MECHANISMS", "LevelNoise", "Mechanism", "level_noise"]
