"""A split of one's own: a slider and a lock for each level, which keep the sum, and a text for any number of levels."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame, tuned
from pages.ui.settings import get
from pages.ui.shared import experiment
from pages.ui.snippets import call
from pages.ui.store import dataset
from pages.ui.text import lit, plural
from pages.views.budget import state as budget_state
from pages.views.budget import view as budget_view
from pages.views.budget.settings import CUSTOM
from pages.views.budget.split import Row
from pages.views.budget.state import Results
from pages.views.budget.tables import strategy_table
from treedp_core.allocation.shares import UNITS, fitted, in_units, rebalanced, text_of, values_of_text
from treedp_core.checks import InputError

MAX_SLIDERS: Final = 8
_GOOD: Final = "_budget_units"


def show(result: Results) -> None:
    """Show the sliders, what they give, and how it compares."""
    _start_from(result)
    n_levels = dataset().tree.n_levels
    if n_levels <= MAX_SLIDERS:
        _sliders(_units())
    st.text_input(
        "Shares, from the root down",
        key="bud_shares",
        persist_state="session",
        max_chars=200,
        placeholder="0.2, 0.3, 0.5",
        on_change=_typed,
        help="One share for each level, summing to at most 1; what they leave is not spent. "
        + ("" if n_levels <= MAX_SLIDERS else f"{plural(n_levels, 'level')} are too many for sliders."),
    )
    _unspent()
    budget_view.cards(result)
    row = result.row(CUSTOM)
    if row is not None:
        st.session_state[_GOOD] = _units()
    frame.figure(
        budget_view.figure_of(result),
        key="bud_custom",
        alt="The other strategies; your own shares do not fit the tree."
        if row is None
        else f"Your own split: {result.settings.metric} of the tree {row.errors.tree:.3g}.",
        caption="NOT PRIVATE: expected errors on the true counts (closed form), beside the other strategies.",
        ran=call(
            strategy_table,
            budget_state.rows_again(result),
            dataset().labels.level_names,
            result.label,
            result.settings.metric,
        ).saying(result.label),
    )


def _unspent() -> None:
    """Say what the levels leave, and for whom."""
    left, origin = UNITS - sum(_units()), tuned.of("bud")
    with st.container(horizontal=True, vertical_alignment="center"):
        if left > 0:
            why = "; the prior that this split was tuned on is paid from it" if origin and origin.spent else ""
            st.caption(f"{left / 10:g} % of the total is not spent on levels{why}.", width="content")
        if origin is not None:
            st.caption(origin.label, width="content")
            tuned.own("bud")


def _start_from(result: Results) -> None:
    rows = [row for row in result.rows or () if row.name != CUSTOM]
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown("Start from", width="content")
        for row in rows:
            st.button(row.label, key=f"bud_copy_{row.name}", on_click=_copy, args=(row,), type="tertiary")


def _copy(row: Row) -> None:
    """Take over a strategy's shares and what they were tuned on; what that cost stays unspent."""
    st.session_state.update({"bud_shares": row.handed_over, "bud_strategy": CUSTOM, **tuned.keep("bud", row.origin)})


def _units() -> list[int]:
    """The present shares in thousandths; the last good ones while the text cannot be read."""
    n_levels = dataset().tree.n_levels
    try:
        shares = [float(share) for share in budget_state.custom_shares()]
    except InputError:
        kept = st.session_state.get(_GOOD, [])
        return kept if len(kept) == n_levels else in_units([1.0] * n_levels)
    return in_units(fitted(shares, n_levels))


def _locked() -> set[int]:
    try:
        marks = fitted(values_of_text(get("bud_locks")), dataset().tree.n_levels)
    except InputError:
        return set()
    return {level for level, mark in enumerate(marks) if mark}


def _public() -> bool:
    return experiment().unit.total_is_public


def _sliders(units: list[int]) -> None:
    """One column a level: the share in percent, and a lock; the root has none where the total is public."""
    data, locked = dataset(), _locked()
    columns = st.columns(data.tree.n_levels)
    for level, (column, name) in enumerate(zip(columns, data.labels.level_names, strict=True)):
        key, lock = f"bud_s{level}", f"bud_lock{level}"
        st.session_state[key] = units[level] / 10
        st.session_state[lock] = level in locked
        free = not (level == 0 and _public())
        column.slider(
            f"{lit(name, 18)} %",
            0.0,
            100.0,
            step=0.1,
            key=key,
            format="%.1f",
            on_change=_moved,
            args=(level,),
            disabled=not free,
            help=f"{plural(int(data.tree.level_sizes[level]), 'node')}. The levels that are not locked share the rest.",
        )
        column.checkbox(
            "Lock" if free else "public", key=lock, on_change=_lock, disabled=not free, help="Keep this level's share."
        )


def _moved(level: int) -> None:
    wanted = round(10 * float(st.session_state[f"bud_s{level}"]))
    locked = _locked() | ({0} if _public() else set())
    st.session_state["bud_shares"] = text_of([u / UNITS for u in rebalanced(_units(), level, wanted, locked)])
    st.session_state["bud_strategy"] = CUSTOM


def _typed() -> None:
    """Shares typed over tuned ones may be made from them; an emptied field stands for equal ones, made from nothing."""
    if not get("bud_shares").strip():
        st.session_state.update(tuned.keep("bud", None))
    st.session_state["bud_strategy"] = CUSTOM


def _lock() -> None:
    marks = [int(bool(st.session_state.get(f"bud_lock{level}"))) for level in range(dataset().tree.n_levels)]
    st.session_state["bud_locks"] = text_of(marks)
