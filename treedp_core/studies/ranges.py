"""One range, three ways: from a histogram, from noise on every cumulative count, and from a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.noise import Laplace
from treedp_core.studies.cdf.release import CdfPlan, CdfSettings, plan_tree
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.fewest import fewest_counts, fewest_nodes, mean_fewest
from treedp_core.watch import generator

# ---- ranges after least squares on a tree with equal noise on all levels below a known root, by formula.
#
# Bins are written as a mean, plus differences of the groups of each level from their parent's mean, down to single
# bins. These parts are orthogonal, and least squares estimates each by itself: part i is seen by the counts of levels j
# >= i, which hold m_j bins each, with weights m_j. So for a range q with the means E_i q over the groups of level i
#
#     variance = sum over i >= 1 of (|E_i q|^2 - |E_(i-1) q|^2) / (m_i + ... + m_h)     (times the variance of a count)
#     weight of a count v of level j = m_j sum over 1 <= i <= j of (E_i q(v) - E_(i-1) q(v)) / (m_i + ... + m_h).


def weights(branching_factors: Sequence[int], start: int, stop: int) -> FloatArray:
    """Return what each count enters with into bins start, ..., stop - 1 after least squares, (n_nodes,).

    >>> weights((2,), 0, 1).tolist()  # half of the known total, and half of what the two bins differ by
    [0.5, 0.5, -0.5]
    """
    held, seen = _bins_of_groups(branching_factors), _seen(branching_factors)
    found, before = [], np.zeros(1)
    part = np.zeros(1)
    for level, m in enumerate(held):
        groups = np.arange(held[0] // m) * m
        mean = np.clip(np.minimum(groups + m, stop) - np.maximum(groups, start), 0, None) / m
        if level == 0:
            found.append(mean)
        else:
            n = branching_factors[level - 1]
            part = np.repeat(part, n) + (mean - np.repeat(before, n)) / seen[level]
            found.append(m * part)
        before = mean
    return np.concatenate(found)


def variances(branching_factors: Sequence[int], start: IntArray, stop: IntArray) -> FloatArray:
    """Return the variances of ranges that begin at bins `start` and end before `stop`, (n,), for counts of variance 1.

    >>> variances((2,), np.array([0, 0]), np.array([1, 2])).tolist()
    [0.5, 0.0]
    """
    return _added(branching_factors, [_square_of_means(m, start, stop) for m in _bins_of_groups(branching_factors)])


def mean_variance(branching_factors: Sequence[int]) -> float:
    """Return the mean variance over all ranges, for counts of variance 1.

    A group with a bins before it and b after it holds t of its m bins of one range for each place that they have
    inside; t first ones of a + 1 ranges, t last ones of b + 1, and all of (a + 1) (b + 1).

    >>> mean_variance((2,))
    0.3333333333333333
    """
    held = _bins_of_groups(branching_factors)
    bins, sums = held[0], []
    for m in held:
        t = np.arange(1, m, dtype=np.float64)
        before = np.arange(0, bins, m, dtype=np.float64)
        after = bins - m - before
        inside = ((m - 1 - t).clip(0) @ t**2) * before.size
        ends = (t**2).sum() * (before + after + 2).sum()
        sums.append((inside + ends + m * m * ((before + 1) * (after + 1)).sum()) / m)
    return float(_added(branching_factors, sums)) / (bins * (bins + 1) / 2)


def _bins_of_groups(branching_factors: Sequence[int]) -> list[int]:
    """Bins of a node of each level, (n_levels,)."""
    return [math.prod(branching_factors[level:]) for level in range(len(branching_factors) + 1)]


def _seen(branching_factors: Sequence[int]) -> FloatArray:
    """How much the counts tell of each level's part, for counts of variance 1, (n_levels,)."""
    return np.cumsum(_bins_of_groups(branching_factors)[::-1])[::-1].astype(np.float64)


