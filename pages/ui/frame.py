"""The frame around every page: sidebar, title and strip, figures with their footers, refusals, the guard."""

from __future__ import annotations

import logging
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Literal

import streamlit as st

from pages.ui import jobs, reconnect, store
from pages.ui.exports import Columns, csv_bytes, download, labelled
from pages.ui.settings import get
from pages.ui.snippets import Ran
from pages.ui.text import lit, plain, refusal_text
from treedp_core.checks import InputError
from treedp_core.figures import style
from treedp_core.figures.reliability import watermark
from treedp_core.privacy import delta_warning
from treedp_core.records.export.synthetic import SIMULATED, SIMULATION
from treedp_core.studies.budget import NOT_PRIVATE

__all__ = ["explain", "figure", "guard", "header", "lit", "refusal", "show_badge"]

BADGES: Final[Mapping[str, tuple[Literal["blue", "violet", "red"], str, str]]] = {
    "formula": ("blue", ":material/function:", "Computed exactly from theory; nothing was drawn at random."),
    "simulation": ("violet", ":material/casino:", "Estimated from simulated releases; bars are 95 % intervals."),
    "NOT PRIVATE": ("red", ":material/lock_open:", "Shows or depends on the exact counts: not for publication."),
}
LOST: Final = (
    "There is no uploaded file in this session: counts from a file are removed about two minutes after the tab is "
    "closed, and a link never carries them."
)
_log: Final = logging.getLogger("treedp")


def header(title: str, lede: str, badge: str, strip: str, *, chooses_source: bool = False) -> None:
    """Show a page's title, its one-sentence purpose, and the strip (Markdown): what the figures were made from.

    `badge` says what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"; several are joined by commas.
    A page that `chooses_source` says itself when an uploaded data set is gone.
    """
    st.title(title, anchor=False)
    if not get("present"):
        st.markdown(lede)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for name in badge.split(","):
            show_badge(name.strip())
        st.caption(strip, width="content")
    making = jobs.current(store.MAKING)
    if making is not None and making.error is None:
        st.info(f"The data set is being made; {lit(store.dataset().name, 40)} is shown meanwhile.")
        jobs.progress(store.MAKING, "data sets")
    if reconnect.has_returned():
        _session_ended()
    elif store.is_lost() and not chooses_source:
        st.info(f"{LOST} Until you upload it, {lit(store.dataset().name, 40)} is shown.", icon=":material/history:")


def _session_ended() -> None:
    st.info(
        "The session had ended, and with it anything that was counted from a file. The settings on this page were "
        f"kept; {lit(store.dataset().name, 40)} is shown.",
        icon=":material/history:",
    )
    st.button("Understood", key="session_ended", on_click=reconnect.dismiss, help="Hide this message.")


def warn_of_delta(name: str, total: int) -> None:
    """Say so when δ would allow a record of a data set, of that name and total, to be published as it is."""
    told = delta_warning(get("delta"), total)
    if told:
        st.error(f"{lit(name, 40)}: {plain(told)}")


def show_badge(name: str) -> None:
    """Show what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"."""
    colour, icon, about = BADGES[name]
    st.badge(name, icon=icon, color=colour, help=about)


def explain(text: str) -> None:
    """Show a paragraph of explanation (Markdown of our own), unless the reader has switched explanations off."""
    if get("explain") and not get("present"):
        st.markdown(text)


