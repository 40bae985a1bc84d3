"""What a budget in rho promises, by three conversions, and what the better one is worth in noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import Law
from treedp_core.privacy.conversions import (
    epsilon_to_rho,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)
from treedp_core.studies.topdown.plan import Plan
from treedp_core.tree import FloatArray

RHO_GRID: Final = tuple(float(x) for x in np.geomspace(1e-3, 10.0, 41))


@dataclass(frozen=True)
class Accounting:
    """Epsilon of a budget at one delta, and the noise that a conversion saves.

    Parameters
    ----------
    rho, delta : float
    epsilon_simple : float
        rho + 2 sqrt(rho ln(1 / delta)) (Bun and Steinke, 2016), as in the paper.
    epsilon_tight : float
        The infimum of Canonne, Kamath and Steinke (2020); it holds for discrete Gaussian noise.
    epsilon_gaussian : float
        Exact for continuous Gaussian noise of the same rho; no conversion can say less for all noises of that rho.
    rho_tight : float
        The larger rho that the tight conversion allows at `epsilon_simple`.
    noise_ratio : float
        Sigma needed for `epsilon_simple` by the tight conversion over sigma by the simple one; below 1.
    """

    rho: float
    delta: float
    epsilon_simple: float
    epsilon_tight: float
    epsilon_gaussian: float
    rho_tight: float
    noise_ratio: float


def accounting(rho: float, delta: float) -> Accounting:
    """Return the guarantees of a total budget rho at delta, each rounded up.

    Raises
    ------
    InputError
        ``RHO_RANGE``, ``DELTA_REQUIRED``, ``DELTA_RANGE``.

    >>> result = accounting(0.1, 1e-6)
    >>> round(result.epsilon_simple, 4), round(result.epsilon_tight, 4), round(result.epsilon_gaussian, 4)
    (2.4508, 2.1419, 1.9945)
    >>> 0.8 < result.noise_ratio < 0.9  # as good a promise with at least a tenth less noise
    True
    """
    simple = rho_to_epsilon_simple(rho, checks.delta(delta, required=True))
    allowed = epsilon_to_rho(simple, delta, False)
    return Accounting(
        rho,
        delta,
        simple,
        rho_to_epsilon(rho, delta),
        rho_to_epsilon_gaussian(rho, delta),
        allowed,
        math.sqrt(rho / allowed),
    )


def grid_with(rho: float) -> tuple[float, ...]:
    """Return budgets to draw curves over, from 0.001 to 10, with rho among them."""
    return tuple(sorted({*RHO_GRID, min(max(rho, RHO_GRID[0]), RHO_GRID[-1])}))


def epsilons(rhos: Sequence[float], delta: float) -> dict[str, FloatArray]:
    """Return the epsilon of budgets rho by every conversion, each rounded up: a column (n_rhos,) each.

    >>> [round(float(column[0]), 4) for column in epsilons([0.1], 1e-6).values()]
    [0.1, 2.4508, 2.1419, 1.9945]
    """
    ways: dict[str, Callable[[float, float], float]] = {
        "Standard": rho_to_epsilon_simple,
        "Tight, discrete Gaussian": rho_to_epsilon,
        "Exact, continuous Gaussian": rho_to_epsilon_gaussian,
    }
    return {"rho": np.array(rhos)} | {name: np.array([way(rho, delta) for rho in rhos]) for name, way in ways.items()}


def extra_noise(rhos: Sequence[float], delta: float) -> dict[str, FloatArray]:
    """Return how much larger sigma is, in per cent, than it need be where the standard epsilon of a budget is promised.

    A column (n_rhos,) for each conversion that would do.

    >>> round(float(extra_noise([0.1], 1e-6)["Tight"][0]), 1)
    13.1
    """
    simple = [rho_to_epsilon_simple(rho, delta) for rho in rhos]
    allowed = {name: np.array([epsilon_to_rho(epsilon, delta, is_gaussian) for epsilon in simple])
               for name, is_gaussian in (("Tight", False), ("Exact, continuous", True))}  # fmt: skip
    extra = {name: 100.0 * (np.sqrt(larger / np.array(rhos)) - 1.0) for name, larger in allowed.items()}
    return {"rho": np.array(rhos)} | extra


# ---- how far a top-down release can be from the truth, level by level (Boninsegna, Theorem 1).
#
# With Z the noise of a level, err_k <= err_(k-1) + 2 max |Z| over level k: the projection moves a family at most as far
# as the closest feasible numbers, and the true counts with the parent's error spread over them are feasible. So with a
# share beta / (number of noisy levels) of the failure probability for each level,
#
#     bound of level k = sum over noisy levels l <= k of 2 t_l,   P(max |Z| > t_l on level l) <= share.
#
# A noisy total adds t_0 once, not twice: it is rounded and clipped, never projected.
#
# The printed bound takes t = sigma sqrt(2 ln(nodes / share)), from P(|Z| >= t) <= e^(-t^2 / 2 sigma^2). The proof cites
# that inequality for P(Z >= t), one side only; for both sides of discrete Gaussian noise it holds for all t > 0 exactly
# when it holds at t = 1, which is when sigma >= 0.974296 (sigma^2 >= 0.94925). Below that a level needs 2 nodes / share
# inside the logarithm. Each level is judged by its own sigma, so any split of the budget is covered.


SMALLEST_SIGMA: Final = 0.9743  # rounded up from 0.97429598...: two sides then cost no factor


def bound(plan: Plan, beta: float) -> FloatArray:
    """Return Theorem 1's bound on the largest error of each level in records, (n_levels,).

    For every level by itself, with probability at least 1 - beta no node of it is off by more; where the paper's
    inequality would not hold the level has the factor 2 (see `needs_factor_two`). The proof covers both integer rules,
    as both have the smallest largest change; it does not cover least squares before the projection.

    Parameters
    ----------
    plan : Plan
    beta : float
        Probability of failure, in (0, 1).
        Level k's bound shares it among the noisy levels up to k, as printed: sum over l <= k of
        sqrt(8 sigma_l^2 ln(k nodes_l / beta)).

    Raises
    ------
    InputError
        ``BETA_RANGE``.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> bound(plan((2, 2), 1.0), 0.1).round(6).tolist()  # sqrt(16 ln 20), then sqrt(16 ln 40) + sqrt(16 ln 80)
    [0.0, 6.923274, 16.055899]
    """
    return _added_up(plan, beta, _gaussian_reach)


def bound_by_exact_tails(plan: Plan, beta: float) -> FloatArray:
    """Return the bound of `bound` with the exact tails of the noise instead of an inequality, (n_levels,): tighter.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> ready = plan((10, 10, 10), 0.5)
    >>> bool((bound_by_exact_tails(ready, 0.1) <= bound(ready, 0.1)).all())
    True
    """
    return _added_up(plan, beta, _exact_reach)


def needs_factor_two(plan: Plan) -> tuple[bool, ...]:
    """Return for each level whether its noise is so narrow that the printed inequality fails, (n_levels,).

    With rho / d for each level and one record replaced that is so when rho > 1.0534 d.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> needs_factor_two(plan((2, 2), 2.1)), needs_factor_two(plan((2, 2), 2.2))
    ((False, False, False), (False, True, True))
    """
    return tuple(bool(0 < sigma < SMALLEST_SIGMA) for sigma in plan.sigmas)


def _added_up(plan: Plan, beta: float, reach: Callable[[Plan, int, float], float]) -> FloatArray:
    failure = checks.number("beta", beta, low=0, high=1, open_low=True, open_high=True, code="BETA_RANGE")
    noisy = [level for level, law in enumerate(plan.laws) if law is not None]
    out = np.zeros(plan.n_levels)
    for k in range(plan.n_levels):
        upto = [level for level in noisy if level <= k]
        out[k] = sum((2 if level else 1) * reach(plan, level, failure / len(upto)) for level in upto)
    return out


def _gaussian_reach(plan: Plan, level: int, share: float) -> float:
    sides = 2 if needs_factor_two(plan)[level] else 1
    inside = math.log(sides) + math.log(plan.cells[level]) - math.log(share)
    return float(plan.sigmas[level]) * math.sqrt(2.0 * inside)


def _exact_reach(plan: Plan, level: int, share: float) -> float:
    """Smallest whole t with nodes P(|Z| > t) <= share."""
    law = plan.laws[level]
    assert law is not None
    low, high = -1, max(1, math.ceil(_gaussian_reach(plan, level, share)))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _mean_beyond(law, middle, plan.cells[level]) <= share else (middle, high)
    return high


def _mean_beyond(law: Law, t: int, nodes: int) -> float:
    return float(nodes) * float(law.tail(np.array(float(t))))


# ---- infTDA's open question: whether errors grow with the level as its bound does, or only as without projection.
#
# Theorem 1 bounds the largest error of level k by a sum over the levels above it, about k^1.5. Without projection the
# largest noise of a level grows only with the logarithm of its nodes, about k^0.5, and its law is known exactly.


def largest_of_level(plan: Plan, level: int, beta: float) -> int:
    """Return the smallest t with P(max |Z| > t) <= beta over the nodes of a level, in records: exact, no projection.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> largest_of_level(plan((2, 2), 1.0), 1, 0.1)
    3
    """
    law = plan.laws[level]
    if law is None:
        return 0
    low, high = -1, max(1, math.ceil(law.reach(beta / plan.cells[level])))
    while high - low > 1:
        middle = (low + high) // 2
        miss = -math.expm1(plan.cells[level] * math.log1p(-float(law.tail(np.array(float(middle))))))
        low, high = (low, middle) if miss <= beta else (middle, high)
    return high


def exponent(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of ln y over ln x, both (n,): the exponent with which y grows, by least squares.

    >>> round(exponent(np.array([1.0, 10.0, 100.0]), np.array([2.0, 2.0 * 10**1.5, 2000.0])), 6)
    1.5
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
