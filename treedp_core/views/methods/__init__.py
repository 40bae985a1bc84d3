"""Methods: what each assumes and where it comes from, closed forms beside simulations, and claims of papers."""

from treedp_core.views.methods.view import (
    ENTRIES,
    ClaimInputs,
    GlossaryInputs,
    MethodInputs,
    all_numbers,
    beside_others,
    claims,
    every_entry,
    glossary,
    growth,
    self_checked,
)

__all__ = [
    "ENTRIES", "ClaimInputs", "GlossaryInputs", "MethodInputs", "all_numbers", "beside_others", "claims", "every_entry",
    "glossary", "growth", "self_checked",
]  # fmt: skip
