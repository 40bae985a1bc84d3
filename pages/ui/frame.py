"""The frame of a figure or table: its caption, its footer with the code that gives it, and its numbers as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, Literal

import streamlit as st

from pages.ui.exports import csv_bytes, download
from pages.ui.settings import get
from pages.ui.snippets import Ran
from treedp_core.figures import style
from treedp_core.figures.reliability import watermark
from treedp_core.records.export.columns import Columns, labelled
from treedp_core.records.export.synthetic import SIMULATED, SIMULATION
from treedp_core.studies.budget import NOT_PRIVATE

STAGE: Final = "stage"
"""The key of the first screen's figure: static/app.css gives it the room that the rest leaves."""
LEAST_HEIGHT: Final = 260


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
    answer: str = "",
    label: str = "",
    simulated: bool = False,
) -> str | None:
    """Show a plotly figure with its caption and footer; with `select`, return the id of the mark that was clicked.

    With an `answer` it is the figure of the first screen: as high as the window leaves room, its caption on demand.

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
    answer : str
        What the figure says to the view's question: a sentence or two with numbers (Markdown).
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
    if answer:
        fig.update_layout(height=LEAST_HEIGHT)
    with st.container(key=STAGE) if answer else nullcontext():
        event = st.plotly_chart(
            fig,
            key=key,
            height="stretch" if answer else "content",
            config=style.CONFIG,
            alt=alt,
            on_select=partial(_brushed, key, brush) if brush is not None else "rerun" if select else "ignore",
            selection_mode="points" if brush is None else "box",
        )
    if answer:
        say(answer)
    else:
        st.caption(caption)
    footer(key, ran, data, label=label, simulated=simulated, about=caption if answer else "")
    return _clicked(event) if select else None


def live(spec: dict[str, Any], *, key: str, alt: str, caption: str, answer: str, ran: Ran[Columns]) -> None:
    """Show a chart that the browser itself moves as the figure of the first screen: see `figure`."""
    with st.container(key=STAGE):
        st.vega_lite_chart(spec, key=key, alt=alt, height="stretch")
    say(answer)
    footer(key, ran, about=caption)


def say(answer: str) -> None:
    """Show what a figure says to the question above it (Markdown)."""
    with st.container(key="answer"):
        st.markdown(answer)


def table(
    ran: Ran[Columns],
    *,
    key: str,
    alt: str,
    caption: str,
    formats: Mapping[str, Any] | None = None,
    width: Literal["stretch", "content"] = "stretch",
    height: Literal["auto", "content"] = "auto",
    label: str = "",
    simulated: bool = False,
) -> None:
    """Show the table that a call returns, with its caption and footer.

    `formats` are column configurations by name, or functions that write a value: see `written`. The other parameters
    are those of `figure`.
    """
    columns, formats = written(ran.value, formats or {})
    st.dataframe(columns, hide_index=True, column_config=formats, alt=alt, width=width, height=height)
    st.caption(f"{label} {caption}" if label else caption)
    footer(key, ran, label=label, simulated=simulated)


def written(columns: Columns, formats: Mapping[str, Any]) -> tuple[Columns, dict[str, Any]]:
    """Return columns and their configurations, where a function stands for one: what it writes is shown instead.

    A browser has no thin spaces between thousands, which `whole` and `short` write.
    """
    by_hand = {name: write for name, write in formats.items() if callable(write)}
    text = dict.fromkeys(by_hand, st.column_config.TextColumn(alignment="right"))
    shown = {name: [by_hand[name](value) for value in columns[name]] for name in by_hand if name in columns}
    return {**columns, **shown}, {**formats, **text}


def footer(
    key: str,
    ran: Ran[Columns] | None,
    data: Columns | Callable[[], Columns] | None = None,
    *,
    label: str = "",
    simulated: bool = False,
    about: str = "",
) -> None:
    """Show what stands below every figure but in a presentation: what is `about` it, its code, and its numbers."""
    if get("present"):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if about:
            with st.popover("About", icon=":material/info:", type="tertiary", help="How to read it, and its source"):
                st.markdown(about)
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
