"""A figure that follows a handle: while a slider is dragged the browser draws what the view finds for each value of it.

The figures are computed when a hand comes near, the nearest values first, and sent as what differs from the one that
stands; `static/follow/follow.js` draws them, with sentence and strip. On release the page runs as ever and shows the
same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from pages.ui.inputs.inactive_settings import said as idle_of
from pages.ui.inputs.setting import key_of
from pages.ui.inputs.settings import REG
from pages.ui.inputs.text import pieces
from pages.ui.page import page
from pages.ui.page.scripts import script, times_told
from pages.ui.page.view import Seen, line_of, moved
from pages.ui.session import uploads
from treedp_core.checks import InputError
from treedp_core.figures.base.differences import differences, digest, written
from treedp_core.figures.base.draft import Draft, unchecked
from treedp_core.registry import generation
from treedp_core.views.inputs import parameters_of
from treedp_core.views.parameters import MAX_TEXT
from treedp_core.watch import Cancelled
from treedp_core.words import unbroken

_PLACE: Final = "follow"
_KEY: Final = "follow_script"
_NEAR: Final = "_values_near"
_COUNT: Final = "_figures_sent"
ROUND: Final = 0.08
"""Seconds after which what is there is sent, before the next value is begun."""
AT_ONCE: Final = 6
"""Figures sent together at most."""
SLOW: Final = 0.25
"""Seconds from which on a figure takes so long that only the nearest values are worked out."""
PUBLIC: Final = 100
"""Figures a visit of a page may ask for where strangers use the app."""
_ON_RELEASE: Final = ("contributions", "known_levels", "seed")
"""Inputs that change what is counted or drawn: their figures come once they are set."""


@dataclass(frozen=True)
class Drag:
    """What is dragged on a page besides its sliders: it takes more values than can be worked out beforehand.

    Parameters
    ----------
    name : str
        What the browser calls it.
    keys : tuple of str
        Settings that it moves.
    at : str
        Where it stands.
    read : function
        Where it is moved to -> values of inputs, by their names; it raises `InputError` or `ValueError`.
    is_on_figure : bool
        Whether it is dragged over the figure itself, which is not drawn anew under the hand.
    """

    name: str
    keys: tuple[str, ...]
    at: str
    read: Callable[[str], dict[str, Any]]
    is_on_figure: bool = False


@dataclass(frozen=True)
class Stage:
    """The figure of the first screen.

    Parameters
    ----------
    seen : Seen
    look : tuple
        By what it differs from window to window.
    dress : function, optional
        A figure as the window shows it.
    picture : function, optional
        Inputs -> what a picture that draws itself in the browser is told of them, where that stands in its place.
    drag : Drag, optional
    """

    seen: Seen[Any]
    look: tuple[Hashable, ...]
    dress: Callable[[Draft], go.Figure] | None = None
    picture: Callable[[Any], Mapping[str, Any]] | None = None
    drag: Drag | None = None

    @cached_property
    def base(self) -> str:
        """What tells this figure, as it stands, from any other: one that stays the same is not drawn again."""
        draft = self.seen.finding.figure
        if draft is None or self.dress is None:
            return self._key(self.seen.found_for.texts())
        return key_of(self.seen.entry.name, digest(draft.data, draft.layout), self.look)

    def _key(self, texts: Mapping[str, Sequence[str]]) -> str:
        seen = self.seen
        question = None if seen.work is None else seen.work.question
        of = seen.tables.value.fingerprints
        return key_of(seen.entry.name, sorted(texts.items()), of, question, generation(), self.look)

    @cached_property
    def settings(self) -> list[Any]:
        """What every setting was when the page ran, and how often the browser had told what concerns all of it."""
        return _settings()

    @cached_property
    def handles(self) -> dict[str, dict[str, Any]]:
        """Of each slider and field that the view depends on: its values, where it stands, and what its figures are of.

        Those of one family differ in its value alone, so that the browser keeps them when it has been moved.
        """
        found: dict[str, dict[str, Any]] = {}
        given, shown = self.seen.given, page.shown()
        idle = idle_of(shown.view.ignores) if shown is not None else {}
        for name, parameter in parameters_of(type(given)).items():
            setting = REG.get(parameter.key)
            if setting is None or setting.key in idle or name in _ON_RELEASE:
                continue
            at, stops, moves = getattr(given, name), setting.stops(), dict[str, Any]()
            if stops:
                moves = {"values": [setting.written(one) for one in stops], "at": setting.written(at)}
            elif setting.is_typed:
                moves = {"typed": True, "at": parameter.write(at)}
            if moves:
                found[setting.key] = {**moves, "family": self._family(setting.key)}
        if self.drag is not None:
            found[self.drag.name] = {
                "at": self.drag.at, "family": self._family(*self.drag.keys), "still": self.drag.is_on_figure,
            }  # fmt: skip
        return found

    def _family(self, *keys: str) -> str:
        return self._key({key: text for key, text in self.seen.given.texts().items() if key not in keys} | {"": keys})

    def mark(self, fig: go.Figure) -> None:
        """Have the browser know which figure it shows, and keep what is zoomed in to while it is of the same tables."""
        zoom = key_of(self.seen.entry.name, self.seen.tables.value.fingerprints)
        fig.update_layout(meta={"base": self.base}, uirevision=zoom)

    def follow(self) -> None:
        """Have it follow the sliders it depends on; without any nothing is put on the page."""
        name = _name_of_page()
        if st.session_state.get(_COUNT, ("", 0))[0] != name:
            st.session_state[_COUNT] = (name, 0)
        if self.handles:
            with st.container(key=_PLACE):
                st.fragment(self._answer)()

    @cached_property
    def _parts(self) -> dict[str, Any]:
        return self._dressed(self.seen.finding.figure)

    def _dressed(self, draft: Draft | None) -> dict[str, Any]:
        if draft is None or self.dress is None:
            return {}
        fig = self.dress(draft)
        self.mark(fig)
        parts: dict[str, Any] = fig.to_plotly_json()
        parts["layout"].pop("template", None)
        return parts

    @unchecked()
    def _answer(self) -> None:
        """Tell the browser what can be dragged, and what it shows for the values that a hand is near to.

        What a browser tells in one moment goes to one part of the page, also what concerns all of it: then all is run.
        """
        if self.settings != _settings():
            st.rerun()
        told = {
            "base": self.base, "part": self.seen.entry.part, "handles": self.handles,
            **self._found(st.session_state.pop(_NEAR, None)),
        }  # fmt: skip
        script("follow", isolate_styles=False)(data=told, key=_KEY, height=1, on_near_change=_come_near)

    def _found(self, near: object) -> dict[str, Any]:
        """The figures of the values that were asked for, as far as there is time."""
        if not isinstance(near, dict) or near.get("base") != self.base:  # of a figure that came before
            return {}
        key, values = near.get("handle"), near.get("values")
        if not isinstance(key, str) or not isinstance(values, list) or key not in self.handles:
            return {}
        handle, read = self.handles[key], self._reader(key)
        wanted = [one for one in values if isinstance(one, str) and len(one) <= MAX_TEXT][:AT_ONCE]
        frames: dict[str, Any] = {}
        began, few = time.monotonic(), None
        for text in wanted:
            if frames and time.monotonic() - began > ROUND:
                break
            if not _may_go_on():
                return {"frames": frames, "family": handle["family"], "few": 0}
            at = time.monotonic()
            try:
                frames[text] = self._frame(read, text)
            except Cancelled:  # so would all others be
                frames[text], few = None, 0
                break
            few = 2 if time.monotonic() - at > SLOW else few
        return {"frames": frames, "family": handle["family"], "few": few}

    def _reader(self, key: str) -> Callable[[str], dict[str, Any]]:
        """Return what reads where a handle stands: values of inputs by their names."""
        if self.drag is not None and key == self.drag.name:
            return self.drag.read
        name, one = next(one for one in parameters_of(type(self.seen.given)).items() if one[1].key == key)
        if "typed" in self.handles[key]:
            return lambda text: {name: one.read(text)}
        by_text = dict(zip(self.handles[key]["values"], REG[key].stops(), strict=True))
        return lambda text: {name: by_text[text]}

    def _frame(self, read: Callable[[str], dict[str, Any]], text: str) -> dict[str, Any] | None:
        """What differs on the page with another value; None where there is none.

        Raises
        ------
        Cancelled
            Where it cannot be said at once.
        """
        try:
            values = read(text)
            finding = moved(self.seen, **values)
        except (InputError, LookupError, ValueError):
            return None
        if finding.figure is None:
            return None
        return {
            "picture": None if self.picture is None else written(self.picture(self.seen.with_values(**values)[0])),
            "figure": differences(self._parts, self._dressed(finding.figure)),
            "answer": pieces(unbroken(finding.answer)),
            "strip": pieces(unbroken(page.line_shown().replace(self.seen.line(), line_of(finding)))),
            "badges": list(finding.badges),
        }


def _settings() -> list[Any]:
    return [times_told(), *(one.value for one in REG.values())]


def _come_near() -> None:
    """Note which values a hand is near to."""
    st.session_state[_NEAR] = st.session_state[_KEY].near


def _may_go_on() -> bool:
    """Whether one figure more may be worked out: where strangers use the app each visit has so many."""
    name, sent = st.session_state[_COUNT]
    st.session_state[_COUNT] = (name, sent + 1)
    return not uploads.is_public() or sent < PUBLIC


def _name_of_page() -> str:
    here = page.shown()
    return "" if here is None else here.name
