"""The pieces of the first page: a living tree, where to go with which question, the curves, what the session holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import streamlit as st

from pages.ui import controls, router, store
from pages.ui.frame import figure
from pages.ui.header import show_badge
from pages.ui.page import Told
from pages.ui.pictures import one_range, with_or_without
from pages.ui.settings import EPSILON
from pages.ui.shared import experiment, slack, warn_of_delta
from pages.ui.sidebar import PRIVACY_NOTE
from pages.ui.strip import strip
from pages.ui.text import lit, prose, small_print
from pages.ui.view import inputs_now
from pages.views.start import settings as s
from pages.views.start.words import answer
from treedp_core.experiment import Experiment, prepare
from treedp_core.figures.small_tree import small_tree
from treedp_core.figures.style import AFTER, BEFORE
from treedp_core.figures.sweep import line_figure
from treedp_core.notebook.code import call, given
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.sweep.first_page import (
    EXAMPLE_COUNT,
    TOWN,
    TOWN_LEVELS,
    TOWN_NAMES,
    TownDraw,
    example_level,
    example_margin,
    law_question,
    town_draw,
    town_table,
)
from treedp_core.studies.sweep.lines import computed
from treedp_core.studies.sweep.tables import line_table
from treedp_core.views.ranges import ExampleInputs
from treedp_core.words import margin, plural, setting_text

QUESTIONS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("New to this? A lesson", "lesson", {}),
    ("What does ε protect?", "protects", {}),
    ("Why a tree?", "ranges", {}),
    ("What will be counted?", "data", {}),
    ("How much noise?", "lab", {}),
    ("Which ε?", "budget", {"bud_view": "targets"}),
    ("How should I split it?", "budget", {"bud_view": "custom"}),
    ("How many children?", "branching", {}),
    ("Do sums agree?", "consistency", {}),
    ("Ranges and quantiles?", "cdf", {}),
    ("Synthetic rows?", "topdown", {}),
)
"""What one may ask, the page that answers, and the settings it opens with."""


def show() -> Told:
    """Show the first page."""
    settings = experiment()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            EPSILON.draw()
        s.SHOWN.draw()
        controls.draw_again("start_draw")
    drawn = town_draw(settings)
    _tree(settings, drawn)
    _questions()
    relation = NeighbouringRelation(settings.relation)
    about = strip("seven made-up counts", relation=relation, epsilon=settings.epsilon, seed=settings.seed)
    return Told(about, "simulation, NOT PRIVATE", more=_more)


def _tree(settings: Experiment, drawn: TownDraw) -> None:
    """Show the seven counts, as drawn or made consistent."""
    noisy = s.SHOWN.value == "noisy"
    said = answer(settings, drawn, noisy=noisy)
    again = given(drawn, town_draw, settings).named("drawn")
    released = again.get("noisy" if noisy else "consistent")
    figure(
        call(
            small_tree,
            TOWN,
            again.get("counts"),
            released,
            again.get("noisy_margin" if noisy else "consistent_margin"),
            TOWN_NAMES,
            colour=BEFORE if noisy else AFTER,
        ),
        key="start_tree",
        alt=said,
        answer=said,
        caption="Seven made-up counts: true in grey, released in colour (one simulated release, discrete Laplace "
        "noise, equal shares of ε for the levels). Bars: the 95 % margin of each count by itself, with noise or after "
        "least squares, as shown (formula).",
        ran=call(town_table, settings),
        simulated=True,
    )


def _questions() -> None:
    """Show where one can go from here; first of all to a file named when the app was started."""
    waiting = store.file_on_this_computer()
    with st.container(horizontal=True, gap="small"):
        if waiting is not None and store.from_file("file") is None:
            prose(f"{lit(waiting.name)} is open; choose its columns to count its records.")
        for asked, page, opened in QUESTIONS:
            router.link(page, asked, opened)


def _more() -> None:
    """Two pictures that explain, the error of four noise laws on the data in use, and what the session holds."""
    data, settings = store.dataset(), experiment()
    plain = Experiment(epsilon=settings.epsilon, relation=settings.relation, contributions=settings.contributions)
    with_or_without(plain, TOWN, TOWN_LEVELS, key="start_beliefs")
    one_range(inputs_now(ExampleInputs), "start", key="start_ranges")
    st.header("Error against ε", anchor=False)
    _sentence(data, settings)
    _curves(data, settings)
    warn_of_delta(data.total)  # two of the curves are of laws that spend it
    st.header("What is in this session", anchor=False)
    _session(data, settings)


def _sentence(data: Dataset, settings: Experiment) -> None:
    """Say in plain words what the noise does to one count."""
    level = data.labels.level_names[example_level(data.tree)]
    prose(
        f"At ε = {setting_text(settings.epsilon)}, a count of {EXAMPLE_COUNT} records on the level {lit(level, 40)} "
        f"will be shown within **± {margin(example_margin(data.tree, settings))}** nineteen times in twenty or more "
        "(formula: discrete Laplace noise, equal shares of the budget)."
    )


def _curves(data: Dataset, settings: Experiment) -> None:
    """Show the error curves of the noise laws on the tree in use."""
    delta = slack(data.total)
    question = law_question(replace(settings, delta=delta))
    found = store.remember(("laws", data.fingerprint, question), lambda: computed(question, data.tree, data.counts))
    source = store.used()
    again = given(found, computed, question, source.get("tree"), source.get("counts")).named("lines")
    figure(
        call(line_figure, question, again, source.get("labels.level_names"), settings.epsilon),
        key="start_curves",
        alt="Root mean square error against epsilon for four noise laws: it falls as one over epsilon; at epsilon "
        f"{setting_text(settings.epsilon)} a count is within {margin(example_margin(data.tree, settings))} records 19 "
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
        prose(
            f"- Data set: {lit(data.name)} ({store.origin()})\n"
            f"- Levels: {' › '.join(lit(name, 40) for name in data.labels.level_names)}\n"
            f"- Counts: {plural(data.tree.n_nodes, 'node')}, {plural(data.tree.n_leaves, 'leaf', 'leaves')}\n"
            f"- Promise with these settings: {prepare(settings, data.tree).guarantee.sentence()}"
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            prose(f"Exact total: {plural(data.total, 'record')}", width="content")
            show_badge("NOT PRIVATE")
        small_print(PRIVACY_NOTE)
