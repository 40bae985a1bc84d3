"""Rameshwar et al., Sec. IV and Appendix B, equation by equation: level-uniform trees with Laplace noise, N public.

E_2 is the expected squared error of the cumulative counts divided by N, summed over the prefixes shorter than K. Where
a unit contributes L records, N counts records: the factor L in the noise and the one in N cancel (their remark on
user-level privacy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import ProtectedUnit
from treedp_core.studies.cdf.error.simple import REPLACE_ONE, known_total
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, digit_sums, n_bins_checked, n_records_checked

_CHANGE: Final = float(REPLACE_ONE.l1_sensitivity(2)[1])
"""How far replacing one record moves the counts of a level, 2: noise of a level has variance 2 (2 / epsilon)^2."""


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


def best_epsilons(branching_factors: Sequence[float], epsilon: float) -> FloatArray:
    """Return the level budgets that minimise E_2 for given branching factors: ~ (n_i - 1)^(1/3) (Theorem IV.2, first).

    >>> best_epsilons((2, 9), 1.0).round(4).tolist()
    [0.3333, 0.6667]
    """
    roots = np.cbrt([checks.number("a branching factor", n, low=2, code="TREE_SHAPE") - 1.0 for n in branching_factors])
    return np.asarray(checks.epsilon(epsilon) * roots / roots.sum())


@dataclass(frozen=True, eq=False)
class RealFactors:
    """Branching factors that need not be whole; `below_two` lists the levels (from 1) where none exists.

    Theorem IV.2 does not ask for n_i >= 2, which a tree needs: its answer is then no tree.
    """

    branching_factors: FloatArray
    below_two: tuple[int, ...]


def best_factors(epsilons: Sequence[float], n_bins: int) -> RealFactors:
    """Return the real branching factors that minimise E_2 for given level budgets (Theorem IV.2, second).

    n_i = K^(1/h) epsilon_i^2 / (prod epsilon_j^2)^(1/h), h the height.

    >>> best_factors((0.6, 0.4), 256).branching_factors.round(6).tolist()
    [24.0, 10.666667]
    >>> best_factors((0.9, 0.1), 16).below_two
    (2,)
    """
    logs = 2.0 * np.log(_budgets_checked(epsilons, len(epsilons)))
    factors = np.exp(math.log(n_bins_checked(n_bins)) / logs.size + logs - logs.mean())
    return RealFactors(factors, tuple((np.flatnonzero(factors < 2.0 - 1e-12) + 1).tolist()))


def upper_bound_error(branching_factors: Sequence[float], epsilons: Sequence[float], n_records: int) -> float:
    """Return the bound 4 K / N^2 sum_i n_i / epsilon_i^2 on E_2, less than twice too large (before Lemma IV.2).

    >>> upper_bound_error((2, 3), (0.5, 0.5), 1)
    480.0
    """
    factors = np.array(branching_factors, dtype=float)
    budgets = _budgets_checked(epsilons, factors.size)
    return _CHANGE**2 * float(factors.prod() * (factors / budgets**2).sum()) / n_records_checked(n_records) ** 2


def least_upper_bound(n_bins: float, height: int, epsilon: float, n_records: int) -> float:
    """Return the smallest `upper_bound_error` of a height: 4 K^(1 + 1/h) h^3 / (N epsilon)^2 (Lemma IV.2).

    It is attained by equal branching factors K^(1/h) and equal budgets.

    >>> least_upper_bound(256, 2, 1.0, 1)
    131072.0
    """
    h = _height_checked(height)
    return _CHANGE**2 * float(n_bins ** (1.0 + 1.0 / h) * h**3) / _scaled(epsilon, n_records)


def optimal_error(n_bins: float, height: int, epsilon: float, n_records: int) -> float:
    """Return the smallest E_2 of a height over real n_i >= 3: 4 K h^3 (K^(1/h) - 1) / (N epsilon)^2 (Theorem IV.3).

    Equal branching factors and budgets attain it. The condition n_i >= 3 is needed: K = 9, h = 2 with factors
    (2, 4.5) and their best budgets has a smaller error than (3, 3).

    >>> optimal_error(256, 2, 1.0, 1)
    122880.0
    """
    h, bins = _height_checked(height), float(n_bins)
    return _CHANGE**2 * float(bins * h**3 * (bins ** (1.0 / h) - 1.0)) / _scaled(epsilon, n_records)


def refined_node_variance(branching: int, level: int, height: int, level_epsilon: float) -> float:
    """Return the variance of a node combined with its descendants (Proposition B.1, with the budget of one level).

    8 / epsilon_level^2 / sum_{j=0}^{h-i} beta^-j; what is printed there is the total budget.

    >>> refined_node_variance(2, 1, 2, 1.0)
    5.333333333333333
    """
    copies = sum(float(branching) ** -j for j in range(height - level + 1))
    return 2.0 * (_CHANGE / level_epsilon) ** 2 / copies


def refined_error(branching: int, height: int, epsilon: float, n_records: int) -> float:
    """Return E_2 of the average of the two views from the left and from the right (Lemma IV.4).

    2 K / N^2 (beta - 1) / epsilon_level^2 sum_{i=1}^{h} 1 / sum_{j=0}^{h-i} beta^-j, equal factors and budgets.

    >>> refined_error(2, 3, 1.0, 1)
    322.2857142857143
    """
    h, n = (
        _height_checked(height),
        checks.integer("the branching factor", branching, low=2, high=10**9, code="TREE_SHAPE"),
    )
    per_level = checks.epsilon(epsilon) / h
    nodes = sum(refined_node_variance(n, level, h, per_level) for level in range(1, h + 1))
    return float(n**h) * (n - 1) / 4.0 * nodes / n_records_checked(n_records) ** 2


def _budgets_checked(epsilons: Sequence[float], height: int) -> FloatArray:
    if len(epsilons) != height or not height:
        raise InputError("BUDGET_SPLIT", f"Expected one epsilon for each of the {height} levels, got {len(epsilons)}.")
    budgets = [
        checks.number(f"the epsilon of level {i}", e, low=0, open_low=True, code="BUDGET_SPLIT")
        for i, e in enumerate(epsilons, start=1)
    ]
    return np.array(budgets)


def _scaled(epsilon: float, n_records: int) -> float:
    return (n_records_checked(n_records) * checks.epsilon(epsilon)) ** 2


def _height_checked(height: int) -> int:
    return checks.integer("height", height, low=1, high=60, code="TREE_SHAPE")
