"""A CDF release behind a private partition: which bins are alike, then noisy counts of buckets, spread evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.errors.compare import mean_and_error
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.partition import Partition
from treedp_core.privacy import Budget, Currency, Guarantee, ProtectedUnit, Provenance
from treedp_core.privacy.budget import refuse_small_part
from treedp_core.registry import lookup
from treedp_core.studies.cdf.baselines import BASELINES
from treedp_core.studies.cdf.release import (
    TREE,
    CdfPlan,
    CdfRelease,
    CdfSettings,
    checked_bins,
    plan_tree,
    refuse_other_noise,
)
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import equal_tree
from treedp_core.watch import generator
from treedp_core.words import float_above, float_below, plus_minus, privacy_text, setting_text, short, whole

SHARE: Final = Fraction(1, 2)
"""Part of epsilon that is spent on the partition; on smooth data 0.4 and 0.6 are as good within 5 %."""
LEAST: Final = 2 * checks.EPSILON_LOW
"""Epsilon that has a half for each stage."""
FACTOR: Final = 16
"""Children of each node above buckets, where more than single bins is wanted."""
TIMES: Final = (0.01, 0.1, 1.0, 10.0)
"""Multiples of an epsilon at which releases with and without a partition are compared."""
MOST_SIMULATED: Final = 1 << 12


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """A CDF release behind a private partition: all that is known before the partition is."""

    settings: CdfSettings
    stage: Partition
    left: float

    def divided(self, bin_counts: AnyArray, rng: np.random.Generator) -> DividedPlan:
        """Return the rest of the release, once true counts of bins (K,) have been asked which of them are alike.

        Raises
        ------
        InputError
            ``CDF_SHAPE`` when there is not one whole count of at least 0 for each bin.
        """
        counts = checked_bins(bin_counts, self.settings.n_bins)
        edges = self.stage.release(counts[: self.settings.n_within], rng)
        if self.settings.has_other:  # never alike with a bin
            edges = np.append(edges, self.settings.n_bins)
        return DividedPlan(self.settings, self.stage, edges, plan_tree(self.rest(edges.size - 1)))

    def release(
        self, bin_counts: AnyArray, rng: np.random.Generator, provenance: Provenance = Provenance.SIMULATION
    ) -> CdfRelease:
        """Return the noisy cumulative counts of true counts of bins (K,), whole and at least 0."""
        return self.divided(bin_counts, rng).release(bin_counts, rng, provenance)

    def rest(self, n_buckets: int) -> CdfSettings:
        """Return the settings of the release of so many buckets, with what the partition leaves of epsilon."""
        return replace(_without(self.settings, n_buckets), epsilon=self.left)


@dataclass(frozen=True, eq=False)
class DividedPlan:
    """The release of buckets that a private partition found.

    Parameters
    ----------
    settings : CdfSettings
    stage : Partition
    edges : (n_buckets + 1,)
        Where buckets begin, and K: released. A last cell for other records is a bucket of its own behind them.
    inner : CdfPlan
        Of the buckets.
    """

    settings: CdfSettings
    stage: Partition
    edges: IntArray
    inner: CdfPlan

    @property
    def n_buckets(self) -> int:
        """Of the bins; other records are not among them."""
        return self.inner.settings.n_within

    @property
    def budget(self) -> Budget:
        """What the levels above the buckets spend."""
        return self.inner.budget

    @cached_property
    def guarantee(self) -> Guarantee:
        """Of both stages together."""
        both = Fraction(self.stage.epsilon) + Fraction(self.inner.guarantee.epsilon)
        return replace(self.inner.guarantee, epsilon=float_above(both))

    def release(
        self, bin_counts: AnyArray, rng: np.random.Generator, provenance: Provenance = Provenance.SIMULATION
    ) -> CdfRelease:
        """Return the noisy cumulative counts of true counts of bins (K,): within a bucket they grow evenly."""
        counts = checked_bins(bin_counts, self.settings.n_bins)
        of_buckets = self.inner.release(np.add.reduceat(counts, self.edges[:-1]), rng, provenance)
        return replace(
            of_buckets, cumulative=self._spread(of_buckets.cumulative), variance=self.variance,
            guarantee=self.guarantee, spent=f"Of its ε, {setting_text(self.stage.epsilon)} found the partition.",
        )  # fmt: skip

    def errors(self, rng: np.random.Generator, trials: int) -> FloatArray:
        """Return what the noise does to the cumulative counts in independent trials, (trials, K)."""
        return self._spread(self.inner.errors(rng, trials))

    @property
    def n_values(self) -> int:
        """Noise values of one release of the buckets."""
        return self.inner.n_values

    @cached_property
    def variance(self) -> FloatArray:
        """Exact error variance where a bucket ends; inf within buckets, where there is a bias that nobody knows, (K,).

        True cumulative counts do not fall, so within a bucket they lie between those at its ends.
        """
        found = np.full(self.settings.n_within, np.inf)
        found[self.edges[1 : self.n_buckets + 1] - 1] = self.inner.variance
        return found

    @cached_property
    def covariance(self) -> FloatArray:
        """Exact covariance with the last cumulative count where a bucket ends, straight between, (K,)."""
        return self._spread(self.inner.covariance)

    def range_variance(self, start: int, stop: int) -> float:
        """Return the exact error variance of the records in bins start, ..., stop - 1; inf where a bucket is cut."""
        first, behind = np.searchsorted(self.edges, (start, stop)).tolist()
        if self.edges[first] != start or self.edges[behind] != stop:
            return math.inf
        return self.inner.range_variance(first, behind)

    def _spread(self, at_ends: AnyArray) -> FloatArray:
        """Cumulative counts (..., K) from those where buckets end, (..., n_buckets)."""
        widths = np.diff(self.edges[: self.n_buckets + 1])
        of = np.repeat(np.arange(widths.size), widths)
        part = (np.arange(of.size) + 1 - self.edges[of]) / widths[of]
        before = np.concatenate([np.zeros((*at_ends.shape[:-1], 1)), at_ends[..., :-1]], axis=-1)
        return np.asarray(before[..., of] + (at_ends - before)[..., of] * part)


def plan_partition(settings: CdfSettings) -> PartitionPlan:
    """Return a CDF release behind a private partition made ready.

    Half of epsilon finds the partition; the rest is for the buckets' counts: one level of them where bins are wanted,
    else a 16-ary tree above them.

    Raises
    ------
    InputError
        ``STRATEGY_NOISE`` for noise that spends a delta; ``TREE_SHAPE`` for fewer than five bins; ``EPS_RANGE``,
        ``NOISE_RANGE``.

    >>> plan = plan_partition(CdfSettings(8, (), strategy="partition", workload="bins"))
    >>> plan.stage.epsilon, plan.left, round(plan.stage.cost, 3)
    (0.5, 0.5, 5.657)
    """
    mechanism = lookup(MECHANISMS, settings.mechanism, "mechanism")
    refuse_other_noise(settings)
    assert mechanism.currency is Currency.EPSILON
    total, unit = Fraction(checks.epsilon(settings.epsilon)), settings.unit
    first = float_below(total * SHARE)
    refuse_small_part("A private partition", first, settings.epsilon)
    left = float_below(total - Fraction(first))
    stage = Partition(settings.n_within, unit, first, math.sqrt(2.0) * unit.moved(1) * unit.contributions / left)
    return PartitionPlan(settings, stage, left)


def _without(settings: CdfSettings, n_bins: int) -> CdfSettings:
    """The same release of so many bins without a partition."""
    bins = settings.workload == "bins"
    factors = (n_bins,) if bins else equal_tree(n_bins, FACTOR).branching_factors
    allocation = "leaves_only" if bins else "uniform"
    return replace(settings, n_bins=n_bins, branching_factors=factors, strategy=TREE, allocation=allocation)


def partition_ledger(plan: DividedPlan) -> dict[str, list[str]]:
    """Return what a release behind a private partition spends, and on what, in words."""
    stage, promise = plan.stage, plan.guarantee
    lengths, moved = ", ".join(map(whole, stage.lengths)), stage.sensitivity()
    rows = [
        ("lengths of intervals that are asked for", lengths),
        ("sensitivity of all deviations together", short(float(moved), 6)),
        ("ε of the partition", privacy_text(stage.epsilon)),
        ("buckets found", whole(plan.n_buckets)),
        ("tree above them", product_text(plan.inner.settings.branching_factors)),
        ("ε of their counts", privacy_text(plan.inner.guarantee.epsilon)),
        ("ε", privacy_text(promise.epsilon)),
    ]
    return {"of the release": [name for name, _ in rows], "value": [value for _, value in rows]}


def off_and_alone(plan: DividedPlan, release: CdfRelease, counts: IntArray) -> tuple[float, float]:
    """Return the root mean squared error of single bins of true counts (K,), in records, in this release, and alone.

    Alone is what noise of all of epsilon on every bin makes, by formula.
    """
    off = np.diff(release.cumulative, prepend=0.0) - counts[: release.cumulative.size]
    settings = replace(plan.settings, workload="bins")
    alone = plan_tree(_without(settings, settings.n_bins)).noise.level_variance[-1]
    return float(np.sqrt(np.square(off).mean())), math.sqrt(alone)


def even_below(n_bins: int, unit: ProtectedUnit) -> float:
    """Return up to which records times epsilon N spread evenly errs less than bins alone, whatever the counts are.

    All N records in one of K bins are the worst: the mean squared error of N/K in each is N^2 (K - 1) / K^2 then, that
    of Laplace noise on every bin 2 (s / epsilon)^2, where a unit moves the bins by s.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> round(even_below(1024, ProtectedUnit(NeighbouringRelation.REPLACE_ONE)))
    91
    """
    moved = unit.moved(1) * unit.contributions
    return moved * n_bins * math.sqrt(2.0 / (n_bins - 1))


def when_it_pays(settings: CdfSettings, counts: IntArray, trials: int, seed: int) -> dict[str, list[Any]]:
    """Return the RMSE with a partition over that without, at several epsilons, by simulation on given counts.

    Beside it that of named baselines which depend on the records, as AHP.

    Parameters
    ----------
    settings : CdfSettings
        Of a partition; the release without has all of epsilon and the same kind of tree.
    counts : (K,)
        A public prior: what is chosen by looking at private counts is no longer private.
    trials : int
        At least 2.
    seed : int
    """
    found: dict[str, list[Any]] = {
        "ε": [], "N × ε": [], "buckets": [], "a bin": [], "a cumulative count": [],
    }  # fmt: skip
    named = [one for one in BASELINES.values() if one.release and settings.n_bins <= one.most_bins]
    found |= {f"a bin by {one.label}": [] for one in named}
    epsilons = [round(settings.epsilon * times, 12) for times in TIMES]
    for i, epsilon in enumerate(one for one in epsilons if LEAST <= one <= checks.EPSILON_HIGH):
        with_it = plan_partition(replace(settings, epsilon=epsilon))
        plain = plan_tree(replace(_without(settings, settings.n_bins), epsilon=epsilon))
        n_buckets, squares = [], np.empty((trials, 2, 2))
        apart = np.empty((len(named), trials, 2))
        for trial in range(trials):
            rng = generator("whether a partition pays", seed, i, trial)
            divided = with_it.divided(counts, rng)
            n_buckets.append(divided.n_buckets)
            squares[trial] = [_squares(one.release(counts, rng), counts) for one in (divided, plain)]
            for theirs, one in zip(apart, named, strict=True):
                assert one.release is not None
                off = (one.release(counts, settings.unit, epsilon, rng) - counts)[: settings.n_within]
                theirs[trial] = float(np.square(off).mean()), squares[trial, 1, 0]
        by_name = [_ratio(theirs.T) for theirs in apart]
        row = (epsilon, float(counts.sum() * epsilon), float(np.mean(n_buckets)), *map(_ratio, squares.T), *by_name)
        for column, value in zip(found.values(), row, strict=True):
            column.append(value)
    return found


def _squares(release: CdfRelease, counts: IntArray) -> tuple[float, float]:
    """Mean squared errors of bins and of cumulative counts."""
    off = release.consistent() - np.cumsum(counts[: release.cumulative.size])
    return float(np.square(np.diff(off, prepend=0.0)).mean()), float(np.square(off).mean())


def _ratio(squares: FloatArray) -> str:
    """The root of a ratio of means with its 95 % interval, from (2, trials) with and without."""
    (a, of_a), (b, of_b) = map(mean_and_error, squares)
    if not a or not b:
        return "–" if a == b else short(0.0 if b else math.inf)
    ratio = math.sqrt(a / b)
    return f"{short(ratio)}{plus_minus(ratio / 2 * math.hypot(of_a / a, of_b / b))}"


# ---- why the first stage of DAWA is not offered: as its benchmark's code has it, it loses more privacy than it spends


NEIGHBOURS: Final = ((0, 0, 0), (0, 1, 0))
"""Counts of three bins before and after one record is added."""


def dawa_table(epsilon: float) -> dict[str, list[Any]]:
    """Return how often DAWA's first stage keeps three bins apart, on two neighbours, and the loss that follows.

    The stage as the code of the benchmark dpcomp has it: every interval of n > 1 of K bins gets Laplace noise of scale
    (2 - 1/n - 1/K) / epsilon on its deviation, as if no other were asked for, and single bins get none. With a bucket's
    cost 1 / epsilon the three single bins are the cheapest partition exactly if 1-2 and 2-3 deviate by more than
    1 / epsilon and 1-3 by more than 2 / epsilon, which are independent.

    >>> [round(one, 2) for one in dawa_table(1.0)["loss"]]
    [0.0, 2.71]
    """
    chances = [_apart(counts, epsilon) for counts in NEIGHBOURS]
    return {
        "counts of three bins": [", ".join(map(str, counts)) for counts in NEIGHBOURS],
        "P(three single bins)": chances,
        "loss": [math.log(chance / chances[0]) for chance in chances],
        "spent by its own account": [epsilon] * len(chances),
    }


def _apart(counts: tuple[int, ...], epsilon: float) -> float:
    """Probability that three single bins are the cheapest partition."""
    chance, n_bins = 1.0, len(counts)
    for low, high in ((0, 2), (1, 3), (0, 3)):
        some, n = counts[low:high], high - low
        deviation = sum(abs(one - sum(some) / n) for one in some)
        over = (n - 1) / epsilon - deviation
        scale = (2.0 - 1.0 / n - 1.0 / n_bins) / epsilon
        tail = math.exp(-abs(over) / scale) / 2.0
        chance *= tail if over >= 0 else 1.0 - tail
    return chance
