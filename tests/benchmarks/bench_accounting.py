"""Row 15: epsilon of composed noise beside Google's accountant, and the noise that it and tighter changes save."""

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
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.losses import of_changes
from treedp_core.privacy.spread import capacities_of_tree, level_sensitivities
from treedp_core.tree import Tree

IDS = ("15",)
LAWS = {"discrete_gaussian": DiscreteGaussian, "discrete_laplace": DiscreteLaplace}
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    yield beside_google(20 if quick else live_accountant.N)
    yield less_noise()
    yield on_distinct_leaves()


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
