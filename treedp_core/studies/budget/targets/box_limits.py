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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.privacy.rounding import smallest_root
from treedp_core.studies.budget.splits.level_chain import LevelChain
from treedp_core.studies.budget.targets.relaxation import mean_miss
from treedp_core.studies.budget.targets.target import Ask, Bound
from treedp_core.tree import FloatArray

PERIOD: Final = 6.0
TERMS: Final = 512
TIMES: Final = 2.0 * np.pi / PERIOD * np.arange(1, TERMS + 1)
WAVES: Final = 2.0 * np.sin(TIMES) / (np.pi * np.arange(1, TERMS + 1))
HAIR: Final = 1e-9
SMALLEST: Final = 0.3
"""Of the largest variance: no smaller one is tried."""

Shares = tuple[FloatArray, FloatArray, FloatArray]
"""Copies of each noise, and the least and the largest share of the variance of one copy, (n,) each."""


@dataclass(frozen=True, eq=False)
class LawLimits:
    """Limits of variances in a box of chains.

    Parameters
    ----------
    chain : LevelChain
    asked : list of (int, float, float)
        Of each target on single counts its place in the chain, the reach, and how often a count may miss.
    """

    chain: LevelChain
    asked: list[tuple[int, float, float]]

    @classmethod
    def of(cls, chain: LevelChain, bounds: list[Bound]) -> LawLimits | None:
        """Return those of targets, if there are any on single counts and each noise has its own level in the chain."""
        problem = chain.problem
        if problem.law != "laplace" or chain.levels[-1] != problem.tree.height:
            return None
        asked = []
        for bound in bounds:
            if bound.uses_reach and problem.paid[bound.target.level]:
                reach, every = bound.reach[bound.chosen], bound.target.ask is Ask.EVERY_NODE
                place = int(np.searchsorted(chain.levels, bound.target.level))
                miss = 1.0 - bound.target.confidence if every else mean_miss(bound)
                asked.append((place, float(reach.min() if every else reach.max()), miss))
        return cls(chain, asked) if asked else None

    def __call__(self, low: FloatArray, high: FloatArray, own: FloatArray) -> FloatArray:
        """Return limits (n,), no larger than `own`, for chains between two ends (n,)."""
        found = own.copy()
        for place, reach, miss in self.asked:
            unit = float(np.square(reach / self.chain.leaves[place]))
            found[place] = min(
                found[place], unit * _largest(self.shares(low, high, found, place), miss, found[place] / unit)
            )
        return found

    def shares(self, low: FloatArray, high: FloatArray, own: FloatArray, place: int) -> Shares:
        """Return what the error of a node has of each noise, for chains between two ends (n,)."""
        chain = self.chain
        m, sums = chain.leaves, [np.cumsum(chain.energy / high), np.cumsum(chain.energy / low)]
        sums[1] = np.minimum(sums[1], np.minimum.accumulate(own[::-1])[::-1])
        least, most = sums
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
                    ends = [part * m[u] * one for part, one in zip(own_part, squares, strict=True)]
                    found.append((copies, min(ends[0], 1.0 / copies), min(ends[1], 1.0 / copies)))
        copies, first, last = np.array(found).T
        return copies, first, last


def _largest(shares: Shares, miss: float, most: float) -> float:
    """The smallest variance that is proved too large, in squares of the reach; `most` if none below it is."""

    def room(variance: float) -> float:
        return miss + HAIR - least_tail(variance, shares)

    if room(most) >= 0.0:
        return most
    low = SMALLEST * most
    return low if room(low) < 0.0 else float(smallest_root(room, low, most, 1e-5))


def least_tail(variance: float, shares: Shares) -> float:
    """Return a lower bound of P(|X| > 1) for a sum X of Laplace noises of that variance."""
    copies, low, high = shares
    width = high - low
    free = float(copies @ width)
    middle = low + width * (min(max((1.0 - float(copies @ low)) / free, 0.0), 1.0) if free > 0 else 0.0)
    h = 0.5 * variance * np.square(TIMES)[:, None]
    at, flat, steep = (h / (1.0 + h * share) for share in (middle, high, low))
    log_low, log_high = np.log1p(h * low), np.log1p(h * high)
    rise = np.where(width > 1e-12, (log_high - log_low) / np.maximum(width, 1e-300), steep)
    whole = copies * middle
    # logarithms of 1 / f: at least and at most
    price = (rise @ whole)[:, None]
    least = (log_low + np.minimum((rise - price) * width, 0.0)) @ copies + price[:, 0] * (1.0 - float(copies @ low))
    least = np.maximum(least, log_low @ copies)
    price = (at @ whole)[:, None]
    log_at = np.log1p(h * middle)
    beside = np.maximum((at - price) * (low - middle), (at - price) * (high - middle))
    most = (log_at + beside) @ copies + price[:, 0] * (1.0 - float(whole.sum()))
    f_high, f_low, f_at = np.exp(-least), np.exp(-most), np.exp(-log_at @ copies)
    alone = WAVES @ np.where(WAVES > 0, f_high, f_low)
    slope = (WAVES * f_at) @ at
    level = float(slope @ whole)
    plane = WAVES @ f_at - copies @ np.minimum((slope - level) * (low - middle), (slope - level) * (high - middle))
    plane -= level * (1.0 - float(whole.sum()))
    away = copies * np.maximum(middle - low, high - middle)
    first = np.maximum(np.abs(steep - price), np.abs(flat - price)) @ away
    bent = 0.5 * np.abs(WAVES) @ (f_high * (np.square(first) + np.square(steep) @ (np.square(away) / copies)))
    a = 0.5 * variance * float(low.max())
    beyond = f_high[-1] / np.pi * (1.0 + 1.0 / (a * TIMES[-1] ** 2)) if a > 0 else np.inf
    return float(1.0 - 2.0 / PERIOD - min(alone, plane + bent) - beyond)
