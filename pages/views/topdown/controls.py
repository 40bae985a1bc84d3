"""Controls of the page TopDown: the view, the columns and their order, the budget and the rule; the presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import jobs, tuned
from pages.ui.presets import Presets, popover
from pages.ui.refusals import refusal
from pages.ui.settings import REG, get
from pages.ui.shared import say_slack
from pages.ui.text import lit, plural, whole
from pages.views.topdown import draw as one_release
from pages.views.topdown import state
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.spread import Spread
from treedp_core.records import DomainSource
from treedp_core.studies.topdown.model import ALLOCATIONS, RULES, SOURCES, VIEWS
from treedp_core.studies.topdown.subject import Subject, is_product

PRESETS: Final[Presets] = {
    "As in the paper": (
        "IntOpt, ρ / d for each level, one record replaced, columns in their order.",
        {"td_source": "trips", "td_rule": "intopt", "td_allocation": "equal", "nbr": "replace_one", "td_columns": []},
    ),
    "A billion possible leaves": (
        "Nine columns of ten categories, a hundred thousand people, zeros never laid out.",
        {"td_source": "sparse", "td_sizes": "10^9", "td_records": 100_000, "td_view": "release"},
    ),
    "Least squares first": (
        "All levels measured, least squares, then the projection: the same ρ.",
        {"td_rule": "ls_water_filling", "td_view": "rules"},
    ),
}


def view() -> None:
    """Show the views and the presets; a preset sets only what it names."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "View", list(VIEWS), key="td_view", persist_state="session", required=True, format_func=VIEWS.__getitem__,
            help="One release, repeated ones by every projection or order, what is promised, or the records.",
        )  # fmt: skip
        popover("td", PRESETS, st.session_state.update)


def columns() -> Subject:
    """Show what is released, and return it: below a refusal the last that could be."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "Records", list(SOURCES), key="td_source", persist_state="session", required=True,
            format_func=SOURCES.__getitem__,
            help="Trips: a synthetic sample of three columns. Data set in use: that of the Data and tree page. Sparse: "
            "made-up people in a table far too large to lay out.",
        )  # fmt: skip
        if get("td_source") == "sparse":
            st.text_input(
                "Categories per column", key="td_sizes", persist_state="session", max_chars=100, width=190,
                placeholder="10, 10, 4 or 10^9", help="The public domain: 10^9 is nine columns of ten categories.",
            )  # fmt: skip
            st.number_input(
                "People", 0, 1_000_000, step=10_000, key="td_records", persist_state="session", width=150,
                help="Made-up records, drawn with the seed; most lie among the first categories.",
            )  # fmt: skip
    if get("td_source") != "sparse":
        _columns_of_data()
    made, refused = state.subject()
    if refused is not None:
        refusal(refused)
        st.caption(f"{lit(made.name, 40)} is shown meanwhile.")
    return made


def _columns_of_data() -> None:
    data = state.data_in_use()
    if get("td_source") == "current" and data.domain_source is DomainSource.FROM_DATA:
        st.warning(
            "The categories were taken from the data: which ones exist is then published without any noise. List them "
            "on the Data and tree page for a real release.", icon=":material/warning:",
        )  # fmt: skip
    if data.report.unseen and get("td_source") == "current":
        st.caption(
            f":material/info: {plural(data.report.unseen, 'record')} had a category that the public domain does not "
            "list and are in no count; a category “(other)” in the domain would receive them."
        )
    nested = not is_product(data)
    if nested:
        st.toggle(
            "Use all combinations of the columns", key="td_product", persist_state="session",
            help="The columns as a product: combinations that the tree does not list become empty leaves, and the "
            "order can be chosen.",
        )  # fmt: skip
    if nested and not get("td_product"):
        st.caption(
            ":material/account_tree: The levels of this tree are nested or not every combination is listed, so the "
            "tree is used as it is and the order of its columns cannot change."
        )
        return
    names = data.labels.level_names[1:]
    positions = [str(i + 1) for i in range(len(names))]
    kept = [position for position in get("td_columns") if position in positions]
    if kept != list(get("td_columns")):
        st.session_state["td_columns"] = kept
    st.multiselect(
        "Columns, in the order of the tree", positions, key="td_columns", persist_state="session",
        format_func=lambda position: _plain(names[int(position) - 1]), placeholder="all, in their order",
        help="The first one chosen stands right below the root. Empty: all columns in the order of the data. Columns "
        "left out are summed over.",
    )  # fmt: skip


def _plain(name: str) -> str:
    """A column's name for a list of choices, which shows text as it is."""
    return name if len(name) <= 40 else name[:39] + "…"


