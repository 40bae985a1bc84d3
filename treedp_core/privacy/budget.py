"""What a release spends on each level, in which currency, and the guarantee that follows.

Sensitivities are derived from the neighbouring relation, never typed, and every sum of budgets is compared exactly.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.noise import Law
from treedp_core.privacy.accounting import Accounting, composes, epsilon_of_levels
from treedp_core.privacy.conversions import RHO_HIGH, rho_to_epsilon, rho_to_epsilon_gaussian
from treedp_core.privacy.promise import Guarantee, Precision
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.words import bare, float_below, percent, setting_text

FloatArray = NDArray[np.float64]

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_SUM_DISPLAY: Final = Context(prec=12, rounding=ROUND_CEILING)


class Currency(enum.Enum):
    """What adds up over levels: epsilon (pure privacy) or rho (zero-concentrated privacy)."""

    EPSILON = "epsilon"
    RHO = "rho"


@dataclass(frozen=True)
class Budget:
    """What each level may spend, in its own currency.

    Parameters
    ----------
    currency : Currency
    per_level : (n_levels,)
        At least 0; 0 means the level is not measured, inf that it is published exactly. One level must be positive.

    Raises
    ------
    InputError
        EPS_RANGE or RHO_RANGE.

    >>> Budget(Currency.EPSILON, (0.5, 0.0, 0.5)).n_levels
    3
    """

    currency: Currency
    per_level: tuple[float, ...]

    def __post_init__(self) -> None:
        code, high = _LIMITS[self.currency]
        amounts = tuple(
            math.inf
            if a == math.inf
            else checks.number(f"the {self.currency.value} of level {level}", a, low=0, high=high, code=code)
            for level, a in enumerate(self.per_level)
        )
        if not any(a > 0 for a in amounts):
            raise InputError(code, f"Expected {self.currency.value} > 0 on at least one level, got none.")
        object.__setattr__(self, "per_level", amounts)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.per_level)


_LIMITS: Final = {Currency.EPSILON: ("EPS_RANGE", checks.EPSILON_HIGH), Currency.RHO: ("RHO_RANGE", RHO_HIGH)}


def exact_shares(texts_or_numbers: Iterable[str | float | Fraction]) -> list[Fraction]:
    """Shares of a budget as exact fractions; 0.1 is read as one tenth, not as the float next to it.

    Raises
    ------
    InputError
        BUDGET_SPLIT, when a share is not a decimal number of at least 0 or the shares sum to more than 1.

    >>> sum(exact_shares(["0.1", 0.2, "0.7"])) == 1
    True
    >>> exact_shares([0.1, 0.2, 0.7000001])
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected shares that sum to at most 1, got 1.0000001.
    """
    shares = [_exact_share(item) for item in texts_or_numbers]
    if sum(shares) > 1:
        total = _SUM_DISPLAY.divide(Decimal(sum(shares).numerator), Decimal(sum(shares).denominator)).normalize()
        shown = f"{total:f}" if total.adjusted() < _SUM_DISPLAY.prec else f"{total:e}"
        raise InputError("BUDGET_SPLIT", f"Expected shares that sum to at most 1, got {shown}.")
    return shares


def budget_from_shares(
    shares: Sequence[float | Fraction] | FloatArray,
    total: float,
    currency: Currency,
    unit: ProtectedUnit,
    spent: Fraction = Fraction(1),
) -> Budget:
    """Budget whose exact charge is at most `total`, divided over the levels in proportion to `shares`.

    Parameters
    ----------
    shares : (n_levels,)
        Relative weights of at least 0; 0 leaves a level unmeasured. A public root is published exactly instead.
    total : float
        Total epsilon or rho.
    currency : Currency
    unit : ProtectedUnit
    spent : Fraction
        Part of the total that is spent, at most 1.

    Raises
    ------
    InputError
        EPS_RANGE or RHO_RANGE for the total; BUDGET_SPLIT for the shares.

    >>> budget_from_shares([1, 1], 1.0, Currency.EPSILON, ProtectedUnit(NeighbouringRelation.REPLACE_ONE)).per_level
    (inf, 1.0)
    """
    code, high = _LIMITS[currency]
    low = checks.EPSILON_LOW if currency is Currency.EPSILON else 0.0
    checked = checks.number(currency.value, total, low=low, high=high, open_low=low == 0, code=code)
    amount = Fraction(checked) * min(spent, Fraction(1))
    weights = [_weight(level, share) for level, share in enumerate(shares)]
    if unit.total_is_public and weights:
        weights[0] = Fraction(0)
    cost = unit.exact_charge(weights)
    if cost == 0 and not (unit.total_is_public and len(weights) == 1):
        raise InputError("BUDGET_SPLIT", "Expected a share > 0 on at least one level that is not public, got none.")
    amounts = [float_below(weight * amount / cost) if weight else 0.0 for weight in weights]
    if unit.total_is_public:
        amounts[0] = math.inf
    return Budget(currency, tuple(amounts))


def guarantee(
    budget: Budget,
    unit: ProtectedUnit,
    delta: float,
    law_is_continuous_gaussian: bool,
    *,
    precision: Precision,
    spread: Spread = Spread.STACKED,
    claimed_by: str = "",
    laws: Sequence[Law | None] = (),
) -> Guarantee:
    """Guarantee of a release that spends `budget` on the levels of a tree.

    Parameters
    ----------
    budget : Budget
    unit : ProtectedUnit
    delta : float
        Wanted delta; ignored (0) when the budget is in epsilon, required when it is in rho.
    law_is_continuous_gaussian : bool
        Whether all noise is continuous Gaussian, whose conversion is tighter.
    precision : Precision
        Of the noise.
    spread : Spread
        What the noise takes the records of one unit to be: by default the worst, all on one leaf.
    claimed_by : str
        Who answers for noise that is not TreeDP's own.
    laws : sequence of Law or None
        The noise of the levels, where the promise is to be worked out from it (numerical accounting) and not from its
        cost; without effect on pure budgets, on normal noise, whose formula is exact, on records that lie on distinct
        leaves, and on laws whose losses are not known.

    Raises
    ------
    InputError
        DELTA_RANGE, DELTA_REQUIRED or EXACT_NOT_PRIVATE; KNOWN_LEVELS when more levels are known than there are.

    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> guarantee(Budget(Currency.EPSILON, (0.5, 0.5)), unit, 1e-6, False, precision=Precision.EXACT).epsilon
    1.0
    """
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and unit.known_levels > budget.n_levels:
        raise InputError(
            "KNOWN_LEVELS",
            f"Expected at most as many known levels as the tree has, {budget.n_levels}, got {unit.known_levels}.",
        )
    rests_on: Any = {"precision": precision, "spread": spread, "claimed_by": claimed_by}
    cost = unit.charge(budget.per_level)
    if budget.currency is Currency.EPSILON:
        checks.delta(delta)
        return Guarantee(unit, cost, 0.0, **rests_on)
    delta = checks.delta(delta, required=True)
    if cost == 0.0:
        return Guarantee(unit, 0.0, 0.0, 0.0, **rests_on)
    if law_is_continuous_gaussian:
        return Guarantee(unit, rho_to_epsilon_gaussian(cost, delta), delta, cost, **rests_on)
    bound, stacked = rho_to_epsilon(cost, delta), spread is Spread.STACKED or unit.contributions == 1
    if laws and stacked and composes(laws):
        found = min(bound, epsilon_of_levels(laws, unit, delta))
        return Guarantee(unit, found, delta, cost, accounting=Accounting.NUMERICAL, **rests_on)
    return Guarantee(unit, bound, delta, cost, accounting=Accounting.FORMULA, **rests_on)


def _weight(level: int, share: float | Fraction) -> Fraction:
    if not isinstance(share, Fraction):
        checks.number(f"the share of level {level}", share, low=0, code="BUDGET_SPLIT")
    if share < 0:
        raise InputError("BUDGET_SPLIT", f"Expected the share of level {level} >= 0, got {echo(share)}.")
    return Fraction(share)


def _exact_share(item: str | float | Fraction) -> Fraction:
    if isinstance(item, Fraction) and item >= 0:
        return item
    text = item.strip() if isinstance(item, str) else repr(checks.number("a share", item, low=0, code="BUDGET_SPLIT"))
    exact = Fraction(text) if len(text) <= checks.MAX_ECHO and _DECIMAL.fullmatch(text) else None
    if exact is None or exact < 0:
        raise InputError("BUDGET_SPLIT", f"Expected a share as a decimal number >= 0, such as 0.25, got {echo(text)}.")
    return exact


def refuse_small_part(what: str, part: float, epsilon: float) -> None:
    """Refuse a part of a total epsilon that is smaller than any total may be, with the code ``EPS_RANGE``.

    >>> refuse_small_part("A private partition", 5e-5, 1e-4)
    Traceback (most recent call last):
    treedp_core.checks.InputError: A private partition takes half of epsilon: expected epsilon >= 2e-4, got 1e-4.
    """
    if part >= checks.EPSILON_LOW:
        return
    share = "half" if 2.0 * part == epsilon else percent(part / epsilon)
    least, got = setting_text(float(bare(checks.EPSILON_LOW * epsilon / part, 3))), setting_text(epsilon)
    raise InputError("EPS_RANGE", f"{what} takes {share} of epsilon: expected epsilon >= {least}, got {got}.")
