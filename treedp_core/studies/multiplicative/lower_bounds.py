"""What no mechanism can beat: packing bounds with explicit constants (Ghazi et al., Lemma 5.3 to Theorem 5.1).

Let T be a complete binary tree of d levels, N = 2^(d-1) leaves (the paper's Lemma 5.3 writes 2^d, which changes
constants only). Data set x^i puts k records on leaf i. Suppose that at every node the estimate is on the right side of
some threshold with probability 1 - eta, eta <= 1/2: at least the threshold where the count is k, below it where it is
0.

*Decoding.* Walk down from the root; where exactly one child is estimated at or above the threshold, go there with
probability 1 - eta, otherwise toss a coin. One step on the path to leaf i succeeds with probability p = 1 - eta when
both children are on their right sides, 1/2 when one is not, eta when neither is. The mean of ln p is smallest when both
err together: E[ln p] >= (1 - eta) ln(1 - eta) + eta ln eta = -H(eta), the entropy in nats. By Jensen's inequality the
whole walk ends at leaf i with probability at least exp(-(d - 1) H(eta)). (The paper, by Markov's inequality, has
H(4 eta) and a factor 1/4, and repeats the mechanism to make eta small; neither is needed.)

*Packing.* Every x^i is k records away from the empty data set (the paper compares the x^i with each other, 2 k apart),
on which the walk ends at leaf i with some q_i, in all at most 1. Group privacy, summed over the leaves, gives

    exp(-(d - 1) H(eta)) <= e^(k eps) / N + delta (e^(k eps) - 1) / (e^eps - 1).                                    (*)

*alpha-RMSE.* With error E and the threshold half way up to (1 - alpha) k, Markov's inequality on the squared excess
gives eta <= 4 E^2 / ((1 - alpha) k)^2 on both sides. So for every k, with eta(k) <= 1/2 the least eta of (*),

    E >= (1 - alpha) k sqrt(eta(k)) / 2.

For delta = 0 that is about 0.0586 (1 - alpha) (d - 1) / eps, linear in 1 - alpha where the paper has its square.
Truncating a tree gives a mechanism for fewer levels, so a bound for fewer levels holds for more.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.mechanisms.thresholds.schedule import MAX_LEVELS
from treedp_core.noise.law import FloatArray

LN_2: Final = math.log(2.0)
_COPIES: Final = 200  # numbers k that are tried


def packing_bound(alpha: float, epsilon: float, n_levels: ArrayLike, delta: float = 0.0) -> FloatArray:
    """Worst-case alpha-RMSE that every (epsilon, delta)-private mechanism has on a binary tree, in records.

    Shape of `n_levels`. With delta > 0 it stops growing at about log2(1/delta) levels, as it must: the threshold
    mechanism's error is logarithmic.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE, DELTA_RANGE, LEVELS_RANGE.

    >>> round(float(packing_bound(0.0, 1.0, 100_001)) / 100_000, 4)
    0.0586
    """
    a = checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")
    eps, d = checks.epsilon(epsilon), checks.delta(delta)
    levels = np.asarray(n_levels, dtype=float)
    checks.number("the number of levels", levels.min(), low=1, code="LEVELS_RANGE")
    checks.number("the number of levels", levels.max(), high=MAX_LEVELS, code="LEVELS_RANGE")
    factors = _pure(eps, levels) if d == 0 else _approximate(eps, d, levels)
    return np.asarray((1.0 - a) * factors)


def least_possible_threshold(alpha: float, eta: float, epsilon: float, n_levels: int, delta: float = 0.0) -> float:
    """Threshold tau below which no (epsilon, delta)-private mechanism is (alpha, eta)-accurate on a binary tree.

    Corollary 5.4 of Ghazi et al. through (*): accuracy separates the counts k and 0 as soon as k > c tau, where
    c = 2 alpha for alpha <= 1/2 and alpha / (1 - alpha) above, so floor(c tau) + 1 records must satisfy (*). With delta
    the bound of one height falls again as the tree grows; what holds for its upper levels holds for the whole tree, so
    the largest over fewer levels is returned.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE, DELTA_RANGE, LEVELS_RANGE; ETA_RANGE unless 0 < eta < 1/2.

    >>> least_possible_threshold(0.5, 0.1, 1.0, 101) > 30
    True
    """
    a = checks.number("alpha", alpha, low=0, high=1, open_low=True, open_high=True, code="ALPHA_RANGE")
    failure = checks.number("eta", eta, low=0, high=0.5, open_low=True, open_high=True, code="ETA_RANGE")
    eps, d = checks.epsilon(epsilon), checks.delta(delta)
    steps = checks.integer("the number of levels", n_levels, low=1, high=MAX_LEVELS, code="LEVELS_RANGE") - 1
    heights = range(1, min(steps, _useful_height(eps, d)) + 1) if d else (steps,)
    records = max((_inaccurate_up_to(failure, eps, d, height) for height in heights), default=0)
    return records / (2.0 * a if a <= 0.5 else a / (1.0 - a))


def _inaccurate_up_to(eta: float, eps: float, delta: float, height: int) -> int:
    """Largest k that does not satisfy (*) on a binary tree of that height."""
    success = -height * float(entropy(np.asarray(eta)))
    low, high = 0, math.ceil(height * LN_2 / eps) + 1  # (*) fails at low, holds at high
    while high - low > 1:
        middle = (low + high) // 2
        holds = success <= float(_log_limit(np.asarray(float(middle)), eps, delta, np.asarray(float(height))))
        low, high = (low, middle) if holds else (middle, high)
    return low


def _pure(eps: float, levels: FloatArray) -> FloatArray:
    """Largest k sqrt(eta(k)) / 2 at delta = 0, by the two whole k next to the best real one."""
    room = np.maximum(levels - 1.0, 1e-9) * LN_2 / eps  # the k at which (*) holds for every eta
    best = np.zeros_like(levels)
    for k in (np.floor(_best_part() * room), np.ceil(_best_part() * room)):
        inside = (k >= 1) & (k < room)
        eta = _entropy_inverse(np.where(inside, 1.0 - k / room, 0.0) * LN_2)
        best = np.maximum(best, np.where(inside, 0.5 * k * np.sqrt(eta), 0.0))
    return best


@lru_cache(maxsize=1)
def _best_part() -> float:
    """The x in (0, 1) where x^2 H^-1(1 - x), entropy in bits, is largest."""
    x = np.linspace(0.0, 1.0, 20001)
    return float(x[np.argmax(x * x * _entropy_inverse((1.0 - x) * LN_2))])


def _approximate(eps: float, delta: float, levels: FloatArray) -> FloatArray:
    """Largest k sqrt(eta(k)) / 2 over k and over trees of at most that many levels."""
    useful = _useful_height(eps, delta)
    steps = np.arange(useful, dtype=float)[:, None]
    k = np.unique(np.round(np.geomspace(1.0, max(2.0, useful * LN_2 / eps), _COPIES)))
    log_limit = _log_limit(k, eps, delta, steps)
    eta = _entropy_inverse(np.maximum(-log_limit, 0.0) / np.maximum(steps, 1.0))
    running = np.maximum.accumulate((0.5 * k * np.sqrt(eta)).max(axis=1))
    return np.asarray(running[np.minimum(levels - 1.0, useful - 1).astype(np.intp)])


def _useful_height(eps: float, delta: float) -> int:
    """Height from which on more levels only lower the bound: about log2(e^eps / delta), and three times that here."""
    return 3 * math.ceil((eps - math.log(delta)) / LN_2) + 10


def _log_limit(k: FloatArray, eps: float, delta: float, steps: FloatArray) -> FloatArray:
    """Logarithm of the right-hand side of (*), for k records and d - 1 = `steps`."""
    first = k * eps - steps * LN_2
    if delta == 0:
        return np.asarray(first)
    # ln((e^(k eps) - 1) / (e^eps - 1)) without overflow
    second = math.log(delta) + (k - 1.0) * eps + np.log(np.expm1(-k * eps) / np.expm1(-eps))
    return np.asarray(np.logaddexp(first, second))


def entropy(p: FloatArray) -> FloatArray:
    """Return the entropy of a coin in nats, shape of `p` in [0, 1/2]."""
    q = np.clip(p, 1e-300, 0.5)
    return np.asarray(-q * np.log(q) - (1.0 - q) * np.log1p(-q))


def _entropy_inverse(nats: FloatArray) -> FloatArray:
    """The p in [0, 1/2] with that entropy (1/2 beyond ln 2), by bisection, rounded down."""
    low, high = np.zeros_like(nats), np.full_like(nats, 0.5)
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = entropy(middle) > nats
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low
