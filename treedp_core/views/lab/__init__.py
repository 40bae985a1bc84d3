"""The Error lab: how large the error is, of which mechanism, at which ε."""

from treedp_core.views.lab.inputs import LabInputs
from treedp_core.views.lab.view import (
    ENTRIES,
    error_against_epsilon,
    error_against_levels,
    error_by_level,
    one_draw,
    smallest_epsilons,
    split_by_level,
    values,
    whole_tree,
)

__all__ = [
    "ENTRIES",
    "LabInputs",
    "error_against_epsilon",
    "error_against_levels",
    "error_by_level",
    "one_draw",
    "smallest_epsilons",
    "split_by_level",
    "values",
    "whole_tree",
]
