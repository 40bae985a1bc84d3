"""What every noise law offers: draws, distribution function and exact moments; and the largest of many noises."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedp_core.checks import InputError

FloatArray = NDArray[np.float64]
Size = int | tuple[int, ...]

_NEGLIGIBLE: Final = 1e-18
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)


class Moments(Protocol):
    """What an expected loss needs to know of an error; one number, or one for each node."""

    @property
    def mean_absolute(self) -> float | FloatArray:
        """E|Z|, in records; (n_nodes,) where each node has a law of its own."""

    def excess_square(self, t: FloatArray) -> FloatArray:
        """E[max(|Z| - t, 0)^2] for t >= 0, shape of `t`, in records squared."""


class Law(abc.ABC):
    """A law symmetric about 0; Z is a draw from it, in records.

    `excess_square` at alpha w is the squared alpha-RMSE of a count w (Ghazi et al., Definition 1.4).
    """

    integer: ClassVar[bool]
    label: ClassVar[str]

    @abc.abstractmethod
    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[Any]:
        """Independent draws, in records, of shape `size`: int64 for a law on the integers, float64 otherwise."""

    @abc.abstractmethod
    def tail(self, t: ArrayLike) -> FloatArray:
        """P(|Z| > t) for t >= 0, shape of `t`, with small relative error however small it is."""

    @abc.abstractmethod
    def excess(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)] for t >= 0, shape of `t`."""

    @abc.abstractmethod
    def excess_square(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)^2] for t >= 0, shape of `t`."""

    @property
    def variance(self) -> float:
        """E[Z^2], in records squared."""
        return float(self.excess_square(0.0))

    @property
    def mean_absolute(self) -> float:
        """E|Z|, in records; (n_nodes,) where each node has a law of its own."""
        return float(self.excess(0.0))

    @property
    def support(self) -> float:
        """Largest possible |Z|, in records."""
        return math.inf

    def margin(self, confidence: float) -> float:
        """Return the smallest t, in records, with P(|Z| > t) <= 1 - confidence; whole for a law on the integers.

        >>> from treedp_core.noise import Laplace
        >>> round(Laplace(1.0).margin(0.95), 6)  # ln 20
        2.995732
        """
        return self.reach(1.0 - confidence)

    def reach(self, miss: float) -> float:
        """Return the smallest t, in records, with P(|Z| > t) <= miss, which may be tiny; whole for whole noise."""
        low, high = 0.0, 1.0
        while float(self.tail(high)) > miss:
            high *= 2.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if float(self.tail(middle)) > miss else (low, middle)
        return float(np.round(high)) if self.integer else high

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(Z <= x), shape of `x`."""
        at = np.asarray(x, dtype=float)
        half = 0.5 * self.tail(np.abs(at))
        return np.where(at < 0, half, 1.0 - half)


class IntegerLaw(Law):
    """A symmetric law on the integers."""

    integer: ClassVar[bool] = True

    @abc.abstractmethod
    def pmf(self, k: ArrayLike) -> FloatArray:
        """P(Z = k), shape of `k`."""

    @abc.abstractmethod
    def upper(self, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of (j - k)^n P(Z = j) over j >= k, for n = 0, 1, 2 and whole numbers k >= 0; each the shape of `k`."""

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(Z <= x), shape of `x`."""
        whole = np.floor(np.asarray(x, dtype=float))
        outer = self.upper(np.where(whole < 0, -whole, whole + 1.0))[0]
        return np.where(whole < 0, outer, 1.0 - outer)

    def tail(self, t: ArrayLike) -> FloatArray:
        """P(|Z| > t) for t >= 0, shape of `t`."""
        return 2.0 * self.upper(np.floor(np.asarray(t, dtype=float)) + 1.0)[0]

    def excess(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)] for t >= 0, shape of `t`."""
        gap, (mass, first, _) = self._above(t)
        return 2.0 * (first + gap * mass)

    def excess_square(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)^2] for t >= 0, shape of `t`."""
        gap, (mass, first, second) = self._above(t)
        return 2.0 * (second + 2.0 * gap * first + gap * gap * mass)

    def _above(self, t: ArrayLike) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        at = np.asarray(t, dtype=float)
        k = np.floor(at) + 1.0
        return k - at, self.upper(k)


def expected_maximum(laws_and_sizes: Sequence[tuple[Law, int]]) -> float:
    """Expectation of the largest |Z_i| of independent noises, in records, to a relative 1e-6.

    Parameters
    ----------
    laws_and_sizes : sequence of (law, n)
        n noises of each law; all laws whole-numbered, or all continuous. Nothing gives 0.

    Raises
    ------
    InputError
        LAWS_MIXED, when whole-number and continuous laws are mixed.

    Notes
    -----
    The integral over x > 0 of 1 - product of P(|Z| <= x)^n; for whole numbers the sum over x = 0, 1, ...; from the
    logarithm of the product, so that n may be huge and the tail tiny. Beyond the reach of a law its factor is 1, so
    each stretch between two reaches is cut as finely as the laws still alive there ask for.
    """
    noises = [(law, n) for law, n in laws_and_sizes if n > 0]
    if len({law.integer for law, _ in noises}) > 1:
        raise InputError("LAWS_MIXED", "Expected only whole-number laws or only continuous laws, got both.")
    total, start = 0.0, 0.0
    for stop in sorted({_reach(law, n) for law, n in noises}):
        alive = [(law, n) for law, n in noises if _reach(law, n) >= stop]
        step = min(math.sqrt(law.variance) for law, _ in alive)
        points, weights = _whole_grid(start, stop, step) if alive[0][0].integer else _panels(start, stop, step)
        log_none = sum((n * np.log1p(-law.tail(points)) for law, n in alive), np.zeros(points.size))
        total, start = total - float(weights @ np.expm1(log_none)), stop
    return total


def _reach(law: Law, n: int) -> float:
    """Point beyond which the largest of n noises hardly ever lies; a whole number for a law on the integers."""
    stop = max(1.0, math.sqrt(law.variance)) if law.integer else math.sqrt(law.variance)
    while stop < law.support and n * float(law.tail(stop)) > _NEGLIGIBLE:
        stop *= 1.25
    return float(math.ceil(stop)) if law.integer else min(stop, law.support)


def _panels(start: float, stop: float, step: float) -> tuple[FloatArray, FloatArray]:
    # panels shrink towards `stop`, where the largest of many bounded noises gathers
    width = stop - start
    even = np.linspace(start, stop, max(2, math.ceil(8.0 * width / step)))
    edges = np.union1d(even, stop - width * 0.5 ** np.arange(1.0, 50.0))
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + _POINTS)).ravel(), (half * _WEIGHTS).ravel()


def _whole_grid(start: float, stop: float, step: float) -> tuple[FloatArray, FloatArray]:
    # every whole number of [start, stop), or for wide laws the middle of each run of an odd number of them: the
    # relative error is (stride / standard deviation)^2 / 24, below 1e-7
    stride = 2 * int(step / 2000.0) + 1
    runs = np.arange(math.floor((stop - start) / stride))
    rest = np.arange(start + runs.size * stride, stop)
    points = np.concatenate([start + runs * stride + stride // 2, rest])
    return points, np.concatenate([np.full(runs.size, float(stride)), np.ones(rest.size)])
