"""One range, three ways: from a histogram, from noise on every cumulative count, and from a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.noise import Laplace
from treedp_core.studies.cdf.release import CdfPlan, CdfSettings, plan_tree
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import Workload, level_weights
from treedp_core.watch import generator

TREES: Final = {16: (4, 4), 64: (8, 8), 256: (16, 16)}
"""Bins -> children by level of the tree over them."""
RECORDS: Final = 2000


@dataclass(frozen=True, eq=False)
class Way:
    """One way to answer ranges: noisy counts, and which of them are added for all up to a bin.

    Parameters
    ----------
    name, label : str
    spans : (n, 2)
        First bin of each count and the bin after its last.
    row : (n,)
        Level of each.
    covers : tuple of tuple of int
        For j = 0, ..., K the counts that are added for the first j bins; a range adds those of its end that are not
        those of its start, and takes away the others.
    variance : (n,)
        Of the noise of each, in records squared.
    released : (n,)
        One release.
    typical : float
        Root of the mean variance over all ranges, in records.
    pieces_on_average : float
        Counts that a range adds or takes away, over all ranges.
    """

    name: str
    label: str
    spans: IntArray
    row: IntArray
    covers: tuple[tuple[int, ...], ...]
    variance: FloatArray
    released: FloatArray
    typical: float
    pieces_on_average: float

    def pieces(self, start: int, stop: int) -> list[int]:
        """Return the counts that enter into bins start, ..., stop - 1."""
        return sorted(set(self.covers[stop]) ^ set(self.covers[start]))

    def deviation(self, start: int, stop: int) -> float:
        """Return the standard deviation of bins start, ..., stop - 1, in records."""
        return float(np.sqrt(self.variance[self.pieces(start, stop)].sum()))


@dataclass(frozen=True, eq=False)
class Ranges:
    """Made-up counts (K,) of bins, and three ways to answer ranges of them, at one epsilon."""

    truth: IntArray
    ways: tuple[Way, ...]

    @property
    def n_ranges(self) -> int:
        """How many ranges there are."""
        return self.truth.size * (self.truth.size + 1) // 2


def three_ways(n_bins: int, epsilon: float, seed: int) -> Ranges:
    """Return the three ways over so many bins, at one epsilon each: Laplace noise, one record replaced, N public.

    Parameters
    ----------
    n_bins : int
        16, 64 or 256.
    epsilon : float
    seed : int

    Examples
    --------
    >>> found = three_ways(16, 1.0, 7)
    >>> [(one.name, len(one.pieces(2, 13)), round(one.deviation(2, 13), 1)) for one in found.ways]
    [('histogram', 11, 9.4), ('prefixes', 2, 30.0), ('tree', 6, 13.9)]
    """
    truth = made_up(n_bins)
    trees = (("histogram", "Histogram", (n_bins,)), ("tree", "Tree", TREES[n_bins]))
    histogram, tree = (
        _of_plan(name, label, plan_of(n_bins, factors, epsilon), truth, seed) for name, label, factors in trees
    )
    return Ranges(truth, (histogram, _every_prefix(truth, epsilon, seed), tree))


def plan_of(n_bins: int, branching_factors: tuple[int, ...], epsilon: float) -> CdfPlan:
    """Return the plan of a way with a tree: plain sums, equal budgets."""
    return plan_tree(CdfSettings(n_bins, branching_factors, "laplace", epsilon, least_squares=False))


def made_up(n_bins: int) -> IntArray:
    """Return made-up counts of bins (n_bins,), 2,000 in all: a hill and a smaller one."""
    x = (np.arange(n_bins) + 0.5) / n_bins
    height = np.exp(-0.5 * ((x - 0.36) / 0.13) ** 2) + 0.45 * np.exp(-0.5 * ((x - 0.78) / 0.07) ** 2) + 0.03
    up_to = np.round(RECORDS * np.cumsum(height) / height.sum()).astype(np.int64)
    return np.asarray(np.diff(up_to, prepend=0), dtype=np.int64)


def _of_plan(name: str, label: str, plan: CdfPlan, truth: IntArray, seed: int) -> Way:
    tree, below = plan.tree, np.array(plan.settings.shape.leaves_below)
    row = np.repeat(np.arange(tree.n_levels), tree.level_sizes)
    start = (np.arange(tree.n_nodes) - tree.level_start[row]) * below[row]
    noise = plan.noise.draw(generator("one range, three ways", seed, truth.size, tree.n_levels))
    weights = level_weights(plan.settings.shape, Workload.RANGES)
    return Way(
        name, label, np.stack([start, start + below[row]], axis=1), row,
        tuple(tuple(sorted(tree.prefix_cover(j).tolist())) for j in range(truth.size + 1)),
        plan.noise.variance, tree.counts_of_leaves(truth) + noise,
        float(np.sqrt(weights @ plan.noise.level_variance)), float(weights.sum()),
    )  # fmt: skip


def _every_prefix(truth: IntArray, epsilon: float, seed: int) -> Way:
    """Noise on every cumulative count but the last, which is N (Rameshwar et al., Lemma III.1)."""
    bins = truth.size
    law = Laplace((bins - 1) / epsilon)
    noise = np.append(law.sample(generator("one range, every prefix", seed, bins), bins - 1), 0.0)
    variance = np.append(np.full(bins - 1, law.variance), 0.0)
    ends = np.arange(1, bins + 1)
    noisy = 2.0 - 4.0 / (bins + 1)  # ends of a range that are neither 0 nor K, on average
    return Way(
        "prefixes", "Cumulative", np.stack([np.zeros_like(ends), ends], axis=1), np.zeros_like(ends),
        ((), *((j,) for j in range(bins))), variance, np.cumsum(truth) + noise,
        float(np.sqrt(noisy * law.variance)), 2.0 - 2.0 / (bins + 1),
    )  # fmt: skip


def of_lengths(n_bins: int, epsilon: float) -> dict[str, list[float] | list[int]]:
    """Return the root mean variance of the ranges of each length, in records, and their mean number of counts."""
    ways = three_ways(n_bins, epsilon, 0).ways
    lengths = sorted({1, n_bins, *range(n_bins // 16, n_bins, n_bins // 16)})
    columns: dict[str, list[float] | list[int]] = {"bins": lengths}
    for way in ways:
        found = [[way.pieces(start, start + n) for start in range(n_bins - n + 1)] for n in lengths]
        sums = [[float(way.variance[one].sum()) for one in of_length] for of_length in found]
        columns[f"{way.label}: st. dev. (records)"] = [float(np.sqrt(np.mean(one))) for one in sums]
        columns[f"{way.label}: counts"] = [float(np.mean([len(one) for one in of_length])) for of_length in found]
    return columns


def for_browser(found: Ranges) -> dict[str, object]:
    """Return what the browser needs to answer every range by itself, as JSON; each number from here."""
    return {
        "truth": found.truth.tolist(),
        "reach": 2.2 * max(max(way.deviation(j, k) for j, k in _corners(found)) for way in found.ways[::2]),
        "ways": [
            {
                "name": way.name,
                "label": way.label,
                "spans": way.spans.tolist(),
                "row": way.row.tolist(),
                "covers": [_runs(one) for one in way.covers],
                "variance": way.variance.tolist(),
                "released": way.released.round(3).tolist(),
            }
            for way in found.ways
        ],
    }


def _runs(nodes: tuple[int, ...]) -> list[list[int]]:
    """Nodes as runs, each its first node and the one after its last."""
    runs: list[list[int]] = []
    for node in nodes:
        if runs and runs[-1][1] == node:
            runs[-1][1] += 1
        else:
            runs.append([node, node + 1])
    return runs


def _corners(found: Ranges) -> list[tuple[int, int]]:
    """Ranges that are among the worst: all but the first and the last bins."""
    bins = found.truth.size
    return [(j, bins - k) for j in (0, 1, bins // 8 + 1) for k in (1, bins // 8 + 1)]
