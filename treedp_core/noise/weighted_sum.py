"""The margin of a weighted sum of independent discrete Laplace noises, such as an estimate after least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core.noise.law import FloatArray

LARGEST_DENOMINATOR: Final = 10_000
_POINTS: Final = 1 << 19
_FAR: Final = 70.0
"""Scales of the largest noise beyond which a sum hardly ever lies: e^-70, times a power of their number."""
_ROUNDING: Final = 1e-11
"""More than floats add to a probability; it counts as lying beyond the margin."""


@lru_cache(256)
def margin_of_sum(inverse_scale: float, weights: tuple[float, ...], confidence: float) -> float:
    """Return a half width that holds a weighted sum of noises with at least this probability, in records.

    The sum lies on the fractions with the weights' common denominator; its probabilities are the Fourier transform of
    the product of the noises' characteristic functions (1 - p)^2 / ((1 - p)^2 + 4 p sin^2(w x / 2)), p = e^-a. It is
    the smallest such half width unless that takes too many fractions. Then every noise, a difference of two geometric
    numbers, has both rounded down to multiples of r. That moves it by less than r, so r for each unit of weight is
    added.

    Parameters
    ----------
    inverse_scale : float
        a, of each noise's discrete Laplace law.
    weights : (n,)
        Fractions with denominators up to `LARGEST_DENOMINATOR`.
    confidence : float

    Examples
    --------
    >>> margin_of_sum(0.25, (1.0,), 0.95), margin_of_sum(0.25, (0.5, 0.5), 0.95), margin_of_sum(0.25, (0.0,), 0.95)
    (12.0, 8.0, 0.0)
    """
    parts = [abs(Fraction(one).limit_denominator(LARGEST_DENOMINATOR)) for one in weights]
    steps, unit = _on_whole_numbers([one for one in parts if one])
    if not steps:
        return 0.0
    reach = 2.0 * _FAR * max(steps)
    coarse = max(1, math.ceil(reach / (inverse_scale * _POINTS)))
    slowness = coarse * inverse_scale
    half = _margin(steps, slowness, reach * max(1.0, 1.0 / slowness), 1.0 - confidence)
    return float(half * coarse * unit + (coarse > 1) * coarse * sum(parts))


def _on_whole_numbers(parts: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Return positive fractions as whole multiples of the largest fraction that divides them all."""
    below = math.lcm(*(one.denominator for one in parts))
    whole = [int(one * below) for one in parts]
    common = math.gcd(*whole) or 1
    return [one // common for one in whole], Fraction(common, below)


def _margin(steps: Sequence[int], inverse_scale: float, points: float, miss: float) -> int:
    """Return the smallest k with P(|sum of steps times noises| > k) <= miss, from at least so many points."""
    n = 1 << math.ceil(math.log2(points))
    angle = math.pi * np.arange(n // 2 + 1) / n
    p, rest = math.exp(-inverse_scale), -math.expm1(-inverse_scale)
    transform: FloatArray = np.ones(angle.size)
    for step in steps:
        transform /= 1.0 + 4.0 * p * (np.sin(step * angle) / rest) ** 2
    mass = np.fft.irfft(transform, n)[: n // 2]
    within = 2.0 * np.cumsum(mass) - mass[0]
    return int(np.argmax(1.0 - within + _ROUNDING <= miss))
