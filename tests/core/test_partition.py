"""The private partition: its exact law on few bins, what it gains on smooth data, and what a release with it says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from audit.partition import Bins, deviations, intervals, neighbours
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.mechanisms.partition import Partition
from treedp_core.noise import DiscreteLaplace
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf import bins as counted
from treedp_core.studies.cdf.baselines import _law
from treedp_core.studies.cdf.compare import draw, half_widths
from treedp_core.studies.cdf.partition import (
    DividedPlan,
    dawa_table,
    even_below,
    off_and_alone,
    partition_ledger,
    plan_partition,
    when_it_pays,
)

ADD, REPLACE = NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE
UNKNOWN = NeighbouringRelation.REPLACE_UNKNOWN
BINS = CdfSettings(1024, (), "discrete_laplace", 0.1, relation=ADD.value, strategy="partition", workload="bins")


# ---- privacy: every partition of at most 17 bins, with its probability


def probability(law: DiscreteLaplace, most: float, above: int) -> float:
    """P(above + Z <= most)."""
    a, k = law.inverse_scale, math.floor(most) - above
    return math.exp(a * k) / (1 + math.exp(-a)) if k < 0 else 1 - math.exp(-a * (k + 1)) / (1 + math.exp(-a))


def law_of(stage: Partition, counts: Bins) -> dict[tuple[bool, ...], float]:
    """Probability of every partition of at most 17 bins: which fours are joined, and (True,) for the first sixteen."""
    c, law = stage.cost, stage.law(4)
    exact = [
        one for one, (low, high) in zip(deviations(counts), intervals(stage.n_bins), strict=True) if high - low == 4
    ]
    found: dict[tuple[float, tuple[bool, ...]], float] = {(0.0, ()): 1.0}
    for one in exact:
        own = {(4 * c, False): 1 - probability(law, 12 * c, one)}
        own[c, True] = probability(law, 0, one)
        for noisy in range(1, math.floor(12 * c) + 1):
            own[noisy / 4 + c, True] = probability(law, noisy, one) - probability(law, noisy - 1, one)
        sums: dict[tuple[float, tuple[bool, ...]], float] = {}
        for ((cost, joined), p), ((more, yes), q) in product(found.items(), own.items()):
            at = (round(cost + more, 9), (*joined, yes))
            sums[at] = sums.get(at, 0.0) + p * q
        found = sums
    every: dict[tuple[bool, ...], float] = {}
    for (cost, joined), p in found.items():
        whole = probability(stage.law(16), 16 * (cost - c), deviations(counts)[5]) if stage.n_bins == 17 else 0.0
        every[True,] = every.get((True,), 0.0) + p * whole
        every[joined] = every.get(joined, 0.0) + p * (1 - whole)
    return every


def loss(stage: Partition, base: Bins, others: Iterable[Bins]) -> float:
    """Largest log odds of any partition, over neighbours of counts of bins."""
    before = law_of(stage, base)
    return max(
        (abs(math.log(before[one] / p))
         for other in others
         for one, p in law_of(stage, other).items()
         if max(p, before[one]) > 1e-12),
        default=0.0,
    )  # fmt: skip


BASES = ((0,) * 5, (2, 0, 1, 4, 0), (1,) * 8, (6, 6, 0, 6, 6, 5, 3, 0))
EVEN, ADDED = (1,) * 17, (2,) + (1,) * 16


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("base", BASES)
def test_no_partition_tells_a_record_better_than_promised(relation: NeighbouringRelation, base: Bins) -> None:
    stage = Partition(len(base), ProtectedUnit(relation), 1.0, 2.0)
    assert math.isclose(sum(law_of(stage, base).values()), 1.0, rel_tol=1e-9)
    assert loss(stage, base, neighbours(base, 1, relation)) <= 1.0 + 1e-9


def test_the_noise_of_dawas_code_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lengths: with the noise of each as if it were asked for alone the enumeration finds more than was spent."""
    stage = Partition(17, ProtectedUnit(ADD), 1.0, 0.7)
    assert loss(stage, EVEN, [ADDED]) <= 1.0 + 1e-9
    monkeypatch.setattr(Partition, "law", lambda self, n: DiscreteLaplace(1.0 / (n * (2 - 1 / n - 1 / self.n_bins))))
    assert loss(stage, EVEN, [ADDED]) > 1.05


