"""InfTDA's open question: whether errors grow with the level as its bound does, or only as without projection.

Theorem 1 bounds the largest error of level k by a sum over the levels above it, about k^1.5. Without projection the
largest noise of a level grows only with the logarithm of its nodes, about k^0.5, and its law is known exactly.
"""

from __future__ import annotations

import math

import numpy as np

from treedp_core.studies.topdown.plan import Plan
from treedp_core.tree import FloatArray


def largest_of_level(plan: Plan, level: int, beta: float) -> int:
    """Return the smallest t with P(max |Z| > t) <= beta over the nodes of a level, in records: exact, no projection.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> largest_of_level(plan((2, 2), 1.0), 1, 0.1)
    3
    """
    law = plan.laws[level]
    if law is None:
        return 0
    low, high = -1, max(1, math.ceil(law.reach(beta / plan.cells[level])))
    while high - low > 1:
        middle = (low + high) // 2
        miss = -math.expm1(plan.cells[level] * math.log1p(-float(law.tail(np.array(float(middle))))))
        low, high = (low, middle) if miss <= beta else (middle, high)
    return high


def exponent(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of ln y over ln x, both (n,): the exponent with which y grows, by least squares.

    >>> round(exponent(np.array([1.0, 10.0, 100.0]), np.array([2.0, 2.0 * 10**1.5, 2000.0])), 6)
    1.5
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
