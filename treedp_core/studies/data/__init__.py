"""The tree of a data set in numbers: what its levels look like."""

from treedp_core.studies.data.levels import level_table

__all__ = ["level_table"]