def test_the_exact_law_is_that_of_releases() -> None:
    stage, counts = Partition(8, ProtectedUnit(ADD), 1.0, 2.0), (3, 0, 2, 1, 5, 5, 9, 4)
    found = [stage.release(np.array(counts), np.random.default_rng(i)).tolist() for i in range(4000)]
    for joined, p in law_of(stage, counts).items():
        edges = [0, *([] if joined[0] else [1, 2, 3]), 4, *([] if joined[-1] else [5, 6, 7]), 8]
        if len(joined) == 2:
            assert abs(np.mean([one == edges for one in found]) - p) < 4 * math.sqrt(0.25 / 4000)


def test_dawas_first_stage_loses_more_than_it_says() -> None:
    """Three bins, one record, epsilon 1: by its formula, and by drawing the stage as its benchmark's code has it."""
    table = dawa_table(1.0)
    assert table["P(three single bins)"] == pytest.approx([0.00502, 0.0758], rel=2e-3)
    assert table["loss"][-1] == pytest.approx(2.71, abs=0.01)
    rng, seen = np.random.default_rng(3), []
    for counts in ((0, 0, 0), (0, 1, 0)):
        cost = {1: 1.0}
        for name, (low, high) in {"12": (0, 2), "23": (1, 3), "123": (0, 3)}.items():
            some, n = np.array(counts[low:high]), high - low
            exact = np.abs(some - some.mean()).sum()
            noisy = exact + rng.laplace(0, 2 - 1 / n - 1 / 3, 200_000)
            cost[name] = np.maximum(noisy, 0) + 1.0
        others = np.stack([cost["12"] + 1, cost["23"] + 1, cost["123"]])
        seen.append(float((others > 3).all(axis=0).mean()))
    assert seen == pytest.approx(table["P(three single bins)"], rel=0.1)
    assert math.log(seen[1] / seen[0]) > 2.5


# ---- what it gains


def shape(name: str) -> np.ndarray:
    t = (np.arange(1024) + 0.5) / 1024
    return {
        "bell": np.exp(-(((t - 0.5) / 0.15) ** 2) / 2),
        "named nowhere": 0.2 + t * (1 - t) ** 3 * (1 + np.sin(7 * t)),
        "spikes": np.where(np.arange(1024) % 37 == 5, 1.0, 1e-6),
    }[name]


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("name", ["bell", "named nowhere"])
@pytest.mark.parametrize("records", [2000, 20000])
def test_single_bins_of_smooth_data_err_half_as_much(name: str, records: int, relation: NeighbouringRelation) -> None:
    """N epsilon = 200 and 2 000: at most half the root mean squared error of a flat release."""
    p = shape(name)
    counts = np.random.default_rng(1).multinomial(records, p / p.sum())
    settings = replace(BINS, relation=relation.value)
    plan, errors = plan_cdf(settings), []
    for i in range(6):
        found = plan.release(counts, np.random.default_rng(i)).cumulative
        errors.append(np.square(np.diff(found, prepend=0.0) - counts).mean())
    flat = 2 * ((1 if relation is ADD else 2) / 0.1) ** 2
    assert math.sqrt(np.mean(errors) / flat) <= 0.5


def test_spikes_err_more_and_the_table_says_so() -> None:
    p = shape("spikes")
    counts = np.random.default_rng(1).multinomial(20000, p / p.sum())
    table = when_it_pays(replace(BINS, relation=REPLACE.value), counts, 4, 1)
    ratios = [float(one.split(" ")[0]) for one in table["a bin"]]
    assert ratios[0] < 1.0 < max(ratios)
    assert table["N × ε"] == pytest.approx([20, 200, 2000, 20000])


