"""Settings of the page Why a tree that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice
from treedp_core.studies.ranges import TREES

BINS: Final = choice(
    "ran_bins", "256", {str(n): str(n) for n in TREES}, label="Bins",
    help="The more bins a range has, the more noisy counts a histogram adds.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (BINS,)
