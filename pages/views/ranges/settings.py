"""Settings of the page Why a tree that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, control, whole
from treedp_core.studies.ranges import TREES
from treedp_core.views.inputs import parameter
from treedp_core.views.ranges import RangesInputs

BINS: Final = control(
    parameter(RangesInputs, "bins"), label="Bins",
    help="The more bins a range has, the more noisy counts a histogram adds or takes away.",
)  # fmt: skip
LEAST_SQUARES: Final = control(
    parameter(RangesInputs, "least_squares"), label="Least squares",
    help="Weigh all noisy counts of the histogram and of the tree, as best agrees with the public total: free, and "
    "never worse than a few of them.",
)  # fmt: skip
FROM: Final = whole("ran_from", 0, 0, max(TREES))
TO: Final = whole("ran_to", 0, 0, max(TREES))
"""The range that a link opens with: its first bin, counted from 0, and the one after its last; 0 for none."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (BINS, LEAST_SQUARES, FROM, TO)
