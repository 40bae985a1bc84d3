"""Figures and cells on their way out: a notebook, a script, a report, an archive, or a picture of a chosen size."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import streamlit as st

from pages.ui.inputs.button_subjects import offer, taken
from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.setting import in_a_row
from pages.ui.notebook import book, pins
from pages.ui.page.view import Seen
from pages.ui.session import uploads
from pages.ui.session.download import download
from pages.ui.tables import store
from treedp_core.checks import InputError
from treedp_core.figures.base import style
from treedp_core.figures.base.export_layout import LEAST, MOST, dressed
from treedp_core.figures.base.image import Kind, images_of, missing
from treedp_core.notebook import Cell
from treedp_core.notebook.export.cell_summary import drawable, dress_of, warning
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.program import export_name
from treedp_core.notebook.export.report import SAVED, report_of
from treedp_core.notebook.export.script import bundle_of, script_of
from treedp_core.views.cells.handles import IN_ALL, SECONDS, handles_of
from treedp_core.views.cells.rerun import Sources
from treedp_core.views.cells.view_call import NO_NUMBERS
from treedp_core.words import plural, whole

SIZE: Final = SAVED
"""Pixels of a picture, at first."""
MOST_PICTURES: Final = 24
"""Cells of which a notebook or an archive has pictures: each takes a second."""
KINDS: Final[Mapping[Kind, str]] = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
SAFE: Final = "application/octet-stream"
"""A kind of file that no browser shows as a page of this app's address."""
_ASKED: Final = "_export"
_TURN: Final = threading.Semaphore(1)


class _File(NamedTuple):
    """A file that cells can become."""

    label: str
    end: str
    mime: str
    help: str
    write: Callable[[Sequence[Cell], str], bytes]


def _with_pictures(
    write: Callable[[Sequence[Cell], str, Mapping[str, bytes], str], bytes],
    kind: Literal["svg", "png"],
    cells: Sequence[Cell],
    title: str,
) -> bytes:
    """Return what is written of cells, with pictures of them, or the reason why there are none."""
    figures, why_none = drawable_of(cells), without_pictures(cells)
    drawn: dict[str, bytes] = {}
    if figures and not why_none:
        try:
            drawn = dict(zip((cell.id for cell in figures), pictures(figures, kind, *SIZE), strict=True))
        except InputError as error:
            why_none = str(error)
    return write(cells, title, drawn, why_none)


def _report(cells: Sequence[Cell], title: str, size: tuple[int, int], sources: Sources) -> bytes:
    """Return a report, whose figures follow what they can as far as its time goes: less where strangers use the app."""
    return report_of(cells, title, size, handles_of(cells, sources, SECONDS if uploads.is_public() else IN_ALL))


def _script(cells: Sequence[Cell], title: str) -> bytes:
    return script_of(cells, title).encode()


FILES: Final = (
    _File("Notebook", "ipynb", SAFE, "For Jupyter: words, code, outputs", partial(_with_pictures, ipynb_of, "png")),
    _File("Script", "py", "text/x-python", "Python that gives the same tables", _script),
    _File("Report", "html", SAFE, "One page that opens offline; curves follow ε; prints on A4", report_of),
    _File("Archive", "zip", "application/zip", "Markdown, CSV and a script", partial(_with_pictures, bundle_of, "svg")),
)


def button(seen: Seen[Any]) -> None:
    """Show the button that takes a figure out of the app; nothing is made before it is pressed."""
    if pins.can_keep():
        about = "A notebook, a script, a report or a picture of this figure"
        _button(f"{seen.entry.part}_export", about, partial(_one, seen), disabled=seen.finding.is_empty)


def _one(seen: Seen[Any]) -> tuple[Sequence[Cell], str]:
    name = pins.name_now()
    return [pins.cell_of(seen, book.new_id(), name)], name


def cells_button(cells: Sequence[Cell], title: str, *, key: str) -> None:
    """Show the button that takes cells of a notebook out of the app: one, several or all."""
    _button(key, "A notebook, a script, a report or an archive of these cells", lambda: (cells, title))


def _button(
    key: str, about: str, what: Callable[[], tuple[Sequence[Cell], str]], *, disabled: bool = False
) -> None:  # fmt: skip
    """Show a button that asks in which form something is to leave."""
    st.button(
        "Export", key=key, icon=":material/ios_share:", type="tertiary", on_click=_ask, args=(offer(key, what),),
        disabled=disabled, help=NO_NUMBERS if disabled else about,
    )  # fmt: skip
    asked = st.session_state.get(_ASKED)
    if asked is not None and asked[0] == key:
        del st.session_state[_ASKED]
        _choose(*asked[1])


def _ask(key: str) -> None:
    try:
        st.session_state[_ASKED] = key, taken(key)()
    except InputError as error:
        refusal_in_passing(error)


