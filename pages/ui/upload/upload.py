"""A file on its way to counts, in the same steps on every page: inspect, choose, count, replace.

A page asks with a slot. `upload` shows the uploader, or the card of what was counted; `choose_columns` shows a file's
first rows and the page's questions about its columns, and counts when asked to. The file goes; its counts stay in the
session, and its columns as codes where they fit, to be counted again. A refusal leaves what was counted before as it
was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.inputs.refusals import refusal, refusal_in_passing
from pages.ui.inputs.settings import CONTRIBUTIONS
from pages.ui.inputs.text import alert, lit, refusal_text
from pages.ui.jobs.memory_budget import ROOM
from pages.ui.session import uploads
from pages.ui.tables import result, session_tables, store
from pages.ui.tables.result import State
from pages.ui.tables.upload_slot import COME, FROM_ELSEWHERE, Asks, Candidate, Counting, Slot, Table, read_file, slot_of
from pages.ui.tables.worker_read import Counted, Reading, say, say_refused
from pages.ui.upload import required_tables
from pages.ui.upload.reading_options import (
    ask_options,
    ask_part,
    ask_sheet,
    ask_sheet_by_name,
    first_rows,
    offer_mend,
    options_said,
)
from pages.ui.upload.table_cards import card, put_back_offer, waiting
from treedp_core.checks import InputError
from treedp_core.cli import LEVELS_VARIABLE
from treedp_core.notebook.code import call
from treedp_core.notebook.file.call_json import answers
from treedp_core.records import HeldColumns, count_hierarchy, domain_taken_from_the_data, inspect
from treedp_core.records.derive.derivation import levels_said
from treedp_core.records.read.layout.options import GUESSED
from treedp_core.records.read.readers import formats
from treedp_core.records.read.sniff import Preview
from treedp_core.records.worker_read import look_at

EACH_ROW: Final = "Each row is one record"


Count = Callable[[], Reading]
"""What says how a file is counted, once its columns are chosen."""


class _Words(NamedTuple):
    """What an uploader says, by what it asks for."""

    label: str
    help: str
    use: str = "Count"


_ASKS: Final[Mapping[Asks, _Words]] = {
    "tree": _Words(
        "{formats} file",
        "Also .csv.gz and .zip. The file is read on the computer that runs this app and discarded when it is counted; "
        "its columns stay in memory until you remove them. Larger ones: treedp FILE on the command line, or upload "
        "counts that a database has grouped.",
    ),
    "bins": _Words(
        "{formats} file",
        "Read on the computer that runs this app and discarded when it is counted; its columns stay in memory until "
        "you remove them.",
    ),
    "prior": _Words(
        "Prior file: public or historic counts on the same leaves",
        "One row a record, or one row a leaf with a column of counts. Every leaf of the data must occur, also where "
        "the count is 0. The file is read once and discarded. As a public one it costs nothing: your claim.",
        use="Use as prior",
    ),
    "units": _Words(
        "Public records of the same kind: {formats} file",
        "One row a record, with the levels of the data and a column that names units. The file is read once and "
        "discarded. As a public one it costs nothing: your claim.",
        use="Use these records",
    ),
}


def upload(slot: str, *, asks: Asks, path: Path | None = None) -> Candidate | Counted | None:
    """Show the uploader, the card of what was counted, or both while it is to be replaced.

    Parameters
    ----------
    slot : str
        Where the counts are kept: what `store.from_file` is asked with.
    asks : {"tree", "bins", "prior", "units"}
        What the file is wanted for.
    path : Path, optional
        A file of this computer, which is read where it is.

    Returns
    -------
    A file that waits for `choose_columns`; else what was counted, if anything was.
    """
    if uploads.is_public():
        st.info(
            f"A {uploads.called()} takes no files: use what comes with it. TreeDP on your own computer takes yours."
        )
        return None
    words, counted = _ASKS[asks], session_tables.of(slot)
    again = None if counted is None else store.counted_again(counted.data)
    if counted is not None:
        card(counted, slot, "" if path else ", file discarded", keeps=asks not in FROM_ELSEWHERE)
    if slot == "upload":
        waiting(slot)
    if slot not in session_tables.OWN:
        put_back_offer(slot)
    if counted is not None and not slot_of(slot).wants:
        return again
    if path is not None:
        st.markdown(f"{lit(path.name)} is read where it is; nothing is uploaded.")
        return Candidate(path, path.name, slot, asks)
    label = words.label.format(formats=formats())
    file = uploads.uploader(label, key=f"{slot}_{slot_of(slot).revision}", help=words.help)
    if file is not None:
        return Candidate(file, file.name, slot, asks)
    st.caption(
        "Counts from a file are gone after a reload or two minutes after you close the tab; a link never has them."
    )
    return again


def counted_before(slot: str) -> Candidate | None:
    """Return the columns kept of the file in a slot, to be counted in another way."""
    file = session_tables.of(slot)
    if file is None or file.columns is None:
        return None
    return Candidate(file.columns, file.data.name, slot, "tree", file.file_name)


def choose_columns(file: Candidate, form: Callable[[Table], Count | None]) -> None:
    """Show a file's first rows and the questions about it; count, and put the counts in its slot, when asked to."""
    slot = slot_of(file.slot)
    options, rows = [st.container()] * 2 if isinstance(file.origin, HeldColumns) else st.columns([1, 2])
    table = _looked_at(file, options, rows)
    if table is None:
        return
    with rows:
        ask_sheet(table)
        first_rows(table.preview)
    for code, sentence in table.preview.notices:
        if code != GUESSED:  # which stands beside the control that changes it
            notice(code, sentence)
    if table.columns is not None and table.columns is not file.origin:
        required_tables.say_of_file(table.columns.source_digest)
    count = form(table)
    said = st.container(key=f"{file.slot}_said_{slot.n_counted + slot.asked}")  # the app's script scrolls to a new one
    with st.container(key=f"{file.slot}_in_reach"):  # static/app.css holds it at the window's lower edge: a line or two
        st.button(
            _ASKS[file.asks].use, type="primary", key=f"{file.slot}_count", icon=":material/functions:",
            on_click=setattr, args=(slot, "asked", True), disabled=count is None,
            help="Choose the columns first, and the bounds of numbers." if count is None
            else "Count the records by these columns; a file is then discarded.",
        )  # fmt: skip
        if slot.asked and count is not None:
            slot.asked = False
            with said:
                _ask(slot, table, count)
        if slot.counting is not None and not slot.counting.in_place:
            _count(slot, file, said)


