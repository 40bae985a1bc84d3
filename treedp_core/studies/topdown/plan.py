"""What a top-down release spends: noise and budget of every level, before any record is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms import LevelNoise
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import Law
from treedp_core.privacy import (
    Budget,
    Currency,
    Guarantee,
    NeighbouringRelation,
    Precision,
    ProtectedUnit,
    Spread,
    budget_from_shares,
    exact_shares,
    guarantee,
)
from treedp_core.privacy.spread import Capacities, capacities_of_domain, capacities_of_tree, level_sensitivities
from treedp_core.tree import FloatArray, Tree
from treedp_core.tree.leaf_table import sizes_checked


@dataclass(frozen=True)
class Plan:
    """A release made ready for a domain: what every run of it shares.

    Parameters
    ----------
    sizes : tuple of int
        Categories of each column, in the order of the levels; () for a tree that is no product of columns.
    levels : tuple of Capacities
        Nodes of levels 0, 1, ... by the leaves below them.
    unit : ProtectedUnit
    spread : Spread
        Whether the records of one unit may share a leaf.
    budget : Budget
        In rho, for levels 0, 1, ...; inf for a public total, 0 for a level of one node that then is public with it.
    laws : tuple
        Noise of each level; None for a level that is public and published exactly.
    guarantee : Guarantee
    """

    sizes: tuple[int, ...]
    levels: tuple[Capacities, ...]
    unit: ProtectedUnit
    spread: Spread
    budget: Budget
    laws: tuple[Law | None, ...]
    guarantee: Guarantee

    @property
    def n_levels(self) -> int:
        """Number of levels, the root's included."""
        return len(self.levels)

    @property
    def cells(self) -> tuple[int, ...]:
        """Possible nodes of each level, 1 for the root; exact however many."""
        return tuple(level.n_nodes for level in self.levels)

    @property
    def sigmas(self) -> FloatArray:
        """Sigma of each level's discrete Gaussian noise in records, 0 without noise, (n_levels,)."""
        return np.array([getattr(law, "sigma", 0.0) for law in self.laws])

    @property
    def usual_sigma(self) -> float:
        """Root mean square of sigma over the noisy levels, in records; 0 where there is none."""
        noisy = self.sigmas[self.sigmas > 0]
        return float(np.sqrt(np.mean(noisy**2))) if noisy.size else 0.0


def plan(
    domain: Sequence[int] | Tree,
    rho: float,
    *,
    delta: float = 1e-6,
    unit: ProtectedUnit | None = None,
    shares: Sequence[float | Fraction] | None = None,
    spread: Spread = Spread.STACKED,
    names: Sequence[str] | None = None,
    numerical: bool = False,
) -> Plan:
    """Return the noise and the guarantee of a top-down release (Boninsegna, Theorem 1: rho / d for each level).

    Parameters
    ----------
    domain : sequence of int, or Tree
        Categories of each column, in the order of the levels; or a tree, whose levels need be no columns.
    rho : float
        Total budget of zero-concentrated privacy.
    delta : float
        For the guarantee in (epsilon, delta).
    unit : ProtectedUnit, optional
        By default one record, replaced by another, as in the paper: the number of records is public. Where it is not,
        level 0 is measured too, one level more than in the paper.
    shares : (n_levels,) sequence of float or Fraction, optional
        Parts of rho, summing to at most 1; by default equal ones. What stands for a public level is not used: the root
        where the number of records is public, and a level of one node below it that holds them all.
    spread : Spread
        Whether the records of one unit may share a leaf.
    names : sequence of str, optional
        Of the columns, for messages.
    numerical : bool
        Whether the guarantee is that of the noise itself, by numerical accounting, and not of its cost.

    Raises
    ------
    InputError
        ``RHO_RANGE``, ``DELTA_REQUIRED``, ``DELTA_RANGE``, ``ONE_CATEGORY``, ``NO_LEVELS``, ``TOO_MANY_LEVELS``,
        ``BUDGET_SPLIT`` (also when a level has no share: all must be measured), ``CONTRIBUTIONS_SPREAD``.

    Examples
    --------
    >>> ready = plan((10, 10, 10), 0.5)
    >>> ready.sigmas.round(9).tolist(), ready.cells  # sigma^2 = d / rho
    ([0.0, 2.449489743, 2.449489743, 2.449489743], (1, 10, 100, 1000))
    """
    sizes, levels = _levels(domain, names)
    protected = unit or ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    public = [protected.total_is_public and level.holds_all_in_one for level in levels]
    budget = _budget(public, rho, protected, shares)
    l1, l2 = level_sensitivities(protected, levels, spread)
    laws = tuple(
        None if exact else level_law("discrete_gaussian", amount, float(a), float(b))
        for exact, amount, a, b in zip(public, budget.per_level, l1, l2, strict=True)
    )
    promise = guarantee(budget, protected, delta, False, precision=Precision.EXACT, spread=spread,
                        laws=laws if numerical else ())  # fmt: skip
    return Plan(sizes, levels, protected, spread, budget, laws, promise)


def noise_on_tree(plan: Plan, tree: Tree) -> LevelNoise:
    """Return a plan's noise on all nodes of its tree, survivors or not.

    Raises
    ------
    InputError
        ``PLAN_MISMATCH`` when the plan is for another tree: one whose levels have other nodes or leaves below them.

    >>> noise_on_tree(plan((2, 3), 1.0), Tree.from_branching_factors((2, 3))).level_variance.round(6).tolist()
    [0.0, 2.0, 2.0]
    """
    if capacities_of_tree(tree) != plan.levels:
        about = f"columns with {plan.sizes} categories" if plan.sizes else f"levels with {plan.cells} nodes"
        raise InputError("PLAN_MISMATCH", f"Expected the tree that was planned for, of {about}.")
    return LevelNoise(tree, plan.laws, tuple(law is None for law in plan.laws))


def known_levels(order: Sequence[int], known: Collection[int]) -> int:
    """Return how many levels of an order of columns are built from known columns, the root's included.

    An unknown column makes its own level and all levels below it unknown, whatever stands there.

    >>> known_levels((1, 0, 2), {0, 1}), known_levels((2, 0, 1), {0, 1})
    (3, 1)
    """
    return 1 + len(list(takewhile(known.__contains__, order)))


def _levels(
    domain: Sequence[int] | Tree, names: Sequence[str] | None
) -> tuple[tuple[int, ...], tuple[Capacities, ...]]:
    if not isinstance(domain, Tree):
        sizes = sizes_checked(domain, names)
        return sizes, capacities_of_domain(sizes)
    if domain.n_levels < 2:
        raise InputError("NO_LEVELS", "A top-down release needs at least one level below the root; choose other data.")
    return domain.branching_factors or (), capacities_of_tree(domain)


def _budget(
    public: Sequence[bool], rho: float, unit: ProtectedUnit, shares: Sequence[float | Fraction] | None
) -> Budget:
    given = exact_shares(shares) if shares is not None else [Fraction(1)] * len(public)
    if len(given) != len(public):
        raise InputError("BUDGET_SPLIT", f"Expected one share for each of the {len(public)} levels, got {len(given)}.")
    without = [level for level, share in enumerate(given) if share == 0 and not public[level]]
    if without:
        raise InputError("BUDGET_SPLIT", f"Top-down measures every level; give level {without[0]} a share above 0.")
    spent = sum(given, Fraction(0)) if shares is not None else Fraction(1)
    used = [Fraction(0) if exact else share for share, exact in zip(given, public, strict=True)]
    return budget_from_shares(used, rho, Currency.RHO, unit, spent)
