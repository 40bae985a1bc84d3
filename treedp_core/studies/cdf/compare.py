"""One release beside the truth, as columns: its cumulative counts, a range by every mechanism, its quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.noise import Laplace
from treedp_core.privacy import Currency
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.cdf.bands import Band, Reach, affordable_trials, band_multiple, ranges_reach, simultaneous_band
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.studies.cdf.matrices.workload import Ranges, Terms, terms_of, text_of
from treedp_core.studies.cdf.partition import DividedPlan, PartitionPlan
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.quantile import CONFIDENCE, Quantile, exact_quantiles, interval, quantiles, reach, told
from treedp_core.studies.cdf.release import NODES, TREE, CdfRelease, CdfSettings, plan_tree
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.workloads import equal_tree, range_count
from treedp_core.watch import generator
from treedp_core.words import percent_set

# How far the 95 % bands of trees reach to either side of every cumulative count, at the same promise.

YOURS: Final = "yours"
BINARY: Final = "binary tree"
HISTOGRAM: Final = "histogram"
EQUAL: Final = "tree with equal budgets"
"""Yours, but for the split of the budget."""


@dataclass(frozen=True, eq=False)
class Width:
    """Half width of a tree's band, which covers all cumulative counts at once; it depends on no records.

    Parameters
    ----------
    name : str
        "yours", "tree with equal budgets", "binary tree" or "histogram".
    way : str
        What its noise is put on, such as the tree's factors.
    half : (K,)
        In records.
    own : Reach, optional
        How far answers to ranges of one's own are off at most, where they were asked for and errors depend on no
        records.
    """

    name: str
    way: str
    half: FloatArray
    own: Reach | None = None

    @property
    def largest(self) -> float:
        """The half width at the cumulative count that is known worst, in records."""
        return float(self.half.max())

    @property
    def asked(self) -> float:
        """How far what was asked for is off at most, all at once, in records: own ranges, or all cumulative counts."""
        return self.largest if self.own is None else self.own.together


def half_widths(mine: Draw, *, compare: bool = True) -> list[Width]:
    """Return the half widths of a release's band and, to `compare`, of a binary tree and of a histogram.

    Behind a private partition it is known where buckets end, and drawn bin by bin between. The others have the
    release's mechanism, budget and estimate, and equal level budgets, with which a tree of other budgets is
    compared, too; one that is its own tree is left out.
    """
    settings = mine.plan.settings
    half = mine.band.multiple * np.sqrt(mine.plan.variance)
    known = np.flatnonzero(np.isfinite(half))
    half = np.interp(np.arange(half.size), known, half[known])
    where = ", where buckets end" if known.size < half.size else ""
    found = [Width(YOURS, f"{settings.way}{where}", half, _own(mine.plan))]
    bins = settings.n_bins
    is_split = settings.strategy == TREE and settings.allocation != "uniform"
    others = [(EQUAL, settings.branching_factors)] if is_split else []
    for name, factors in (*others, (BINARY, equal_tree(bins, 2).branching_factors), (HISTOGRAM, (bins,))):
        tree = replace(settings, branching_factors=factors, allocation="uniform", shares=(), strategy=TREE)
        if compare and (name == EQUAL or tree.way != settings.way):
            plan = plan_tree(tree)
            multiple = band_multiple(plan, CONFIDENCE, affordable_trials(plan), BAND_SEED)
            found.append(Width(name, tree.way, multiple * np.sqrt(plan.variance), _own(plan)))
    return found


def _own(plan: AnyPlan) -> Reach | None:
    if not plan.settings.ranges or isinstance(plan, DividedPlan):
        return None
    return ranges_reach(plan, CONFIDENCE, affordable_trials(plan), BAND_SEED)


def width_table(data: Bins, mine: Draw, widths: Sequence[Width]) -> dict[str, Any]:
    """Return a release beside the true cumulative counts, with the half widths of the bands, (K,) each.

    Where ranges of one's own were asked for: their answers, and how far each is off at most by itself.
    """
    asked = widths[0].own
    if asked is not None:
        off = {f"± records (95 %), {one.name}": one.own.each for one in widths if one.own is not None}
        return query_table(mine, asked.ranges) | off
    return release_table(data, mine) | {f"half width, {one.name}": one.half for one in widths}


MEDIAN: Final = 0.5
PROBABILITIES: Final = (0.05, 0.25, MEDIAN, 0.75, 0.95)
BAND_SEED: Final = 7


@dataclass(frozen=True, eq=False)
class Draw:
    """One release and what follows from it; consistent counts that cannot be had are None, and `refused` says why.

    Parameters
    ----------
    plan : CdfPlan, MatrixPlan or DividedPlan
    release : CdfRelease
    consistent : (K,) or None
    band : Band
    refused : InputError or None
    fit : str
        Which error the consistent counts minimise.
    seed : int
    quantiles : tuple of Quantile
        Those of `PROBABILITIES`; none where the released number of records in the bins is 0 or less.
    """

    plan: AnyPlan
    release: CdfRelease
    consistent: IntArray | None
    band: Band
    refused: InputError | None
    fit: str
    seed: int
    quantiles: tuple[Quantile, ...] = ()

    @property
    def median(self) -> Quantile | None:
        """The median of the records in the bins, where there are any."""
        return next((one for one in self.quantiles if one.probability == MEDIAN), None)

    def deviation(self, start: int, stop: int) -> float:
        """Return the exact standard deviation of the released count of a range of bins, in records.

        It is inf where a partition leaves a bias that is not known.
        """
        return float(np.sqrt(self.plan.range_variance(start, stop)))

    def margin(self, start: int, stop: int) -> float:
        """Return how far the released count of a range of bins is off at most, nineteen times in twenty, in records.

        From the band at both ends of the range where its standard deviation is not known.
        """
        deviation = self.deviation(start, stop)
        if math.isfinite(deviation):
            return float(reach(self.plan, np.array(deviation**2)))
        low, high, found = (np.insert(one, 0, 0) for one in (self.band.low, self.band.high, self.release.cumulative))
        count = found[stop] - found[start]
        return float(max(high[stop] - low[start] - count, count - low[stop] + high[start]))

    @property
    def others(self) -> tuple[float, float] | None:
        """Released count of the records that lie in no bin, and its margin; None where none are counted."""
        settings = self.plan.settings
        if self.release.other is None:
            return None
        return self.release.other, self.margin(settings.n_within, settings.n_bins)


def draw(plan: AnyPlan | PartitionPlan, counts: IntArray, fit: str, seed: int) -> Draw:
    """Return one release of counts (n_bins,) with its band, its consistent fit, and its quantiles.

    A private partition is drawn first: the rest of the release follows from it.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when the measured levels do not determine every bin; what `CdfPlan.release` refuses.
    """
    plan, release = released(
        plan, counts, generator("private partition of a CDF", seed), generator("release of a CDF", seed)
    )
    band = simultaneous_band(plan, release, CONFIDENCE, affordable_trials(plan), BAND_SEED)
    consistent, refused = None, None
    try:
        consistent = release.consistent(fit)
    except InputError as error:
        refused = error
    found = quantiles(plan, release, release.consistent() if consistent is None else consistent, PROBABILITIES)
    return Draw(plan, release, consistent, band, refused, fit, seed, found)


def released(
    plan: AnyPlan | PartitionPlan, counts: IntArray, division: np.random.Generator, noise: np.random.Generator
) -> tuple[AnyPlan, CdfRelease]:
    """Return a release of counts (n_bins,), and its plan once a partition was drawn, from the `division` stream."""
    ready = plan.divided(counts, division) if isinstance(plan, PartitionPlan) else plan
    return ready, ready.release(counts, noise)


@dataclass(frozen=True)
class Missed:
    """How far a release is from the truth, in records: on average, at most, and on average after consistency."""

    mean: float
    most: float
    consistent: float | None


def missed(mine: Draw, truth: IntArray) -> Missed:
    """Return how far a release is from the true cumulative counts (K,)."""
    off = np.abs(mine.release.cumulative - truth)
    fit = mine.consistent
    return Missed(float(off.mean()), float(off.max()), None if fit is None else float(np.abs(fit - truth).mean()))


def release_table(data: Bins, mine: Draw) -> dict[str, FloatArray | IntArray]:
    """Return the true cumulative counts beside one release, its band and its consistent fit, (K,) each."""
    columns: dict[str, FloatArray | IntArray] = {
        "up to": data.edges[1:],
        of_truth(data.truth_name): data.truth,
        "noisy": mine.release.cumulative,
        "low": mine.band.low,
        "high": mine.band.high,
    }
    return columns if mine.consistent is None else columns | {"consistent": mine.consistent}


def range_table(data: Bins, mine: Draw, start: int, stop: int, *, compare: bool) -> dict[str, list[Any]]:
    """Return the count of a range of bins by each mechanism, in one release each, in records, the least noisy first."""
    rows = _range_rows(data, mine, start, stop, compare)
    rows.sort(key=lambda row: mine.deviation(start, stop) if math.isnan(row[2]) else row[2])
    true = data.within(start, stop)
    return {
        "mechanism": [name for name, _, _ in rows],
        "released": [count for _, count, _ in rows],
        "st. dev.": [sigma for _, _, sigma in rows],
        of_truth("error"): [count - true for _, count, _ in rows],
    }


def query_table(mine: Draw, ranges: Ranges) -> dict[str, list[Any]]:
    """Return the released answer to each range or weighted sum of bins, and the exact standard deviation of its error.

    It is inf where a partition leaves a bias that is not known, and nan for sums whose ranges a tree answers together.
    """
    counted = np.concatenate([[0.0], mine.release.cumulative])
    answers, deviations = [], []
    for terms in map(terms_of, ranges):
        answers.append(math.fsum(w * float(counted[last] - counted[first - 1]) for first, last, w in terms))
        deviations.append(_deviation(mine, terms))
    return {
        "range of bins": [text_of(one) for one in ranges],
        "released": answers,
        "st. dev. (records)": deviations,
    }


def _deviation(mine: Draw, terms: Terms) -> float:
    if len(terms) == 1:
        ((first, last, weight),) = terms
        return abs(weight) * mine.deviation(first - 1, last)
    if not isinstance(mine.plan, MatrixPlan):
        return math.nan
    matrix = mine.plan.matrix
    rows = [w * (matrix.row(last - 1) - (matrix.row(first - 2) if first > 1 else 0.0)) for first, last, w in terms]
    return math.sqrt(mine.plan.law.variance * float(np.square(np.sum(rows, axis=0)).sum()))


def _range_rows(data: Bins, mine: Draw, start: int, stop: int, compare: bool) -> list[tuple[str, float, float]]:
    """Each mechanism's released count of a range and its standard deviation, in one release each."""
    settings = mine.plan.settings
    own = float(range_count(mine.release.cumulative, start, stop))
    rows = [("Your release", own, mine.deviation(start, stop))]
    if mine.consistent is not None:
        rows.append(("Your release, consistent", float(range_count(mine.consistent, start, stop)), np.nan))
    if not compare:
        return rows
    for i, (name, one) in enumerate(_others(settings), start=1):
        plan = plan_tree(one)
        released = plan.release(data.counts, generator("compared CDF", mine.seed, i))
        count = float(range_count(released.cumulative, start, stop))
        rows.append((name, count, float(np.sqrt(plan.range_variance(start, stop)))))
    if MECHANISMS[settings.mechanism].currency is Currency.EPSILON and settings.unit.total_is_public:
        rows.append(_by_range_queries(data, settings, start, stop, mine.seed))
    return rows


