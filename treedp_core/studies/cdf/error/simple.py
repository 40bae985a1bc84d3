"""Rameshwar et al., Sec. III and Theorem IV.1: two mechanisms without a tree, and trees with Laplace noise, N public.

Errors are total squared errors E_2 of the CDF: expected squared error of the cumulative counts divided by N, summed
over the prefixes (the last is N). Where a unit contributes L records, N counts records: the factor L in the noise and
the one in N cancel (their remark on user-level privacy).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, digit_sums, n_bins_checked, n_records_checked

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
