"""The pieces of the first page: where to go, the error curves, and what the session holds."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import router, store
from pages.ui.frame import figure
from pages.ui.page import show_badge
from pages.ui.shared import slack
from pages.ui.sidebar import PRIVACY_NOTE
from pages.ui.snippets import call, given
from pages.ui.strip import of_data, strip
from pages.ui.text import lit, plural, short
from pages.views.start.curves import (
    EXAMPLE_COUNT,
    computed,
    curve_table,
    example_level,
    example_margin,
    law_curves,
    shared_by_laws,
)
from treedp_core.experiment import Experiment, prepare
from treedp_core.figures.curves import error_curves
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.words import setting_text

CARDS: Final = (
    (
        "data",
        "account_tree",
        "Explore the data",
        "Choose a sample, generate records or upload a file; see the tree.",
    ),
    ("lab", "monitoring", "Explore the error", "Compare mechanisms: curves from theory, confirmed by simulation."),
    ("consistency", "balance", "Tune", "Make noisy counts add up, and see how much accuracy that gives back for free."),
)


def cards() -> None:
    """Show where one can go from here; first of all to a file named when the app was started."""
    waiting = store.file_on_this_computer()
    if waiting is not None and store.from_file("file") is None:
        with st.container(border=True):
            st.markdown(f"{lit(waiting.name)} is open; choose its columns to count its records.")
            router.link("data")
    for column, (name, icon, title, about) in zip(st.columns(3), CARDS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f":material/{icon}: **{title}**")
            st.markdown(about)
            router.link(name)


def about(data: Dataset, settings: Experiment) -> str:
    """Return the strip: the curves are formulas of the data set, and those of the Gaussian laws need a δ."""
    relation = NeighbouringRelation(settings.relation)
    return strip(*of_data(data), relation=relation, epsilon=settings.epsilon, delta=slack(data.total))


def sentence(data: Dataset, settings: Experiment) -> None:
    """Say in plain words what the noise does to one count."""
    level = data.labels.level_names[example_level(data)]
    st.markdown(
        f"At ε = {setting_text(settings.epsilon)}, a count of {EXAMPLE_COUNT} records on the level {lit(level, 40)} "
        f"will be shown within **± {short(example_margin(data, settings))}** nineteen times in twenty (formula: "
        "discrete Laplace noise, equal shares of the budget)."
    )


def curves(data: Dataset, settings: Experiment) -> None:
    """Show the error curves of the noise laws on the tree in use."""
    found = law_curves(data, settings)
    source = store.used()
    again = given(found, computed, source.get("tree"), source.get("counts"), shared_by_laws(settings))
    x_title = "privacy budget ε (more private ← → more accurate)"
    delta = setting_text(slack(data.total))
    figure(
        error_curves(found, x_title=x_title, y_title="RMSE (records)", marker_x=settings.epsilon, costs=("x",)),
        key="start_curves",
        alt="Root mean square error against epsilon for four noise laws: it falls as one over epsilon; at epsilon "
        f"{setting_text(settings.epsilon)} a count is within {example_margin(data, settings):.3g} records 19 times in "
        "20.",
        caption="Lines are formulas (no simulation): root mean square error over all "
        f"{plural(data.tree.n_nodes, 'node')}, budget shared equally by the levels, no post-processing; δ = {delta} "
        "for the Gaussian laws. Laplace on a tree: Rameshwar et al., Section IV; discrete Laplace: Dawson et al., "
        "Section 3.",
        ran=call(curve_table, again.named("curves")),
    )


def session(data: Dataset, settings: Experiment) -> None:
    """Show what this session holds."""
    with st.container(border=True):
        st.markdown(
            f"- Data set: {lit(data.name)} ({store.origin()})\n"
            f"- Levels: {' › '.join(lit(name, 40) for name in data.labels.level_names)}\n"
            f"- Counts: {plural(data.tree.n_nodes, 'node')}, {plural(data.tree.n_leaves, 'leaf', 'leaves')}\n"
            f"- Promise with these settings: {prepare(settings, data.tree).guarantee.sentence()}"
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Exact total: {plural(data.total, 'record')}", width="content")
            show_badge("NOT PRIVATE")
        st.caption(PRIVACY_NOTE)
