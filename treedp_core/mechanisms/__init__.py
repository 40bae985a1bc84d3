"""Mechanisms: how noise is put on a tree. One line in the table for each; `plan` says what noise each level gets.

The mechanism of `mechanisms.thresholds` has no noise of a level to plan: it stands beside them in `RELEASES` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import LAWS, LevelLaw, level_law
from treedp_core.noise import Law
from treedp_core.privacy import Budget, Currency, Guarantee, Precision, ProtectedUnit, Provenance
from treedp_core.privacy.accounting import is_numerical
from treedp_core.privacy.promise import Release
from treedp_core.registry import NO_CARD, MethodCard, Own, Promise, Table, table
from treedp_core.tree import AnyArray, FloatArray, Tree

# Independent noise of one law on every node of a level, scaled to the level's budget and sensitivity.


@dataclass(frozen=True, eq=False)
class LevelNoise:
    """The noise planned for each level of a tree.

    Parameters
    ----------
    tree : Tree
    laws : tuple
        The law of each level; None for a level without noise: published exactly, or not measured at all.
    exact : tuple of bool
        Whether each level is published exactly (its budget is infinite, its sensitivity 0).
    """

    tree: Tree
    laws: tuple[Law | None, ...]
    exact: tuple[bool, ...]

    @cached_property
    def level_variance(self) -> FloatArray:
        """Noise variance of each level in records squared: 0 published exactly, inf not measured, (n_levels,)."""
        without = [0.0 if exact else np.inf for exact in self.exact]
        return np.array([w if law is None else law.variance for law, w in zip(self.laws, without, strict=True)])

    @cached_property
    def variance(self) -> FloatArray:
        """Noise variance of each node, (n_nodes,)."""
        return np.repeat(self.level_variance, self.tree.level_sizes)

    @property
    def integer(self) -> bool:
        """Whether every node gets a whole number (so int64 holds the draw)."""
        return all(exact or (law is not None and law.integer) for law, exact in zip(self.laws, self.exact, strict=True))

    @property
    def precision(self) -> Precision:
        """Whether all noise is drawn exactly, on the whole numbers."""
        exact = all(law is None or law.integer for law in self.laws)
        return Precision.EXACT if exact else Precision.IDEAL

    def draw(self, rng: np.random.Generator, trials: int | None = None) -> AnyArray:
        """Return noise (trials, n_nodes), or (n_nodes,) without trials; nan on levels not measured."""
        shape = () if trials is None else (trials,)
        noise = np.empty((*shape, self.tree.n_nodes), dtype=np.int64 if self.integer else np.float64)
        for level, (law, exact) in enumerate(zip(self.laws, self.exact, strict=True)):
            nodes = self.tree.level(level)
            if law is None:
                noise[..., nodes] = 0 if exact else np.nan
            else:
                noise[..., nodes] = law.sample(rng, (*shape, nodes.stop - nodes.start))
        return noise

    def release(
        self,
        counts: AnyArray,
        guarantee: Guarantee,
        rng: np.random.Generator,
        trials: int | None = None,
        provenance: Provenance = Provenance.SIMULATION,
    ) -> Release:
        """Return noisy counts of all nodes.

        Parameters
        ----------
        counts : (n_nodes,) int64
            True counts of records.
        guarantee : Guarantee
            Of the budget this noise was planned for.
        rng : numpy.random.Generator
        trials : int, optional
            How many independent releases, put in front; without it one.
        provenance : Provenance
            What `rng` is; anything but a secure source of bits makes simulations.
        """
        return Release(counts + self.draw(rng, trials), self.variance, guarantee, provenance, self.laws)


def level_noise(tree: Tree, budget: Budget, unit: ProtectedUnit, law: str) -> LevelNoise:
    """Return the noise of the named law on every level: scale = sensitivity / budget, rounded towards more noise.

    A level with budget 0 is not measured. A level with budget inf is published exactly, which is allowed only where
    its sensitivity is 0 (a public total).

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when the budget has not one entry for each level; ``EXACT_NOT_PRIVATE`` when a level that
        depends on the protected unit would be published exactly.

    Source: Dawson et al., Sec. 3 (discrete Laplace); Rameshwar et al., Sec. IV (Laplace); Boninsegna, InfTDA, and
    Ghazi et al., Cor. 2.7 (Gaussian).
    """
    n_levels = tree.n_levels
    if len(budget.per_level) != n_levels:
        raise InputError("BUDGET_SPLIT", f"Expected {n_levels} level budgets, got {len(budget.per_level)}.")
    sensitivities = zip(unit.l1_sensitivity(n_levels), unit.l2_sensitivity(n_levels), strict=True)
    laws: list[Law | None] = []
    for level, (amount, (l1, l2)) in enumerate(zip(budget.per_level, sensitivities, strict=True)):
        if math.isinf(amount) and l1 > 0:
            raise InputError("EXACT_NOT_PRIVATE", f"Level {level} depends on the protected unit; it cannot be exact.")
        without_noise = amount == 0 or math.isinf(amount)
        laws.append(None if without_noise else level_law(law, amount, float(l1), float(l2)))
    return LevelNoise(tree, tuple(laws), tuple(math.isinf(amount) for amount in budget.per_level))


# ---- what is to be known of each mechanism: assumption, formula, source, where it is best and where it loses


LAPLACE: Final = MethodCard(
    assumptions="One unit moves the counts of level ℓ by at most Δ₁ in all, and the levels share ε.",
    formula=r"p(z)=\frac{\varepsilon_\ell}{2\Delta_1}\,e^{-\varepsilon_\ell|z|/\Delta_1},\qquad"
    r"\operatorname{Var}Z=2\,(\Delta_1/\varepsilon_\ell)^2",
    source="Rameshwar et al., Theorem IV.1; Ghazi et al., Lemma 2.5.",
    strengths="Pure ε on a tree of few levels.",
    limitations="Many levels: its error grows with their number, Gaussian noise's with the root of it.",
)
DISCRETE_LAPLACE: Final = MethodCard(
    assumptions="Counts are whole; one unit moves those of level ℓ by at most Δ₁ in all, and the levels share ε.",
    formula=r"P(Z=k)=\tanh\tfrac a2\;e^{-a|k|},\qquad a=\varepsilon_\ell/\Delta_1,\qquad"
    r"\operatorname{Var}Z=\frac1{\cosh a-1}",
    source="Dawson et al., Definition 5 and Lemma 6; a is the inverse scale.",
    strengths="Pure ε, and a large one: whole counts are then often exact.",
    limitations="Many levels at a small ε, like Laplace noise.",
)
GAUSSIAN: Final = MethodCard(
    assumptions="One unit moves the counts of level ℓ by at most Δ₂ in Euclidean length; a δ above 0 is acceptable.",
    formula=r"Z\sim\mathcal N(0,\sigma_\ell^2),\qquad\sigma_\ell^2=\frac{\Delta_2^2}{2\rho_\ell},\qquad"
    r"\sum_\ell\rho_\ell=\rho(\varepsilon,\delta)",
    source="Ghazi et al., Lemma 2.6 and Corollary 2.7, with the exact σ of Balle and Wang (2018), Theorem 8.",
    strengths="Many levels, or units with many records: variances of levels add up, not their deviations.",
    limitations="A large ε or few levels: it pays for its δ.",
)
DISCRETE_GAUSSIAN: Final = MethodCard(
    assumptions="Counts are whole; one unit moves those of level ℓ by at most Δ₂; a δ above 0 is acceptable.",
    formula=r"P(Z=k)\propto e^{-k^2/2\sigma_\ell^2},\qquad\sigma_\ell^2=\frac{\Delta_2^2}{2\rho_\ell}",
    source="Canonne, Kamath and Steinke (2020), Theorem 4; Boninsegna, Algorithm 1.",
    strengths="Many levels where counts must stay whole and be drawn exactly.",
    limitations="A large ε or few levels; its conversion to ε is a little looser than the continuous law's.",
)


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
    card: MethodCard = NO_CARD

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
    law: LevelLaw, label: str, about: str, colour: str, *, whole: bool = False, card: MethodCard = NO_CARD
) -> Mechanism:
    """Return the mechanism that puts noise of one law on every level.

    `whole` says that the noise is whole numbers, `card` what else is to be known of it.
    """
    promises = Promise.UNBIASED | (Promise.INTEGER if whole else Promise.NOTHING)
    LAWS.setdefault(law)
    return Mechanism(law.name, label, about, law, _OfLevels(law), colour, promises, card)


MECHANISMS: Final[Table[Mechanism]] = table(
    of_levels(
        LAWS["laplace"], "Laplace", "Laplace noise on every level; pure differential privacy.", "green",
        card=LAPLACE,
    ),
    of_levels(
        LAWS["discrete_laplace"],
        "Discrete Laplace",
        "Whole-number Laplace (two-sided geometric) noise; what Dawson et al. use. Pure differential privacy.",
        "blue",
        whole=True,
        card=DISCRETE_LAPLACE,
    ),
    of_levels(
        LAWS["gaussian"], "Gaussian", "Gaussian noise on every level; needs delta > 0.", "pink", card=GAUSSIAN,
    ),
    of_levels(
        LAWS["discrete_gaussian"],
        "Discrete Gaussian",
        "Whole-number Gaussian noise, as in the 2020 US Census and InfTDA; needs delta > 0.",
        "orange",
        whole=True,
        card=DISCRETE_GAUSSIAN,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class ByRounds:
    """A release whose answers decide what is asked next: no level has noise, a variance or a share of the budget."""

    name: str
    label: str
    help: str
    colour: str
    needs_delta: bool = True
    two_accountings: bool = False
    continuous_gaussian: bool = False

    def is_composed(self, accounting: str) -> bool:
        """Whether its cost becomes epsilon numerically: never."""
        return False


THRESHOLDS: Final = ByRounds(
    "thresholds", "Thresholds",
    "Counts with multiplicative error, by the tuned plan of Ghazi et al., Theorem 4.1, at your α. Their error is "
    "simulated; they need delta > 0, split no budget over levels, and are not post-processed.",
    "violet",
)  # fmt: skip
RELEASES: Final[Table[Mechanism | ByRounds]] = Table(THRESHOLDS, derived=MECHANISMS.values, of=(MECHANISMS,))
"""All that can be drawn beside each other: the mechanisms, and the thresholds of multiplicative error."""


def refuse_rounds(mechanism: str) -> None:
    """Refuse thresholds where noise of levels is planned, split, stated or handed over.

    Raises
    ------
    InputError
        ``NO_LEVEL_NOISE``.
    """
    if mechanism == THRESHOLDS.name:
        raise InputError(
            "NO_LEVEL_NOISE",
            "Thresholds have no noise of levels to split or hand over to a library: their rounds of sparse vectors are "
            "run by TreeDP's core alone. Plan them with a public bound on the total (Release plan), or choose another "
            "mechanism.",
        )


__all__ = [
    "MECHANISMS", "RELEASES", "THRESHOLDS", "ByRounds", "LevelNoise", "Mechanism", "level_noise", "of_levels",
    "refuse_rounds",
]  # fmt: skip
