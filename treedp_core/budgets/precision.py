"""From what each level spends to the precision of its noise, for many budgets at once, with its slope.

The same laws as `calibration.level_law`, as formulas over arrays; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.privacy import ProtectedUnit
from treedp_core.tree import FloatArray

PrecisionAndSlope = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_REACH: Final = 100.0  # whole numbers -100 to 100 hold all of a discrete Gaussian with sigma < 2 but 1e-500
_WHOLE: Final = np.arange(-_REACH, _REACH + 1)
_LARGEST: Final = 150.0  # beyond, the noise is 0 for all purposes, and products of e^x would overflow


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


_UNIT: Final[Mapping[str, PrecisionAndSlope]] = {
    "laplace": _laplace,
    "discrete_laplace": _discrete_laplace,
    "gaussian": _gaussian,
    "discrete_gaussian": _discrete_gaussian,
}
"""For a sensitivity of 1."""


@dataclass(frozen=True, eq=False)
class LevelPrecision:
    """Precision of each level's noise as a function of what the level spends.

    Parameters
    ----------
    law : str
        A name in `MECHANISMS`.
    sensitivity : (n_levels,)
        What an amount is divided by: the L1 sensitivity (epsilon) or the square of the L2 sensitivity (rho); 0 on a
        level that cannot change, which is known exactly.
    """

    law: str
    sensitivity: FloatArray

    def __call__(self, amounts: FloatArray) -> FloatArray:
        """Return the precision, 1 / records squared, of levels that spend `amounts` (..., n_levels)."""
        return self.with_slope(amounts)[0]

    def of_level(self, level: int, amounts: FloatArray) -> FloatArray:
        """Return the precision of nodes of one level that spend `amounts` (n,) each."""
        return LevelPrecision(self.law, np.full(amounts.shape, self.sensitivity[level]))(amounts)

    def with_slope(self, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision and its derivative by the amount, both (..., n_levels); inf and 0 on exact levels."""
        exact = self.sensitivity == 0
        divisor = np.where(exact, 1.0, self.sensitivity)
        x = np.where(exact, 0.0, np.asarray(amounts, dtype=np.float64)) / divisor
        precision, slope = _UNIT[self.law](x)
        return np.where(exact, np.inf, precision), np.where(exact, 0.0, slope / divisor)


def level_precision(law: str, unit: ProtectedUnit, n_levels: int) -> LevelPrecision:
    """Return the precision of each level's noise under the named law for the protected unit.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> level_precision("laplace", unit, 2)(np.array([np.inf, 1.0])).tolist()  # scale 2, variance 8
    [inf, 0.125]
    """
    l1, l2 = unit.l1_sensitivity(n_levels), unit.l2_sensitivity(n_levels)
    return LevelPrecision(law, l1 if law in ("laplace", "discrete_laplace") else np.square(l2))
