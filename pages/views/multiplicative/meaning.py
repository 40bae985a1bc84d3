"""Words and thresholds on the page Multiplicative error: from how many records on a relative promise holds."""

from __future__ import annotations

import math
from typing import Any, Final

from treedp_core.mechanisms.thresholds.plans import (
    least_threshold,
    provable_plan_error,
    split_with_root,
    tuned_plan_error,
)
from treedp_core.noise import Gaussian, Laplace
from treedp_core.studies.multiplicative import (
    Setting,
    accurate_threshold,
    growth,
    least_possible_threshold,
    noise_accurate_threshold,
)

WORDS: Final = (
    "**Multiplicative error forgives what is small beside the count.** With α = 0.1 a count of 10 000 may be off by "
    "1 000 for free; only what goes beyond that is an error, in records. Ask this question when people read ratios: "
    "shares, rates, rankings, the heaviest branches of a deep tree.\n\n"
    "- **It is the right question** for trees with very many levels (URLs, n-grams, IP prefixes, medical codes, "
    "quadtrees) and for counts that span powers of ten. There noise on every level must grow with the number of "
    "levels, √d at best; thresholds with δ > 0 grow like its logarithm.\n"
    "- **It is the wrong question** when counts are added or subtracted afterwards: values come from a short list, "
    "children do not add up to their parent, and differences of two large counts lose everything.\n"
    "- **It changes nothing** for counts below about error ÷ α: there α forgives less than the noise. And with few "
    "levels noise and shrinkage, max(0, (1 − α) y), is simpler and better: the ranking says from how many on it "
    "is not."
)


def accuracy_table(setting: Setting, n_levels: int, eta: float) -> dict[str, list[Any]]:
    """Return from how many records on counts are within a factor 1 ± alpha with probability 1 - eta, by mechanism.

    Below that threshold tau the error is at most alpha tau with the same probability.
    """
    alpha, epsilon, delta = setting.alpha, setting.epsilon, setting.delta
    sigma = float(growth(setting, [n_levels], ("gaussian",)).error["gaussian"][0])
    factor = float(growth(setting, [n_levels], ("optimal",)).error["optimal"][0])
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
