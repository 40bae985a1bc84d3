"""Multiplicative error: how it grows with the levels, and from which count on it promises something."""

from treedp_core.views.multiplicative.inputs import RunInputs, WorstCaseInputs
from treedp_core.views.multiplicative.worst_case import (
    ENTRIES,
    accuracy,
    bounds,
    bounds_on_tree,
    crossings,
    growth,
    least_counts,
    printed,
    printed_rounds,
    ranked,
)

__all__ = [
    "ENTRIES",
    "RunInputs",
    "WorstCaseInputs",
    "accuracy",
    "bounds",
    "bounds_on_tree",
    "crossings",
    "growth",
    "least_counts",
    "printed",
    "printed_rounds",
    "ranked",
]
