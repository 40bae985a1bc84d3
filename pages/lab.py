"""Error lab: how large the error is, of which mechanism, at which ε."""

import streamlit as st

from pages.ui import controls as lab_controls
from pages.ui import shared as settings
from pages.ui import tuned
from pages.ui.page import Page, Told, View
from pages.ui.settings import get
from pages.ui.store import dataset
from pages.views.lab import panel as lab_panel
from pages.views.lab import settings as page_settings
from pages.views.lab import state as lab_state
from pages.views.lab import text as lab_text
from treedp_core.checks import InputError


def controls() -> None:
    """What is compared, on what terms, and the simulation's buttons."""
    with st.container(horizontal=True, gap="small"):
        lab_controls.mechanisms("lab_mechanisms", "Mechanisms", several=True)
        lab_controls.pipelines("lab_post", "Post-processing", several=True)
    settings.note_of_slack(get("lab_mechanisms"), "lab_set_delta")
    with st.container(horizontal=True, gap="small"):
        lab_controls.metric()
        lab_controls.view()
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
        with st.container(width=160):
            lab_controls.split("lab")
        lab_controls.trials()
        st.button(
            "Run",
            key="lab_run",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Ctrl+Enter",
            on_click=lab_state.start,
            disabled=lab_state.running() or not lab_state.series() or get("lab_view") == "draw",
            help="Simulate releases in the background and add them as markers. One draw needs no simulation.",
        )
        st.button(
            "Cancel",
            key="lab_cancel",
            on_click=lab_state.cancel,
            disabled=not lab_state.running(),
            help="Stop the simulation; earlier results stay.",
        )
        lab_controls.presets()
    tuned.note("lab")


def split() -> None:
    """Who gets what, for the first series shown."""
    with st.expander("Budget by level", key="lab_split_table", on_change="rerun") as table:
        if table.open and lab_state.series():
            try:
                experiment = lab_state.series()[0].of(lab_state.base())
            except InputError:  # refused above the figure
                return
            lab_controls.split_by_level(experiment, dataset(), tuned.label("lab"))


def show() -> Told:
    """Show the page."""
    controls()
    lab_state.progress()
    lines = lab_panel.lines()
    lab_panel.figure(lines)
    lab_panel.cards(lines)
    split()
    lab_panel.target(lines)
    return Told(
        lab_panel.about(lines), lab_text.badges(lines, lab_panel.settings(), get("lab_view"), tuned.label("lab"))
    )


PAGE = Page(
    name="lab",
    title="Error lab",
    icon="monitoring",
    section="Explore",
    about="Error curves: theory and simulation.",
    settings=page_settings.SETTINGS,
    heading="Error lab",
    lede=(
        "Compare mechanisms and post-processing: lines are theory, markers are simulations, both at the same promise."
    ),
    learnt=(
        "An unbiased release's error falls about as 1/ε, so the curves keep their distance: the choice of "
        "mechanism, split and post-processing matters at every ε. Least squares is free and never hurts an "
        "unbiased release. Gaussian noise needs a δ, and pays off when one record touches many levels. Setting "
        "negative counts to 0 looks harmless, but lifts small counts, so that sums of them come out too large."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
