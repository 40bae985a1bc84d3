"""Exact alpha-RMSE of a noisy count, plain and shrunk to max(0, (1 - alpha) y).

Shrinking is the best simple rule to compare thresholds with. With noise Z of a symmetric law, y = w + Z and
s = 2 alpha / (1 - alpha), the part of the error beyond alpha w is (1 - alpha) min(-Z, w) downwards (the estimate stops
at 0) and (1 - alpha) max(Z - s w, 0) upwards, so that

    alpha-RMSE^2 = (1 - alpha)^2 / 2 (E[min(|Z|, w)^2] + E[max(|Z| - s w, 0)^2]).

It is (1 - alpha) sqrt(variance / 2) at w = 0 and for large w; between them it is larger only for small alpha.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.noise import Law
from treedp_core.noise.law import FloatArray

_REACH: Final = 40.0  # standard deviations; beyond, E[min(|Z|, w)^2] is the variance and nothing is left upwards
_GRID: Final = 401
_ZOOMS: Final = 4


def shrunk_alpha_rmse(law: Law, alpha: float, counts: ArrayLike) -> FloatArray:
    """Exact alpha-RMSE of counts estimated as max(0, (1 - alpha) (count + noise)), in records, shape of `counts`.

    >>> from treedp_core.noise import Gaussian
    >>> round(float(shrunk_alpha_rmse(Gaussian(2.0), 0.5, 0.0)), 6)  # 0.5 * 2 / sqrt(2)
    0.707107
    """
    a, w = _alpha(alpha), _counts(counts)
    down = np.maximum(law.variance - law.excess_square(w) - 2.0 * w * law.excess(w), 0.0)
    up = law.excess_square(2.0 * a / (1.0 - a) * w)
    return np.asarray((1.0 - a) * np.sqrt(0.5 * (down + up)))


@lru_cache(maxsize=4096)
def worst_shrunk_alpha_rmse(law: Law, alpha: float) -> float:
    """Largest alpha-RMSE over all counts w >= 0 of max(0, (1 - alpha) (w + noise)), in records.

    The search is over real w, so for whole counts it is an upper bound; for alpha >= 0.3 both are
    (1 - alpha) sqrt(variance / 2).

    >>> from treedp_core.noise import Gaussian
    >>> round(worst_shrunk_alpha_rmse(Gaussian(1.0), 0.5), 9)
    0.353553391
    """
    at_ends = (1.0 - _alpha(alpha)) * float(np.sqrt(0.5 * law.variance))
    low, high = 0.0, _REACH * float(np.sqrt(law.variance))
    largest = at_ends
    for _ in range(_ZOOMS):
        counts = np.linspace(low, high, _GRID)
        values = shrunk_alpha_rmse(law, alpha, counts)
        best = int(np.argmax(values))
        largest = max(largest, float(values[best]))
        low, high = counts[max(best - 1, 0)], counts[min(best + 1, _GRID - 1)]
    return largest


def _alpha(alpha: float) -> float:
    return checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")


def _counts(counts: ArrayLike) -> FloatArray:
    w = np.asarray(counts, dtype=float)
    if w.size:
        checks.number("a count", w.min(), low=0, code="COUNT_RANGE")
    return w