def count_without(slot_name: str, levels: Sequence[str]) -> None:
    """Have the table in a slot counted by these columns, or by none any more, all else as before: in a callback."""
    file, slot = counted_before(slot_name), slot_of(slot_name)
    last, slot.counting = session_tables.of(slot_name), None
    result.forget(f"{slot_name}_counting")
    if not levels or file is None or last is None or last.ran is None or (domain := last.domain_for(levels)) is None:
        return
    table = _of_columns(file)
    how = {**last.ran.kwargs, "domain": domain}
    slot.counting = Counting(table, table.counted(count_hierarchy, list(levels), **how), in_place=True)
    slot.n_counted += 1


def count_again(slot_name: str, **changes: Any) -> None:
    """Have the table in a slot counted as it was, but for some settings: in a callback."""
    file, slot, last = counted_before(slot_name), slot_of(slot_name), session_tables.of(slot_name)
    if file is None or last is None or last.ran is None or not last.can_be_counted_again:
        return
    table, how = _of_columns(file), dict(last.ran.kwargs)
    if last.ran.function is count_hierarchy:
        how["domain"] = last.domain_for(last.ran.args[1])
    counted = table.counted(last.ran.function, last.ran.args[1], **{**how, **changes})
    slot.counting = Counting(table, counted, in_place=True)
    slot.n_counted += 1


def count_all_again(slots: Sequence[str], **changes: Any) -> None:
    """Have the tables in some slots counted as they were, but for some settings: in a callback."""
    for slot in slots:
        count_again(slot, **changes)


def counted_with_another_bound() -> list[str]:
    """Return the slots of tables that a column names the units of, and that were not counted with the bound set."""
    bounds = ((slot, one.data.report.recipe.bound) for slot, one in session_tables.slots().items())
    return [slot for slot, bound in bounds if bound not in (0, CONTRIBUTIONS.value)]


def show_count(slot_name: str, *, at_the_side: bool = False) -> None:
    """Show how a count stands that began without its questions; at the side, a refusal is also said over the page."""
    file, slot = counted_before(slot_name), slot_of(slot_name)
    if file is not None and slot.counting is not None and slot.counting.in_place:
        refused = _count(slot, file, st.container())
        if refused is not None and at_the_side:
            refusal_in_passing(refused)


def _looked_at(file: Candidate, place: DeltaGenerator, above: DeltaGenerator) -> Table | None:
    """Look at a file, and read its columns into memory where they fit; None while nothing is known of it.

    What contradicts its first rows further on is said `above` them.
    """
    if isinstance(file.origin, HeldColumns):
        return _of_columns(file)
    with place:
        options = options_said(file)
    room = 0 if file.asks in FROM_ELSEWHERE else session_tables.columns_room()
    work = partial(look_at, file.content, name=file.name, options=options, limit=room)
    found = read_file(file, "look", options, work)
    if not found.is_ready:
        say(found)
        if found.error is not None:
            offer_mend(file, found.error)
            if found.error.code == "PART":
                ask_part(file)
        with place:
            ask_options(file, None)
        if found.error is not None and file.name.lower().endswith(".xlsx"):
            ask_sheet_by_name(file)
        return None
    preview, columns, refused = found.here()
    if columns is not None:
        ROOM.note_columns(columns)
    with place:
        ask_options(file, preview)
    if refused is not None:
        with above:
            alert(st.warning, refusal_text(refused), icon=":material/warning:")
            offer_mend(file, refused)
    options = replace(preview.options, sheet=preview.sheet or None)
    before = {} if columns is None else _before(file, columns, None)
    return Table(file, preview, options, columns, before or _said_at_the_start(file, preview))


