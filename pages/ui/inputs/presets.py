"""Ready-made settings of a page, in a popover that closes after a choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.ui.inputs.setting import Chosen, take
from pages.ui.inputs.text import small_print


@dataclass(frozen=True)
class Preset:
    """Settings that go together.

    Parameters
    ----------
    name, about : str
        What its button says, and one sentence about it.
    sets : sequence of Chosen
        The settings it sets, and no others: see `Setting.to`.
    then : function, optional
        Called when they are set.
    """

    name: str
    about: str
    sets: Sequence[Chosen]
    then: Callable[[], object] | None = None


def draw(page: str, presets: Sequence[Preset]) -> None:
    """Draw the popover of a page's presets, where it has some; a button's key is ``{page}_preset_{name}``."""
    if not presets:
        return
    key = f"{page}_presets"
    with st.popover("Presets", icon=":material/auto_awesome:", help="Ready-made settings", key=key, on_change="rerun"):
        for one in presets:
            st.button(
                one.name, key=f"{page}_preset_{one.name}", on_click=_take, args=(key, one), width="stretch",
                help=one.about,
            )  # fmt: skip
            small_print(one.about)


def _take(popover: str, preset: Preset) -> None:
    take(preset.sets)
    if preset.then is not None:
        preset.then()
    st.session_state[popover] = False  # or it would lie over what it has brought up
