"""The Consistency page: controls, a family on a balance above the tree, and what stands under More."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.setting import Setting, control, in_a_row
from pages.ui.inputs.text import found_cards, prose, small_print
from pages.ui.inputs.walk import enter, follow, go, way_up
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables import plans, tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.store import dataset, remember
from treedp_core.figures.consistency import MAX_BLOCKS
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset
from treedp_core.studies.sweep.before_after import find, found_table
from treedp_core.views import VIEWS, Finding, consistency
from treedp_core.views.consistency import ConsistencyInputs
from treedp_core.views.consistency.words import amount
from treedp_core.views.inputs import parameter
from treedp_core.views.split import split_by_level
from treedp_core.words import short

# Settings of the Consistency page that a link can carry.

MECHANISM: Final = control(parameter(ConsistencyInputs, "mechanism"), label="Mechanism", look="pills")
POST: Final = control(
    parameter(ConsistencyInputs, "postprocess"), label="Post-processing", look="select", width=220, help=POST_HELP
)
ALLOCATION: Final = control(parameter(ConsistencyInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(
    parameter(ConsistencyInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP
)
TUNED: Final = control(parameter(ConsistencyInputs, "tuned_on"))
ACCOUNTING: Final = control(parameter(ConsistencyInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
NODE: Final = control(parameter(ConsistencyInputs, "node"))
SHOWN: Final = control(
    parameter(ConsistencyInputs, "shown"), label="Counts",
    help="The noisy counts as released, or the same after post-processing.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (MECHANISM, POST, ALLOCATION, SHARES, TUNED, ACCOUNTING, NODE, SHOWN)


_FOUND: Final = "_con_found_nodes"


def show() -> Told:
    """Show the page: one family and the tree, before or after; the rest under *More*."""
    with in_a_row():
        SHOWN.draw(bare=True)
        controls.pipelines(POST)
        controls.draw_again("con_draw")
    data = dataset()
    enter(NODE.key, data.fingerprint)
    seen = see(VIEWS["consistency"], inputs_now(ConsistencyInputs))
    follow(frame.found(seen, select=seen.result.is_ready), data.tree, key=NODE.key)
    tuning_provenance.note("con", seen.inputs.ledger(data) if seen.result.is_ready else None)
    seen.say_state("Drawing")
    note_of_delta([MECHANISM.value], "con_set_delta")
    return seen.told(more=partial(_more, seen))


def _more(seen: Seen[ConsistencyInputs]) -> None:
    with in_a_row():
        MECHANISM.draw()
        controls.split(ALLOCATION, SHARES)
        controls.accounting(ACCOUNTING, [MECHANISM.value])
    if seen.finding.is_empty:
        return
    inputs, tables = seen.found_for, seen.tables.value
    changes = consistency.changes(inputs, tables, memo=remember)
    found_cards(changes)
    prose(changes.answer)
    if tables.data.tree.n_nodes > MAX_BLOCKS:
        with st.expander("The whole tree at a glance", key="con_strips", on_change="rerun") as opened:
            if opened.open:
                frame.found(section(seen, "strips_before"))
                frame.found(section(seen, "strips_after"))
    st.header("Error by level", anchor=False)
    for column, name in zip(st.columns(2), ("errors_by_level", "expected_by_level"), strict=True):
        with column:
            frame.found(section(seen, name))
    _sums(consistency.sums(inputs, tables, memo=remember), tables.data)
    release = inputs.release(tables.data)
    controls.split_by_level(partial(split_by_level, release, tables.data, inputs.label), key="con_split_table")
    plans.button("con", partial(plans.of_experiment, release, "con"), "from Consistency")
    st.header("What you learn", anchor=False)
    bias = consistency.bias_by_size(inputs, tables, memo=remember)
    prose(bias.answer)
    frame.found_table(bias, formats=dict.fromkeys(("mean error before", "mean error after"), short), width="content")


def _sums(sums: Finding, data: Dataset) -> None:
    """Whether the children of the node looked at add up to it, with a finder of nodes."""
    st.header("Do the children add up?", anchor=False)
    way_up(data.tree, data.labels, NODE.key)
    _finder(data)
    st.text(sums.answer)
    frame.found_table(sums, formats=dict.fromkeys((of_truth("true count"), "before", "after"), amount))


def _finder(data: Dataset) -> None:
    """Find a node by its label; labels are shown in a table, which shows them literally."""
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
