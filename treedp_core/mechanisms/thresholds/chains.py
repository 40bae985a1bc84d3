"""The error of threshold plans on chains, trees with records on one leaf: a certified supremum over all of them.

The leaf is on the last level. All nodes of a chain have the same weight w. The test of round i asks them from the
deepest one up, so a node with k - 1 nodes below it is labelled with v_i in round i, if it was not before, with
probability

    q_i = P(one of k queries reaches T_i + threshold noise) P(w + pass noise > theta_i),    k = 1, ..., d,

independently of the other rounds; its squared loss is V_l, with V_0 that of the default value and
V_i = q_i loss_i + (1 - q_i) V_(i-1). Both probabilities grow with w and with k, and a loss is convex in w. So for all
weights between two ends and all k at once V_i is at most its value for the larger loss of both ends and for the worse
of the smallest and the largest q_i. Intervals of weights are halved until that bound is nearly attained.

With z = w - T_i, rates a and b, r = a / b: a single query reaches the threshold with probability
1 - e^(-a z) / (r + 1) for z >= 0 and e^(b z) r / (r + 1) below; one of k with at most the mean of min(1, k u e^(b z)),
u = e^(-b threshold noise), which is r / (r + 1) times k e^(b z), or 1 less (k e^(b z))^-r / (r + 1) where that is
above 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.mechanisms.thresholds.plan_search import Round
from treedp_core.noise.law import FloatArray
from treedp_core.tree import IntArray

_INTERVALS: Final = 64
_HALVINGS: Final = 20
_CLOSE: Final = 2e-3  # how far above attained errors the bound may stay
_FORGOTTEN: Final = 2e-6  # part of E^2
_ROUNDING: Final = 1.0 + 1e-9  # of a few thousand float operations, and of pass thresholds


def chain_error(
    error: FloatArray, rounds: Sequence[Round], alpha: FloatArray, n_levels: FloatArray, max_total: FloatArray
) -> FloatArray:
    """Return an error that is at least E and no chain exceeds, at most 0.2 % above the largest found; for many cases.

    Parameters
    ----------
    error : (n_cases,)
        E, the value of unlabelled nodes, in records; nan where there is no plan.
    rounds : sequence of Round
        Lowest first, fields (n_cases,); one-sided test noise, cut-off 1.
    alpha, n_levels, max_total : (n_cases,)

    Returns
    -------
    (n_cases,)
        In records; nan where E is.
    """
    with np.errstate(all="ignore"):  # rounds that a case does not use may hold anything
        return error * _largest_ratio(error, rounds, alpha, n_levels, max_total)


def _largest_ratio(
    error: FloatArray, rounds: Sequence[Round], alpha: FloatArray, n_levels: FloatArray, max_total: FloatArray
) -> FloatArray:
    there = np.flatnonzero(~np.isnan(error))
    found = np.ones_like(error)
    plan = _Chains(error, rounds, alpha, n_levels, max_total)
    ends = np.geomspace(error[there], np.maximum(max_total, error)[there], _INTERVALS)
    low, high = np.concatenate([0.0 * ends[:1], ends[:-1]]).ravel(), ends.ravel()
    case = np.tile(there, _INTERVALS)
    attained = np.ones_like(error)
    for halving in range(_HALVINGS):
        bound = plan.bound(case, low, high)
        np.maximum.at(attained, case, plan.bound(case, high, high, most_queries=False))
        wide = bound > attained[case] * (1.0 + _CLOSE)
        if halving == _HALVINGS - 1:
            wide[:] = False
        np.maximum.at(found, case[~wide], bound[~wide])
        case, low, high = case[wide], low[wide], high[wide]
        if not case.size:
            break
        middle = np.where(low > 0, np.sqrt(low * high), high / 2.0)
        case, low, high = np.tile(case, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
    return np.where(found > 1.0, found * _ROUNDING, 1.0)


@dataclass(frozen=True, eq=False)
class _Part:
    """Rounds of all cases, (n_rounds, n_cases), or one for each interval; `passing` is never below the noise bound."""

    value: FloatArray
    test: FloatArray
    passing: FloatArray
    bound: FloatArray
    a: FloatArray
    b: FloatArray
    t: FloatArray
    used: FloatArray

    def take(self, number: IntArray, case: IntArray) -> _Part:
        """Return the round of that number for each case."""
        return _Part(*(field[number, case] for field in vars(self).values()))


def _stacked(rounds: Sequence[Round]) -> _Part:
    names = ("value", "test", "passing", "pass_delta", "a", "b", "t", "used")
    value, test, passing, delta, a, b, t, used = (np.array([getattr(one, name) for one in rounds]) for name in names)
    bound = np.log1p(np.expm1(t) / (2.0 * delta)) / t
    return _Part(value, test, np.maximum(passing, bound), bound, a, b, t, used)


class _Chains:
    """Bounds on alpha-RMSE / E for intervals of weights, each with its case."""

    def __init__(
        self,
        error: FloatArray,
        rounds: Sequence[Round],
        alpha: FloatArray,
        n_levels: FloatArray,
        max_total: FloatArray,
    ) -> None:
        self.error, self.rounds, self.alpha, self.n_levels = error, _stacked(rounds), alpha, n_levels
        one, reach = self.rounds, 2.0 * np.log(np.maximum(max_total / error, 1.0)) + 17.0
        self.possible = _from_here_on(one.passing - one.bound, one.used)
        self.sure = _from_here_on(np.maximum(one.test + reach / one.a, one.passing + reach / one.t), one.used)

    def bound(self, case: IntArray, low: FloatArray, high: FloatArray, *, most_queries: bool = True) -> FloatArray:
        """Return the bound for weights from `low` to `high`; for the deepest node alone unless `most_queries`."""
        error, alpha = self.error[case], self.alpha[case]
        queries = self.n_levels[case] if most_queries else np.ones(case.size)
        first, stop = self._that_matter(case, low, high)
        square = _loss(error, alpha, low, high)
        sure = first > 0
        done = self.rounds.value[first[sure] - 1, case[sure]]
        square[sure] = _loss(done, alpha[sure], low[sure], high[sure]) + _FORGOTTEN * np.square(error[sure])
        for step in range(int((stop - first).max(initial=0))):
            at = np.flatnonzero(first + step < stop)
            part = self.rounds.take(first[at] + step, case[at])
            loss = _loss(part.value, alpha[at], low[at], high[at])
            worse = loss > square[at]
            weight = np.where(worse, high[at], low[at])
            q = _reaches(part, weight, np.where(worse, queries[at], 1.0)) * _passes(part, weight)
            square[at] += np.where(part.used > 0, q * (loss - square[at]), 0.0)
        return np.asarray(np.sqrt(square) / error)

    def _that_matter(self, case: IntArray, low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
        """Return behind the last round that surely labels such weights, and behind the last that may.

        With both noises within reach / rate the round labels, else with a probability of at most 2 e^-reach; that
        makes what the rounds below add, at most 9 times the weight squared, as little as is forgotten.
        """
        first, stop = np.zeros_like(case), np.zeros_like(case)
        for one in np.unique(case):
            mine = case == one
            first[mine] = np.searchsorted(self.sure[:, one], low[mine])
            stop[mine] = np.searchsorted(self.possible[:, one], high[mine])
        return first, np.maximum(first, stop)


def _from_here_on(weight: FloatArray, used: FloatArray) -> FloatArray:
    """Smallest weight of this round or a later one, (n_rounds, n_cases): ascending."""
    return np.minimum.accumulate(np.where(used > 0, weight, np.inf)[::-1])[::-1]


def _loss(value: FloatArray, alpha: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Largest squared error beyond alpha times the weight over an interval of weights."""
    ends = [np.abs(value - w) - alpha * w for w in (low, high)]
    return np.square(np.maximum(np.maximum(*ends), 0.0))


def _reaches(one: _Part, weight: FloatArray, queries: FloatArray) -> FloatArray:
    """P(one of the queries reaches the noisy threshold): exact for one query, else an upper bound."""
    z, r = weight - one.test, one.a / one.b
    many = queries * np.exp(one.b * np.minimum(z, 0.0))
    missed = np.exp(-one.a * np.maximum(z, 0.0)) * np.maximum(many, 1.0) ** -r / (r + 1.0)
    return np.where((z < 0) & (many <= 1.0), many * r / (r + 1.0), 1.0 - missed)


def _passes(one: _Part, weight: FloatArray) -> FloatArray:
    """P(weight + pass noise > pass threshold) for Laplace noise of scale 1/t cut off at R."""
    gap, end = one.passing - weight, np.exp(-one.t * one.bound)
    tail = (np.exp(-one.t * np.minimum(np.abs(gap), one.bound)) - end) / (2.0 * (1.0 - end))
    return np.where(gap >= 0, tail, 1.0 - tail)
