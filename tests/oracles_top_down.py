"""Slow and obvious oracles for top-down releases: exhaustive search, the printed loop, and node-by-node releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import lsq_linear

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of
from treedp_core.studies.topdown import Wanted
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import LeafTable, count_leaves

RECORDS = [(0, 0, 1), (0, 0, 1), (1, 2, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 2, 0)]
SIZES = (2, 3, 2)
HUGE = Wanted(900.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")
"""So large a budget that noise is 0 but for a chance far below 1e-9."""


def product_data(records: list[tuple[int, ...]] = RECORDS, sizes: tuple[int, ...] = SIZES) -> Dataset:
    """Records as a data set on the full product of their columns."""
    tree = Tree.from_branching_factors(sizes)
    leaves = np.zeros(tree.n_leaves, dtype=np.int64)
    for record in records:
        at = 0
        for code, size in zip(record, sizes, strict=True):
            at = at * size + code
        leaves[at] += 1
    codes = [np.tile(np.arange(k), n) for n, k in zip(tree.level_sizes[:-1].tolist(), sizes, strict=True)]
    names = [f"c{i}" for i in range(len(sizes))]
    labels = labels_of(
        tree, codes, [[f"{name}={i}" for i in range(k)] for name, k in zip(names, sizes, strict=True)], names
    )
    n = len(records)
    return Dataset("people", tree, labels, tree.counts_of_leaves(leaves), DomainSource.PUBLIC, ReadReport(n, n))


def divisions(total: int, n: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide a total among n places."""
    if n == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in divisions(total - first, n - 1):
            yield (first, *rest)


def smallest_cost(x: Sequence[float], total: int, phi: Callable[[float], float]) -> float:
    """The smallest sum of phi(y - x) over all whole y >= 0 with that total, by trying them all."""
    return min(sum(phi(b - a) for a, b in zip(x, y, strict=True)) for y in divisions(total, len(x)))


def smallest_radius(x: Sequence[int], total: int) -> int:
    """The smallest largest distance, by trying radius after radius."""
    radius = 0
    while True:
        low, high = [max(0, a - radius) for a in x], [a + radius for a in x]
        if min(high) >= 0 and sum(low) <= total <= sum(high):
            return radius
        radius += 1


def printed_loop(x: Sequence[int], c: int) -> list[int]:
    """IntOpt as it is printed, line by line; equal values in the order of their indices."""
    n = len(x)
    z = [max(math.ceil(Fraction(c - sum(x), n)), -value) for value in x]
    t = max(abs(value) for value in z)
    order = sorted(range(n), key=lambda i: (x[i], i))
    j = 0
    while sum(z) > c - sum(x):
        surplus = sum(z) - c + sum(x)
        z[order[j]] = max(z[order[j]] - surplus, -x[order[j]], -t)
        j = (j + 1) % n
        if j == 0:
            t = t + 1
    return [a + b for a, b in zip(x, z, strict=True)]


def noise_then_project(
    leaf_counts: np.ndarray, rng: np.random.Generator, sigma: float, project: Callable[[Sequence[int], int], list[int]]
) -> np.ndarray:
    """Leaves of one top-down release in which every node gets noise first, survivor or not.

    The counts are an array with one axis per column; the noise is a rounded-free table draw of the discrete Gaussian.
    """
    noisy = [
        leaf_counts.sum(axis=tuple(range(k, leaf_counts.ndim))) + table_draws(rng, sigma, leaf_counts.shape[:k])
        for k in range(1, leaf_counts.ndim + 1)
    ]
    released = {(): int(leaf_counts.sum())}
    for k, level in enumerate(noisy):
        released = {
            (*path, code): value
            for path in product(*(range(size) for size in leaf_counts.shape[:k]))
            for code, value in enumerate(project(level[path].tolist(), released[path]))
        }
    return np.array([released[path] for path in product(*map(range, leaf_counts.shape))]).reshape(leaf_counts.shape)


def table_draws(rng: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> np.ndarray:
    """Discrete Gaussian noise by a weighted choice among the whole numbers within 12 sigma."""
    values = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-0.5 * (values / sigma) ** 2)
    return rng.choice(values, size=shape, p=weights / weights.sum())


def non_negative_least_squares(matrix: np.ndarray, noisy: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """All node counts of the best non-negative leaves, by scipy's bounded solver; exact nodes get a huge weight."""
    used = np.isfinite(variance)
    weight = np.zeros(variance.size)
    weight[used] = 1 / np.sqrt(np.maximum(variance[used], 1e-10))
    target = np.where(used, noisy, 0.0) * weight
    found = lsq_linear(matrix * weight[:, None], target, (0, np.inf), method="bvls", tol=1e-14)
    return matrix @ np.maximum(found.x, 0)


def two_sample_statistic(first: np.ndarray, second: np.ndarray, n_bins: int) -> float:
    """Chi-square statistic that two samples of bin numbers have one law; about n_bins - 1 when they have."""
    a, b = np.bincount(first, minlength=n_bins), np.bincount(second, minlength=n_bins)
    ra, rb = math.sqrt(b.sum() / a.sum()), math.sqrt(a.sum() / b.sum())
    both = a + b
    return float((((ra * a - rb * b) ** 2)[both > 0] / both[both > 0]).sum())


def table_of_array(leaf_counts: np.ndarray) -> LeafTable:
    """A table from an array with one axis per column."""
    codes = np.repeat(np.argwhere(leaf_counts >= 0), leaf_counts.ravel(), axis=0)
    return count_leaves(list(codes.T), leaf_counts.shape)
