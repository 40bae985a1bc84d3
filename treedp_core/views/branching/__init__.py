"""Branching factor: how many children a node should have; of no table once K, δ and the unit are said."""

from treedp_core.views.branching.view import ENTRIES, BranchingInputs, statements

__all__ = ["ENTRIES", "BranchingInputs", "statements"]
