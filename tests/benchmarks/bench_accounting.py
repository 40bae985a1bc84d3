"""Row 15: epsilon of composed noise beside Google's accountant; the noise that it, tighter changes and reports cost."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

import live_accountant
from treedp_core.experiment import Experiment, prepare
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace
from treedp_core.plans import ReleasePlan
from treedp_core.plans.together import together
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.losses import of_changes
from treedp_core.privacy.spread import capacities_of_tree, level_sensitivities
from treedp_core.records.mock_data import generate
from treedp_core.studies.budget.attribution import reports
from treedp_core.tree import Tree

IDS = ("15",)
LAWS = {"discrete_gaussian": DiscreteGaussian, "discrete_laplace": DiscreteLaplace}
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    yield beside_google(20 if quick else live_accountant.N)
    yield less_noise()
    yield on_distinct_leaves()
    yield of_one_study()
    yield reported(200_000 if quick else 1_000_000)


def beside_google(n: int) -> Line:
    """The worst epsilon of random releases of one law and of two over Google's, with time and memory."""
    known = json.loads(live_accountant.FILE.read_text(encoding="utf-8"))[:n]
    tracemalloc.start()
    begun = time.perf_counter()
    worst = max(_epsilon(i) / high for i, (_, high) in enumerate(known))
    took, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    note = f"{took:.1f} s, {peak >> 10} KB in all"
    return "15", f"epsilon of {n} random releases, worst / Google", worst, 1.001, note


def _epsilon(i: int) -> float:
    levels, delta = live_accountant.release(i)
    return of_changes([(LAWS[law](parameter), change) for law, parameter, change in levels]).epsilon(delta)


def less_noise() -> Line:
    """Standard deviation by numerical accounting over that of the formula, four binary levels at the same promise."""
    tree, sigma = Tree.from_branching_factors((2, 2, 2)), []
    for accounting in ("numerical", "formula"):
        one = Experiment(
            "discrete_gaussian", epsilon=1.0, delta=1e-6, relation="add_or_remove_one", accounting=accounting
        )
        law = prepare(one, tree).noise.laws[1]
        assert law is not None
        sigma.append(math.sqrt(law.variance))
    about = f"st. dev. {sigma[0]:.4g} and {sigma[1]:.4g}"
    return "15", "noise of 4 levels, numerical accounting / formula", sigma[0] / sigma[1], 0.95, about


def on_distinct_leaves() -> Line:
    """The noise of nodes of 2, 1 and 1 leaves, two records on distinct leaves replaced, over twice the one part's."""
    tree = Tree.from_child_counts([np.array([3]), np.array([2, 1, 1])])
    levels, unit = capacities_of_tree(tree), ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    ours = float(level_sensitivities(unit, levels, Spread.DISTINCT)[1][1])
    theirs = math.sqrt(2 * levels[1].largest_squares(2))
    return "15", "noise of a ragged level, distinct leaves / part by part", ours / theirs, 0.87, ""


def of_one_study() -> Line:
    """Epsilon of three plans composed over the sum of theirs, with time and memory."""
    data, plans = generate("zipf", 100, "3,3", 7), []
    for mechanism, epsilon, delta in (("discrete_gaussian", 1.0, 1e-6), ("discrete_laplace", 0.5, 0.0)):
        one = Experiment(mechanism, epsilon=epsilon, delta=delta, relation="add_or_remove_one", accounting="numerical")
        plans.append(ReleasePlan.of(one, data, whom="person"))
    tracemalloc.start()
    begun = time.perf_counter()
    found = together([*plans, plans[0]], 2e-6)
    took, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    note = f"{found.epsilon:.4f} and {found.added:.4f}; {1000 * took:.2g} ms, {peak >> 10} KB"
    return "15", "epsilon of three releases of one study, composed / added up", found.epsilon / found.added, 0.85, note


def reported(n: int) -> Line:
    """Deviation of a reported level over the published one: Laplace noise of 2^16 / epsilon, over 2^16 of its share."""
    made = reports(ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, 2), 1.0, (0.2, 0.3, 0.5))
    published = [math.sqrt(2.0) / share for share in (0.2, 0.3, 0.5)]
    worst = max(math.sqrt(ours) / theirs for ours, theirs in zip(made.variance.tolist(), published, strict=True))
    counts, rng = np.zeros(n, dtype=np.int64), np.random.default_rng(1)
    tracemalloc.start()
    begun = time.perf_counter()
    made.drawn(2, counts, rng)
    took, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    note = f"{1e6 * took / n:.2g} µs and {peak // n} bytes a count"
    return "15", "noise of counts through Attribution Reporting, worst level / published", worst, 1.001, note
