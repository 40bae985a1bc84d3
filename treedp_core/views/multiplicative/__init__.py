"""Multiplicative error: how it grows with the levels, and from which count on it promises something, and one run."""

from treedp_core.views.multiplicative import run, worst_case
from treedp_core.views.multiplicative.inputs import RunInputs, WorstCaseInputs
from treedp_core.views.multiplicative.run import against, rounds, rules, simulate, step_by_step
from treedp_core.views.multiplicative.worst_case import (
    accuracy,
    bounds,
    bounds_on_tree,
    crossings,
    growth,
    least_counts,
    lost,
    prefixes,
    printed,
    printed_rounds,
    ranked,
)

ENTRIES = (*run.ENTRIES, *worst_case.ENTRIES)

__all__ = [
    "ENTRIES",
    "RunInputs",
    "WorstCaseInputs",
    "accuracy",
    "against",
    "bounds",
    "bounds_on_tree",
    "crossings",
    "growth",
    "least_counts",
    "lost",
    "prefixes",
    "printed",
    "printed_rounds",
    "ranked",
    "rounds",
    "rules",
    "simulate",
    "step_by_step",
]
