"""The error that Theorem 4.1 of Ghazi et al. proves, as a number, with corrected constants."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.mechanisms.thresholds.schedule import check_alpha, check_delta
from treedp_core.noise.law import FloatArray

_LOG_ETAS: Final = np.linspace(-250.0, np.log(0.49), 2001)


def theorem_error(alpha: float, epsilon: float, delta: float, n_levels: ArrayLike) -> FloatArray:
    """Proven worst-case alpha-RMSE of Estimation and clamp together, in records, shape of `n_levels`.

    Half of the budget buys (alpha, eta)-accuracy with threshold tau = `least_threshold(..., private_root=True)`
    (Corollary 4.7, corrected constant), half the clamp of Lemma 3.3 with range R: the square of the error is at most
    (alpha tau)^2 + 4 eta R^2. The paper sets eta = d^-2; here eta is the best on a fine grid.

    >>> bool(1.3e6 < theorem_error(0.5, 1.0, 1e-6, 1000) < 1.5e6)
    True
    """
    a, eps, d = check_alpha(alpha), checks.epsilon(epsilon), check_delta(delta)
    levels = np.asarray(n_levels, dtype=float)[..., None]
    half, rest = eps / 2.0, np.log1p(2.0 * np.expm1(eps / 8.0) / (d / 2.0))
    constant = 72.0 * (3.0 + 2.0 * a) ** 3 / (6.0 + 5.0 * a) * (1.0 + a) ** 2 / (a**4 * half)
    tau = constant * np.maximum(8.0 * (np.log(4.0 * levels) - _LOG_ETAS), rest)
    squares = np.square(a * tau) + 4.0 * np.exp(_LOG_ETAS) * np.square(clamp_bound(eps, d, levels))
    return np.asarray(np.sqrt(squares.min(axis=-1)))


def clamp_bound(epsilon: float, delta: float, n_levels: ArrayLike) -> FloatArray:
    """Range R of the clamp of Lemma 3.3, in records, shape of `n_levels`: TruncLap for (epsilon/2, delta/2) in total.

    R = (2 d / eps) ln(1 + d (e^(eps/(2d)) - 1) / delta) with d levels.

    >>> round(float(clamp_bound(2.0, 2e-6, 1)), 5)  # one level: Lemma 2.8 at (1, 1e-6)
    13.66369
    """
    levels = np.asarray(n_levels, dtype=float)
    share = checks.epsilon(epsilon) / (2.0 * levels)
    return np.asarray(np.log1p(np.expm1(share) * levels / check_delta(delta)) / share)