def figure(
    fig: Any,
    *,
    key: str,
    alt: str,
    caption: str,
    data: Columns | Callable[[], Columns] | None = None,
    ran: Ran[Columns] | None = None,
    select: bool = False,
    brush: Callable[[float, float], None] | None = None,
    label: str = "",
    simulated: bool = False,
) -> str | None:
    """Show a plotly figure with its caption and footer; with `select`, return the id of the mark that was clicked.

    Parameters
    ----------
    alt : str
        The takeaway, for those who do not see the figure; user text is fine here.
    caption : str
        Markdown: what lines and markers mean, tree, runs, seed, source. User text only through `lit`.
    ran : Ran, optional
        The call that gives the table behind the figure (column name -> values): its code is shown, and its value is
        offered as a file; that runs on a click, on another thread, without `st.session_state`.
    data : mapping or function, optional
        The table where no code gives it, or what returns it.
    select : bool
        Whether a click is reported.
    brush : function, optional
        Called with both ends, in the unit of the x axis, before the page runs again when a range has been dragged.
    label : str
        What must stand in every copy of the figure, its code and its numbers, such as "NOT PRIVATE: why".
    simulated : bool
        Whether `data` are a simulated release: then each row and the name of the file say so.
    """
    if label:
        if label.startswith(NOT_PRIVATE):
            watermark(fig, NOT_PRIVATE)
        caption = caption if caption.startswith(label) else f"{label} {caption}"
        data = data and partial(_labelled, data, label)
    if get("present"):
        style.present(fig)
    if brush is not None:
        style.brushable(fig)
    event = st.plotly_chart(
        fig,
        key=key,
        config=style.CONFIG,
        alt=alt,
        on_select=partial(_brushed, key, brush) if brush is not None else "rerun" if select else "ignore",
        selection_mode="points" if brush is None else "box",
    )
    st.caption(caption)
    footer(key, ran, data, label=label, simulated=simulated)
    return _clicked(event) if select else None


def refusal(error: InputError) -> None:
    """Show a refused input: its sentence, and its stable code."""
    st.error(refusal_text(error), icon=":material/error:")


@contextmanager
def guard() -> Iterator[None]:
    """Show what goes wrong inside as one sentence: a refusal with its code, anything else with an id to quote.

    The log gets the kind of an unexpected exception and where it arose, never its text, which could quote user data.
    """
    try:
        yield
    except InputError as error:
        refusal(error)
    except Exception as error:
        trouble(error)


def trouble(error: Exception) -> bool:
    """Show an unexpected exception as one sentence; True, as no more needs to be said of it.

    The next run is free of what may have caused it: a value that no control takes would be met again there.
    """
    reconnect.forget_unreadable_values()
    ticket = uuid.uuid4().hex[:8]
    where = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    _log.error("%s %s at %s", ticket, type(error).__name__, " < ".join(reversed(where)))
    st.error(
        f"Something went wrong (id `{ticket}`). Your data and settings are still here: change the last setting "
        "or reload the page; the log of the app has the place under this id.",
        icon=":material/error:",
    )
    return True


def footer(
    key: str,
    ran: Ran[Columns] | None,
    data: Columns | Callable[[], Columns] | None = None,
    *,
    label: str = "",
    simulated: bool = False,
) -> None:
    """Show what stands below every figure but in a presentation: its code, and its numbers as CSV."""
    if get("present"):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if ran is not None:
            code_popover(key, ran, label)
            data = partial(_ran, ran, label)
        if data is not None:
            download(
                "Data",
                partial(_table, partial(_simulated, data) if simulated else data),
                name=f"treedp-{'simulation-' if simulated else ''}{key.replace('_', '-')}.csv",
                mime="text/csv",
                key=f"{key}_csv",
                type="tertiary",
                help="The numbers behind the figure, as CSV",
            )


def code_popover(key: str, ran: Ran[Any], label: str = "") -> None:
    """Show the code that repeats a call; `label` says what must stand in every copy of it."""
    with st.popover("Code", icon=":material/code:", type="tertiary", help="The call that gives these numbers"):
        st.code((f"# {label}\n" if label else "") + ran.snippet(), language="python")


def _ran(ran: Ran[Columns], label: str) -> Columns:
    return labelled(ran.value, label) if label else ran.value


def _table(data: Columns | Callable[[], Columns]) -> bytes:
    return csv_bytes(data() if callable(data) else data)


def _brushed(key: str, then: Callable[[float, float], None]) -> None:
    boxes = st.session_state[key].selection["box"]
    if boxes:  # none when the selection was taken away
        then(min(boxes[0]["x"]), max(boxes[0]["x"]))


def _simulated(data: Columns | Callable[[], Columns]) -> Columns:
    columns = data() if callable(data) else data
    return {**columns, SIMULATION: [SIMULATED] * len(next(iter(columns.values()), ()))}


def _labelled(data: Columns | Callable[[], Columns], label: str) -> Columns:
    return labelled(data() if callable(data) else data, label)


def _clicked(event: Any) -> str | None:
    points = event.selection["points"] if event and event.selection else []
    return str(points[0]["id"]) if points and "id" in points[0] else None
