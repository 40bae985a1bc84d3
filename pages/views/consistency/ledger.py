"""The parent-children ledger: do the children of one node add up to it? With a finder of nodes."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.frame import plain_table
from pages.ui.store import dataset
from pages.ui.text import small_print
from pages.ui.walk import go, place, way_up
from pages.views.consistency.settings import NODE
from pages.views.consistency.words import amount, equation
from treedp_core.privacy.origin import of_truth
from treedp_core.studies.sweep.before_after import MAX_ROWS, Draw, family_table, find, found_table
from treedp_core.words import plural, whole

_FOUND: Final = "_con_found_nodes"


def ledger(the: Draw) -> None:
    """Show whether the children of the node looked at add up to it, before and after."""
    data, here = dataset(), place(the.tree, NODE.key)
    st.header("Do the children add up?", anchor=False)
    way_up(the.tree, data.labels, NODE.key)
    _finder()
    n_children = int(data.tree.n_children[here])
    st.text(f"before   {equation(data.tree, here, the.before)}\nafter    {equation(data.tree, here, the.after)}")
    more = f" The first {whole(MAX_ROWS)} of {plural(n_children, 'child', 'children')}." * (n_children > MAX_ROWS)
    plain_table(
        family_table(the, here, data.labels),
        alt="The chosen node and its children: true count, and released counts before and after",
        caption=f"NOT PRIVATE: true counts, and one simulated release of them.{more}",
        formats=dict.fromkeys((of_truth("true count"), "before", "after"), amount),
    )


def _finder() -> None:
    """Find a node by its label; labels are shown in a table, which shows them literally."""
    data = dataset()
    text = st.text_input(
        "Find a node", key="con_find", max_chars=80, placeholder="part of a label", width=320,
        help="Lists the nodes whose label contains this, from the top of the tree; at most 50.",
    )  # fmt: skip
    if not text:
        return
    nodes = st.session_state[_FOUND] = find(data.labels, text)
    if not nodes:
        small_print("No label contains that.")
        return
    st.dataframe(
        found_table(data.labels, nodes), hide_index=True, key="con_found", on_select=_pick,
        selection_mode="single-row", height=min(240, 36 * (len(nodes) + 1)),
        alt="Nodes found; select one to go there",
    )  # fmt: skip


def _pick() -> None:
    chosen: Any = st.session_state["con_found"].selection.rows
    nodes = st.session_state.get(_FOUND, [])
    if chosen and chosen[0] < len(nodes):
        go(NODE.key, dataset().tree.family(nodes[chosen[0]]))
