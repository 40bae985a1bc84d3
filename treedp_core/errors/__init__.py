"""What a release is wrong by: per node, in closed form, by simulation, and beside the truth."""

from treedp_core.errors.metrics import (
    METRICS,
    ErrorSummary,
    Metric,
    Summary,
    Tolerance,
    exact_summary,
    level_mean,
    squared_relative,
)

__all__ = [
    "METRICS",
    "ErrorSummary",
    "Metric",
    "Summary",
    "Tolerance",
    "exact_summary",
    "level_mean",
    "squared_relative",
]
