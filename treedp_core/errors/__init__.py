"""What a release is wrong by: per node, in closed form, by simulation, and beside the truth."""

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

__all__ = [
    "METRICS",
    "ErrorSummary",
    "Metric",
    "Summary",
    "Tolerance",
    "absolute",
    "exact_summary",
    "expected_absolute",
    "level_mean",
    "squared_relative",
    "summarise",
    "tree_loss",
]
