"""Consistency: why noisy counts do not add up, and what making them do so buys and costs."""

from treedp_core.views.consistency.inputs import ConsistencyInputs
from treedp_core.views.consistency.view import (
    ENTRIES,
    balance,
    bias_by_size,
    changes,
    errors_by_level,
    expected_by_level,
    strips_after,
    strips_before,
    sums,
)  # fmt: skip

__all__ = [
    "ENTRIES", "ConsistencyInputs", "balance", "bias_by_size", "changes", "errors_by_level", "expected_by_level",
    "strips_after", "strips_before", "sums",
]  # fmt: skip
