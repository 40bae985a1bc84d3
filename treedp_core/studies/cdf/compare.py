"""What the page CDF and ranges computes: trees and settings, one draw, ranges, quantiles, curves. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.figures.cdf import PipelineCurve
from treedp_core.mechanisms import MECHANISMS
from treedp_core.noise import Laplace
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching import best_shapes
from treedp_core.studies.cdf import Band, CdfPlan, CdfRelease, CdfSettings, plan_cdf, simultaneous_band
from treedp_core.studies.cdf.error import Criterion, cdf_lower_bound, optimal_shares, total_squared_error
from treedp_core.studies.cdf.error.simple import histogram_error, range_queries_error
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.text import branching_factors_from_text, product_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree, range_count
from treedp_core.watch import generator

SOURCES: Final = {"ages": "Ages (sample)", "current": "Data set in use", "upload": "Upload a column"}
VIEWS: Final = {
    "release": "One release",
    "error": "Error against ε",
    "experiment": "Section VI experiment",
    "optimal": "How far from optimal",
}
TREES: Final = {"best": "Best found", "sixteen": "16-ary", "binary": "Binary", "histogram": "Histogram", "own": "Own"}
ALLOCATIONS: Final = {"equal": "Equal", "optimal": "Optimal", "custom": "Custom shares"}
FITS: Final = {"squared": "Squared", "absolute": "Absolute", "hamming": "Hamming"}
PROBABILITIES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
CONFIDENCE: Final = 0.95
BAND_CELLS: Final = 20_000_000
"""Noise values that may be drawn for a band's multiple; large trees get fewer simulated releases."""
MANY_BINS: Final = 1 << 16
BOUND_BINS: Final = 256
"""Bins up to which the lower bound is computed while one waits; beyond, in the background, up to `MAX_BOUND_BINS`."""
BOUND_ROUNDS: Final = 20
"""About as many rounds as the bound takes for many bins."""
_BAND = 7


@dataclass(frozen=True, eq=False)
class Bins:
    """True counts of the bins of a numeric column (private), and their public edges.

    Parameters
    ----------
    name, unit : str
        User text.
    counts : (K,)
    edges : (K + 1,)
    fingerprint : str
    numeric : bool
        Whether the edges are numbers of the column; else bins are numbered in the order of the leaves.
    has_other : bool
        Whether the last bin holds the records that have no place in the others, and is drawn beyond the upper bound.
    is_cut : bool
        Whether numbers beyond the bounds were cut to them, so that these counts are not those of the column.
    """

    name: str
    unit: str
    counts: IntArray
    edges: FloatArray
    fingerprint: str
    numeric: bool = True
    has_other: bool = False
    is_cut: bool = False

    @property
    def n_bins(self) -> int:
        """K."""
        return int(self.counts.size)

    @property
    def truth_name(self) -> str:
        """What its counts are called beside a release: never true where numbers were cut."""
        return "cut to the bounds" if self.is_cut else "true"

    @property
    def truth(self) -> IntArray:
        """True cumulative counts, (K,)."""
        return np.cumsum(self.counts)

    def bin_at(self, value: float) -> int:
        """Return the edge nearest to a value of the column."""
        return int(np.argmin(np.abs(self.edges - value)))


@dataclass(frozen=True, eq=False)
class Draw:
    """One release and what follows from it; what cannot be had without a public total is None, and `refused` says so.

    Parameters
    ----------
    plan : CdfPlan
    release : CdfRelease
    consistent : (K,) or None
    band : Band
    refused : InputError or None
    fit : str
        Which error the consistent counts minimise.
    seed : int
    """

    plan: CdfPlan
    release: CdfRelease
    consistent: IntArray | None
    band: Band
    refused: InputError | None
    fit: str
    seed: int


