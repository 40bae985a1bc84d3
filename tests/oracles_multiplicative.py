"""Slow and obvious oracles for multiplicative error: quadrature, plain loops and dense linear algebra."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import integrate, optimize, stats


def loss_beyond_slack(estimate: float, count: float, alpha: float) -> float:
    return max(abs(estimate - count) - alpha * count, 0.0) ** 2


def alpha_rmse(frozen: object, alpha: float, count: float, *, shrink: bool) -> float:
    """By quadrature over the noise's density, in pieces between the kinks of the loss; `frozen` is a scipy law."""

    def integrand(z: float) -> float:
        y = count + z
        estimate = max(0.0, (1 - alpha) * y) if shrink else y
        return loss_beyond_slack(estimate, count, alpha) * float(frozen.pdf(z))  # type: ignore[attr-defined]

    spread = float(frozen.std())  # type: ignore[attr-defined]
    kinks = [-count, 0.0, -alpha * count, alpha * count, 2 * alpha / (1 - alpha) * count]
    edges = sorted({-40 * spread - count, *kinks, 40 * spread + max(kinks)})
    pieces = [x for a, b in pairwise(edges) for x in np.linspace(a, b, 4)[:-1]] + [edges[-1]]
    parts = [integrate.quad(integrand, a, b)[0] for a, b in pairwise(pieces) if b > a]
    return math.sqrt(math.fsum(parts))


def worst_on_grid(frozen: object, alpha: float, reach: float, step: float) -> float:
    return max(alpha_rmse(frozen, alpha, w, shrink=True) for w in np.arange(0.0, reach, step))


def theorem_error(alpha: float, epsilon: float, delta: float, d: int) -> float:
    """Corollary 4.7 (corrected) and Lemma 3.3 written out, best eta on a fine grid."""
    e, dl = epsilon / 2, delta / 2
    e1, d1 = epsilon / (2 * d), delta / (2 * d)
    bound = math.log(1 + (math.exp(e1) - 1) / (2 * d1)) / e1

    def square(log_eta: float) -> float:
        largest = max(8 * (math.log(4 * d) - log_eta), math.log(1 + 2 * (math.exp(e / 4) - 1) / dl))
        tau = 72 * (3 + 2 * alpha) ** 3 / (6 + 5 * alpha) * (1 + alpha) ** 2 / (alpha**4 * e) * largest
        return (alpha * tau) ** 2 + math.exp(log_eta) * 4 * bound**2

    return math.sqrt(min(square(x) for x in np.linspace(-250.0, math.log(0.49), 20_000)))


def entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p) if p > 0 else 0.0


def packing(alpha: float, epsilon: float, delta: float, d: int) -> float:
    """Largest (1 - alpha) k sqrt(eta) / 2 over k, eta <= 1/2 least with e^(-(d-1) H(eta)) <= e^(k eps)/N + delta_k."""
    best, leaves = 0.0, 2.0 ** (d - 1)
    for k in range(1, int((d - 1) * math.log(2) / epsilon) + 2):
        limit = math.exp(k * epsilon) / leaves + delta * (math.exp(k * epsilon) - 1) / (math.exp(epsilon) - 1)
        if limit >= 1:
            break
        target = -math.log(limit) / (d - 1)
        eta = optimize.brentq(lambda p, t: entropy(p) - t, 0.0, 0.5, (target,)) if target < math.log(2) else 0.5
        best = max(best, (1 - alpha) * k * math.sqrt(eta) / 2)
    return best


def decoding_step(together: float, first: float, second: float, eta: float) -> float:
    """Mean log-probability that the walk takes the right child: both children wrong, only one, none."""
    none = 1 - together - first - second
    return none * math.log(1 - eta) + (first + second) * math.log(0.5) + together * math.log(eta)


def tree_matrix(branching: tuple[int, ...]) -> np.ndarray:
    """Node by leaf incidence of the level-uniform tree, and one row for every node."""
    sizes = np.cumprod([1, *branching])
    leaves = int(sizes[-1])
    return np.vstack([np.kron(np.eye(int(size)), np.ones((1, leaves // int(size)))) for size in sizes])


def primal_norm(branching: tuple[int, ...], shares: np.ndarray) -> float:
    """Largest row norm times largest column norm of the factorisation W = R A, A = sqrt(shares) W, R = W A^+."""
    w = tree_matrix(branching)
    sizes = np.cumprod([1, *branching])
    a = np.sqrt(np.repeat(shares, sizes))[:, None] * w
    r = w @ np.linalg.pinv(a)
    return float(np.sqrt((r**2).sum(axis=1).max() * (a**2).sum(axis=0).max()))


def dual_norm(branching: tuple[int, ...], masses: np.ndarray) -> float:
    """Nuclear norm of W weighted by uniform leaves and by levels with these masses: at most gamma_2."""
    w = tree_matrix(branching)
    sizes = np.cumprod([1, *branching])
    v = np.sqrt(np.repeat(masses / masses.sum() / sizes, sizes))
    return float(np.linalg.svd(v[:, None] * w / math.sqrt(w.shape[1]), compute_uv=False).sum())


def best_dual_norm(branching: tuple[int, ...]) -> float:
    """The best dual certificate over masses of the levels, by a general optimiser in logarithms."""

    def negative(log_masses: np.ndarray) -> float:
        return -dual_norm(branching, np.exp(np.append(log_masses, 0.0)))

    found = optimize.minimize(
        negative, np.zeros(len(branching)), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    return -float(found.fun)


def normal(sigma: float) -> object:
    return stats.norm(scale=sigma)


def laplace(scale: float) -> object:
    return stats.laplace(scale=scale)
