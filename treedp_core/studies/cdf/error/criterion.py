"""What makes a tree good: which noise, which queries, and whether least squares follows; and its exact value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import LAWS, level_law
from treedp_core.privacy import Budget, Currency, NeighbouringRelation, ProtectedUnit, budget_from_shares
from treedp_core.studies.cdf.error import least_squares
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload, digit_sums, level_weights, n_bins_checked, n_records_checked

# Rameshwar et al., Sec. III and Theorem IV.1: two mechanisms without a tree, and trees with Laplace noise, N
# public. Errors are total squared errors E_2 of the CDF: expected squared error of the cumulative counts divided by
# N, summed over the prefixes (the last is N). Where a unit contributes L records, N counts records: the factor L in
# the noise and the one in N cancel (their remark on user-level privacy).

REPLACE_ONE: Final = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)


def known_total(unit: ProtectedUnit) -> ProtectedUnit:
    """Return the unit if its total is public, as the formulas of the paper need; else refuse it."""
    if not unit.total_is_public:
        raise InputError("TOTAL_NOT_PUBLIC", "This formula needs a public number of records: protect by replacing one.")
    return unit


def range_queries_error(n_bins: int, epsilon: float, n_records: int, unit: ProtectedUnit = REPLACE_ONE) -> float:
    """Return E_2 of Laplace noise on every cumulative count: 2 (K - 1)^3 / (N epsilon)^2 (Lemma III.1).

    A replaced record moves K - 1 cumulative counts by 1, so each gets noise of scale (K - 1) / epsilon; a unit of L
    records moves them by L.

    >>> range_queries_error(256, 1.0, 1)
    33162750.0
    """
    bins, records, eps = _checked(n_bins, epsilon, n_records)
    scale = known_total(unit).contributions * (bins - 1) / eps
    return (bins - 1) * 2.0 * scale**2 / records**2


def histogram_error(n_bins: int, epsilon: float, n_records: int, unit: ProtectedUnit = REPLACE_ONE) -> float:
    """Return E_2 of Laplace noise on the first K - 1 bins: 4 K (K - 1) / (N epsilon)^2 (Lemma III.2).

    It is below `range_queries_error` from K = 4 on.

    >>> histogram_error(256, 1.0, 1)
    261120.0
    """
    bins, records, eps = _checked(n_bins, epsilon, n_records)
    scale = float(known_total(unit).l1_sensitivity(2)[1]) / eps
    return bins * (bins - 1) / 2 * 2.0 * scale**2 / records**2


def _checked(n_bins: int, epsilon: float, n_records: int) -> tuple[int, int, float]:
    return n_bins_checked(n_bins), n_records_checked(n_records), checks.epsilon(epsilon)


def total_squared_error(
    shape: Shape, epsilons: Sequence[float], n_records: int, unit: ProtectedUnit = REPLACE_ONE
) -> float:
    """Return E_2 of the tree: 8 sum_i S_i / (N epsilon_i)^2, S_i the digit sums (Theorem IV.1).

    With K = prod n_i that is 4 K / N^2 sum_i (n_i - 1) / epsilon_i^2; with padding only bins that exist count.

    Parameters
    ----------
    shape : Shape
    epsilons : (height,)
        Budget of each level below the root, each above 0.
    n_records : int
        N, public, at least 1.
    unit : ProtectedUnit
        Replacing one; its contributions L scale the noise.

    >>> total_squared_error(Shape.full((2, 3)), (1 / 3, 2 / 3), 1)
    324.0
    """
    budgets = _budgets_checked(epsilons, shape.height)
    records = n_records_checked(n_records)
    variances = 2.0 * (known_total(unit).l1_sensitivity(shape.height + 1)[1:] / budgets) ** 2
    return float(np.array(digit_sums(shape), dtype=float) @ variances) / records**2


def _budgets_checked(epsilons: Sequence[float], height: int) -> FloatArray:
    if len(epsilons) != height or not height:
        raise InputError("BUDGET_SPLIT", f"Expected one epsilon for each of the {height} levels, got {len(epsilons)}.")
    budgets = [
        checks.number(f"the epsilon of level {i}", e, low=0, open_low=True, code="BUDGET_SPLIT")
        for i, e in enumerate(epsilons, start=1)
    ]
    return np.array(budgets)


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
