"""What the app's own script in the browser is given and tells: the address of the page, and keys that were pressed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.figure.frame import PRESENTED, is_dark
from pages.ui.inputs.settings import PRESENT, SHARED, SLIDE, SLIDES
from pages.ui.notebook import undo
from pages.ui.page import address, slides
from pages.ui.page.page import NARROW, Page
from pages.ui.page.scripts import of_all, script
from pages.ui.server import classroom, qr
from pages.ui.session.streamlit_compat import drawing_file
from pages.ui.tables.upload_slot import COME
from treedp_core.figures.base.style import PRESENTED_TEXT, PRESENTED_TEXTS

_KEY: Final = "shell_script"
_DRAWS: Final = drawing_file()
"""Streamlit's file that draws figures, by far its largest: a page without one has it before the first comes."""
_STEPS: Final = {"next": 1, "back": -1}
_HEEDED: Final = "_keys_heeded"
_ASKED: Final = "_code_asked"
_CODES: Final = "_codes_asked"


def room() -> DeltaGenerator:
    """Return where the script is to stand, the same place on every page: static/app.css lets it take no room."""
    return st.container(key="shell")


def run(where: DeltaGenerator, page: Page, pages: Sequence[Page]) -> None:
    """Have the browser show the address of a page as it now is; `pages` begins with the home page."""
    home, *others = [one.name for one in pages]
    view = "" if page.switch is None else page.switch.value
    stand = f"/presented/{SLIDE.value if slides.are_shown() else 0}" if PRESENT.value else ""
    told = {
        "page": "" if page.name == home else page.name,
        "pages": others,
        "view": f"{page.name}/{view}{stand}",
        "query": address.query((*SHARED, *page.settings)),
        "travels": address.travels(),
        "presents": PRESENT.value,
        "narrow": st.session_state.get(NARROW, False),
        "dark": is_dark(),
        "text": st.session_state.get(PRESENTED, PRESENTED_TEXT),
        "texts": PRESENTED_TEXTS,
        "code": _code(page),
        "counts": st.session_state.get(COME, 0),
        "draws": _DRAWS,
    }
    with where:
        script("shell")(
            data=told, key=_KEY, height=1, on_pressed_change=_pressed,
            on_heard_change=partial(_heard, page),
        )  # fmt: skip


@of_all
def _pressed() -> None:
    """Heed what the page tells of its window: "narrow", "wide", and how large text is to be in a presentation.

    All else wants no more than the run: "found", from a page that has its server again, and "dark" and "light",
    from one in other colours.
    """
    told = st.session_state[_KEY].pressed
    if told in ("narrow", "wide"):
        st.session_state[NARROW] = told == "narrow"
    elif told in map(str, PRESENTED_TEXTS):
        st.session_state[PRESENTED] = int(told)


@of_all
def _heard(page: Page) -> None:
    """Do what each key stands for that was pressed and has not been heeded yet."""
    told = st.session_state[_KEY].heard
    for key in _not_heeded(told["of"], told["first"], told["keys"]):
        if key == "present":
            PRESENT.set(not PRESENT.value)
        elif key in ("undo", "redo"):
            undo.turn(key)
        elif key == "code":
            st.session_state[_CODES] = st.session_state.get(_CODES, 0) + 1
            st.session_state[_ASKED] = True
        else:
            _step(page, _STEPS[key])


def _step(page: Page, by: int) -> None:
    """Show the slide or view after or before."""
    if SLIDES.value:
        slides.step(by)
    elif page.switch is not None:
        names = [view.name for view in page.views]
        place = names.index(page.view.name) + by
        page.switch.set(names[min(max(place, 0), len(names) - 1)])


def _not_heeded(of: str, first: int, keys: Sequence[str]) -> list[str]:
    """Return the last of the keys that a page was told of: those behind the ones that a message before had.

    `of` tells a page that was loaded from others, and `first` is how many keys came before these.
    """
    known, heeded = st.session_state.get(_HEEDED, (of, 0))
    st.session_state[_HEEDED] = of, first + len(keys)
    return list(keys[max(heeded - first, 0) if known == of else 0 :])


def _code(page: Page) -> dict[str, str | int] | None:
    """The QR code of the page for its audience, in the run after it was asked for: how often, picture, and link."""
    if not st.session_state.pop(_ASKED, False):
        return None
    link = address.page_url(page)
    if classroom.is_open() and classroom.is_teacher():  # the audience comes in by it
        link = classroom.join_link(link.partition("?")[0].rpartition("/")[0], page.view.name)
    return {"nth": st.session_state[_CODES], "image": qr.image(link), "link": link, "note": qr.note(link)}
