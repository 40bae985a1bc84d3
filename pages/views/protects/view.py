"""What ε protects: what an attacker learns about one unit on the left, what the noise costs on the right."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.settings import EPSILON
from pages.ui.page.page import Told
from pages.ui.page.view import inputs_now, see
from pages.ui.tables.experiment_inputs import note_of_delta
from pages.views.protects import settings as s
from treedp_core.views import VIEWS
from treedp_core.views.protects import ProtectsInputs
from treedp_core.words import percent, privacy_text


def show(view: str) -> Told:
    """Show a view of what ε protects."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=240):
            EPSILON.draw()
        s.PRIOR.draw()
        s.HELD.draw()
        s.MECHANISM.draw()
    seen = see(VIEWS[f"protects.{view}"], inputs_now(ProtectsInputs))
    frame.found(seen)
    seen.say_state("Computing")
    note_of_delta([s.MECHANISM.value], "pro_set_delta")
    return seen.told(more=partial(_more, seen.found_for))


def _more(inputs: ProtectsInputs) -> None:
    """Show what becomes of persons with several records."""
    st.header("A record is not a person", anchor=False)
    frame.found(
        see(VIEWS["protects.persons"], inputs),
        formats={"ε": privacy_text, "sure, at most": percent, "best guess right": percent},
        width="content",
    )
