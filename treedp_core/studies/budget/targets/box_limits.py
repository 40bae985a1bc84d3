"""How large a variance may be where a count is to be close with Laplace noise, for all chains of a box at once.

`LevelChain` has boxes of splits. In one, the error X of a node of level l is a sum of independent noises whose shares
of its variance v are known up to an interval each. The noise of level u below or above has, by the level j on which its
path leaves that of the node, the share

    (L_u - L_(u+1)) m_u C^2 / S_l,    C = S_j, less 1 / (m_j L_(j+1)) where j < u and j < l,

with one copy for an ancestor (j = u), m_l / m_u copies below the node (j = l), else (m_j - m_(j+1)) / m_u.

In units of the reach, with h = v t^2 / 2, the characteristic function is f(t) = product of 1 / (1 + h share). The set
|x| > 1, repeated with a period P and cut off beyond P - 1, is no larger than |x| > 1, so that

    P(|X| > 1) >= 1 - 2 / P - sum over k of A_k f(t_k),    t_k = 2 pi k / P,  A_k = 2 sin(t_k) / (pi k).

What comes after K terms is at most 1 / pi f(t_K) (1 + 1 / (a t_K^2)), a = v share / 2 of any one noise. In a box the
sum is bounded twice, and the better bound counts:

1. Each f(t_k) by itself. log(1 + h share) lies above its chord and below a tangent; with any price kappa on the shares,
   which add up to 1, the ends of the intervals are best one by one.
2. By its tangent plane in the shares at their middle, again with a price, less half of what bounds the second
   derivative: f h_i h_j, h_i = h / (1 + h share_i), each at its end that makes it largest. As changes of the shares
   add up to 0, each h_i is counted less any number.

For fixed shares X only scales with v, so that its tail grows: a variance where the bound is above what may miss is too
large, and so is every larger one.

Whole numbers. For discrete Laplace noise h is v t^2 / 2 times 2 (1 - cos y) / y^2, y = weight t / reach, which a box
knows up to an interval, too: f at the middle of it is wrong by no more than that changes its logarithm. Selberg's
polynomial below the tail takes the place of the series, as f need not fade out; it has as many terms as the weights are
known for. Such a tail need not grow with v, so that all variances up to the limit are looked at, in cells: the shares
then add up to a number between the two ends of a cell over its middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core.privacy.rounding import smallest_root
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.level_chain import AMOUNTS, Box, LevelChain
from treedp_core.studies.budget.targets.relaxation import below_outside
from treedp_core.studies.budget.targets.target import Ask, Bound
from treedp_core.tree import FloatArray

PERIOD: Final = 6.0
TERMS: Final = 512
TERMS_OF_STEPS: Final = (64, 4096)
KNOWN: Final = 2.0
HAIR: Final = 1e-9
SMALLEST: Final = 0.3
"""Of the largest variance: no smaller one is tried."""
WIDE: Final = 1.0
FAINT: Final = 1e-7
WIDEST: Final = 3
"""Shares that are known no better than that say nothing."""
FEWEST_STEPS: Final = 4.0
"""Reaches below this are left to what is proved of all boxes."""
CELLS: Final = (0.02, 4e-4)
"""The widest and the narrowest ratio, less 1, of variances looked at together."""


@dataclass(frozen=True, eq=False)
class Noises:
    """The noises of an error in a box: copies, least and largest share of one, least and largest weight, (n,) each."""

    copies: FloatArray
    low: FloatArray
    high: FloatArray
    lightest: FloatArray
    heaviest: FloatArray


@dataclass(frozen=True, eq=False)
class Series:
    """P(|X| > 1) >= constant - sum of waves f(times), waves and times (k,)."""

    constant: float
    waves: FloatArray
    times: FloatArray


@lru_cache(maxsize=8)
def _series(n_terms: int, of_steps: bool) -> Series:
    k = np.arange(1, n_terms + 1)
    times = np.asarray(2.0 * np.pi / PERIOD * k, dtype=np.float64)
    if of_steps:
        constant, cosines = below_outside(n_terms, PERIOD)
        return Series(constant, -cosines, times)
    return Series(1.0 - 2.0 / PERIOD, 2.0 * np.sin(times) / (np.pi * k), times)


@dataclass(frozen=True, eq=False)
class LawLimits:
    """Limits of variances in a box of chains.

    Parameters
    ----------
    asked : list of (int, float, float)
        Of each target on single counts its level, the reach, and how often a count may miss.
    """

    asked: list[tuple[int, float, float]]

    @classmethod
    def of(cls, problem: Problem, bounds: list[Bound]) -> LawLimits | None:
        """Return those of targets on each or an average count, if there are any, for Laplace noise of either kind.

        An average misses no less often than its count of the longest reach.
        """
        asked = []
        for bound in bounds:
            every = bound.target.ask is Ask.EVERY_NODE
            if (every or bound.target.ask is Ask.AVERAGE_NODE) and problem.paid[bound.target.level]:
                reach = bound.reach[bound.chosen]
                reach_of_worst = float(reach.min() if every else reach.max())
                asked.append((bound.target.level, reach_of_worst, 1.0 - bound.target.confidence))
        asked = asked if problem.law in AMOUNTS else []
        return cls(asked) if asked else None

    def __call__(self, chain: LevelChain, box: Box) -> FloatArray:
        """Return limits (n,) in a box, no larger than its own."""
        found, (low, high) = box.own.copy(), chain.ends(box)
        steps = chain.problem.law != "laplace"
        for level, reach, miss in self.asked:
            place = int(np.searchsorted(chain.levels, level))
            unit = float(np.square(reach / chain.leaves[place]))
            noises = noises_of(chain, (low, high), found, place)
            is_wide = float(noises.copies @ (noises.high - noises.low)) > WIDE
            if is_wide or not np.isfinite(found[place]) or (steps and reach < FEWEST_STEPS):
                continue
            most = found[place] / unit
            found[place] = unit * (
                _largest_of_steps(noises, reach, miss, most) if steps else _largest(noises, miss, most)
            )
        return found


def noises_of(chain: LevelChain, ends: tuple[FloatArray, FloatArray], own: FloatArray, place: int) -> Noises:
    """Return what the error of a node has of each noise, for chains between two ends (n,) with limits (n,)."""
    m, (low, high) = chain.leaves, ends
    least, most = chain.sums(high), np.minimum(chain.sums(low), np.minimum.accumulate(own[::-1])[::-1])
    if chain.above:  # a total that is public: no noise, no variance
        m = np.append(1.0 / chain.above, m)
        low, high, least, most = (
            np.append(x, y) for x, y in ((np.inf, low), (np.inf, high), (0.0, least), (0.0, most))
        )
        place += 1
    found = []
    for u in range(int(chain.above > 0), m.size):
        under = (low[u + 1], high[u + 1]) if u + 1 < m.size else (0.0, 0.0)
        own_part = max(0.0, low[u] - under[1]), high[u] - under[0]
        for j in range(min(u, place) + 1):
            copies = m[place] / m[u] if j == place else 1.0 if j == u else (m[j] - m[j + 1]) / m[u]
            first, last = least[j], most[j]
            if j < min(u, place):
                first, last = first - 1.0 / (m[j] * low[j + 1]), last - 1.0 / (m[j] * high[j + 1])
            small = 0.0 if first * last <= 0 else min(abs(first), abs(last))
            large = max(abs(first), abs(last))
            squares = (first, last) if j == place else (small**2 / most[place], large**2 / least[place])
            if copies > 0.5:
                share = [part * m[u] * one for part, one in zip(own_part, squares, strict=True)]
                weight = [part * m[place] * one for part, one in zip(own_part, (small, large), strict=True)]
                found.append((copies, *np.minimum(share, 1.0 / copies), *np.minimum(weight, 1.0)))
    return Noises(*np.array(found).T)


def _largest(noises: Noises, miss: float, most: float) -> float:
    """The smallest variance that is proved too large, in squares of the reach; `most` if none below it is."""

    def room(variance: float) -> float:
        return miss + HAIR - least_tail((variance, variance), noises)

    if room(most) >= 0.0:
        return most
    low = SMALLEST * most
    return low if room(low) < 0.0 else float(smallest_root(room, low, most, 1e-5))


def _largest_of_steps(noises: Noises, reach: float, miss: float, most: float) -> float:
    """The same for whole numbers, from which on every variance up to `most` is proved too large."""
    width, least = CELLS
    while width > least and most > 0.0:
        if least_tail((most / (1.0 + width), most), noises, reach) > miss + HAIR:
            most /= 1.0 + width
        else:
            width /= 2.0
    return most


def _bends(noises: Noises, times: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """Between what 2 (1 - cos y) / y^2 lies, (k, n), for y = weight t / reach; 1 for continuous noise."""
    low, high = (np.maximum(times[:, None] / reach * one, 1e-9) for one in (noises.lightest, noises.heaviest))
    first, last = (np.square(np.sin(y / 2.0) / (y / 2.0)) for y in (low, high))
    wave, away = 1.0 - np.cos((low + high) / 2.0), (high - low) / 2.0
    falls = high <= 2.0 * np.pi
    least = np.where(falls, last, 2.0 * np.maximum(wave - away, 0.0) / np.square(high))
    most = np.where(falls, first, np.minimum(1.0, np.minimum(2.0 * (wave + away), 4.0) / np.square(low)))
    return least, np.maximum(least, most)


def _terms(noises: Noises, reach: float) -> Series:
    """As many terms as the weights are known for: y below is then known to a part of a turn."""
    unsure = float(np.max(np.where(noises.low > 0.0, noises.heaviest - noises.lightest, 0.0)))
    n_terms = PERIOD / (2.0 * np.pi) * reach * KNOWN / max(unsure, 1e-9)
    return _series(int(2 ** np.clip(np.floor(np.log2(n_terms)), *np.log2(TERMS_OF_STEPS))), True)


def _heard(series: Series, variance: float, noises: Noises, reach: float) -> Series:
    """The same without times at which some noises alone make f next to nothing: they are counted as that."""
    most = np.argsort(-noises.copies * noises.low)[:WIDEST]
    few = Noises(*(one[most] for one in (noises.copies, noises.low, noises.high, noises.lightest, noises.heaviest)))
    h = 0.5 * variance / (1.0 + CELLS[0]) * np.square(series.times)[:, None] * _bends(few, series.times, reach)[0]
    faint = np.log1p(h * few.low) @ few.copies > -np.log(FAINT)
    lost = FAINT * float(np.abs(series.waves[faint]).sum())
    return Series(series.constant - lost, series.waves[~faint], series.times[~faint])


def least_tail(variance: tuple[float, float], noises: Noises, reach: float = np.inf) -> float:
    """Return a lower bound of P(|X| > 1) for a sum X of Laplace noises, (n,) kinds, of a variance between two.

    With a finite `reach` noises are whole numbers and X is in parts of it.
    """
    copies, low, high = noises.copies, noises.low, noises.high
    mean = float(np.sqrt(variance[0] * variance[1]))
    series = _series(TERMS, False) if reach == np.inf else _heard(_terms(noises, reach), mean, noises, reach)
    fewer, more = variance[0] / mean, variance[1] / mean
    width = high - low
    free = float(copies @ width)
    middle = low + width * (min(max((1.0 - float(copies @ low)) / free, 0.0), 1.0) if free > 0 else 0.0)
    h = 0.5 * mean * np.square(series.times)[:, None]
    h_low, h_high = h, h
    if reach < np.inf:
        h_low, h_high = (h * bend for bend in _bends(noises, series.times, reach))
        h = 0.5 * (h_low + h_high)
    at, flat, steep = h / (1.0 + h * middle), h / (1.0 + h * high), h / (1.0 + h * low)
    whole, log_at = copies * middle, np.log1p(h * middle)
    price = (at @ whole)[:, None]
    f_high, f_low = _ends_of_f(noises, h_low, h_high, middle, (fewer, more))
    f_at = np.exp(-log_at @ copies)
    alone = series.waves @ np.where(series.waves > 0, f_high, f_low)
    slope = (series.waves * f_at) @ at
    level = float(slope @ whole)
    plane = series.waves @ f_at - copies @ np.minimum(
        (slope - level) * (low - middle), (slope - level) * (high - middle)
    )
    beside = float(whole.sum())
    plane += max(level * (beside - fewer), level * (beside - more))
    away = copies * np.maximum(middle - low, high - middle)
    first = np.maximum(np.abs(steep - price), np.abs(flat - price)) @ away + price[:, 0] * max(1.0 - fewer, more - 1.0)
    bent = 0.5 * np.abs(series.waves) @ (f_high * (np.square(first) + np.square(steep) @ (np.square(away) / copies)))
    if reach < np.inf:
        unsure = np.maximum(h_high - h, h - h_low) * high / (1.0 + h_low * high)
        bent += np.abs(series.waves) @ (f_high * np.minimum(unsure @ copies, 1.0))
        return float(series.constant - min(alone, plane + bent))
    a = 0.5 * mean * float(low.max())
    beyond = f_high[-1] / np.pi * (1.0 + 1.0 / (a * series.times[-1] ** 2)) if a > 0 else np.inf
    return float(series.constant - min(alone, plane + bent) - beyond)


def _ends_of_f(
    noises: Noises, h_low: FloatArray, h_high: FloatArray, middle: FloatArray, total: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """The largest and the least f of a box at each time, (k,) each."""
    copies, low, width = noises.copies, noises.low, noises.high - noises.low
    log_low, log_high = np.log1p(h_low * low), np.log1p(h_low * noises.high)
    rise = np.where(width > 1e-12, (log_high - log_low) / np.maximum(width, 1e-300), h_low / (1.0 + h_low * low))
    price = (rise @ (copies * middle))[:, None]
    least = (log_low + np.minimum((rise - price) * width, 0.0)) @ copies + price[:, 0] * (
        total[0] - float(copies @ low)
    )
    at = h_high / (1.0 + h_high * middle)
    price = (at @ (copies * middle))[:, None]
    beside = np.maximum((at - price) * (low - middle), (at - price) * (noises.high - middle))
    most = (np.log1p(h_high * middle) + beside) @ copies + price[:, 0] * (total[1] - float(copies @ middle))
    return np.exp(-np.maximum(least, log_low @ copies)), np.exp(-most)
