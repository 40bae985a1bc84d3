"""Privacy losses: the law of log P(x) / Q(x) for x drawn from P, where P and Q are noise with and without a unit.

It holds all that an attacker can learn of which of the two was run, and losses of independent noises add up. Laws on
the whole numbers keep their atoms, so their sums are exact until there are too many of them. What must be put on a grid
is split between its two neighbours so that the mass under P and that under Q both stay (Doroshenko et al., 2022): that
spreads the ratio of the two, so the attacker is never taken for weaker than he is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
from scipy import special

from treedp_core.checks import InputError
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.privacy.conversions import gaussian_delta, rho_to_epsilon_gaussian
from treedp_core.privacy.unit import FloatArray
from treedp_core.tree import IntArray
from treedp_core.words import float_above

CELLS: Final = 512
"""Of a law that is cut into cells, and cells of a level's loss."""
MOST_ATOMS: Final = 4096
"""Up to which atoms stay where they are."""
MOST_SUMMED: Final = 1 << 15
"""Atoms of a sum of one law up to which they do: the more, the less a grid changes."""
GRID: Final = 4096
MOST_CELLS: Final = 1 << 20
"""Of a grid: where one noise hardly ever errs, its losses are rare and far apart."""
NEGLIGIBLE: Final = 1e-18
"""Mass beyond the ends of what is computed: it is given to the attacker."""
FAR: Final = 30.0
"""Standard deviations between two normal laws from which on they are told apart for certain, for all purposes."""
FINE: Final = 0.03
"""Cells of a grid over the deviation of the losses put on it: splitting these widens their sum by less than 1.0002."""
_UP: Final = 1.0 + 1e-9
"""Masses are sums and products of positive numbers: a few hundred of them over 4096 cells each round by less."""
_ROUNDED: Final = 1e-11
"""Part of what lies above an epsilon by which delta is taken to be larger: losses are rounded, and splits cancel."""


class LossLaw(Protocol):
    """What is asked of a law of losses."""

    @property
    def largest(self) -> float:
        """Largest possible loss; inf where there is none."""

    def delta(self, epsilon: float) -> float:
        """Smallest delta of (epsilon, delta)-privacy, rounded up."""

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon of (epsilon, delta)-privacy, rounded up; inf where there is none."""

    def above(self, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P and Q of a loss above each of these, (n,) each."""

    def tests(self) -> tuple[FloatArray, FloatArray]:
        """False alarms and misses of the best tests, (n,) each, from no alarm to always: joined by straight lines."""


