"""Which counts one can rely on: the tree coloured by the probability of being close, and the useful tree."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.settings import REG, get
from pages.ui.snippets import Ran, call, given
from pages.ui.store import dataset, remember, used
from pages.ui.text import lit, plural, short, whole
from pages.views.budget.settings import WITHIN_GRID
from pages.views.budget.split import Row
from pages.views.budget.state import Results, data_again
from pages.views.budget.tables import level_shares, map_table, useful_table
from pages.views.budget.targets import confidence
from pages.views.budget.view import marked
from treedp_core.figures import clicked_node
from treedp_core.figures.reliability import reliability_icicle, useful_shares
from treedp_core.studies.budget import NOT_PRIVATE, Reliability, reliability
from treedp_core.tree import FloatArray
from treedp_core.words import setting_text

MAX_BLOCKS: Final = 250


def show(result: Results) -> None:
    """Show the controls, the map of the chosen split, and the useful part of each level."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        with st.container(width=210):
            st.select_slider(
                "A count is good if within x %",
                REG["bud_within"].choices(get("bud_within")) or WITHIN_GRID,
                key="bud_within",
                persist_state="session",
                format_func=short,
                help="Of the true count; counts below τ are judged as if they were τ.",
            )
        confidence("bud_confidence")
    row = result.chosen
    if row is None:
        return
    settings = (result.settings, row.name, row.ledger.amounts, get("bud_within"))
    found = remember(
        ("budget_map", dataset().fingerprint, *settings),
        lambda: reliability(result.truth, row.amounts, get("bud_within") / 100.0, get("tau")),
    )
    truth, _, _ = data_again(result)
    again = given(found, reliability, truth, row.amounts, get("bud_within") / 100.0, get("tau")).named("found")
    share = level_shares(dataset().tree, found.useful(get("bud_confidence")))
    left, right = st.columns([3, 2])
    with left:
        _map(result, row, found, again)
    with right:
        _useful(result, row, found, share, again)


def _map(result: Results, row: Row, found: Reliability, again: Ran[Reliability]) -> None:
    data = dataset()
    root = data.tree.family(get("bud_node"))
    _place(root)
    clicked = frame.figure(
        marked(
            reliability_icicle(
                data.tree, data.labels, data.counts, found.probability, root=root, max_nodes=MAX_BLOCKS
            ),
            result,
        ),
        key="bud_map",
        alt=f"Probability of each count to be within {short(get('bud_within'))} %, as an icicle.",
        caption=f"{NOT_PRIVATE}: area is the true count. Colour: probability that the released count is within "
        f"{short(get('bud_within'))} % of it under “{row.label}” ({found.method}; τ = {short(get('tau'))}). "
        "Click a block to go down, the top one to go up.",
        ran=call(map_table, used().get("tree"), again).saying(f"{NOT_PRIVATE}: judged by the true counts."),
        select=True,
    )  # fmt: skip
    target = clicked_node(data.tree, clicked)
    if target is None:
        return
    goal = max(int(data.tree.parent[root]), 0) if target == root else data.tree.family(target)
    if goal != root:
        _go(goal)
        st.rerun()


def _place(root: int) -> None:
    data = dataset()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Up one level",
            icon=":material/arrow_upward:",
            key="bud_up",
            disabled=root == 0,
            on_click=_go,
            args=(max(int(data.tree.parent[root]), 0),),
            type="tertiary",
        )
        path = [lit(part, 40) for part in data.labels.path(root)]
        st.markdown(" › ".join(path) or "The whole tree", width="content")


def _go(node: int) -> None:
    st.session_state["bud_node"] = node


def _useful(result: Results, row: Row, found: Reliability, share: FloatArray, again: Ran[Reliability]) -> None:
    data = dataset()
    n_useful = int(found.useful(get("bud_confidence")).sum())
    st.markdown("**The useful tree**")
    frame.figure(
        marked(useful_shares(data.labels.level_names, share, data.tree.level_sizes), result),
        key="bud_useful",
        alt=f"{n_useful} of {data.tree.n_nodes} counts are useful.",
        caption=f"{NOT_PRIVATE}: counts within {short(get('bud_within'))} % with probability at least "
        f"{short(get('bud_confidence'))}: {whole(n_useful)} of {plural(data.tree.n_nodes, 'count')}.",
        ran=call(
            useful_table,
            used().get("tree"),
            data.labels.level_names,
            again,
            get("bud_confidence"),
            result.label or NOT_PRIVATE,
        ),
    )
    deepest = [level for level in range(data.tree.n_levels) if share[level] > 0.5]
    told = f"level {deepest[-1]} ({lit(data.labels.level_names[deepest[-1]], 40)})" if deepest else "no level"
    st.markdown(
        f"Under “{row.label}” at ε = {setting_text(get('eps'))} most counts are useful down to {told}."
        if deepest
        else f"Under “{row.label}” at ε = {setting_text(get('eps'))} no level has a majority of useful counts."
    )