def _of_columns(file: Candidate) -> Table:
    """Return the table of columns that are kept, and what it was counted by last."""
    columns = file.origin
    return Table(file, inspect(columns), columns.options, columns, _before(file, columns, session_tables.of(file.slot)))


def _before(file: Candidate, columns: HeldColumns, last: session_tables.Kept | None) -> dict[str, Any]:
    """What a table was counted by last; or else by a notebook that asks for it, or in another slot."""
    ran = last.ran if last is not None else required_tables.counted_by(file.slot, columns.source_digest)
    if ran is None and last is None and (there := session_tables.of(file.as_in)) is not None:
        ran = there.ran
    return {} if ran is None else answers(ran)


def _said_at_the_start(file: Candidate, preview: Preview) -> dict[str, Any]:
    """Return what was said at the start of a file of this computer, as answers to what is asked of its columns."""
    texts = os.environ.get(LEVELS_VARIABLE) if isinstance(file.origin, Path) else None
    if not texts:
        return {}
    try:
        said: dict[str, Any] = json.loads(texts)
        levels, made = levels_said(said.pop("levels", ()), preview.columns)
        others = [said[name] for name in ("weight", "unit") if name in said]
        levels_said([*others, *said.get("left_out", ())], [*preview.columns, *made])
    except InputError as error:
        refusal(error)
        return {}
    return said | {"columns": levels, "derive": made, "domain": call(domain_taken_from_the_data).named("domain")}


def notice(code: str, sentence: str) -> None:
    """Show something about a file that a person should know."""
    alert(st.info, refusal_text(InputError(code, sentence)), icon=":material/info:")


def _ask(slot: Slot, table: Table, count: Count) -> None:
    """Have a table counted, in place of what is being counted."""
    slot.counting = None
    try:
        slot.counting = Counting(table, count())
    except InputError as error:
        say_refused(error)
    slot.n_counted += 1
    if not isinstance(table.file.origin, HeldColumns):
        uploads.shown(table.file.id, f"{table.file.slot}_asked", partial(setattr, slot, "counting", None))


def _count(slot: Slot, file: Candidate, said: DeltaGenerator) -> InputError | None:
    """Show how the count stands; once it is there, put it in use. A refusal is `said` elsewhere, and returned."""
    assert slot.counting is not None
    table, reading, in_place = slot.counting.table, slot.counting.reading, slot.counting.in_place
    if table.file.id != file.id:  # another file is on the page now
        slot.counting = None
        return None
    found = read_file(file, "counting", slot.n_counted, reading.work)
    if not found.is_ready:
        with nullcontext() if found.error is None else said:
            say(found, "Counting" if table.is_whole else "Reading")
    if found.state is State.CANCELLED and in_place:  # all is as it was, and begins anew where it began
        slot.counting = None
        result.forget(found.slot)
        st.rerun()
    if not found.is_ready and found.error is None:
        return None
    slot.counting = None
    result.forget(found.slot)
    if found.is_ready:
        try:
            _put_in_use(table, reading.then(reading.ran.giving(found.here())), afresh=in_place)
        except InputError as error:
            with said:
                say_refused(error)
            return error
    return found.error


def _put_in_use(table: Table, ran: Counted, *, afresh: bool) -> None:
    """Put counts in use, free the uploaded files, and show the page anew: an empty uploader, columns as they are now.

    The questions about columns have what was answered, but `afresh` where the count was asked for elsewhere.
    """
    slot = slot_of(table.file.slot)
    is_new, name, before = table.file.origin is not table.columns, table.file.slot, session_tables.of(table.file.slot)
    if is_new and name in session_tables.OWN:
        called = session_tables.free_name(required_tables.called(ran.value), None if slot.wants == "add" else before)
        ran = ran.giving(replace(ran.value, name=called))
    if is_new and slot.wants == "add":
        session_tables.set_aside(name)
    store.set_dataset(ran.value, name, ran, table.columns)
    if name in session_tables.OWN and required_tables.is_wanted(
        ran.value
    ):  # a notebook's settings stand as they were made for it
        store.unchanged()
    elif name in session_tables.OWN:
        store.changed(source=name, recounted=not is_new)
    if table.columns is not None:
        required_tables.count_others(table.columns, name)
    if is_new:
        uploads.forget_shown()
        slot.wants = ""
    slot.revision += is_new or afresh
    st.session_state[COME] = st.session_state.get(COME, 0) + (not afresh)
    st.rerun()
