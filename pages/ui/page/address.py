"""The address: a link brings settings in, and the browser's address bar says at any time which settings a page has."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import streamlit as st

from pages.ui.inputs.setting import FOLLOWED, Setting
from pages.ui.inputs.settings import EPSILON, EPSILON_TUNED, PRESENT, REG, SHARED, SLIDE, SPLIT_SHARES, TALK, of_page
from pages.ui.page import handover
from pages.ui.page.page import Page
from pages.ui.server.middleware import NO_PAGE
from pages.ui.session import streamlit_compat
from pages.ui.session.sessions import settings_kept_by_browser
from pages.ui.tables import store, tuning_provenance
from treedp_core.checks import InputError

SILENT: Final = ("embed", "embed_options", NO_PAGE)
LINKS_KEPT: Final = 32
"""Addresses written that a browser may still report: it does so with a change made before it showed the next one."""
LONGEST: Final = 2_000
"""Characters beyond which browsers, mail programs and chats cut a query: a longer list of slides stays out of it."""
_REPORTED: Final = "_link_reported"
_WRITTEN: Final = "_links_written"
_PAGE: Final = "_page_of_last_run"
_TRAVELS: Final = "_travels"
_NO_PAGE: Final = "_page_that_is_none"

Link = dict[str, list[str]]


def hydrate() -> list[tuple[str, InputError]]:
    """Read the link on arrival and fill in defaults; return what the link had that was refused.

    A refused setting keeps its present value, and nothing else changes. After Back or Forward the address is all that
    the page had: what it does not name has its default again.
    """
    kept, split = settings_kept_by_browser(), SPLIT_SHARES.value
    link = {key: st.query_params.get_all(key) for key in st.query_params if key not in SILENT}
    has_travelled, is_new = streamlit_compat.has_travelled(), _is_new(link)
    if has_travelled:
        st.session_state[_TRAVELS] = (travels()[0] + 1, link)
        for one in (*SHARED, *of_page(_page_in(st.context.url or ""))):
            one.set(one.fresh())
    refused = _take_in(link, kept) if has_travelled or is_new else []
    if has_travelled:
        handover.follow(split)
    st.session_state[FOLLOWED] = set(link) if has_travelled or is_new else set()
    for key, one in REG.items():
        if key not in kept:
            st.session_state.setdefault(key, one.fresh() if one.at_first is None else one.at_first)
    return refused


def travels() -> tuple[int, Link]:
    """Return how often this session came by Back or Forward, and the link of the last time."""
    count, link = st.session_state.get(_TRAVELS, (0, {}))
    return count, link


def page_that_is_none() -> str:
    """Return the page that was asked for where there is none, once; nothing where there was one."""
    name = st.query_params.get(NO_PAGE, "")
    before, st.session_state[_NO_PAGE] = st.session_state.get(_NO_PAGE, ""), name
    return "" if name == before else name


def query(settings: Iterable[Setting[Any]]) -> str:
    """Return what the address bar is to say of a page: those of its settings that differ from their defaults.

    Nothing of a file goes into it, and so no shares that were tuned on one's true counts: browsers keep addresses.
    """
    written = urlencode(_with_slides(_named(settings)), doseq=True, safe=",")
    links: deque[Link] = st.session_state.setdefault(_WRITTEN, deque(maxlen=LINKS_KEPT))
    if (link := parse_qs(written, keep_blank_values=True)) not in links:
        links.append(link)
    return written


def share_url() -> str:
    """Return a link to this page that restores every setting which differs from its default."""
    changed = _with_slides(_changed([one for one in REG.values() if one not in TALK]))
    return _joined(_here(), urlencode(changed, doseq=True))


def app() -> str:
    """Return where the app is, without a slash at its end: what a page's name is put behind."""
    return _here().rpartition("/")[0]


def page_url(page: Page) -> str:
    """Return a link to a page as it now is, outside a presentation: what its audience is given."""
    return _joined(_here(), _slide_query(page))


