"""A split of one's own: a bar with borders to drag, a slider and a lock for each level, and a text for any number."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.follow import Drag
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.text import lit, small_print
from pages.ui.page.page import Told
from pages.ui.page.share_bar import share_bar
from pages.ui.page.view import Seen, see
from pages.ui.tables import tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.store import dataset
from pages.views.budget import settings as s
from pages.views.budget.controls import draw_prior, more, say
from pages.views.budget.view import SEARCHED, ledger, verdict
from treedp_core.allocation.shares import UNITS, fitted, in_units, rebalanced, text_of, values_of_text
from treedp_core.checks import InputError
from treedp_core.studies.budget import Result
from treedp_core.views import VIEWS, budget
from treedp_core.views.budget import BudgetInputs
from treedp_core.words import percent, plural

_GOOD: Final = "_budget_units"
BAR: Final = "bud_own_bar"
MAX_PARTS: Final = 64
"""Levels up to which the borders of the bar can be told apart."""


def show() -> Told:
    """Show the split to drag, what it gives, and how it compares; under *More* a slider a level."""
    data = dataset()
    if data.tree.n_levels <= MAX_PARTS:
        share_bar("Budget split", data.labels.level_names, _units(), _locked() | _public(), key=BAR, on_move=_dragged)
    else:
        small_print(f"{plural(data.tree.n_levels, 'level')} are too many to drag: shares can be typed under **More**.")
    with in_a_row():
        place = st.container(width="content")
        draw_prior()
    seen = see(VIEWS["budget.custom"], replace(inputs_now(BudgetInputs), strategy=s.CUSTOM))
    if seen.result.is_ready:
        st.session_state[_GOOD] = _units()
        with place:
            _start_from(seen.of(budget.comparison).rows)
    frame.found(seen, drag=Drag(BAR, (s.SHARES.key,), seen.given.shares, lambda text: {"shares": text}))
    _unspent()
    say(seen, SEARCHED)
    return seen.told(more=partial(_more, seen))


def _more(seen: Seen[BudgetInputs]) -> None:
    more(metric=True, slices=True)
    n_levels = dataset().tree.n_levels
    few = n_levels <= s.MAX_INPUTS
    if few:
        _sliders(_units())
    too_many = "" if few else f" {plural(n_levels, 'level')} are too many for sliders."
    s.SHARES.said(help=f"{s.SHARES.help}{too_many}").draw(on_change=_typed)
    if seen.result.is_ready:
        verdict(seen)
        ledger(seen)


def _unspent() -> None:
    """Say what the levels leave, and for whom."""
    left, origin = UNITS - sum(_units()), inputs_now(BudgetInputs).origin
    with st.container(horizontal=True, vertical_alignment="center"):
        if left > 0:
            why = "; the prior that this split was tuned on is paid from it" if origin and origin.spent else ""
            small_print(f"{percent(left / UNITS)} of the total is not spent on levels{why}.", width="content")
        if found := tuning_provenance.whence("bud"):
            small_print(found, width="content")
        if origin is not None:
            small_print(origin.label, width="content")
            tuning_provenance.own("bud")


def _start_from(rows: tuple[Result, ...]) -> None:
    with st.popover("Start from", icon=":material/content_copy:", help="Takes over the shares of a strategy"):
        for row in rows:
            if row.name != s.CUSTOM:
                st.button(
                    row.label, key=f"bud_copy_{row.name}", on_click=_copy, args=(row,), type="tertiary",
                    help="Takes over its shares.",
                )  # fmt: skip


def _copy(row: Result) -> None:
    """Take over a strategy's shares and what they were tuned on; what that cost stays unspent."""
    s.SHARES.set(row.handed_over)
    s.STRATEGY.set(s.CUSTOM)
    tuning_provenance.keep("bud", row.origin)


def _units() -> list[int]:
    """The present shares in thousandths; the last good ones while the text cannot be read."""
    data = dataset()
    n_levels = data.tree.n_levels
    try:
        shares = [float(share) for share in inputs_now(BudgetInputs).own_shares(data)]
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
    return {0} if inputs_now(BudgetInputs).experiment(dataset()).unit.total_is_public else set()


def _sliders(units: list[int]) -> None:
    """One column a level: the share in percent, and a lock; the root has none where the total is public."""
    data, locked = dataset(), _locked()
    columns = st.container(key="bud_sliders").columns(data.tree.n_levels)
    for level, (column, name) in enumerate(zip(columns, data.labels.level_names, strict=True)):
        key, lock = f"bud_s{level}", f"bud_lock{level}"
        st.session_state[key] = units[level] / 10
        st.session_state[lock] = level in locked
        fixed = level in _public()
        column.slider(
            f"{lit(name, 18)} %", 0.0, 100.0, step=0.1, key=key, format="%.1f", on_change=_moved, args=(level,),
            disabled=fixed,
            help=f"{plural(int(data.tree.level_sizes[level]), 'node')}. The levels that are not locked share the rest.",
        )  # fmt: skip
        column.checkbox(
            "public" if fixed else "Lock", key=lock, on_change=_lock, disabled=fixed, help="Keep this level's share."
        )


def _moved(level: int) -> None:
    """Follow a slider; a hand moves one, and several at once are of a page that has not drawn the last move yet."""
    units = _units()
    stand = [round(10 * float(st.session_state[f"bud_s{at}"])) for at in range(len(units))]
    if sum(there != unit for there, unit in zip(stand, units, strict=True)) == 1:
        _dragged(rebalanced(units, level, stand[level], _locked() | _public()))


def _dragged(units: list[int]) -> None:
    s.SHARES.set(text_of([unit / UNITS for unit in units]))
    s.STRATEGY.set(s.CUSTOM)


def _typed() -> None:
    """Shares typed over tuned ones may be made from them; an emptied field stands for equal ones, made from nothing."""
    if not s.SHARES.value.strip():
        tuning_provenance.keep("bud", None)
    s.STRATEGY.set(s.CUSTOM)


def _lock() -> None:
    locked = [float(st.session_state[f"bud_lock{i}"]) for i in range(dataset().tree.n_levels)]
    s.LOCKS.set(text_of(locked) if any(locked) else "")
