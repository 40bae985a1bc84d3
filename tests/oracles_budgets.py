"""Slow and obvious oracles for budgets over levels: dense algebra, one split at a time; nothing of treedp_core."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from oracles_tree import generalised_least_squares, level_starts

NOISE: dict[str, Callable[[float], float]] = {
    "laplace": lambda epsilon: 2 / epsilon**2,
    "discrete_laplace": lambda epsilon: 1 / (2 * math.sinh(epsilon / 2) ** 2),
    "gaussian": lambda rho: 1 / (2 * rho),
    "discrete_gaussian": lambda rho: discrete_gaussian_variance(rho),
}
"""Variance of the noise of a level that spends so much, for sensitivity 1."""


def discrete_gaussian_variance(rho: float) -> float:
    """Term by term; exp(-rho k^2) are the weights for sigma^2 = 1 / (2 rho)."""
    reach = math.ceil(30 / math.sqrt(rho))
    if reach > 100_000:
        return 1 / (2 * rho)
    weights = [math.exp(-rho * k * k) for k in range(1, reach + 1)]
    square = [k * k * w for k, w in enumerate(weights, 1)]
    return 2 * math.fsum(square) / (1 + 2 * math.fsum(weights))


def levels_of(parent: list[int]) -> list[int]:
    level = [0]
    for p in parent[1:]:
        level.append(level[p] + 1)
    return level


def node_variances(
    parent: list[int], amounts: list[float], law: str, sensitivity: list[float], least_squares: bool
) -> np.ndarray:
    """Sensitivity 0: the level is public. Amounts are divided by it (epsilon) or by its square (rho: Gaussian)."""
    squared = law in ("gaussian", "discrete_gaussian")
    of_level = []
    for amount, s in zip(amounts, sensitivity, strict=True):
        ratio = math.nan if s == 0 else amount / (s * s if squared else s)
        of_level.append(0.0 if s == 0 else math.inf if ratio == 0 else NOISE[law](ratio))
    variance = np.array([of_level[level] for level in levels_of(parent)])
    return generalised_least_squares(parent, np.zeros(len(parent)), variance)[1] if least_squares else variance


def mean_square_relative(parent: list[int], counts: np.ndarray, variance: np.ndarray, threshold: float) -> float:
    """Dawson et al., Definition 7 and the tree error after it, squared."""
    start, total = level_starts(parent), 0.0
    for a, b in itertools.pairwise(start):
        total += sum(v / max(threshold, c) ** 2 for v, c in zip(variance[a:b], counts[a:b], strict=True)) / (b - a)
    return total / (len(start) - 1)


def mean_square(parent: list[int], counts: np.ndarray, variance: np.ndarray, threshold: float) -> float:
    return float(variance.mean())


METRIC = {"rmse": mean_square, "rmsre": mean_square_relative}


def naive_greedy(
    loss: Callable[[list[float]], float],
    start: list[float],
    piece: float,
    phases: int,
    allowed: list[int],
    doubled: list[int] | None = None,
) -> tuple[list[int], list[float]]:
    """Algorithm 3 to the letter: try every level, keep the best, the first within 1e-12 of it.

    Levels charged twice may get no more than half of the slices.
    """
    twice = doubled or []
    amounts, steps = list(start), []
    for _ in range(phases):
        tried = {}
        for level in allowed:
            if level in twice and 2 * (sum(step in twice for step in steps) + 1) > phases:
                continue
            candidate = list(amounts)
            candidate[level] += piece
            tried[level] = loss(candidate)
        smallest = min(tried.values())
        best = next(level for level in tried if tried[level] <= smallest * (1 + 1e-12))
        amounts[best] += piece
        steps.append(best)
    return steps, amounts


def simplex_grid(n_levels: int, steps: int) -> Iterator[list[float]]:
    """All shares that are multiples of 1 / steps and sum to 1."""
    for bars in itertools.combinations(range(steps + n_levels - 1), n_levels - 1):
        edges = [-1, *bars, steps + n_levels - 1]
        yield [(b - a - 1) / steps for a, b in itertools.pairwise(edges)]


def leaf_changes(parent: list[int]) -> tuple[list[int], Callable[[int], list[int]]]:
    """The leaves, and the nodes on the way from the root to one of them."""
    leaves = [v for v in range(len(parent)) if v not in parent]

    def path(leaf: int) -> list[int]:
        nodes = [leaf]
        while parent[nodes[-1]] >= 0:
            nodes.append(parent[nodes[-1]])
        return nodes[::-1]

    return leaves, path


def neighbour_changes(parent: list[int], relation: str, known_levels: int) -> Iterator[dict[int, int]]:
    """Every way one record can change the counts of the nodes: added, removed, or moved to another leaf."""
    leaves, path = leaf_changes(parent)
    if relation != "replace_one":
        for leaf in leaves:
            yield dict.fromkeys(path(leaf), 1)
    if relation != "add_or_remove_one":
        for one, other in itertools.permutations(leaves, 2):
            if relation == "replace_unknown" and path(one)[:known_levels] != path(other)[:known_levels]:
                continue  # its known columns stay what they are
            change: dict[int, int] = {}
            for node in path(one):
                change[node] = change.get(node, 0) - 1
            for node in path(other):
                change[node] = change.get(node, 0) + 1
            yield {node: by for node, by in change.items() if by}


def exact_node_variances(parent: list[int], amounts: list[float], law: str, least_squares: bool) -> np.ndarray:
    """Variances after Dawson et al., Algorithm 2 to the letter, in fractions; sensitivity 1 on every level."""
    level, n = levels_of(parent), len(parent)
    if law == "laplace":
        of_level = [2 / Fraction(a) ** 2 for a in amounts]
    elif law == "gaussian":
        of_level = [1 / (2 * Fraction(a)) for a in amounts]
    else:
        of_level = [Fraction(NOISE[law](a)) for a in amounts]
    own = [of_level[level[v]] for v in range(n)]
    if not least_squares:
        return np.array([float(v) for v in own])
    children = [[c for c in range(n) if parent[c] == v] for v in range(n)]

    def combined(a: Fraction, b: Fraction) -> Fraction:
        return a * b / (a + b)

    up = list(own)
    for v in reversed(range(n)):
        if children[v]:
            up[v] = combined(own[v], sum((up[c] for c in children[v]), Fraction(0)))
    final, down = list(up), list(own)
    for v in range(1, n):
        siblings = sum((up[c] for c in children[parent[v]] if c != v), Fraction(0))
        from_above = down[parent[v]] + siblings
        final[v], down[v] = combined(up[v], from_above), combined(own[v], from_above)
    return np.array([float(v) for v in final])
