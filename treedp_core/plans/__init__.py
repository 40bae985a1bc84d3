"""Release plans: what would be released and what it costs, checked from scratch, and handed over to other libraries."""

from treedp_core.plans.handover import LIBRARIES, not_covered, opendp_program, tumult_program
from treedp_core.plans.plan import ReleasePlan, open_plan
from treedp_core.plans.planned_noise import Split
from treedp_core.plans.record_file import records_of, recount
from treedp_core.plans.statement import Bounded, Categories, Domain, NoiseLaw, PlannedLevel

__all__ = [
    "LIBRARIES",
    "Bounded",
    "Categories",
    "Domain",
    "NoiseLaw",
    "PlannedLevel",
    "ReleasePlan",
    "Split",
    "not_covered",
    "open_plan",
    "opendp_program",
    "records_of",
    "recount",
    "tumult_program",
]
