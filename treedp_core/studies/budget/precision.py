"""From what each level spends to the precision of its noise, for many budgets at once, with its slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.mechanisms.calibration import LAWS
from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.tree import FloatArray


@dataclass(frozen=True, eq=False)
class LevelPrecision:
    """Precision of each level's noise as a function of what the level spends.

    Parameters
    ----------
    law : str
        A name in `LAWS`.
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
        precision, slope = LAWS[self.law].precision(x)
        return np.where(exact, np.inf, precision), np.where(exact, 0.0, slope / divisor)


def level_precision(law: str, unit: ProtectedUnit, n_levels: int) -> LevelPrecision:
    """Return the precision of each level's noise under the named law for the protected unit.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> level_precision("laplace", unit, 2)(np.array([np.inf, 1.0])).tolist()  # scale 2, variance 8
    [inf, 0.125]
    """
    l1, l2 = unit.l1_sensitivity(n_levels), unit.l2_sensitivity(n_levels)
    return LevelPrecision(law, l1 if LAWS[law].currency is Currency.EPSILON else np.square(l2))