def _square_of_means(m: int, start: IntArray, stop: IntArray) -> FloatArray:
    """The squared norm of a range's means over groups of m bins: whole groups, and one at each end."""
    first, last = -(-start // m), stop // m
    is_within = first > last  # it lies inside one group
    ends = (first * m - start) ** 2 + (stop - last * m) ** 2
    whole = (last - first) * m + ends / m
    return np.asarray(np.where(is_within, (stop - start) ** 2 / m, whole))


def _added(branching_factors: Sequence[int], squares: Sequence[AnyArray | float]) -> FloatArray:
    seen = _seen(branching_factors)
    parts = zip(squares[1:], squares[:-1], seen[1:], strict=True)
    return np.asarray(sum((more - less) / told for more, less, told in parts))


TREES: Final = {16: (4, 4), 64: (8, 8), 256: (16, 16), 1024: (32, 32), 4096: (16, 16, 16)}
"""Bins -> children by level of the tree over them: of those with two levels or more the one that errs least."""
RECORDS: Final = 20_000


@dataclass(frozen=True, eq=False)
class Way:
    """One way to answer ranges: noisy counts, and what each is multiplied by for a range.

    Parameters
    ----------
    name, label : str
    branching_factors : tuple of int
        Of the tree whose nodes are counted, in level order; none for the counts of all up to a bin.
    least_squares : bool
        Whether all counts are weighed, instead of adding or taking away the fewest.
    variance : (n,)
        Of the noise of each count, in records squared; 0 for the total, which is public.
    released : (n,)
        One release.
    typical : float
        Root of the mean variance over all ranges, in records.
    counts_on_average : float
        Noisy counts that a range adds or takes away, over all ranges; all where they are weighed.
    """

    name: str
    label: str
    branching_factors: tuple[int, ...]
    least_squares: bool
    variance: FloatArray
    released: FloatArray
    typical: float
    counts_on_average: float

    def weights(self, start: int, stop: int) -> FloatArray:
        """Return what each count is multiplied by for bins start, ..., stop - 1, (n,)."""
        if self.least_squares and self.branching_factors:
            return weights(self.branching_factors, start, stop)
        signed = fewest_nodes(self.branching_factors, start, stop) if self.branching_factors else _ends(start, stop)
        found = np.zeros(self.variance.size)
        for node, sign in signed:
            found[node] = sign
        return found

    def n_counts(self, start: int, stop: int) -> int:
        """Return how many noisy counts enter into bins start, ..., stop - 1."""
        return int(np.count_nonzero(self.weights(start, stop)[self.variance > 0]))

    def deviation(self, start: int, stop: int) -> float:
        """Return the standard deviation of bins start, ..., stop - 1, in records."""
        return float(np.sqrt(self.weights(start, stop) ** 2 @ self.variance))

    def of_each(self, start: IntArray, stop: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return variances in records squared, and numbers of noisy counts, of many ranges, (m,) each."""
        each, factors = float(self.variance.max()), self.branching_factors
        if not factors:
            counts = (start > 0).astype(float) + (stop < self.variance.size)
        elif self.least_squares:
            return each * variances(factors, start, stop), np.full(start.size, self.counts_on_average)
        else:
            counts = fewest_counts(factors, start, stop).astype(float)
        return each * counts, counts


@dataclass(frozen=True, eq=False)
class Ranges:
    """Made-up counts (K,) of bins, and three ways to answer ranges of them, at one epsilon."""

    truth: IntArray
    ways: tuple[Way, ...]

    @property
    def n_ranges(self) -> int:
        """How many ranges there are."""
        return self.truth.size * (self.truth.size + 1) // 2

    @property
    def least_squares(self) -> bool:
        """Whether histogram and tree weigh all their counts."""
        return self.ways[0].least_squares


def three_ways(n_bins: int, epsilon: float, seed: int, *, least_squares: bool = False) -> Ranges:
    """Return the three ways over so many bins, at one epsilon each: Laplace noise, one record replaced, N public.

    Parameters
    ----------
    n_bins : int
        16, 64, 256, 1 024 or 4 096.
    epsilon : float
    seed : int
    least_squares : bool
        Whether histogram and tree weigh all their counts; noise on every cumulative count leaves nothing to weigh.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for other numbers of bins.

    Examples
    --------
    >>> found = three_ways(16, 1.0, 7)
    >>> [(one.name, one.n_counts(2, 13), round(one.deviation(2, 13), 1)) for one in found.ways]
    [('histogram', 5, 6.3), ('prefixes', 2, 30.0), ('tree', 4, 11.3)]
    """
    if n_bins not in TREES:
        raise InputError("TREE_SHAPE", f"Expected one of {', '.join(map(str, TREES))} bins.")
    truth = made_up(n_bins)
    histogram, tree = (
        _of_tree(name, label, factors, truth, epsilon, seed, least_squares=least_squares)
        for name, label, factors in (("histogram", "Histogram", (n_bins,)), ("tree", "Tree", TREES[n_bins]))
    )
    return Ranges(truth, (histogram, _every_prefix(truth, epsilon, seed), tree))


def plan_of(n_bins: int, branching_factors: tuple[int, ...], epsilon: float) -> CdfPlan:
    """Return the plan of a way with a tree: equal budgets."""
    return plan_tree(CdfSettings(n_bins, branching_factors, "laplace", epsilon, least_squares=False))


def made_up(n_bins: int) -> IntArray:
    """Return made-up counts of bins (n_bins,), 20,000 in all: a hill and a smaller one."""
    x = (np.arange(n_bins) + 0.5) / n_bins
    height = np.exp(-0.5 * ((x - 0.36) / 0.13) ** 2) + 0.45 * np.exp(-0.5 * ((x - 0.78) / 0.07) ** 2) + 0.03
    up_to = np.round(RECORDS * np.cumsum(height) / height.sum()).astype(np.int64)
    return np.asarray(np.diff(up_to, prepend=0), dtype=np.int64)


def _of_tree(
    name: str, label: str, factors: tuple[int, ...], truth: IntArray, epsilon: float, seed: int, *, least_squares: bool
) -> Way:
    plan = plan_of(truth.size, factors, epsilon)
    noise = plan.noise.draw(generator("one range, three ways", seed, truth.size, plan.tree.n_levels))
    variance = plan.noise.variance
    counts = plan.tree.n_nodes - 1.0 if least_squares else mean_fewest(factors)
    mean = mean_variance(factors) if least_squares else counts
    return Way(
        name, label, factors, least_squares, variance, plan.tree.counts_of_leaves(truth) + noise,
        float(np.sqrt(mean * variance[-1])), counts,
    )  # fmt: skip


def _ends(start: int, stop: int) -> list[tuple[int, int]]:
    """The counts of all up to a range's last bin, and of all before its first."""
    return [(stop - 1, 1), *([(start - 1, -1)] if start else [])]


def _every_prefix(truth: IntArray, epsilon: float, seed: int) -> Way:
    """Noise on every cumulative count but the last, which is N (Rameshwar et al., Lemma III.1)."""
    bins = truth.size
    law = Laplace((bins - 1) / epsilon)
    noise = np.append(law.sample(generator("one range, every prefix", seed, bins), bins - 1), 0.0)
    variance = np.append(np.full(bins - 1, law.variance), 0.0)
    noisy = 2.0 - 4.0 / (bins + 1)  # ends of a range that are neither 0 nor K, on average
    return Way(
        "prefixes", "Cumulative", (), False, variance, np.cumsum(truth) + noise, float(np.sqrt(noisy * law.variance)),
        noisy,
    )  # fmt: skip


def of_lengths(n_bins: int, epsilon: float, *, least_squares: bool = False) -> dict[str, list[float] | list[int]]:
    """Return the root mean variance of the ranges of each length, in records, and their mean number of counts."""
    lengths = sorted({1, n_bins, *range(n_bins // 16, n_bins, n_bins // 16)})
    columns: dict[str, list[float] | list[int]] = {"bins": lengths}
    for way in three_ways(n_bins, epsilon, 0, least_squares=least_squares).ways:
        starts = [np.arange(n_bins - n + 1) for n in lengths]
        found = [way.of_each(start, start + n) for start, n in zip(starts, lengths, strict=True)]
        columns[f"{way.label}: st. dev. (records)"] = [float(np.sqrt(variance.mean())) for variance, _ in found]
        columns[f"{way.label}: counts"] = [float(counts.mean()) for _, counts in found]
    return columns


def for_browser(found: Ranges, shown: tuple[int, int] = (0, 0)) -> dict[str, object]:
    """Return what the browser needs to answer every range by itself, as JSON; each number from here.

    `shown` is the range that is shown first, its first bin and the one after its last; (0, 0) is the middle.
    """
    bins = found.truth.size
    corners = np.array([(j, k) for j in (1, bins // 8 + 1) for k in (bins // 2 + j, bins - bins // 8 - 1)])
    worst = max(way.of_each(*corners.T)[0].max() for way in found.ways[::2])
    start, stop = shown if 0 <= shown[0] < shown[1] <= bins else (round(0.12 * bins), round(0.55 * bins))
    return {
        "truth": found.truth.tolist(),
        "range": [start, stop],
        "reach": float(2.2 * np.sqrt(worst)),
        "ways": [
            {
                "name": way.name,
                "label": way.label,
                "factors": way.branching_factors,
                "weighed": way.least_squares,
                "variance": float(way.variance.max()),
                "released": way.released.round(3).tolist(),
            }
            for way in found.ways
        ],
    }
