"""The mean variance of every tree of few levels over K bins, many trees at once, by recursions of their own.

Trees of one height are columns: factors (h, n_trees), from the root down. Bins past the last are left out, so the last
node of a level may hold fewer bins than the others, but all the others of a level are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

DEGREE = {"laplace": 2, "gaussian": 1}
"""A level with the share w of the budget has 1 / w^degree times the variance of one that spends all."""
REPLACED = {"laplace": 8.0, "gaussian": 1.0}
"""Variance of a level that spends all, one record replaced: two counts move by 1, so 2 (2 / eps)^2 and 2 / (2 rho)."""


def trees_of_height(n_bins: int, height: int, *, padded: bool) -> np.ndarray:
    """All factors (height, n_trees) with product K; padded, all whose first factor cannot be smaller."""
    rests: list[tuple[int, ...]] = [()]
    for _ in range(height - 1):
        rests = [
            (n, *rest)
            for rest in rests
            for n in range(2, (n_bins - 1) // math.prod(rest) + 1)
            if padded or n_bins % (n * math.prod(rest)) == 0
        ]
    rows = [(-(-n_bins // math.prod(rest)), *rest) for rest in rests if math.prod(rest) < n_bins]
    return np.array(rows, dtype=np.int64).reshape(len(rows), height).T


def sizes(factors: np.ndarray) -> np.ndarray:
    """Leaves below a full node of levels 0, ..., h, (h + 1, n_trees)."""
    below = np.cumprod(factors[::-1], axis=0)[::-1]
    return np.vstack([below, np.ones_like(below[:1])])


# ---- without least squares


@cache
def uses(n_bins: int, n: int, s: int) -> tuple[int, int]:
    """Prefixes shorter than K that use a node, added over the nodes of a level, and pairs of prefixes that share one.

    The t-th child of a family of L bins is used by the prefixes that end behind its s bins, within the family: L - t s.
    """
    families, rest = divmod(n_bins, n * s)
    total = pairs = 0
    for many, size in ((families, n * s), (1, rest)):
        users = np.arange(size - s, 0, -s, dtype=np.int64)[: n - 1] if many and size > s else np.zeros(0, np.int64)
        total += many * int(users.sum())
        pairs += many * int((users * (users - 1) // 2).sum())
    return total, pairs


def plain_weights(factors: np.ndarray, n_bins: int, workload: str) -> np.ndarray:
    """What the noise variance of each level below the root counts for in the mean variance, (h, n_trees)."""
    below = sizes(factors)[1:]
    if workload == "nodes":
        nodes = -(-n_bins // below)
        return nodes / nodes.sum(axis=0)
    codes, where = np.unique(factors * (2 * n_bins) + below, return_inverse=True)
    found = np.array([uses(n_bins, int(code) // (2 * n_bins), int(code) % (2 * n_bins)) for code in codes], dtype=float)
    once, shared = found[where.reshape(factors.shape)].transpose(2, 0, 1)
    if workload == "cdf":
        return once / n_bins
    # of two prefixes each counts what it uses alone: over all pairs of K + 1 prefixes, K times the uses less the shared
    return (n_bins * once - 2 * shared) / (n_bins * (n_bins + 1) / 2)


# ---- after least squares


@dataclass
class Below:
    """What is known of a node of each tree from its own noisy count and all below, (n_trees,) each.

    Every wanted number of the subtree is slope * (the node's count) + noise of its own.
    """

    variance: np.ndarray  # of the best estimate of the count
    bins: np.ndarray
    slope: np.ndarray  # sum of the slopes of the prefixes that begin and end within the node, the whole left out
    slope2: np.ndarray  # of their squares
    noise: np.ndarray  # sum of their own variances
    sum_noise: np.ndarray  # variance of their sum
    nodes: np.ndarray  # nodes below
    node_slope2: np.ndarray
    node_noise: np.ndarray


def leaf(variance: np.ndarray) -> Below:
    zero = np.zeros_like(variance)
    return Below(variance, zero + 1, zero, zero, zero, zero, zero, zero, zero)


def parent(many: np.ndarray, one: Below, last: Below, variance: np.ndarray) -> Below:
    """The parent of `many` equal children and a last one.

    Given their sum the children's counts x have covariance diag(u) - u u' / U and slopes u / U, U = sum u.
    """
    u, v, m = one.variance, last.variance, many
    U = m * u + v
    m1, m2 = m * (m - 1) / 2, (m - 1) * m * (2 * m - 1) / 6  # 0 + 1 + ... + (m - 1), and their squares
    # a prefix that ends in child i, with slope a there, is x_1 + ... + x_{i-1} + a x_i + noise
    covered = one.bins * m1 * u + m * one.slope * u + last.bins * m * u + last.slope * v  # sum of cov(prefix, parent)
    squares = (
        one.bins * m2 * u**2 + 2 * one.slope * m1 * u**2 + m * one.slope2 * u**2
        + last.bins * (m * u) ** 2 + 2 * last.slope * m * u * v + last.slope2 * v**2
    )  # fmt: skip
    own = one.bins * m1 * u + m * one.slope2 * u + last.bins * m * u + last.slope2 * v
    noise = m * one.noise + last.noise + own - squares / U
    # child i stands with its own slopes in the sum of all prefixes, and whole in those of every later child
    later = one.bins * m1 + m * last.bins
    betas = m * one.slope + later
    betas2 = m * one.slope**2 + 2 * one.slope * later + one.bins**2 * m2 + 2 * one.bins * last.bins * m1
    betas2 = betas2 + m * last.bins**2
    spread = betas2 * u + last.slope**2 * v - (betas * u + last.slope * v) ** 2 / U
    node_noise = m * (one.node_noise + (1 + one.node_slope2) * (u - u * u / U))
    node_noise = node_noise + last.node_noise + (1 + last.node_slope2) * (v - v * v / U)
    return Below(
        1 / (1 / variance + 1 / U),
        m * one.bins + last.bins,
        covered / U,
        squares / U**2,
        noise,
        m * one.sum_noise + last.sum_noise + spread,
        m * (1 + one.nodes) + 1 + last.nodes,
        (m * (1 + one.node_slope2) * u**2 + (1 + last.node_slope2) * v**2) / U**2,
        node_noise,
    )


def fitted_value(factors: np.ndarray, n_bins: int, variances: np.ndarray, workload: str) -> np.ndarray:
    """Mean variance after least squares (n_trees,) with a known total, level variances (h, n_trees) below the root."""
    height, below = factors.shape[0], sizes(factors)
    rest = n_bins - (-(-n_bins // below) - 1) * below  # bins of the last node of each level
    full = last = leaf(variances[height - 1])
    for level in range(height - 1, -1, -1):
        above = variances[level - 1] if level else np.full_like(variances[0], np.inf)
        behind = -(-rest[level] // below[level + 1]) - 1
        full, last = parent(factors[level] - 1.0, full, full, above), parent(behind * 1.0, full, last, above)
    if workload == "cdf":
        return last.noise / n_bins
    if workload == "nodes":
        return last.node_noise / last.nodes
    return ((n_bins + 1) * last.noise - last.sum_noise) / (n_bins * (n_bins + 1) / 2)


# ---- budgets


def equal_values(factors: np.ndarray, n_bins: int, law: str, workload: str, *, fitted: bool) -> np.ndarray:
    """Mean variance (n_trees,) with equal budgets at total 1, one record replaced."""
    height = factors.shape[0]
    each = REPLACED[law] * float(height) ** DEGREE[law]
    if fitted:
        return fitted_value(factors, n_bins, np.full(factors.shape, each), workload)
    return each * plain_weights(factors, n_bins, workload).sum(axis=0)


def best_values(factors: np.ndarray, n_bins: int, law: str, workload: str, *, fitted: bool) -> np.ndarray:
    """Mean variance (n_trees,) with the best budgets; after least squares the best that a search of shares reaches.

    Shares are multiplied by (-gradient)^(1 / (degree + 1)), by complex steps; only promising trees to the end. What is
    reached is what some budgets have, so no best tree may be worse.
    """
    degree = DEGREE[law]
    if not fitted:
        roots = plain_weights(factors, n_bins, workload) ** (1 / (degree + 1))
        return REPLACED[law] * roots.sum(axis=0) ** (degree + 1)
    shares = np.full(factors.shape, 1 / factors.shape[0])
    values = np.full(factors.shape[1], np.inf)
    alive = np.arange(factors.shape[1])
    for turn in range(60):
        trees, now = factors[:, alive], shares[:, alive]
        slope = np.empty_like(now)
        for level in range(now.shape[0]):
            moved = now.astype(complex)
            moved[level] += 1e-30j
            value = fitted_value(trees, n_bins, REPLACED[law] / moved**degree, workload)
            slope[level] = value.imag / 1e-30
        values[alive] = np.minimum(values[alive], value.real)
        moved_to = now * np.maximum(-slope, 1e-300) ** (1 / (degree + 1))
        shares[:, alive] = np.maximum(moved_to / moved_to.sum(axis=0), 1e-12)
        if turn in (2, 8, 20):
            alive = alive[np.argsort(values[alive])[: max(20, alive.size // 8)]]
    return values
