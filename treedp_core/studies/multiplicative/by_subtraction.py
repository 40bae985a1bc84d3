r"""Counts of nodes as differences of cumulative counts: what the reduction of Ghazi et al., Section 1.3, costs.

Number the m = 2^(d-1) leaves of a binary tree of d levels in their order. The count of a node with leaves a + 1 to b is
P_b - P_a, where P_j counts the records on the first j leaves ("thresholds"), so whoever releases cumulative counts
has released the tree. One record is added or removed; noise is Gaussian, and errors are in units of the noise sigma
that one count would need by itself.

*Cumulative counts.* With the square root B of the lower triangle of ones, B_ij = r_(i-j), and noise of sigma times the
longest column, the worst cumulative count errs S_m = sum_(k<m) r_k^2 (Fichtenberger, Henzinger and Upadhyay, 2023),
about ln(m) / pi. No factorisation does better than nu_m = (1/m) sum_j 1 / (2 sin((2 j - 1) pi / (4 m + 2))), the mean
singular value of the triangle (Ghazi et al., Theorem A.3, with uniform weights): S_m is at most a fifth above it, and
closer the larger m is.

*A node.* Errors of two cumulative counts are those of one noise vector, so that

    Var(P_b - P_a) = S_m (sum_(k < a) (r_(k+b-a) - r_k)^2 + sum_(k < b-a) r_k^2),

exactly, and the worst node of b - a leaves is the last one. It grows with d as sqrt(2) ln(2) / pi d. Of a mechanism of
which no more is known than the error E of each cumulative count, a node errs up to 2 E by the triangle inequality.

*Beside it.* Every count by itself: sqrt(d) (Corollary 2.7). The best matrix of the tree itself: gamma_2 =
sqrt((d + 2) / 3), attained by least squares with minimax shares.

*Errors that are forgiven.* Cumulative counts that are off by up to alpha P_j have an alpha-RMSE of 0. Their difference
may be off by alpha (P_b + P_a) = alpha (2 P_b - w) for a node of w records, of which alpha w are forgiven, so that a
node of w records may err 2 alpha (P_b - w) <= 2 alpha (N - w) beyond: multiplicative errors do not survive subtraction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treedp_core.allocation.minimax import squared_norm
from treedp_core.studies.cdf.matrices.square_root import root
from treedp_core.tree import FloatArray, IntArray
from treedp_core.words import whole

MOST_LEVELS: Final = 17
"""Of the trees that are computed: 65 536 leaves."""


@dataclass(frozen=True, eq=False)
class Subtracted:
    """Root mean squared errors of the worst count, by number of levels, (n,) each, in sigma of one count by itself.

    Parameters
    ----------
    n_levels : (n,)
    node : (n,)
        Of a node, as a difference of cumulative counts by the square-root matrix.
    cumulative, least : (n,)
        Of a cumulative count: by that matrix, and at least by any factorisation.
    each : (n,)
        Of a node, where every count is measured by itself.
    tree : (n,)
        Of a node, by the best factorisation of the tree's own counts.
    """

    n_levels: IntArray
    node: FloatArray
    cumulative: FloatArray
    least: FloatArray
    each: FloatArray
    tree: FloatArray

    @property
    def twice(self) -> FloatArray:
        """Of a node, where nothing but the error of cumulative counts is known, (n,)."""
        return 2.0 * self.cumulative

    @property
    def loses_from(self) -> int | None:
        """First number of levels from which on subtraction errs more than counts measured each by itself."""
        wins = np.flatnonzero(self.node <= self.each)
        after = 0 if wins.size == 0 else int(wins[-1]) + 1
        return None if after == self.n_levels.size else int(self.n_levels[after])


def by_subtraction(n_levels: Sequence[int]) -> Subtracted:
    """Return the errors of binary trees with these numbers of levels, from 2 to `MOST_LEVELS`.

    >>> found = by_subtraction([2, 7, 17])
    >>> found.node.round(2).tolist(), found.each.round(2).tolist(), found.tree.round(2).tolist()
    ([1.25, 2.87, 6.01], [1.41, 2.65, 4.12], [1.15, 1.73, 2.52])
    """
    levels = np.array(n_levels, dtype=np.int64)
    squares = [_squares(1 << (d - 1)) for d in levels.tolist()]
    largest = np.array([max(node) for node, _ in squares])
    cumulative = np.array([column for _, column in squares])
    return Subtracted(
        levels, np.sqrt(largest * cumulative), cumulative, np.array([_least(1 << (d - 1)) for d in levels.tolist()]),
        np.sqrt(levels.astype(float)), np.sqrt([squared_norm((2,) * (d - 1)) for d in levels.tolist()]),
    )  # fmt: skip


def _squares(n_leaves: int) -> tuple[list[float], float]:
    """Squared length of the worst row of the differences, for each number of leaves of a node; and that of a column."""
    r = root(n_leaves)
    so_far = np.cumsum(np.square(r))
    sizes = [1 << k for k in range(n_leaves.bit_length())]
    apart = [float(np.square(r[size:] - r[:-size]).sum()) for size in sizes]
    return [far + float(so_far[size - 1]) for far, size in zip(apart, sizes, strict=True)], float(so_far[-1])


def _least(n_leaves: int) -> float:
    odd = 2.0 * np.arange(1, n_leaves + 1) - 1.0
    return float(np.mean(0.5 / np.sin(odd * math.pi / (4 * n_leaves + 2))))


def forgiven(alpha: float, records: float, total: float) -> tuple[float, float]:
    """Return what a node of some records may be off where what was released has no α-RMSE: it, or cumulative counts.

    >>> forgiven(0.5, 10.0, 10_000.0)
    (5.0, 9995.0)
    """
    return alpha * records, alpha * (2.0 * total - records)


def table(found: Subtracted, sigma: float) -> dict[str, list[Any]]:
    """Return the errors in records, where one count by itself has noise of standard deviation `sigma`."""
    columns = {
        "by subtraction": found.node, "twice a cumulative count’s": found.twice, "every count by itself": found.each,
        "best for the tree": found.tree, "a cumulative count": found.cumulative,
        "a cumulative count, at least": found.least,
    }  # fmt: skip
    leaves = [whole(1 << (d - 1)) for d in found.n_levels.tolist()]
    return {"levels": found.n_levels.tolist(), "leaves": leaves} | {
        name: (sigma * values).tolist() for name, values in columns.items()
    }


def forgiven_table(alpha: float, total: float) -> dict[str, list[float]]:
    """Return `forgiven` for nodes of 1 to `total` records."""
    records = np.unique(np.round(np.geomspace(1.0, total, 41))).tolist()
    both = [forgiven(alpha, one, total) for one in records]
    return {
        "records of the node": records, "directly": [one for one, _ in both], "by subtraction": [two for _, two in both]
    }  # fmt: skip
