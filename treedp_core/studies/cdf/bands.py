"""Simultaneous confidence bands for a CDF.

The error of a linear release does not depend on the records, so its law can be simulated as often as one likes at no
privacy cost. With M = max_j |error_j| / standard deviation_j, the ceil(confidence (B + 1))-th smallest of B simulated M
is at least the M of the release with probability >= confidence: all B + 1 are exchangeable. So the band
estimate +- that multiple of the standard deviations covers the whole CDF with that probability, for any B. It stays
valid when it is tightened by what is known: counts are whole, non-decreasing and at least 0, and where N is public, at
most N; the last is N unless others are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors.simulation import CHUNK_CELLS
from treedp_core.postprocess.isotonic import IntArray
from treedp_core.studies.cdf.matrices.workload import Ranges, terms_of
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.release import CdfRelease
from treedp_core.tree import FloatArray
from treedp_core.watch import generator
from treedp_core.words import setting_text, whole

BAND_CELLS: Final = 20_000_000
"""Noise values that may be drawn for a band's multiple; large trees get fewer simulated releases."""


def affordable_trials(plan: AnyPlan) -> int:
    """Return how many releases are simulated for a band of 95 %: fewer on large trees, at least 19."""
    return max(19, min(999, BAND_CELLS // plan.n_values))


@dataclass(frozen=True, eq=False)
class Band:
    """Bounds that hold for all cumulative counts at once with probability `confidence` or more.

    Parameters
    ----------
    low, high : (K,)
        Whole records.
    multiple : float
        Half width before tightening, in standard deviations.
    confidence : float
    trials : int
        Simulated releases behind the multiple.
    """

    low: IntArray
    high: IntArray
    multiple: float
    confidence: float
    trials: int


def band_multiple(plan: AnyPlan, confidence: float = 0.95, trials: int = 999, seed: int = 7) -> float:
    """Return the multiple of the standard deviations that covers all prefixes at once; depends on no records.

    Parameters
    ----------
    plan : CdfPlan, MatrixPlan or DividedPlan
    confidence : float
        In (0, 1).
    trials : int
        At least confidence / (1 - confidence), so that a largest simulated value is large enough.
    seed : int

    Raises
    ------
    InputError
        ``CONFIDENCE_RANGE`` or ``TRIALS_RANGE``.
    """
    noisy = plan.variance > 0
    deviation = np.sqrt(plan.variance[noisy])
    (multiple,) = _at_most(plan, lambda errors: _largest(errors[:, noisy] / deviation), confidence, trials, seed)
    return float(multiple)


@dataclass(frozen=True, eq=False)
class Reach:
    """How far the answers to ranges of one's own are off at most, in records; it depends on no records.

    Parameters
    ----------
    ranges : tuple
        (R,) ranges of bins, or weighted sums of some.
    together : float
        All of them at once.
    each : (R,)
        Each by itself.
    """

    ranges: Ranges
    together: float
    each: FloatArray

    def of_range(self, start: int, stop: int) -> float | None:
        """Return how far the answer to one range of bins, from 0 and without its end, is off; None if it is not asked.

        >>> Reach(((1, 4), (2, 3)), 9.0, np.array([8.0, 5.0])).of_range(1, 3)
        5.0
        """
        asked = ((start + 1, stop, 1.0),)
        found = [float(reach) for one, reach in zip(self.ranges, self.each, strict=True) if terms_of(one) == asked]
        return found[0] if found else None


def ranges_reach(plan: AnyPlan, confidence: float = 0.95, trials: int = 999, seed: int = 7) -> Reach:
    """Return how far the answers to a plan's own ranges are off at most; see `band_multiple`.

    Both hold as the band does, for the largest simulated error of all answers and of each.
    """
    ranges = plan.settings.ranges
    terms = list(map(terms_of, ranges))

    def answers(errors: FloatArray) -> FloatArray:
        off = np.pad(errors, ((0, 0), (1, 0)))
        each = [sum(w * (off[:, last] - off[:, first - 1]) for first, last, w in one) for one in terms]
        found = np.abs(np.stack(each, 1))
        return np.hstack([_largest(found), found])

    together, *each = _at_most(plan, answers, confidence, trials, seed)
    return Reach(ranges, float(together), np.array(each))


def _largest(values: FloatArray) -> FloatArray:
    """The largest absolute value of each release, (trials, 1)."""
    return np.asarray(np.abs(values).max(axis=1, initial=0.0, keepdims=True))


def _at_most(
    plan: AnyPlan, of: Callable[[FloatArray], FloatArray], confidence: float, trials: int, seed: int
) -> FloatArray:
    """What functions (trials, n) of the errors (trials, K) exceed in 1 - confidence of releases at most, (n,)."""
    level = checks.number(
        "confidence", confidence, low=0, high=1, open_low=True, open_high=True, code="CONFIDENCE_RANGE"
    )
    n = checks.trials(trials, plan.n_values)
    rank = math.ceil(level * (n + 1))
    if rank > n:
        needed = math.ceil(level / (1.0 - level))
        raise InputError(
            "TRIALS_RANGE",
            f"A confidence of {setting_text(level)} needs at least {whole(needed)} trials, got {whole(n)}.",
        )
    size = max(1, CHUNK_CELLS // plan.n_values)
    checks.seed(seed)
    found = [
        of(plan.errors(generator("band", seed, i), min(size, n - start))) for i, start in enumerate(range(0, n, size))
    ]
    return np.asarray(np.partition(np.concatenate(found), rank - 1, axis=0)[rank - 1])


def simultaneous_band(
    plan: AnyPlan, release: CdfRelease, confidence: float = 0.95, trials: int = 999, seed: int = 7
) -> Band:
    """Return a band that covers all true cumulative counts at once with at least the given probability.

    Where tightening makes the bounds cross, the release lies in the 1 - confidence of cases that the band does not
    cover, and the two are exchanged.

    Parameters
    ----------
    plan, release
        The release must be one of this plan.
    confidence, trials, seed
        See `band_multiple`.
    """
    multiple = band_multiple(plan, confidence, trials, seed)
    reach = multiple * np.sqrt(release.variance)
    low, high = _tightened(release.cumulative - reach, release.cumulative + reach, release)
    return Band(np.minimum(low, high), np.maximum(low, high), multiple, confidence, trials)


def _tightened(low: FloatArray, high: FloatArray, release: CdfRelease) -> tuple[IntArray, IntArray]:
    slack = 1e-9 * (1.0 + np.abs(high))  # so that rounding errors of floats never cut off a true whole number
    most = checks.MAX_COUNT if release.n_records is None else release.n_records
    at_least = np.maximum.accumulate(np.clip(np.ceil(low - slack), 0, most))
    at_most = np.minimum.accumulate(np.clip(np.floor(high + slack), 0, most)[::-1])[::-1]
    if release.n_records is not None and release.other is None:
        at_least[-1] = at_most[-1] = release.n_records
    return at_least.astype(np.int64), at_most.astype(np.int64)
