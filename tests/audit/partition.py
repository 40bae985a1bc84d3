"""Private partition and AHP: every neighbour of small data, losses of the noise that was really drawn, and replays."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from unittest.mock import patch

import numpy as np

from treedp_core.mechanisms.partition import Partition
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf import baselines as baseline

from .report import Report

Bins = tuple[int, ...]


def intervals(n_bins: int) -> list[tuple[int, int]]:
    """First bin and the one behind the last of every interval that is asked for: of 4, 16, ... bins."""
    lengths = [4**i for i in range(1, 10) if 4**i < n_bins]
    return [(low, min(low + n, n_bins)) for n in lengths for low in range(0, n_bins, n)]


def deviations(counts: Bins) -> list[int]:
    """n times the sum of |count - mean| over the n bins of each interval, from the definition."""
    found = []
    for low, high in intervals(len(counts)):
        some = counts[low:high]
        mean = Fraction(sum(some), len(some))
        found.append(int(len(some) * sum(abs(one - mean) for one in some)))
    return found


def neighbours(counts: Bins, m: int, relation: NeighbouringRelation) -> set[Bins]:
    """Every data set in which the at most m records of one unit are others, or appear, or are gone."""
    bins = range(len(counts))
    units = [one for n in range(m + 1) for one in combinations_with_replacement(bins, n)]
    found = set()
    for old in units:
        for new in units:
            after = [one - old.count(j) + new.count(j) for j, one in enumerate(counts)]
            allowed = {"add_or_remove_one": not old or not new, "replace_one": len(old) == len(new)}
            if allowed.get(relation.value, True) and all(one >= old.count(j) for j, one in enumerate(counts)):
                found.add(tuple(after))
    return found - {counts}


def released(stage: Partition, counts: Bins, shift: list[int]) -> tuple[list[int], list[Fraction]]:
    """Return where buckets begin, with noise that is shifted, and one over the scale of the noise of each interval."""
    scales: list[Fraction] = []
    honest: Callable[..., np.ndarray] = DiscreteLaplace.sample

    def noted(law: DiscreteLaplace, rng: np.random.Generator, size: int) -> np.ndarray:
        first = len(scales)
        scales.extend([Fraction(law.inverse_scale)] * size)
        return honest(law, rng, size) + np.array(shift[first : first + size])

    with patch.object(DiscreteLaplace, "sample", noted):
        edges = stage.release(np.array(counts), np.random.default_rng(7))
    return edges.tolist(), scales


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare n stages on a few data sets with their claim: equal counts, which lose all of it, and random ones."""
    for i in range(n):
        relation = list(NeighbouringRelation)[i % 3]
        m, n_bins = (2, 5) if i % 4 == 3 else (1, 18 if i % 6 == 0 else int(rng.integers(5, 10)))
        stage = Partition(
            n_bins, ProtectedUnit(relation, m), float(np.exp(rng.uniform(-3, 1))), float(rng.uniform(1, 9))
        )
        what = f"partition of {n_bins} bins, {m} records, {relation.value}"
        worst = Fraction(0)
        compared = 0
        for counts in ((m,) * n_bins, tuple(rng.integers(0, 6, n_bins).tolist())):
            before = deviations(counts)
            edges, scales = released(stage, counts, [0] * len(before))
            report.holds(len(scales) == len(before), f"{what}: noise on {len(scales)} of {len(before)} intervals")
            others = neighbours(counts, m, relation)
            compared += len(others)
            for other in others:
                moved = [b - a for b, a in zip(before, deviations(other), strict=True)]
                worst = max(worst, sum((abs(by) * a for by, a in zip(moved, scales, strict=True)), Fraction(0)))
                same = released(stage, other, moved)[0] == edges
                report.holds(same, f"{what}: more than noisy deviations decides on the buckets of {other}")
        report.pairs += compared
        report.spent(what, worst, stage.epsilon, compared)
        if i % 4 == 0:
            audit_ahp(report, rng, relation, int(rng.integers(1, 3)))


def told_by_ahp(
    counts: Bins, unit: ProtectedUnit, epsilon: float, like: list[list[int]] | None = None
) -> tuple[list[float], list[list[int]], list[Fraction], list[int]]:
    """Return what AHP tells, its noisy counts of bins and of groups, one over either scale, and the group of each bin.

    With noise that makes the noisy counts those of another run, if they are given.
    """
    noisy: list[list[int]] = []
    scales: list[Fraction] = []
    honest: Callable[..., np.ndarray] = DiscreteLaplace.sample
    found: list[np.ndarray] = []
    cut: Callable[..., np.ndarray] = baseline.groups

    def noted(law: DiscreteLaplace, rng: np.random.Generator, size: int) -> np.ndarray:
        exact = np.array(counts) if not noisy else np.bincount(found[0], counts).astype(np.int64)
        noise = honest(law, rng, size) if like is None else np.array(like[len(noisy)]) - exact
        noisy.append((exact + noise).tolist())
        scales.append(Fraction(law.inverse_scale))
        return noise

    def cut_once(*given: object) -> np.ndarray:
        found.append(cut(*given))
        return found[0]

    with patch.object(DiscreteLaplace, "sample", noted), patch.object(baseline, "groups", cut_once):
        told = baseline.ahp(np.array(counts), unit, epsilon, np.random.default_rng(7))
    return told.tolist(), noisy, scales, found[0].tolist()


def audit_ahp(report: Report, rng: np.random.Generator, relation: NeighbouringRelation, m: int) -> None:
    """Compare one release with what its two stages lose on every neighbour."""
    unit, epsilon = ProtectedUnit(relation, m), float(np.exp(rng.uniform(0, 3)))
    counts = tuple(rng.integers(0, 9, int(rng.integers(4, 8))).tolist())
    what = f"AHP on {len(counts)} bins, {m} records, {relation.value}"
    told, noisy, scales, of = told_by_ahp(counts, unit, epsilon)
    report.holds(len(scales) == 2, f"{what}: noise on {len(scales)} stages")
    others, worst = neighbours(counts, m, relation), Fraction(0)
    for other in others:
        again = told_by_ahp(other, unit, epsilon, noisy)[0]
        report.holds(again == told, f"{what}: more than noisy counts decides what is told of {other}")
        moved = np.array(other) - np.array(counts)
        of_groups = np.bincount(of, moved).astype(np.int64)
        lost = int(np.abs(moved).sum()) * scales[0] + int(np.abs(of_groups).sum()) * scales[1]
        worst = max(worst, lost)
    report.pairs += len(others)
    report.spent(what, worst, epsilon, len(others))
