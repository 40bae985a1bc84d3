"""The frame of a figure or table: its caption, its footer with the code that gives it, and its numbers as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from numbers import Real
from typing import Any, Final, Literal

import plotly.graph_objects as go
import streamlit as st

from pages.ui.figure import export_dialog
from pages.ui.figure.follow import Drag, Stage
from pages.ui.inputs.glossary import said
from pages.ui.inputs.settings import get
from pages.ui.inputs.text import prose, small_print
from pages.ui.notebook import other_data, pins
from pages.ui.page.page import NARROW
from pages.ui.page.view import Seen
from pages.ui.session.download import download
from treedp_core.figures.base import style
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.base.screen import on_dark, stacked
from treedp_core.figures.trees.icicle import watermark
from treedp_core.notebook.code import Part, Ran
from treedp_core.notebook.export.program import export_name
from treedp_core.records.export.columns import Columns, credited, labelled, source_line
from treedp_core.records.export.tables import IN_NAMES, apart, csv_bytes, csv_files, frame_of, zipped
from treedp_core.studies.budget import NOT_PRIVATE
from treedp_core.studies.methods.terms import explained, symbols_in
from treedp_core.views.finding import Finding
from treedp_core.words import short

PRESENTED: Final = "_presented_text"
"""Where it keeps the size of text on a projector, in px, that the height of the window wants: see `PRESENTED_TEXTS`."""
STAGE: Final = "stage"
"""The key of the first screen's figure: static/app.css gives it the room that the rest leaves."""
LEAST_HEIGHT: Final = 260
MOVING_HEIGHT: Final = 400
"""Of what draws itself below the first screen."""
Formats = Mapping[str, Any]
NO_FORMATS: Final[Formats] = {}
_RIGHT: Final = st.column_config.TextColumn(alignment="right")


def found(
    seen: Seen[Any],
    *,
    select: bool = False,
    brush: Callable[[float, float], None] | None = None,
    has_code: bool = True,
    is_first: bool = False,
    drag: Drag | None = None,
    **look: Any,
) -> str | None:
    """Show what a view found with its caption, notes and footer; with `select`, return the mark that was clicked.

    Its answer makes it the figure of the first screen: as high as the window leaves room, its caption on demand. What a
    section found stands below that, under its answer, unless it `is_first` all the same.

    Parameters
    ----------
    select : bool
        Whether a click is reported.
    brush : function, optional
        Called with both ends, in the unit of the x axis, before the page runs again when a range has been dragged.
    drag : Drag, optional
        What is dragged besides sliders, and the figure follows.
    has_code : bool
        Whether the code of the call is shown.
    look
        Where there is no figure, how its table looks: see `plain_table`.
    """
    finding, answer, clicked = seen.finding, seen.finding.answer, None
    if answer and seen.entry.section and not is_first:
        prose(answer)
        answer = ""
    if finding.figure is not None:
        clicked = _figure(seen, finding.figure, answer, select=select, brush=brush, has_code=has_code, drag=drag)
    elif not finding.is_empty:
        _table(seen, answer, **look)
    elif answer:
        say(answer)
    for note in finding.notes:
        small_print(f":material/info: {note}")
    return clicked


def _figure(
    seen: Seen[Any],
    draft: Draft,
    answer: str,
    *,
    select: bool,
    brush: Callable[[float, float], None] | None,
    has_code: bool,
    drag: Drag | None,
) -> str | None:
    key, on_stage = seen.entry.part, bool(answer)
    dress = partial(dressed, is_brushed=brush is not None, on_stage=on_stage)
    fig, stage = dress(draft), Stage(seen, _look(), dress, drag=drag)
    if on_stage:
        stage.mark(fig)
    event = chart(
        fig, key=key, alt=seen.finding.alt, on_stage=on_stage,
        on_select=partial(_brushed, key, brush) if brush is not None else "rerun" if select else "ignore",
        selection_mode="points" if brush is None else "box",
    )  # fmt: skip
    if on_stage:
        stage.follow()
    about = f"{_caption(seen)} {seen.finding.how}".strip()
    if answer:
        said(_written_in(fig))
        say(answer)
    else:
        small_print(about, beside=_written_in(fig))
    footer(seen, about=about if answer else "", has_code=has_code)
    return _clicked(event) if select else None


def preview(fig: go.Figure, *, key: str, alt: str, caption: str, table: Callable[[], Columns]) -> None:
    """Show a figure of records that are not counted yet, and its numbers as a file: nothing of it is kept or exported.

    It is marked, and says so in every copy, that it is NOT PRIVATE.
    """
    shown = Finding(columns=table, label=f"{NOT_PRIVATE}: exact counts.")
    chart(dressed(watermark(fig, NOT_PRIVATE)), key=key, alt=alt, on_stage=False, on_select="ignore")
    small_print(f"{shown.label} {caption}", beside=_written_in(fig))
    _data(key, shown, private=True, several=False)


