"""From what a level may spend to the noise law that spends it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.privacy import Currency
from treedp_core.rounding import quotient_above, quotient_below, sqrt_above

LAW_CURRENCIES: Final = {
    "laplace": Currency.EPSILON,
    "discrete_laplace": Currency.EPSILON,
    "gaussian": Currency.RHO,
    "discrete_gaussian": Currency.RHO,
}
"""What each law's amounts are in."""


def level_law(law_name: str, amount: float, sensitivity_l1: float, sensitivity_l2: float) -> Law | None:
    """Noise law of a level that spends `amount`, rounded towards more noise; None for a level that is not measured.

    Parameters
    ----------
    law_name : str
        ``laplace`` or ``discrete_laplace`` (amount in epsilon: scale = L1 / epsilon), ``gaussian`` or
        ``discrete_gaussian`` (amount in rho: sigma = L2 / sqrt(2 rho)).
    amount : float
        What the level spends, at least 0 and finite.
    sensitivity_l1, sensitivity_l2 : float
        Change the level is calibrated to, in records, above 0.

    Raises
    ------
    InputError
        VALUE_UNKNOWN for the name; EPS_RANGE or RHO_RANGE for the amount; NOISE_RANGE where it asks for wider or
        narrower noise than can be drawn; EXACT_LEVEL where no noise is needed, because the level cannot change or is
        published exactly: the caller handles those.

    >>> level_law("laplace", 0.5, 1.0, 1.0)
    Laplace(scale=2.0)
    """
    checks.one_of("law", law_name, LAW_CURRENCIES)
    if sensitivity_l1 == 0 or sensitivity_l2 == 0 or amount == math.inf:
        raise InputError("EXACT_LEVEL", "A level that cannot change, or is published exactly, takes no noise.")
    l1 = checks.number("sensitivity_l1", sensitivity_l1, low=0)
    l2 = checks.number("sensitivity_l2", sensitivity_l2, low=0)
    in_epsilon = LAW_CURRENCIES[law_name] is Currency.EPSILON
    spent = checks.number("amount", amount, low=0, code="EPS_RANGE" if in_epsilon else "RHO_RANGE")
    if spent == 0:
        return None
    try:
        return _law(law_name, spent, l1, l2)
    except (InputError, OverflowError):
        message = f"No {law_name} noise can be drawn for a level that spends {echo(spent)}; give it more, or nothing."
        raise InputError("NOISE_RANGE", message) from None


def _law(law_name: str, spent: float, l1: float, l2: float) -> Law:
    match law_name:
        case "laplace":
            return Laplace(quotient_above(l1, spent))
        case "discrete_laplace":
            return DiscreteLaplace(quotient_below(spent, l1))
        case "gaussian":
            return Gaussian(_sigma(spent, l2))
        case _:
            return DiscreteGaussian(_sigma(spent, l2))


def _sigma(rho: float, sensitivity: float) -> float:
    return sqrt_above(Fraction(sensitivity) ** 2 / (2 * Fraction(rho)))
