"""The tree of a data set in numbers: what its levels look like."""

from treedp_core.studies.data.levels import Hidden, hidden_leaves, level_table

__all__ = ["Hidden", "hidden_leaves", "level_table"]
