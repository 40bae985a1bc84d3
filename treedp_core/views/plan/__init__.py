"""The release plan: what would be promised, what each level costs, and a program that publishes it."""

from treedp_core.views.plan import words
from treedp_core.views.plan.view import ENTRIES, PlanInputs, levels, program_of, release_plan, spent

__all__ = ["ENTRIES", "PlanInputs", "levels", "program_of", "release_plan", "spent", "words"]
