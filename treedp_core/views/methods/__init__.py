"""Methods: what each assumes and where it comes from, closed forms beside simulations, and claims of papers."""

from treedp_core.views.methods.view import (
    ENTRIES,
    ClaimInputs,
    MethodInputs,
    all_numbers,
    beside_others,
    claims,
    every_entry,
    growth,
    self_checked,
)

__all__ = [
    "ENTRIES", "ClaimInputs", "MethodInputs", "all_numbers", "beside_others", "claims", "every_entry", "growth",
    "self_checked",
]  # fmt: skip
