"""Release plans: what would be released and what it costs, checked from scratch, and handed over to other libraries."""

from treedp_core.plans.made import Split
from treedp_core.plans.plan import ReleasePlan
from treedp_core.plans.stated import Bounded, Categories, Domain, NoiseLaw, PlannedLevel

__all__ = ["Bounded", "Categories", "Domain", "NoiseLaw", "PlannedLevel", "ReleasePlan", "Split"]
