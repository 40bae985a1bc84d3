"""Why a tree: a range is dragged in the browser, and three ways to count it stand side by side."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls
from pages.ui.figure.pictures import BADGES, show_range
from pages.ui.inputs.setting import Setting, control, whole
from pages.ui.inputs.settings import EPSILON
from pages.ui.page.page import Told
from pages.ui.page.view import see
from pages.ui.tables.experiment_inputs import inputs_now
from treedp_core.studies.ranges import TREES
from treedp_core.views import VIEWS
from treedp_core.views.inputs import parameter
from treedp_core.views.ranges import RangesInputs

# Settings of the page Why a tree that a link can carry.

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


def show() -> Told:
    """Show the range and its three ways."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=250):
            EPSILON.draw()
        BINS.draw()
        LEAST_SQUARES.draw()
        controls.draw_again("ran_draw")
    seen = see(VIEWS["ranges"], inputs_now(RangesInputs))
    show_range(seen, key="ran_ranges", shown=(FROM.value, TO.value))
    return seen.told()._replace(badges=", ".join(BADGES))
