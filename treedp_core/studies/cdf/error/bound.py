"""How small the error of linear queries by Gaussian noise can be at all: optimal matrices, with certified bounds.

What is bounded: the mean variance of linear queries of a histogram, by every mechanism that adds Gaussian noise to
linear queries of it, estimates linearly and without bias, and is rho-zCDP when one record is added or removed, or when
one is replaced and N is public. Trees with any shape and budgets, and least squares, are among them.

Such a mechanism amounts to adding noise with some precision matrix Q, to the bins or, where a record is replaced, to
the first K - 1 cumulative counts. A record moves those by a vector v: a unit vector, or the indicator of an interval
of cumulative counts (from bin k to bin j < k it raises those of j, ..., k - 1). rho-zCDP asks v' Q v <= 2 rho for each
of them, and the error is tr(Q^-1 G), G = L^2 the sum of the queries' outer products. For any weights pi_v >= 0 with
sum 1 and H = sum pi_v v v', feasible Q obey tr(Q H) <= 2 rho, and tr(Q^-1 G) tr(Q H) >= (tr (L H L)^(1/2))^2, hence

    tr(Q^-1 G) >= (tr (L H L)^(1/2))^2 / (2 rho)          for every pi,

and Q = L (L H L)^(-1/2) L, scaled until the worst v is feasible, is a mechanism whose error is larger by the factor
max_v v' Q v / tr (L H L)^(1/2). Raising the weights of those that are moved too far closes the gap.

`any_mechanism` makes of it a bound for every mechanism at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.privacy.conversions import mean_shift
from treedp_core.privacy.unit import MAX_CONTRIBUTIONS
from treedp_core.tree import FloatArray

MAX_BOUND_BINS: Final = 1025
"""A thousand and twenty-four, and one more for the records of a column that have no place in them."""
ROUNDS: Final = 14
"""About as many as a search takes."""
_ITERATIONS: Final = 400
_NONE: Final = 1e-300
_FIRST: Final = 3
_KEPT: Final = 0.3
"""How much of the last round's change of weights is made again after the first rounds: a third fewer of them."""


@dataclass(frozen=True, eq=False)
class MatrixBound:
    """Bounds at rho = 1 on the mean variance of linear queries, in records squared; divide by rho.

    Parameters
    ----------
    lower : float
        No mechanism of the class described above is better.
    attained : float
        A mechanism of that class attains it.
    precision : (K, K) or (K - 1, K - 1)
        That mechanism's precision matrix, of the bins or of the first K - 1 cumulative counts.
    """

    lower: float
    attained: float
    precision: FloatArray


