"""Scripts of our own for the browser: each is a file below ``static/``, so the security headers let it run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial, wraps
from typing import Any, Final
from weakref import WeakKeyDictionary

import streamlit as st

from pages.ui.page.page import ROOT
from pages.ui.session.streamlit_compat import ComponentRenderer, register_scripts

# A list whose rows change places by dragging them, by the arrow keys or by their buttons.


def sortable(
    label: str,
    rows: Mapping[str, str],
    *,
    key: str,
    on_move: Callable[[list[str]], None],
    on_choose: Callable[[str], None] | None = None,
) -> None:
    """Show names with a note each, in their order; another order is told before the next run begins.

    So is a name that was chosen, where names can be.
    """
    names = tuple(rows)
    script("sortable", isolate_styles=False)(
        data={"label": label, "rows": list(rows.items()), "chooses": on_choose is not None}, key=key,
        on_moved_change=partial(_moved, key, names, on_move),
        on_chosen_change=partial(_chosen, key, names, on_choose or (lambda name: None)),
    )  # fmt: skip


def _moved(key: str, names: tuple[str, ...], on_move: Callable[[list[str]], None]) -> None:
    """Pass an order on, if it is one: a browser may send anything."""
    order = st.session_state[key].moved
    if isinstance(order, list) and all(isinstance(name, str) for name in order) and sorted(order) == sorted(names):
        on_move(order)


def _chosen(key: str, names: tuple[str, ...], on_choose: Callable[[str], None]) -> None:
    """Pass a name on, if it is one of those shown."""
    name = st.session_state[key].chosen
    if isinstance(name, str) and name in names:
        on_choose(name)


_PACKAGE: Final = "treedp"
_NAMES: Final = ("shell", "sortable", "splitbar", "autosave", "ranges", "guess", "follow")


_TOLD: Final = "_times_told"


def of_all(callback: Callable[..., None]) -> Callable[..., None]:
    """Mark a callback of what concerns all of a page: see `times_told`."""

    @wraps(callback)
    def counted(*args: Any) -> None:
        st.session_state[_TOLD] = times_told() + 1
        callback(*args)

    return counted


def times_told() -> int:
    """Return how often the browser told what concerns all of a page.

    What it tells in one moment is sent as one, and goes to one part of the page if any of it does: that part is to run
    all, where this has grown.
    """
    return int(st.session_state.get(_TOLD, 0))


_made: Final[WeakKeyDictionary[Hashable, dict[tuple[str, bool], ComponentRenderer]]] = WeakKeyDictionary()


def script(name: str, *, isolate_styles: bool = True) -> ComponentRenderer:
    """Return what puts ``static/<name>/<name>.js`` on a page."""
    made = _made.setdefault(register_scripts(_PACKAGE, _NAMES, ROOT), {})
    if (name, isolate_styles) not in made:
        made[name, isolate_styles] = st.components.v2.component(
            f"{_PACKAGE}.{name}", js=f"{name}.js", isolate_styles=isolate_styles
        )
    return made[name, isolate_styles]
