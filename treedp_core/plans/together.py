"""What several releases of the same records promise together: their noise composed, or their promises added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.calibration import LAWS, level_law
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Laplace, Law
from treedp_core.plans.statement import NoiseLaw, Statement
from treedp_core.privacy import Accounting, ProtectedUnit, Spread, budget_from_shares
from treedp_core.privacy.accounting import epsilon_of_levels, largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.rounding import quotient_above
from treedp_core.words import float_above, plural, privacy_text, promise_text


@dataclass(frozen=True)
class Together:
    """The promise of several releases.

    Parameters
    ----------
    n : int
        Releases.
    epsilon, delta : float
        They are (epsilon, delta)-private together.
    added : float
        Epsilon by adding up every promise; delta is then the sum of theirs, which may be more.
    accounting : Accounting
        Numerical where composing their noise says less.
    """

    n: int
    epsilon: float
    delta: float
    added: float
    accounting: Accounting

    def sentence(self) -> str:
        """Return the promise in one sentence, rounded up.

        >>> Together(2, 1.41, 1e-6, 2.0, Accounting.NUMERICAL).sentence()
        '2 releases together: (ε = 1.41, δ = 1e-6)-differential privacy by numerical accounting; added up, ε = 2.'
        """
        pair = promise_text(self.epsilon, self.delta)
        way = "by numerical accounting" if self.accounting is Accounting.NUMERICAL else "by adding up"
        return (
            f"{plural(self.n, 'release')} together: ({pair})-differential privacy {way}; added up, "
            f"ε = {privacy_text(self.added)}."
        )


def together(plans: Sequence[Statement], delta: float | None = None) -> Together:
    """Return what plans promise together when all are released once.

    Parameters
    ----------
    plans : sequence of Statement
        At least one; all of the same unit, its records anywhere, and none tuned on a release that was paid for.
    delta : float, optional
        For all of them, at least 0; where it is less than their deltas sum to, they can be composed only. By default
        the largest of theirs, or their sum where they can only be added up.

    Raises
    ------
    InputError
        ``PLAN_UNITS`` for other units, or records on distinct leaves; ``PLAN_LAW`` where noise can be neither composed
        nor added up; ``DELTA_RANGE``.

    Notes
    -----
    The ledger of a study: one record moves every release, and their noises are independent.

    >>> from treedp_core.experiment import Experiment
    >>> from treedp_core.plans import ReleasePlan
    >>> from treedp_core.records.mock_data import generate
    >>> one = ReleasePlan.of(Experiment("discrete_gaussian", delta=1e-6), generate("zipf", 100, "3,3", 7))
    >>> both = together([one, one], 1e-6)
    >>> round(both.added, 2), 1.4 < both.epsilon < 1.5
    (2.0, True)
    """
    units = {(one.unit, one.spread) for one in plans}
    if len(units) != 1 or next(iter(units))[1] is not Spread.STACKED:
        raise InputError("PLAN_UNITS", "Expected releases that protect the same unit, its records on any leaves.")
    added = float_above(sum((Fraction(one.epsilon) for one in plans), Fraction(0)))
    deltas = sum((Fraction(one.delta) for one in plans), Fraction(0))
    is_usual = delta is None
    delta = checks.delta(max(one.delta for one in plans) if delta is None else delta)
    composed = _composed(plans, delta) if delta else None
    if is_usual and composed is None:
        delta = checks.delta(float_above(deltas))
    enough = deltas <= Fraction(delta)
    if composed is not None and (composed < added or not enough):
        return Together(len(plans), composed, delta, added, Accounting.NUMERICAL)
    if not enough:
        raise InputError("PLAN_LAW", "These releases can only be added up; give all their δ together.")
    return Together(len(plans), added, delta, added, Accounting.FORMULA)


def _composed(plans: Sequence[Statement], delta: float) -> float | None:
    """Epsilon of all noises at once; None where some cannot be composed."""
    if any(
        one.law in (NoiseLaw.GAUSSIAN, NoiseLaw.THRESHOLDS)
        or one.matrix is not None
        or (one.tuned is not None and one.tuned.spent)
        for one in plans
    ):
        return None
    laws = [[_law(one.law, level.scale) for level in one.levels] for one in plans]
    known = plans[0].unit.known_levels
    ordered = [law for one in laws for law in one[:known]] + [law for one in laws for law in one[known:]]
    unit = replace(plans[0].unit, known_levels=sum(min(known, len(one)) for one in laws))
    return epsilon_of_levels(ordered, unit, delta)


def _law(law: NoiseLaw, scale: float | None) -> Law | None:
    if scale is None:
        return None
    if law is NoiseLaw.DISCRETE_GAUSSIAN:
        return DiscreteGaussian(scale)
    return Laplace(scale) if law is NoiseLaw.LAPLACE else DiscreteLaplace(quotient_above(1, scale))


# ---- what numerical accounting is worth: less noise, and from how many levels on Gaussian noise is the narrower one


MOST_LEVELS: Final = 64


def less_noise(plan: Statement) -> float:
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
