"""Conversions between rho (zero-concentrated privacy) and (epsilon, delta), each rounded in the safe direction.

Every returned epsilon, delta or sigma is an upper bound, every returned rho a lower bound, float rounding included.
A bound of Canonne, Kamath and Steinke holds for every order, so an inexact minimiser costs tightness, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise.normal_tail import density, first_tail, mills
from treedp_core.privacy.rounding import quotient_above, sqrt_above
from treedp_core.words import float_below

_ULP: Final = 2.0**-52
_TINY: Final = 1e-300
RHO_HIGH: Final = 1000.0
SPARE: Final = 2.0**-43
"""Part of an epsilon that is not spent: a split may cost a little less than its total, and epsilons of nearly equal rho
differ by their rounding, so the smaller one's could be the larger by some units in the last place."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@lru_cache(maxsize=4096)
def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Smallest delta for which continuous Gaussian noise is (epsilon, delta)-private, rounded up.

    Parameters
    ----------
    epsilon : float
        Privacy loss, at least 0.
    sigma : float
        Standard deviation of the noise, in records.
    sensitivity : float
        L2 sensitivity Delta of the released vector, in records.

    Notes
    -----
    Balle and Wang (2018), Theorem 8: delta = Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m), m = Delta/sigma.

    >>> round(gaussian_delta(1.0, 4.2246788893268353), 12)
    1e-06
    """
    loss = checks.number("epsilon", epsilon, low=0, code="EPS_RANGE")
    spread = checks.number("sigma", sigma, low=0, open_low=True)
    return _shift_delta(loss, quotient_above(checks.number("sensitivity", sensitivity, low=0), spread))


@lru_cache(maxsize=4096)
def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Smallest sigma that makes continuous Gaussian noise (epsilon, delta)-private, rounded up (Balle and Wang, 2018).

    The result satisfies ``gaussian_delta(epsilon, result, sensitivity) <= delta``.

    >>> round(gaussian_sigma(1.0, 1e-6), 12)
    4.224678889327
    """
    loss = checks.number("epsilon", epsilon, low=0, open_low=True, code="EPS_RANGE")
    delta = checks.delta_of_conversion(delta)
    size = checks.number("sensitivity", sensitivity, low=0, open_low=True)
    sigma = quotient_above(size, _largest_shift(loss, delta))
    while gaussian_delta(loss, sigma, size) > delta:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


@lru_cache(maxsize=4096)
def rho_to_delta(rho: float, epsilon: float) -> float:
    """Delta for which rho-zero-concentrated privacy implies (epsilon, delta)-privacy, rounded up.

    Canonne, Kamath and Steinke (2020), Corollary 13: the infimum over orders a > 1 of
    e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).

    >>> rho_to_delta(0.1, 2.1419) < 1.001e-6
    True
    """
    cost = _check_rho(rho)
    loss = checks.number("epsilon", epsilon, low=0, code="EPS_RANGE")
    # with u = a - 1, the derivative of log delta is (1 + 2u) rho - epsilon - log(1 + 1/u), which increases in u
    u = _root(lambda v: (1.0 + 2.0 * v) * cost - loss - math.log1p(1.0 / v))
    terms = (u * (1.0 + u) * cost, -u * loss, -math.log(u), -(1.0 + u) * math.log1p(1.0 / u))
    return min(1.0, math.exp(min(0.0, _sum_above(terms))) * (1.0 + 4.0 * _ULP) + _TINY)


@lru_cache(maxsize=4096)
def rho_to_epsilon(rho: float, delta: float) -> float:
    """Epsilon for which rho-zero-concentrated privacy implies (epsilon, delta)-privacy, rounded up.

    The bound of `rho_to_delta` solved for epsilon. It holds for discrete as well as continuous Gaussian noise.

    >>> round(rho_to_epsilon(0.1, 1e-6), 4)
    2.1419
    """
    cost, delta = _check_rho(rho), checks.delta_of_conversion(delta)
    log_inverse = -math.log(delta)
    # the derivative in u = a - 1 vanishes where rho u^2 = log(1/delta) - log(1 + u)
    u = _root(lambda v: cost * v * v + math.log1p(v) - log_inverse)
    terms = ((1.0 + u) * cost, -math.log1p(1.0 / u), log_inverse / u, -math.log1p(u) / u)
    return max(0.0, _sum_above(terms))


def rho_to_epsilon_simple(rho: float, delta: float) -> float:
    """Epsilon by the textbook conversion rho + 2 sqrt(rho log(1/delta)), rounded up (Bun and Steinke, 2016).

    Looser than `rho_to_epsilon`; kept to compare with printed tables.

    >>> round(rho_to_epsilon_simple(0.1, 1e-6), 4)
    2.4508
    """
    cost, delta = _check_rho(rho), checks.delta_of_conversion(delta)
    return _sum_above((cost, 2.0 * math.sqrt(cost * -math.log(delta))))


@lru_cache(maxsize=4096)
def rho_to_epsilon_gaussian(rho: float, delta: float) -> float:
    """Epsilon of continuous Gaussian noise whose levels cost rho in total, rounded up.

    Composed Gaussian releases are one Gaussian release with Delta/sigma = sqrt(2 rho), so Balle and Wang's Theorem 8
    is exact here. It does not cover discrete Gaussian noise; use `rho_to_epsilon` for that.

    >>> round(rho_to_epsilon_gaussian(0.1, 1e-6), 4)
    1.9945
    """
    cost, delta = _check_rho(rho), checks.delta_of_conversion(delta)
    shift = sqrt_above(2 * cost)
    if _shift_delta(0.0, shift) <= delta:
        return 0.0
    enough = rho_to_epsilon(cost, delta)
    while _shift_delta(enough, shift) > delta:
        enough = 2.0 * enough + _TINY
    return _bisect(lambda loss: _shift_delta(loss, shift) <= delta, enough, 0.0)


