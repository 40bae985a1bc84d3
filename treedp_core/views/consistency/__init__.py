"""Consistency: why noisy counts do not add up, and what making them do so buys and costs."""

from treedp_core.views.consistency.inputs import ConsistencyInputs
from treedp_core.views.consistency.sections import bias_by_size, changes, split_by_level, sums
from treedp_core.views.consistency.view import (
    ENTRIES,
    balance,
    errors_by_level,
    expected_by_level,
    strips_after,
    strips_before,
)

__all__ = [
    "ENTRIES",
    "ConsistencyInputs",
    "balance",
    "bias_by_size",
    "changes",
    "errors_by_level",
    "expected_by_level",
    "split_by_level",
    "strips_after",
    "strips_before",
    "sums",
]
