"""The Error lab: controls, the figure of a view, and what stands under More."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, choice, control, in_a_row
from pages.ui.inputs.settings import DELTA, MADE_BRANCHING, SOURCE
from pages.ui.inputs.text import prose, small_print
from pages.ui.page import navigation
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, see
from pages.ui.tables import plans, tuning_provenance
from pages.ui.tables.experiment_inputs import fits, inputs_now, note_of_delta
from pages.ui.tables.result import at_once, run_button, show_state
from pages.ui.tables.store import dataset, remember
from treedp_core.errors import METRICS
from treedp_core.experiment import is_by_rounds
from treedp_core.mechanisms import THRESHOLDS
from treedp_core.studies.sweep.series import DRAW
from treedp_core.studies.sweep.series import VIEWS as LABELS
from treedp_core.views import VIEWS, Finding, lab
from treedp_core.views.inputs import parameter
from treedp_core.views.lab import LabInputs
from treedp_core.words import plural, plus_minus, short, whole

# Settings of the Error lab that a link can carry, and its ready-made comparisons.

COMPARED: Final = control(parameter(LabInputs, "mechanisms"), label="Mechanisms")
POST: Final = control(parameter(LabInputs, "postprocess"), label="Post-processing", help=POST_HELP)
OFTEN: Final = ("none", "least_squares")
"""What Basic offers."""
METRIC: Final = control(parameter(LabInputs, "metric"), label="Metric")
VIEW: Final = choice(
    "lab_view", "epsilon", LABELS, label="View",
    help="“One draw” is a single simulated release beside the true counts: NOT PRIVATE.",
)  # fmt: skip
TRIALS: Final = control(
    parameter(LabInputs, "trials"), label="Repetitions", look="segments", format=whole, step=1,
    help="Simulated releases for each marker. Four times as many halve the 95 % bars.",
)  # fmt: skip
ALLOCATION: Final = control(parameter(LabInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(
    parameter(LabInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP
)  # fmt: skip
TUNED: Final = control(parameter(LabInputs, "tuned_on"))
ACCOUNTING: Final = control(parameter(LabInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
LEVEL: Final = control(
    parameter(LabInputs, "level"), label="Level", look="select",
    help="Which level of the tree is drawn; 0 is the root.",
)  # fmt: skip
SERIES: Final = control(
    parameter(LabInputs, "series"), label="Series", look="select", width=240,
    help="One draw shows one series at a time.",
)  # fmt: skip
TARGET: Final = control(
    parameter(LabInputs, "target"), low=0, width=280, label="Target error",
    help="The smallest ε whose formula for the whole tree is at most this; 0 asks for nothing.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    COMPARED, POST, METRIC, VIEW, TRIALS, ALLOCATION, SHARES, TUNED, ACCOUNTING, LEVEL, SERIES, TARGET,
)  # fmt: skip

PRESETS: Final = (
    Preset(
        "Uniform vs minimax",
        "Gaussian noise with least squares, level by level, split by minimax: the largest node error is the least "
        "possible; where all nodes of a level have as many children, every noisy node has it. "
        "Then choose the split “Uniform” and compare.",
        (
            COMPARED.to(("gaussian",)), POST.to(("none", "least_squares")), METRIC.to("rmse"), VIEW.to("level"),
            ALLOCATION.to("minimax"),
        ),
        lambda: DELTA.set(fits()),
    ),
    Preset(
        "What least squares buys",
        "Discrete Laplace noise with and without least squares, level by level: no level loses, and it is free.",
        (
            COMPARED.to(("discrete_laplace",)), POST.to(("none", "least_squares")), METRIC.to("rmse"),
            VIEW.to("level"), ALLOCATION.to("uniform"),
        ),
    ),
    Preset(
        "Deep binary tree",
        "A generated tree with 12 binary splits: more and more levels share the budget, and the error grows with them.",
        (
            SOURCE.to("generate"), MADE_BRANCHING.to(",".join(["2"] * 12)),
            COMPARED.to(("laplace", "discrete_laplace")), POST.to(("none", "least_squares")), METRIC.to("rmse"),
            VIEW.to("n_levels"), ALLOCATION.to("uniform"),
        ),
    ),
)  # fmt: skip


CARDS_A_ROW = 4
BY_ROUNDS: Final = {"plan_mechanism": THRESHOLDS.name, "plan_view": "plan"}


def show(view: str) -> Told:
    """Show a view of the lab."""
    with in_a_row():
        COMPARED.draw()
        controls.pipelines(POST, offered=OFTEN)
        place = st.container(width="content", horizontal=True)
    if view == DRAW and COMPARED.value and POST.value:
        with place:
            _draw_controls()
    seen = see(VIEWS[f"lab.{view}"], inputs_now(LabInputs))
    if seen.slow is not None:
        with place:
            run_button(
                seen.slow, "lab_run", disabled=not seen.inputs.compared or not seen.result.is_ready,
                help="Simulate releases in the background and add them as markers.",
            )  # fmt: skip
    frame.found(seen)
    note_of_delta(COMPARED.value, "lab_set_delta")
    seen.say_state("Simulating", "runs")
    tuning_provenance.note("lab")
    return seen.told(more=partial(_more, view, seen))


def _draw_controls() -> None:
    """Choose the series and the level of one draw."""
    data, compared = dataset(), inputs_now(LabInputs).compared
    controls.level_picker(SERIES, [one.label for one in compared])
    names = zip(data.labels.level_names, data.tree.level_sizes, strict=True)
    controls.level_picker(LEVEL, [f"{i}: {name} ({plural(n, 'node')})" for i, (name, n) in enumerate(names)])


def _more(view: str, seen: Seen[LabInputs]) -> None:
    with in_a_row():
        METRIC.draw()
        controls.split(ALLOCATION, SHARES)
        controls.accounting(ACCOUNTING, COMPARED.value)
        TRIALS.draw()
    if not seen.result.is_ready or not seen.inputs.compared:
        return
    inputs, tables = seen.inputs, seen.tables.value
    _cards(seen.of(lab.whole_tree, view=view))
    if not any(one.has_levels for one in inputs.compared):
        prose(lab.split_by_level(inputs, tables).answer)
    else:
        controls.split_by_level(partial(lab.split_by_level, inputs, tables), key="lab_split_table")
    first = inputs.compared[0].of(inputs.base(tables.data))
    if is_by_rounds(first):
        navigation.link("plan", "Plan thresholds, with a public bound on the total", BY_ROUNDS)
    else:
        plans.button("lab", partial(plans.of_experiment, first, "lab"), "from the Error lab")
    if view != DRAW:
        with st.expander("Values", key="lab_values", on_change="rerun") as opened:
            if opened.open:
                frame.found_table(seen.of(lab.values, view=view))
    _target(inputs, seen)


def _cards(whole: Finding) -> None:
    """Each series' value for the whole tree at your epsilon, and how it compares with the best."""
    st.header(whole.caption, anchor=False)
    rows = list(zip(*whole.table.values(), strict=True))
    for start in range(0, len(rows), CARDS_A_ROW):
        for column, row in zip(st.columns(CARDS_A_ROW), rows[start : start + CARDS_A_ROW], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                _card(*row)
    for sentence in (whole.answer, *whole.notes):
        prose(sentence)


def _card(label: str, value: float, standard_error: float, source: str, beside: str) -> None:
    known = not math.isnan(value)
    error = plus_minus(standard_error) if source == "simulation" else ""
    small_print(label, help=f"Whole tree, {source or 'simulation only'}.")
    st.metric(
        label, f"{short(value)}{error}" if known else "press Run", beside or "no closed form", delta_arrow="off",
        delta_color="off", label_visibility="collapsed",
    )  # fmt: skip


def _target(inputs: LabInputs, seen: Seen[LabInputs]) -> None:
    """Ask for a wanted error, and answer with the smallest epsilon that reaches it."""
    st.header("From a wanted error to ε", anchor=False)
    if not TARGET.draw(label=f"Target {METRICS[inputs.metric].title}"):
        return
    with st.spinner("Searching …"):
        found = at_once("lab_target", inputs, lambda: lab.smallest_epsilons(inputs, seen.tables.value, memo=remember))
    show_state(found, "Searching")
    if found.value is not None:
        frame.found_table(found.value, width="content")
