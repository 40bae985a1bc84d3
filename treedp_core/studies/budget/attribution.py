"""The Attribution Reporting API as the place where noise is added: what a conversion may add, and what that measures.

The browser credits a conversion to the last click before it, and lets all conversions of one click add whole numbers of
at most 65 536 together to the counts of their keys. The aggregation service adds discrete Laplace noise to each count,
of parameter epsilon / 65 536, whatever was added. So a share of the budget is a share of the 65 536, and a count in
conversions is what comes back, divided by what one conversion adds (Dawson et al., Section 2.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import ErrorSummary
from treedp_core.noise import DiscreteLaplace
from treedp_core.postprocess import least_squares
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.rounding import quotient_below
from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import percent, short

CONTRIBUTIONS: Final = 65_536
"""What all conversions of one click may add together, over all keys: fixed by the API."""
KEY_BITS: Final = 128
COUNTED: Final = (1, 2, 4, 8)


@dataclass(frozen=True)
class Reports:
    """What one conversion adds to the count of its node on each level, and the noise of every count.

    Parameters
    ----------
    unit : ProtectedUnit
        One click, with at most so many conversions.
    epsilon : float
        Of the aggregation service.
    values : tuple of int
        What one conversion adds on each level, root first; 0 where nothing is reported.

    Raises
    ------
    InputError
        ``EPS_RANGE``; ``REPORT_VALUES`` where the conversions of a click would add more than 65 536.
    """

    unit: ProtectedUnit
    epsilon: float
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        checks.epsilon(self.epsilon)
        if min(self.values) < 0 or self.of_a_click > CONTRIBUTIONS:
            raise InputError("REPORT_VALUES", f"Expected values of at least 0 that add up to at most {CONTRIBUTIONS}.")

    @property
    def of_a_click(self) -> int:
        """What all conversions of one click add at most."""
        return self.unit.contributions * sum(self.values)

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The noise of each count, in the API's units: at least what epsilon / 65 536 asks for."""
        return DiscreteLaplace(quotient_below(Fraction(self.epsilon), CONTRIBUTIONS))

    @property
    def charged(self) -> Fraction:
        """Epsilon of one click whose conversions come, go or change, exactly: at most the service's."""
        spent = [Fraction(self.law.inverse_scale) * value for value in self.values]
        twice = 2 if self.unit.relation is NeighbouringRelation.REPLACE_ONE else 1
        return self.unit.exact_charge([twice * self.unit.contributions * amount for amount in spent])

    @property
    def variance(self) -> FloatArray:
        """Of the noise on each level in squared conversions, (n_levels,); 0 for a public total, inf not reported."""
        with np.errstate(divide="ignore"):
            found = self.law.variance / np.square(np.array(self.values, dtype=np.float64))
        if self.unit.total_is_public:
            found[0] = 0.0
        return np.asarray(found)

    def errors(self, problem: Problem) -> ErrorSummary:
        """Return the expected errors of a problem's metric, after its least squares: closed form.

        Raises
        ------
        InputError
            ``NO_FORMULA`` for a metric that does not follow from variances.
        """
        if not problem.squares:
            raise InputError("NO_FORMULA", "The error of scaled reports has a closed form for RMSE and RMSRE only.")
        variance = np.repeat(self.variance, problem.tree.level_sizes)
        if problem.least_squares:
            variance = least_squares.prepare(problem.tree, variance)[1]
        return problem.summary_of(variance)

    def drawn(self, level: int, counts: AnyArray, rng: np.random.Generator) -> FloatArray:
        """Return noisy counts (n,) of true ones on a level that is reported, in conversions; a simulation."""
        value = self.values[level]
        noisy = value * np.asarray(counts, dtype=np.int64) + self.law.sample(rng, np.shape(counts)).astype(np.int64)
        return np.asarray(noisy / value)


def reports(unit: ProtectedUnit, epsilon: float, amounts: Sequence[float]) -> Reports:
    """Return the whole numbers that spend epsilons of levels through the API, rounded down.

    Parameters
    ----------
    unit : ProtectedUnit
    epsilon : float
        Of the aggregation service: at least what the amounts cost.
    amounts : (n_levels,)
        Epsilon of each level, as in a ledger; a public total's is not spent.

    Raises
    ------
    InputError
        As `Reports`: the amounts cost more than `epsilon`.

    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=3)
    >>> made = reports(unit, 1.0, [1 / 3, 1 / 3, 1 / 3])  # as in Dawson et al., Figure 2
    >>> made.values, float(made.charged) <= 1.0
    ((21845, 21845, 21845), True)
    """
    moved = unit.l1_sensitivity(len(amounts)).tolist()
    values = [
        math.floor(Fraction(amount) * CONTRIBUTIONS / (Fraction(l1) * Fraction(epsilon))) if l1 else 0
        for amount, l1 in zip(amounts, moved, strict=True)
    ]
    return Reports(unit, epsilon, tuple(values))


