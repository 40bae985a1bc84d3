"""Nothing but samples: a lower bound on epsilon that is above the claim once in a million runs of sound code."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.watch import generator

from .neighbours import ADD, REPLACE, UNKNOWN, Small, Who
from .report import Report

SMALL = Small((-1, 0, 0, 1, 1, 2, 2))
PAIRS = {
    ADD: ([0, 0, 0, 0], [1, 0, 0, 0]),
    REPLACE: ([1, 0, 0, 0], [0, 0, 0, 1]),
    UNKNOWN: ([1, 0, 0, 0], [0, 0, 0, 1]),
}
"""Neighbours that lose all that is claimed."""
RISK = 1e-6
DELTA = 0.01
"""The largest that may be promised, so that samples could see it."""


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Judge every mechanism and relation from 4 000 n releases of each of two neighbours; few n look at a part."""
    settings = [(m, r) for r in PAIRS for m in MECHANISMS][: max(4, min(12, n // 8))]
    for mechanism, relation in settings:
        who = Who(relation)
        allocation = "leaves_only" if relation == UNKNOWN else "uniform"
        ready = prepare(
            Experiment(mechanism, allocation=allocation, epsilon=1.0, delta=DELTA, **who.settings),  # type: ignore[arg-type]
            SMALL.tree,
        )
        counts = [np.array(data) @ SMALL.below for data in PAIRS[relation]]
        moved = np.flatnonzero((counts[0] != counts[1]) & np.isfinite(ready.noise.variance))
        seed = int(rng.integers(1 << 30))
        one, other = (
            ready.release(c, generator(seed, i), 4000 * n)[0].estimate[:, moved] for i, c in enumerate(counts)
        )
        report.pairs += 1
        for p, q in both_ways(one, other):
            found = epsilon_at_least(p, q, ready.guarantee.delta)
            report.holds(found <= ready.guarantee.epsilon, f"{mechanism}, {relation}: samples show {found:.3f}")


def both_ways(p: np.ndarray, q: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The two samples in both orders."""
    yield p, q
    yield q, p


def at_least(successes: int, n: int, risk: float) -> float:
    """Clopper and Pearson's lower confidence bound on a probability."""
    return float(stats.beta.ppf(risk, successes, n - successes + 1)) if successes else 0.0


def at_most(successes: int, n: int, risk: float) -> float:
    """Clopper and Pearson's upper confidence bound on a probability."""
    return float(stats.beta.ppf(1 - risk, successes + 1, n - successes)) if successes < n else 1.0


def epsilon_at_least(p: np.ndarray, q: np.ndarray, delta: float, risk: float = RISK) -> float:
    """Lower bound on epsilon from outputs (n, nodes) on two neighbours; too high with probability at most `risk`.

    The first half of the samples scores each output by the sum of its nodes' log-ratios of frequencies and picks a
    threshold; the event is then judged on the second half, so the choice cannot bias the bound.
    """
    half = len(p) // 2
    low, high = np.floor(np.quantile(np.concatenate([p[:half], q[:half]]), [0.001, 0.999], axis=0)).astype(int)
    score_p, score_q = np.zeros(len(p)), np.zeros(len(q))
    for node, (a, b) in enumerate(zip(low, high, strict=True)):
        cell_p, cell_q = (np.clip(np.floor(x[:, node]).astype(int), a, b) - a for x in (p, q))
        seen_p, seen_q = (np.bincount(cell[:half], minlength=b - a + 1) + 5.0 for cell in (cell_p, cell_q))
        ratio = np.log(seen_p / seen_q)
        score_p, score_q = score_p + ratio[cell_p], score_q + ratio[cell_q]

    def bound(threshold: float, part: slice) -> float:
        yes_p, yes_q = (int((score[part] >= threshold).sum()) for score in (score_p, score_q))
        certain = at_least(yes_p, half, risk / 2) - delta
        return math.log(certain / at_most(yes_q, half, risk / 2)) if certain > 0 else -math.inf

    thresholds = np.unique(np.quantile(score_p[:half], np.linspace(0.01, 0.99, 99)))
    best = max(thresholds, key=lambda threshold: bound(threshold, slice(0, half)))
    return bound(best, slice(half, 2 * half))
