"""Tail integrals of the standard normal law that keep their relative accuracy far out.

With phi the normal density, I_n(u) is the integral over s > 0 of s^n phi(u + s), so that E[max(Z - u, 0)^n] = I_n(u).
They give the excess moments of Gaussian noise and, through I_1 / phi, the exact delta of the Gaussian mechanism.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]

SQRT_2: Final = math.sqrt(2.0)
SQRT_2_PI: Final = math.sqrt(2.0 * math.pi)
SQRT_HALF_PI: Final = math.sqrt(math.pi / 2.0)
_FAR: Final = 12.0  # from here 20 terms of the asymptotic series are exact to 1e-16
_TERMS: Final = 20


def density(u: ArrayLike) -> FloatArray:
    """Density of the standard normal law, shape of `u`.

    >>> round(float(density(0)), 6)
    0.398942
    """
    x = np.asarray(u, dtype=float)
    return np.asarray(np.exp(-0.5 * x * x) / SQRT_2_PI)


def mills(u: ArrayLike) -> FloatArray:
    """Mills ratio P(Z > u) / phi(u) of the standard normal law, shape of `u`.

    >>> round(float(mills(0)), 6)
    1.253314
    """
    return np.asarray(SQRT_HALF_PI * special.erfcx(np.asarray(u, dtype=float) / SQRT_2))


def first_tail(u: ArrayLike) -> FloatArray:
    """I_1(u) / phi(u) = 1 - u mills(u), for u above -25; shape of `u`.

    >>> float(first_tail(0))
    1.0
    """
    x = np.asarray(u, dtype=float)
    near = np.minimum(x, _FAR)
    return np.where(x > _FAR, _series(np.maximum(x, _FAR), 1), 1.0 - near * mills(near))


def second_tail(u: ArrayLike) -> FloatArray:
    """I_2(u) / phi(u) = (1 + u^2) mills(u) - u, for u above -25; shape of `u`.

    >>> round(float(second_tail(0)), 6)
    1.253314
    """
    x = np.asarray(u, dtype=float)
    near = np.minimum(x, _FAR)
    return np.where(x > _FAR, _series(np.maximum(x, _FAR), 2), (1.0 + near * near) * mills(near) - near)


def _series(u: FloatArray, power: int) -> FloatArray:
    # integral of s^n e^(-us) e^(-s^2/2) ds, the last factor expanded: sum_j (-1)^j (2j+n)! / (2^j j! u^(2j+n+1))
    total, inverse = np.zeros_like(u), 1.0 / (u * u)
    for j in reversed(range(_TERMS)):
        total = total * inverse + (-1) ** j * math.factorial(2 * j + power) / (2**j * math.factorial(j))
    return np.asarray(total / u ** (power + 1))
