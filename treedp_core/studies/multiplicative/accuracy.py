"""From the alpha-RMSE to probabilities and relative errors, and back (Ghazi et al., Lemmas 3.2, 3.3 and B.1).

An estimate is (alpha, eta)-accurate with threshold tau when |error| <= alpha max(count, tau) with probability 1 - eta.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.mechanisms.thresholds.schedule import check_alpha, check_delta
from treedp_core.noise import Law
from treedp_core.noise.law import FloatArray


def accurate_threshold(alpha_rmse: float, alpha: float, wider_alpha: float, eta: float) -> float:
    """Smallest tau for which an alpha-RMSE implies (wider_alpha, eta)-accuracy, in records (Lemma 3.2).

    tau = alpha_rmse / ((wider_alpha - alpha) sqrt(eta)): Markov's inequality on the squared excess, nothing about the
    noise. Where its law is known, `noise_accurate_threshold` is far smaller.

    Raises
    ------
    InputError
        ALPHA_RANGE unless 0 <= alpha < wider_alpha < 1, ETA_RANGE, ERROR_RANGE.

    >>> accurate_threshold(1.0, 0.25, 0.5, 0.01)
    40.0
    """
    error = checks.number("the alpha-RMSE", alpha_rmse, low=0, code="ERROR_RANGE")
    low = checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")
    wide = checks.number(
        "the wider alpha", wider_alpha, low=low, high=1, open_low=True, open_high=True, code="ALPHA_RANGE"
    )
    return error / ((wide - low) * float(np.sqrt(_eta(eta))))


def miss_probability(law: Law, alpha: float, counts: ArrayLike, threshold: float) -> FloatArray:
    """Exact P(|noise| > alpha max(count, threshold)), shape of `counts`.

    >>> from treedp_core.noise import Laplace
    >>> round(float(miss_probability(Laplace(10.0), 0.5, 0.0, 20.0)), 6)  # 1 / e
    0.367879
    """
    tau = checks.number("threshold", threshold, low=0, code="THRESHOLD_RANGE")
    return law.tail(check_alpha(alpha) * np.maximum(np.asarray(counts, dtype=float), tau))


def noise_accurate_threshold(law: Law, alpha: float, eta: float) -> float:
    """Smallest tau for which noise of that law is (alpha, eta)-accurate at every count, in records.

    alpha tau is the point beyond which the law has mass eta; found by bisection and rounded up. Laplace noise of scale
    b has tau = b ln(1/eta) / alpha.

    >>> from treedp_core.noise import Laplace
    >>> round(noise_accurate_threshold(Laplace(2.0), 0.5, 0.01), 6)  # 4 ln 100
    18.420681
    """
    a, failure = check_alpha(alpha), _eta(eta)
    low, high = 0.0, float(np.sqrt(law.variance / failure))  # Chebyshev
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if law.tail(middle) > failure else (low, middle)
    return high / a


def clamp_bound(epsilon: float, delta: float, n_levels: ArrayLike) -> FloatArray:
    """Range R of the clamp of Lemma 3.3, in records: TruncLap on every node for (epsilon/2, delta/2) in total.

    R = (2 d / eps) ln(1 + d (e^(eps/(2d)) - 1) / delta) with d levels.

    >>> round(float(clamp_bound(2.0, 2e-6, 1)), 5)  # one level: Lemma 2.8 at (1, 1e-6)
    13.66369
    """
    levels = np.asarray(n_levels, dtype=float)
    share = checks.epsilon(epsilon) / (2.0 * levels)
    return np.asarray(np.log1p(np.expm1(share) * levels / check_delta(delta)) / share)


def clamped_alpha_rmse(
    alpha: float, threshold: float, eta: float, epsilon: float, delta: float, n_levels: int
) -> float:
    """Proven alpha-RMSE of an (alpha, eta)-accurate mechanism after the clamp of Lemma 3.3, in records.

    sqrt((alpha tau)^2 + 4 eta R^2) with the range R of `clamp_bound`; epsilon and delta are the total, of which the
    accurate mechanism spends one half.

    >>> round(clamped_alpha_rmse(0.5, 100.0, 1e-12, 1.0, 1e-6, 10), 3)
    50.0
    """
    tau = checks.number("threshold", threshold, low=0, code="THRESHOLD_RANGE")
    bound = float(clamp_bound(epsilon, delta, n_levels))
    return float(np.hypot(check_alpha(alpha) * tau, 2.0 * np.sqrt(_eta(eta)) * bound))


def relative_error_bound(alpha_rmse: float, alpha: float, threshold: float) -> float:
    """Upper bound alpha_rmse / threshold + alpha on the smoothed relative error and on the RMSRE of a node.

    Lemma B.1 with sqrt(2) removed: |error| <= max(|error| - alpha w, 0) + alpha w, so that dividing by
    max(w, threshold) and taking the mean, or the root mean square (Minkowski), gives the bound for both.

    >>> relative_error_bound(5.0, 0.25, 20.0)
    0.5
    """
    error = checks.number("the alpha-RMSE", alpha_rmse, low=0, code="ERROR_RANGE")
    slack = checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")
    return error / checks.number("threshold", threshold, low=checks.THRESHOLD_LOW, code="THRESHOLD_RANGE") + slack


def _eta(eta: float) -> float:
    return checks.number("eta", eta, low=0, high=1, open_low=True, open_high=True, code="ETA_RANGE")