@lru_cache(maxsize=4096)
def epsilon_to_rho(epsilon: float, delta: float, continuous_gaussian: bool) -> float:
    """Largest rho whose tight conversion stays within (epsilon, delta), rounded down.

    Parameters
    ----------
    epsilon, delta : float
        The target guarantee; delta in (0, 1).
    continuous_gaussian : bool
        True uses `rho_to_epsilon_gaussian` (continuous Gaussian noise only), False `rho_to_epsilon`.

    >>> rho_to_epsilon(epsilon_to_rho(1.0, 1e-6, False), 1e-6) <= 1.0
    True
    """
    loss = checks.number("epsilon", epsilon, low=0, open_low=True, code="EPS_RANGE")
    delta = checks.delta_of_conversion(delta)
    forward = rho_to_epsilon_gaussian if continuous_gaussian else rho_to_epsilon
    aim = loss * (1.0 - SPARE)
    rho = (
        float_below(Fraction(_largest_shift(aim, delta)) ** 2 / 2) if continuous_gaussian else _largest_rho(aim, delta)
    )
    step = 2.0 * _ULP
    while forward(rho, delta) > loss * (1.0 - SPARE / 2.0):
        rho, step = rho * (1.0 - step), 2.0 * step
    return rho


def mean_shift(epsilon: float, delta: float = 0.0) -> float:
    """Return how far apart two (epsilon, delta)-close laws can have their means: squared, over their common variance.

    r = 4 kappa^2 / (1 - kappa^2), rounded up, where kappa = t + (1 - t) sqrt(delta) and t = tanh(epsilon / 2): without
    delta 4 sinh(epsilon / 2)^2. Gaussian noise has 2 rho.

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_RANGE``.

    Notes
    -----
    Let p and q be the laws, mu apart in mean, of variances of at most s^2; m half way between. With
    h = (p - e^epsilon q)_+ + (q - e^epsilon p)_+, whose integral is at most 2 delta, |p - q| <= t (p + q) + (1 - t) h.
    Hence mu = |integral of (x - m)(p - q)| <= 2 kappa sqrt(s^2 + mu^2 / 4) by Cauchy and Schwarz, or mu^2 / s^2 <= r.

    >>> round(mean_shift(1.0) / 2.0, 9), round(math.cosh(1.0) - 1.0, 9)
    (0.543080635, 0.543080635)
    """
    e = math.exp(-checks.epsilon(epsilon))
    root = math.sqrt(checks.delta(delta))
    t, less = (1.0 - e) / (1.0 + e), 2.0 * e / (1.0 + e)
    kappa = t + less * root
    return 4.0 * kappa**2 / (less * (1.0 - root) * (1.0 + kappa)) * (1.0 + 1e-12)


def _check_rho(rho: float) -> float:
    return checks.number("rho", rho, low=0, open_low=True, code="RHO_RANGE")


def _largest_rho(epsilon: float, delta: float) -> float:
    # where both conditions above meet, (log(1/delta) - log(1 + u)) (1 + 2u) = u^2 (epsilon + log(1 + 1/u)); the
    # right-hand side over (1 + 2u) increases in u, so the root is unique, and there rho = (epsilon + log..)/(1 + 2u)
    log_inverse = -math.log(delta)
    u = _root(lambda v: v * v * (epsilon + math.log1p(1.0 / v)) / (1.0 + 2.0 * v) + math.log1p(v) - log_inverse)
    return (epsilon + math.log1p(1.0 / u)) / (1.0 + 2.0 * u)


def _largest_shift(epsilon: float, delta: float) -> float:
    good = 1.0
    while _shift_delta(epsilon, good) > delta:
        good *= 0.5
    bad = 2.0 * good
    while _shift_delta(epsilon, bad) <= delta:
        good, bad = bad, 2.0 * bad
    return _bisect(lambda shift: _shift_delta(epsilon, shift) <= delta, good, bad)


def _shift_delta(epsilon: float, shift: float) -> float:
    """Upper bound on the exact delta of N(shift, 1) against N(0, 1), to a relative 1e-12 or so."""
    if shift == 0.0:
        return 0.0
    x = epsilon / shift - shift / 2.0
    if x > 40.0:
        return _TINY
    if shift < 1.0:  # phi(x) (mills(x) - mills(x + m)) as an integral, because the difference cancels
        points = x + 0.5 * shift * (1.0 + _NODES)
        exact = float(density(x)) * 0.5 * shift * float(_WEIGHTS @ first_tail(points))
    elif x >= 0.0:
        exact = float(density(x)) * float(mills(x) - mills(x + shift))
    else:
        exact = 0.5 * math.erfc(x / math.sqrt(2.0)) - float(density(x) * mills(x + shift))
    rounding = 32.0 * _ULP * (1.0 + abs(x)) * (1.0 + epsilon / shift + shift)
    return min(1.0, exact * (1.0 + rounding) + _TINY)


def _root(increasing: Callable[[float], float]) -> float:
    """Point of (e^-100, e^100) where an increasing function changes sign, by bisection of the logarithm."""
    low, high = -100.0, 100.0
    for _ in range(64):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if increasing(math.exp(middle)) < 0.0 else (low, middle)
    return math.exp(0.5 * (low + high))


def _bisect(holds: Callable[[float], bool], good: float, bad: float) -> float:
    """Point where `holds` is still true, as close to where it stops as floats allow."""
    for _ in range(60):
        middle = 0.5 * (good + bad)
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def _sum_above(terms: tuple[float, ...]) -> float:
    # each term carries a few roundings, relative to its own size; their sum is then exact
    return math.fsum((*terms, *(8.0 * _ULP * abs(term) for term in terms)))
