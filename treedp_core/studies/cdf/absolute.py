"""The mean absolute error of cumulative counts: the l1 distance between a released CDF and the true one, exactly.

A sum of m independent Laplace errors of scale 1 is the difference of two gamma variables of shape m, whose mean
absolute value is 2 Gamma(m + 1/2) / (sqrt(pi) Gamma(m)). So without least squares only how many nodes each cumulative
count adds up is needed: the sum of its digits in the mixed radix of the branching factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import gammaln

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.prefixes import least_squares_prefix_variances
from treedp_core.studies.cdf.pipelines import PipelineCurve
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, equal_tree

MOST_BUILT: Final = 1 << 16
"""Bins up to which the variance of every cumulative count after least squares is looked at."""
_SERIES: Final = 100.0


def mean_absolute(m: AnyArray) -> FloatArray:
    """Return the mean absolute value of a sum of m independent Laplace variables of scale 1, (n,).

    >>> mean_absolute(np.array([0, 1, 2])).round(12).tolist()
    [0.0, 1.0, 1.5]
    """
    n = np.asarray(m, dtype=float)
    return np.where(n > 0, 2.0 / math.sqrt(math.pi) * _half_step(np.maximum(n, 1.0)), 0.0)


def _half_step(n: FloatArray) -> FloatArray:
    """Gamma(n + 1/2) / Gamma(n) for n >= 1: above 100 by its series in 1 / n, to 2e-13."""
    series = 1.0 - 1.0 / (8.0 * n) + 1.0 / (128.0 * n**2) + 5.0 / (1024.0 * n**3) - 21.0 / (32768.0 * n**4)
    few = np.minimum(n, _SERIES)
    return np.where(n > _SERIES, np.sqrt(n) * series, np.exp(gammaln(few + 0.5) - gammaln(few)))


def cover_sizes(shape: Shape) -> FloatArray:
    """Return how many prefixes shorter than K add up 0, 1, 2, ... nodes, (n_sizes,).

    Of the numbers below K those that share its digits down to a level, and have a smaller one there, have free digits
    below: a convolution of boxes.

    >>> cover_sizes(Shape((2, 3), 5)).tolist()
    [1.0, 2.0, 2.0, 0.0]
    """
    factors, rest, digits = shape.branching_factors, shape.n_bins, list[int]()
    for n in reversed(factors[1:]):
        digits.insert(0, rest % n)
        rest //= n
    digits.insert(0, rest)
    found = np.zeros(1 + digits[0] + sum(n - 1 for n in factors[1:]))
    free, above = np.ones(1), sum(digits)
    for level in reversed(range(len(factors))):
        above -= digits[level]
        smaller = _boxed(free, digits[level])
        found[above : above + smaller.size] += smaller
        free = _boxed(free, factors[level]) if level else free
    return found


def _boxed(counts: FloatArray, n: int) -> FloatArray:
    """Numbers of sums with one more digit below n, (n_sizes,); none where n is 0."""
    running = np.cumsum(np.concatenate([counts, np.zeros(n - 1)])) if n else np.zeros(0)
    return np.asarray(running - np.concatenate([np.zeros(n), running])[: running.size])


def tree_error(shape: Shape, scale: float) -> float:
    """Return the mean absolute error of a cumulative count, Laplace noise of one scale on every node, in records.

    >>> round(tree_error(Shape((3,), 3), 1.0), 12)  # 0, 1 and 1.5
    0.833333333333
    """
    if shape.height == 1:
        return scale * _sum_of_first(shape.n_bins - 1) / shape.n_bins
    sizes = cover_sizes(shape)
    return scale * float(sizes @ mean_absolute(np.arange(sizes.size))) / shape.n_bins


def _sum_of_first(n: int) -> float:
    """Sum of `mean_absolute` over 1, ..., n: 4 Gamma(n + 3/2) / (3 sqrt(pi) Gamma(n)), by telescoping."""
    return 2.0 * (n + 0.5) / 3.0 * float(mean_absolute(np.array(n)))


def fitted_error(shape: Shape, unit: ProtectedUnit) -> float:
    """Return the mean absolute error after least squares of Gaussian noise, equal budgets, rho = 1, in records."""
    criterion = Criterion("gaussian", least_squares=True, unit=unit)
    levels = criterion.level_variances(criterion.budget(shape, criterion.equal_shares(shape), 1.0))
    variances = least_squares_prefix_variances(shape.tree(), np.repeat(levels, shape.level_sizes))
    return math.sqrt(2.0 / math.pi) * float(np.sqrt(variances).mean())


def absolute_curves(
    n_bins: int, epsilons: Sequence[float], contributions: int, best: Shape, fitted: Shape, delta: float
) -> list[PipelineCurve]:
    """Return mean absolute errors of pipelines over K bins, one record replaced, equal budgets.

    `best` is a tree for Laplace noise without least squares, `fitted` one for Gaussian noise after it, which is left
    out beyond `MOST_BUILT` bins. Least squares of Laplace noise has no closed form.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions)
    moved, x = float(unit.l1_sensitivity(2)[1]), np.array(epsilons)
    trees = (("Histogram", "histogram", Shape((n_bins,), n_bins)), ("Binary tree", "binary", equal_tree(n_bins, 2)),
             ("16-ary tree", "tree", equal_tree(n_bins, 16)),
             (f"{product_text(best.branching_factors)} (best found)", "best", best))  # fmt: skip
    at_one = [("Noise on every cumulative count", "range queries", contributions * (n_bins - 1) ** 2 / n_bins)]
    at_one += [(label, kind, tree_error(shape, moved * shape.height)) for label, kind, shape in trees]
    found = [PipelineCurve(label, kind, x, value / x) for label, kind, value in at_one]
    if n_bins <= MOST_BUILT:
        rho = np.array([epsilon_to_rho(epsilon, delta, True) for epsilon in epsilons])
        label = f"Gaussian, {product_text(fitted.branching_factors)}, least squares"
        found.append(PipelineCurve(label, "Gaussian tree", x, fitted_error(fitted, unit) / np.sqrt(rho)))
    return found
