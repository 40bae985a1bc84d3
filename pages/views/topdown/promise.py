"""What a top-down release promises: the accounting of rho, and sensitivities by enumeration on a small tree."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import call, given
from pages.ui.strip import strip
from pages.ui.text import plural, powers, whole
from pages.views.lab.state import keep_one
from pages.views.topdown import controls, state, tables
from treedp_core.checks import InputError
from treedp_core.figures import Curve, error_curves
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.inspector import MAX_PAIRS, Inspection, inspect
from treedp_core.privacy.spread import Spread
from treedp_core.studies.topdown import accounting as account
from treedp_core.studies.topdown.subject import Subject
from treedp_core.tree import Tree
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import budget_text, privacy_text, setting_text

RHO_GRID: Final = tuple(float(x) for x in np.geomspace(1e-3, 10.0, 41))
SMALL_NODES: Final = 200


def accounting(what: Subject) -> None:
    """Show what rho promises, by the standard conversion and the tight ones, and what the difference is worth."""
    controls.budget(what)
    try:
        chosen = state.wanted(what)
        ready = chosen.plan(what)
        found = account(chosen.rho, chosen.delta)
    except InputError as error:
        refusal(error)
        return
    saved = 100 * (1 - found.noise_ratio)
    rows = (
        ("ε, standard", privacy_text(found.epsilon_simple), "ρ + 2 √(ρ ln 1/δ)",
         "Bun and Steinke (2016), as in the paper."),
        ("ε, tight", privacy_text(found.epsilon_tight), "for discrete Gaussian noise",
         "Canonne, Kamath and Steinke (2020)."),
        ("ε, continuous noise", privacy_text(found.epsilon_gaussian), "exact, no less is possible",
         "Balle and Wang (2018): exact for continuous Gaussian noise of the same ρ; not claimed here."),
        ("Noise saved at the same ε", f"{saved:.3g} %",
         f"ρ = {budget_text(found.rho_tight)} instead of {privacy_text(found.rho)}",
         "Standard deviation that the tight conversion saves at the ε of the standard one."),
    )  # fmt: skip
    for column, (label, value, note, help_) in zip(st.columns(4), rows, strict=True):
        column.metric(label, value, note, delta_arrow="off",
                      delta_color="off", border=True, height="stretch", help=help_)  # fmt: skip
    st.markdown(
        f"ρ = {privacy_text(found.rho)} is (ε = {privacy_text(found.epsilon_tight)}, δ = {setting_text(found.delta)})"
        "-differential privacy. "
        f"Whoever reads ε = {privacy_text(found.epsilon_simple)} off the standard bound adds noise "
        f"{1 / found.noise_ratio:.3g} times as large as that promise needs."
    )
    _epsilon_curves(found.rho, found.delta)
    _relations(what, chosen, ready)


def _epsilon_curves(rho: float, delta: float) -> None:
    """Show epsilon against rho, and what reading it off the standard bound costs in noise."""
    grid = np.array(sorted({*RHO_GRID, min(max(rho, RHO_GRID[0]), RHO_GRID[-1])}))
    values = keep_one("_td_epsilons", (tuple(grid), delta), lambda: tables.conversions(grid, delta))
    names = ("bound", "discrete_gaussian", "gaussian")
    curves = [
        Curve(way, name, (), grid, formula=y) for (way, y), name in zip(values.epsilon.items(), names, strict=True)
    ]
    worth = [
        Curve(way, name, (), grid, formula=y) for (way, y), name in zip(values.extra.items(), names[1:], strict=True)
    ]
    left, right = st.columns(2)
    with left:
        frame.figure(
            error_curves(curves, x_title="ρ", y_title="ε", marker_x=rho, marker_text="your ρ", costs=("x", "y")),
            key="td_epsilon",
            alt="ε against ρ: the standard bound lies above the tight one, most for small ρ in proportion.",
            caption=f"ε for which ρ implies (ε, δ)-differential privacy at δ = {setting_text(delta)}, rounded up. "
            "Formula: Bun and Steinke (2016); Canonne, Kamath and Steinke (2020), which covers discrete noise; Balle "
            "and Wang (2018), exact for continuous Gaussian noise only.",
            ran=call(tables.epsilon_table, grid.tolist(), delta),
        )
    with right:
        high = math.ceil(max(float(y.max()) for y in values.extra.values()) / 10) * 10
        frame.figure(
            error_curves(worth, x_title="ρ", y_title="extra noise (%)", log_y=False, y_range=(0.0, float(high)),
                         marker_x=rho, marker_text="your ρ", costs=("x",)),
            key="td_extra",
            alt="Extra noise of the standard bound against ρ: largest for small ρ.",
            caption="By how much σ is larger than it must be when the ε of the standard bound is what is promised, and "
            f"the tight conversion, or the exact one of continuous noise, would do. δ = {setting_text(delta)}. "
            "Formula.",
            ran=call(tables.extra_table, grid.tolist(), delta),
        )  # fmt: skip


def _relations(what: Subject, chosen: Any, ready: Any) -> None:
    """Show what each relation costs in noise on the present tree."""
    st.header("Who is protected, and what it costs", anchor=False)
    ran, names = call(tables.relation_table, state.again(what), chosen), tables.noise_columns(what)
    table = ran.value
    number = st.column_config.NumberColumn(format="%.4g")
    st.dataframe(table, hide_index=True, width="content", column_config=dict.fromkeys(names, number),
                 alt="Noise of every level by neighbouring relation")  # fmt: skip
    st.caption(
        f"Formula: σ in records at ρ = {privacy_text(chosen.rho)}, equal shares. Replace one: n is public and exact, a "
        "record moves two counts, √2 per level. Add or remove: n is measured too, one level more, a record moves one "
        f"count. The present promise: {ready.guarantee.sentence()}"
    )
    frame.footer("td_relations", ran)


# ---- sensitivities by enumeration


def sensitivity() -> None:
    """Show the change of every level over all neighbours of a small tree, beside the formula."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Small tree", key="td_small", persist_state="session", max_chars=60, width=150, placeholder="2,2",
            help="Branching factors from the root down; few leaves, as all neighbours are enumerated.",
        )  # fmt: skip
        st.number_input(
            "Records of one unit", 1, 50, step=1, key="contributions", persist_state="session", width=140,
            help="At most; also on the Data and tree page.",
        )  # fmt: skip
        spreads = {spread.value: spread.label for spread in Spread}
        st.selectbox(
            "They lie", list(spreads), key="td_spread", persist_state="session", width=230,
            format_func=spreads.__getitem__, help="On distinct leaves, fine levels need less noise.",
        )  # fmt: skip
    relation = NeighbouringRelation(get("nbr"))
    st.markdown(f"{relation.label}: {relation.description} (Set in the sidebar.)")
    kept = state.last("_td_inspection")
    try:
        kept[:] = [_inspected()]
    except InputError as error:
        refusal(error)
        if not kept:
            return
        st.caption("The last tree and unit that could be enumerated are shown meanwhile.")
    tree, found, unit, spread = kept[0]
    _verdict(found)
    small = given(tree, Tree.from_branching_factors, tree.branching_factors).named("tree")
    ran = call(tables.sensitivity_table, small, given(found, inspect, small, unit, spread))
    table = ran.value
    number = st.column_config.NumberColumn(format="%.4g")
    st.dataframe(
        table, hide_index=True, width="content", alt="Largest change of every level, enumerated and by the formula",
        column_config=dict.fromkeys(["L1 enumerated", "L1 formula", "L2 enumerated", "L2 formula"], number),
    )  # fmt: skip
    st.caption(
        f"Formula beside enumeration: {plural(found.n_pairs, 'pair')} of one unit's records before and after, on a "
        f"tree of {powers(tree.branching_factors or ())}; everybody else's records cancel. In records; "
        "nothing of the data set in use is looked at. Noise is calibrated to the formula; the last column is a change "
        "that reaches the enumerated L2 value."
    )
    frame.footer("td_sensitivity", ran)


