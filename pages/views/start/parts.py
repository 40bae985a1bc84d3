"""The pieces of the first page: where to go, the error curves, and what the session holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from pages.ui import router, store
from pages.ui.frame import figure
from pages.ui.page import Told, explain, show_badge
from pages.ui.settings import get
from pages.ui.shared import experiment, slack, warn_of_delta
from pages.ui.sidebar import PRIVACY_NOTE
from pages.ui.snippets import call, given
from pages.ui.strip import of_data, strip
from pages.ui.text import lit
from treedp_core.experiment import Experiment, prepare
from treedp_core.figures.sweep import line_figure
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.sweep.first_page import EXAMPLE_COUNT, example_level, example_margin, law_question
from treedp_core.studies.sweep.lines import computed
from treedp_core.studies.sweep.tables import line_table
from treedp_core.words import plural, setting_text, short

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


def show() -> Told:
    """Show the first page."""
    data, settings = store.dataset(), experiment()
    explain(
        "Counts by region, state and county protect nobody by being sums. **Differential privacy** adds noise to "
        "every count; how much depends on the privacy budget ε, on how it is shared by the levels, and on what is "
        "done afterwards. Here you see that error for your own tree: by formula where theory has one, by "
        "simulation elsewhere."
    )
    if not get("present"):
        _cards()
    st.header("Error against ε", anchor=False)
    _sentence(data, settings)
    warn_of_delta(data.total)  # two of the curves are of laws that spend it
    _curves(data, settings)
    st.header("What is in this session", anchor=False)
    _session(data, settings)
    relation = NeighbouringRelation(settings.relation)
    about = strip(*of_data(data), relation=relation, epsilon=settings.epsilon, delta=slack(data.total))
    return Told(about, "formula")


def _cards() -> None:
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


def _sentence(data: Dataset, settings: Experiment) -> None:
    """Say in plain words what the noise does to one count."""
    level = data.labels.level_names[example_level(data.tree)]
    st.markdown(
        f"At ε = {setting_text(settings.epsilon)}, a count of {EXAMPLE_COUNT} records on the level {lit(level, 40)} "
        f"will be shown within **± {short(example_margin(data.tree, settings))}** nineteen times in twenty (formula: "
        "discrete Laplace noise, equal shares of the budget)."
    )


def _curves(data: Dataset, settings: Experiment) -> None:
    """Show the error curves of the noise laws on the tree in use."""
    delta = slack(data.total)
    question = law_question(replace(settings, delta=delta))
    found = store.remember(("laws", data.fingerprint, question), lambda: computed(question, data.tree, data.counts))
    source = store.used()
    again = given(found, computed, question, source.get("tree"), source.get("counts")).named("lines")
    figure(
        line_figure(question, found, data.labels.level_names, settings.epsilon),
        key="start_curves",
        alt="Root mean square error against epsilon for four noise laws: it falls as one over epsilon; at epsilon "
        f"{setting_text(settings.epsilon)} a count is within {short(example_margin(data.tree, settings))} records 19 "
        "times in 20.",
        caption="Lines are formulas (no simulation): root mean square error over all "
        f"{plural(data.tree.n_nodes, 'node')}, budget shared equally by the levels, no post-processing; δ = "
        f"{setting_text(delta)} for the Gaussian laws. Laplace on a tree: Rameshwar et al., Section IV; discrete "
        "Laplace: Dawson et al., Section 3.",
        ran=call(line_table, question.view, again, source.get("labels.level_names")),
    )


def _session(data: Dataset, settings: Experiment) -> None:
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
