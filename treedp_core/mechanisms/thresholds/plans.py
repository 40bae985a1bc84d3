"""Plans for the threshold mechanism: the paper's constants corrected, a tuned plan, and one whose error is proven.

What every plan proves is privacy: at each round the rest of a record's path lies in one tree, which is asked one test
and one pass round, so that rounds are composed whatever the thresholds and values are. Tuned and provable plans spend
half of delta on that rounds rarely lose together what they lose in sum (see `plan_types`), where that errs less. What
differs is what is known of the error:

- `paper_plan` (Ghazi et al. with corrected budgets): every node within alpha max(count, tau) with probability 1 - eta.
- `provable_plan`: the worst-case alpha-RMSE is a theorem, thousands of times below what the paper's constants prove,
  and needs no clamp (Lemma 3.3 of the paper).
- `tuned_plan`: the alpha-RMSE is certified for empty nodes and chains (records on one leaf); that other trees stay
  below it was seen in simulations of adversarial trees, and is not proven.

`printed_schedule` shows what the printed budgets would really cost. It is not a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_search import (
    Round,
    Rounds,
    least_error_together,
    proven_error,
    proven_rounds,
    tuned_rounds,
)
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.schedule import (
    check_alpha,
    check_delta,
    check_levels,
    check_total,
)
from treedp_core.noise.law import FloatArray
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.tree import IntArray
from treedp_core.words import fixed, float_below, short

# The error of threshold plans on chains, trees with records on one leaf: a certified supremum over all of them. The
# leaf is on the last level. All nodes of a chain have the same weight w. The test of round i asks them from the
# deepest one up, so a node with k - 1 nodes below it is labelled with v_i in round i, if it was not before, with
# probability q_i = P(one of k queries reaches T_i + threshold noise) P(w + pass noise > theta_i), k = 1, ..., d,
# independently of the other rounds; its squared loss is V_l, with V_0 that of the default value and V_i = q_i
# loss_i + (1 - q_i) V_(i-1). Both probabilities grow with w and with k, and a loss is convex in w. So for all
# weights between two ends and all k at once V_i is at most its value for the larger loss of both ends and for the
# worse of the smallest and the largest q_i. Intervals of weights are halved until that bound is nearly attained.
# With z = w - T_i, rates a and b, r = a / b: a single query reaches the threshold with probability 1 - e^(-a z) /
# (r + 1) for z >= 0 and e^(b z) r / (r + 1) below; one of k with at most the mean of min(1, k u e^(b z)), u = e^(-b
# threshold noise), which is r / (r + 1) times k e^(b z), or 1 less (k e^(b z))^-r / (r + 1) where that is above 1.

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


ROOT_EPSILON: Final = Fraction(2, 100)
ROOT_DELTA: Final = Fraction(5, 100)
_SLACK: Final = 1e-12  # covers the rounding up of pass bounds, so that nothing lighter than L_i passes


def split_with_root(epsilon: float, delta: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Budgets (epsilon, delta) of a plan and of a private bound on the root's count, which together cost no more.

    The bound on the root only sets how many rounds there are, so a fiftieth of epsilon and a twentieth of delta do.

    >>> (plan, _), (root, _) = split_with_root(1.0, 1e-6)
    >>> round(plan, 12), round(root, 12)
    (0.98, 0.02)
    """
    eps, d = Fraction(checks.epsilon(epsilon)), Fraction(check_delta(delta))
    plan = float_below(eps * (1 - ROOT_EPSILON)), float_below(d * (1 - ROOT_DELTA))
    return plan, (float_below(eps * ROOT_EPSILON), float_below(d * ROOT_DELTA))


