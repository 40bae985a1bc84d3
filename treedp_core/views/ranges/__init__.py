"""Why a tree: one range, counted in three ways; of no table."""

from treedp_core.views.ranges.view import ENTRIES, ExampleInputs, RangesInputs, error_by_length, example

__all__ = ["ENTRIES", "ExampleInputs", "RangesInputs", "error_by_length", "example"]
