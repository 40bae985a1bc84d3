"""The slides of a presentation: pages and views, with their settings, in the order that a teacher chose.

The session holds them, and while they are shown the address does too where it has room, so that a presentation can be
reloaded, bookmarked and sent. A slide is a link: nothing of a file is in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from urllib.parse import parse_qs

import streamlit as st

from pages.ui.inputs.settings import MAX_SLIDES, PRESENT, SLIDE, SLIDES
from pages.ui.inputs.text import lit
from pages.ui.page import address
from pages.ui.page.page import Page

_NEXT: Final = "_page_of_slide"


def show(place: int) -> None:
    """Show the slide at a place, from 1: in a callback, for the next run begins on its page (see `turn`)."""
    SLIDE.set(place)
    address.follow(SLIDES.value[place - 1])
    st.session_state[_NEXT] = _page_of(SLIDES.value[place - 1])


def open_page(name: str) -> None:
    """Have the next run begin on a page: in a callback."""
    st.session_state[_NEXT] = name


def step(by: int) -> None:
    """Show the slide after or before; at either end nothing happens."""
    place = min(SLIDE.value, len(SLIDES.value)) + by
    if 1 <= place <= len(SLIDES.value):
        show(place)


def turn(page: Page, pages: Sequence[Page]) -> None:
    """Go to the page of the slide that has just been asked for, if it is another one.

    It is asked for until a run is there: one on its way is ended by the next key.
    """
    asked = next((one for one in pages if one.name == st.session_state.get(_NEXT)), page)
    if asked is not page:
        st.switch_page(asked.path)
    st.session_state.pop(_NEXT, None)


def are_shown() -> bool:
    """Whether the slides are being shown."""
    return bool(PRESENT.value and SLIDES.value and SLIDE.value)


def number() -> None:
    """Show, small, which slide of how many is shown."""
    if are_shown():
        with st.container(key="slide_number"):
            st.caption(f"{min(SLIDE.value, len(SLIDES.value))} of {len(SLIDES.value)}")


def editor(page: Page, pages: Sequence[Page]) -> None:
    """Show the slides, in their order: to add what is shown now, to move and to remove them, and to begin."""
    chosen, here = SLIDES.value, address.link_of(page)
    st.markdown("**Slides of a presentation**")
    if not chosen:
        st.caption("None chosen: the arrow keys step through the views of a page.")
    if not address.slides_fit():
        st.caption("Too many for an address: they last as long as this session.")
    with st.container(horizontal=True):
        st.button(
            "Add this view", key="slide_add", icon=":material/add:",
            disabled=here in chosen or len(chosen) >= MAX_SLIDES,
            help="This page as it is now, with its settings: the last slide.", on_click=_add, args=(here,),
        )  # fmt: skip
        st.button(
            "Present", key="present_on", icon=":material/play_arrow:", on_click=_start,
            help="No prose, larger figures, the first slide. Keys: **P** on and off, **→** and **←** the next and the "
            "last slide, or view of the page where none is chosen, **B** black, **Q** QR code of the page.",
        )  # fmt: skip
    with st.container(gap=None):
        for place, link in enumerate(chosen, 1):
            _row(place, link, pages)


def _row(place: int, link: str, pages: Sequence[Page]) -> None:
    with st.container(horizontal=True, gap=None, vertical_alignment="center"):
        with st.container(width="stretch"):
            st.button(
                f"{place}. {_title(link, pages)}", key=f"slide_{place}", type="tertiary",
                help=f"Go there. Its settings: {lit(link.partition('?')[2], 300) if '?' in link else 'the defaults'}",
                on_click=show, args=(place,),
            )  # fmt: skip
        for name, icon, about, there, idle in (
            ("up", "arrow_upward", "Earlier", place - 1, place == 1),
            ("down", "arrow_downward", "Later", place + 1, place == len(SLIDES.value)),
            ("drop", "close", "Remove", 0, False),
        ):
            st.button(
                "", key=f"slide_{name}_{place}", icon=f":material/{icon}:", type="tertiary", disabled=idle,
                help=f"{about}: slide {place}", on_click=partial(_move, place, there),
            )  # fmt: skip


def _title(link: str, pages: Sequence[Page]) -> str:
    """Return what a slide is called: its page, and its view where there are several."""
    page = next(one for one in pages if one.name == _page_of(link))
    if page.switch is None:
        return page.title
    view = parse_qs(link.partition("?")[2]).get(page.switch.key, [page.switch.default])[0]
    return f"{page.title}, {page.switch.label_of(view)}" if page.switch.accepts(view) else page.title


def _page_of(link: str) -> str:
    return link.partition("?")[0]


def _add(link: str) -> None:
    SLIDES.set((*SLIDES.value, link))


def _start() -> None:
    # Not a toggle: where the browser has one closed, it goes on sending the value from before the keys changed it.
    PRESENT.set(True)
    if SLIDES.value:
        show(1)


def _move(place: int, there: int) -> None:
    """Put a slide at another place, from 1; 0 takes it out."""
    links = list(SLIDES.value)
    link = links.pop(place - 1)
    if there:
        links.insert(there - 1, link)
    SLIDES.set(tuple(links))
    SLIDE.set(0)
