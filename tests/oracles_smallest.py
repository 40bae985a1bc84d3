"""The smallest epsilon after least squares on a level-uniform tree, slowly: every set of measured levels, by simplices.

No code is shared with the product. With m_l leaves below a node of level l and level precisions q_l, least squares has
the information L_j = sum over l >= j of q_l m_l on the vectors that are constant below level j and sum to 0 below its
parents, and a node v of level l has the energy m_l^2 (1 / m_j - 1 / m_(j-1)) there. So Var(v) is the sum over j <= l of
m_l^2 (1 / m_j - 1 / m_(j-1)) / L_j, and the weight of a measurement u in v's estimate is q_u Cov(u, v).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import brentq, minimize

LARGE = 1e18


def informations(branching: tuple[int, ...], q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves below a node of each level, energies, and 1 / L_j, all (n_levels,); q inf is known exactly."""
    m = np.append(np.cumprod(np.array(branching[::-1], dtype=float))[::-1], 1.0)
    energy = 1.0 / m - np.append(0.0, 1.0 / m[:-1])
    below = np.cumsum((q * m)[::-1])[::-1]
    return m, energy, np.where(below > 0, 1.0 / np.maximum(below, 1e-300), LARGE)


def variances(branching: tuple[int, ...], q: np.ndarray) -> np.ndarray:
    m, energy, inverse = informations(branching, q)
    return m**2 * np.cumsum(energy * inverse)


def parts(branching: tuple[int, ...], q: np.ndarray, level: int) -> list[tuple[float, float, int]]:
    """Level, weight and number of the measurements in the estimate of one node."""
    m, energy, inverse = informations(branching, q)
    found = []
    for u in range(q.size):
        if not 0 < q[u] < math.inf:
            continue
        for meet in range(min(u, level) + 1):
            size = math.prod(branching[meet:u])
            own = 1 if meet == u else 0 if meet == level and meet < u else math.prod(branching[meet + 1 : u])
            count = size if meet == level else 1 if meet == u else size - own
            cover = energy[: meet + 1] @ inverse[: meet + 1]
            if meet < min(u, level):
                cover -= inverse[meet + 1] / m[meet]
            found.append((u, float(q[u] * m[u] * m[level] * cover), count))
    return found


def tail(scales: np.ndarray, counts: np.ndarray, reach: float) -> float:
    """P(|sum of scaled Laplace noises| > reach), by the integral of the characteristic function."""
    spread = math.sqrt(2.0 * float(counts @ scales**2))
    end = 120.0 / spread
    s = np.append((np.arange(6000) + 0.5) * (0.02 / spread), end)
    f = np.exp(-(counts[:, None] * np.log1p(np.square(scales[:, None] * s))).sum(axis=0))
    inside = float((np.sin(s * reach) / s * f)[:-1].sum()) * 0.02 / spread
    beyond = math.cos(end * reach) / (end * reach) * float(f[-1])  # by parts, once
    return 1.0 - (inside + beyond) * 2.0 / math.pi


def needed(branching, shares, sensitivity, targets, every, public_root) -> float:
    """The factor by which shares (n_levels,) must be scaled; targets map levels to records."""
    q = (shares / sensitivity) ** 2 / 2.0
    if public_root:
        q[0] = 1e30
    v = variances(branching, q)
    worst = 0.0
    for level, size in targets.items():
        if every is None:
            worst = max(worst, math.sqrt(v[level]) / size)
            continue
        if v[level] > 1e12 * size**2:
            return 1e9
        known = np.where(q > 1e29, 0.0, q)
        kinds = parts(branching, np.where(known > 0, q, 0.0) if not public_root else np.append(1e30, q[1:]), level)
        kinds = [(u, c, n) for u, c, n in kinds if not (public_root and u == 0)]
        scales = np.array([abs(c) * sensitivity / shares[int(u)] for u, c, _ in kinds])
        counts = np.array([n for _, _, n in kinds], dtype=float)
        keep = scales > 1e-9 * scales.max()
        scales, counts = scales[keep], counts[keep]
        guess = math.sqrt(v[level]) / size * 2.0

        def excess(x: float, scales=scales, counts=counts, size=size) -> float:
            return tail(scales, counts, size * x) - (1.0 - every)

        worst = max(worst, brentq(excess, 0.2 * guess, 5.0 * guess, rtol=1e-7))
    return worst


def smallest_epsilon(
    branching: tuple[int, ...],
    targets: dict[int, float],
    rng: np.random.Generator,
    *,
    every: float | None = None,
    relation: str = "add_or_remove_one",
    known_levels: int = 0,
    starts: int = 2,
) -> float:
    """The least total for RMSE at most so many records, or with `every` so sure every count within so many."""
    n, public = len(branching) + 1, relation == "replace_one"
    sensitivity = 2.0 if public else 1.0

    def cost(shares: np.ndarray) -> float:
        twice = 2.0 * shares[known_levels:].sum() if relation == "replace_unknown" else 0.0
        return max(float(shares.sum()), twice)

    def total(x: np.ndarray, measured: tuple[int, ...], sure: float | None) -> float:
        shares = np.zeros(n)
        shares[list(measured)] = np.exp(np.clip(x, -12.0, 12.0))
        return needed(branching, shares, sensitivity, targets, sure, public) * cost(shares)

    levels = range(int(public), n)
    ends = []
    for size in range(1, len(levels) + 1):
        for measured in itertools.combinations(levels, size):
            if max(measured) < max(targets):
                continue
            for _ in range(starts if size > 1 else 1):
                one = minimize(
                    total, rng.normal(0.0, 0.7, size), (measured, None), method="Nelder-Mead",
                    options={"maxiter": 120 * size, "xatol": 1e-4, "fatol": 1e-7},
                )  # fmt: skip
                ends.append((float(one.fun), measured, one.x))
    ends.sort(key=lambda end: end[0])
    if every is None:
        return ends[0][0]
    best, seen = math.inf, set()
    for _, measured, x in ends:
        if measured in seen or len(seen) == 4:
            continue
        seen.add(measured)
        one = minimize(
            total, x, (measured, every), method="Nelder-Mead",
            options={"maxiter": 30 * len(measured), "xatol": 1e-3, "fatol": 1e-5},
        )  # fmt: skip
        best = min(best, float(one.fun))
    return best