# ---- what a release says


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("counts", [[0] * 8, [0, 0, 900, 0, 0, 0, 0, 0]])
def test_no_errors_at_all_are_no_ratio(counts: list[int]) -> None:
    """At 10 epsilon noise on whole numbers is 0 in every draw."""
    found = when_it_pays(CdfSettings(8, (), epsilon=10.0, strategy="partition"), np.array(counts), 3, 1)
    assert found["ε"] == [0.1, 1.0, 10.0, 100.0] and found["a bin"][-1] == "–"


def test_too_little_for_two_stages_is_said_in_the_words_of_the_setting() -> None:
    with pytest.raises(InputError, match=r"half of epsilon: expected epsilon >= 2e-4, got 1e-4"):
        plan_partition(CdfSettings(8, (), epsilon=1e-4, strategy="partition"))
    found = when_it_pays(CdfSettings(8, (), epsilon=0.01, strategy="partition"), np.arange(8), 2, 1)
    assert found["ε"] == [0.001, 0.01, 0.1]
    with pytest.raises(InputError, match="workload"):
        plan_cdf(CdfSettings(8, (), strategy="partition", workload="nonsense"))


def test_no_plan_is_made_of_a_part_of_it() -> None:
    counts = np.arange(8)
    bins = counted.Bins("ages", "age", counts, np.arange(9.0), "ages")
    ready = plan_cdf(CdfSettings(8, (), strategy="partition"))
    for plan in (ready, ready.divided(counts, np.random.default_rng(1))):
        with refuses("PLAN_PARTITION", "behind a private partition"):
            ReleasePlan.of(plan, bins)


@pytest.mark.parametrize("n_bins", [5, 8, 13, 64])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("workload", ["bins", "cdf"])
def test_the_band_covers_and_the_budget_adds_up(n_bins: int, relation: NeighbouringRelation, workload: str) -> None:
    counts = np.random.default_rng(n_bins).poisson(3.0, n_bins)
    settings = CdfSettings(n_bins, (), epsilon=1.0, relation=relation.value, strategy="partition", workload=workload)
    plan = plan_cdf(settings)
    truth, covered = np.cumsum(counts), 0
    for seed in range(20):
        mine = draw(plan, counts, "squared", seed)
        assert isinstance(mine.plan, DividedPlan)
        assert (mine.band.low <= mine.band.high).all()
        covered += int(((mine.band.low <= truth) & (truth <= mine.band.high)).all())
    assert covered >= 16
    assert isinstance(mine.plan, DividedPlan)
    ends = np.flatnonzero(np.isfinite(mine.plan.variance))
    assert (ends == mine.plan.edges[1:] - 1).all()
    assert mine.plan.stage.epsilon + mine.plan.inner.guarantee.epsilon <= 1.0
    assert mine.plan.guarantee.epsilon == pytest.approx(1.0)
    assert "Of its ε, 0.5 found the partition." in mine.release.sentence()
    assert partition_ledger(mine.plan)["value"][2] == "0.5"
    assert np.isfinite(half_widths(mine, compare=False)[0].half).all()
    assert mine.margin(0, n_bins) >= 0.0


def test_errors_where_buckets_end_are_those_stated() -> None:
    counts = np.repeat([40, 3, 90, 7], 4)
    settings = CdfSettings(16, (), epsilon=2.0, relation=ADD.value, strategy="partition", workload="bins")
    plan = plan_partition(settings).divided(counts, np.random.default_rng(1))
    drawn = np.stack([plan.release(counts, np.random.default_rng(i)).cumulative for i in range(3000)])
    at_end = plan.edges[1:] - 1
    ratio = (drawn - np.cumsum(counts))[:, at_end].var(axis=0) / plan.variance[at_end]
    assert np.abs(ratio - 1).max() < 4 * math.sqrt(5 / 3000)
    squares = np.square(plan.errors(np.random.default_rng(1), 40_000)[:, at_end]) / plan.variance[at_end]
    for one, times in product(squares.T, (0.9, 1.0, 1.1)):
        assert (abs(one.mean() - times) < 4 * one.std() / 200) == (times == 1.0)
    assert plan.range_variance(0, int(plan.edges[1])) == pytest.approx(plan.variance[at_end[0]])
    off, alone = off_and_alone(plan, plan.release(counts, np.random.default_rng(0)), counts)
    assert 0 < off < 20 and alone == pytest.approx(math.sqrt(DiscreteLaplace(2.0).variance))
    if plan.edges[1] > 1:
        assert plan.range_variance(0, 1) == math.inf


