"""Settings of the page Multiplicative error, each with its control, and its presets."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.glossary import text
from pages.ui.presets import Preset
from pages.ui.setting import Setting, choice, flag, number, whole, words
from pages.ui.settings import ALPHA, DELTA, EPSILON, LEVEL
from pages.ui.shared import fits
from pages.ui.text import small_print
from treedp_core import checks
from treedp_core.studies.multiplicative.ranking import levels_from_text
from treedp_core.studies.multiplicative.run import PLANS
from treedp_core.studies.multiplicative.trees import DEEP_LEAVES, DEEP_LEVELS, DEEP_RECORDS, MEAN_RECORDS, SOURCES
from treedp_core.words import short
from treedp_core.words import whole as in_full

VIEWS: Final = {
    "run": "Step by step",
    "growth": "Growth",
    "meaning": "When to use",
}
MAX_STEPS: Final = 10_000
FIRST_STEP: Final = 5
"""Where a run is opened: some nodes have a value, a path is lit, and the rest is to come."""


VIEW: Final = choice(
    "mul_view", "run", VIEWS, label="View",
    help="One run, threshold by threshold; worst cases by number of levels; what the question means, with what the "
    "budgets printed in the paper would cost under More.",
)  # fmt: skip
EVERY_CURVE: Final = flag(
    "mul_all", False, label="All curves",
    help="Every mechanism and both lower bounds, up to a million levels, instead of the four lines that decide.",
)  # fmt: skip
LEVELS: Final = words(
    "mul_levels", "", levels_from_text, label="Levels d",
    placeholder="as in the data", width=160,
    help="Where mechanisms are compared. Empty: the levels of the tree in use. Digits or a power, such as 10^4.",
)  # fmt: skip
TOTAL: Final = number(
    "mul_total", 10_000.0, partial(checks.number, "the largest total", low=100, high=1e12, code="TOTAL_RANGE"),
    grid=tuple(10.0**k for k in range(2, 10)), code="TOTAL_RANGE", format=short,
    label="Records at most, N", width=220,
    help="Tuned and provable plans are made for a root of at most N records; the error grows with log N.",
)  # fmt: skip
SOURCE: Final = choice(
    "mul_source", "small", SOURCES, own="current", label="Tree", look="select", width=195,
    help="The small and the deep tree are made up; the data set in use is that of the page Data and tree.",
)  # fmt: skip
PLAN: Final = choice(
    "mul_plan", "tuned", PLANS, label="Plan", look="select", width=165,
    help="**Tuned**: privacy proven, error simulated. **Provable**: error proven too. **Paper's constants**: those of "
    "Ghazi et al., corrected; made for enormous counts.",
)  # fmt: skip
CLAMP: Final = flag(
    "mul_clamp", False, label="Clamp",
    help="Lemma 3.3 of Ghazi et al., the last part of Theorem 4.1: every count is measured once more, with noise of at "
    "most R, and what is released moves into that interval, for half of ε and δ. It bounds the error that a failed "
    "round leaves; tuned and provable plans do without.",
)  # fmt: skip
DEEP_TREE_LEVELS: Final = whole(
    "mul_deep_levels", 100, 2, DEEP_LEVELS[-1], code="LEVELS_RANGE", grid=DEEP_LEVELS, format=in_full, label="Levels",
    width=180, help="Of a binary tree; only paths with records are stored.",
)  # fmt: skip
DEEP_TREE_LEAVES: Final = whole(
    "mul_deep_leaves", 1000, 2, DEEP_LEAVES[-1], grid=DEEP_LEAVES, format=in_full, label="Leaves with records",
    width=180, help="Of uneven size: the r-th largest has about 1/r of the largest one's records.",
)  # fmt: skip
DEEP_TREE_RECORDS: Final = whole(
    "mul_deep_records", MEAN_RECORDS, 1, DEEP_RECORDS[-1], grid=DEEP_RECORDS, format=in_full, label="Records a leaf",
    width=180, help="On average. The fewer, the more records are on leaves that no noisy count can tell.",
)  # fmt: skip
STEP: Final = whole("mul_step", FIRST_STEP, 0, MAX_STEPS, look="slider", width=340, help="Drag, or press Next.")
ROUNDS: Final = whole(
    "mul_rounds", 20, 1, 60, code="ROUNDS_RANGE", look="slider", label="Rounds ℓ", width=260,
    help="Thresholds grow by 1 + 2α/3 a round, so ℓ rounds reach from α τ up to α τ (1 + 2α/3) to the ℓ.",
)  # fmt: skip
ETA: Final = number(
    "mul_eta", 0.01, partial(checks.number, "eta", low=1e-9, high=0.4, code="ETA_RANGE"),
    grid=(1e-6, 1e-4, 0.001, 0.01, 0.05, 0.1), code="ETA", format=short,
    label="May fail with probability η", width=220, help=text("eta"),
)  # fmt: skip
SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, EVERY_CURVE, LEVELS, TOTAL, SOURCE, PLAN, CLAMP, DEEP_TREE_LEVELS, DEEP_TREE_LEAVES, DEEP_TREE_RECORDS, STEP,
    ROUNDS, ETA,
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
