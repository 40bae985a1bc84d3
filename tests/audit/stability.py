"""The stability histogram: everything that can be told of the counts that one unit changes, listed."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np

from treedp_core.mechanisms import stability as histogram
from treedp_core.mechanisms.stability import LAWS, Stability
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit

from .report import Report

REACH = 240


def pmf(law: object) -> dict[int, float]:
    """P(Z = k) from its definition, summed to 1 over the whole numbers that matter."""
    (parameter,) = vars(law).values()
    laplace = type(law).__name__ == "DiscreteLaplace"
    weights = {k: math.exp(-parameter * abs(k) if laplace else -k * k / (2 * parameter**2))
               for k in range(-REACH, REACH + 1)}  # fmt: skip
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def outputs(noise: dict[int, float], threshold: int, count: int) -> dict[int, float]:
    """Probability of everything that is told of one count; 0 stands for nothing."""
    found: dict[int, float] = defaultdict(float)
    for z, p in noise.items() if count else [(0, 1.0)]:
        found[count + z if count and count + z >= threshold else 0] += p
    return found


def exact_delta(made: Stability, changes: list[tuple[int, int]], epsilon: float) -> float:
    """Smallest delta at epsilon of counts that go from one to the other, by listing all outputs."""
    noise, found = pmf(made.law), {0.0: 1.0}
    for before, after in changes:
        here, there = outputs(noise, made.threshold, before), outputs(noise, made.threshold, after)
        joined: dict[float, float] = defaultdict(float)
        for (ratio, mass), (out, p) in product(found.items(), here.items()):
            q = there.get(out, 0.0)
            if mass * p > 1e-22:
                joined[round(ratio + math.log(p / q), 10) if q else math.inf] += mass * p
        found = joined
    return math.fsum(mass * -math.expm1(epsilon - ratio) for ratio, mass in found.items() if ratio > epsilon)


def ways(m: int, n: int, replaced: bool) -> list[list[tuple[int, int]]]:
    """How the counts of n levels change: where records were and where none were, and one of each."""
    there, new = [(40, 40 + m)], [(0, m)]
    apart = [(0, 1)] * m
    if not replaced:
        found = [there * n, new * n, there * (n - 1) + new, apart * n, new + apart * (n - 1)]
    else:
        found = [[*new, (m, 0)] * n, [(40, 40 + m), (40, 40 - m)] * n, [*apart, (m, 0)] * n]
    return found + [[(after, before) for before, after in one] for one in found]


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare n releases of one or two levels with the delta that they were made for, in every way of changing."""
    for i in range(n):
        m, levels, replaced = 1 + i % 2 * (i % 3 == 0), 1 + i // 2 % 2, i % 5 == 4
        relation = NeighbouringRelation.REPLACE_ONE if replaced else NeighbouringRelation.ADD_OR_REMOVE_ONE
        epsilon, delta = float(np.exp(rng.uniform(0, 1.5))), float(10 ** rng.uniform(-4, -2))
        made = histogram.stability(ProtectedUnit(relation, m), levels, epsilon, delta, LAWS[i % 2])
        every = ways(m, levels, replaced)
        worst = max(exact_delta(made, one, epsilon) for one in every)
        what = f"stability histogram of {made.law} from {made.threshold} on, {m} records, {relation.value}"
        report.pairs += len(every)
        report.holds(worst <= delta * (1 + 1e-9), f"{what}: exact delta {worst!r} at ({epsilon!r}, {delta!r})")
        told = replace(made, threshold=1).release(np.zeros(2000, dtype=np.int64), np.random.default_rng(i))
        report.holds(not told.any(), f"{what}: something is told of counts of 0")