def budget(what: Subject) -> None:
    """Show what is spent, on which levels, and for whom."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "ρ", key="td_rho", persist_state="session", max_chars=20, width=130, placeholder="from ε and δ",
            help="Total budget of zero-concentrated privacy. Empty: the largest ρ that the sidebar's ε and δ allow.",
        )  # fmt: skip
        _choice(
            "Level budgets", "td_allocation", ALLOCATIONS, "Equal: ρ / d for each noisy level, as in the paper.", 150
        )
        if get("td_allocation") == "custom":
            st.text_input(
                "Shares of the levels", key="td_shares", persist_state="session", max_chars=200, width=190,
                placeholder=", ".join(["0", *["0.1"] * min(3, len(what.columns))]),
                help="One for each level from the root down, summing to at most 1; a public root's is not used. "
                "Empty: equal ones.",
            )  # fmt: skip
        st.number_input(
            "Records of one unit", 1, 50, step=1, key="contributions", persist_state="session", width=140,
            help="At most; all of them are protected together. Also on the Data and tree page.",
        )  # fmt: skip
        if get("contributions") > 1:
            labels = {spread.value: spread.label for spread in Spread}
            _choice("They lie", "td_spread", labels, "On distinct leaves, fine levels need less noise.", 230)
        if get("td_view") == "release":
            st.select_slider(
                "Bounds hold with", REG["td_confidence"].choices(get("td_confidence")), key="td_confidence",
                persist_state="session", format_func=lambda c: f"{100 * c:g} %", width=190,
                help="Theorem 1 holds for each level with this probability, 1 − β.",
            )  # fmt: skip
    tuned.note("td")
    _notes(what)


def _notes(what: Subject) -> None:
    """Say where this page does not follow the sidebar."""
    if get("nbr") == NeighbouringRelation.REPLACE_UNKNOWN.value and what.is_product:
        known = what.known_levels(get("known_levels"))
        st.caption(
            f":material/info: {plural(known, 'level')} of this order {'is' if known == 1 else 'are'} built from known "
            f"columns, the root included; in the order of the data it is {get('known_levels')} (Data and tree page)."
        )
    if get("td_rho").strip():
        st.caption(":material/info: ρ is set here, so the ε of the sidebar is not used on this page.")
    say_slack("discrete Gaussian noise", "td_set_delta", what.total)


def rule(what: Subject) -> None:
    """Show how noisy counts become whole, and the button that draws or runs."""
    allowed = one_release.rules_for(what)
    if get("td_rule") not in allowed:
        st.session_state["td_rule"] = allowed[0]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        labels = {name: RULES[name].label for name in allowed}
        about = "IntOpt is the paper's. Water filling is closest in every distance at once. All keep the promise: free."
        _choice("Projection", "td_rule", labels, about, 270)
        st.button(
            "Draw again", key="td_draw", icon=":material/casino:", on_click=state.draw_again,
            help="The next seed: other noise on the same counts.",
        )  # fmt: skip
    if len(allowed) < len(RULES):
        st.caption(
            f"{whole(what.n_leaves)} possible leaves are not laid out, so only rules that need no tree are here."
        )


def runs(slot: str, key: str, on_run: Any, about: str) -> None:
    """Show the number of runs, Run and Cancel of a simulation."""
    running = jobs.is_running(slot)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "Runs", REG["td_trials"].choices(get("td_trials")), key="td_trials", persist_state="session",
            required=True, format_func=whole, help="Independent releases; standard errors shrink with their root.",
        )  # fmt: skip
        st.button(
            "Run", key=f"{key}_run", type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter",
            on_click=on_run, disabled=running, help=about,
        )  # fmt: skip
        st.button(
            "Cancel", key=f"{key}_cancel", on_click=jobs.cancel, args=(slot,), disabled=not running,
            help="Stop; earlier results stay.",
        )  # fmt: skip


def _choice(label: str, key: str, options: Mapping[str, str], about: str, width: int) -> None:
    st.selectbox(label, list(options), key=key, persist_state="session", format_func=options.__getitem__, help=about,
                 width=width)  # fmt: skip