def last_touch(clicks: Sequence[float], conversions: Sequence[float]) -> IntArray:
    """Return which click of one person each conversion is credited to: the last before it, -1 where there is none.

    Parameters
    ----------
    clicks : (n_clicks,)
        Times, increasing.
    conversions : (n,)
        Times.

    >>> last_touch([1.0, 4.0], [0.5, 2.0, 9.0]).tolist()
    [-1, 0, 1]
    """
    return np.asarray(np.searchsorted(np.asarray(clicks), np.asarray(conversions), side="right") - 1, dtype=np.int64)


def counted(click: Sequence[int] | IntArray, most: int) -> AnyArray:
    """Return whether each conversion, in order of time, still finds room in what its click may add, (n,) bool.

    >>> counted([0, 1, 0, 0, -1], 2).tolist()
    [True, True, True, False, False]
    """
    credited = np.asarray(click)
    order = np.argsort(credited, kind="stable")
    place = np.arange(order.size) - np.searchsorted(credited[order], credited[order])
    room = np.empty(order.size, dtype=bool)
    room[order] = place < most
    return room & (credited >= 0)


def lost(repeat: float, most: int) -> float:
    """Expected part of the conversions that find no room, where at most so many of a click count.

    Parameters
    ----------
    repeat : float
        Probability that a conversion is followed by another one of the same click: in [0, 1).
    most : int

    Notes
    -----
    A click with k conversions has probability (1 - r) r^(k-1), and loses k - most of them: r^most of all.

    >>> lost(0.5, 3)
    0.125
    """
    part = checks.number("repeat", repeat, low=0, high=1, open_high=True)
    return float(part ** checks.integer("most", most, low=1, high=CONTRIBUTIONS))


CLICKS: Final = (1.0, 4.0, 9.0)
SALES: Final = (0.5, 1.5, 2.0, 3.5, 5.0, 9.5, 10.0, 10.5, 12.0)
"""Days of one made-up person's clicks, and of the conversions that follow."""


def credit_table(made: Reports) -> dict[str, Any]:
    """Return the conversions of a made-up person: which click each is credited to, whether it counts, what it adds."""
    click = last_touch(CLICKS, SALES)
    counts = counted(click, made.unit.contributions)
    adds = np.where(counts, sum(made.values), 0)
    so_far = [int(adds[: i + 1][click[: i + 1] == one].sum()) if one >= 0 else 0 for i, one in enumerate(click)]
    return {
        "conversion on day": list(SALES),
        "credited to the click of day": ["none before it" if one < 0 else short(CLICKS[one]) for one in click],
        "counts": ["yes" if one else "no" for one in counts],
        "adds on all levels": adds.tolist(),
        "its click has added": so_far,
    }


def report_table(made: Reports, problem: Problem, names: Sequence[str], metric: str) -> dict[str, Any]:
    """Return what one conversion adds on each level, its noise in conversions, and the error beside the split's own."""
    return {
        "level": list(names),
        "keys": problem.tree.level_sizes.tolist(),
        "a conversion adds": list(made.values),
        "noise st. dev.": np.sqrt(made.variance).tolist(),
        metric: made.errors(problem).level.tolist(),
    }


def room_table(made: Reports, level: int, repeats: Sequence[float]) -> dict[str, Any]:
    """Return what room for more conversions of a click costs in noise on a level, and how many are lost without."""
    one = float(np.sqrt(made.variance[level])) / made.unit.contributions
    columns: dict[str, Any] = {"counted of a click": list(COUNTED),
                               "noise st. dev.": [one * most for most in COUNTED]}  # fmt: skip
    for repeat in repeats:
        columns[f"lost at {percent(repeat)}"] = [lost(repeat, most) for most in COUNTED]
    return columns


def key_bits(sizes: Sequence[int]) -> int:
    """Return the bits of an aggregation key: the level, and a category of each column; the API takes 128.

    >>> key_bits([24, 8, 3, 4, 15])
    19
    """
    return sum((size - 1).bit_length() for size in [len(sizes) + 1, *sizes])
