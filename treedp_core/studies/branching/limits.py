"""The branching factor for very many bins: f(beta) and its minimum, for each noise, workload and post-processing.

All levels share the branching factor beta and the budget, so the height is h = ln K / ln beta, and each level has h^2
(Laplace) or h (Gaussian) times the noise variance of a level that spends all. To leading order in ln K the mean
variance of a prefix is half that times (ln K)^e f(beta), of a range twice as much. With e' = 3 (Laplace) or 2
(Gaussian), with a variance per level of

    (beta - 1) / 2                without least squares (Theorem IV.1),
    (beta - 1)^2 / (6 beta)       after it: (n - 1)(n s^2 + 1) / (6 n s) over a_l = s beta / (beta - 1) for large s,

f is (beta - 1) / (ln beta)^e' (Lemma IV.3) and (beta - 1)^2 / (3 beta) / (ln beta)^e'. For the mean over the nodes the
number of levels enters only through their budget: f is 1 / (ln beta)^(e' - 1), and (beta - 1) / beta times that after
least squares (the variances of all fitted values, in units of the noise variance, add up to the number of leaves). It
falls without end: few levels, the leaves alone, are best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from treedp_core import checks
from treedp_core.privacy import Currency
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Workload, n_bins_checked

_FAR = 1e12
SLACK = 0.05


def loss_factor(beta: float, criterion: Criterion) -> float:
    """Return f(beta), the factor by which the branching factor enters the mean variance, for beta > 1.

    >>> round(loss_factor(16, Criterion()), 6), round(loss_factor(17, Criterion()), 6)
    (0.703777, 0.703529)
    """
    b = checks.number("beta", beta, low=1, open_low=True, code="BRANCHING_RANGE")
    return _numerator(criterion)(b) / math.log(b) ** _power(criterion)


@dataclass(frozen=True)
class BestBranching:
    """Where f is least over beta >= 2.

    Parameters
    ----------
    beta : float
        inf where f falls without end.
    whole : int or None
        The best whole number; None where there is none.
    low, high : float
        Between them f is at most 1 + SLACK times its least value.
    """

    beta: float
    whole: int | None
    low: float
    high: float


def best_branching(criterion: Criterion) -> BestBranching:
    """Return the best branching factor for very many bins, where d ln f / d ln beta = 0.

    Without least squares: ln beta = 3 (beta - 1) / beta for Laplace noise (Lemma IV.3), with 2 for 3 for Gaussian;
    after it ln beta = 3 (beta - 1) / (beta + 1), and for Gaussian noise f rises from beta = 2 on.

    >>> best = best_branching(Criterion())
    >>> round(best.beta, 4), best.whole, round(best.low, 1), round(best.high, 1)
    (16.801, 17, 9.9, 30.4)
    """

    def slope(log_beta: float) -> float:
        b = math.exp(log_beta)
        return _elasticity(criterion)(b) - _power(criterion) / log_beta

    lowest, highest = math.log(2.0), math.log(_FAR)
    if slope(highest) < 0:
        return BestBranching(math.inf, None, math.inf, math.inf)
    beta = 2.0 if slope(lowest) >= 0 else math.exp(brentq(slope, lowest, highest, xtol=1e-15, rtol=1e-15))
    whole = min((math.floor(beta), math.ceil(beta)), key=lambda b: loss_factor(b, criterion))
    limit = loss_factor(beta, criterion) * (1.0 + SLACK)

    def above(log_beta: float) -> float:
        return loss_factor(math.exp(log_beta), criterion) - limit

    low = math.exp(brentq(above, lowest, math.log(beta))) if beta > 2.0 and above(lowest) > 0 else 2.0
    high = math.exp(brentq(above, math.log(beta), highest))
    return BestBranching(beta, whole, low, high)


def opendp_branching_factor(size_guess: int) -> int:
    """Return what OpenDP's `choose_branching_factor` recommends for a tree over that many bins.

    The b in 2, ..., n that minimises (b - 1) h^3 - 2 (b + 1) h^2 / 3 with h = log_b n, the average variance of a range
    by its cover, formula (3) of Qardaji, Yang and Li, "Understanding Hierarchical Methods for Differentially Private
    Histograms", PVLDB 6(14), 2013; as documented for `opendp.transformations.choose_branching_factor` (OpenDP 0.16).

    >>> opendp_branching_factor(10_000)
    22
    """
    n = n_bins_checked(size_guess)
    scores = _range_score(np.arange(2.0, min(n, 4096) + 1), n)
    best = int(np.argmin(scores)) + 2
    # beyond b the score is at least h^2 (b - 5) / 3 >= (b - 5) / 3, so larger b need no look from some point on
    stop = min(n, math.ceil(3 * float(scores.min())) + 6)
    if stop > 4096:
        rest = _range_score(np.arange(4097.0, stop + 1), n)
        best = best if scores.min() <= rest.min() else int(np.argmin(rest)) + 4097
    return best


def _range_score(b: FloatArray, n: int) -> FloatArray:
    h = math.log(n) / np.log(b)
    return np.asarray((b - 1.0) * h**3 - 2.0 * (b + 1.0) * h**2 / 3.0)


def _power(criterion: Criterion) -> int:
    per_level = 2 if criterion.currency is Currency.EPSILON else 1
    return per_level if criterion.workload is Workload.NODES else per_level + 1


def _numerator(criterion: Criterion) -> Callable[[float], float]:
    if criterion.workload is Workload.NODES:
        return (lambda b: (b - 1.0) / b) if criterion.least_squares else lambda b: 1.0
    return (lambda b: (b - 1.0) ** 2 / (3.0 * b)) if criterion.least_squares else lambda b: b - 1.0


def _elasticity(criterion: Criterion) -> Callable[[float], float]:
    """Return d ln numerator / d ln beta."""
    if criterion.workload is Workload.NODES:
        return (lambda b: 1.0 / (b - 1.0)) if criterion.least_squares else lambda b: 0.0
    return (lambda b: (b + 1.0) / (b - 1.0)) if criterion.least_squares else lambda b: b / (b - 1.0)
