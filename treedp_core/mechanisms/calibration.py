"""From what a level may spend to the noise law that spends it; one line in the table for each law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.privacy import Currency
from treedp_core.privacy.prior_provenance import SYMBOL
from treedp_core.privacy.rounding import quotient_above, quotient_below, sqrt_above
from treedp_core.registry import Table, table
from treedp_core.tree import FloatArray
from treedp_core.words import short

_REACH: Final = 100.0  # whole numbers -100 to 100 hold all of a discrete Gaussian with sigma < 2 but 1e-500
_WHOLE: Final = np.arange(-_REACH, _REACH + 1)
_LARGEST: Final = 150.0  # beyond, the noise is 0 for all purposes, and products of e^x would overflow


@dataclass(frozen=True)
class LevelLaw:
    """A table entry: what a level's amount is in, the noise that spends it, and how precise that noise is.

    Parameters
    ----------
    currency : Currency
    law : function
        ``law(amount, l1, l2)``: noise of a level that spends the amount at these sensitivities, rounded towards more.
    precision : function
        Amounts (...) at a sensitivity of 1 -> one over the variance, and its derivative by the amount, (...) each: the
        same law as a formula over arrays; a test holds the two together.
    normal : bool
        Whether the noise is exactly normal, so that sums of it are, and the exact conversion to (epsilon, delta) holds.
    convex : bool
        Whether errors after least squares are convex in the amounts, so that a best split can be certified.
    """

    name: str
    currency: Currency
    law: Callable[[float, float, float], Law]
    precision: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    normal: bool = False
    convex: bool = False


def _laplace(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / (2 b^2) for b = 1 / x."""
    return np.square(x) / 2.0, x


def _discrete_laplace(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cosh x - 1."""
    x = np.minimum(x, _LARGEST)
    return 2.0 * np.square(np.sinh(x / 2.0)), np.sinh(x)


def _gaussian(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / sigma^2 for sigma^2 = 1 / (2 x)."""
    return 2.0 * x, np.full_like(x, 2.0)


def _discrete_gaussian(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / Var Z; with P(k) proportional to e^(-x k^2) the derivative of Var Z by x is Var^2 - E Z^4.

    From sigma = 2 (x = 1/8) on the variance is sigma^2 to a relative 1e-31.
    """
    precision, slope = _gaussian(x)
    narrow = x > 0.125
    if narrow.any():
        weight = np.exp(-np.minimum(x[narrow], _LARGEST)[:, None] * np.square(_WHOLE))
        weight /= weight.sum(axis=1, keepdims=True)
        second, fourth = weight @ _WHOLE**2, weight @ _WHOLE**4
        precision[narrow], slope[narrow] = 1.0 / second, (fourth - second**2) / second**2
    return precision, slope


def _sigma(rho: float, sensitivity: float) -> float:
    return sqrt_above(Fraction(sensitivity) ** 2 / (2 * Fraction(rho)))


LAWS: Final[Table[LevelLaw]] = table(
    LevelLaw("laplace", Currency.EPSILON, lambda spent, l1, l2: Laplace(quotient_above(l1, spent)), _laplace),
    LevelLaw(
        "discrete_laplace",
        Currency.EPSILON,
        lambda spent, l1, l2: DiscreteLaplace(quotient_below(spent, l1)),
        _discrete_laplace,
    ),
    LevelLaw(
        "gaussian",
        Currency.RHO,
        lambda spent, l1, l2: Gaussian(_sigma(spent, l2)),
        _gaussian,
        normal=True,
        convex=True,
    ),
    LevelLaw(
        "discrete_gaussian",
        Currency.RHO,
        lambda spent, l1, l2: DiscreteGaussian(_sigma(spent, l2)),
        _discrete_gaussian,
        convex=True,
    ),
)


def level_law(law_name: str, amount: float, sensitivity_l1: float, sensitivity_l2: float) -> Law | None:
    """Noise law of a level that spends `amount`, rounded towards more noise; None for a level that is not measured.

    Parameters
    ----------
    law_name : str
        A name in `LAWS`: ``laplace`` or ``discrete_laplace`` (amount in epsilon: scale = L1 / epsilon), ``gaussian``
        or ``discrete_gaussian`` (amount in rho: sigma = L2 / sqrt(2 rho)).
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
    checks.one_of("law", law_name, LAWS)
    if sensitivity_l1 == 0 or sensitivity_l2 == 0 or amount == math.inf:
        raise InputError("EXACT_LEVEL", "A level that cannot change, or is published exactly, takes no noise.")
    l1 = checks.number("sensitivity_l1", sensitivity_l1, low=0)
    l2 = checks.number("sensitivity_l2", sensitivity_l2, low=0)
    entry = LAWS[law_name]
    in_epsilon = entry.currency is Currency.EPSILON
    spent = checks.number("amount", amount, low=0, code="EPS_RANGE" if in_epsilon else "RHO_RANGE")
    if spent == 0:
        return None
    try:
        return entry.law(spent, l1, l2)
    except (InputError, OverflowError):
        how, more = ("wide", "more, or nothing") if spent < l1 else ("narrow", "less")
        asked = f"Noise as {how} as {SYMBOL[entry.currency]} = {short(spent)} asks for cannot be drawn"
        raise InputError("NOISE_RANGE", f"{asked}: spend {more}.") from None
