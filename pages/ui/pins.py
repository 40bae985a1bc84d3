"""Pin: what stands below every figure, and what the notebook keeps of one that is pinned."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from pages.ui import address, book, kept, page, plans, result, store
from pages.ui.offered import offer, taken
from pages.ui.refusals import refusal_in_passing
from pages.ui.settings import get
from pages.ui.text import lit
from pages.ui.view import Seen
from treedp_core import __version__
from treedp_core.checks import InputError
from treedp_core.figures.base.draft import Draft
from treedp_core.notebook import Cell, table_of
from treedp_core.notebook.cell import NOT_REVIEWED
from treedp_core.notebook.code import Part, Ran
from treedp_core.notebook.data_lineage import may_hold_counts, own_data
from treedp_core.notebook.export import cell_summary
from treedp_core.notebook.export.program import slug
from treedp_core.notebook.file.drawing import Drawing, checked
from treedp_core.notebook.study import note_of
from treedp_core.notebook.validators import MAX_TABLE_ROWS
from treedp_core.plans import ReleasePlan
from treedp_core.records import Dataset
from treedp_core.records.export.columns import Columns
from treedp_core.studies.budget import NOT_PRIVATE
from treedp_core.views.inputs import Inputs, ReleaseInputs, parameters_of
from treedp_core.words import whole

CHANGE: Final = "move a control, or choose other data, then press Compare"
NO_NUMBERS: Final = "There are no numbers in it yet"
AWAITING: Final = "_cells_awaiting"
"""In the session: by the id of a cell what it waits for, as what takes long of it was on its way when it was pinned."""
Awaited = tuple[str, Hashable, Hashable]
"""The slot of a job, what it was asked, and of which tables."""
MAX_FIGURE: Final = 8 << 20
"""Bytes of a figure that is kept."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A figure or table as it stands on a page.

    Parameters
    ----------
    key : str
        Which one of the page.
    figure : plotly Figure, Draft, or a Ran of one, optional
        As it is drawn on light ground.
    ran : Ran, optional
        The call that gives the table behind it.
    alt, caption, answer, label : str
        Its words.
    simulated : bool
        Whether the table is of a simulated release.
    has_code : bool
        Whether the code of that call is shown.
    badges : tuple of str
        Kinds of its numbers, where they are others than the page says.
    inputs : Inputs, optional
        What its view was given.
    awaits : tuple, optional
        What takes long of it and is on its way.
    """

    key: str
    figure: go.Figure | Draft | Ran[go.Figure] | None = None
    ran: Ran[Columns] | Part[Columns] | None = None
    alt: str = ""
    caption: str = ""
    answer: str = ""
    label: str = ""
    simulated: bool = False
    has_code: bool = True
    badges: tuple[str, ...] = ()
    inputs: Inputs | None = None
    awaits: Awaited | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it has no numbers, as they are still worked out or were refused."""
        return self.ran is None


def of_seen(seen: Seen[Any]) -> Shown:
    """Return what a view found as it stands on its page."""
    found = seen.finding
    caption = found.caption if found.caption.startswith(found.label) else f"{found.label} {found.caption}"
    return Shown(
        seen.entry.part, found.figure, seen.ran, found.alt, caption, found.answer, found.label, found.is_simulated,
        badges=found.badges, inputs=seen.found_for, awaits=seen.awaits,
    )  # fmt: skip


def button(shown: Shown) -> None:
    """Show the button that keeps a figure, unless the page is the notebook's own."""
    if not can_keep():
        return
    offer(shown.key, shown)
    st.button(
        "Pin", key=f"{shown.key}_pin", icon=":material/keep:", type="tertiary", on_click=pin, args=(shown.key,),
        disabled=shown.is_empty,
        help=NO_NUMBERS if shown.is_empty else
        "Keep it in the notebook of this session, with its settings, table, code and seed",
    )  # fmt: skip
    before = None if shown.is_empty else last(shown.key)
    if before is not None:
        st.button(
            "Compare", key=f"{shown.key}_compare", icon=":material/compare:", type="tertiary", on_click=_compare,
            args=(shown.key, before), help=f"Pin it, and put it beside {lit(book.notebook().cell(before).name, 40)}",
        )  # fmt: skip


def can_keep() -> bool:
    """Whether a page stands around a figure that it can be opened in again."""
    return page.shown() is not None


def last(part: str) -> str | None:
    """Return the id of the last cell of a figure."""
    return next((one.id for one in reversed(book.notebook().cells) if one.part == part), None)


def _compare(key: str, first: str) -> None:
    """Pin a figure, and show it beside another cell, from which it differs."""
    cell, other = _made(key), book.notebook().cell(first)
    if cell is not None and (cell.settings, cell.columns, cell.data) == (other.settings, other.columns, other.data):
        st.toast(f"Nothing has changed since {lit(other.name, 40)} was pinned: {CHANGE}.", icon=":material/compare:")
    elif cell is not None and _keep(cell):
        book.compare([first, cell.id])


def pin(key: str) -> None:
    """Keep a figure of the page as the last cell of the notebook."""
    cell = _made(key)
    if cell is not None and _keep(cell):
        if (awaited := taken(key).awaits) is not None:
            st.session_state.setdefault(AWAITING, {})[cell.id] = awaited
        st.toast(f"Pinned as {lit(cell.name)}: see the page Notebook.", icon=":material/keep:")


def _made(key: str) -> Cell | None:
    """Return what a figure of the page is kept as; None where it is refused, which is said."""
    try:
        cell = cell_of(taken(key), book.new_id(), name_now())
        return replace(cell, name=book.apart(cell))
    except InputError as error:
        refusal_in_passing(error)
        return None


