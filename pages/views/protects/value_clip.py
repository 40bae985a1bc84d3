"""How much a value may add to sums: the clip is dragged, and what it leaves out stands beside its noise."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.inputs.inactive_settings import Reasons
from pages.ui.inputs.setting import Setting, control, in_a_row, key_of
from pages.ui.inputs.settings import EPSILON
from pages.ui.inputs.text import lit, small_print
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables import plans, session_tables, store
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.upload_slot import ask_marks_beside, marks_by_cells, slot_of
from pages.ui.upload import upload
from pages.views.protects.unit_bound import LEVEL, SHARES, SPLIT
from pages.views.protects.view import MECHANISM
from treedp_core.notebook.code import Ran, call
from treedp_core.plans import ReleasePlan
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset, HeldColumns, count_hierarchy
from treedp_core.views import VIEWS
from treedp_core.views.inputs import parameter
from treedp_core.views.protects.value_clip import ClipInputs, best_shares, release_plan
from treedp_core.words import percent, privacy_text, short, whole

# Settings of the view that a link can carry.

CLIP: Final = control(
    parameter(ClipInputs, "clip"), format=whole, width=170,
    help="What a value adds at most, in steps of its grid: what is above is left out. The noise grows with it.",
)  # fmt: skip
SETTINGS: Final[tuple[Setting[Any], ...]] = (CLIP,)

IGNORED: Final[Reasons] = {"contributions": "Each record is a unit of its own here, with one value."}
MADE_UP: Final = "made-up values"
_SHORT: Final = (
    "noise", "noise after least squares", "bias of a node, mean", "left out, RMS", "RMSE", "expected RMSE",
    "times the best", "clip", "best clip", "left out of the sum",
)  # fmt: skip
_PERCENT: Final = ("part of ε", "RMSRE", "RMSRE without least squares")


def _part(value: float) -> str:
    """A part in percent; an infinite one is that of a level which is not measured."""
    return percent(value) if math.isfinite(value) else "not measured"


FORMATS: Final[dict[str, Any]] = {
    "ε for the clip": privacy_text, "ε for the sums": privacy_text, "nodes": whole,
    **{head: short for name in _SHORT for head in (name, of_truth(name))},
    **{head: _part for name in _PERCENT for head in (name, of_truth(name))},
}  # fmt: skip


def show() -> Told:
    """Show what clips on values leave out against the noise that they need."""
    data = store.dataset()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        _value(data)
        with st.container(width=165):
            EPSILON.draw()
        CLIP.draw()
        controls.level_picker(LEVEL, ["all levels, added up", *data.labels.level_names])
    _ask_marks(data, if_open=True)
    seen = see(VIEWS["protects.clip"], inputs_now(ClipInputs))
    frame.found(seen)
    seen.say_state("Computing")
    if _slot(data) is None:
        small_print(
            "A file of your own with one row a record may have a column of values: count it on *Data and tree*."
        )
    _ask_marks(data, if_open=False)
    note_of_delta([MECHANISM.value], "clip_set_delta")
    return seen.told(more=partial(_more, seen))


def _slot(data: Dataset) -> str | None:
    """Return where the table in use is kept, if it can be counted again with a column of values."""
    table = next(((slot, one) for slot, one in session_tables.slots().items() if one.data is data), None)
    if table is None or not table[1].can_be_counted_again or table[1].columns is None or data.report.recipe.weight:
        return None
    return table[0] if table[1].ran is not None and table[1].ran.function is count_hierarchy else None


def _value(data: Dataset) -> None:
    """Ask which column is the value, and its grid, where the columns of the table are here."""
    slot = _slot(data)
    table = None if slot is None else session_tables.of(slot)
    if slot is None or table is None or table.columns is None or table.ran is None:
        return
    taken = set(table.ran.args[1])
    columns = [name for name in table.columns.numbers if name not in taken]
    recipe, key = data.report.recipe, _key(data)
    _let_go_of_what_was_refused(slot, key, recipe.value)
    st.selectbox(
        "Column of values", ["", *columns], key=key,
        index=columns.index(recipe.value) + 1 if recipe.value in columns else 0,
        format_func=lambda name: lit(name, 24) if name else MADE_UP, width=140,
        on_change=_count_by, args=(slot, key),
        help="A number of at least 0 on each row, such as an amount. The table is counted anew at once, each row a "
        "record of its own.",
    )  # fmt: skip
    st.number_input(
        "Grid", min_value=0.0001, max_value=1e9, value=recipe.grid or 1.0, key=key + "_grid", width=80, format="%g",
        on_change=_count_by, args=(slot, key),
        help="Values are rounded to its multiples; public, such as one cent. A clip has at most 1 000 of them.",
    )  # fmt: skip


def _let_go_of_what_was_refused(slot: str, key: str, counted: str) -> None:
    """Have the list name the column that the table is counted with, once another one was refused."""
    chosen, held = st.session_state.get(key), _columns_of(slot)
    if not chosen or chosen == counted or held is None or slot_of(slot).counting is not None:
        return
    if marks_by_cells(held, chosen, st.session_state.get(_marks_key(key, chosen))) is not None:
        st.session_state[key] = counted


def _key(data: Dataset) -> str:
    return f"clip_value_{data.fingerprint[:8]}"


def _ask_marks(data: Dataset, *, if_open: bool) -> None:
    """Ask how the numbers of the column that is chosen are written, and count by what is said."""
    slot, key = _slot(data), _key(data)
    name, held = st.session_state.get(key), None if slot is None else _columns_of(slot)
    if slot is not None and name and held is not None:
        before = dict(data.report.recipe.marks).get(name)
        ask_marks_beside(
            held, name, _marks_key(key, name), before=before, on_change=partial(_count_by, slot, key), if_open=if_open
        )


def _columns_of(slot: str) -> HeldColumns | None:
    table = session_tables.of(slot)
    return None if table is None else table.columns


def _marks_key(key: str, name: str) -> str:
    return f"{key}_marks_{key_of(name)}"


def _count_by(slot: str, key: str) -> None:
    """Have a table counted anew with the column of values that was chosen, once it is clear how it is written."""
    name, held = st.session_state[key] or None, _columns_of(slot)
    marks: str | None = ""
    if name is not None and held is not None:
        marks = marks_by_cells(held, name, st.session_state.get(_marks_key(key, name)))
    if marks is None:
        return
    grid = float(st.session_state[key + "_grid"])
    upload.count_again(slot, value=name, grid=grid, unit=None, contributions=1, marks={name: marks} if marks else None)


def _more(seen: Seen[ClipInputs]) -> None:
    """Show levels in numbers, budgets, what a private choice costs, and the way to a plan."""
    data = seen.tables.value.data
    st.header("By level", anchor=False)
    with in_a_row():
        MECHANISM.draw()
        controls.split(SPLIT, SHARES)
    frame.found(section(seen, "levels"), formats=FORMATS, width="content")
    st.header("Budgets for sums", anchor=False)
    spent = {f"spent on {name}": privacy_text for name in data.labels.level_names}
    splits = section(seen, "budgets")
    frame.found(splits, formats=FORMATS | spent, width="content")
    if splits.result.is_ready and (shares := best_shares(splits.found_for, seen.tables.value, memo=store.remember)):
        st.button(
            "Use the best of these splits", key="clip_use_split", icon=":material/call_split:", on_click=_use_split,
            args=(shares,),
            help="Takes its shares as the budget split of this view, by level, in the figure and in the plan.",
        )  # fmt: skip
    st.header("A clip that is paid for", anchor=False)
    frame.found(section(seen, "paid"), formats=FORMATS, width="content")
    if data.report.values is not None:
        plans.button("clip", partial(_plan, seen, data), "from What ε protects")


def _use_split(shares: str) -> None:
    """Take shares as the split: in a callback."""
    SHARES.set(shares)
    SPLIT.set("custom")


def _plan(seen: Seen[ClipInputs], data: Dataset) -> Ran[ReleasePlan]:
    """The plan of a release of the sums: least squares after noise for the clip."""
    return call(release_plan, seen.found_for, seen.tables, store.unit_of(data)).named("plan")
