"""The pieces of the first page: a living tree, where to go with which question, the curves, what the session holds."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.figure.pictures import one_range, with_or_without
from pages.ui.inputs.setting import control
from pages.ui.inputs.settings import EPSILON
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.page import navigation
from pages.ui.page.page import Told, show_badge
from pages.ui.page.view import see
from pages.ui.shell.sidebar import PRIVACY_NOTE
from pages.ui.tables import store
from pages.ui.tables.experiment_inputs import inputs_now, warn_of_delta
from treedp_core.experiment import Experiment, prepare
from treedp_core.records import Dataset
from treedp_core.studies.sweep.first_page import EXAMPLE_COUNT, example_level, example_margin
from treedp_core.views import VIEWS
from treedp_core.views.inputs import ReleaseInputs, parameter
from treedp_core.views.ranges import ExampleInputs
from treedp_core.views.start import TownInputs
from treedp_core.words import margin, plural, setting_text

SHOWN: Final = control(
    parameter(TownInputs, "shown"), label="Shown",
    help="With noise every count is drawn by itself, so sums fail. Least squares makes them agree, and costs no "
    "privacy.",
)  # fmt: skip
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
    """Show the first page: the seven counts, as drawn or made consistent, and where one can go."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            EPSILON.draw()
        SHOWN.draw()
        controls.draw_again("start_draw")
    seen = see(VIEWS["start"], inputs_now(TownInputs))
    frame.found(seen)
    _questions()
    return seen.told(more=_more)


def _questions() -> None:
    """Show where one can go from here; first of all to a file named when the app was started."""
    waiting = store.file_on_this_computer()
    with st.container(horizontal=True, gap="small"):
        if waiting is not None and store.from_file("file") is None:
            prose(f"{lit(waiting.name)} is open; choose its columns to count its records.")
        for asked, page, opened in QUESTIONS:
            navigation.link(page, asked, opened)


def _more() -> None:
    """Two pictures that explain, the error of four noise laws on the data in use, and what the session holds."""
    data, inputs = store.dataset(), inputs_now(ReleaseInputs)
    with_or_without(inputs, "start")
    one_range(inputs_now(ExampleInputs), "start", key="start_ranges")
    st.header("Error against ε", anchor=False)
    settings = inputs.experiment(data)
    prose(
        f"At ε = {setting_text(settings.epsilon)}, a count of {EXAMPLE_COUNT} records on the level "
        f"{lit(data.labels.level_names[example_level(data.tree)], 40)} will be shown within "
        f"**± {margin(example_margin(data.tree, settings))}** nineteen times in twenty or more "
        "(formula: discrete Laplace noise, equal shares of the budget)."
    )
    frame.found(see(VIEWS["start.laws"], inputs))
    warn_of_delta(data.total)  # two of the curves are of laws that spend it
    st.header("What is in this session", anchor=False)
    _session(data, settings)


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
