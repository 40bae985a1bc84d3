"""The two mechanisms without a tree (Rameshwar et al., Sec. III), and budgets that differ between bins.

Errors are total squared errors E_2 of the CDF: expected squared error of the cumulative counts divided by N, summed
over the prefixes (the last is N, which is public).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import n_bins_checked, n_records_checked

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


def unequal_histogram(n_bins: int, epsilon: float, n_records: int) -> tuple[float, FloatArray]:
    """Return the smallest E_2 of the histogram with a budget for each of the first K - 1 bins; and those, (K - 1,).

    Only two bins change when a record is replaced, so max over pairs of epsilon_i + epsilon_j must be at most epsilon
    (for a single measured bin epsilon_1). Equal budgets epsilon / 2 are best for K >= 4, as Sec. IV says; not for
    K = 2, where one bin is measured and takes all, nor for K = 3. Bin i stands in K - i prefixes.

    >>> error, budgets = unequal_histogram(3, 1.0, 1)
    >>> round(error, 3), budgets.round(3).tolist()
    (23.084, [0.558, 0.442])
    """
    bins, records, eps = _checked(n_bins, epsilon, n_records)
    uses = np.arange(bins - 1, 0, -1.0)
    roots = np.cbrt(uses)
    budgets = eps * roots / roots.sum() if bins <= 3 else np.full(bins - 1, eps / 2)
    return float((2.0 * uses / budgets**2).sum() / records**2), budgets


def _checked(n_bins: int, epsilon: float, n_records: int) -> tuple[int, int, float]:
    return n_bins_checked(n_bins), n_records_checked(n_records), checks.epsilon(epsilon)
