"""What ε protects: what an attacker learns about one unit on the left, what the noise costs on the right."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.setting import Setting, choice, control
from pages.ui.inputs.settings import EPSILON
from pages.ui.page.page import Told
from pages.ui.page.view import see
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from treedp_core.views import VIEWS
from treedp_core.views.inputs import parameter
from treedp_core.views.protects import VIEWS as LABELS
from treedp_core.views.protects import ProtectsInputs
from treedp_core.words import percent, percent_set, privacy_text, whole

# Settings of the page What ε protects that a link can carry.

VIEW: Final = choice(
    "pro_view", "beliefs", LABELS, label="View",
    help="What an attacker believes after the release, or how often their best test fails.",
)  # fmt: skip
PRIOR: Final = control(
    parameter(ProtectsInputs, "prior"), format=percent_set, width=200,
    help="How sure the attacker is beforehand, who knows all other records.",
)  # fmt: skip
HELD: Final = control(
    parameter(ProtectsInputs, "records"), format=whole, width=200,
    help="How many records the person really has. The noise grows with “Records of one unit, at most” in the sidebar, "
    "not with this.",
)  # fmt: skip
MECHANISM: Final = control(parameter(ProtectsInputs, "mechanism"), label="Mechanism", look="select", width=180)

SETTINGS: Final[tuple[Setting[Any], ...]] = (VIEW, PRIOR, HELD, MECHANISM)


def show(view: str) -> Told:
    """Show a view of what ε protects."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=240):
            EPSILON.draw()
        PRIOR.draw()
        HELD.draw()
        MECHANISM.draw()
    seen = see(VIEWS[f"protects.{view}"], inputs_now(ProtectsInputs))
    frame.found(seen)
    seen.say_state("Computing")
    note_of_delta([MECHANISM.value], "pro_set_delta")
    return seen.told(more=partial(_more, seen.found_for))


def _more(inputs: ProtectsInputs) -> None:
    """Show what becomes of persons with several records."""
    st.header("A record is not a person", anchor=False)
    frame.found(
        see(VIEWS["protects.persons"], inputs),
        formats={"ε": privacy_text, "sure, at most": percent, "best guess right": percent},
        width="content",
    )
