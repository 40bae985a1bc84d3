"""A split of one's own: a slider and a lock for each level, which keep the sum, and a text for any number of levels."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import tuned
from pages.ui.page import Told
from pages.ui.shared import experiment
from pages.ui.store import dataset
from pages.ui.text import lit
from pages.views.budget import ask, compared, words
from pages.views.budget import settings as s
from pages.views.budget.compared import Compared, custom_shares
from pages.views.budget.strategies import comparison, ledger, verdict
from treedp_core.allocation.shares import UNITS, fitted, in_units, rebalanced, text_of, values_of_text
from treedp_core.checks import InputError
from treedp_core.studies.budget import Result
from treedp_core.words import percent, plural

_GOOD: Final = "_budget_units"
LEVEL: Final = "bud_own_level"
SHARE: Final = "bud_own_share"


def show() -> Told:
    """Show one level's share to move, what the split gives, and how it compares; under *More* every level's."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _one_level()
        place = st.container(width="content")
        ask.draw_prior()
    return compared.show(ask.question(), partial(_custom, place), _more)


def _custom(place: DeltaGenerator, one: Compared) -> None:
    with place:
        _start_from(one)
    row = one.row(s.CUSTOM)
    if row is not None:
        st.session_state[_GOOD] = _units()
    others = [other for other in one.rows if other is not row]
    told = words.mine(row, one.rows, one.question)
    comparison(
        one, others if row is None else [row, *others], "bud_custom", told.replace("*", ""),
        "Expected errors on the true counts (closed form), beside the other strategies.", told,
    )  # fmt: skip
    _unspent()


def _more(one: Compared) -> None:
    ask.more(metric=True, slices=True)
    n_levels = dataset().tree.n_levels
    few = n_levels <= s.MAX_INPUTS
    if few:
        _sliders(_units())
    too_many = "" if few else f" {plural(n_levels, 'level')} are too many for sliders."
    s.SHARES.said(help=f"{s.SHARES.help}{too_many}").draw(on_change=_typed)
    verdict(one)
    ledger(one)


def _one_level() -> None:
    """The share of a level that is chosen; the others that are not locked share the rest."""
    data, units, public = dataset(), _units(), _public()
    names = data.labels.level_names
    free = [level for level in range(data.tree.n_levels) if level not in public] or [0]
    if st.session_state.get(LEVEL) not in free:
        st.session_state[LEVEL] = free[0]
    level = st.selectbox(
        "Level", free, key=LEVEL, format_func=lambda level: lit(names[level], 24), width=150,
        help="Whose share the slider beside moves.",
    )  # fmt: skip
    st.session_state[SHARE] = units[level] / 10
    st.slider(
        "Share %", 0.0, 100.0, step=0.1, key=SHARE, format="%.1f", on_change=_moved, args=(level, SHARE), width=240,
        help="Of the total budget. The levels that are not locked share the rest; all levels are under **More**.",
    )  # fmt: skip


def _unspent() -> None:
    """Say what the levels leave, and for whom."""
    left, origin = UNITS - sum(_units()), tuned.of("bud")
    with st.container(horizontal=True, vertical_alignment="center"):
        if left > 0:
            why = "; the prior that this split was tuned on is paid from it" if origin and origin.spent else ""
            st.caption(f"{percent(left / UNITS)} of the total is not spent on levels{why}.", width="content")
        if origin is not None:
            st.caption(origin.label, width="content")
            tuned.own("bud")


def _start_from(one: Compared) -> None:
    with st.popover("Start from", icon=":material/content_copy:", help="Takes over the shares of a strategy"):
        for row in one.rows:
            if row.name != s.CUSTOM:
                st.button(
                    row.label, key=f"bud_copy_{row.name}", on_click=_copy, args=(row,), type="tertiary",
                    help="Takes over its shares.",
                )  # fmt: skip


def _copy(row: Result) -> None:
    """Take over a strategy's shares and what they were tuned on; what that cost stays unspent."""
    s.SHARES.set(row.handed_over)
    s.STRATEGY.set(s.CUSTOM)
    tuned.keep("bud", row.origin)


def _units() -> list[int]:
    """The present shares in thousandths; the last good ones while the text cannot be read."""
    n_levels = dataset().tree.n_levels
    try:
        shares = [float(share) for share in custom_shares()]
    except InputError:
        kept = st.session_state.get(_GOOD, [])
        return kept if len(kept) == n_levels else in_units([1.0] * n_levels)
    return in_units(fitted(shares, n_levels))


def _locked() -> set[int]:
    try:
        marks = fitted(values_of_text(s.LOCKS.value), dataset().tree.n_levels)
    except InputError:
        return set()
    return {level for level, mark in enumerate(marks) if mark}


def _public() -> set[int]:
    return {0} if experiment().unit.total_is_public else set()


def _sliders(units: list[int]) -> None:
    """One column a level: the share in percent, and a lock; the root has none where the total is public."""
    data, locked = dataset(), _locked()
    columns = st.columns(data.tree.n_levels)
    for level, (column, name) in enumerate(zip(columns, data.labels.level_names, strict=True)):
        key, lock = f"bud_s{level}", f"bud_lock{level}"
        st.session_state[key] = units[level] / 10
        st.session_state[lock] = level in locked
        fixed = level in _public()
        column.slider(
            f"{lit(name, 18)} %", 0.0, 100.0, step=0.1, key=key, format="%.1f", on_change=_moved, args=(level, key),
            disabled=fixed,
            help=f"{plural(int(data.tree.level_sizes[level]), 'node')}. The levels that are not locked share the rest.",
        )  # fmt: skip
        column.checkbox(
            "public" if fixed else "Lock", key=lock, on_change=_lock, disabled=fixed, help="Keep this level's share."
        )


def _moved(level: int, key: str) -> None:
    wanted = round(10 * float(st.session_state[key]))
    s.SHARES.set(text_of([u / UNITS for u in rebalanced(_units(), level, wanted, _locked() | _public())]))
    s.STRATEGY.set(s.CUSTOM)


def _typed() -> None:
    """Shares typed over tuned ones may be made from them; an emptied field stands for equal ones, made from nothing."""
    if not s.SHARES.value.strip():
        tuned.keep("bud", None)
    s.STRATEGY.set(s.CUSTOM)


def _lock() -> None:
    s.LOCKS.set(text_of([float(st.session_state[f"bud_lock{i}"]) for i in range(dataset().tree.n_levels)]))
