"""The constants of Ghazi et al. for the threshold mechanism: as they must be, and, as an exhibit only, as printed.

With beta = alpha / (6 + 5 alpha), thresholds grow by r = (1 + alpha)(1 - beta) / (1 + beta) = 1 + 2 alpha / 3 a round.
The paper prints budgets eps_i = eps i r^(i-1) / C with C "= sum of i r^(i-1) over all i = (1 - r)^-2". As r > 1 that
series diverges: the first l rounds alone spend eps (1 + r^l (l (r - 1) - 1)), above eps once l > 3 / (2 alpha). What
the proof needs (its inequality (2)) is the same with q = 1/r < 1 in place of r, where the series does converge; then
its constant 162 becomes 36 (3 + 2 alpha)^3 / (6 + 5 alpha). The thresholds are tau_i = alpha tau r^(i-1) / (1 + beta),
as in the proof of Theorem A.1; Algorithm 4 prints r^i, which breaks inequality (4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_types import MAX_PLAN_LEVELS, Plan, PlanLevel
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.words import exact, whole

MAX_LEVELS: Final = 10**15  # of a tree; only logarithms of it are used
USUAL_ETA: Final = 1e-4
MAX_TOTAL: Final = 1e15
_SLACK: Final = 1e-12  # taken off budgets, far above the rounding of a few float operations


def check_alpha(alpha: object) -> float:
    """Check a multiplicative slack for which thresholds make sense, in (0, 1).

    >>> check_alpha(0.5)
    0.5
    """
    return checks.number("alpha", alpha, low=0, high=1, open_low=True, open_high=True, code="ALPHA_RANGE")


def check_delta(delta: object) -> float:
    """Check the delta of the threshold mechanism, in [1e-100, 1).

    >>> check_delta(0)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Thresholds need delta > 0: bounded noise has no pure privacy; choose less than 1 / N.
    """
    value = checks.delta(delta)
    if value == 0:
        message = "Thresholds need delta > 0: bounded noise has no pure privacy; choose less than 1 / N."
        raise InputError("DELTA_REQUIRED", message)
    return value


def check_levels(n_levels: object) -> int:
    """Check a number of levels: at least 2, because a tree of one level is a single count.

    >>> check_levels(1)
    Traceback (most recent call last):
    treedp_core.checks.InputError: A tree of one level is a single count: add noise to it, thresholds gain nothing.
    """
    levels = checks.integer("the number of levels", n_levels, low=1, high=MAX_LEVELS, code="LEVELS_RANGE")
    if levels == 1:
        message = "A tree of one level is a single count: add noise to it, thresholds gain nothing."
        raise InputError("LEVELS_RANGE", message)
    return levels


def check_total(max_total: object) -> float:
    """Check an upper bound on the root's count, in records.

    >>> check_total(10_000)
    10000.0
    """
    return checks.number("the largest total", max_total, low=1, high=MAX_TOTAL, code="TOTAL_RANGE")


def growth_ratio(alpha: float) -> float:
    """Ratio r = 1 + 2 alpha / 3 of one threshold to the one below it.

    >>> round(growth_ratio(0.75), 12)
    1.5
    """
    return 1.0 + 2.0 * check_alpha(alpha) / 3.0


def least_threshold(
    alpha: float, epsilon: float, delta: float, eta: float, n_levels: int, *, private_root: bool = False
) -> float:
    """Smallest tau for which the corrected mechanism is (alpha, eta)-accurate with that threshold at every node.

    K f(alpha) max(8 ln(4 d / eta), ln(1 + k (e^(eps/(2k)) - 1) / delta)) / eps with
    f = (3 + 2 alpha)^3 (1 + alpha)^2 / ((6 + 5 alpha) alpha^4); K = 36, k = 1 for a known bound on the root (Theorem
    A.1 of Ghazi et al., where 162 is printed instead of 36 (3 + 2 alpha)^3 / (6 + 5 alpha)); K = 72, k = 2 where half
    of the budget buys that bound (Corollary 4.7, printed 324).

    Parameters
    ----------
    eta : float
        Probability in (0, 1/2) that a node may miss its tolerance alpha max(count, tau).

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE, DELTA_RANGE, DELTA_REQUIRED, ETA_RANGE, LEVELS_RANGE.

    >>> round(least_threshold(0.5, 1.0, 1e-6, 1e-4, 100) / 162 / 36 / 8 / math.log(4e6), 4)  # corrected over printed
    1.6732
    """
    a, eps, d, failure, levels = _checked(alpha, epsilon, delta, eta, n_levels)
    k = 2 if private_root else 1
    constant = 36.0 * k * (3.0 + 2.0 * a) ** 3 / (6.0 + 5.0 * a) * (1.0 + a) ** 2 / (a**4 * eps)
    return constant * max(8.0 * math.log(4.0 * levels / failure), math.log1p(k * math.expm1(eps / (2 * k)) / d))


def paper_plan(
    alpha: float,
    epsilon: float,
    delta: float,
    n_levels: int,
    max_total: float,
    *,
    eta: float = USUAL_ETA,
    threshold: ArrayLike | None = None,
) -> Plan:
    """Rounds of the estimation of Ghazi et al. (Theorem A.1) with corrected budgets and a whole-number cut-off.

    Parameters
    ----------
    epsilon, delta : float
        What the rounds may spend together, for one record added or removed.
    max_total : float
        Upper bound M on the root's count, in records. When it is released privately, that is charged beside the plan.
    eta : float
        Probability in (0, 1/2) that a node misses its tolerance.
    threshold : float or (n_nodes,), optional
        tau of every node, or of each of them (Problem 3.1), in records; the smallest that is accurate unless given. The
        smallest of several decides: whoever comes by a node of a larger one may also come by one of the smallest.

    Returns
    -------
    Plan
        Proven: (epsilon, delta)-privacy, and that every node is within alpha max(count, tau) with probability 1 - eta
        while the root's count is at most M. The cut-off is floor(M_i / ((1 - beta) tau_i)) = 1: with a fraction c the
        test of the paper would admit ceil(c) answers with noise for c. `error` is None: the alpha-RMSE is bounded only
        after the clamp of Lemma 3.3.

    Raises
    ------
    InputError
        As `least_threshold`; THRESHOLD_RANGE for a threshold below it, TOTAL_RANGE.
    """
    a, eps, d, failure, levels = _checked(alpha, epsilon, delta, eta, n_levels)
    total, least = check_total(max_total), least_threshold(a, eps, d, failure, levels)
    tau = least
    if threshold is not None:
        tau = checks.number(
            "threshold", float(np.min(threshold)), low=0, open_low=True, high=1e30, code="THRESHOLD_RANGE"
        )
        if tau < least:
            message = (
                f"A threshold of {exact(tau)} is not accurate at this budget; the smallest is {whole(round(least))}."
            )
            raise InputError("THRESHOLD_RANGE", message)
    ratio, n_rounds = growth_ratio(a), rounds_needed(a, tau, total)
    weights = corrected_weights(ratio, n_rounds)
    rounds = (
        _round(i, weight * eps, weight * d, a * tau * ratio**i, a, failure / 2**i, levels=levels)
        for i, weight in enumerate(weights, 1)
    )
    return Plan(
        name="paper",
        epsilon=eps,
        delta=d,
        levels=tuple(rounds)[::-1],
        default_value=a * tau,
        alpha=a,
        n_levels=levels,
        max_total=total,
    )


def rounds_needed(alpha: float, threshold: float, max_total: float) -> int:
    """Number of rounds l = max(1, ceil(ln(M / (alpha tau)) / ln r)); at least one even where M is small or 0.

    >>> rounds_needed(0.75, 100.0, 75.0 * 1.5**3)
    3
    """
    ratio = growth_ratio(alpha)
    needed = math.log(max(max_total, 1e-300) / (alpha * threshold)) / math.log(ratio)
    rounds = max(1, math.ceil(needed - 1e-9))
    if rounds > MAX_PLAN_LEVELS:
        message = (
            f"This alpha needs {whole(rounds)} thresholds, more than {whole(MAX_PLAN_LEVELS)}; choose a larger alpha."
        )
        raise InputError("ALPHA_RANGE", message)
    return rounds


def corrected_weights(ratio: float, n_rounds: int) -> list[float]:
    """Shares i q^(i-1) / sum of i q^(i-1) of the rounds i = 1, ..., l, with q = 1 / ratio, rounded down.

    >>> sum(corrected_weights(1.5, 50)) <= 1
    True
    """
    raw = [i * ratio ** (1 - i) for i in range(1, n_rounds + 1)]
    total = math.fsum(raw) * (1.0 + _SLACK)
    return [weight / total for weight in raw]


@dataclass(frozen=True)
class PrintedSchedule:
    """Budgets of the rounds as printed in Algorithm 4, beside the corrected ones: an exhibit that nothing can run.

    Parameters
    ----------
    promised : float
        Epsilon that the rounds together are said to cost.
    printed, corrected : tuple of float
        Epsilon of the rounds i = 1, ..., l, from the lowest threshold up.
    """

    promised: float
    printed: tuple[float, ...]
    corrected: tuple[float, ...]

    @property
    def printed_total(self) -> float:
        """What the printed budgets really cost."""
        return math.fsum(self.printed)

    @property
    def corrected_total(self) -> float:
        """What the corrected budgets cost."""
        return math.fsum(self.corrected)

    @property
    def overspend(self) -> float:
        """Printed cost over promised cost, 1 + r^l (l (r - 1) - 1)."""
        return self.printed_total / self.promised


def printed_schedule(alpha: float, epsilon: float, n_rounds: int) -> PrintedSchedule:
    """Budgets of l rounds as printed, eps_i = eps i r^(i-1) (1 - r)^2, and corrected, eps_i = eps i q^(i-1) / C.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE; ROUNDS_RANGE unless n_rounds is from 1 to 1 000.

    >>> round(printed_schedule(0.5, 1.0, 20).overspend)
    1788
    """
    ratio, eps = growth_ratio(alpha), checks.epsilon(epsilon)
    n = checks.integer("the number of rounds", n_rounds, low=1, high=1000, code="ROUNDS_RANGE")
    printed = tuple(eps * i * ratio ** (i - 1) * (1.0 - ratio) ** 2 for i in range(1, n + 1))
    return PrintedSchedule(eps, printed, tuple(eps * weight for weight in corrected_weights(ratio, n)))


def _round(i: int, eps: float, d: float, value: float, alpha: float, eta: float, *, levels: int) -> PlanLevel:
    beta = alpha / (6.0 + 5.0 * alpha)
    tau = value / ((1.0 + alpha) * (1.0 - beta))
    # Algorithm 1 with c = 1: half of eps to the test, a quarter each to threshold and queries, half to the passes
    reserve = 16.0 / eps * math.log(2.0 * levels / eta)
    bound = truncated_bound(eps / 2.0, d)
    return PlanLevel(
        value=value,
        classification_threshold=tau,
        pass_threshold=tau - reserve - bound,
        threshold_epsilon=eps / 4.0,
        query_epsilon=eps / 4.0,
        pass_epsilon=eps / 2.0,
        pass_delta=d,
        pass_bound=bound,
        cut_off=math.floor(value / ((1.0 - beta) * tau) * (1.0 - _SLACK)),
        test_law="laplace",
    )


def _checked(
    alpha: float, epsilon: float, delta: float, eta: float, n_levels: int
) -> tuple[float, float, float, float, int]:
    failure = checks.number("eta", eta, low=0, high=0.5, open_low=True, open_high=True, code="ETA_RANGE")
    return check_alpha(alpha), checks.epsilon(epsilon), check_delta(delta), failure, check_levels(n_levels)
