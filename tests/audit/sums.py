"""Sums of clipped values: every record, value and leaf before and after, listed on small trees, ragged ones too."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.privacy import sums

from . import losses
from .neighbours import ADD, REPLACE, UNKNOWN, IntArray, Small, Who, small_trees
from .report import Report

LAWS = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian")


def moved(small: Small, relation: str, known: int, clip: int) -> tuple[IntArray, IntArray]:
    """How far each level moves, absolutely and in squares, a row for each way that one record can change."""
    rows = []
    for before, after in changes(small, relation, known, clip):
        change = np.zeros(len(small.parent), dtype=np.int64)
        for sign, record in ((1, before), (-1, after)):
            if record is not None:
                for node in small.path(record[0]):
                    change[node] += sign * record[1]
        at = np.array(small.levels)
        rows.append([[np.abs(change[at == i]).sum(), (change[at == i] ** 2).sum()] for i in range(small.n_levels)])
    found = np.array(rows, dtype=np.int64)
    return found[:, :, 0], found[:, :, 1]


Record = tuple[int, int]


def changes(small: Small, relation: str, known: int, clip: int) -> Iterator[tuple[Record | None, Record | None]]:
    """Yield a record before and after, as its leaf and its value; None where there is none."""
    records = list(itertools.product(small.leaves, range(clip + 1)))
    if relation in (ADD, UNKNOWN):
        yield from ((None, one) for one in records)
    if relation in (REPLACE, UNKNOWN):
        for one, other in itertools.product(records, records):
            if relation == REPLACE or small.path(one[0])[:known] == small.path(other[0])[:known]:
                yield one, other


def audit(report: Report, rng: np.random.Generator, amount: int) -> None:
    """Compare what releases of sums lose, by the noise they really draw, with what they promise."""
    for small, relation in itertools.product(small_trees(rng, amount), (ADD, REPLACE, UNKNOWN)):
        known, clip = int(rng.integers(1, small.n_levels + 1)), int(rng.integers(1, 5))
        both = moved(small, relation, known, clip)
        report.pairs += len(both[0])
        unit = sums.unit_of_sums(Who(relation, 1, known).unit, clip)
        for law in LAWS:
            release = Experiment(
                law, epsilon=float(np.exp(rng.uniform(-2, 2))), delta=1e-6 if "gaussian" in law else 0.0,
                relation=unit.relation.value, contributions=unit.contributions, known_levels=unit.known_levels,
                allocation="custom", accounting="formula",
                shares=tuple(rng.dirichlet(np.ones(small.n_levels)) * (1 - 1e-9)),
            )  # fmt: skip
            pipeline = prepare(release, small.tree)
            charged = unit.exact_charge(pipeline.budget.per_level)
            what = f"sums clipped to {clip}, {law} on {small.parent}, {relation} with {known} known"
            exact = np.array(pipeline.noise.exact)
            report.holds(not both[0][:, exact].any(), f"{what}: a level is published exactly that can change")
            report.spent(what, losses.worst(pipeline.noise.laws, both), charged, len(both[0]))
