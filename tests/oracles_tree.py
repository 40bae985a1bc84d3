"""Slow and obvious oracles for trees and their post-processing: node by node, or by dense linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def random_parents(rng: np.random.Generator, n_nodes: int) -> list[int]:
    """Parents of a random ragged tree in level order, siblings adjacent."""
    children = {0: []}
    for node in range(1, n_nodes):
        children[int(rng.integers(node))].append(node)
        children[node] = []
    order, queue = [], [0]
    while queue:
        order.append(queue.pop(0))
        queue += children[order[-1]]
    position = {node: i for i, node in enumerate(order)}
    parent = [-1] * n_nodes
    for node, below in children.items():
        for child in below:
            parent[position[child]] = position[node]
    return parent


def level_starts(parent: list[int]) -> list[int]:
    """Where each level begins, and the number of nodes at the end."""
    level = [0]
    for p in parent[1:]:
        level.append(level[p] + 1)
    return [level.index(i) for i in range(level[-1] + 1)] + [len(parent)]


def leaf_matrix(parent: list[int]) -> np.ndarray:
    """Entry (v, j) is 1 when leaf j (in order of node number) lies below v."""
    leaves = [v for v in range(len(parent)) if v not in parent]
    matrix = np.zeros((len(parent), len(leaves)))
    for j, leaf in enumerate(leaves):
        v = leaf
        while v >= 0:
            matrix[v, j] = 1.0
            v = parent[v]
    return matrix


def generalised_least_squares(
    parent: list[int], noisy: np.ndarray, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Best linear unbiased estimates and variances by dense algebra; nan and inf where a node is not determined.

    Exactly known nodes (variance 0) are constraints: the leaf vector is a particular solution plus a combination of
    a basis of the constraints' null space, and that combination is fitted by whitened least squares.
    """
    everything = leaf_matrix(parent)
    known, used = variance == 0, (variance > 0) & np.isfinite(variance)
    particular, basis = np.zeros(everything.shape[1]), np.eye(everything.shape[1])
    if known.any():
        particular = np.linalg.lstsq(everything[known], noisy[known], rcond=None)[0]
        _, singular, right = np.linalg.svd(everything[known])
        basis = right[int((singular > 1e-10).sum()) :].T
    reach = everything @ basis
    reach[np.abs(reach) < 1e-10] = 0.0  # rounding only, which a pseudo-inverse of nothing else would blow up
    white = reach[used] / np.sqrt(variance[used])[:, None]
    target = (noisy[used] - everything[used] @ particular) / np.sqrt(variance[used])
    inverse = np.linalg.pinv(white)
    estimate = everything @ particular + reach @ (inverse @ target)
    spread = ((reach @ inverse) ** 2).sum(axis=1)
    lost = np.abs(reach - reach @ inverse @ white).max(axis=1, initial=0) > 1e-8
    return np.where(lost, np.nan, estimate), np.where(lost, np.inf, spread)


def exact_least_squares_variances(parent: list[int], variance: Sequence[float]) -> list[Fraction]:
    """Variance of every node after least squares, exactly: a^T (sum of a a^T / variance)^-1 a, in fractions."""
    rows = [[int(x) for x in row] for row in leaf_matrix(parent)]
    n = len(rows[0])
    left = [[Fraction(0)] * n + [Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for row, v in zip(rows, variance, strict=True):
        for i in range(n):
            for j in range(n):
                left[i][j] += row[i] * row[j] / Fraction(float(v))
    for i in range(n):  # Gauss and Jordan; the matrix is positive definite, so no pivot is 0
        pivot = left[i][i]
        left[i] = [x / pivot for x in left[i]]
        for j in range(n):
            if j != i and left[j][i]:
                left[j] = [x - left[j][i] * y for x, y in zip(left[j], left[i], strict=True)]
    inverse = [row[n:] for row in left]
    return [sum(row[i] * row[j] * inverse[i][j] for i in range(n) for j in range(n)) for row in rows]