def found_table(seen: Finding, *, formats: Formats = NO_FORMATS, **look: Any) -> None:
    """Show the table that a section found, with its caption and nothing else: see `plain_table`."""
    if not seen.is_empty:
        plain_table(seen.table, alt=seen.alt, caption=seen.caption, formats=formats, **look)


def dressed(shown: Draft | go.Figure, *, is_brushed: bool = False, on_stage: bool = False) -> go.Figure:
    """Return a figure as this window shows it: presented, narrow, dark, or a range to be dragged over it."""
    fig = shown.figure() if isinstance(shown, Draft) else shown
    if get("present"):
        style.present(fig, st.session_state.get(PRESENTED, style.PRESENTED_TEXT))
    if is_brushed:
        style.brushable(fig)
    if st.session_state.get(NARROW):
        fig = stacked(fig)
    if on_stage:
        fig.update_layout(height=LEAST_HEIGHT)
    return on_dark(fig) if is_dark() else fig


def _look() -> tuple[int, ...]:
    """By what a figure differs from window to window."""
    text = st.session_state.get(PRESENTED, style.PRESENTED_TEXT) if get("present") else 0
    return text, bool(st.session_state.get(NARROW)), is_dark()


def chart(fig: go.Figure, *, key: str, alt: str, on_stage: bool, **select: Any) -> Any:
    """Show a figure alone, as it is dressed; on the stage of the first screen it is as high as there is room."""
    with st.container(key=STAGE) if on_stage else nullcontext():
        return st.plotly_chart(
            fig, key=key, height="stretch" if on_stage else "content", config=style.CONFIG, alt=alt, **select
        )


def alone(fig: go.Figure | Draft, *, key: str, answer: str) -> None:
    """Show a figure on the stage with its answer and nothing else: without code, numbers to take along, or a pin."""
    chart(dressed(fig, on_stage=True), key=key, alt=answer, on_stage=True)
    say(answer)


def staged(draw: Callable[[], object]) -> None:
    """Show what draws itself in the browser on the stage of the first screen."""
    with st.container(key=STAGE):
        draw()


def found_moving(
    seen: Seen[Any],
    draw: Callable[[], object],
    *,
    caption: str = "",
    how: str = "",
    picture: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Show what a view found as a picture that draws itself in the browser: on the first screen if it has an answer.

    Where the view's own figure, which is pinned and exported, shows something else, the picture has its `caption`.
    `picture` says what it is told of other inputs.
    """
    finding = seen.finding
    about = f"{caption or _caption(seen)} {how or finding.how}".strip()
    if finding.answer:
        staged(draw)
        say(finding.answer)
        if picture is not None:
            Stage(seen, _look(), picture=picture).follow()
    else:
        with st.container(height=MOVING_HEIGHT, border=False):
            draw()
        small_print(about)
    footer(seen, about=about if finding.answer else "")


def _caption(seen: Seen[Any]) -> str:
    """The caption of a figure or table, and the source of published records that it is of."""
    return f"{seen.called.caption} {source_line(seen.finding.credit)}".strip()


def _written_in(fig: Any) -> str:
    """What stands in a figure: titles of its axes, names of its lines, and notes."""
    layout = fig.layout.to_plotly_json()
    axes = (one.get("title") for name, one in layout.items() if name.startswith(("xaxis", "yaxis")))
    titles = [one.get("text") or "" for one in axes if one]
    notes = [note.get("text") or "" for note in layout.get("annotations", ())]
    return " ".join([*titles, *notes, *(trace.name or "" for trace in fig.data)])


def _is_of_numbers(values: Iterable[object], kind: type = Real) -> bool:
    return all(isinstance(value, kind) and not isinstance(value, bool) for value in values)


def _are_huge(values: Iterable[object]) -> bool:
    """Whether whole numbers do not fit into 64 bits, as a browser's table has them: they are shown as words."""
    return any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values)


def is_dark() -> bool:
    """Whether the page is dark, as far as the browser has told."""
    return bool(st.context.theme.type == "dark")


def say(answer: str) -> None:
    """Show what a figure says to the question above it (Markdown)."""
    with st.container(key="answer"):
        prose(answer)


def _table(
    seen: Seen[Any],
    answer: str,
    *,
    formats: Formats = NO_FORMATS,
    width: Literal["stretch", "content"] = "stretch",
    height: Literal["auto", "content"] = "auto",
) -> None:
    columns, alt, caption = seen.finding.table, seen.finding.alt, _caption(seen)
    if answer:
        with st.container(key=STAGE):
            plain_table(columns, alt=alt, formats=formats, height=LEAST_HEIGHT)
        say(answer)
    else:
        plain_table(columns, alt=alt, caption=caption, formats=formats, width=width, height=height)
    files = apart(columns, "", private=caption.startswith(NOT_PRIVATE))
    footer(seen, private=f"-{IN_NAMES}" in files, several=len(files) > 1, about=caption if answer else "")