def cdf_lower_bound(n_bins: int, gap: float = 0.005, each_round: Callable[[], object] = lambda: None) -> MatrixBound:
    """Return lower and upper bounds on the best possible CDF error of Gaussian noise, replacing one record.

    The last cumulative count is N, public, and has variance 0.

    Parameters
    ----------
    n_bins : int
        K, from 2 to 1025: the work grows with K^3.
    gap : float
        Stop when `attained` is at most (1 + gap) times `lower`, or after 400 rounds.
    each_round : function, optional
        Called before every round, of which a gap of 0.01 takes about 10; it may raise to stop.

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
    return least_error(np.eye(bins - 1), None, bins, True, gap, each_round)


def ranges_lower_bound(n_bins: int, gap: float = 0.005, each_round: Callable[[], object] = lambda: None) -> MatrixBound:
    """Return the same for all K (K + 1) / 2 ranges: differences of two of K + 1 cumulative counts, 0 and N among them.

    So a cumulative count is in K ranges, and each two are in one together, with opposite signs.

    >>> round(ranges_lower_bound(2).lower, 9)  # two ranges of one bin, and the total
    0.333333333
    """
    bins = checks.integer("n_bins", n_bins, low=2, high=MAX_BOUND_BINS, code="BOUND_SIZE")
    checks.number("gap", gap, low=1e-4, high=1)
    gram = (bins + 1.0) * np.eye(bins - 1) - 1.0
    return least_error(gram, None, bins * (bins + 1) / 2.0, True, gap, each_round)


def any_mechanism(lower: float, epsilon: float, delta: float = 0.0, contributions: int = 1) -> float:
    """Return a mean squared error of linear queries that every (epsilon, delta)-private mechanism has on some data.

    In records squared, rounded down; of mechanisms linear or not, biased or not, with noise of any law. On data
    of few records alone a mechanism may do better, as it knows that they are few.

    Parameters
    ----------
    lower : float
        `MatrixBound.lower` of the queries and of the neighbouring relation.
    epsilon, delta : float
    contributions : int
        How many records of a unit come, go or are replaced, at most; they may lie in one bin.

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_RANGE``, ``VALUE_RANGE``, ``CONTRIBUTIONS_RANGE``.

    Notes
    -----
    *Noise that ignores the data.* Let W be the queries, of the first K - 1 cumulative counts x (of all bins where a
    record comes or goes), and B the largest mean squared error of a mechanism A. Draw y evenly from the data with
    each of 0, ..., M - 1 records in every bin but the last, and there as many as make the number of records one and
    the same (or evenly there, too). Let Z = A(x + y) - W (x + y). For x and for x + v, v what a neighbour changes,
    the points x + y are the same but for a part of 2 / M; as their mean squared errors are at most B, first and
    second moments of Z come to be the same as M grows. Let S be a limit of the second moments: tr S <= B times the
    number of queries. For every y the laws of A(x + y) - W y and A(x + v + y) - W y are (epsilon, delta)-close, hence
    those of W x + Z for x and x + v.

    *One direction.* For a row a these have means a'W v apart in direction a, and variances of at most a'S a. So
    (a'W v)^2 <= r a'S a, with r of `mean_shift`. Take a = S^-1 W v (S + eta I where S has no inverse, eta to 0): with
    Q = W' S^-1 W, v' Q v <= r for all v.

    *All of them.* W Q^-1 W' <= S: an estimate of W x from W x + noise of covariance S, linear and without bias, has at
    best that covariance (Gauss and Markov), and one has S. Hence tr S >= tr(Q^-1 W'W), where Q is feasible above with
    2 rho = r: the bound for Gaussian noise at rho = r / 2 is one for all. Without delta that rho is cosh(epsilon) - 1.
    Of m records m v is a change for every v.

    Half of what discrete Laplace noise on one of two bins has:

    >>> round(any_mechanism(cdf_lower_bound(2).lower, 1.0), 4)
    0.4603
    """
    least = checks.number("the bound at rho = 1", lower, low=0)
    records = checks.integer("contributions", contributions, low=1, high=MAX_CONTRIBUTIONS, code="CONTRIBUTIONS_RANGE")
    return least * records**2 * 2.0 / mean_shift(epsilon, delta) * (1.0 - 1e-9)


def least_error(
    gram: FloatArray, spare: FloatArray | None, queries: float, replaced: bool, gap: float,
    each_round: Callable[[], object],
) -> MatrixBound:  # fmt: skip
    """Return bounds on the mean variance of linear queries, and a precision matrix that attains one.

    Parameters
    ----------
    gram : (n, n)
        G: sum of the outer products of the queries, over bins, or over cumulative counts if a record is `replaced`.
    spare : (n, n), optional
        What is added to a G that is singular, so that the matrix answers all else too; the bounds leave it out.
    queries : float
        How many there are.
    gap, each_round
        See `cdf_lower_bound`.
    """
    n, root = gram.shape[0], _root(gram if spare is None else gram + spare)
    weights = np.triu(np.ones((n + 1, n + 1)), 1) if replaced else np.ones(n)
    power, change = 4.0 if replaced else 2.0, np.ones_like(weights)  # the largest power that does not swing
    for done in range(_ITERATIONS):
        each_round()
        weights /= weights.sum()
        values, vectors = _eigen(_mixed(root, weights))
        roots = np.sqrt(np.maximum(values, values.max() * 1e-15))
        half = root @ vectors
        over = half / roots
        moved = _interval_sums(over @ half.T) if replaced else np.einsum("ij,ij->i", over, half)
        norm, worst = float(roots.sum()), float(moved.max())
        if worst <= (1.0 + gap) * norm:
            break
        change = (moved / norm) ** power * (np.maximum(change, _NONE) ** _KEPT if done > _FIRST else 1.0)
        weights = np.maximum(weights * change, _NONE * (moved > 0))
    precision = over @ half.T * (2.0 / worst)
    if spare is None:
        lower = norm**2 / 2.0 / queries
        return MatrixBound(lower, lower * worst / norm, precision)
    alone = _root(gram)
    norm = float(np.sqrt(np.maximum(_eigen(_mixed(alone, weights))[0], 0.0)).sum())
    return MatrixBound(norm**2 / 2.0 / queries, float(np.trace(np.linalg.solve(precision, gram))) / queries, precision)


def _mixed(root: FloatArray, weights: FloatArray) -> FloatArray:
    """Root times what moves by these weights of bins (n,), or of their intervals (K, K), times root, (n, n)."""
    return np.asarray((root * weights if weights.ndim == 1 else root @ _weighted_intervals(weights)) @ root)


def _root(matrix: FloatArray) -> FloatArray:
    """Symmetric square root, (n, n)."""
    values, vectors = _eigen(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (n,) and vectors (n, n), in no order; in two halves where reversal changes nothing."""
    matrix = (matrix + matrix.T) / 2.0
    n = matrix.shape[0]
    if n < 2 or not np.allclose(matrix, matrix[::-1, ::-1], rtol=1e-9, atol=1e-11 * np.abs(matrix).max()):
        return np.linalg.eigh(matrix)
    half, scale = n // 2, np.sqrt(0.5)
    near, far = matrix[:half, :half], matrix[:half, n - half :][:, ::-1]
    across = matrix[:half, half : n - half] / scale  # no column, or the middle one
    even = np.block([[near + far, across], [across.T, matrix[half : n - half, half : n - half]]])
    (values, same), (others, turned) = np.linalg.eigh(even), np.linalg.eigh(near - far)
    top, tail = same[:half] * scale, turned * scale
    vectors = np.block([[top, tail], [same[half:], np.zeros((n - 2 * half, half))], [top[::-1], -tail[::-1]]])
    return np.concatenate([values, others]), vectors


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
