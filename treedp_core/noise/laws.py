"""Noise laws: exact moments, distribution functions and vectorised draws.

Sampling is for simulation: the random bits come from the numpy `Generator` that is passed in, which is not a
cryptographic source. The discrete laws are nevertheless exact laws on the integers, not rounded floats; continuous
laws carry the usual rounding of floats. A release to the public needs secure bits and discrete noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from treedp_core import checks
from treedp_core.noise.exact_draws import BLOCK, draw_discrete_gaussian, draw_discrete_laplace, random_words
from treedp_core.noise.law import FloatArray, IntegerLaw, Law, Size
from treedp_core.noise.normal_tail import density, first_tail, mills, second_tail

SCALE_LOW: Final = 2.0**-40
SCALE_HIGH: Final = 2.0**44  # draws stay far inside 64-bit integers
_LATTICE: Final = 100.0  # up to this sigma discrete Gaussian sums are taken term by term


@dataclass(frozen=True)
class Laplace(Law):
    """Laplace law with density e^(-|x|/scale) / (2 scale).

    >>> Laplace(2.0).variance
    8.0
    """

    scale: float
    integer: ClassVar[bool] = False
    label: ClassVar[str] = "Laplace"

    def __post_init__(self) -> None:
        _check("scale", self.scale)

    def sample(self, rng: np.random.Generator, size: Size) -> FloatArray:
        """Independent draws, in records, of shape `size`: an exponential draw with a fair sign."""
        out = np.empty(size)
        flat = out.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            rng.standard_exponential(out=part)
            np.multiply(part, self.scale, out=part)
            _sign(rng, part)
        return out

    def tail(self, t: ArrayLike) -> FloatArray:
        """P(|Z| > t) for t >= 0, shape of `t`."""
        return np.asarray(np.exp(-np.asarray(t, dtype=float) / self.scale))

    def excess(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)] = scale e^(-t/scale), shape of `t`."""
        return self.scale * self.tail(t)

    def excess_square(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)^2] = 2 scale^2 e^(-t/scale), shape of `t`."""
        return 2.0 * self.scale**2 * self.tail(t)


@dataclass(frozen=True)
class Gaussian(Law):
    """Normal law with standard deviation sigma.

    >>> Gaussian(3.0).variance
    9.0
    """

    sigma: float
    integer: ClassVar[bool] = False
    label: ClassVar[str] = "Gaussian"

    def __post_init__(self) -> None:
        _check("sigma", self.sigma)

    @property
    def variance(self) -> float:
        """sigma^2, in records squared."""
        return self.sigma**2

    def sample(self, rng: np.random.Generator, size: Size) -> FloatArray:
        """Independent draws, in records, of shape `size`."""
        out: FloatArray = rng.standard_normal(size)
        out *= self.sigma
        return out

    def tail(self, t: ArrayLike) -> FloatArray:
        """P(|Z| > t) for t >= 0, shape of `t`."""
        u = np.asarray(t, dtype=float) / self.sigma
        return 2.0 * density(u) * mills(u)

    def excess(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)], shape of `t`."""
        u = np.asarray(t, dtype=float) / self.sigma
        return 2.0 * self.sigma * density(u) * first_tail(u)

    def excess_square(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)^2] = 2 ((sigma^2 + t^2) P(Z > t) - sigma t phi(t/sigma)), shape of `t`."""
        u = np.asarray(t, dtype=float) / self.sigma
        return 2.0 * self.sigma**2 * density(u) * second_tail(u)


@dataclass(frozen=True)
class TruncatedLaplace(Law):
    """Laplace law conditioned on [-bound, bound] (Ghazi et al., Lemma 2.8).

    >>> abs(TruncatedLaplace(1.0, 50.0).variance - 2.0) < 1e-15
    True
    """

    scale: float
    bound: float
    integer: ClassVar[bool] = False
    label: ClassVar[str] = "Truncated Laplace"

    def __post_init__(self) -> None:
        _check("scale", self.scale)
        _check("bound", self.bound)

    @property
    def support(self) -> float:
        """Largest possible |Z|, in records."""
        return self.bound

    def sample(self, rng: np.random.Generator, size: Size) -> FloatArray:
        """Independent draws, in records, of shape `size`, by inversion of the magnitude and a fair sign."""
        out: FloatArray = rng.random(size)
        flat = out.reshape(-1)
        np.log1p(np.multiply(flat, np.expm1(-self.bound / self.scale), out=flat), out=flat)
        np.multiply(flat, -self.scale, out=flat)
        np.minimum(flat, self.bound, out=flat)
        for start in range(0, flat.size, BLOCK):
            _sign(rng, flat[start : start + BLOCK])
        return out

    def tail(self, t: ArrayLike) -> FloatArray:
        """P(|Z| > t) for t >= 0, shape of `t`."""
        return self._partial(t, 1)

    def excess(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)], shape of `t`."""
        return self._partial(t, 2)

    def excess_square(self, t: ArrayLike) -> FloatArray:
        """E[max(|Z| - t, 0)^2], shape of `t`."""
        return 2.0 * self._partial(t, 3)

    def _partial(self, t: ArrayLike, n: int) -> FloatArray:
        # the integral of (x - t)^(n-1) e^(-x/b) / b from t to R is (n-1)! b^(n-1) e^(-t/b) P(n, (R-t)/b), P = gammainc
        at, b = np.asarray(t, dtype=float), self.scale
        room = np.maximum(self.bound - at, 0.0) / b
        mass = -math.expm1(-self.bound / b)
        return np.asarray(b ** (n - 1) * np.exp(-at / b) * special.gammainc(n, room) / mass)


