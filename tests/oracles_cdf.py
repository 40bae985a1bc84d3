"""Slow, obvious answers about CDFs on trees: enumeration of covers, dense linear algebra, brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def cover(factors: Sequence[int], n: int) -> list[tuple[int, int]]:
    """The paper's procedure on sets of leaves: (level, position) of the nodes that cover the first n leaves."""
    left, found = set(range(n)), []
    sizes = [math.prod(factors[level:]) for level in range(len(factors) + 1)]
    for level, size in enumerate(sizes):
        for position in range(sizes[0] // size):
            interval = set(range(position * size, (position + 1) * size))
            if interval <= left:
                found.append((level, position))
                left -= interval
    assert not left
    return found


def cover_matrix(factors: Sequence[int], n_bins: int) -> dict[int, np.ndarray]:
    """By level: 0/1 matrix (K prefixes, nodes) of who is in whose cover; the last prefix is the root alone."""
    matrices = {level: np.zeros((n_bins, math.prod(factors[:level])), dtype=int) for level in range(len(factors) + 1)}
    for n in range(1, n_bins):
        for level, position in cover(factors, n):
            matrices[level][n - 1, position] = 1
    matrices[0][n_bins - 1, 0] = 1
    return matrices


def plain_means(factors: Sequence[int], n_bins: int, level_variance: Sequence[float]) -> tuple[float, float]:
    """Mean variance of prefixes and of ranges as differences of two prefixes, from the covers' covariance matrix."""
    covariance = np.zeros((n_bins + 1, n_bins + 1))
    for level, matrix in cover_matrix(factors, n_bins).items():
        covariance[1:, 1:] += level_variance[level] * (matrix @ matrix.T)
    return means_of(covariance)


def least_squares_means(factors: Sequence[int], n_bins: int, level_variance: Sequence[float]) -> tuple[float, ...]:
    """Mean variance of prefixes, ranges and nodes below the root after least squares, by dense algebra.

    Bins past the last are known to be empty: their columns are left out. A root of variance 0 is a constraint.
    """
    rows, variances = [], []
    for level, variance in enumerate(level_variance):
        size = math.prod(factors[level:])
        for position in range(-(-n_bins // size)):
            rows.append([1.0 if position * size <= j < (position + 1) * size else 0.0 for j in range(n_bins)])
            variances.append(variance)
    nodes, noise = np.array(rows), np.array(variances)
    used = (noise > 0) & np.isfinite(noise)
    free = np.linalg.svd(np.ones((1, n_bins)))[2][1:].T if noise[0] == 0 else np.eye(n_bins)
    white = nodes[used] @ free / np.sqrt(noise[used])[:, None]
    bins = free @ np.linalg.inv(white.T @ white) @ free.T
    sums = np.tril(np.ones((n_bins, n_bins)))
    covariance = np.zeros((n_bins + 1, n_bins + 1))
    covariance[1:, 1:] = sums @ bins @ sums.T
    return (*means_of(covariance), float(np.diag(nodes @ bins @ nodes.T)[1:].mean()))


def means_of(covariance: np.ndarray) -> tuple[float, float]:
    """Mean variance of prefixes and of differences of two prefixes, the empty prefix first."""
    n = covariance.shape[0]
    ranges = [covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i in range(n) for j in range(i + 1, n)]
    return float(np.diag(covariance)[1:].mean()), float(np.mean(ranges))


def theorem_iv1(factors: Sequence[int], epsilons: Sequence[Fraction], n_records: int) -> Fraction:
    """Total squared error by the printed formula, in exact arithmetic."""
    total = sum((Fraction(n - 1) / e**2 for n, e in zip(factors, epsilons, strict=True)), Fraction(0))
    return Fraction(4 * math.prod(factors), n_records**2) * total


def ordered_trees(n_bins: int) -> Iterator[tuple[int, ...]]:
    """All trees over K bins whose first factor cannot be smaller."""

    def below(product: int) -> Iterator[tuple[int, ...]]:
        yield ()
        for n in range(2, -(-n_bins // product)):
            if product * n < n_bins:
                for rest in below(product * n):
                    yield (*rest, n)

    for rest in below(1):
        first = -(-n_bins // math.prod(rest))
        if first >= 2:
            yield (first, *rest)


def factor_sets(n_bins: int, exact: bool) -> Iterator[tuple[int, ...]]:
    """All non-decreasing factors with product K, or with a product that reaches K only with the last."""

    def more(product: int, low: int) -> Iterator[tuple[int, ...]]:
        if exact:
            if product >= low:
                yield (product,)
            for n in range(low, math.isqrt(product) + 1):
                if product % n == 0:
                    yield from ((n, *rest) for rest in more(product // n, n))
        else:
            yield (max(product, low),)
            for n in range(low, product):
                yield from ((n, *rest) for rest in more(-(-product // n), n))

    yield from more(n_bins, 2)


def distinct_orders(factors: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order of a multiset, each once."""
    if not factors:
        yield ()
    for first in sorted(set(factors)):
        rest = list(factors)
        rest.remove(first)
        yield from ((first, *behind) for behind in distinct_orders(rest))


def consistent_cost(y: Sequence[float], n_records: int, error: Callable[[int, float], float]) -> float:
    """Least total error of a non-decreasing whole sequence in [0, N] over all bins but the last."""
    sequences = itertools.combinations_with_replacement(range(n_records + 1), len(y) - 1)
    return min(sum(error(v, x) for v, x in zip(c, y, strict=False)) for c in sequences)


def total_cost(fit: Sequence[int], y: Sequence[float], error: Callable[[int, float], float]) -> float:
    """Total error of a fit over all bins but the last."""
    return sum(error(int(v), float(x)) for v, x in zip(fit[:-1], y[:-1], strict=True))


# --- Rameshwar et al., Theorems IV.2 and IV.3, Lemmas IV.2 and IV.4, Proposition B.1: E_2 of full trees, N = 1 -------


def best_epsilons(factors: Sequence[float], epsilon: float) -> np.ndarray:
    """Level budgets that minimise E_2 for given branching factors: ~ (n_i - 1)^(1/3)."""
    roots = np.cbrt(np.array(factors) - 1.0)
    return np.asarray(epsilon * roots / roots.sum())


def best_factors(epsilons: Sequence[float], n_bins: int) -> np.ndarray:
    """Real branching factors for given level budgets: n_i = K^(1/h) epsilon_i^2 / (prod epsilon_j^2)^(1/h)."""
    squares = np.array(epsilons) ** 2
    return np.asarray((n_bins / squares.prod()) ** (1.0 / squares.size) * squares)


def upper_bound_error(factors: Sequence[float], epsilons: Sequence[float]) -> float:
    """4 K sum_i n_i / epsilon_i^2."""
    return 4.0 * math.prod(factors) * sum(n / e**2 for n, e in zip(factors, epsilons, strict=True))


def least_upper_bound(n_bins: float, height: int) -> float:
    """4 K^(1 + 1/h) h^3: the smallest `upper_bound_error` of a height for epsilon 1."""
    return float(4.0 * n_bins ** (1.0 + 1.0 / height) * height**3)


def optimal_error(n_bins: float, height: int) -> float:
    """4 K h^3 (K^(1/h) - 1): the smallest E_2 of a height over real n_i >= 3 for epsilon 1."""
    return float(4.0 * n_bins * height**3 * (n_bins ** (1.0 / height) - 1.0))


def refined_node_variance(branching: int, level: int, height: int, level_epsilon: float) -> float:
    """8 / epsilon_level^2 / sum_{j=0}^{h-i} beta^-j; what is printed there is the total budget."""
    return 8.0 / level_epsilon**2 / sum(float(branching) ** -j for j in range(height - level + 1))


def refined_error(branching: int, height: int, epsilon: float) -> float:
    """E_2 of the average of the two views, equal factors and budgets."""
    nodes = sum(refined_node_variance(branching, level, height, epsilon / height) for level in range(1, height + 1))
    return float(branching**height) * (branching - 1) / 4.0 * nodes


def least_mean_square(n_bins: int, epsilon: float, delta: float, side: int, ranges: bool) -> float:
    """Least mean squared error of whole-number noise on cumulative counts, |noise| <= side, by a linear program.

    A replaced record adds 1 to, or takes 1 from, some in a row of the first K - 1; the answers are these counts and N,
    0, or all ranges: every difference of two of K + 1 counts.
    """
    n = n_bins - 1
    grid = np.array([*itertools.product(range(-side, side + 1), repeat=n)])
    number = {tuple(z): i for i, z in enumerate(grid.tolist())}
    moves = [
        s * np.array([a <= i < b for i in range(n)], int)
        for a in range(n)
        for b in range(a + 1, n + 1)
        for s in (1, -1)
    ]
    size, square = len(grid), np.square(grid).sum(axis=1) / n_bins
    if ranges:
        ends = np.pad(grid, ((0, 0), (1, 1)))
        square = np.square(ends[:, :, None] - ends[:, None]).sum(axis=(1, 2)) / (n_bins * (n_bins + 1))
    blocks, limit = [], []
    for at, move in enumerate(moves):
        near = np.zeros((size, size))
        for i, z in enumerate(grid):
            j = number.get(tuple((z + move).tolist()))
            near[i, i] = 1.0
            if j is not None:
                near[i, j] = -math.exp(epsilon)
        excess = [(-np.eye(size) if at == other else np.zeros((size, size))) for other in range(len(moves))]
        blocks += [
            np.hstack([near, *excess]),
            np.hstack([np.zeros((1, size)), *(-one.sum(axis=0)[None] for one in excess)]),
        ]
        limit += [0.0] * size + [delta]
    cost = np.concatenate([square, np.zeros(size * len(moves))])
    found = linprog(
        cost, np.vstack(blocks), limit, (cost >= 0)[None] * np.r_[np.ones(size), np.zeros(size * len(moves))], [1.0]
    )
    assert found.success
    return float(found.fun)
