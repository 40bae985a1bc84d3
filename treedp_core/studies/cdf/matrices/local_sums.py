"""p-identity matrices for many bins: all bins, sums of the bins of one block, and a few sums of all bins.

A = [I; T; U] diag(s)^-1 with weights T >= 0 of the bins of one block in each row, U >= 0 of all bins, and s_j = 1 + the
sum of its column j, so every column of A sums to 1. With N = I + T'T, which is as small as a block, V = U N^-1 and
D = I + V U', the products M = I + T'T + U'U have

    M^-1 = N^-1 - V' D^-1 V,    N_b^-1 = I - T_b' (I + T_b T_b')^-1 T_b,

so that with H = diag(s) G diag(s) both the error F = tr(M^-1 H) and its slope -2 T M^-1 H M^-1 + 2 (1 v') (see
`p_identity`) take O(K) for each pair of sums that have a bin in common: no matrix of K x K is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import solve_triangular

from treedp_core.studies.cdf.matrices.integer_strategy import WHOLE_BITS
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.tree import AnyArray, FloatArray, IntArray

MOST_AT_FIRST: Final = 30.0
"""Of the weights of a bin where a search begins: with more it goes down slowly."""
MOST_WEIGHT: Final = 1000.0
"""Of those of a bin: with more its own count is hardly measured, and the way back loses digits."""
_SAFE: Final = 2.0**62


@dataclass(frozen=True, eq=False)
class LocalMatrix:
    """Whole weights of every bin, of the bins of each block in some sums, and of all bins in a few.

    Parameters
    ----------
    own : (K,)
        Of each bin alone, at least 1. Whole numbers as all weights, at least 0; columns are at most about 2^20 long.
    near : (n_blocks, n_near, size)
        The last block may have bins beyond the last, of weight 0.
    far : (n_far, K)
    with_total : bool
        Whether the total is public; then least squares uses it.
    wanted : Wanted
        What it was made for: cumulative counts or ranges.
    searched : float
        The share of its search that is behind it: 1 for the best found, less for the best so far.
    """

    own: IntArray
    near: IntArray
    far: IntArray
    with_total: bool
    wanted: Wanted
    lower: float = float("nan")
    searched: float = 1.0

    @property
    def n_bins(self) -> int:
        """K."""
        return int(self.own.size)

    @property
    def n_rows(self) -> int:
        """Noise values of one release: of the bins, of the blocks' sums, of the sums of all bins."""
        return int(self.n_bins + self.near[:, :, 0].size + self.far.shape[0])

    def encode(self, counts: AnyArray) -> AnyArray:
        """Return the matrix times whole counts of bins (K,), exactly, (n_rows,)."""
        is_small = float(self._column_sums.max()) * float(np.abs(counts).sum(dtype=float)) < _SAFE
        kind = np.int64 if is_small else object
        bins = counts.astype(kind)
        near = self.near.astype(kind) @ self._blocks(bins)[..., None]
        return np.concatenate([self.own.astype(kind) * bins, near.ravel(), self.far.astype(kind) @ bins])

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., n_rows), given a total that is public."""
        values, n, n_far = released.astype(np.float64), self.n_bins, self.far.shape[0]
        near = values[..., n : values.shape[-1] - n_far].reshape(*values.shape[:-1], *self.near.shape[:2], 1)
        sums = (near * self.near).sum(axis=-2).reshape(*values.shape[:-1], -1)[..., :n]
        bins = values[..., :n] * self.own + sums + values[..., values.shape[-1] - n_far :] @ self.far
        found: FloatArray = np.cumsum(self._solve(bins), axis=-1)
        return found - self._shares * (found[..., -1:] - total) if self.with_total else found

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (n_rows,)."""
        bins = self._solve((np.arange(self.n_bins) <= last).astype(np.float64))
        if self.with_total:
            bins = bins - self._shares[last] * self._of_total
        near = self.near @ self._blocks(bins)[..., None]
        return np.concatenate([self.own * bins, near.ravel(), self.far @ bins])

    def numbers(self) -> IntArray:
        """Return the weights of bins, of blocks' sums, then of sums of all bins, row by row, (n,)."""
        return np.concatenate([self.own, self.near.ravel(), self.far.ravel()])

    def column_sum(self) -> int:
        """Largest sum of a column, exactly."""
        return int(self._column_sums.max())

    def pair_sum(self) -> int:
        """Largest sum of absolute differences of two columns, or at most 2^-16 of that more."""
        return self._farthest(1)

    def column_square(self) -> int:
        """Squared length of the longest column, exactly."""
        return int((self._powers(2) + np.square(self.far.astype(np.int64)).sum(axis=0)).max())

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart, or at most 2^-16 of that more."""
        return self._farthest(2)

    @cached_property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""
        inside = np.cumsum(self._near_root, axis=2)
        before = np.square(inside[:, :, -1]).sum(axis=1)
        less = np.square(inside).sum(axis=1) + (np.cumsum(before) - before)[:, None]
        found = np.cumsum(1.0 / np.square(self.own.astype(np.float64))) - less.ravel()[: self.n_bins]
        found -= np.square(np.cumsum(self._far_root, axis=1)).sum(axis=0)
        return np.asarray(np.maximum(found - np.square(self._shares) * found[-1], 0.0) if self.with_total else found)

    @cached_property
    def mean_variance(self) -> float:
        """Mean error variance of the wanted counts where the noise has variance 1."""
        total, n = float(self.variance.sum()), self.n_bins
        if self.wanted.workload == "cdf":
            return total / n
        weights = np.arange(n, 0, -1.0)  # of the sum of all cumulative counts
        together = float(weights @ self._solve(weights))
        if self.with_total:
            together -= float(weights @ self._of_total) ** 2 / float(self._of_total.sum())
        return ((n + 1.0) * total - together) / self.wanted.queries

    # Products of columns have the inverse diag(own)^-2 - E'E - Z'Z.

    @cached_property
    def _near_root(self) -> FloatArray:
        """E, (n_blocks, n_near, size)."""
        alone = self._blocks(1.0 / np.square(self.own.astype(np.float64)))[:, None]
        sums = self.near * alone
        inner = np.eye(sums.shape[1]) + sums @ self.near.transpose(0, 2, 1)
        return np.asarray(np.linalg.solve(np.linalg.cholesky(inner), sums))

    @cached_property
    def _far_root(self) -> FloatArray:
        """Z, (n_far, K)."""
        sums = self._without_far(self.far.astype(np.float64))
        inner = np.eye(sums.shape[0]) + sums @ self.far.T
        return np.asarray(solve_triangular(np.linalg.cholesky(inner), sums, lower=True))

    @cached_property
    def _of_total(self) -> FloatArray:
        """Weights of all bins, solved, (K,)."""
        return self._solve(np.ones(self.n_bins))

    @cached_property
    def _shares(self) -> FloatArray:
        """Covariance of each cumulative count with the last one, over the variance of that, (K,)."""
        together = np.cumsum(self._of_total)
        return np.asarray(together / together[-1])

    def _solve(self, values: FloatArray) -> FloatArray:
        """Inverse of the products of columns, times values (..., K)."""
        return self._without_far(values) - (values @ self._far_root.T) @ self._far_root

    def _without_far(self, values: FloatArray) -> FloatArray:
        """The same where sums of all bins are not measured."""
        root = self._near_root
        inside = (root @ self._blocks(values)[..., None])[..., 0]
        sums = (inside[..., None, :] @ root)[..., 0, :]
        less = sums.reshape(*values.shape[:-1], -1)[..., : self.n_bins]
        return np.asarray(values / np.square(self.own.astype(np.float64)) - less)

    def _blocks(self, values: AnyArray) -> AnyArray:
        """Values of bins (..., K) by block, 0 beyond the last, (..., n_blocks, size)."""
        blocks, _, size = self.near.shape
        rest = np.zeros((*values.shape[:-1], blocks * size - self.n_bins), dtype=values.dtype)
        return np.concatenate([values, rest], axis=-1).reshape(*values.shape[:-1], blocks, size)

    @cached_property
    def _column_sums(self) -> IntArray:
        return np.asarray(self._powers(1) + self.far.sum(axis=0, dtype=np.int64))

    def _powers(self, power: int) -> IntArray:
        """Summed powers of the weights of each bin but in sums of all, (K,)."""
        near = (self.near.astype(np.int64) ** power).sum(axis=1).ravel()[: self.n_bins]
        return np.asarray(self.own.astype(np.int64) ** power + near)

    def _farthest(self, power: int) -> int:
        """Largest sum of powers of differences of two columns, never less than that and at most 2^-16 of it more.

        Pairs of blocks are looked at in the order of what no two of their columns exceed, by the ranges of their sums
        and as no two columns are farther apart than both are long, until that is as little.
        """
        blocks, _, size = self.near.shape
        apart, far = self._powers(power), self.far.astype(np.int64)
        starts = np.arange(blocks) * size
        low, high = (extreme.reduceat(far, starts, axis=1) for extreme in (np.minimum, np.maximum))
        reach = np.maximum(high[:, :, None] - low[:, None], high[:, None] - low[:, :, None]) ** power
        longest = np.maximum.reduceat(apart, starts)
        columns = np.maximum.reduceat(apart + (far**power).sum(axis=0), starts)
        most = np.triu(np.minimum(reach.sum(axis=0) + np.add.outer(longest, longest), np.add.outer(columns, columns)))
        largest = 0
        for place in np.argsort(-most, axis=None):
            one, two = divmod(int(place), blocks)
            if most[one, two] <= largest + (largest >> 16):
                return max(largest, int(most[one, two]))
            first, second = (slice(block * size, min((block + 1) * size, self.n_bins)) for block in (one, two))
            between = np.add.outer(apart[first], apart[second]) if one != two else self._inside(one, power)
            for row in far:
                between += np.abs(np.subtract.outer(row[first], row[second])) ** power
            largest = max(largest, int(between.max()))
        return largest

    def _inside(self, block: int, power: int) -> IntArray:
        """Summed powers of differences of two columns of a block, but in sums of all bins, (bins, bins)."""
        n = min(self.near.shape[2], self.n_bins - block * self.near.shape[2])
        own = self.own[block * self.near.shape[2] :][:n].astype(np.int64) ** power
        found = np.add.outer(own, own)
        np.fill_diagonal(found, 0)
        for row in self.near[block, :, :n].astype(np.int64):
            found += np.abs(np.subtract.outer(row, row)) ** power
        return np.asarray(found)


@dataclass(frozen=True)
class LocalErrors:
    """F of weights T and U, and its slope.

    Parameters
    ----------
    wanted : Wanted
        Cumulative counts or ranges.
    with_total : bool
        Whether the wanted counts are centred.
    shape : (n_blocks, n_near, size)
        Of T; the last block may have bins beyond the last.
    n_far : int
        Sums of all bins.
    """

    wanted: Wanted
    with_total: bool
    shape: tuple[int, int, int]
    n_far: int

    def parts(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return T (n_blocks, n_near, size) and U (n_far, n_blocks size) of all weights in a row."""
        near, far = np.split(weights, [int(np.prod(self.shape))])
        return near.reshape(self.shape), far.reshape(self.n_far, -1)

    def capped(self, weights: FloatArray, most: float) -> FloatArray:
        """Return weights (n_weights,) of which those of a bin sum to at most so much, in the same proportions."""
        near, far = self.parts(weights)
        sums = near.sum(axis=1).ravel() + far.sum(axis=0)
        factor = most / np.maximum(sums, most)
        return np.concatenate([(near * factor.reshape(near.shape[0], 1, -1)).ravel(), (far * factor).ravel()])

    def of(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return F, and its slope.

        Parameters
        ----------
        weights : (n_weights,)
        """
        near, far = self.parts(weights)
        scale = 1.0 + near.sum(axis=1).ravel() + far.sum(axis=0)
        turned, block_scale = near.transpose(0, 2, 1), scale.reshape(near.shape[0], 1, -1)
        inner = near @ turned + np.eye(near.shape[1])
        solved = np.linalg.solve(inner, near)

        def without_far(rows: FloatArray) -> FloatArray:
            """Rows (n_far, bins) times N^-1."""
            apart = self._by_block(rows)
            less = apart - (apart @ turned) @ solved
            return less.transpose(1, 0, 2).reshape(rows.shape)

        moved = self._product(near * block_scale, True) * block_scale
        back = self._product(solved * block_scale, True) * block_scale
        back -= (back @ turned) @ solved
        v = without_far(far)
        outer = v @ far.T + np.eye(self.n_far)
        v_moved = self._product(v * scale, False) * scale
        v_solved = np.linalg.solve(outer, v)
        v_back = without_far(v_moved)
        products = v_moved @ v.T
        far_slope = np.linalg.solve(outer, v_back - products @ v_solved)
        half = self._by_block(np.linalg.solve(outer, v_back - 0.5 * products @ v_solved))
        apart = self._by_block(v)
        back -= (near @ apart.transpose(0, 2, 1)) @ half + (near @ half.transpose(0, 2, 1)) @ apart
        parts = self._diagonal * np.square(scale) - (solved * moved).sum(axis=1).ravel()
        parts -= (v_solved * v_moved).sum(axis=0)
        each = 2.0 * parts / scale
        near_slope = each.reshape(block_scale.shape) - 2.0 * back
        return float(parts.sum()), np.concatenate([near_slope.ravel(), (each - 2.0 * far_slope).ravel()])

    def _by_block(self, rows: FloatArray) -> FloatArray:
        """Rows (n, bins), each in blocks, (n_blocks, n, size)."""
        return rows.reshape(rows.shape[0], self.shape[0], -1).transpose(1, 0, 2)

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """Factors f and g of G_ij = f_min(i, j) g_max(i, j), 0 beyond the last bin, (bins,)."""
        n, i = self.wanted.n_bins, np.arange(self.shape[0] * self.shape[2], dtype=np.float64)
        rises = i + 1.0 if self.wanted.workload == "ranges" else np.ones(i.size)
        return np.where(i < n, rises, 0.0), np.asarray(np.maximum(n - i, 0.0))

    @cached_property
    def _mean(self) -> FloatArray:
        """G 1 / K, (bins,)."""
        rises, falls = self._factors
        return _times_gram(np.where(falls > 0.0, 1.0, 0.0), rises, falls) / self.wanted.n_bins

    @cached_property
    def _diagonal(self) -> FloatArray:
        """Diagonal of G, which is centred for a public total, (bins,)."""
        rises, falls = self._factors
        found = rises * falls
        if self.with_total:
            found = np.where(falls > 0.0, found - 2.0 * self._mean + self._mean.sum() / self.wanted.n_bins, 0.0)
        return np.asarray(found)

    def _product(self, rows: FloatArray, is_by_block: bool) -> FloatArray:
        """Rows of all bins (n, bins) times G, or of a block's (n_blocks, n, size) times its block of G."""
        vectors = np.stack([*self._factors, self._mean])
        rises, falls, mean = vectors.reshape(3, self.shape[0], 1, -1) if is_by_block else vectors
        found = _times_gram(rows, rises, falls)
        if not self.with_total:
            return found
        ones = np.where(falls > 0.0, 1.0, 0.0)
        total = (rows * ones).sum(axis=-1, keepdims=True)
        shift = self._mean.sum() / self.wanted.n_bins * total - (rows * mean).sum(axis=-1, keepdims=True)
        return np.asarray(found - total * mean + shift * ones)


def _times_gram(rows: FloatArray, rises: FloatArray, falls: FloatArray) -> FloatArray:
    """Rows (..., bins) times G of factors (..., bins)."""
    behind = rows * falls
    after = np.cumsum(behind[..., ::-1], axis=-1)[..., ::-1] - behind
    return np.asarray(np.cumsum(rows * rises, axis=-1) * falls + after * rises)


def in_whole_numbers(errors: LocalErrors, weights: FloatArray, searched: float = 1.0) -> LocalMatrix:
    """Return the matrix of weights (n_weights,), times 2^20 and rounded to whole numbers."""
    near, far = errors.parts(errors.capped(weights, MOST_WEIGHT))
    blocks, _, size = near.shape
    own = 2.0**WHOLE_BITS / (1.0 + near.sum(axis=1).ravel() + far.sum(axis=0))
    n = errors.wanted.n_bins
    is_bin = (np.arange(own.size) < n).reshape(blocks, 1, size)
    return LocalMatrix(
        np.maximum(np.rint(own[:n]), 1.0).astype(np.int32),
        np.rint(near * own.reshape(blocks, 1, size) * is_bin).astype(np.int32),
        np.rint(far[:, :n] * own[:n]).astype(np.int32),
        errors.with_total,
        errors.wanted,
        searched=searched,
    )
