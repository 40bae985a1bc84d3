"""What a top-down release promises: the accounting of rho, and sensitivities by enumeration on a small tree."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.result import at_once, show_state
from pages.ui.settings import KNOWN_LEVELS, RELATION
from pages.ui.text import plain, prose
from pages.views.topdown import asked
from pages.views.topdown import settings as s
from treedp_core.checks import InputError
from treedp_core.figures.topdown import epsilon_curves, extra_noise_curves
from treedp_core.notebook.code import call, given
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.inspector import MAX_PAIRS, Inspection, inspect
from treedp_core.studies.topdown import Accounting, Drawn, Plan, Subject, Wanted, epsilons, extra_noise, tables
from treedp_core.studies.topdown import accounting as account
from treedp_core.studies.topdown.accounting import grid_with
from treedp_core.tree import Tree
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import budget_text, percent, plural, powers, privacy_text, setting_text, short, whole

SMALL_NODES: Final = 200


def accounting(what: Subject, mine: Drawn | None) -> None:
    """Show what rho promises, by the standard conversion and the tight ones, and what the difference is worth."""
    try:
        wanted, ready = asked.planned(what)
        found = account(wanted.rho, wanted.delta)
    except InputError:  # said below the figure
        return
    _cards(found)
    if wanted.within:
        prose(
            "ρ is what numerical accounting allows this release's own noise, so that all three say more than it loses: "
            f"{plain(ready.guarantee.sentence())}"
        )
    _conversions(found.rho, found.delta)
    _relations(what, wanted, ready)


def _cards(found: Accounting) -> None:
    rows = (
        ("ε, standard", privacy_text(found.epsilon_simple), "ρ + 2 √(ρ ln 1/δ)",
         "Bun and Steinke (2016), as in the paper."),
        ("ε, tight", privacy_text(found.epsilon_tight), "for discrete Gaussian noise",
         "Canonne, Kamath and Steinke (2020)."),
        ("ε, continuous noise", privacy_text(found.epsilon_gaussian), "exact, no less is possible",
         "Balle and Wang (2018): exact for continuous Gaussian noise of the same ρ; not claimed here."),
        ("Noise saved at the same ε", percent(1 - found.noise_ratio),
         f"ρ = {budget_text(found.rho_tight)} instead of {privacy_text(found.rho)}",
         "Standard deviation that the tight conversion saves at the ε of the standard one."),
    )  # fmt: skip
    cards(rows)
    prose(
        f"ρ = {privacy_text(found.rho)} is (ε = {privacy_text(found.epsilon_tight)}, δ = {setting_text(found.delta)})"
        "-differential privacy. "
        f"Whoever reads ε = {privacy_text(found.epsilon_simple)} off the standard bound adds noise "
        f"{short(1 / found.noise_ratio)} times as large as that promise needs."
    )


def _conversions(rho: float, delta: float) -> None:
    """Show epsilon against rho, and what reading it off the standard bound costs in noise."""
    grid = grid_with(rho)
    found = at_once("td_conversions", (grid, delta), lambda: (epsilons(grid, delta), extra_noise(grid, delta)),
                    of="formula").here()  # fmt: skip
    table = given(found[0], epsilons, grid, delta).named("table")
    extra = given(found[1], extra_noise, grid, delta).named("table")
    left, right = st.columns(2)
    with left:
        frame.figure(
            call(epsilon_curves, table, rho),
            key="td_epsilon",
            alt="ε against ρ: the standard bound lies above the tight one, most for small ρ in proportion.",
            caption=f"ε for which ρ implies (ε, δ)-differential privacy at δ = {setting_text(delta)}, rounded up. "
            "Formula: Bun and Steinke (2016); Canonne, Kamath and Steinke (2020), which covers discrete noise; Balle "
            "and Wang (2018), exact for continuous Gaussian noise only.",
            ran=table,
        )
    with right:
        frame.figure(
            call(extra_noise_curves, extra, rho),
            key="td_extra",
            alt="Extra noise of the standard bound against ρ: largest for small ρ.",
            caption="By how much σ is larger than it must be when the ε of the standard bound is what is promised, and "
            f"the tight conversion, or the exact one of continuous noise, would do. δ = {setting_text(delta)}. "
            "Formula.",
            ran=extra,
        )


def _relations(what: Subject, wanted: Wanted, ready: Plan) -> None:
    """Show what each relation costs in noise on the present tree."""
    st.header("Who is protected, and what it costs", anchor=False)
    frame.table(
        call(tables.relation_table, asked.again(what), wanted),
        key="td_relations",
        alt="Noise of every level by neighbouring relation",
        formats=dict.fromkeys(tables.noise_columns(what), short),
        width="content",
        caption=f"Formula: σ in records at ρ = {privacy_text(wanted.rho)}, equal shares. Replace one: n is public "
        "and exact, a record moves two counts, √2 per level. Add or remove: n is measured too, one level more, a "
        f"record moves one count. The present promise: {ready.guarantee.sentence()}",
    )


# ---- sensitivities by enumeration


def sensitivity(what: Subject, mine: Drawn | None) -> None:
    """Show the change of every level over all neighbours of a small tree, beside the formula."""
    s.SMALL.draw()
    relation = NeighbouringRelation(RELATION.value)
    prose(f"{relation.label}: {relation.description} (Set in the sidebar.)")
    spread = Spread(s.SPREAD.value)
    asked_for = (s.SMALL.value, relation, s.UNIT.value, KNOWN_LEVELS.value, spread)
    result = at_once("td_inspection", asked_for, lambda: _inspected(*asked_for), of="small tree",
                     about=f"{s.SMALL.value}, {relation.label.lower()}")  # fmt: skip
    show_state(result, "Trying all neighbours")
    if result.value is None:
        return
    tree, unit, found = result.value
    _verdict(found)
    small = given(tree, Tree.from_branching_factors, tree.branching_factors).named("tree")
    frame.table(
        call(tables.sensitivity_table, small, given(found, inspect, small, unit, result.made_for[-1])),
        key="td_sensitivity",
        alt="Largest change of every level, enumerated and by the formula",
        formats=dict.fromkeys(["L1 enumerated", "L1 formula", "L2 enumerated", "L2 formula"], short),
        width="content",
        caption=f"Formula beside enumeration: {plural(found.n_pairs, 'pair')} of one unit's records before and after, "
        f"on a tree of {powers(tree.branching_factors or ())}; everybody else's records cancel. In records; "
        "nothing of the data set in use is looked at. Noise is calibrated to the formula; the last column is a change "
        "that reaches the enumerated L2 value.",
    )


def _inspected(
    factors: str, relation: NeighbouringRelation, contributions: int, known: int, spread: Spread
) -> tuple[Tree, ProtectedUnit, Inspection]:
    tree = Tree.from_branching_factors(branching_factors_from_text(factors))
    if tree.n_nodes > SMALL_NODES:
        raise InputError(
            "INSPECTOR_SIZE",
            f"Expected a tree of at most {SMALL_NODES} nodes, got {whole(tree.n_nodes)}: all neighbours are tried.",
        )
    unit = ProtectedUnit(relation, contributions, min(known, tree.n_levels))
    return tree, unit, inspect(tree, unit, spread)


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
