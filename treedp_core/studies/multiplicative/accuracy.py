"""From the alpha-RMSE to probabilities and relative errors, and back (Ghazi et al., Lemmas 3.2, 3.3 and B.1).

An estimate is (alpha, eta)-accurate with threshold tau when |error| <= alpha max(count, tau) with probability 1 - eta.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treedp_core import checks
from treedp_core.mechanisms.thresholds.plans import provable_plan_error, split_with_root, tuned_plan_error
from treedp_core.mechanisms.thresholds.schedule import check_alpha, least_threshold
from treedp_core.noise import Gaussian, Laplace, Law
from treedp_core.studies.multiplicative.curves import Setting, growth
from treedp_core.studies.multiplicative.lower_bounds import least_possible_threshold


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


def noise_accurate_threshold(law: Law, alpha: float, eta: float) -> float:
    """Smallest tau for which noise of that law is (alpha, eta)-accurate at every count, in records.

    alpha tau is the point beyond which the law has mass eta; found by bisection and rounded up. Laplace noise of scale
    b has tau = b ln(1/eta) / alpha.

    >>> from treedp_core.noise import Laplace
    >>> round(noise_accurate_threshold(Laplace(2.0), 0.5, 0.01), 6)  # 4 ln 100
    18.420681
    """
    return law.reach(_eta(eta)) / check_alpha(alpha)


def clamped_alpha_rmse(alpha: float, threshold: float, eta: float, reach: float) -> float:
    """Proven alpha-RMSE of an (alpha, eta)-accurate mechanism after the clamp of Lemma 3.3, in records.

    sqrt((alpha tau)^2 + 4 eta R^2) with the clamp's range R, `reach`, in records.

    >>> clamped_alpha_rmse(0.5, 60.0, 0.01, 200.0)
    50.0
    """
    tau = checks.number("threshold", threshold, low=0, code="THRESHOLD_RANGE")
    bound = checks.number("the clamp's range", reach, low=0, code="RANGE")
    return float(np.hypot(check_alpha(alpha) * tau, 2.0 * np.sqrt(_eta(eta)) * bound))


def accuracy_table(setting: Setting, n_levels: int, eta: float) -> dict[str, list[Any]]:
    """Return from how many records tau on counts are within a factor 1 ± alpha with probability 1 - eta, by mechanism.

    Below tau the error is at most alpha tau with the same probability. Best first, lower bounds last; columns of equal
    length.

    Raises
    ------
    InputError
        ``LEVELS_RANGE``, ``ETA_RANGE``.
    """
    alpha, epsilon, delta = setting.alpha, setting.epsilon, setting.delta
    noise = growth(setting, [n_levels], ("gaussian", "optimal")).error
    sigma, factor = float(noise["gaussian"][0]), float(noise["optimal"][0])
    exact, theorem = "exact, from the noise's tail", "proven (Ghazi et al., Corollary 4.7, corrected constant)"
    rows = [
        ("Laplace", noise_accurate_threshold(Laplace(n_levels / epsilon), alpha, eta), "ε", exact),
        ("Gaussian", noise_accurate_threshold(Gaussian(sigma), alpha, eta), "ε, δ", exact),
        ("Optimal factorisation", noise_accurate_threshold(Gaussian(factor), alpha, eta), "ε, δ", exact),
        *_from_plans(setting, n_levels, eta),
        (
            "Thresholds, paper's constants",
            least_threshold(alpha, epsilon, delta, eta, n_levels, private_root=True), "ε, δ", theorem,
        ),
    ]  # fmt: skip
    rows.sort(key=lambda row: math.inf if math.isnan(row[1]) else row[1])
    for label, pure in (("Lower bound, δ = 0", 0.0), ("Lower bound, δ > 0", delta)):
        least = least_possible_threshold(alpha, eta, epsilon, n_levels, pure)
        rows.append((label, least, "ε, δ" if pure else "ε", "no mechanism does better (Corollary 5.4, own constants)"))
    return {
        "mechanism": [row[0] for row in rows],
        "τ (records)": [row[1] for row in rows],
        "spends": [row[2] for row in rows],
        "how it is known": [row[3] for row in rows],
    }


def _from_plans(setting: Setting, n_levels: int, eta: float) -> list[tuple[str, float, str, str]]:
    """Plans made for half of alpha; Lemma 3.2 turns their error into a threshold at alpha."""
    (epsilon, delta), _ = split_with_root(setting.epsilon, setting.delta)
    half, rows = setting.alpha / 2.0, []
    for label, error_of, known in (
        ("Thresholds, provable plan", provable_plan_error, "proven: its error at α/2, by Lemma 3.2"),
        ("Thresholds, tuned plan", tuned_plan_error, "its simulated error at α/2, by Lemma 3.2"),
    ):
        error = float(error_of(half, epsilon, delta, n_levels, setting.max_total))
        tau = math.nan if math.isnan(error) else accurate_threshold(error, half, setting.alpha, eta)
        rows.append((label, tau, "ε, δ", known))
    return rows


def _eta(eta: float) -> float:
    return checks.number("eta", eta, low=0, high=1, open_low=True, open_high=True, code="ETA_RANGE")
