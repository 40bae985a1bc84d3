"""Branching factor: how many children a node should have; of no table once K, δ and the unit are said."""

from treedp_core.views.branching.inputs import BranchingInputs, bins_of
from treedp_core.views.branching.view import (
    ENTRIES,
    beside_matrices,
    best_tree,
    heights,
    live,
    optima,
    optimum,
    ranking,
    statements,
)

__all__ = [
    "ENTRIES", "BranchingInputs", "beside_matrices", "best_tree", "bins_of", "heights", "live", "optima", "optimum",
    "ranking", "statements",
]  # fmt: skip
