"""Products of p-identity matrices, where the search for many bins begins: one over blocks, one inside every block.

With P the products of the inner matrix's columns, Q those of the outer one's, R = P^-1, r = R 1 and s = 1'r, all is
known from matrices as small as a block or as the blocks are many: the whole matrix has M = I x P + Q x 11', and

    M^-1 = I x R - N x rr',    N = (Q^-1 + s I)^-1.

The cumulative count up to bin k of block c has the weights e_c x 1_(<=k) + 1_(<c) x 1. Its variance is that of its
blocks' totals, w'(Q + I/s)^-1 w with w = 1_(<c) + a_k e_c, and what a block's total does not tell of its bins, v_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from treedp_core.checks import InputError
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix
from treedp_core.studies.cdf.matrices.local_sums import MOST_AT_FIRST, LocalErrors, LocalMatrix, in_whole_numbers
from treedp_core.studies.cdf.matrices.p_identity import SEARCH_STEPS, descend, identity_matrix, searches
from treedp_core.studies.cdf.matrices.replaced import matrix_for_replaced
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch, generator
from treedp_core.words import whole

MOST_BINS: Final = 1 << 16
SEEDS: Final = (1, 2)
MANY: Final = 20_000
"""For more bins than that one search does, a longer one: see `searches`."""
BINS_TO_A_SUM: Final = 8
BINS_TO_A_SUM_OF_MANY: Final = 16
"""In blocks of more bins than `LARGE_BLOCK`, where weights take much memory."""
LARGE_BLOCK: Final = 200
MOST_STEPS: Final = 600
LEAST_STEPS: Final = 100
BINS_AND_STEPS: Final = 2_500_000
"""Of a search for every weight by itself: bins times steps."""
_MOST: Final = 1.5
"""Of the logarithm of how long an outer column is beside an inner one: longer ones lead nowhere."""


@dataclass(frozen=True, eq=False)
class Half:
    """The outer or the inner matrix: every column by itself, and few sums of all of them.

    Parameters
    ----------
    own : (n,)
    sums : (n_sums, n)
    """

    own: FloatArray
    sums: FloatArray

    def inverse(self, more: float = 0.0) -> FloatArray:
        """Return (products of columns + more I)^-1, (n, n): of a symmetric matrix in half the work of any other's."""
        products = self.sums.T @ self.sums
        np.fill_diagonal(products, products.diagonal() + np.square(self.own) + more)
        upper, failed = dpotri(dpotrf(products)[0])
        if failed:
            raise np.linalg.LinAlgError("The products of columns have no inverse.")
        found = upper + upper.T
        np.fill_diagonal(found, upper.diagonal())
        return np.asarray(found)

    def slope(self, moved: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slopes by `own` and by `sums` of what has the slopes -moved (n, n) by products of columns."""
        return -2.0 * self.own * np.diag(moved), -2.0 * self.sums @ moved


@dataclass(frozen=True, eq=False)
class Parts:
    """What follows from the products of columns: Q of the outer and P of the inner matrix.

    Parameters
    ----------
    outer, inner : Half
        Of n_blocks and of size columns.
    """

    outer: Half
    inner: Half

    @cached_property
    def back(self) -> FloatArray:
        """R, (size, size)."""
        return self.inner.inverse()

    @cached_property
    def total(self) -> FloatArray:
        """Row sums r of R, (size,)."""
        return np.asarray(self.back.sum(axis=1))

    @property
    def spread(self) -> float:
        """s: variance of a block's total by its bins alone."""
        return float(self.total.sum())

    @cached_property
    def totals(self) -> FloatArray:
        """Covariance of the blocks' totals, (Q + I/s)^-1, (n_blocks, n_blocks)."""
        return self.outer.inverse(1.0 / self.spread)

    @cached_property
    def less(self) -> FloatArray:
        """N, (n_blocks, n_blocks)."""
        return np.asarray((np.eye(self.outer.own.size) - self.totals / self.spread) / self.spread)

    @cached_property
    def told(self) -> FloatArray:
        """a_k: how much of a block's cumulative count its total tells, (size,)."""
        return np.cumsum(self.total) / self.spread

    @cached_property
    def rest(self) -> FloatArray:
        """Rows R 1_(<=k) - a_k r: what the total does not tell, (size, size)."""
        found = np.cumsum(self.back, axis=0)
        found -= np.outer(self.told, self.total)
        return found


def pure_matrix(wanted: Wanted, with_total: bool, watch: Watch | None = None) -> WholeMatrix | LocalMatrix:
    """Return a matrix with little mean variance under Laplace noise: a p-identity, of many bins one of local sums.

    For few bins and replaced records it has any weights where these have less error: see `replaced`.

    Parameters
    ----------
    wanted : Wanted
        For more than 1025 bins all cumulative counts or all ranges.
    with_total : bool
        Whether the total is public.
    watch : Watch, optional
        Told of every step of the search, and of more than 1025 bins shown the best matrix so far.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for other counts of more than 1025 bins, or more than 65 536 bins.
    Cancelled
        When the watch says so.
    """
    n = wanted.n_bins
    if n <= MAX_BOUND_BINS:
        found = [identity_matrix(wanted, with_total, watch)]
        if with_total and (other := matrix_for_replaced(wanted, watch or Watch())) is not None:
            found.append(other)
        return min(found, key=lambda one: one.mean_variance * one.pair_sum() ** 2) if with_total else found[0]
    if n > MOST_BINS or wanted.workload not in ("cdf", "ranges"):
        raise InputError(
            "BOUND_SIZE",
            f"A p-identity matrix of more than {whole(MAX_BOUND_BINS)} bins is made for cumulative counts or all "
            f"ranges of at most {whole(MOST_BINS)}, not of {whole(n)}: choose a tree.",
        )
    return local_matrix(wanted, with_total, watch or Watch())


def local_matrix(wanted: Wanted, with_total: bool, watch: Watch) -> LocalMatrix:
    """Return a matrix of local sums: the better of two products that were sought, then every weight by itself.

    A product takes a second and has the same weights in every block; all weights by themselves take longer, the more
    bins there are, and end 5 to 7 % lower. The watch is shown the product, and every tenth of what follows.
    """
    errors, begin = product_weights(wanted, with_total, watch.part(SEARCH_STEPS // 10, of=SEARCH_STEPS))
    watch.offer(in_whole_numbers(errors, begin, 0.0))
    steps, seen = min(MOST_STEPS, max(LEAST_STEPS, BINS_AND_STEPS // wanted.n_bins)), 0

    def show(weights: FloatArray) -> None:
        nonlocal seen
        seen += 1
        if not seen % (steps // 10):
            watch.offer(in_whole_numbers(errors, weights, seen / (steps + 1)))

    rest = watch.part(SEARCH_STEPS - SEARCH_STEPS // 10, of=steps)
    begin = errors.capped(begin, MOST_AT_FIRST)
    return in_whole_numbers(errors, descend(errors.of, begin, (0.0, None), steps, rest, each=show))


def product_weights(wanted: Wanted, with_total: bool, watch: Watch) -> tuple[LocalErrors, FloatArray]:
    """Return the better of two products that were sought, or the one that was where bins are many, as local sums.

    Blocks have about twice as many bins as there are blocks.

    Returns
    -------
    LocalErrors
    weights : (n_weights,)
    """
    blocks = max(2, round(math.sqrt(wanted.n_bins / 2.0)))
    size = -(-wanted.n_bins // blocks)
    blocks = -(-wanted.n_bins // size)
    search = Search(blocks, size, wanted.workload == "ranges", with_total)
    some = searches(SEEDS, wanted.n_bins > MANY, watch)
    found = min((search.run(seed, steps, watch) for seed, steps in some), key=lambda one: search.error(one)[0])
    outer, inner = search.matrices(found)
    total = outer.own[:, None] / inner.own
    near = np.concatenate([np.repeat((inner.sums / inner.own)[None], blocks, axis=0), total[:, None]], axis=1)
    far = np.repeat(outer.sums, size, axis=1) / np.tile(inner.own, blocks)
    is_bin = np.arange(blocks * size) < wanted.n_bins
    near, far = near * is_bin.reshape(blocks, 1, size), far * is_bin
    errors = LocalErrors(wanted, with_total, (blocks, near.shape[1], size), far.shape[0])
    return errors, np.concatenate([near.ravel(), far.ravel()])


@dataclass(frozen=True)
class Search:
    """For weights, as many for each block and bin of a block: what is minimised, and its slope.

    Parameters
    ----------
    blocks, size : int
        How many blocks, of how many bins.
    ranges, with_total : bool
        Whether all ranges are wanted rather than cumulative counts, and whether these are centred.
    """

    blocks: int
    size: int
    ranges: bool
    with_total: bool

    @property
    def many(self) -> tuple[int, int]:
        """How many weights the outer matrix has, and the inner one."""
        to_a_sum = BINS_TO_A_SUM if self.size <= LARGE_BLOCK else BINS_TO_A_SUM_OF_MANY
        return -(-self.blocks // to_a_sum) * self.blocks, -(-self.size // to_a_sum) * self.size

    def run(self, seed: int, steps: int, watch: Watch) -> FloatArray:
        """Return the best weights found from one start, (n_weights,)."""

        def logarithm(values: FloatArray) -> tuple[float, FloatArray]:
            error, slope = self.error(values)
            return math.log(error), slope / error

        begin = generator("product of p-identities", seed).random(sum(self.many) + 1)
        begin[0] = 0.0
        return descend(logarithm, begin, (-_MOST, _MOST), steps, watch)

    def matrices(self, values: FloatArray) -> tuple[Half, Half]:
        """Return the outer and the inner matrix of weights (n_weights,)."""
        share = _share(float(values[0]))
        outer, inner = np.split(values[1:], [self.many[0]])

        def half(weights: FloatArray, length: float) -> Half:
            own = length / (1.0 + weights.sum(axis=0))
            return Half(own, own * weights)

        return half(outer.reshape(-1, self.blocks), share), half(inner.reshape(-1, self.size), 1.0 - share)

    def error(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Return the summed variance of the wanted counts at weights (n_weights,), and its slope."""
        matrices, share = self.matrices(values), _share(float(values[0]))
        found, *by = self.slopes(Parts(*matrices))
        along, parts = 0.0, [np.zeros(1)]
        for matrix, moved, length, sign in zip(matrices, by, (share, 1.0 - share), (1.0, -1.0), strict=True):
            own, sums = matrix.slope(moved)
            inside = (own * matrix.own + (sums * matrix.sums).sum(axis=0)) / length
            along += sign * float(inside.sum())
            parts.append(((sums - inside) * matrix.own).ravel())
        parts[0][0] = along * share * (1.0 - share)
        return found, np.concatenate(parts)

    def slopes(self, one: Parts) -> tuple[float, FloatArray, FloatArray]:
        """Return the sum of q'M^-1 q over what is wanted, and minus its slopes by Q and by P.

        With z = (I - s N) w, a cumulative count q has M^-1 q = z x r + e_c x u_k, u_k = `rest`[k]; a public total takes
        its mean weight off w. For ranges, of K + 1 ends, it is K + 1 times that, less that of the sum of all q.

        Returns
        -------
        float
        by_outer : (n_blocks, n_blocks)
        by_inner : (size, size)
        """
        m, told = self.blocks, one.told
        bare = np.eye(m) - one.spread * one.less
        square, summed, mean = self._weights(told)
        along = (np.tril(np.ones((m, m)), -1) * bare).sum() + told * np.trace(bare) - bare.sum(axis=1) @ mean
        z = bare @ square @ bare
        by_inner = one.rest.T @ one.rest
        by_inner *= m
        by_inner += _mixed(one.total, along @ one.rest + np.trace(z) / 2.0 * one.total)
        found = float((one.totals * square).sum()) + m * float(np.cumsum(one.rest, axis=1).trace())
        if not self.ranges:
            return found, one.spread**2 * z, by_inner
        ends, far, left = m * self.size + 1.0, bare @ summed, one.rest.sum(axis=0)
        less = m * np.outer(left, left) + _mixed(one.total, far.sum() * left + far @ far / 2.0 * one.total)
        found = ends * found - float(summed @ one.totals @ summed) - m * float(np.cumsum(left).sum())
        return found, one.spread**2 * (ends * z - np.outer(far, far)), ends * by_inner - less

    def _weights(self, told: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of w w' (n_blocks, n_blocks) and of w (n_blocks,), and the mean weights of q, (n_blocks, size)."""
        m, size = self.blocks, self.size
        mean = np.arange(1.0, m * size + 1.0).reshape(m, size) / (m * size) if self.with_total else np.zeros((m, size))
        before = np.tril(np.ones((m, m)), -1)
        cross = before * told.sum() - (before.T @ mean.sum(axis=1) + mean @ told)
        later = size * (m - 1.0 - np.maximum.outer(np.arange(m), np.arange(m)))
        square = later + cross + cross.T + np.eye(m) * (told @ told) + np.square(mean).sum()
        return square, size * before.sum(axis=0) + told.sum() - mean.sum(), mean


def _mixed(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products ab' + ba' of vectors (n,), (n, n)."""
    return np.asarray(np.stack([a, b]).T @ np.stack([b, a]))


def _share(logarithm: float) -> float:
    """Of a column's length, what the outer matrix has."""
    return 1.0 / (1.0 + math.exp(-logarithm))