def tuned_plan(alpha: float, epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
    """Rounds with the smallest error that was found to hold, for one record added or removed.

    Parameters
    ----------
    alpha : float
        Multiplicative slack in (0, 1).
    epsilon, delta : float
        What the rounds may lose together.
    n_levels : int
        Levels of the tree, at least 2.
    max_total : float
        Upper bound on the root's count, in records; see `split_with_root` for a private one.

    Returns
    -------
    Plan
        Proven: privacy, and that no empty node and no chain, a tree with records on one leaf of the last level, has an
        alpha-RMSE above `error`, the default value E (the error of empty nodes) or slightly more. Empirical: that no
        other tree has; simulations of adversarial trees stay below it.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE, DELTA_RANGE, DELTA_REQUIRED, LEVELS_RANGE, TOTAL_RANGE; PLAN_TOTAL when the same
        constant for every node is as good as any plan.

    >>> plan = tuned_plan(0.5, 1.0, 1e-6, 1000, 10_000)
    >>> 40 < plan.error < 45, plan.error_is_proven, float(plan.exact_delta) + plan.beyond <= 1e-6
    (True, False, True)
    """
    return _plan("tuned", tuned_rounds, alpha, epsilon, delta, n_levels, max_total=max_total)


def provable_plan(alpha: float, epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
    """Rounds whose worst-case alpha-RMSE is a theorem, for one record added or removed.

    Arguments and errors as `tuned_plan`.

    Returns
    -------
    Plan
        Proven: privacy, and that the alpha-RMSE of every node is at most `error` while the root's count is at most
        `max_total`.

    Notes
    -----
    With E the default value, L_i = theta_i - R_i, U_0 = 2 E / (1 - alpha) and rounds i = l, ..., 1:

    - Pass noise is bounded by R_i, so a value v_i = (1 + alpha) L_i + E is only given where the count is at least L_i:
      no estimate is ever more than E above (1 + alpha) times its count.
    - Let no noise of the round lie beyond its reserve: threshold noise above B = ln(1/eta_i)/a, one of d query noises
      above A = ln(d/eta_i)/b, pass noise below -C, C = ln(1/eta_i)/t (each has probability at most eta_i). Then a
      test that fires finds a count of at least T_i - A = theta_i + C + 1, which passes; every node left in the tree is
      lighter than U_i - L_i or than T_i + B = L_i + R_i + A + B + C + 1 = U_(i-1).
    - So counts up to U_i get v_i, too small by at most (1 - alpha) U_i - v_i <= E beyond alpha times the count, and
      those left at the end, up to U_0, get E.
    - If round i is the first with a noise beyond its reserve, an estimate is too small by at most (1 - alpha) U_i.

    One record of room keeps this true for noise on the whole numbers, whose R_i may be larger by less than 1.
    Together: alpha-RMSE^2 <= E^2 + sum over i of 3 eta_i ((1 - alpha) U_i)^2.

    >>> provable_plan(0.5, 1.0, 1e-6, 1000, 10_000).error < 200
    True
    """
    return _plan("provable", proven_rounds, alpha, epsilon, delta, n_levels, max_total=max_total)


def tuned_plan_error(
    alpha: ArrayLike, epsilon: ArrayLike, delta: ArrayLike, n_levels: ArrayLike, max_total: ArrayLike
) -> FloatArray:
    """Error of `tuned_plan` for many cases at once (arguments broadcast), in records; nan where no plan exists.

    >>> tuned_plan_error(0.5, 1.0, 1e-6, [100, 1000], 10_000).shape
    (2,)
    """
    return _stated_error(tuned_rounds, alpha, epsilon, delta, n_levels, max_total)


def provable_plan_error(
    alpha: ArrayLike, epsilon: ArrayLike, delta: ArrayLike, n_levels: ArrayLike, max_total: ArrayLike
) -> FloatArray:
    """Proven error of `provable_plan` for (n,) cases at once (arguments broadcast), in records; nan where none exists.

    >>> bool(provable_plan_error(0.5, 1.0, 1e-6, 1000, 10_000) < 200)
    True
    """
    return _stated_error(proven_rounds, alpha, epsilon, delta, n_levels, max_total)


def _stated_error(rule: Rounds, *arguments: ArrayLike) -> FloatArray:
    cases = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in arguments))
    alpha, epsilon, delta, n_levels, max_total = (case.ravel() for case in cases)
    error, part = least_error_together(rule, alpha, epsilon, delta, n_levels, max_total)
    with np.errstate(all="ignore"):
        rounds, _ = rule(np.where(np.isnan(error), 1.0, error), alpha, part, n_levels, max_total)
    return _of_rounds(rule, error, rounds, alpha, n_levels, max_total).reshape(cases[0].shape)


def _of_rounds(
    rule: Rounds, error: FloatArray, rounds: list[Round], alpha: FloatArray, n_levels: FloatArray, max_total: FloatArray
) -> FloatArray:
    """What is stated of plans with default value E."""
    if rule is proven_rounds:
        return proven_error(error, rounds)
    return chain_error(error, rounds, alpha, n_levels, max_total)


def _plan(
    name: str, rule: Rounds, alpha: float, epsilon: float, delta: float, n_levels: int, *, max_total: float
) -> Plan:
    a, eps, d = check_alpha(alpha), checks.epsilon(epsilon), check_delta(delta)
    levels, total = check_levels(n_levels), check_total(max_total)
    cases = [np.array([float(x)]) for x in (a, eps, d, levels, total)]
    error, part = least_error_together(rule, *cases)
    if np.isnan(error[0]):
        message = (
            f"A total of at most {fixed(total, 0)} is too small for thresholds at this budget: the constant "
            f"{short((1 - a) * total / 2)} for every node is as good; use a larger epsilon or plain noise."
        )
        raise InputError("PLAN_TOTAL", message)
    alpha_of, _, _, levels_of, total_of = cases
    rounds, _ = rule(error, alpha_of, part, levels_of, total_of)
    return Plan(
        name=name,
        epsilon=eps,
        delta=d,
        levels=tuple(_level(one) for one in reversed(rounds)),
        default_value=float(error[0]),
        alpha=a,
        error=float(_of_rounds(rule, error, rounds, alpha_of, levels_of, total_of)[0]),
        error_is_proven=rule is proven_rounds,
        n_levels=levels,
        max_total=total,
    )


def _level(one: Round) -> PlanLevel:
    t, d = float(one.t[0]), float(one.pass_delta[0])
    bound = truncated_bound(t, d)
    return PlanLevel(
        value=float(one.value[0]),
        classification_threshold=float(one.test[0]),
        pass_threshold=max(float(one.passing[0]), bound) * (1.0 + _SLACK),
        threshold_epsilon=float(one.a[0]),
        query_epsilon=float(one.b[0]),
        pass_epsilon=t,
        pass_delta=d,
        pass_bound=bound,
    )