def link_of(page: Page) -> str:
    """Return a page as it now is in one line, its name and a query: `follow` brings it back."""
    return _joined(page.name, _slide_query(page))


def settings_of(page: Page) -> dict[str, tuple[str, ...]]:
    """Return all settings of a page as it now is that differ from their defaults, as texts of a link by key."""
    texts = _changed(_of_slide(page.settings))
    return {key: (text,) if isinstance(text, str) else tuple(text) for key, text in texts.items()}


def follow(link: str) -> None:
    """Give settings the values that `link_of` wrote down; what it does not name has its default again."""
    name, _, written = link.partition("?")
    put_back(name, parse_qs(written, keep_blank_values=True))


def put_back(page: str, texts: Mapping[str, Sequence[str]]) -> list[tuple[str, InputError]]:
    """Give the settings of a page the values that texts of a link stand for, the others their defaults.

    What is refused is returned and keeps its default. For the next run: in a callback.
    """
    for one in _of_slide(of_page(page)):
        one.set(one.fresh())
    refused = _take_in({key: list(values) for key, values in texts.items()}, frozenset())
    store.turn_to_kept()
    return refused


def slides_fit() -> bool:
    """Whether an address has room for the slides of a presentation."""
    return len(urlencode(_changed(TALK), doseq=True, safe=",")) <= LONGEST


def _here() -> str:
    return (st.context.url or "").split("?")[0]


def _joined(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _slide_query(page: Page) -> str:
    return urlencode(_named(_of_slide(page.settings)), doseq=True, safe=",")


def _of_slide(settings: Iterable[Setting[Any]]) -> list[Setting[Any]]:
    """What a slide sets of the settings: not that a presentation goes on."""
    return [one for one in (*SHARED, *settings) if one is not PRESENT]


def _with_slides(changed: dict[str, str | list[str]]) -> dict[str, str | list[str]]:
    """Add the slides while they are shown, where there is room; which of them is shown always has some."""
    more = changed | (_changed(TALK) if PRESENT.value else {})
    fits = len(urlencode(more, doseq=True, safe=",")) <= LONGEST
    return more if fits else changed | _changed([SLIDE])


def _named(settings: Iterable[Setting[Any]]) -> dict[str, str | list[str]]:
    return _changed([one for one in settings if not _tells_of_a_file(one.key)])


def _changed(settings: Iterable[Setting[Any]]) -> dict[str, str | list[str]]:
    return {one.key: one.write(one.value) for one in settings if one.value != one.default}


def _tells_of_a_file(key: str) -> bool:
    if key in (EPSILON.key, EPSILON_TUNED.key):
        return store.is_uploaded() and tuning_provenance.tells_epsilon()
    page, _, name = key.partition("_")
    if name not in ("shares", "tuned", "allocation") or page not in tuning_provenance.PAGES or not store.is_uploaded():
        return False
    origin = tuning_provenance.of(page)
    return origin is not None and not origin.is_private


def _page_in(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def _is_new(link: Link) -> bool:
    """Whether a link has just been followed; noted for the next run.

    With a change of a setting the browser reports the address as it was before: to read that would undo the change.
    """
    page, before = streamlit_compat.page_mark(), st.session_state.get(_REPORTED)
    has_moved = page != st.session_state.get(_PAGE, page)
    st.session_state[_REPORTED], st.session_state[_PAGE] = link, page
    return bool(link) and link != before and (has_moved or link not in st.session_state.get(_WRITTEN, ()))


def _take_in(link: Link, kept: frozenset[str]) -> list[tuple[str, InputError]]:
    refused = []
    for key, texts in link.items():
        if key in kept:
            continue
        try:
            one = _known(key)
            one.set(one.parse(texts))
        except InputError as error:
            refused.append((key, error))
    return refused


def _known(key: str) -> Setting[Any]:
    if key not in REG:
        raise InputError("LINK_UNKNOWN", "There is no such setting.")
    return REG[key]
