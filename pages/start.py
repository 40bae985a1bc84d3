"""Where to begin: what the app is for, one curve, and what is in this session."""

from functools import partial

import streamlit as st

from pages.ui import boot, store
from pages.ui.frame import explain, figure, header, show_badge
from pages.ui.params import get
from pages.ui.settings import experiment
from pages.ui.sidebar import PRIVACY_NOTE
from pages.ui.start_curves import (
    EXAMPLE_COUNT,
    GAUSSIAN_DELTA,
    curve_table,
    example_level,
    example_margin,
    law_curves,
)
from pages.ui.text import lit, plural, short
from treedp_core.experiment import prepare
from treedp_core.figures.curves import error_curves

boot.page()

CARDS = (
    ("data", "Explore the data", "Choose a sample, generate records or upload your own, and see their tree."),
    ("lab", "Explore the error", "Compare mechanisms: error curves from theory, confirmed by simulation."),
    ("consistency", "Tune", "Make noisy counts add up, and see how much accuracy that gives back for free."),
)
CODE = """from treedp_core import Experiment, run

outcome = run(Experiment(mechanism="discrete_laplace", epsilon={epsilon}), tree, counts, simulated=False)
outcome.formula.tree  # RMSE over all nodes"""


def cards() -> None:
    for column, (name, title, about) in zip(st.columns(3), CARDS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.markdown(about)
            boot.link(name)


def hero() -> None:
    curves = law_curves(data, settings)
    fig = error_curves(
        curves, x_title="ε   ← more private · more accurate →", y_title="RMSE (records)", marker_x=settings.epsilon
    )
    gaussian = f"δ = {short(settings.delta)}" if settings.delta else f"δ = {short(GAUSSIAN_DELTA)} for the Gaussian laws"
    figure(
        fig,
        key="start_curves",
        alt=f"Root mean square error against epsilon for four noise laws; at epsilon {settings.epsilon:g} a count of "
        f"the example level is within {margin:.3g} records of the truth 19 times in 20.",
        caption=f"Lines are formulas (no simulation): root mean square error over all {plural(data.tree.n_nodes, 'node')}, "
        f"budget shared equally by the levels, no post-processing; {gaussian}. Laplace on a tree: Rameshwar et al., "
        "Section IV; discrete Laplace: Dawson et al., Section 3.",
        code=CODE.format(epsilon=settings.epsilon),
        data=partial(curve_table, curves),
    )


def session() -> None:
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


data, settings = store.dataset(), experiment()
header("Publish counts on a tree, privately", "See what noise does to hierarchical counts before you release any.", "formula")
explain(
    "Counts by region, state and county protect nobody by being sums. **Differential privacy** adds noise to every "
    "count; how much depends on the privacy budget ε, on how it is shared by the levels, and on what is done "
    "afterwards. Here you see that error for your own tree: by formula where theory has one, by simulation elsewhere."
)
if not get("present"):
    cards()
margin, level = example_margin(data, settings), data.labels.level_names[example_level(data)]
st.header("Error against ε", anchor=False)
st.markdown(
    f"At ε = {short(settings.epsilon)}, a {lit(level, 40)} of {EXAMPLE_COUNT} records will be shown within "
    f"**± {short(margin)}** nineteen times in twenty (formula: discrete Laplace noise, equal shares of the budget)."
)
hero()
st.header("What is in this session", anchor=False)
session()
