"""How the noise of all levels becomes (epsilon, delta): by a formula of its cost, or from the laws themselves.

What a formula says of a rho holds for every noise that costs it, so that it says more than whole-number Gaussian noise
loses. Composing the laws of the losses (see `losses`) says what it does lose, rounded up by at most some parts in ten
thousand: for the same promise the noise is smaller.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Law
from treedp_core.privacy.conversions import RHO_HIGH, epsilon_to_rho
from treedp_core.privacy.losses import LossLaw, of_changes
from treedp_core.privacy.unit import MAX_CONTRIBUTIONS, FloatArray, NeighbouringRelation, ProtectedUnit

# What a release of all levels tells about one unit: the best attacker's tests, and how sure he can become. The
# attacker knows everything but the records of one unit: either what they are instead of, or whether they are there.
# Where these records lie is for him the best that may be. With noise that is symmetric and log-concave, as all
# noise here is, that is on as few counts as possible: whoever can tell a shift of a count by a + b can tell shifts
# of two counts by a and by b, as the trade-off function of the former is that of one shift after the other.

MOST_ENUMERATED: Final = 6
"""Records of a unit up to which every mixture of moved, new and lost records is looked at."""
_UP: Final = 1.0 + 1e-12


@dataclass(frozen=True, eq=False)
class Risk:
    """How well it can be told whether one unit's records are those or others (or none), from all levels together.

    Parameters
    ----------
    ways : tuple of LossLaw
        One for each way in which the records may differ; whatever is asked, the worst one answers.
    delta : float
        Probability with which what is said of certainty may fail: 0, or a delta.
    """

    ways: tuple[LossLaw, ...]
    delta: float = 0.0

    @property
    def worst(self) -> LossLaw:
        """The way that is told apart best where both are as likely."""
        return max(self.ways, key=lambda one: self._right(one, 0.5))

    def loss(self) -> float:
        """Least loss, in epsilon, that is not exceeded but with a probability of `delta` (by none where it is 0).

        >>> from treedp_core.noise import DiscreteLaplace
        >>> risk_of_levels([DiscreteLaplace(0.5)] * 2, ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), 1).loss()
        1.0
        """
        return max(_least(one, self.delta) for one in self.ways)

    def posterior(self, prior: float) -> float:
        """How sure an attacker can become of what he believed with probability `prior`, rounded up.

        In odds, a release multiplies by at most e^loss; no more than e^epsilon under epsilon-differential privacy.
        """
        before = _prior(prior)
        return min(1.0, _logistic(math.log(before / (1.0 - before)) + self.loss()) * _UP)

    def right(self, prior: float) -> float:
        """How often the best guess is right, where "in" has the probability `prior`, rounded up."""
        before = _prior(prior)
        return min(1.0, max(self._right(one, before) for one in self.ways) * _UP)

    @staticmethod
    def _right(one: LossLaw, prior: float) -> float:
        with_it, without = one.above(np.array([math.log((1.0 - prior) / prior)]))
        return float(prior * with_it[0] + (1.0 - prior) * (1.0 - without[0]))

    def delta_at(self, epsilon: float) -> float:
        """Smallest delta of (epsilon, delta)-privacy, rounded up."""
        return max(one.delta(checks.number("epsilon", epsilon, low=0)) for one in self.ways)

    def misses(self, alarms: FloatArray) -> FloatArray:
        """Smallest share of misses of a test with so many false alarms (n,), rounded down: (n,)."""
        return np.asarray(np.min([np.interp(alarms, *one.tests()) for one in self.ways], axis=0))

    def beliefs(self, prior: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How often the belief in "in" ends up between two `edges`, (n + 1,) in (0, 1).

        With the unit's records and without them, (n,) each, in the way that is told apart best.
        """
        at = np.log(edges / (1.0 - edges)) - math.log(prior / (1.0 - prior))
        return _masses(*self.worst.above(at))


def _masses(with_it: FloatArray, without: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give what lies beyond the ends to the first and to the last."""
    ends = [np.concatenate([[1.0], one[1:-1], [0.0]]) for one in (with_it, without)]
    return np.maximum(-np.diff(ends[0]), 0.0), np.maximum(-np.diff(ends[1]), 0.0)


def risk_of_levels(
    laws: Sequence[Law | None], unit: ProtectedUnit, records: int | None = None, delta: float = 0.0
) -> Risk:
    """Return the risk of one unit with so many records, wherever they lie, when all levels are released.

    Parameters
    ----------
    laws : sequence of Law or None
        The noise of each level; None for one that is not released, or cannot change.
    unit : ProtectedUnit
        Whose relation it is; by default it has as many records as it may.
    records : int
        Those it really has, at least 1: the noise does not grow with them.
    delta : float
        See `Risk`.

    Raises
    ------
    InputError
        ``CONTRIBUTIONS_RANGE`` for the records, ``NO_LOSSES`` for a law whose losses are not known.

    Notes
    -----
    Exact where every level has room for the records to lie apart (Dong, Roth and Su, 2022, for the trade-off function),
    up to the grid of `losses`; never too small.
    """
    has = unit.contributions if records is None else records
    m = checks.integer("records", has, low=1, high=MAX_CONTRIBUTIONS, code="CONTRIBUTIONS_RANGE")
    noisy = [(level, law) for level, law in enumerate(laws) if law is not None]
    ways = [
        of_changes([(law, change) for level, law in noisy for change in (known if level < unit.known_levels else own)])
        for known, own in _ways(unit.relation, m)
    ]
    return Risk(tuple(ways), delta)


def _ways(relation: NeighbouringRelation, m: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The changes of a known and of an unknown level, in each way that no other one exceeds."""
    match relation:
        case NeighbouringRelation.ADD_OR_REMOVE_ONE:
            yield (m,), (m,)
        case NeighbouringRelation.REPLACE_ONE:
            yield (m, m), (m, m)
        case NeighbouringRelation.REPLACE_UNKNOWN if m > MOST_ENUMERATED:
            yield (m,), (m, m)
        case NeighbouringRelation.REPLACE_UNKNOWN:  # `new` records appear, `lost` ones disappear, others move
            for new in range(m + 1):
                for lost in range(min(new, m - new) + 1):
                    moved = m - new - lost
                    yield (new, lost), (new + moved, lost + moved)


def _least(one: LossLaw, delta: float) -> float:
    """Least loss exceeded with a probability of at most `delta` under P."""
    if delta <= 0:
        return one.largest
    low, high = 0.0, 1.0
    while float(one.above(np.array([high]))[0][0]) > delta:
        if high > 1e9:
            return math.inf
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(one.above(np.array([middle]))[0][0]) > delta else (low, middle)
    return high


def _prior(prior: float) -> float:
    return checks.number("prior", prior, low=0, high=1, open_low=True, open_high=True, code="PRIOR_RANGE")


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


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
