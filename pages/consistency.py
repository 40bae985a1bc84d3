"""Consistency: make noisy counts add up, and see what that buys and costs."""

import streamlit as st

from pages.ui import controls as lab_controls
from pages.ui import shared as settings
from pages.ui import tuned
from pages.ui.page import Page, Told, View
from pages.ui.settings import get
from pages.ui.store import dataset
from pages.ui.strip import of_data, of_experiment
from pages.views.consistency import pictures as consistency_pictures
from pages.views.consistency import state as consistency_state
from pages.views.consistency import view as consistency_view


def controls() -> None:
    """What is released, and how it is made consistent."""
    with st.container(horizontal=True, gap="small"):
        lab_controls.mechanisms("con_mechanism", "Mechanism", several=False)
        lab_controls.pipelines("con_post", "Estimator", several=False)
    settings.note_of_slack([get("con_mechanism")], "con_set_delta")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        with st.container(width=160):
            lab_controls.split("con")
        st.button(
            "Draw again",
            key="con_draw",
            icon=":material/casino:",
            on_click=consistency_state.draw_again,
            help="The next seed: other noise on the same counts.",
        )


def show() -> Told:
    """Show the page."""
    controls()
    chosen = consistency_state.settings()
    tuned.note("con", consistency_state.ledger(chosen))
    draw = consistency_state.draw(chosen)
    consistency_view.cards(draw, chosen)
    consistency_pictures.pictures(draw)
    consistency_view.by_level(draw, chosen)
    consistency_view.ledger(draw)
    with st.expander("Budget by level", key="con_split_table", on_change="rerun") as table:
        if table.open:
            lab_controls.split_by_level(chosen, dataset(), tuned.label("con"))
    consistency_view.learned(draw, chosen)
    return Told(
        of_experiment(consistency_state.release(), *of_data(dataset()), seeded=True), "formula, simulation, NOT PRIVATE"
    )


PAGE = Page(
    name="consistency",
    title="Consistency",
    icon="balance",
    section="Tune",
    about="Make noisy counts add up, and see what it buys.",
    heading="Consistency",
    lede=(
        "Noisy counts contradict each other: children do not add up to their parent. Post-processing repairs this "
        "at no privacy cost, and least squares lowers the error as well."
    ),
    learnt=(
        "Least squares weighs each count against the sum of its children by their variances, so every count "
        "borrows accuracy from the others. Deep trees with few children a node gain most, near the top."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
