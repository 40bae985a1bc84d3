"""What makes a tree good: which noise, which queries, and whether least squares follows; and its exact value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from treedp_core import checks
from treedp_core.mechanisms.calibration import LAWS, level_law
from treedp_core.privacy import Budget, Currency, ProtectedUnit, budget_from_shares
from treedp_core.studies.cdf.error import least_squares
from treedp_core.studies.cdf.error.simple import REPLACE_ONE
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload, level_weights


@dataclass(frozen=True)
class Criterion:
    """The mean variance of a workload's queries, in records squared.

    Parameters
    ----------
    law : str
        ``laplace``, ``discrete_laplace`` (budgets in epsilon), ``gaussian`` or ``discrete_gaussian`` (in rho). The
        discrete laws enter with their exact variance.
    workload : Workload
    least_squares : bool
        Whether the best linear unbiased estimates follow; with a public total they use it.
    unit : ProtectedUnit
        Who is protected; every sensitivity follows from it.

    Examples
    --------
    >>> shape = Shape.full((16, 16))
    >>> plain = Criterion()
    >>> plain.mean_variance(shape, plain.budget(shape, (0, 1, 1), 1.0))
    480.0
    >>> best = Criterion(least_squares=True)
    >>> best.mean_variance(shape, best.budget(shape, (0, 1, 1), 1.0))
    160.3125
    """

    law: str = "laplace"
    workload: Workload = Workload.CDF
    least_squares: bool = False
    unit: ProtectedUnit = REPLACE_ONE

    def __post_init__(self) -> None:
        checks.one_of("law", self.law, LAWS)

    @property
    def currency(self) -> Currency:
        """What level budgets add up in."""
        return LAWS[self.law].currency

    def equal_shares(self, shape: Shape) -> FloatArray:
        """Return the same share for every measured level, (n_levels,); a public root is not measured."""
        shares = np.ones(shape.height + 1)
        shares[0] = 0.0 if self.unit.total_is_public else 1.0
        return np.asarray(shares / shares.sum())

    def equal_parts(self, height: int, *, root: bool = True) -> float:
        """Return into how many parts equal shares cut the total; each measured level gets one, the root if wanted.

        Parts are levels, but for `REPLACE_UNKNOWN`, where a change of the unknown columns is charged twice per level.

        >>> Criterion().equal_parts(5)
        5.0
        """
        return _equal_parts(self.unit, height + 1, root)

    def budget(self, shape: Shape, shares: Sequence[float] | FloatArray, total: float) -> Budget:
        """Return the level budgets in proportion to `shares` (n_levels,) that charge at most `total`.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` when there is not one share for each level, ``EPS_RANGE`` or ``RHO_RANGE`` for the total.
        """
        if len(shares) != shape.height + 1:
            raise checks.InputError(
                "BUDGET_SPLIT", f"Expected one share for each of the {shape.height + 1} levels, got {len(shares)}."
            )
        return budget_from_shares(shares, total, self.currency, self.unit)

    def level_variances(self, budget: Budget) -> FloatArray:
        """Return the noise variance of each level, (n_levels,): 0 published exactly, inf not measured."""
        l1, l2 = (f(budget.n_levels).tolist() for f in (self.unit.l1_sensitivity, self.unit.l2_sensitivity))
        variances = [
            0.0 if amount == np.inf else _variance(self.law, amount, a, b)
            for amount, a, b in zip(budget.per_level, l1, l2, strict=True)
        ]
        return np.array(variances)

    def mean_variance(self, shape: Shape, budget: Budget) -> float:
        """Return the criterion's exact value, inf where the measured levels do not determine every query."""
        return self.of_variances(shape, self.level_variances(budget))

    def at_equal_shares(self, shape: Shape) -> float:
        """Return the criterion's value at total budget 1, the same for every level."""
        return self.mean_variance(shape, self.budget(shape, self.equal_shares(shape), 1.0))

    def of_variances(self, shape: Shape, level_variance: FloatArray) -> float:
        """Return the criterion's exact value from the noise variance of each level, (n_levels,)."""
        if self.least_squares:
            return least_squares.mean_variance(shape, level_variance, self.workload)
        weights = level_weights(shape, self.workload)
        used = weights > 0
        return float(weights[used] @ level_variance[used])

    def variance_of_one(self) -> float:
        """Return the variance of a level below the root that spends 1 (epsilon or rho), of the continuous law."""
        if self.currency is Currency.EPSILON:
            return 2.0 * float(self.unit.l1_sensitivity(2)[1]) ** 2
        return float(self.unit.l2_sensitivity(2)[1]) ** 2 / 2.0


@lru_cache(maxsize=4096)
def _equal_parts(unit: ProtectedUnit, n_levels: int, root: bool) -> float:
    return float(unit.exact_charge([float(root)] + [1.0] * (n_levels - 1)))


def _variance(law: str, amount: float, l1: float, l2: float) -> float:
    noise = level_law(law, amount, l1, l2) if amount else None
    return np.inf if noise is None else noise.variance
