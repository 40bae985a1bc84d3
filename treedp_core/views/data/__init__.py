"""Data and tree: the tree that exact counts stand on, and how the noise of a leaf compares with them."""

from treedp_core.views.data.view import ENTRIES, DataInputs, strips, tree

__all__ = ["ENTRIES", "DataInputs", "strips", "tree"]
