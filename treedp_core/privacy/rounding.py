"""Rounding with a direction: noise is rounded up, budgets are rounded down, and the comparison is exact.

Every finite float is a rational number, so `Fraction` settles each comparison without a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from treedp_core.words import float_above, float_below

NARROW: Final = 2e-12
"""Relative distance from which on a bracket is narrow."""
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


def smallest_root(room: Callable[[float], float], low: float, high: float, closeness: float) -> float:
    """Return what `smallest` does where a falling function is at most 0, in fewer steps.

    Where it crosses 0 is found first, by secants on logarithms; then middles that lie on a side that is known.

    >>> def room(x):
    ...     return 2.0 - x * x
    >>> smallest_root(room, 1.0, 2.0, 1e-11) == smallest(lambda x: room(x) <= 0.0, 1.0, 2.0, 1e-11)
    True
    """
    below, above, at_below, at_above = low, high, room(low), room(high)

    def see(point: float) -> float:
        nonlocal below, above, at_below, at_above
        at = room(point)
        if at > 0.0 and point > below:
            below, at_below = point, at
        elif at <= 0.0 and point < above:
            above, at_above = point, at
        return at

    last, at_last = (above, at_above) if math.isfinite(at_above) else (below, at_below)
    for _ in range(40):
        part = at_below / (at_below - at_above) if math.isfinite(at_below) and at_below > 0.0 > at_above else 0.5
        point = below * (above / below) ** min(max(part, 0.01), 0.99)
        at = see(point)
        if at and math.isfinite(at) and math.isfinite(at_last) and at != at_last:
            further = -at / (at - at_last) * math.log(point / last)
            if math.log(below / point) < further < math.log(above / point):
                last, at_last, point = point, at, point * math.exp(further)
                at = see(point)
        done = abs(math.log(point / last)) < NARROW
        last, at_last = point, at
        if done or not above > below * (1.0 + NARROW) or abs(at) < NARROW:
            break
    for point in (last * (1.0 - NARROW), last * (1.0 + NARROW)):
        if below < point < above:
            see(point)

    def holds(point: float) -> bool:
        return point >= above or (point > below and room(point) <= 0.0)

    return smallest(holds, low, high, closeness)


def crossing(
    room: Callable[[float], float], start: float, closeness: float, *, near: float = 0.0, reach: float = 1e12
) -> float:
    """Point from which on a falling function is at most 0, from above, by regula falsi (Illinois) on logarithms.

    Parameters
    ----------
    room : function
        Falls through 0, best as a logarithm of what is to be at most 1.
    start : float
        Where to look first, > 0.
    closeness : float
        Relative distance of points on both sides that ends the search.
    near : float
        The search also ends at a point whose room is in ``(-near, 0]``.
    reach : float
        How many times larger or smaller than the start is looked at.

    Returns
    -------
    inf where the function is above 0 as far as is looked at, and the last point where it nowhere is.

    >>> round(crossing(lambda x: 2.0 - x * x, 1.0, 1e-12), 9)
    1.414213562
    """
    last = point = start
    at_last = at = room(start)
    is_above, step = at > 0.0, 1.1
    while (at > 0.0) == is_above:
        if max(point / start, start / point) > reach:
            return math.inf if is_above else point
        last, at_last = point, at
        point, step = (point * step if is_above else point / step), min(step**2, 4.0)
        at = room(point)
    low, at_low, high, at_high = (last, at_last, point, at) if is_above else (point, at, last, at_last)
    for _ in range(60):
        if high <= low * (1.0 + closeness) or at_high > -near:
            break
        middle = low * (high / low) ** min(max(at_low / (at_low - at_high), 0.01), 0.99)
        at_middle = room(middle)
        if at_middle <= 0.0:
            high, at_high, at_low = middle, at_middle, at_low / 2.0
        else:
            low, at_low, at_high = middle, at_middle, at_high / 2.0
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
