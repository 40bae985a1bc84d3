"""Row 14: the stability histogram beside its published thresholds: how much higher ours are, its error and its cost."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from timing import seconds
from treedp_core.mechanisms.stability import stability
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import gaussian_delta

IDS = ("14",)
UNIT = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
GRID = [(epsilon, delta) for epsilon in (0.05, 0.1, 0.3, 1.0, 3.0) for delta in (1e-9, 1e-6, 1e-4)]
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    worst = max(stability(UNIT, range(1), *one, "discrete_laplace").threshold / laplace(*one) for one in GRID)
    yield "14", "threshold, Laplace, leaves / published, for whole numbers", worst, 1.0, f"worst of {len(GRID)}"
    for levels in (1, 4, 16):
        found = [(stability(UNIT, range(levels), *one, "discrete_gaussian"), *gaussian(*one, levels)) for one in GRID]
        about = f"Gaussian, {levels} levels / continuous, δ in halves"
        noise = max(made.law.variance**0.5 / sigma for made, sigma, _ in found)
        yield "14", f"noise, {about}", noise, 1.0, f"worst of {len(GRID)}"
        yield "14", f"threshold, {about}", max(made.threshold / math.ceil(t + 0.5) for made, _, t in found), 1.0, ""
    yield from on_zipf(20)
    yield cost(100_000 if quick else 1_000_000)


def laplace(epsilon: float, delta: float) -> int:
    """From where on counts with noise are told: 1 + ln(1/(2 delta))/epsilon (Korolova et al., 2009), as a whole number.

    Whole-number noise is at least t with a probability of e^(-epsilon t) / (1 + e^-epsilon), which takes the 2's place.
    """
    return 1 + math.ceil(math.log(1.0 / (delta * (1.0 + math.exp(-epsilon)))) / epsilon)


def gaussian(epsilon: float, delta: float, levels: int) -> tuple[float, float]:
    """The same of normal noise on some levels, and its deviation: half of delta for it, half for what is new.

    Whole numbers from t on hold what normal ones from t - 1/2 on do.
    """
    low, high = 1e-3, 1e5
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if gaussian_delta(epsilon, middle, math.sqrt(levels)) <= delta / 2 else (middle, high)
    return high, 1.0 + high * -float(ndtri(delta / (2 * levels)))


def on_zipf(trials: int) -> Iterator[Line]:
    """RMSE of all nodes of a binary tree of 13 levels, Zipf 1.2, by level, over that of the published form."""
    rng, n = np.random.default_rng(0), 1 << 12
    share = np.arange(1, n + 1) ** -1.2
    levels = [rng.permutation(rng.multinomial(20_000, share / share.sum()))]
    while levels[0].size > 1:
        levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    counts = np.concatenate(levels)
    made = stability(UNIT, range(len(levels)), 1.0, 1e-6, "discrete_gaussian")
    sigma, threshold = gaussian(1.0, 1e-6, len(levels))
    ours = theirs = false = 0.0
    for _ in range(trials):
        mine, noisy = made.release(counts, rng), counts + rng.normal(0.0, sigma, counts.size)
        other = np.where((counts > 0) & (noisy > threshold), noisy, 0.0)
        ours, theirs = ours + np.square(mine - counts).mean(), theirs + np.square(other - counts).mean()
        false += float((mine[counts == 0] > 0).sum())
    note = f"RMSE {math.sqrt(ours / trials):.3g} of {counts.size} nodes, 20 000 records"
    yield "14", "RMSE, Gaussian by level, 13 levels / published form", math.sqrt(ours / theirs), 1.0, note
    yield "14", "false positives on the same tree", false, 0.0, ""


def cost(n: int) -> Line:
    """Time and memory of one release of n leaves."""
    counts, rng = np.random.default_rng(1).poisson(3.0, n), np.random.default_rng(2)
    made = stability(UNIT, range(1), 1.0, 1e-6, "discrete_laplace")
    taken = seconds(lambda: made.release(counts, rng))
    tracemalloc.start()
    made.release(counts, rng)
    peak = tracemalloc.get_traced_memory()[1] / n
    tracemalloc.stop()
    note = f"{1e6 * taken / n:.2g} µs a leaf"
    return "14", f"memory of one release of {n:,} leaves / 64 bytes a leaf", peak / 64, 1.0, note
