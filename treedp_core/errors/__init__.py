"""What a release is wrong by: per node, in closed form, by simulation, and beside the truth."""

from treedp_core.errors.compare import BiasBySize, Compared, bias_by_size, compare_leaves, compare_on_tree
from treedp_core.errors.metrics import (
    METRICS,
    ErrorSummary,
    Metric,
    Summary,
    Tolerance,
    absolute,
    exact_summary,
    expected_absolute,
    level_mean,
    squared_relative,
    summarise,
    tree_loss,
)
from treedp_core.errors.ways import Ways, mean_and_error

__all__ = [
    "METRICS",
    "BiasBySize",
    "Compared",
    "ErrorSummary",
    "Metric",
    "Summary",
    "Tolerance",
    "Ways",
    "absolute",
    "bias_by_size",
    "compare_leaves",
    "compare_on_tree",
    "exact_summary",
    "expected_absolute",
    "level_mean",
    "mean_and_error",
    "squared_relative",
    "summarise",
    "tree_loss",
]
