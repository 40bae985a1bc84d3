"""The stability histogram: everything that can be told of the counts that one unit changes, listed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np

from treedp_core.mechanisms import stability as histogram
from treedp_core.mechanisms.stability import LAWS, Stability
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit

from .report import Report

Pairs = list[tuple[dict[int, int], dict[int, int]]]
REACH = 240
TREES = ([-1, 0, 0], [-1, 0, 0, 0], [-1, 0, 0, 1, 1], [-1, 0, 0, 1, 2])


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
            if mass * p > 1e-17:
                joined[round(ratio + math.log(p / q), 10) if q else math.inf] += mass * p
        found = joined
    return math.fsum(mass * -math.expm1(epsilon - ratio) for ratio, mass in found.items() if ratio > epsilon)


def neighbours(parent: list[int], unit: ProtectedUnit) -> Iterator[tuple[dict[int, int], dict[int, int]]]:
    """Yield every two data sets of a tree that one unit's records tell apart, as the counts of its nodes.

    Wherever its records lie and whatever they become, beside no other records or 40 of them, on any set of leaves.
    """
    paths = {leaf: path(parent, leaf) for leaf in set(range(len(parent))) - set(parent)}
    nowhere: list[int | None] = [] if unit.relation is NeighbouringRelation.REPLACE_ONE else [None]
    slots = []
    for before, after in product([*paths, *nowhere], repeat=2):
        known = [node and paths[node][: unit.known_levels] for node in (before, after)]
        if None in (before, after):
            is_way = before != after
        elif unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
            is_way = known[0] == known[1]
        else:
            is_way = unit.relation is NeighbouringRelation.REPLACE_ONE
        slots += [(before, after)] * is_way
    sides = 1 if unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE else 2
    for m in range(1, unit.contributions + 1):
        for chosen in combinations_with_replacement(slots, m):
            if sides == 1 and len({before is None for before, _ in chosen}) > 1:
                continue  # the whole unit comes, or goes
            for others in product((0, 40), repeat=len(paths)):
                found = []
                for side in (0, 1):
                    counts = dict.fromkeys(range(len(parent)), 0)
                    for leaf, n in [*zip(paths, others, strict=True), *((slot[side], 1) for slot in chosen)]:
                        for node in paths[leaf] if leaf is not None else ():
                            counts[node] += n
                    found.append(counts)
                yield found[0], found[1]


def path(parent: list[int], node: int) -> tuple[int, ...]:
    """The nodes from the root to one, the root's parent being -1."""
    return (*path(parent, parent[node]), node) if node >= 0 else ()


def worst_delta(made: Stability, told: set[int], pairs: Pairs, at: float) -> float:
    """Smallest delta at an epsilon of all neighbours where so many nodes are told of."""
    changes = {tuple(sorted((a[node], b[node]) for node in told if a[node] != b[node])) for a, b in pairs}
    return max(exact_delta(made, list(one), at) for one in changes)


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare n releases of two or three levels, and of leaves alone, with the delta that they were made for."""
    relations = list(NeighbouringRelation)
    for i in range(n):
        parent = TREES[int(rng.integers(len(TREES)))]
        height, law = max(len(path(parent, node)) for node in range(len(parent))), LAWS[i % 2]
        m = 1 + (i % 3 == 0) * (law == LAWS[0])
        unit = ProtectedUnit(relations[i % len(relations)], m, 1 + i % height)
        epsilon, delta = float(np.exp(rng.uniform(0, 1.5))), float(10 ** rng.uniform(-4, -2))
        public = unit.relation is NeighbouringRelation.REPLACE_ONE
        nodes = set(range(len(parent))) - set(parent) if i % 4 == 1 else set(range(public, len(parent)))
        levels = range(height - 1, height) if i % 4 == 1 else range(height)
        made = histogram.stability(unit, levels, epsilon, delta, law)
        pairs = list(neighbours(parent, unit))
        worst = worst_delta(made, nodes, pairs, epsilon)
        what = f"stability histogram of {made.law} from {made.threshold} on, {m} records, {unit.relation.value}"
        report.pairs += len(pairs)
        report.holds(worst <= delta * (1 + 1e-9), f"{what}: exact delta {worst!r} at ({epsilon!r}, {delta!r})")
        told = replace(made, threshold=1).release(np.zeros(2000, dtype=np.int64), np.random.default_rng(i))
        report.holds(not told.any(), f"{what}: something is told of counts of 0")