@dataclass(frozen=True)
class DiscreteLaplace(IntegerLaw):
    """Law on the integers with P(k) proportional to e^(-inverse_scale |k|) (DLap(a) of Dawson et al., Definition 5).

    >>> round(DiscreteLaplace(1.0).variance, 9)
    1.841347188
    """

    inverse_scale: float
    label: ClassVar[str] = "Discrete Laplace"

    def __post_init__(self) -> None:
        _check("inverse_scale", self.inverse_scale)

    @property
    def variance(self) -> float:
        """1 / (cosh a - 1) = 1 / (2 sinh(a/2)^2), in records squared."""
        half = math.exp(-self.inverse_scale / 2.0) / -math.expm1(-self.inverse_scale)  # 1 / (2 sinh(a/2))
        return 2.0 * half * half

    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
        """Independent exact draws, in records, of shape `size`, int64."""
        return draw_discrete_laplace(rng, self.inverse_scale, math.prod(_shape(size))).reshape(size)

    def pmf(self, k: ArrayLike) -> FloatArray:
        """P(Z = k) = tanh(a/2) e^(-a |k|), shape of `k`."""
        return np.asarray(math.tanh(self.inverse_scale / 2.0) * np.exp(-self.inverse_scale * np.abs(k)))

    def upper(self, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of (j - k)^n P(Z = j) over j >= k, for n = 0, 1, 2 and whole numbers k >= 0; each the shape of `k`."""
        q, gap = math.exp(-self.inverse_scale), -math.expm1(-self.inverse_scale)
        power = np.exp(-self.inverse_scale * k)
        return power / (1.0 + q), power * q / ((1.0 + q) * gap), power * q / gap**2


@dataclass(frozen=True)
class DiscreteGaussian(IntegerLaw):
    """Law on the integers with P(k) proportional to e^(-k^2 / (2 sigma^2)) (Canonne, Kamath and Steinke, 2020).

    >>> round(DiscreteGaussian(0.5).variance, 9)
    0.215012675
    """

    sigma: float
    label: ClassVar[str] = "Discrete Gaussian"

    def __post_init__(self) -> None:
        _check("sigma", self.sigma)

    @property
    def variance(self) -> float:
        """E[Z^2], a little below sigma^2, in records squared."""
        # by Poisson summation the shortfall is about 8 pi^2 sigma^4 e^(-2 pi^2 sigma^2): relative 1e-31 at sigma = 2
        return self.sigma**2 if self.sigma >= 2.0 else super().variance

    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
        """Independent exact draws, in records, of shape `size`, int64."""
        return draw_discrete_gaussian(rng, self.sigma, math.prod(_shape(size))).reshape(size)

    def pmf(self, k: ArrayLike) -> FloatArray:
        """P(Z = k), shape of `k`."""
        at = np.asarray(k, dtype=float)
        if self.sigma <= _LATTICE:
            return np.asarray(np.exp(-0.5 * (at / self.sigma) ** 2) / _mass(self.sigma))
        return density(at / self.sigma) / self.sigma

    def upper(self, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of (j - k)^n P(Z = j) over j >= k, for n = 0, 1, 2 and whole numbers k >= 0; each the shape of `k`."""
        if self.sigma > _LATTICE:
            return _smooth_upper(self.sigma, k)
        sums = _lattice_upper(self.sigma)
        at = np.minimum(k, sums[0].size - 1).astype(np.intp)
        return sums[0][at], sums[1][at], sums[2][at]


def _check(name: str, value: float) -> None:
    checks.number(name, value, low=SCALE_LOW, high=SCALE_HIGH, code="NOISE_RANGE")


def _shape(size: Size) -> tuple[int, ...]:
    return size if isinstance(size, tuple) else (size,)


def _sign(rng: np.random.Generator, values: FloatArray) -> None:
    signs = random_words(rng, -(-values.size // 8)).view(np.int8)[: values.size]
    np.copysign(values, signs, out=values)


def _mass(sigma: float) -> float:
    reach = np.arange(1.0, math.ceil(40.0 * sigma) + 2.0)
    return 1.0 + 2.0 * float(np.exp(-0.5 * (reach / sigma) ** 2).sum())


@lru_cache(maxsize=64)
def _lattice_upper(sigma: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    # from the far end: A(k) = A(k+1) + p(k), B(k) = B(k+1) + A(k+1), C(k) = C(k+1) + 2 B(k+1) + A(k+1)
    p = np.exp(-0.5 * (np.arange(math.ceil(40.0 * sigma) + 3.0) / sigma) ** 2) / _mass(sigma)
    mass = _from_end(p)
    first = _from_end(_next(mass))
    second = _from_end(2.0 * _next(first) + _next(mass))
    return mass, first, second


def _from_end(values: FloatArray) -> FloatArray:
    return np.asarray(values[::-1].cumsum()[::-1])


def _next(values: FloatArray) -> FloatArray:
    return np.append(values[1:], 0.0)


def _smooth_upper(sigma: float, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    # Euler-Maclaurin at b = k - 1/2: the sum of g(j) over j >= k is (integral of g from b) + g'(b)/24 - 7 g'''(b)/5760;
    # here for g = (x - k)^n f with f the normal density; the next term is below 1e-16 of the density for sigma > 100
    v, s = (k - 0.5) / sigma, sigma
    d0 = density(v) / s
    d1, d2, d3 = -v * d0 / s, (v * v - 1.0) * d0 / s**2, (3.0 - v * v) * v * d0 / s**3
    i0, i1, i2 = s * d0 * mills(v), s**2 * d0 * first_tail(v), s**3 * d0 * second_tail(v)
    mass = i0 + d1 / 24.0 - 7.0 * d3 / 5760.0
    first = i1 - 0.5 * i0 + (d0 - 0.5 * d1) / 24.0 - 7.0 * (3.0 * d2 - 0.5 * d3) / 5760.0
    second = i2 - i1 + 0.25 * i0 + (0.25 * d1 - d0) / 24.0 - 7.0 * (6.0 * d1 - 3.0 * d2 + 0.25 * d3) / 5760.0
    return mass, first, second
