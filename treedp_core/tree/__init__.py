"""Trees: structure only, and how it is written down."""

from treedp_core.tree.families import AnyArray, IntArray
from treedp_core.tree.tree import FloatArray, Tree, branching_factors_checked

__all__ = [
    "AnyArray",
    "FloatArray",
    "IntArray",
    "Tree",
    "branching_factors_checked",
]
