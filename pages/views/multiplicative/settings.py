"""Settings of the page Multiplicative error, each with its control, and its presets."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, choice, control
from pages.ui.inputs.settings import ALPHA, DELTA, EPSILON, LEVEL
from pages.ui.inputs.text import small_print
from pages.ui.tables.experiment_inputs import fits
from treedp_core.studies.methods.terms import text
from treedp_core.views import labels_of
from treedp_core.views.inputs import parameter
from treedp_core.views.multiplicative.inputs import MAX_ROUNDS, MAX_STEPS, RunInputs, WorstCaseInputs
from treedp_core.words import short
from treedp_core.words import whole as in_full

VIEWS: Final = labels_of("multiplicative")

VIEW: Final = choice(
    "mul_view", "run", VIEWS, label="View",
    help="One run, threshold by threshold; worst cases by number of levels; what the question means, with what the "
    "budgets printed in the paper would cost under More.",
)  # fmt: skip
EVERY_CURVE: Final = control(
    parameter(WorstCaseInputs, "every_curve"), label="All curves",
    help="Every mechanism and both lower bounds, up to a million levels, instead of the four lines that decide.",
)  # fmt: skip
LEVELS: Final = control(
    parameter(WorstCaseInputs, "levels"), label="Levels d", placeholder="as in the data", width=130,
    help="Where mechanisms are compared. Empty: the levels of the tree in use. Digits or a power, such as 10^4.",
)  # fmt: skip
TOTAL: Final = control(
    parameter(WorstCaseInputs, "total"), format=short, label="Records at most, N", width=180,
    help="Tuned and provable plans are made for a root of at most N records; the error grows with log N.",
)  # fmt: skip
SOURCE: Final = control(
    parameter(RunInputs, "source"), own="current", label="Tree", look="select", width=195,
    help="The small and the deep tree are made up; the data set in use is that of the page Data and tree.",
)  # fmt: skip
PLAN: Final = control(
    parameter(RunInputs, "plan"), label="Plan", look="select", width=165,
    help="**Tuned**: privacy proven, error simulated. **Provable**: error proven too. **Paper's constants**: those of "
    "Ghazi et al., corrected; made for enormous counts.",
)  # fmt: skip
CLAMP: Final = control(
    parameter(RunInputs, "clamp"), label="Clamp",
    help="Lemma 3.3 of Ghazi et al., the last part of Theorem 4.1: every count is measured once more, with noise of at "
    "most R, and what is released moves into that interval, for half of ε and δ. It bounds the error that a failed "
    "round leaves; tuned and provable plans do without.",
)  # fmt: skip
DEEP_TREE_LEVELS: Final = control(
    parameter(RunInputs, "deep_levels"), format=in_full, label="Levels", width=180,
    help="Of a binary tree; only paths with records are stored.",
)  # fmt: skip
DEEP_TREE_LEAVES: Final = control(
    parameter(RunInputs, "deep_leaves"), format=in_full, label="Leaves with records", width=180,
    help="Of uneven size: the r-th largest has about 1/r of the largest one's records.",
)  # fmt: skip
DEEP_TREE_RECORDS: Final = control(
    parameter(RunInputs, "deep_records"), format=in_full, label="Records a leaf", width=180,
    help="On average. The fewer, the more records are on leaves that no noisy count can tell.",
)  # fmt: skip
STEP: Final = control(
    parameter(RunInputs, "step"), look="slider", low=0, high=MAX_STEPS, step=1, width=340, help="Drag, or press Next."
)  # fmt: skip
ROUNDS: Final = control(
    parameter(WorstCaseInputs, "rounds"), look="slider", low=1, high=MAX_ROUNDS, step=1, label="Rounds ℓ", width=260,
    help="Thresholds grow by 1 + 2α/3 a round, so ℓ rounds reach from α τ up to α τ (1 + 2α/3) to the ℓ.",
)  # fmt: skip
ETA: Final = control(
    parameter(WorstCaseInputs, "eta"), format=short, label="May fail with probability η", width=210, help=text("eta"),
)  # fmt: skip
OWN_THRESHOLDS: Final = control(
    parameter(WorstCaseInputs, "node_thresholds"), label="Your τ by level", placeholder="500, 200", width=150,
    help="In records, from the root down; the last one holds for all deeper levels. A node whose error may be α τ "
    "records where its count is below τ (Problem 3.1 of Ghazi et al.). Empty: the smallest that can be kept is sought.",
)  # fmt: skip
SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, EVERY_CURVE, LEVELS, TOTAL, SOURCE, PLAN, CLAMP, DEEP_TREE_LEVELS, DEEP_TREE_LEAVES, DEEP_TREE_RECORDS, STEP,
    ROUNDS, ETA, OWN_THRESHOLDS,
)  # fmt: skip

PAPER: Final = (ALPHA.to(0.5), EPSILON.to(1.0), TOTAL.to(10_000.0))


def _fit() -> None:
    """Set a δ that fits N and the data set in use."""
    DELTA.set(fits(int(TOTAL.value)))


PRESETS: Final = (
    Preset(
        "Paper's example",
        "1 000 levels with α = 1/2, ε = 1: what the paper's constants prove, and what they leave on the table. "
        "Sets α, ε and δ everywhere.",
        (*PAPER, VIEW.to("growth"), LEVELS.to("1000")),
        _fit,
    ),
    Preset(
        "Break-even",
        "About as many levels as thresholds need to beat every simple rule. Sets α, ε and δ everywhere.",
        (*PAPER, VIEW.to("growth"), LEVELS.to("3200")),
        _fit,
    ),
    Preset(
        "Deep chain",
        "One run on a sparse tree of 3 000 levels. Sets α, ε and δ everywhere.",
        (*PAPER, VIEW.to("run"), SOURCE.to("deep"), DEEP_TREE_LEVELS.to(3000), PLAN.to("tuned")),
        _fit,
    ),
    Preset(
        "Step by step",
        "A tree of 31 nodes, one test at a time. Sets α, ε and δ everywhere.",
        (*PAPER, VIEW.to("run"), SOURCE.to("small"), PLAN.to("tuned"), STEP.to(0)),
        _fit,
    ),
)


def draw_alpha() -> None:
    """Show α here, unless the sidebar already does."""
    if LEVEL.value == "Advanced":
        small_print(f"α = {short(ALPHA.value)} (set in the sidebar)", width="content")
        return
    with st.container(width=150):
        ALPHA.draw()
