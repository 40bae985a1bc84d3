"""What numerical accounting is worth: less noise, and from how many levels on Gaussian noise is the narrower one."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from treedp_core.mechanisms.calibration import LAWS, level_law
from treedp_core.noise import DiscreteGaussian, Law
from treedp_core.plans.statement import NoiseLaw, Stated
from treedp_core.privacy import Accounting, ProtectedUnit, Spread, budget_from_shares
from treedp_core.privacy.accounting import largest_total
from treedp_core.privacy.conversions import epsilon_to_rho

MOST_LEVELS: Final = 64


def less_noise(plan: Stated) -> float:
    """Part of the noise that a plan's promise needs less of by numerical accounting than by the formula, 0 to 1.

    The same split of the budget is taken for both. 0 where numerical accounting covers no such noise.
    """
    spent = plan.tuned is not None and plan.tuned.spent > 0
    if (
        plan.matrix is not None
        or plan.law is not NoiseLaw.DISCRETE_GAUSSIAN
        or plan.spread is not Spread.STACKED
        or spent
        or not plan.charged
    ):
        return 0.0
    by_formula = epsilon_to_rho(plan.epsilon, plan.delta, False)

    def laws_of(rho: float) -> list[DiscreteGaussian | None]:
        wider = math.sqrt(plan.charged / rho)
        return [None if one.scale is None else DiscreteGaussian(one.scale * wider) for one in plan.levels]

    numerical = plan.accounting is Accounting.NUMERICAL
    total = plan.charged if numerical else largest_total(laws_of, plan.unit, plan.epsilon, plan.delta)
    return max(0.0, 1.0 - math.sqrt(by_formula / total))


@lru_cache(maxsize=256)
def gaussian_from(unit: ProtectedUnit, epsilon: float, delta: float) -> int | None:
    """Fewest levels, equally split, on which whole-number Gaussian noise is narrower than whole-number Laplace noise.

    Both by their standard deviation on the last level, the Gaussian one by numerical accounting; a level that is public
    is not counted. None where it is narrower on none of up to 64 levels.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> gaussian_from(unit, 1.0, 1e-6), gaussian_from(unit, 1.0, 1e-12)
    (9, 22)
    """
    low, high = 0, MOST_LEVELS
    if not _is_narrower(unit, epsilon, delta, high):
        return None
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_narrower(unit, epsilon, delta, middle) else (middle, high)
    return high


def _is_narrower(unit: ProtectedUnit, epsilon: float, delta: float, n: int) -> bool:
    shares = [1.0] * (n + int(unit.total_is_public))
    total = largest_total(lambda rho: _laws("discrete_gaussian", unit, shares, rho), unit, epsilon, delta)
    gaussian = _laws("discrete_gaussian", unit, shares, total)[-1]
    laplace = _laws("discrete_laplace", unit, shares, epsilon)[-1]
    return gaussian is not None and laplace is not None and gaussian.variance < laplace.variance


def _laws(law: str, unit: ProtectedUnit, shares: list[float], total: float) -> list[Law | None]:
    n = len(shares)
    amounts = budget_from_shares(shares, total, LAWS[law].currency, unit).per_level
    moved = zip(unit.l1_sensitivity(n).tolist(), unit.l2_sensitivity(n).tolist(), strict=True)
    return [None if math.isinf(a) else level_law(law, a, l1, l2) for a, (l1, l2) in zip(amounts, moved, strict=True)]
