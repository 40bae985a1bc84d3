"""Privacy by brute force: all neighbours of a data set, exact losses and deltas, and bounds from samples alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy import stats

Records = tuple[int, ...]
"""A data set: for each record the leaf (node number) it falls on, sorted."""


# ---------------------------------------------------------------- data sets and their neighbours


def chain(parent: Sequence[int], node: int) -> list[int]:
    """Nodes from the root to a node."""
    return [node] if parent[node] < 0 else [*chain(parent, parent[node]), node]


def leaves_of(parent: Sequence[int]) -> list[int]:
    return [node for node in range(len(parent)) if node not in parent]


def node_counts(parent: Sequence[int], records: Records) -> list[int]:
    """How many records lie below each node, counted record by record."""
    below = Counter(node for record in records for node in chain(parent, record))
    return [below[node] for node in range(len(parent))]


def neighbours(
    parent: Sequence[int], records: Records, relation: str, contributions: int, known_levels: int
) -> set[Records]:
    """All data sets that differ in the records of one unit, which owns at most `contributions` of them.

    The unit's records `old` become `new`: none instead of some, or some instead of none (added or removed); as many
    others (replaced); or each stays below its node of the last known level, appears or disappears (unknown).
    """
    leaves, data = leaves_of(parent), Counter(records)
    multisets = [
        Counter(choice)
        for size in range(contributions + 1)
        for choice in itertools.combinations_with_replacement(leaves, size)
    ]
    found = set()
    for old, new in itertools.product((m for m in multisets if m <= data), multisets):
        n_old, n_new = old.total(), new.total()
        if relation == "add_or_remove_one":
            allowed = n_old == 0 or n_new == 0
        elif relation == "replace_one":
            allowed = n_old == n_new
        else:
            allowed = _records_touched(parent, old, new, known_levels) <= contributions
        if allowed:
            found.add(tuple(sorted((data - old + new).elements())))
    return found


def _records_touched(parent: Sequence[int], old: Counter[int], new: Counter[int], known_levels: int) -> int:
    """Records needed to turn `old` into `new` when each keeps its node of the last known level."""

    def groups(some: Counter[int]) -> Counter[int]:
        return Counter(chain(parent, leaf)[:known_levels][-1] for leaf in some.elements())

    return (groups(old) | groups(new)).total()


# ---------------------------------------------------------------- exact privacy losses


def level_slices(parent: Sequence[int]) -> list[list[int]]:
    """Nodes of each level."""
    level = [len(chain(parent, node)) - 1 for node in range(len(parent))]
    return [[node for node, at in enumerate(level) if at == here] for here in range(max(level) + 1)]


def worst_loss(law: object, change: Sequence[int]) -> Fraction:
    """Largest log-ratio of Laplace laws, or rho of Gaussian laws, when the counts change by that much."""
    kind, (parameter,) = type(law).__name__, (Fraction(value) for value in vars(law).values())
    if kind == "Laplace":
        return sum(abs(c) for c in change) / parameter
    if kind == "DiscreteLaplace":
        return sum(abs(c) for c in change) * parameter
    assert kind in ("Gaussian", "DiscreteGaussian")
    return sum(c * c for c in change) / (2 * parameter**2)


def output_masses(laws: Sequence[object], counts: Sequence[int], grids: Sequence[np.ndarray]) -> np.ndarray:
    """Probability of every combination of noisy counts on the grids, from the laws' own `pmf`."""
    joint = np.ones(())
    for law, count, grid in zip(laws, counts, grids, strict=True):
        joint = joint[..., None] * law.pmf(grid - count)
    return joint.ravel()


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Smallest delta for which p <= e^epsilon q + delta on every event."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def both_ways(p: np.ndarray, q: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield p, q
    yield q, p


# ---------------------------------------------------------------- from samples alone


def at_least(successes: int, n: int, risk: float) -> float:
    """Clopper and Pearson's lower confidence bound on a probability."""
    return float(stats.beta.ppf(risk, successes, n - successes + 1)) if successes else 0.0


def at_most(successes: int, n: int, risk: float) -> float:
    """Clopper and Pearson's upper confidence bound on a probability."""
    return float(stats.beta.ppf(1 - risk, successes + 1, n - successes)) if successes < n else 1.0


def epsilon_at_least(p: np.ndarray, q: np.ndarray, delta: float, risk: float = 1e-6) -> float:
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
