"""Conversions once more, in decimal numbers of 60 digits: from a shift or a rho to the delta at an epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
ONE = Decimal(1)

Number = float | int | Fraction | Decimal


def decimal(x: Number) -> Decimal:
    """A number in 60 digits; floats and fractions are taken as exactly what they are."""
    return Decimal(x.numerator) / Decimal(x.denominator) if isinstance(x, Fraction) else Decimal(x)


def digits() -> object:
    """Context of all arithmetic here: 60 digits, and exponents that never end."""
    return localcontext(Context(prec=DIGITS, Emin=-(10**9), Emax=10**9))


def upper_tail(x: Decimal) -> Decimal:
    """P(N(0, 1) > x), with small relative error."""
    if x < 0:
        return ONE - upper_tail(-x)
    z = x / Decimal(2).sqrt()
    if z < 4:  # erf z = 2 / sqrt(pi) e^(-z^2) times the sum of 2^n z^(2n+1) / (1 3 5 ... (2n+1)): no cancellation
        term, total, n = z, z, 0
        while term > total * Decimal(10) ** -DIGITS:
            n += 1
            term = term * 2 * z * z / (2 * n + 1)
            total += term
        return (ONE - 2 / PI.sqrt() * (-z * z).exp() * total) / 2
    below = Decimal(0)  # erfc by its continued fraction, from the far end
    for k in range(int(4000 / z**2) + 40, 0, -1):
        below = Decimal(k) / 2 / (z + below)
    return (-z * z).exp() / PI.sqrt() / (z + below) / 2


def gaussian_delta(epsilon: Number, shift: Number) -> Decimal:
    """Exact delta of N(shift, 1) against N(0, 1) at epsilon (Balle and Wang, 2018, Theorem 8)."""
    with digits():
        e, m = decimal(epsilon), decimal(shift)
        return upper_tail(e / m - m / 2) - e.exp() * upper_tail(e / m + m / 2)


def gaussian_delta_of_rho(rho: Number, epsilon: Number) -> Decimal:
    """Exact delta of Gaussian noises that cost rho together."""
    with digits():
        return gaussian_delta(epsilon, (2 * decimal(rho)).sqrt())


def concentrated_delta(rho: Number, epsilon: Number) -> Decimal:
    """The infimum over u > 0 of e^(u (1 + u) rho - u epsilon) (1 + 1/u)^-(1 + u) / u (Canonne et al., Corollary 13)."""
    with digits():
        r, e = decimal(rho), decimal(epsilon)
        u = _root(
            lambda v: (1 + 2 * v) * r - e - (1 + 1 / v).ln(), lambda v: 2 * r + 1 / (v * (1 + v)), float(r), float(e)
        )
        log_delta = u * (1 + u) * r - u * e - u.ln() - (1 + u) * (1 + 1 / u).ln()
        return min(ONE, log_delta.exp())


def _root(
    slope: Callable[[Decimal], Decimal], curvature: Callable[[Decimal], Decimal], rho: float, epsilon: float
) -> Decimal:
    """Zero of an increasing slope: bisection in floats, then Newton's steps, each of which doubles the digits."""
    low, high = -100.0, 100.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        v = math.exp(middle)
        negative = (1 + 2 * v) * rho - epsilon - math.log1p(1 / v) < 0
        low, high = (middle, high) if negative else (low, middle)
    u = Decimal(math.exp(low))
    for _ in range(4):
        u = max(u - slope(u) / curvature(u), u / 2)
    return u


def delta_of_group(epsilon: Number, delta: Number, steps: int) -> Decimal:
    """Delta over so many steps of (epsilon, delta): delta (1 + e^eps + ... + e^((steps - 1) eps)), rounded down."""
    with digits():
        growth = decimal(epsilon).exp()
        rounding = ONE - Decimal(10) ** (5 - DIGITS)
        return decimal(delta) * sum((growth**k for k in range(steps)), Decimal(0)) * rounding