def _others(settings: CdfSettings) -> list[tuple[str, CdfSettings]]:
    """The pipelines a range is compared over, at the same promise."""
    bins = settings.n_bins
    plain = replace(settings, allocation="uniform", shares=(), least_squares=False, strategy=TREE, estimate=NODES)
    trees = {"Histogram": (bins,), "Binary tree": equal_tree(bins, 2).branching_factors,
             "16-ary tree": equal_tree(bins, 16).branching_factors}  # fmt: skip
    every = [(name, replace(plain, branching_factors=factors)) for name, factors in trees.items()]
    return every + [(f"{name}, least squares", replace(one, least_squares=True)) for name, one in every]


def _by_range_queries(data: Bins, settings: CdfSettings, start: int, stop: int, seed: int) -> tuple[str, float, float]:
    """Laplace noise on every cumulative count but the last, which is N (Lemma III.1)."""
    noise = Laplace(settings.contributions * (settings.n_bins - 1) / settings.epsilon)
    noisy = np.array([start > 0, stop < settings.n_bins])
    drawn = noise.sample(generator("noise on every cumulative count", seed), 2) * noisy
    count = float(data.within(start, stop) + drawn[1] - drawn[0])
    return "Noise on every cumulative count", count, float(np.sqrt(noisy.sum() * noise.variance))


def quantile_table(data: Bins, mine: Draw) -> dict[str, list[Any]]:
    """Return the quantiles of a release with intervals, and the true ones: of the records in the bins.

    In the column's unit, values rounded down, as none is finer than a bin; categories by name. There are no rows where
    the released number of records in the bins is 0 or less.
    """
    rows = mine.quantiles
    true = [told(data, one) for one in exact_quantiles(data.truth, PROBABILITIES)] or [math.nan] * len(rows)
    return {
        "quantile": [percent_set(one.probability) for one in rows],
        "released": [told(data, one) for one in rows],
        "from": [interval(data, one)[0] for one in rows],
        "to": [interval(data, one)[1] for one in rows],
        of_truth(data.truth_name): true[: len(rows)],
    }
