"""The truncated Laplace mechanism (Ghazi et al., Lemma 2.8) on the reals and on the integers.

A unit shift of Laplace noise cut off at R is (epsilon, delta)-indistinguishable where delta is the mass that falls
outside the other support. Bounds are rounded up, so that what is promised always holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise.exact_draws import draw_discrete_laplace
from treedp_core.noise.law import FloatArray, IntegerLaw, Size

_RARE: Final = 0.05  # from this share of accepted draws on, rejection is worth it
_SLACK: Final = 1e-13  # relative; far above the rounding of the few float operations of a bound, far below any use
MAX_DISCRETE_BOUND: Final = 2**40


def truncated_bound(epsilon: float, delta: float) -> float:
    """Smallest R (in records, rounded up) that makes TruncLap(1/epsilon, R) (epsilon, delta)-private for unit shifts.

    R = ln(1 + (e^epsilon - 1) / (2 delta)) / epsilon (Ghazi et al., Lemma 2.8; it is exact, not only sufficient).

    Raises
    ------
    InputError
        NOISE_RANGE or DELTA_RANGE.

    >>> round(truncated_bound(1.0, 1e-6), 6)
    13.663689
    """
    e, d = _pair(epsilon, delta)
    return _up(_log_one_plus_ratio(e, 2.0 * d) / e)


def discrete_delta(epsilon: float, bound: int) -> float:
    """Exact delta of a unit shift of the discrete truncated Laplace law on -bound, ..., bound: the mass of one end.

    With q = e^-epsilon: q^R (1 - q) / (1 + q - 2 q^(R+1)).

    >>> discrete_delta(1.0, 0)
    1.0
    """
    e = checks.number("epsilon", epsilon, low=0, open_low=True, code="NOISE_RANGE")
    r = checks.integer("bound", bound, low=0, high=MAX_DISCRETE_BOUND, code="NOISE_RANGE")
    # 1 + q - 2 q^(R+1) = 2 (1 - q^(R+1)) - (1 - q), without cancellation
    return math.exp(-e * r) * math.expm1(-e) / (2.0 * math.expm1(-e * (r + 1)) - math.expm1(-e))


def discrete_bound(epsilon: float, delta: float) -> int:
    """Smallest whole R, in records, whose discrete truncated Laplace law is (epsilon, delta)-private for unit shifts.

    R = ceil(ln((e^epsilon - 1 + 2 delta) / (delta (e^epsilon + 1))) / epsilon), then checked against the exact delta.

    Raises
    ------
    InputError
        NOISE_RANGE or DELTA_RANGE.

    >>> discrete_bound(1.0, 1e-6)
    14
    """
    e, d = _pair(epsilon, delta)
    # ln((e^e - 1 + 2 d) / (e^e + 1)) with e^-e multiplied through: (1 - q + 2 d q) / (1 + q)
    q = math.exp(-e)
    start = (math.log((-math.expm1(-e) + 2.0 * d * q) / (1.0 + q)) - math.log(d)) / e
    if start > MAX_DISCRETE_BOUND - 2:
        raise InputError("NOISE_RANGE", "Noise this wide cannot be drawn exactly; choose a larger epsilon or delta.")
    bound = max(0, math.ceil(start) - 1)
    while discrete_delta(e, bound) * (1.0 + _SLACK) > d:
        bound += 1
    return bound


@dataclass(frozen=True)
class DiscreteTruncatedLaplace(IntegerLaw):
    """Law on -bound, ..., bound with P(k) proportional to e^(-inverse_scale |k|).

    >>> law = DiscreteTruncatedLaplace(1.0, 3)
    >>> round(float(law.pmf(np.arange(-3, 4)).sum()), 12)
    1.0
    """

    inverse_scale: float
    bound: int
    label: ClassVar[str] = "Discrete truncated Laplace"

    def __post_init__(self) -> None:
        checks.number("inverse_scale", self.inverse_scale, low=0, open_low=True, code="NOISE_RANGE")
        checks.integer("bound", self.bound, low=0, high=MAX_DISCRETE_BOUND, code="NOISE_RANGE")

    @property
    def support(self) -> float:
        """Largest possible |Z|, in records."""
        return float(self.bound)

    def pmf(self, k: ArrayLike) -> FloatArray:
        """P(Z = k), shape of `k`."""
        at = np.abs(np.asarray(k, dtype=float))
        return np.where(at <= self.bound, np.exp(-self.inverse_scale * at) / self._mass, 0.0)

    def upper(self, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of (j - k)^n P(Z = j) over j >= k, for n = 0, 1, 2 and whole numbers k >= 0; each the shape of `k`."""
        # sums of j^n q^j over j = 0..m, times q^k / mass, m = R - k; m < 0 leaves nothing
        q, gap = math.exp(-self.inverse_scale), -math.expm1(-self.inverse_scale)
        m = self.bound - np.asarray(k, dtype=float)
        inside = m >= 0
        m = np.maximum(m, 0.0)
        weight = np.where(inside, np.exp(-self.inverse_scale * np.asarray(k, dtype=float)) / self._mass, 0.0)
        end = np.exp(-self.inverse_scale * (m + 1.0))
        zeroth = -np.expm1(-self.inverse_scale * (m + 1.0)) / gap
        first = (q * zeroth - (m + 1.0) * end) / gap
        second = (q * (zeroth + 2.0 * first) - (m + 1.0) ** 2 * end) / gap
        return weight * zeroth, weight * first, weight * second

    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
        """Independent draws of shape `size`, int64: a discrete Laplace law, drawn again beyond the bound; so exact.

        Where less than a twentieth of that law is within the bound, by inversion, to the rounding of floats.
        """
        shape = size if isinstance(size, tuple) else (size,)
        if self._share_inside < _RARE:
            return self._by_inversion(rng, shape)
        out = draw_discrete_laplace(rng, self.inverse_scale, math.prod(shape))
        while (beyond := np.flatnonzero(np.abs(out) > self.bound)).size:
            out[beyond] = draw_discrete_laplace(rng, self.inverse_scale, beyond.size)
        return out.reshape(shape)

    def _by_inversion(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
        # a bound far inside the scale: P(|Z| >= k) = 2 (q^k - q^(R+1)) / ((1 - q) mass) for k >= 1, to float rounding
        a, end = self.inverse_scale, math.exp(-self.inverse_scale * (self.bound + 1))
        level = 0.5 * rng.random(shape) * self._mass * -math.expm1(-a) + end
        magnitude = np.clip(np.floor(-np.log(level) / a), 0, self.bound).astype(np.int64)
        return np.where(rng.random(shape) < 0.5, magnitude, -magnitude)

    @property
    def _share_inside(self) -> float:
        """Probability that the discrete Laplace law is within the bound, 1 - 2 q^(R+1) / (1 + q)."""
        a = self.inverse_scale
        return (math.expm1(-a) - 2.0 * math.expm1(-a * (self.bound + 1))) / (2.0 + math.expm1(-a))

    @property
    def _mass(self) -> float:
        # sum of q^|k| = (1 + q - 2 q^(R+1)) / (1 - q)
        a = self.inverse_scale
        return (math.expm1(-a) - 2.0 * math.expm1(-a * (self.bound + 1))) / -math.expm1(-a)


def _pair(epsilon: float, delta: float) -> tuple[float, float]:
    e = checks.number("epsilon", epsilon, low=0, open_low=True, code="NOISE_RANGE")
    d = checks.number("delta", delta, low=0, high=1, open_low=True, open_high=True, code="DELTA_RANGE")
    return e, d


def _log_one_plus_ratio(epsilon: float, divisor: float) -> float:
    """ln(1 + (e^epsilon - 1) / divisor), safe where e^epsilon overflows or the ratio is tiny."""
    if epsilon < 500.0:
        return math.log1p(math.expm1(epsilon) / divisor)
    return epsilon + math.log(math.exp(-epsilon) + -math.expm1(-epsilon) / divisor)


def _up(value: float) -> float:
    return value * (1.0 + _SLACK)
