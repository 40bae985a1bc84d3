"""Why a tree: a range is dragged in the browser, and three ways to count it stand side by side."""

from __future__ import annotations

import streamlit as st

from pages.ui.figure import controls
from pages.ui.figure.pictures import BADGES, show_range
from pages.ui.inputs.settings import EPSILON
from pages.ui.page.page import Told
from pages.ui.page.view import inputs_now, see
from pages.views.ranges import settings as s
from treedp_core.views import VIEWS
from treedp_core.views.ranges import RangesInputs


def show() -> Told:
    """Show the range and its three ways."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=250):
            EPSILON.draw()
        s.BINS.draw()
        s.LEAST_SQUARES.draw()
        controls.draw_again("ran_draw")
    seen = see(VIEWS["ranges"], inputs_now(RangesInputs))
    show_range(seen, key="ran_ranges", shown=(s.FROM.value, s.TO.value))
    return seen.told()._replace(badges=", ".join(BADGES))