def plain_table(
    columns: Columns,
    *,
    alt: str,
    caption: str = "",
    formats: Formats = NO_FORMATS,
    width: Literal["stretch", "content"] = "stretch",
    height: int | Literal["auto", "content"] = "auto",
) -> None:
    """Show a table with its caption.

    `formats` are column configurations by name, or functions whose words are shown instead of a value, as a browser has
    no thin spaces between thousands, or pairs of both. A column of numbers stays one, so that it is sorted as numbers.
    """
    shown, config = dict(columns), {}
    words: dict[str, Any] = {
        name: short for name, values in columns.items() if name not in formats and _is_of_numbers(values, float)
    }
    for name, how in formats.items():
        write, config[name] = how if isinstance(how, tuple) else (how, None) if callable(how) else (None, how)
        if write is not None and name in columns:
            if _is_of_numbers(columns[name]) and not _are_huge(columns[name]):
                words[name] = write
            else:
                shown[name] = ["–" if value is None else write(value) for value in columns[name]]
                config[name] = config[name] or _RIGHT
    own = {name: how for name, how in config.items() if how is not None}  # None would hide the column
    st.dataframe(
        frame_of(shown).style.format(words), hide_index=True, column_config=own, alt=alt, width=width, height=height,
        placeholder="–",
    )  # fmt: skip
    heads_and_symbols = [*shown, *_greek_in(shown)]
    if caption:
        small_print(caption, beside=" ".join(heads_and_symbols))
    else:
        said(*heads_and_symbols)


def _greek_in(columns: Columns) -> Iterator[str]:
    """The symbols in a table's cells, Latin letters apart: those may be somebody's labels."""
    for values in columns.values():
        if not _is_of_numbers(values):
            yield from (one for one in symbols_in(" ".join(map(str, values))) if not one.isascii())


def footer(
    seen: Seen[Any], *, about: str, private: bool | None = None, several: bool = False, has_code: bool = True
) -> None:  # fmt: skip
    """Show what stands below every figure but in a presentation: what is `about` it, its code, its numbers, and Pin.

    What is `private` says so in the name of its file, by default as its caption says; of `several` tables, and where a
    release is simulated, what is true and what is released are files of their own.
    """
    if get("present"):
        return
    called, key, finding = seen.called, seen.entry.part, seen.finding
    private = NOT_PRIVATE in called.caption if private is None else private
    with st.container(horizontal=True, vertical_alignment="center"):
        if about:
            with st.popover("About", icon=":material/info:", type="tertiary", help="How to read it, and its source"):
                st.markdown("\n\n".join(filter(None, (about, explained(about)))))
        if called.ran is not None and has_code:
            code_popover(key, called.ran, finding.label)
        if not finding.is_empty:
            _data(key, finding, private=private, several=finding.is_simulated or several)
        pins.button(seen)
        if pins.can_keep():
            other_data.button(key)
        export_dialog.button(seen)


def code_popover(key: str, ran: Ran[Any] | Part[Any], label: str = "") -> None:
    """Show the code that repeats a call; `label` says what must stand in every copy of it."""
    with st.popover("Code", icon=":material/code:", type="tertiary", help="The call that gives these numbers"):
        st.code((f"# {label}\n" if label else "") + ran.snippet(), language="python")


def _data(key: str, finding: Finding, *, private: bool, several: bool) -> None:
    """Offer a table as CSV, or `several` in a ZIP: what is true and what is released apart."""
    title = pins.title_of(pins.name_now(), key) if pins.can_keep() else key
    name = export_name(title, private=private or several)
    write = partial(_files, finding, export_name(title, private=False)) if several else partial(_file, finding)
    download(
        "Data",
        write,
        name=f"{name}.zip" if several else f"{name}.csv",
        mime="application/zip" if several else "text/csv",
        key=f"{key}_csv",
        type="tertiary",
        help=f"The numbers behind the figure, as CSV{': true and released ones apart' if several else ''}",
    )


def _labelled(finding: Finding) -> Columns:
    told = credited(finding.table, finding.credit)
    return labelled(told, finding.label) if finding.label else told


def _file(finding: Finding) -> bytes:
    return csv_bytes(_labelled(finding))


def _files(finding: Finding, name: str) -> bytes:
    return zipped(csv_files(_labelled(finding), name, private=True, simulated=finding.is_simulated))


def _brushed(key: str, then: Callable[[float, float], None]) -> None:
    boxes = st.session_state[key].selection["box"]
    if boxes:  # none when the selection was taken away
        then(min(boxes[0]["x"]), max(boxes[0]["x"]))


def _clicked(event: Any) -> str | None:
    points = event.selection["points"] if event and event.selection else []
    return str(points[0]["id"]) if points and "id" in points[0] else None
