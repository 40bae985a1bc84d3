"""The tree of a data set in numbers: what its levels look like."""

from treedp_core.studies.data.levels import hidden_leaves, level_table

__all__ = ["hidden_leaves", "level_table"]
