"""Independent noise of one law on every node of a level, scaled to the level's budget and sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import Law
from treedp_core.privacy import Budget, Guarantee, Precision, ProtectedUnit, Provenance
from treedp_core.privacy.promise import Release
from treedp_core.tree import AnyArray, FloatArray, Tree


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