def _keep(cell: Cell) -> bool:
    """Add a cell and open it on its page; whether there was room."""
    before = book.held().revision
    book.change(lambda notebook: notebook.add(cell))
    if book.held().revision > before:
        st.session_state[book.OPEN] = cell.id
    return book.held().revision > before


def cell_of(shown: Shown, id: str, name: str) -> Cell:
    """Return the cell that a figure of the page is kept as.

    Raises
    ------
    InputError
        Those of `Cell`; ``NOTHING_TO_KEEP``.
    """
    if shown.is_empty:
        raise InputError("NOTHING_TO_KEEP", f"{NO_NUMBERS}.")
    where = page.shown()
    assert where is not None
    texts = address.settings_of(where) | store.stood_in()
    if shown.inputs is not None:
        keys = {one.key for one in parameters_of(type(shown.inputs)).values()}
        texts = {key: text for key, text in texts.items() if key not in keys} | shown.inputs.texts()
    view = where.view.name if where.switch is not None else ""
    plan = plans.to_keep() if where.name == "plan" else None
    return of_parts(
        shown, id=id, name=name, page=where.name, view=view, settings=texts,
        about=cell_summary.plain(page.strip_shown()), plan=plan,
    )  # fmt: skip


def of_parts(
    shown: Shown,
    *,
    id: str,
    name: str,
    page: str,
    view: str,
    settings: Mapping[str, tuple[str, ...]],
    about: str,
    plan: ReleasePlan | None = None,
) -> Cell:
    """Return a figure as a cell of a page and view, with the settings it has there; see `Cell`."""
    own = own_datasets()
    data = own_data(shown.ran, own)
    columns, left_out = _table(shown.ran)
    badges = _badges(shown)
    caption = "\n\n".join(filter(None, (shown.caption, result.said_meanwhile(), left_out)))
    return Cell(
        id=id, name=name, page=page, view=view, part=shown.key, settings=settings, about=about,
        data=None if data is None else note_of(data, _how(data)),
        figure=_figure(shown.figure), columns=columns, caption=caption, answer=shown.answer, alt=shown.alt,
        badges=badges, label=shown.label, code=_code(shown), seed=_seed(shown),
        version=__version__, made=datetime.now(UTC).isoformat(timespec="seconds"),
        holds_counts=bool(own) and may_hold_counts(
            shown.ran, own, shown.caption, shown.answer, shown.alt, *badges, *(columns or ()), label=shown.label,
            public=store.made_by_us(),
        ),
        plan=plan,
    )  # fmt: skip


def _seed(shown: Shown) -> int:
    return shown.inputs.seed if isinstance(shown.inputs, ReleaseInputs) else int(get("seed"))


def own_datasets() -> list[Dataset]:
    """Return the data sets that this session counted from files, the one in use first: a prior is beside it."""
    return sorted((one.data for one in kept.everything()), key=lambda data: data is not store.dataset())


def _how(data: Dataset) -> Ran[Dataset] | None:
    file = kept.file_of(data)
    return None if file is None else file.ran


def what_of(part: str) -> str:
    """What a figure shows besides what its page and view say: its key without the word of its page.

    >>> what_of("con_boxes"), what_of("con_figure"), what_of("strips")
    ('boxes', '', 'strips')
    """
    words = part.split("_")
    return " ".join(word for word in words[len(words) > 1 :] if word not in ("figure", "live"))


def title_of(name: str, part: str) -> str:
    """What a file of one figure is called: as its cell is, and what it shows of that where this says more.

    >>> title_of("Consistency", "con_boxes"), title_of("Error lab: One draw", "lab_draw")
    ('Consistency boxes', 'Error lab: One draw')
    """
    what = what_of(part)
    return name if slug(name).endswith(slug(what)) else f"{name} {what}".strip()


def name_now() -> str:
    """What a cell is called at first: its page and view."""
    where = page.shown()
    assert where is not None
    view = "" if where.switch is None else f": {where.switch.label_of(where.view.name)}"
    return f"{where.title}{view}"


def _figure(figure: Any) -> Drawing | None:
    """A figure as JSON, as every notebook accepts it; one that is too large is left out, its table is kept."""
    if isinstance(figure, Ran):  # drawn only when it is kept
        figure = figure.value
    if isinstance(figure, Draft):
        figure = figure.figure()
    if figure is None:
        return None
    text = figure.to_json()
    return Drawing.of(checked(json.loads(text))) if len(text) <= MAX_FIGURE else None


def _table(ran: Ran[Columns] | Part[Columns] | None) -> tuple[dict[str, Any] | None, str]:
    """The table behind a figure, and what is said where it is too long."""
    if ran is None:
        return None, ""
    rows = len(next(iter(ran.value.values()), ()))
    if rows > MAX_TABLE_ROWS:
        return None, f"The table has {whole(rows)} rows, more than a notebook keeps ({whole(MAX_TABLE_ROWS)})."
    return table_of(ran.value), ""


def _code(shown: Shown) -> str:
    if shown.ran is None or not shown.has_code:
        return ""
    try:
        snippet = shown.ran.snippet()
    except TypeError:  # no code can be written for it, and none is shown
        return ""
    return (f"# {shown.label}\n" if shown.label else "") + snippet


def _badges(shown: Shown) -> tuple[str, ...]:
    """Kinds of numbers: of the first screen's figure what the page says, of others what they say themselves."""
    if shown.badges:
        return shown.badges
    if shown.answer:
        return tuple(one.strip() for one in page.badges_shown().split(",") if one.strip())
    said = f"{shown.label} {shown.caption}"
    where = page.shown()
    told = {"simulation": shown.simulated, NOT_PRIVATE: NOT_PRIVATE in said,
            NOT_REVIEWED: where is not None and where.uses_plugin}  # fmt: skip
    return tuple(name for name, holds in told.items() if holds)
