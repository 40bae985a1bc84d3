"""The page What ε protects: what a release tells about one unit, and how many records or how large values to count."""

from treedp_core.views.protects import attacker, unit_bound, value_clip
from treedp_core.views.protects.attacker import ProtectsInputs, beliefs, best_test, several_records
from treedp_core.views.protects.unit_bound import BoundInputs, bound_on_units, by_level, paid_for, records_of_units
from treedp_core.views.protects.value_clip import ClipInputs, clip_on_values, release_plan

__all__ = [
    "ENTRIES",
    "VIEWS",
    "BoundInputs",
    "ClipInputs",
    "ProtectsInputs",
    "beliefs",
    "best_test",
    "bound_on_units",
    "by_level",
    "clip_on_values",
    "paid_for",
    "records_of_units",
    "release_plan",
    "several_records",
]

ENTRIES = (*attacker.ENTRIES, *unit_bound.ENTRIES, *value_clip.ENTRIES)
VIEWS = {one.view: one.label for one in ENTRIES if one.view and not one.section}
