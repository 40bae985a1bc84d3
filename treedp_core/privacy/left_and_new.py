"""What Gaussian noise and a threshold lose together where one record's nodes are common, left or new.

A node that is left or new has no noise that tells two data sets apart, so delta is not lost twice: where no node is
left, all of it is the noise's, and where all are, it is what is told of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from treedp_core.noise import DiscreteGaussian
from treedp_core.privacy.conversions import rho_to_delta
from treedp_core.privacy.losses import LossLaw, of_changes
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit
from treedp_core.words import float_above

COMPOSED: Final = 64
"""Levels up to which losses are composed; those of more are by the formula."""
_ABOVE: Final = 1.0 + 1e-12
_BELOW: Final = 1.0 - 1e-12
"""Rounded numbers are off by less."""
Case = tuple[int, int, int]
"""Nodes that are common, left and new, at the most."""


def delta_of(noise: DiscreteGaussian, unit: ProtectedUnit, told: range, epsilon: float, untold: float) -> float:
    """Return delta, rounded up, of any two data sets that one record tells apart, some of its nodes left or new.

    Parameters
    ----------
    noise : DiscreteGaussian
        Of every level.
    unit : ProtectedUnit
        Of one record.
    told : range
        Levels that are told of.
    epsilon : float
    untold : float
        -log P(nothing is told of a node with one record).

    Notes
    -----
    With a nodes left, b new and c common, in the words of `mechanisms.stability`, q = 1 - e^(-a untold), and

        delta = q + (1 - q) delta_c(epsilon - b untold + a untold),

    where delta_c is that of the noise on c counts. This grows with a and b beside the same c, and with c, so that a
    group of numbers has the most of each: beyond `COMPOSED` levels, and of new nodes where others are left.

    >>> noise, unit = DiscreteGaussian(4.4), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> delta_of(noise, unit, range(1), 1.0, 1e-6) < 1e-6  # of one node: what is told of it, if it is left
    True
    """
    composed = len(told) <= COMPOSED
    return max(_lost(noise, epsilon, untold, case, composed) for case in _cases(unit, told))


def _cases(unit: ProtectedUnit, told: range) -> Iterator[Case]:
    """Yield cases that cover all in which not all nodes are common."""
    n = len(told)
    ways = [(n, n)]
    if unit.relation is not NeighbouringRelation.REPLACE_ONE:
        apart = sum(level >= unit.known_levels for level in told) if unit.by_pairs else 0
        ways = [(n, 0), (0, n), (apart, apart)]
    for leave, come in ways:
        for fewest, left in _groups(leave):
            for first, new in ((0, 0), (min(come, 1), come)) if leave else _groups(come):
                if left or new:
                    yield leave + come - fewest - first, left, new


def _groups(most: int) -> list[tuple[int, int]]:
    """0, and the ends of groups of the numbers up to one: each by itself where they are few."""
    ends = np.unique(np.linspace(0, most, min(most, COMPOSED) + 1).round().astype(int)).tolist()
    return [(0, 0), *((below + 1, last) for below, last in pairwise(ends))]


def _lost(noise: DiscreteGaussian, epsilon: float, untold: float, case: Case, composed: bool) -> float:
    common, left, new = case
    loss = epsilon + (left * _BELOW - new * _ABOVE) * untold
    if loss < 0:
        return 1.0
    rho = common / (2 * Fraction(noise.sigma) ** 2)
    delta = rho_to_delta(float_above(rho), loss) if common else 0.0
    if common and composed:
        delta = min(delta, _losses(noise, common).delta(loss))
    return _ABOVE * (-math.expm1(-left * untold) + math.exp(-left * untold) * delta)


@lru_cache(maxsize=128)
def _losses(noise: DiscreteGaussian, common: int) -> LossLaw:
    return of_changes([(noise, 1)] * common)