@st.dialog("Export", width="medium", icon=":material/ios_share:")
def _choose(cells: Sequence[Cell], title: str) -> None:
    """Ask which cells are to leave, and as what."""
    chosen = list(cells)
    if len(cells) > 1:
        names = [f"{at}. {cell.name}" for at, cell in enumerate(cells, 1)]
        picked = st.multiselect(
            "Cells", range(len(cells)), list(range(len(cells))), key="export_cells", format_func=names.__getitem__,
            help="Which cells the file has, in their order.",
        )  # fmt: skip
        chosen = [cells[at] for at in sorted(picked)]
    if told := warning(chosen):
        st.markdown(f":red[:material/lock_open: {told}]")
    if chosen:
        buttons(chosen, title)
    if len(chosen) == 1:
        picture(chosen[0])


def buttons(cells: Sequence[Cell], title: str) -> None:
    """Show a button for each file that cells can become; it is written on a click."""
    files, size, sources = st.container(horizontal=True, gap="small"), SIZE, store.sources_at_hand()
    if told := without_pictures(cells):
        is_one = len(cells) == 1
        here = "The camera in the picture below saves it as SVG; a" if is_one and can_draw() else "A"
        st.caption(f"{told} {here} report has buttons for SVG and PNG.")
        if can_draw():
            with in_a_row():
                size = _size("Pixels of a picture")
            if is_one:
                _drawn_here(cells[0], size)
    with files:
        for file in FILES:
            write = partial(_report, size=size, sources=sources) if file.write is report_of else file.write
            download(
                file.label,
                partial(write, list(cells), title),
                name=f"{_name(cells, title)}.{file.end}",
                mime=file.mime,
                key=f"export_{file.end}",
                help=file.help,
            )


def _size(help: str) -> tuple[int, int]:
    """Ask for the size of a picture."""
    width, height = (
        int(st.number_input(name, least, MOST, value, 50, key=f"export_{name.lower()}", width=130, help=help))
        for name, least, value in zip(("Width", "Height"), LEAST, SIZE, strict=True)
    )
    return width, height


def picture(cell: Cell) -> None:
    """Show what makes a picture of a cell's figure, at a chosen size, with its words inside."""
    if drawable(cell) is None or can_draw():
        return
    with in_a_row():
        kind: Kind = st.segmented_control(
            "Picture", list(KINDS), key="export_kind", default="svg", required=True, format_func=str.upper,
            help="Title, caption, settings, seed and mark are inside",
        )  # fmt: skip
        width, height = _size("Pixels of the picture")
        download(
            "Picture",
            partial(_picture, cell, kind, width, height),
            name=f"{_picture_name(cell)}.{kind}",
            mime=KINDS[kind],
            key="export_picture",
            help="Drawn on a click, in a few seconds",
        )


def _drawn_here(cell: Cell, size: tuple[int, int]) -> None:
    """Show a cell's figure with its words inside, and a button with which the browser itself saves it as SVG."""
    width, height = size
    drawn = dressed(drawable(cell) or {}, dress_of(cell), width, height)
    drawn["layout"].setdefault("template", {})  # none given would be plotly's own
    saved = {"format": "svg", "filename": _picture_name(cell), "width": width, "height": height}
    st.plotly_chart(
        drawn, key="export_drawn", theme=None, width=width, height=height, alt=cell.alt,
        config=style.CONFIG | {
            "displayModeBar": True, "modeBarButtonsToRemove": [], "modeBarButtons": [["toImage"]],
            "toImageButtonOptions": saved,
        },
    )  # fmt: skip


def drawable_of(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose figures plotly draws."""
    return [cell for cell in cells if drawable(cell) is not None]


def without_pictures(cells: Sequence[Cell]) -> str:
    """Return why a notebook or an archive of cells has no pictures, in a sentence; nothing if it has."""
    n_figures = len(drawable_of(cells))
    if n_figures == 0:
        return ""
    many = (
        f"Pictures are drawn of at most {plural(MOST_PICTURES, 'figure')} at a time, and these are {whole(n_figures)}."
    )
    return can_draw() or (many if n_figures > MOST_PICTURES else "")


def can_draw() -> str:
    """Return why no pictures can be drawn here, in a sentence; nothing if they can."""
    return f"A {uploads.called()} draws no pictures." if uploads.is_public() else missing()


def pictures(cells: Sequence[Cell], kind: Kind, width: int, height: int) -> list[bytes]:
    """Return pictures of cells that have figures; one Chromium at a time draws for all sessions.

    Raises
    ------
    InputError
        ``IMAGE_RENDERER``, ``IMAGE_FAILED``.
    """
    figures = [dressed(drawable(cell) or {}, dress_of(cell), width, height) for cell in cells]
    with _TURN:
        return images_of(figures, kind)


def _picture(cell: Cell, kind: Kind, width: int, height: int) -> bytes:
    return pictures([cell], kind, width, height)[0]


def _picture_name(cell: Cell) -> str:
    return _name([cell], pins.title_of(cell.name, cell.part))


def _name(cells: Sequence[Cell], title: str) -> str:
    return export_name(title, private=any(cell.is_private_only for cell in cells))
