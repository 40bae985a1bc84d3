"""The levels of a table of one's own: pressing one leaves it out, and the table is counted anew at once."""

from __future__ import annotations

import streamlit as st

from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.setting import key_of
from pages.ui.inputs.text import lit
from pages.ui.tables import session_tables
from pages.ui.tables.upload_slot import slot_of
from pages.ui.upload.upload import count_without
from treedp_core.checks import InputError


def levels(slot: str) -> None:
    """Show the levels of the table in a slot, where it can be counted by some of them without its file."""
    table = session_tables.of(slot)
    if table is None or table.columns is None:
        return
    used, state = table.data.labels.level_names[1:], slot_of(slot)
    is_known = used == tuple(name for name in state.levels if name in used)  # in their order, too
    held, known = set(table.columns.preview.columns), state.levels if is_known else used
    offered = [name for name in known if name in used or (name in held and table.domain_for((*used, name)))]
    if len(offered) < 2 or not set(used) <= held or table.domain_for(used) is None or state.wants:
        return
    key = f"{slot}_levels_{key_of(*offered)}"
    if state.counting is None or not state.counting.in_place:
        st.session_state[key] = list(used)
    st.pills(
        "Levels", offered, selection_mode="multi", key=key, format_func=lambda name: lit(name, 24),
        on_change=_chosen, args=(slot, key, tuple(offered), tuple(used)),
        help="Press a level to leave it out, once more to have it back: the table is counted anew. Others, and their "
        "order, are chosen under *More*, *Hierarchy*.",
    )  # fmt: skip


def _chosen(slot: str, key: str, offered: tuple[str, ...], used: tuple[str, ...]) -> None:
    """Have the table counted by the levels that are left; it needs one."""
    state, wanted = slot_of(slot), [name for name in offered if name in st.session_state[key]]
    if not wanted:
        refusal_in_passing(InputError("TREE_SHAPE", "A tree needs a level below its root."))
        st.session_state[key] = list(used)
        return
    state.levels = offered
    count_without(slot, wanted if wanted != list(used) else ())
