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

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.chains import chain_error
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
from treedp_core.words import fixed, float_below, short

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