def about_small() -> str:
    """Return the strip of the small tree: nothing but its neighbours is looked at."""
    kept = state.last("_td_inspection")
    if not kept:
        return "a small tree of your own"
    tree, _, unit, _ = kept[0]
    return strip("a small tree of your own", powers(tree.branching_factors or ()), relation=unit.relation)


def _inspected() -> tuple[Tree, Inspection, ProtectedUnit, Spread]:
    factors = branching_factors_from_text(get("td_small"))
    tree = Tree.from_branching_factors(factors)
    if tree.n_nodes > SMALL_NODES:
        raise InputError(
            "INSPECTOR_SIZE",
            f"Expected a tree of at most {SMALL_NODES} nodes, got {whole(tree.n_nodes)}: all neighbours are tried.",
        )
    unit = ProtectedUnit(
        NeighbouringRelation(get("nbr")), get("contributions"), min(get("known_levels"), tree.n_levels)
    )
    spread = Spread(get("td_spread"))
    key = (factors, unit, spread)
    return tree, keep_one("_td_inspected", key, lambda: inspect(tree, unit, spread)), unit, spread


def _verdict(found: Inspection) -> None:
    pairs = whole(found.n_pairs)
    if found.holds:
        st.success(
            f"No neighbour changes a level more than the formula says; the costliest one takes "
            f"{privacy_text(max(found.cost_epsilon, found.cost_rho))} of the {privacy_text(found.charged)} charged "
            f"when every measured level spends 1. {pairs} pairs tried, at most {whole(MAX_PAIRS)}.",
            icon=":material/verified:",
        )  # fmt: skip
    else:
        st.error("A neighbour changes more than the formula says: please report this tree.", icon=":material/error:")
