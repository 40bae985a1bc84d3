"""How many records of one unit should count: the bound is dragged, and what it leaves out stands beside its noise."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.inputs.inactive_settings import Reasons
from pages.ui.inputs.setting import Setting, control, in_a_row
from pages.ui.inputs.settings import CONTRIBUTIONS, EPSILON
from pages.ui.inputs.text import lit, small_print
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.upload_slot import Candidate, Table
from pages.ui.upload import upload
from pages.views.protects.view import MECHANISM
from treedp_core.notebook.code import call
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset, count_hierarchy, domain_taken_from_the_data
from treedp_core.studies.protects.unit_bound import public_units
from treedp_core.views import VIEWS
from treedp_core.views.inputs import parameter
from treedp_core.views.protects.unit_bound import PRIOR, BoundInputs, of_units
from treedp_core.words import percent, privacy_text, short, whole

# Settings of the view that a link can carry.

BOUND: Final = control(
    parameter(BoundInputs, "bound"), format=whole, width=230,
    help="Of each unit the first so many records count, the others are left out. The noise grows with it. A handle of "
    "this view alone: nothing is counted anew until you use the bound.",
)  # fmt: skip
LEVEL: Final = control(
    parameter(BoundInputs, "level"), label="Error of", look="select", width=190,
    help="Whose error is compared: that of all levels added up, or of one of them.",
)  # fmt: skip
SPLIT: Final = control(
    parameter(BoundInputs, "allocation"), label="Budget split", look="select",
    help="How the levels share ε; the bound that is best depends on it.",
)  # fmt: skip
SHARES: Final = control(
    parameter(BoundInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=controls.SHARES_HELP
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (BOUND, LEVEL, SPLIT, SHARES)


IGNORED: Final[Reasons] = {"contributions": "Here the bound that is dragged stands in its place."}
EACH_ROW: Final = "each record is a unit of its own"
UNIT: Final = "bound_unit"
_SHORT: Final = ("noise", "bias of a node, mean", "left out, RMS", "RMSE", "expected RMSE", "times the best")
FORMATS: Final[dict[str, Any]] = {
    "part of ε": percent, "ε for the bound": privacy_text, "ε for the counts": privacy_text, "nodes": whole,
    "best bound": whole, of_truth("best bound"): whole,
    **{head: short for name in _SHORT for head in (name, of_truth(name))},
}  # fmt: skip


def show() -> Told:
    """Show what bounds on the records of one unit leave out against the noise that they need."""
    data = store.dataset()
    names_units = bool(data.report.recipe.unit)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        if not names_units:
            _unit(data)
        with st.container(width=200):
            EPSILON.draw()
        BOUND.draw()
        controls.level_picker(LEVEL, ["all levels, added up", *data.labels.level_names])
        if names_units:
            _use()
    seen = see(VIEWS["protects.bound"], inputs_now(BoundInputs))
    frame.found(seen)
    seen.say_state("Computing")
    if not names_units:
        _how_to_say(data)
    note_of_delta([MECHANISM.value], "bound_set_delta")
    return seen.told(more=partial(_more, seen))


def _slot(data: Dataset) -> str | None:
    """Return where the table in use is kept, if it can be counted again with another column of units."""
    table = next(((slot, one) for slot, one in session_tables.slots().items() if one.data is data), None)
    return None if table is None or not table[1].can_be_counted_again or data.report.recipe.weight else table[0]


def _unit(data: Dataset) -> None:
    """Ask which column names the units, where the columns of the table are here."""
    slot = _slot(data)
    table = None if slot is None else session_tables.of(slot)
    if slot is None or table is None or table.columns is None or table.ran is None:
        return
    counted_by = table.ran.args[1]
    taken = {counted_by} if isinstance(counted_by, str) else set(counted_by)
    columns = [name for name in table.columns.preview.columns if name not in taken]
    key, now = f"{UNIT}_{data.fingerprint[:8]}", data.report.recipe.unit
    st.selectbox(
        "Column that names units", ["", *columns], key=key, index=columns.index(now) + 1 if now in columns else 0,
        format_func=lambda name: lit(name, 24) if name else EACH_ROW, width=200,
        on_change=_count_by, args=(slot, key),
        help="Persons, households, devices: all records with the same value are of one unit. The table is counted anew "
        "at once, with as many records of each as the sidebar's promise says.",
    )  # fmt: skip


def _count_by(slot: str, key: str) -> None:
    """Have a table counted anew with the column of units that was chosen: in a callback."""
    table = session_tables.of(slot)
    valued = {"value": None} if table is not None and table.data.report.recipe.value else {}
    upload.count_again(slot, unit=st.session_state[key] or None, contributions=CONTRIBUTIONS.value, **valued)


def _use() -> None:
    """Offer to count with the bound everywhere."""
    bound = BOUND.value
    st.button(
        "Use this bound", key="bound_use", icon=":material/check:", on_click=_use_everywhere,
        disabled=CONTRIBUTIONS.value == bound,
        help=f"Every page protects at most {whole(bound)} of a unit's records then, and tables of your own are counted "
        "with as many. Chosen by looking at this figure, the bound is no private choice.",
    )  # fmt: skip


def _use_everywhere() -> None:
    """Set the bound of all pages, and count the tables anew that can be: in a callback."""
    CONTRIBUTIONS.set(BOUND.value)
    upload.count_all_again(upload.counted_with_another_bound(), contributions=BOUND.value)


def _how_to_say(data: Dataset) -> None:
    """Say how a column of units is chosen where none is."""
    if _slot(data) is not None:
        small_print("Choose above which column names whom a record is about: persons, households, devices.")
    elif store.is_uploaded():
        small_print("Its columns are not kept, or its rows are counts: give the file once more, and name the units.")
    else:
        small_print("The sample *Flights from New York* names units, and so may a file of your own (*Data and tree*).")


def _more(seen: Seen[BoundInputs]) -> None:
    """Show rows by unit, levels in numbers, and what a private choice costs."""
    data = seen.tables.value.data
    if data.report.recipe.unit:
        st.header("Records of each unit", anchor=False)
        _unit(data)
        frame.found(section(seen, "units"))
    st.header("By level", anchor=False)
    with in_a_row():
        MECHANISM.draw()
        controls.split(SPLIT, SHARES)
    frame.found(section(seen, "levels"), formats=FORMATS, width="content")
    if of_units(seen.tables.value).report.unit_rows is not None:
        st.header("A bound that is paid for", anchor=False)
        frame.found(section(seen, "paid"), formats=FORMATS, width="content")
    if not uploads.is_public():
        st.header("A public table in its place", anchor=False)
        _public(data)


def _public(data: Dataset) -> None:
    """Show the uploader of public records, whose units stand for those of the data, or the card of what it gave."""
    found = upload.upload(PRIOR, asks="units")
    if isinstance(found, Candidate):
        upload.choose_columns(found, partial(_form, store.dataset()))
    elif store.from_file(PRIOR) is None:
        small_print("Records of the same kind, such as last year’s: the bound that is best for them costs nothing.")


def _form(data: Dataset, table: Table) -> upload.Count | None:
    """Ask which column of public records names the units; the levels are those of the data."""
    made, names = dict(data.report.recipe.derived), data.labels.level_names[1:]
    columns = [name for name in names if name in table.preview.columns or name in made]
    others = [name for name in table.preview.columns if name not in columns]
    unit = table.column("Unit column", "unit", none="Choose one", among=others,
                        help="It says whom a row is about, as in your own table.")  # fmt: skip
    if not columns:
        small_print(f"None of its columns is a level of the data: {', '.join(lit(name, 24) for name in names)}.")
    if unit is None or not columns:
        return None
    return lambda: table.counted(
        count_hierarchy, columns, domain=call(domain_taken_from_the_data).named("domain"), unit=unit,
        contributions=CONTRIBUTIONS.value, derive={name: made[name] for name in columns if name in made} or None,
        then=lambda counted: counted.giving(public_units(data, counted.value)),
    )  # fmt: skip
