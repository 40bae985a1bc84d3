"""P(|X| <= t) of a sum of independent symmetric noises, from its characteristic function, between proved bounds.

X = sum of m_i copies of c_i Z_i. Its characteristic function f is a product of known ones, even and positive here.
Taken modulo a period T, X has a Fourier series with coefficients f(2 pi n / T), and |X| <= t means that X / T lies in
an arc. Three ways to sum the series, each with what it may be off by:

- X on a lattice (whole-number noise, coefficients with a common divisor): a discrete transform gives every atom.
- Whole-number noise otherwise: f does not die out, so the arc's indicator is bounded from both sides by Selberg's
  trigonometric polynomials of degree N (Montgomery, 1994, chapter 1; Vaaler, 1985): proved whatever comes after N.
- Continuous noise: f falls, and a bound on what is left out after N.

Beyond that X leaves the period with a probability that Chernoff's bound keeps below `LOST`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.tree import AnyArray, FloatArray, IntArray

LOST: Final = 1e-7
"""Probability that may fall outside the period."""
FINE: Final = 1e-9
"""Of discrete Laplace noise e^(-rate |k|): below it whole numbers are as good as all."""
FAINT: Final = -28.0
"""Logarithm of a characteristic function that is taken for 0: 7e-13."""
TERMS: Final = 1 << 15
MOST_TERMS: Final = 1 << 18
MOST_ATOMS: Final = 1 << 19
DIVISORS: Final = np.arange(1, 65)
TILTS: Final = np.geomspace(1e-3, 0.999, 60)
ROUNDING: Final = 1e-9
BATCH: Final = 4_000_000
BLOCK: Final = 256
"""Terms of a series that are added up together."""
WIDEST: Final = 8
"""Kinds that are asked one after the other, so that most points are faint when the others come."""
TOGETHER: Final = 400_000


@dataclass(frozen=True, eq=False)
class NoiseSum:
    """A sum of independent noises, times coefficients.

    Parameters
    ----------
    laws : tuple of Law
        The four laws of level noise.
    which : (n,)
        Law of each kind of summand, by its place in `laws`.
    coefficient : (n,)
    copies : (n,)
        How many independent noises of that kind there are.
    """

    laws: tuple[Law, ...]
    which: IntArray
    coefficient: FloatArray
    copies: FloatArray

    def within(self, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound of P(|X| <= reach), shape of `reach`.

        >>> sum_of_two = NoiseSum((Laplace(1.0),), np.zeros(1, dtype=int), np.ones(1), np.array([2.0]))
        >>> low, high = sum_of_two.within(np.array([2.0]))  # by hand: 1 - (1 + 2 / 2) e^-2
        >>> round(float(low[0]), 6), bool(high[0] - low[0] < 1e-6)
        (0.729329, True)
        """
        reach = np.asarray(reach, dtype=np.float64)
        if not self.coefficient.any():
            return np.ones(reach.shape), np.ones(reach.shape)
        one = self._single
        if one is not None:
            exact = 1.0 - one[0].tail(reach * (1.0 + ROUNDING) / one[1])
            return exact, exact
        wanted, back = np.unique(reach, return_inverse=True)
        low, high = np.full(wanted.size, 1.0 - LOST), np.ones(wanted.size)
        inside = wanted < self.range
        if inside.any():
            low[inside], high[inside] = self._by_series(wanted[inside])
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return low[back].reshape(reach.shape), high[back].reshape(reach.shape)

    @cached_property
    def range(self) -> float:
        """A bound that |X| exceeds with probability at most `LOST` (Chernoff), in records."""
        theta = self._largest_tilt * TILTS
        grown = np.full(theta.size, math.log(2.0 / LOST))
        for law, c, m in self._by_law:
            grown += _log_mgf(law, np.abs(c)[:, None] * theta).T @ m
        return float((grown / theta).min())

    def characteristic(self, step: float, n: IntArray) -> FloatArray:
        """Return the characteristic function at `step` times consecutive whole `n` (n,); what is below 7e-13 is 0.

        Kinds in the order of their variance: where the product is already faint the others are not asked.
        """
        spread = self.copies * np.square(self.coefficient) * self._variance
        log, alive = np.zeros(n.size), None  # all of them as long as none is faint
        order = np.argsort(-spread, kind="stable")
        for place, i in enumerate(order.tolist()):
            n_alive = n.size if alive is None else alive.size
            if place >= WIDEST and n_alive * (order.size - place) <= TOGETHER:
                alive = np.arange(n.size) if alive is None else alive
                log[alive] += self._log_product(order[place:], step * n[alive])
                break
            law = self.laws[int(self.which[i])]
            size = abs(float(self.coefficient[i]))
            if alive is None:
                if isinstance(law, DiscreteLaplace):
                    log += self.copies[i] * _log_cf_of_discrete_laplace(law, _sines(0.5 * size * step, n))
                else:
                    log += self.copies[i] * _log_cf(law, np.asarray(size * (step * n)))
                alive = None if log.min(initial=0.0) > FAINT else np.flatnonzero(log > FAINT)
            else:
                log[alive] += self.copies[i] * _log_cf(law, np.asarray(size * (step * n[alive])))
                alive = alive[log[alive] > FAINT]
        if alive is None:
            return np.asarray(np.exp(log))
        found = np.zeros(n.size)
        found[alive] = np.exp(log[alive])
        return found

    def _log_product(self, kinds: IntArray, s: AnyArray) -> FloatArray:
        """Logarithm of the product of some kinds' characteristic functions, all at once."""
        log = np.zeros(s.size)
        for k, law in enumerate(self.laws):
            here = kinds[self.which[kinds] == k]
            log += self.copies[here] @ _log_cf(law, np.abs(self.coefficient[here])[:, None] * s)
        return log

    @property
    def n_draws(self) -> int:
        """How many values one draw of X takes: a sum of copies is one where its own law is known."""
        return sum(1 if _is_summed(self.laws[k]) else int(m) for k, m in zip(self.which, self.copies, strict=True))

    def draw(self, rng: np.random.Generator, trials: int) -> FloatArray:
        """Return draws of X, (trials,)."""
        total = np.zeros(trials)
        for k, c, m in zip(self.which.tolist(), self.coefficient.tolist(), self.copies.tolist(), strict=True):
            total += c * _sum_of(self.laws[k], int(m), rng, trials)
        return total

    # ---- the three sums

    def _by_series(self, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.laws[0].integer:
            return self._falling(wanted)
        step = self._lattice
        if step is not None and self.range / step < MOST_ATOMS / 4:
            return self._atoms(wanted, step)
        return self._selberg(wanted)

    def _atoms(self, wanted: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        n = 1 << math.ceil(math.log2(2.0 * self.range / step + 4.0))
        mass = np.fft.irfft(self.characteristic(2.0 * math.pi / (n * step), np.arange(n // 2 + 1)), n)
        mass = np.maximum(mass, 0.0)
        both = np.cumsum(np.append(mass[0], 2.0 * mass[1 : n // 2]))
        at = np.floor(wanted * (1.0 + ROUNDING) / step).astype(np.int64)
        return both[at] - LOST - 1e-11, both[at] + LOST + 1e-11

    def _selberg(self, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
        period, (of_sines, of_cosines) = self.range + float(wanted.max()), _tapers()
        f = self.characteristic(2.0 * math.pi / period, np.arange(1, TERMS + 1))
        sines, cosines = _series(wanted / period, f * of_sines, f * of_cosines)
        middle = 2.0 * wanted / period + 2.0 * sines.imag
        room = (1.0 + 2.0 * cosines.real) / (TERMS + 1)
        room = np.abs(room) + 1e-11
        return middle - room - LOST, middle + room

    def _falling(self, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
        period, terms, left = self.range + float(wanted.max()), TERMS // 16, math.inf
        while left > 1e-8 and terms < MOST_TERMS:
            terms *= 4
            left = self._left_after(2.0 * np.pi * terms / period)
        n = np.arange(1, terms + 1)
        f = self.characteristic(2.0 * math.pi / period, n)
        middle = 2.0 * wanted / period + 2.0 * _series(wanted / period, f / (np.pi * n))[0].imag
        return middle - left - LOST - 1e-11, middle + left + 1e-11

    def _left_after(self, s: float) -> float:
        """What the series holds beyond s, at most: f falls at least as fast as its widest factor 1 / (1 + b^2 s^2)."""
        scale = max(
            (abs(c) * law.scale for k, c in zip(self.which.tolist(), self.coefficient.tolist(), strict=True)
             if isinstance(law := self.laws[k], Laplace)), default=0.0,
        )  # fmt: skip
        f = max(float(self.characteristic(s, np.ones(1, dtype=np.int64))[0]), math.exp(FAINT))
        return float(f / math.pi * (1.0 + (scale * s) ** -2)) if scale else f

    # ---- what kind of sum it is

    @cached_property
    def _single(self) -> tuple[Law, float] | None:
        """The law and the coefficient where there is but one noise."""
        some = np.flatnonzero(np.abs(self.coefficient) > 1e-12 * np.abs(self.coefficient).max())
        if some.size > 1 or self.copies[some[0]] != 1:
            return None
        return self.laws[int(self.which[some[0]])], abs(float(self.coefficient[some[0]]))

    @cached_property
    def _lattice(self) -> float | None:
        """The largest step that all coefficients are multiples of, if it is a 64th of the smallest one or more."""
        c = np.abs(self.coefficient[np.abs(self.coefficient) > 1e-12 * np.abs(self.coefficient).max()])
        ratio = c[:, None] * DIVISORS / c.min()
        fits = (np.abs(ratio - np.rint(ratio)) <= ROUNDING * ratio).all(axis=0)
        return float(c.min() / DIVISORS[np.argmax(fits)]) if fits.any() else None

    @property
    def _largest_tilt(self) -> float:
        """Largest theta for which every E e^(theta c Z) is finite, or as far as is worth looking."""
        ends = [_tilt_end(law) / np.abs(c).max() for law, c, _ in self._by_law if c.any()]
        wide = np.array([law.sigma**2 if isinstance(law, DiscreteGaussian) else law.variance for law in self.laws])
        spread = math.sqrt(self.copies @ (np.square(self.coefficient) * wide[self.which]))  # sigma 0.02: variance 0
        return float(min(*ends, 50.0 / spread if spread else math.inf, math.inf))

    @cached_property
    def _variance(self) -> FloatArray:
        return np.array([law.variance for law in self.laws])[self.which]

    @cached_property
    def _by_law(self) -> list[tuple[Law, FloatArray, FloatArray]]:
        """Coefficients and copies of each law that occurs."""
        each = ((law, self.which == k) for k, law in enumerate(self.laws))
        return [(law, self.coefficient[here], self.copies[here]) for law, here in each if here.any()]


def _series(at: FloatArray, *weights: FloatArray) -> list[AnyArray]:
    """Sum over n = 1, 2, ... of weight[n - 1] e^(2 pi i n at), complex, shape of `at`, for weights of one size.

    With n = block w + k the wave is a product, so that each block is one sum over k of waves that all blocks share.
    """
    size = weights[0].size
    blocks = -(-size // BLOCK)
    tables = [np.append(one, np.zeros(blocks * BLOCK - size)).reshape(blocks, BLOCK).T for one in weights]
    totals, rows = [np.empty(at.size, dtype=complex) for _ in weights], max(1, BATCH // (BLOCK + blocks))
    for begin in range(0, at.size, rows):
        turn = 2.0 * np.pi * at[begin : begin + rows, None]
        near, far = np.arange(1, BLOCK + 1) * turn, np.arange(blocks) * (BLOCK * turn)
        cosines, sines, waves = np.cos(near), np.sin(near), np.exp(1j * far)
        for total, table in zip(totals, tables, strict=True):
            by_block = cosines @ table + 1j * (sines @ table)
            total[begin : begin + rows] = (by_block * waves).sum(axis=1)
    return totals


def _sines(step: float, n: IntArray) -> FloatArray:
    """sin(step n) for consecutive n: one sine for each block and for each place in one, by the sum of angles."""
    blocks = -(-n.size // BLOCK)
    far, near = step * (n[0] + BLOCK * np.arange(blocks)[:, None]), step * np.arange(BLOCK)
    found = np.sin(far) * np.cos(near)
    found += np.cos(far) * np.sin(near)
    return np.asarray(found.ravel()[: n.size])


@lru_cache(maxsize=1)
def _tapers() -> tuple[FloatArray, FloatArray]:
    """Weights of Selberg's polynomials of degree `TERMS`: of the sines over pi n, and of the cosines."""
    n = np.arange(1, TERMS + 1)
    u = n / (TERMS + 1)
    return (np.pi * u * (1.0 - u) / np.tan(np.pi * u) + u) / (np.pi * n), 1.0 - u


def _is_summed(law: Law) -> bool:
    """Whether `_sum_of` draws a sum of copies at once."""
    return isinstance(law, Laplace | DiscreteLaplace)


def _sum_of(law: Law, copies: int, rng: np.random.Generator, trials: int) -> FloatArray:
    """Draws of the sum of so many independent copies, (trials,).

    Laplace noise is the difference of two exponential values and a sum of those is a gamma one; discrete Laplace noise
    that of two geometric values and a sum of those is negative binomial.
    """
    match law:
        case DiscreteLaplace(rate) if rate > FINE:
            up, down = (rng.negative_binomial(copies, -np.expm1(-rate), trials) for _ in range(2))
            return np.asarray(up - down, dtype=np.float64)
        case Laplace() | DiscreteLaplace():
            scale = law.scale if isinstance(law, Laplace) else 1.0 / law.inverse_scale
            return np.asarray(scale * (rng.gamma(copies, size=trials) - rng.gamma(copies, size=trials)))
    total = np.zeros(trials)
    for _ in range(copies):
        total += law.sample(rng, trials)
    return total


def _log_cf(law: Law, s: FloatArray) -> FloatArray:
    """Logarithm of E e^(i s Z)."""
    match law:
        case Laplace(scale):
            return np.asarray(-np.log1p(np.square(scale * s)))
        case DiscreteLaplace():
            return _log_cf_of_discrete_laplace(law, np.sin(s / 2.0))
        case Gaussian(sigma):
            return np.asarray(-0.5 * np.square(sigma * s))
        case DiscreteGaussian(sigma):
            return _log_cf_of_discrete_gaussian(sigma, np.remainder(s + np.pi, 2.0 * np.pi) - np.pi)
    raise TypeError(law.label)


def _log_cf_of_discrete_laplace(law: DiscreteLaplace, half: FloatArray) -> FloatArray:
    """From sin(s / 2), whose place it takes: 1 - cos s is twice its square."""
    half /= math.sinh(min(law.inverse_scale, 300.0) / 2.0)
    np.square(half, out=half)
    np.log1p(half, out=half)
    return np.asarray(np.negative(half, out=half))


def _log_cf_of_discrete_gaussian(sigma: float, s: FloatArray) -> FloatArray:
    """For s in [-pi, pi]: the sum of cos(k s) P(k), or by Poisson's formula the sum over its period of a normal one."""
    if sigma < 1.0:
        k = np.arange(1, 12)
        weight = np.exp(-0.5 * np.square(k / sigma))
        return np.asarray(np.log1p(2.0 * (np.cos(np.multiply.outer(s, k)) - 1.0) @ weight / (1.0 + 2.0 * weight.sum())))
    shift = 2.0 * np.pi * np.arange(-2, 3)
    whole = np.exp(-0.5 * np.square(sigma * shift)).sum()
    gain = np.exp(-0.5 * sigma**2 * (np.square(s[..., None] + shift) - np.square(s[..., None]))).sum(axis=-1)
    return np.asarray(-0.5 * np.square(sigma * s) + np.log(gain / whole))


def _log_mgf(law: Law, theta: FloatArray) -> FloatArray:
    """Logarithm of E e^(theta Z), or a bound of it."""
    match law:
        case Laplace(scale):
            return np.asarray(-np.log1p(-np.square(scale * theta)))
        case DiscreteLaplace(rate):
            return np.asarray(-np.log1p(-np.square(np.sinh(theta / 2.0) / math.sinh(min(rate, 300.0) / 2.0))))
        case Gaussian(sigma) | DiscreteGaussian(sigma):  # the discrete one: Canonne, Kamath and Steinke, 2020
            return np.asarray(0.5 * np.square(sigma * theta))
    raise TypeError(law.label)


def _tilt_end(law: Law) -> float:
    match law:
        case Laplace(scale):
            return 1.0 / scale
        case DiscreteLaplace(rate):
            return min(rate, 300.0)
    return math.inf
