"""How privacy numbers are written: what was set as it was set, a cost never too small, a budget never too large.

A float stands for its shortest decimal, as Python writes it: 0.1 is one tenth, the number somebody typed, although the
float next to it is larger by 5.6e-18. Beyond that nothing is forgiven: 0.1 + 0.2, a float above 0.3, costs "0.3001".
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

from treedp_core.rounding import float_above, float_below

DIGITS: Final = 4
_UP: Final = Context(prec=DIGITS, rounding=ROUND_CEILING)
_DOWN: Final = Context(prec=DIGITS, rounding=ROUND_FLOOR)


def setting_text(x: float) -> str:
    """Return an epsilon, delta or rho that somebody chose, as it was chosen: every digit.

    >>> setting_text(1.0), setting_text(1.00049), setting_text(1e-6), setting_text(0.0)
    ('1', '1.00049', '1e-6', '0')
    """
    return _written(Decimal(repr(float(x))))


def privacy_text(x: float | Fraction) -> str:
    """Return what an epsilon, delta or rho costs, in four digits, never below its exact value.

    >>> privacy_text(4.29321), privacy_text(1.00049), privacy_text(0.3), privacy_text(Fraction(1, 3))
    ('4.294', '1.001', '0.3', '0.3334')
    """
    return _written(_rounded(float_above(x) if isinstance(x, Fraction) else x, _UP))


def budget_text(x: float | Fraction) -> str:
    """Return a budget, or a part of one, that may be spent, in four digits, never above its exact value.

    >>> budget_text(4.29379), budget_text(0.99999), budget_text(0.3), budget_text(Fraction(1, 3))
    ('4.293', '0.9999', '0.3', '0.3333')
    """
    return _written(_rounded(float_below(x) if isinstance(x, Fraction) else x, _DOWN))


def plus_minus(standard_error: float) -> str:
    """Return the half width of a 95 % interval behind a simulated value; trials can be too few to tell it.

    >>> plus_minus(0.5), plus_minus(math.inf)
    (' ± 0.98', ' (too rare to tell)')
    """
    return f" ± {1.96 * standard_error:.2g}" if math.isfinite(standard_error) else " (too rare to tell)"


def _rounded(x: float, context: Context) -> Decimal:
    return context.create_decimal(repr(float(x)))


def _written(number: Decimal) -> str:
    if not number.is_finite():
        return "–" if number.is_nan() else "∞"
    plain = number.normalize()
    if plain == 0 or -4 < plain.adjusted() < 6:
        return f"{plain:f}" if plain else "0"
    mantissa, _, exponent = f"{plain:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


__all__ = ["DIGITS", "budget_text", "plus_minus", "privacy_text", "setting_text"]
