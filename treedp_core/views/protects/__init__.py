"""The page What ε protects: what a release tells about one unit, and how many records of it to count."""

from treedp_core.views.protects import attacker, unit_bound
from treedp_core.views.protects.attacker import ProtectsInputs, beliefs, best_test, several_records
from treedp_core.views.protects.unit_bound import BoundInputs, bound_on_units, by_level, paid_for, records_of_units

__all__ = [
    "ENTRIES",
    "VIEWS",
    "BoundInputs",
    "ProtectsInputs",
    "beliefs",
    "best_test",
    "bound_on_units",
    "by_level",
    "paid_for",
    "records_of_units",
    "several_records",
]

ENTRIES = (*attacker.ENTRIES, *unit_bound.ENTRIES)
VIEWS = {one.view: one.label for one in ENTRIES if one.view and not one.section}
