"""Row 13: single bins behind a private partition and by AHP, over a flat release, beside the dyadic one on paper."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.baselines import ahp

IDS = ("13",)
K = 1024
PUBLISHED = {200: 0.21, 2000: 0.35, 20000: 1.16}
"""N epsilon: root mean squared error of a bin over that of a flat release, of dyadic intervals 2, 4, 8, ..."""
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    for n_epsilon in (200, 2000) if quick else PUBLISHED:
        for name in ("smooth", "skewed", "spikes"):
            yield row(name, n_epsilon, 5 if quick else 20)


def row(name: str, n_epsilon: int, trials: int) -> Line:
    """Error over that of a flat release at the same epsilon, one record added; spikes have no target."""
    t = (np.arange(K) + 0.5) / K
    shape = {
        "smooth": np.exp(-(((t - 0.5) / 0.15) ** 2) / 2),
        "skewed": 0.2 + t * (1 - t) ** 3 * (1 + np.sin(7 * t)),
        "spikes": np.where(np.arange(K) % 37 == 5, 1.0, 1e-6),
    }[name]
    epsilon = 0.01
    counts = np.random.default_rng(2).multinomial(int(n_epsilon / epsilon), shape / shape.sum())
    plan = plan_cdf(
        CdfSettings(K, (), epsilon=epsilon, relation="add_or_remove_one", strategy="partition", workload="bins")
    )
    begun, squares = time.perf_counter(), []
    for i in range(trials):
        found = plan.release(counts, np.random.default_rng(i)).cumulative
        squares.append(float(np.square(np.diff(found, prepend=0.0) - counts).mean()))
    took = (time.perf_counter() - begun) / trials
    ratio = math.sqrt(float(np.mean(squares)) / (2.0 / epsilon**2))
    target = 0.5 if name != "spikes" and n_epsilon <= 2000 else None
    apart = [ahp(counts, plan.settings.unit, epsilon, np.random.default_rng(i)) - counts for i in range(trials)]
    theirs = math.sqrt(float(np.square(apart).mean()) / (2.0 / epsilon**2))
    about = f"dyadic, on paper, smooth: {PUBLISHED[n_epsilon]}; AHP {theirs:.2g}; {1000 * took:.1f} ms a release"
    return "13", f"bins, {name}, N eps = {n_epsilon}, K={K} / flat release", ratio, target, about