@dataclass(frozen=True, eq=False)
class Losses:
    """A law of losses with atoms.

    Parameters
    ----------
    loss : (n,)
        Increasing.
    mass : (n,)
        Of each under P.
    certain : float
        Mass under P of what Q never gives.
    step : float
        Distance of the atoms where it is the same, else 0.
    top : float, optional
        Largest possible loss, where the last atom was moved beyond it.
    """

    loss: FloatArray
    mass: FloatArray
    certain: float = 0.0
    step: float = 0.0
    top: float | None = None

    @property
    def without(self) -> FloatArray:
        """Mass of each atom under Q, (n,)."""
        return np.asarray(np.exp(self._log_without))

    @property
    def _log_without(self) -> FloatArray:
        """Its logarithm: where a loss is beyond 700, one of the two masses is too small for a number."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mass) - self.loss)

    @property
    def variance(self) -> float:
        """Of the loss, where it is not certain."""
        return float(self.mass @ (self.loss - float(self.mass @ self.loss)) ** 2)

    @property
    def largest(self) -> float:
        """Largest possible loss; inf where there is none."""
        last = float(self.loss[-1]) if self.top is None else self.top
        return math.inf if self.certain > 0 else last

    def delta(self, epsilon: float) -> float:
        """Smallest delta of (epsilon, delta)-privacy, rounded up.

        >>> Losses(np.array([-1.0, 1.0]), np.array([0.25, 0.75])).delta(1.0)
        0.0
        """
        if epsilon >= self.largest:
            return 0.0
        over = self.loss > epsilon
        part = float(self.mass[over] @ -np.expm1(epsilon - self.loss[over]))
        return min(1.0, (part + self.certain) * _UP + float(self.mass[over].sum()) * _ROUNDED)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon of (epsilon, delta)-privacy, rounded up; inf where there is none.

        >>> Losses(np.array([-1.0, 1.0]), np.array([0.25, 0.75])).epsilon(0.0)
        1.0
        """
        if delta <= self.certain * _UP:
            return self.largest
        p, log_q = np.cumsum(self.mass[::-1])[::-1], np.logaddexp.accumulate(self._log_without[::-1])[::-1]
        first = int(np.argmax(np.append(p[1:] + self.certain - np.exp(self.loss[:-1] + log_q[1:]), 0.0) <= delta))
        # between the atom before it and the first one at which delta is enough, it is p - e^epsilon q there
        more = p[first] + self.certain - delta
        epsilon = max(math.log(more) - float(log_q[first]), 0.0) if more > 0 else 0.0
        step = 1e-13
        while self.delta(epsilon) > delta:
            epsilon, step = epsilon + step * max(1.0, epsilon), 2.0 * step
        return min(epsilon, self.largest)

    def above(self, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P and Q of a loss above each of these, (n,) each."""
        at = np.searchsorted(self.loss, losses, side="right")
        tails = [np.append(np.cumsum(one[::-1])[::-1], 0.0)[at] for one in (self.mass, self.without)]
        return np.asarray(tails[0] + self.certain), tails[1]

    def tests(self) -> tuple[FloatArray, FloatArray]:
        """False alarms and misses of the best tests, (n + 2,) each."""
        alarms = np.concatenate([[0.0], np.cumsum(self.without[::-1]), [1.0]])
        found = np.concatenate([[self.certain], self.certain + np.cumsum(self.mass[::-1]), [1.0]])
        return np.minimum(alarms, 1.0), np.maximum(1.0 - found, 0.0)


@dataclass(frozen=True)
class NormalLosses:
    """The law of losses of normal noise: normal too, with mean mu^2 / 2 and variance mu^2 (Dong, Roth and Su, 2022).

    Parameters
    ----------
    mu : float
        Change over standard deviation: of several noises, the root of the sum of squares.
    """

    mu: float

    @property
    def largest(self) -> float:
        """None is the largest."""
        return math.inf

    def delta(self, epsilon: float) -> float:
        """Smallest delta of (epsilon, delta)-privacy, rounded up (Balle and Wang, 2018, Theorem 8)."""
        return gaussian_delta(epsilon, 1.0, self.mu)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon of (epsilon, delta)-privacy, rounded up; inf where there is none."""
        return rho_to_epsilon_gaussian(float_above(Fraction(self.mu) ** 2 / 2), delta) if delta > 0 else math.inf

    def above(self, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P and Q of a loss above each of these, (n,) each."""
        at = np.asarray(losses, dtype=float) / self.mu
        return special.ndtr(self.mu / 2 - at), special.ndtr(-self.mu / 2 - at)

    def tests(self) -> tuple[FloatArray, FloatArray]:
        """False alarms and misses of the best tests, (n,) each; the lines between them lie below the curve's.

        Points of the curve are joined by chords above it, which would be too optimistic by a hair; hence tangents.
        """
        if self.mu > FAR:
            return np.array([0.0, 1.0]), np.zeros(2)
        at = np.linspace(-8.0, 8.0 + self.mu, 1001)
        alarm, miss = special.ndtr(-at), special.ndtr(at - self.mu)
        slope = -np.exp(self.mu * at - self.mu**2 / 2)  # of the tangent at each point
        cut = (miss[1:] - miss[:-1] + slope[:-1] * alarm[:-1] - slope[1:] * alarm[1:]) / (slope[:-1] - slope[1:])
        low = miss[:-1] + slope[:-1] * (cut - alarm[:-1])
        alarms, misses = np.clip(cut[::-1], 0.0, 1.0), np.clip(low[::-1], 0.0, 1.0)
        return (  # in order, also where they differ by rounding only
            np.concatenate([[0.0], np.maximum.accumulate(alarms), [1.0]]),
            np.concatenate([[1.0], np.minimum.accumulate(misses), [0.0]]),
        )


def of_changes(changes: Iterable[tuple[Law, int]]) -> LossLaw:
    """Return the law of the sum of losses of independent noises, each on a count that moves by whole records.

    Parameters
    ----------
    changes : iterable of (Law, int)
        The noise and how far one unit moves the count; a move of 0 tells nothing.

    Raises
    ------
    InputError
        ``NO_LOSSES`` for a law whose losses are not known here.

    Examples
    --------
    >>> both = of_changes([(DiscreteLaplace(0.5), 1), (DiscreteLaplace(0.5), 1)])
    >>> both.largest, both.delta(1.0)
    (1.0, 0.0)
    """
    moved = [(law, abs(change)) for law, change in changes if change]
    if moved and all(isinstance(law, Gaussian) for law, _ in moved):
        return NormalLosses(math.sqrt(math.fsum((change**2 / law.variance) for law, change in moved)))
    groups = [_power(_of_one(law, change), n) for (law, change), n in Counter(moved).items()]
    return _sum_of(groups)


def of_bounds(bounds: Iterable[tuple[float, float]]) -> Losses:
    """Return a law that tells at least as much as any steps of which only the bounds of their losses are known.

    Parameters
    ----------
    bounds : iterable of (float, float)
        The most that one step can speak against P and for it: its loss is from the negative of the first to the
        second, whatever the steps before it gave.

    Notes
    -----
    With r the ratio of P to Q, delta(epsilon) is the mean under Q of max(r - e^epsilon, 0), which is convex in r, and
    the mean of r is 1: so none is larger than with r at its two bounds only, as in randomised response (Kairouz, Oh and
    Viswanath, 2017). That it holds for every epsilon and after every earlier answer lets steps be summed (Zhu, Dong and
    Wang, 2022, Theorem 10).

    Examples
    --------
    >>> round(of_bounds([(0.1, 0.1)] * 30).epsilon(1e-6), 2)  # in sum 3.0
    2.35
    """
    ends = np.array(sorted((against, most) for against, most in bounds if against > 0 and most > 0)).reshape(-1, 2)
    upper = np.expm1(-ends[:, 0]) / np.expm1(-ends.sum(axis=1))
    lower = np.exp(-ends[:, 0]) * np.expm1(-ends[:, 1]) / np.expm1(-ends.sum(axis=1))
    loss, mass = ends * [-1.0, 1.0], np.stack([lower, upper], axis=1)
    if 1 << len(ends) <= MOST_ATOMS:
        return _sum_of([Losses(*one) for one in zip(loss, mass, strict=True)])
    return _twos_on_a_grid(loss, mass)


def _sum_of(groups: list[Losses]) -> Losses:
    """The sum of independent losses, exact while it has few atoms."""
    groups.sort(key=lambda one: one.loss.size)
    found = NOTHING
    while groups and found.loss.size * groups[0].loss.size <= MOST_ATOMS:
        found = _sum_of_atoms(found, groups.pop(0))
    if len(groups) == 1 and found is NOTHING:
        return groups[0]
    return _on_a_grid([found, *groups]) if groups else found


NOTHING: Final = Losses(np.zeros(1), np.ones(1))


def _of_one(law: Law, change: int) -> Losses:
    """The loss of one noise, changed by some whole records."""
    match law:
        case DiscreteLaplace(inverse_scale=a):
            return _discrete_laplace(a, change)
        case DiscreteGaussian(sigma=sigma):
            return _discrete_gaussian(sigma, change)
        case Laplace(scale=b):
            return _laplace(change / b)
    raise InputError("NO_LOSSES", f"No privacy losses are known of {law.label} noise beside the other noise here.")


def _discrete_laplace(a: float, change: int) -> Losses:
    """Loss a (change - 2 k), for k from 0 to the change: both tails are at its ends."""
    k = np.arange(change, -1, -1.0)
    mass = math.tanh(a / 2) * np.exp(-a * k)
    mass[-1], mass[0] = 1.0 / (1.0 + math.exp(-a)), math.exp(-a * change) / (1.0 + math.exp(-a))
    return Losses(a * (change - 2.0 * k), mass, step=2.0 * a)


@lru_cache(maxsize=64)
def _discrete_gaussian(sigma: float, change: int) -> Losses:
    """Loss change (change - 2 k) / (2 sigma^2) at k."""
    law = DiscreteGaussian(sigma)
    far = math.ceil(9.0 * sigma)  # beyond lies less than what is negligible, and it is added up, whatever it is
    step = change / sigma**2
    if far > MOST_ATOMS:
        return _cut(law, change, far)
    k = np.arange(far + change, -far - 1, -1.0)
    mass = law.pmf(k)
    mass[0] += float(law.tail(far + change)) / 2
    return Losses(step * (change / 2 - k), mass, float(law.tail(far)) / 2, step)


def _cut(law: DiscreteGaussian, change: int, far: int) -> Losses:
    """Wide noise in cells: a whole number lies in the cell that ends with it."""
    ends = np.unique(np.round(np.linspace(-far - 1, far + change, 4 * CELLS)))[::-1]
    masses = [_between(law, ends - shift) for shift in (0, change)]
    rest = (float(law.tail(far + change)) / 2, float(law.tail(far)) / 2)
    split = _split(change * (change / 2 - ends) / law.sigma**2, *masses)
    split[0] += rest[0]
    return Losses(change * (change / 2 - ends) / law.sigma**2, split, rest[1])


def _between(law: Law, ends: FloatArray) -> FloatArray:
    """P(ends[i + 1] < Z <= ends[i]), from the tail that is nearer."""
    above, below = law.tail(np.maximum(ends, 0.0)) / 2, law.cdf(np.minimum(ends, 0.0))
    upper = np.where(ends >= 0, above, 1.0 - below)
    return np.where(ends[:-1] <= 0, -np.diff(below), np.diff(upper))


def _laplace(ratio: float) -> Losses:
    """The loss runs from -ratio to ratio, with atoms at both ends and a density between; ratio = change / scale."""
    ends = np.linspace(-ratio, ratio, CELLS + 1)
    below = np.exp((ends - ratio) / 2) / 2  # P of a loss up to each
    up = np.diff(below) / (1.0 + math.exp(-ratio / CELLS))  # to the upper end of a cell, so that Q's mass stays too
    mass = np.append(np.diff(below) - up, 0.5) + np.insert(up, 0, below[0])
    return Losses(ends, mass, step=2 * ratio / CELLS)


def _split(ends: FloatArray, with_it: FloatArray, without: FloatArray) -> FloatArray:
    """Give the mass of each cell to its two ends, so that it stays under P and under Q."""
    low, high = ends[:-1], ends[1:]
    up = (with_it - without * np.exp(low)) / -np.expm1(low - high)
    up = np.clip(np.nan_to_num(up), 0.0, with_it)
    return np.append(with_it - up, 0.0) + np.insert(up, 0, 0.0)


def _power(one: Losses, n: int) -> Losses:
    """The sum of n losses of one law: atom by atom where these are few, else of a grid, by doubling."""
    if n == 1:
        return one
    first, even = 0, one
    if not one.step or n * one.loss.size > MOST_SUMMED:
        step = FINE * math.sqrt(one.variance)
        first, mass = _gridded(one, step)
        even = Losses(one.loss[:1], mass, one.certain, step)
    low, mass, certain = 0, np.ones(1), 0.0
    for bit in f"{n:b}":
        low, mass, certain = _cropped(2 * low, np.convolve(mass, mass), 2.0 * certain)
        if bit == "1":
            low, mass, certain = _cropped(low, np.convolve(mass, even.mass), certain + even.certain)
    start = n * one.loss[0] if even is one else n * first * even.step
    return _trimmed(start + low * even.step, even.step, mass, certain)


def _sum_of_atoms(a: Losses, b: Losses) -> Losses:
    """The sum of two losses, every atom by itself."""
    loss, mass = np.add.outer(a.loss, b.loss).ravel(), np.multiply.outer(a.mass, b.mass).ravel()
    order = np.argsort(loss)
    loss, mass = loss[order], mass[order]
    last = np.append(np.diff(loss) > 1e-12 * max(1.0, float(np.abs(loss).max())), True)  # equal but for rounding
    sums = np.add.reduceat(mass, np.append(0, np.flatnonzero(last)[:-1] + 1))
    return Losses(loss[last], sums, a.certain + b.certain)


def _on_a_grid(groups: list[Losses]) -> Losses:
    """The sum of losses of which none is small: each put on one grid, then folded."""
    width = sum(float(one.loss[-1] - one.loss[0]) for one in groups)
    step = min(width / GRID, FINE * math.sqrt(sum(one.variance for one in groups) / len(groups)))
    step = max(step, width / MOST_CELLS)
    low, mass, certain = 0, np.ones(1), 0.0
    for one in groups:
        first, own = _gridded(one, step)
        low, mass, certain = _cropped(low + first, np.convolve(mass, own), certain + one.certain)
    top = math.fsum(one.largest for one in groups) if not certain else None
    return replace(_trimmed(low * step, step, mass, certain), top=top)


def _twos_on_a_grid(loss: FloatArray, mass: FloatArray) -> Losses:
    """The sum of losses of two atoms each, (n, 2): as `_on_a_grid`, moved by atoms."""
    step = float((loss[:, 1] - loss[:, 0]).sum()) / GRID
    cell = np.floor(loss / step).astype(int)
    up = _upper_share(loss, mass, cell, step)
    moves = (cell - cell[:, :1])[:, :, None] + [0, 1]
    shares = np.stack([mass - up, up], axis=2)
    low, found, certain = 0, np.ones(1), 0.0
    steps = zip(cell[:, 0].tolist(), moves.reshape(-1, 4).tolist(), shares.reshape(-1, 4).tolist(), strict=True)
    for first, by, share in steps:
        folded = np.zeros(found.size + by[-1])
        for to, part in zip(by, share, strict=True):
            folded[to : to + found.size] += part * found
        low, found, certain = _cropped(low + first, folded, certain)
    top = math.fsum(loss[:, 1]) if not certain else None
    return replace(_trimmed(low * step, step, found, certain), top=top)


def _gridded(one: Losses, step: float) -> tuple[int, FloatArray]:
    """Return the index of the first point of a grid, and the masses from there on: each atom split between two."""
    first = math.floor(float(one.loss[0]) / step)
    last = max(math.ceil(float(one.loss[-1]) / step) - 1 - first, 0)
    cell = np.clip(np.floor(one.loss / step).astype(int) - first, 0, last)
    up = _upper_share(one.loss, one.mass, first + cell, step)
    own = np.zeros(last + 2)
    np.add.at(own, cell, one.mass - up)
    np.add.at(own, cell + 1, up)
    return first, own


def _upper_share(loss: FloatArray, mass: FloatArray, cell: IntArray, step: float) -> FloatArray:
    """What goes to the upper end of its cell, so that the mass under Q stays too, shape of `loss`."""
    return np.asarray(mass * np.clip(np.expm1(step * cell - loss) / np.expm1(-step), 0.0, 1.0))


def _trimmed(low: float, step: float, mass: FloatArray, certain: float) -> Losses:
    """Atoms a step apart from `low` on, without those that hardly ever happen."""
    first, kept, certain = _cropped(0, mass, certain)
    return Losses(low + step * np.arange(first, first + kept.size, dtype=float), kept, certain, step)


def _cropped(low: int, mass: FloatArray, certain: float) -> tuple[int, FloatArray, float]:
    """Move what hardly ever happens up: from the lower end to the least loss kept, from the upper one to certainty."""
    if mass.size <= MOST_ATOMS:
        return low, mass, certain
    first = int(np.searchsorted(np.cumsum(mass), NEGLIGIBLE))
    last = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), NEGLIGIBLE))
    kept = mass[first:last].copy()
    kept[0] += float(mass[:first].sum())
    return low + first, kept, certain + float(mass[last:].sum())
