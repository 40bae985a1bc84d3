"""From the alpha-RMSE to probabilities and relative errors, and back (Ghazi et al., Lemmas 3.2, 3.3 and B.1).

An estimate is (alpha, eta)-accurate with threshold tau when |error| <= alpha max(count, tau) with probability 1 - eta.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import provable_plan_error, split_with_root, tuned_plan_error
from treedp_core.mechanisms.thresholds.schedule import MAX_TOTAL, check_alpha, least_threshold, paper_plan
from treedp_core.noise import Gaussian, Laplace, Law
from treedp_core.studies.multiplicative.curves import Setting, growth
from treedp_core.studies.multiplicative.lower_bounds import least_possible_threshold
from treedp_core.tree.text import pieces
from treedp_core.words import plural

LOWER: Final = "Lower bound"
PAPER: Final = "Thresholds, paper's constants"
TUNED: Final = "Thresholds, tuned plan"


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
            PAPER,
            least_threshold(alpha, epsilon, delta, eta, n_levels, private_root=True), "ε, δ", theorem,
        ),
    ]  # fmt: skip
    rows.sort(key=lambda row: math.inf if math.isnan(row[1]) else row[1])
    for label, pure in ((f"{LOWER}, δ = 0", 0.0), (f"{LOWER}, δ > 0", delta)):
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
        (TUNED, tuned_plan_error, "its simulated error at α/2, by Lemma 3.2"),
    ):
        error = float(error_of(half, epsilon, delta, n_levels, setting.max_total))
        tau = math.nan if math.isnan(error) else accurate_threshold(error, half, setting.alpha, eta)
        rows.append((label, tau, "ε, δ", known))
    return rows


def _eta(eta: float) -> float:
    return checks.number("eta", eta, low=0, high=1, open_low=True, open_high=True, code="ETA_RANGE")


# ---- a threshold for every node (Problem 3.1): alike within a level


_DECIMAL: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?", re.ASCII)

Runs = tuple[tuple[int, int], ...]
"""Neighbouring levels, (first, last), from the root down."""


@dataclass(frozen=True)
class LevelThresholds:
    """A threshold tau_u for every node u, alike within a level (Ghazi et al., Problem 3.1).

    Parameters
    ----------
    values : tuple of float
        From the root down, in records; the last one is that of all deeper levels, too.
    n_levels : int

    Raises
    ------
    InputError
        ``THRESHOLD_RANGE`` for no threshold, or more than there are levels.
    """

    values: tuple[float, ...]
    n_levels: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= self.n_levels:
            raise InputError(
                "THRESHOLD_RANGE",
                f"Got {plural(len(self.values), 'threshold')} for {plural(self.n_levels, 'level')}; give one for each "
                "level from the root down, or fewer: the last one holds for all deeper levels.",
            )

    @property
    def least(self) -> float:
        """The smallest, for which a plan is made: whoever comes by a node of a larger one may come by one of it."""
        return min(self.values)

    @property
    def largest(self) -> float:
        """The largest."""
        return max(self.values)

    def kept(self, accurate_from: float) -> Runs:
        """Levels on which (1) of Problem 3.1 follows where counts are (alpha, eta)-accurate with one threshold.

        |error| <= alpha max(count, tau) implies |error| <= alpha max(count, tau_u) just where tau_u >= tau.

        >>> LevelThresholds((90.0, 20.0, 50.0), 5).kept(50.0)
        ((0, 0), (2, 4))
        """
        are = [value >= accurate_from for value in self.values]
        runs, at = [], 0
        for is_kept, group in groupby(are):
            n = len(list(group))
            if is_kept:
                runs.append((at, at + n - 1 if at + n < len(are) else self.n_levels - 1))
            at += n
        return tuple(runs)


def thresholds_from_text(text: str) -> tuple[float, ...]:
    """Return thresholds of levels typed as a list, from the root down, in records.

    Raises
    ------
    InputError
        ``THRESHOLD_RANGE`` for what is no decimal number above 0.

    >>> thresholds_from_text("500, 200; 99.5")
    (500.0, 200.0, 99.5)
    """
    found = []
    for piece in pieces(text):
        if not _DECIMAL.fullmatch(piece) or not 0 < float(piece) <= MAX_TOTAL:
            wanted = "Expected a threshold of each level, in records, such as 500, 200"
            raise InputError("THRESHOLD_RANGE", f"{wanted}; got {echo(piece)}.")
        found.append(float(piece))
    return tuple(found)


def kept_table(table: dict[str, list[Any]], own: LevelThresholds) -> dict[str, list[Any]]:
    """Return a table of `accuracy_table` and on which levels each mechanism keeps thresholds of one's own.

    A lower bound forbids one threshold for all levels below it, and so, by (1), only thresholds that are all below it.
    """
    said = []
    for name, tau in zip(table["mechanism"], table["τ (records)"], strict=True):
        if name.startswith(LOWER):
            said.append("impossible on all at once" if own.largest < tau else "not excluded")
        elif math.isnan(tau):
            said.append("there is no plan")
        else:
            said.append(levels_in_words(own.kept(tau), own.n_levels))
    return {**table, "your τ is kept on": said}


def levels_in_words(runs: Runs, n_levels: int) -> str:
    """Return runs of levels in words.

    >>> levels_in_words(((0, 0), (2, 4)), 9), levels_in_words(((0, 8),), 9), levels_in_words((), 9)
    ('levels 0, 2 to 4', 'every level', 'no level')
    """
    if not runs:
        return "no level"
    if runs == ((0, n_levels - 1),):
        return "every level"
    one = runs[0][0] == runs[-1][1]
    spans = [str(a) if a == b else f"{a} and {b}" if b == a + 1 and len(runs) == 1 else f"{a} to {b}" for a, b in runs]
    return f"level{'' if one else 's'} {', '.join(spans)}"


def own_plan(setting: Setting, own: LevelThresholds, eta: float) -> Plan | None:
    """Return the plan of Ghazi et al. (Corollary 4.7, corrected) for thresholds of levels: it is made for the smallest.

    Half of epsilon and delta is left for the bound on the root. None where the smallest is not accurate at this budget.
    """
    half = setting.epsilon / 2.0, setting.delta / 2.0
    try:
        return paper_plan(
            setting.alpha, *half, own.n_levels, setting.max_total, eta=eta, threshold=np.array(own.values)
        )
    except InputError as error:
        if error.code != "THRESHOLD_RANGE":
            raise
        return None
