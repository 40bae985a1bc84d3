"""Rounding with a direction: noise is rounded up, budgets are rounded down, and the comparison is exact.

Every finite float is a rational number, so `Fraction` settles each comparison without a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from treedp_core.words import float_above, float_below

Rational = Fraction | float | int


def smallest(holds: Callable[[float], bool], low: float, high: float, closeness: float) -> float:
    """Point between `low` > 0 and `high` from which on `holds`, from above to a relative closeness, by bisection.

    >>> round(smallest(lambda x: x * x >= 2.0, 1.0, 2.0, 1e-12), 9)
    1.414213562
    """
    while high > low * (1.0 + closeness):
        middle = math.sqrt(low * high)
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def quotient_above(numerator: Rational, denominator: Rational) -> float:
    """Smallest float that is at least numerator / denominator.

    >>> quotient_above(1, 4)
    0.25
    """
    return float_above(Fraction(numerator) / Fraction(denominator))


def quotient_below(numerator: Rational, denominator: Rational) -> float:
    """Largest float that is at most numerator / denominator.

    >>> quotient_below(1, 4)
    0.25
    """
    return float_below(Fraction(numerator) / Fraction(denominator))


def sqrt_above(square: Rational) -> float:
    """Smallest float whose exact square is at least `square` > 0.

    >>> sqrt_above(2), Fraction(sqrt_above(2)) ** 2 >= 2
    (1.4142135623730951, True)
    """
    exact = Fraction(square)
    root = math.sqrt(exact)
    while Fraction(root) ** 2 < exact:
        root = math.nextafter(root, math.inf)
    while (smaller := math.nextafter(root, 0.0)) > 0 and Fraction(smaller) ** 2 >= exact:
        root = smaller
    return root