@pytest.mark.parametrize(("n_bins", "m"), [(5, 1), (5, 2), (8, 1), (11, 1), (18, 1), (32, 1)])
@pytest.mark.parametrize(("relation", "known"), [(ADD, 1), (REPLACE, 1), (UNKNOWN, 1), (UNKNOWN, 2)])
def test_deviations_and_bins_move_by_what_is_charged_and_no_less(
    relation: NeighbouringRelation, known: int, n_bins: int, m: int
) -> None:
    """All neighbours of equal counts; where the bins are known, records appear and disappear only, m in all."""
    unit, counts = ProtectedUnit(relation, m, known), (m,) * n_bins
    sizes = [high - low for low, high in intervals(n_bins)]
    before, most, most_of_bins = deviations(counts), Fraction(0), 0
    for other in neighbours(counts, m, relation):
        by = sum(abs(a - b) for a, b in zip(other, counts, strict=True))
        if known == 2 and by > m:
            continue
        moved = zip(deviations(other), before, sizes, strict=True)
        most, most_of_bins = max(most, sum(Fraction(abs(a - b), n) for a, b, n in moved)), max(most_of_bins, by)
    assert most == Partition(n_bins, unit, 1.0, 1.0).sensitivity()
    assert most_of_bins == m * unit.moved(1) and round(1 / _law(1.0, unit).inverse_scale, 9) == most_of_bins


@pytest.mark.parametrize("unit", [ProtectedUnit(ADD), ProtectedUnit(REPLACE, 2), ProtectedUnit(UNKNOWN, 2)])
def test_the_rule_over_public_numbers_holds_for_the_worst_counts(unit: ProtectedUnit) -> None:
    """N spread evenly against noise on every bin, for N in one bin, N anywhere, and just beyond the rule."""
    for k, n in ((2, 10), (16, 300), (1000, 77)):
        epsilon = even_below(k, unit) / n
        alone = 2 * (unit.contributions * (1 if unit.relation is ADD else 2) / epsilon) ** 2
        one_bin = np.bincount([0] * n, minlength=k)
        somewhere = np.random.default_rng(1).multinomial(n, np.random.default_rng(2).dirichlet(np.full(k, 0.1)))
        errors = [np.square(counts - n / k).mean() for counts in (one_bin, somewhere)]
        assert errors[1] <= errors[0] == pytest.approx(alone)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mechanism": "discrete_gaussian"}, "STRATEGY_NOISE"),
        ({"n_bins": 4}, "TREE_SHAPE"),
        ({"epsilon": 0.0}, "EPS_RANGE"),
    ],
)
def test_what_it_is_not_for_is_refused(change: dict[str, object], code: str) -> None:
    with refuses(code):
        plan_cdf(replace(BINS, **change))  # type: ignore[arg-type]


def test_huge_counts_and_no_records_are_fine() -> None:
    huge = np.zeros(1024, dtype=np.int64)
    huge[5] = 2**52
    wide = Partition(1024, ProtectedUnit(ADD), 1.0, 1.0).deviations(huge)
    assert [int(one.max()) for one in wide] == [2 * (n - 1) * 2**52 for n in (4, 16, 64, 256)]
    assert plan_cdf(BINS).release(huge, np.random.default_rng(1)).cumulative[-1] == pytest.approx(2**52, rel=1e-6)
    assert plan_cdf(BINS).release(np.zeros(1024, dtype=int), np.random.default_rng(1)).cumulative.size == 1024
