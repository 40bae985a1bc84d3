"""How the noise of all levels becomes (epsilon, delta): by a formula of its cost, or from the laws themselves.

What a formula says of a rho holds for every noise that costs it, so that it says more than whole-number Gaussian noise
loses. Composing the laws of the losses (see `losses`) says what it does lose, rounded up by at most some parts in ten
thousand: for the same promise the noise is smaller.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from treedp_core import checks
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Law
from treedp_core.privacy.conversions import RHO_HIGH, epsilon_to_rho
from treedp_core.privacy.risk import risk_of_levels
from treedp_core.privacy.unit import ProtectedUnit

CLOSE: Final = 5e-5
"""Relative closeness of a total to the largest one."""
_ALL: Final = Fraction(1)
_BELOW: Final = 1.0 - 1e-12
LINES: Final = 12
"""Steps along a line after which a search goes half the way each time."""


class Accounting(enum.Enum):
    """How the cost of noise in zero-concentrated privacy becomes (epsilon, delta)."""

    FORMULA = "formula"
    NUMERICAL = "numerical"

    @property
    def label(self) -> str:
        """Name for a control."""
        return "zCDP formula" if self is Accounting.FORMULA else "Numerical"

    @property
    def told(self) -> str:
        """What a promise says of it.

        >>> Accounting.NUMERICAL.told
        'by numerical accounting'
        """
        return "by the zCDP formula" if self is Accounting.FORMULA else "by numerical accounting"


USUAL: Final = Accounting.NUMERICAL
"""What whole-number Gaussian noise is accounted by until something else is chosen: as tightly as normal noise is."""


def is_numerical(accounting: str) -> bool:
    """Whether an accounting is the numerical one.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN``.

    >>> is_numerical("formula")
    False
    """
    return checks.one_of("accounting", accounting, [one.value for one in Accounting]) == Accounting.NUMERICAL.value


def composes(laws: Sequence[Law | None]) -> bool:
    """Whether numerical accounting covers such noise: whole numbers only, so that no part of a law is left out."""
    return all(law is None or isinstance(law, DiscreteGaussian | DiscreteLaplace) for law in laws)


def epsilon_of_levels(laws: Sequence[Law | None], unit: ProtectedUnit, delta: float) -> float:
    """Epsilon at which all levels together are (epsilon, delta)-private, by composing their losses, rounded up.

    Parameters
    ----------
    laws : sequence of Law or None
        Noise of each level, whatever law each has; None for one that is not released, or cannot change.
    unit : ProtectedUnit
        Whose records may lie anywhere, also all on one leaf.
    delta : float
        Above 0; at 1e-12 and below less is certain than what is left out of the laws, and epsilon may be inf.

    Raises
    ------
    InputError
        ``DELTA_RANGE``, ``DELTA_REQUIRED``; ``NO_LOSSES`` for a law whose losses are not known.

    Notes
    -----
    Exact but for rounding where all levels have one law: losses lie on a lattice then (Canonne, Kamath and Steinke,
    2020, Theorem 7). Other sums are put on a grid that is never too good (Doroshenko et al., 2022).

    >>> from treedp_core.privacy.unit import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> round(epsilon_of_levels([DiscreteGaussian(2.0)] * 4, unit, 1e-9), 6)
    6.187001
    """
    return _epsilon(tuple(laws), unit, checks.delta_of_conversion(delta))


@lru_cache(maxsize=1024)
def _epsilon(laws: tuple[Law | None, ...], unit: ProtectedUnit, delta: float) -> float:
    return max(one.epsilon(delta) for one in risk_of_levels(laws, unit).ways)


def largest_total(
    laws_of: Callable[[float], Sequence[Law | None]],
    unit: ProtectedUnit,
    epsilon: float,
    delta: float,
    part: Fraction = _ALL,
) -> float:
    """Largest total in rho whose noise is (epsilon, delta)-private by numerical accounting, rounded down.

    Parameters
    ----------
    laws_of : function
        Noise of each level when so much is spent in all.
    unit : ProtectedUnit
    epsilon, delta : float
        The promise, were all of the total spent.
    part : Fraction
        Of a total that is spent, at most 1: what is left stays so.

    Returns
    -------
    float
        At least what `epsilon_to_rho` allows for discrete Gaussian noise.

    >>> from treedp_core.privacy.unit import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> rho = largest_total(lambda rho: [DiscreteGaussian((2 / rho) ** 0.5)] * 4, unit, 1.0, 1e-6)
    >>> round((2 / rho) ** 0.5, 2)  # of sigma; by the formula 9.06
    8.45
    """

    def over(rho: float) -> float:
        laws = laws_of(rho / part)
        return epsilon_of_levels(laws, unit, delta) - epsilon if composes(laws) else math.inf

    most = RHO_HIGH * part * _BELOW
    good = min(RHO_HIGH, epsilon_to_rho(epsilon, delta, False))
    if good >= most or (under := over(good)) > 0.0:  # then the formula is the tighter one
        return good
    bad = min(most, 1.2 * good)
    while (beyond := over(bad)) <= 0.0:
        if bad == most:
            return bad
        good, under, bad = bad, beyond, min(most, 1.2 * bad)
    return _closer(over, (good, under), (bad, beyond))


def _closer(over: Callable[[float], float], good: tuple[float, float], bad: tuple[float, float]) -> float:
    """Where what is over turns positive, from below: along a line between two points, and a hair beyond it in turn."""
    beyond = False
    for step in itertools.count():
        width = math.log(bad[0] / good[0])
        if width <= CLOSE:
            break
        straight = step < LINES and math.isfinite(bad[1])
        part = good[1] / (good[1] - bad[1]) + (CLOSE if beyond else -CLOSE) / (3.0 * width) if straight else 0.5
        at = good[0] * math.exp(width * min(max(part, CLOSE / (4.0 * width)), 1.0 - CLOSE / (4.0 * width)))
        found = over(at)
        good, bad = ((at, found), bad) if found <= 0.0 else (good, (at, found))
        beyond = found <= 0.0
    return good[0]