def shape_of(tree: str, n_bins: int, criterion: Criterion, own: str) -> Shape:
    """Return the chosen tree over K bins.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for branching factors that do not reach K, or K below 2.

    >>> shape_of("binary", 5, Criterion(), "").branching_factors
    (2, 2, 2)
    """
    if tree == "own":
        return Shape(branching_factors_from_text(own), n_bins)
    if tree == "histogram":
        return Shape((n_bins,), n_bins)
    if tree == "best":
        return best_shapes(n_bins, criterion, n_best=1)[0].shape
    return equal_tree(n_bins, {"sixteen": 16, "binary": 2}[tree])


def draw(plan: CdfPlan, counts: IntArray, fit: str, seed: int) -> Draw:
    """Return one release with its band and, where N is public, its consistent fit.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when the measured levels do not determine every bin; what `CdfPlan.release` refuses.
    """
    release = plan.release(counts, generator("release of a CDF", seed))
    trials = max(19, min(999, BAND_CELLS // plan.tree.n_nodes))
    band = simultaneous_band(plan, release, CONFIDENCE, trials, _BAND)
    try:
        return Draw(plan, release, release.consistent(fit), band, None, fit, seed)
    except InputError as error:
        return Draw(plan, release, None, band, error, fit, seed)


# ---- ranges and quantiles


def pipelines(settings: CdfSettings) -> list[tuple[str, CdfSettings]]:
    """Return the pipelines a range is compared over, at the same promise: yours first."""
    bins = settings.n_bins
    plain = replace(settings, allocation="equal", shares=(), least_squares=False)
    flat = replace(plain, branching_factors=(bins,))
    trees = [(name, replace(plain, branching_factors=equal_tree(bins, n).branching_factors))
             for name, n in (("Binary tree", 2), ("16-ary tree", 16))]  # fmt: skip
    every = [("Your release", settings), ("Histogram", flat), *trees]
    every += [(f"{name}, least squares", replace(one, least_squares=True)) for name, one in every[1:]]
    return every


def range_rows(
    settings: CdfSettings, mine: Draw, counts: IntArray, start: int, stop: int, seed: int, *, compare: bool
) -> list[tuple[str, float, float]]:
    """Return each mechanism's released count of a range and its standard deviation, in one release each."""
    deviation = float(np.sqrt(mine.plan.range_variance(start, stop)))
    rows = [("Your release", float(range_count(mine.release.cumulative, start, stop)), deviation)]
    if mine.consistent is not None:
        rows.append(("Your release, consistent", float(range_count(mine.consistent, start, stop)), np.nan))
    if not compare:
        return rows
    for i, (name, one) in enumerate(pipelines(settings)[1:], start=1):
        plan = plan_cdf(one)
        released = plan.release(counts, generator("compared CDF", seed, i))
        count = float(range_count(released.cumulative, start, stop))
        rows.append((name, count, float(np.sqrt(plan.range_variance(start, stop)))))
    if MECHANISMS[settings.mechanism].currency is Currency.EPSILON and settings.unit.total_is_public:
        rows.append(_by_range_queries(settings, counts, start, stop, seed))
    return rows


def _by_range_queries(
    settings: CdfSettings, counts: IntArray, start: int, stop: int, seed: int
) -> tuple[str, float, float]:
    """Laplace noise on every cumulative count but the last, which is N (Lemma III.1)."""
    noise = Laplace(settings.contributions * (settings.n_bins - 1) / settings.epsilon)
    drawn = noise.sample(generator("noise on every cumulative count", seed), 2) * np.array(
        [start > 0, stop < settings.n_bins]
    )
    count = float(counts[start:stop].sum() + drawn[1] - drawn[0])
    ends = (start > 0) + (stop < settings.n_bins)
    return "Noise on every cumulative count", count, float(np.sqrt(ends * noise.variance))


# ---- error against epsilon, and the bound


def error_curves(n_bins: int, epsilons: Sequence[float], contributions: int) -> list[PipelineCurve]:
    """Return N^2 E_2 of Laplace pipelines over K bins, one record replaced: Fig. 1 of Rameshwar et al. and beyond.

    Every error falls as 1 / epsilon^2, so each is computed once.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions)
    best = best_shapes(n_bins, Criterion(least_squares=True, unit=unit), n_best=1)[0]
    sixteen, binary = equal_tree(n_bins, 16), equal_tree(n_bins, 2)
    at_one = [
        ("Range queries", "range queries", range_queries_error(n_bins, 1.0, 1, unit)),
        ("Histogram", "histogram", histogram_error(n_bins, 1.0, 1, unit)),
        ("Binary tree", "binary", _tree_error(binary, unit)),
        ("16-ary tree", "tree", _tree_error(sixteen, unit)),
        ("16-ary tree, least squares", "tree, least squares", _after_least_squares(sixteen, unit)),
        (f"Best found, least squares: {product_text(best.shape.branching_factors)}", "best", n_bins * best.value),
    ]
    x = np.array(epsilons)
    return [PipelineCurve(label, kind, x, value / x**2) for label, kind, value in at_one]


def _tree_error(shape: Shape, unit: ProtectedUnit) -> float:
    return total_squared_error(shape, [1.0 / shape.height] * shape.height, 1, unit)


def _after_least_squares(shape: Shape, unit: ProtectedUnit) -> float:
    criterion = Criterion(least_squares=True, unit=unit)
    return shape.n_bins * criterion.mean_variance(shape, criterion.budget(shape, criterion.equal_shares(shape), 1.0))


def distances(n_bins: int, each_round: Callable[[], object] = lambda: None) -> tuple[list[str], list[float]]:
    """Return Gaussian pipelines and their mean variance as a multiple of the lower bound, worst first.

    `each_round` is called before every round of the search for the bound, and may raise to stop it.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more bins than `cdf_lower_bound` takes.
    """
    bound = cdf_lower_bound(n_bins, 0.01, each_round)
    plain, best = (Criterion("gaussian", Workload.CDF, squares) for squares in (False, True))
    flat, binary, sixteen = Shape((n_bins,), n_bins), equal_tree(n_bins, 2), equal_tree(n_bins, 16)
    found = [(best_shapes(n_bins, best, n_best=1)[0].shape, "Best found with equal budgets, least squares")]
    rows = [
        ("Histogram", _equal(flat, plain)),
        ("Histogram, least squares", _equal(flat, best)),
        ("16-ary tree", _equal(sixteen, plain)),
        ("16-ary tree, least squares", _equal(sixteen, best)),
        ("Binary tree", _equal(binary, plain)),
        ("Binary tree, least squares", _equal(binary, best)),
        *((f"{label}: {product_text(shape.branching_factors)}", _equal(shape, best)) for shape, label in found),
        ("Binary tree, least squares, optimal budgets", optimal_shares(binary, best).value),
        ("Optimal matrix mechanism (numerical, cubic work)", bound.attained),
    ]
    rows.sort(key=lambda row: -row[1])
    return [label for label, _ in rows], [value / bound.lower for _, value in rows]


def has_bound(plan: CdfPlan) -> bool:
    """Whether the lower bound speaks of a release: few bins, Gaussian noise, one record replaced."""
    settings = plan.settings
    gaussian = MECHANISMS[settings.mechanism].currency is Currency.RHO
    return settings.n_bins <= BOUND_BINS and gaussian and settings.contributions == 1 and settings.unit.total_is_public


def lower_bound(n_bins: int) -> float:
    """Return the least mean variance at rho = 1, in records squared."""
    return cdf_lower_bound(n_bins, 0.01).lower


def above_bound(plan: CdfPlan, lower: float) -> float:
    """Return the mean variance of a release over the least possible at its rho; 1 is optimal."""
    rho = sum(amount for amount in plan.budget.per_level if amount < math.inf)
    return float(plan.variance.mean()) * rho / lower


def _equal(shape: Shape, criterion: Criterion) -> float:
    return criterion.mean_variance(shape, criterion.budget(shape, criterion.equal_shares(shape), 1.0))
