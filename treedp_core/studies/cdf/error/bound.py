"""How small the CDF error of Gaussian noise can be at all: the optimal matrix mechanism, with a certified lower bound.

What is bounded: the mean variance of the K cumulative counts (the last is N, public, variance 0) of every mechanism
that adds Gaussian noise to linear queries of the histogram, estimates the counts linearly and without bias, may use N,
and is rho-zCDP when one record is replaced. Trees with any shape and budgets, and least squares, are among them.

Such a mechanism amounts to adding noise with some precision matrix Q to the first K - 1 cumulative counts. Moving a
record from bin k to bin j < k raises those of bins j, ..., k - 1 by one, so rho-zCDP asks 1_I' Q 1_I <= 2 rho for the
indicator 1_I of every interval I; the error is tr(Q^-1). For any weights pi_I >= 0 with sum 1 and
G = sum pi_I 1_I 1_I', feasible Q obey tr(Q G) <= 2 rho, and tr(Q^-1) tr(Q G) >= (tr G^(1/2))^2, hence

    tr(Q^-1) >= (tr G^(1/2))^2 / (2 rho)          for every pi,

and Q = G^(-1/2), scaled until the worst interval is feasible, is a mechanism whose error is larger by the factor
max_I 1_I' Q 1_I / tr G^(1/2). Raising the weights of the intervals that are too sensitive closes the gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.tree import FloatArray

MAX_BOUND_BINS: Final = 1024
_POWER: Final = 2.0
_ITERATIONS: Final = 400


@dataclass(frozen=True, eq=False)
class MatrixBound:
    """Bounds at rho = 1 on the mean variance of the K cumulative counts, in records squared; divide by rho.

    Parameters
    ----------
    lower : float
        No mechanism of the class described above is better.
    attained : float
        A mechanism of that class attains it.
    precision : (K - 1, K - 1)
        That mechanism's precision matrix of the cumulative counts.
    """

    lower: float
    attained: float
    precision: FloatArray


def cdf_lower_bound(n_bins: int, gap: float = 0.005, each_round: Callable[[], object] = lambda: None) -> MatrixBound:
    """Return lower and upper bounds on the best possible CDF error of Gaussian noise, replacing one record.

    Parameters
    ----------
    n_bins : int
        K, from 2 to 1024: the work grows with K^3.
    gap : float
        Stop when `attained` is at most (1 + gap) times `lower`, or after 400 rounds.
    each_round : function, optional
        Called before every round, of which a gap of 0.01 takes about 20; it may raise to stop.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for another number of bins.

    >>> bound = cdf_lower_bound(2)
    >>> bound.lower, bound.attained
    (0.25, 0.25)
    """
    bins = checks.integer("n_bins", n_bins, low=2, high=MAX_BOUND_BINS, code="BOUND_SIZE")
    checks.number("gap", gap, low=1e-4, high=1)
    weights = np.triu(np.ones((bins, bins)), 1)
    for _ in range(_ITERATIONS):
        each_round()
        weights /= weights.sum()
        values, vectors = np.linalg.eigh(_weighted_intervals(weights))
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
        precision = (vectors / roots) @ vectors.T
        sensitivity = _interval_sums(precision)
        norm, worst = float(roots.sum()), float(sensitivity.max())
        if worst <= (1.0 + gap) * norm:
            break
        weights *= (sensitivity / norm) ** _POWER
    lower = norm**2 / 2.0 / bins
    return MatrixBound(lower, lower * worst / norm, precision * (2.0 / worst))


def _weighted_intervals(weights: FloatArray) -> FloatArray:
    """G[a, b] = sum of the weights [j, k] with j <= a and b < k, for a <= b; symmetric, (K - 1, K - 1)."""
    behind = np.cumsum(np.cumsum(weights, axis=0)[:, ::-1], axis=1)[:, ::-1]
    upper = np.triu(behind[:-1, 1:])
    return np.asarray(upper + np.triu(upper, 1).T)


def _interval_sums(matrix: FloatArray) -> FloatArray:
    """1_I' matrix 1_I for I = j, ..., k - 1, at [j, k] with j < k; 0 elsewhere, (K, K)."""
    n = matrix.shape[0] + 1
    corner = np.zeros((n, n))
    corner[1:, 1:] = np.cumsum(np.cumsum(matrix, axis=0), axis=1)
    diagonal = np.diag(corner)
    return np.triu(np.add.outer(diagonal, diagonal) - 2.0 * corner, 1)
