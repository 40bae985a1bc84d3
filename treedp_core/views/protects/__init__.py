"""What ε protects: what a release tells about one unit, and what the noise costs."""

from treedp_core.views.protects.view import ENTRIES, ProtectsInputs, beliefs, best_test, several_records

__all__ = ["ENTRIES", "ProtectsInputs", "beliefs", "best_test", "several_records"]
