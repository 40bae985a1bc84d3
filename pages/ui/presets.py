"""Ready-made settings of a page, in a popover that closes after a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

Presets = Mapping[str, tuple[str, dict[str, Any]]]
"""Name -> one sentence about it, and the settings it sets."""


def popover(
    prefix: str, presets: Presets, apply: Callable[[Mapping[str, Any]], None], ids: Sequence[object] | None = None
) -> None:
    """Show presets; each sets only the settings it names.

    Parameters
    ----------
    prefix : str
        The popover's key is ``{prefix}_presets``, a button's ``{prefix}_preset_{id}``.
    apply : function
        Called with a preset's settings when it is chosen; `st.session_state.update` where nothing else is to be done.
    ids : sequence, optional
        One for each preset; their positions unless given.
    """
    open_key = f"{prefix}_presets"
    with st.popover(
        "Presets", icon=":material/auto_awesome:", help="Ready-made settings", key=open_key, on_change="rerun"
    ):
        for one, (name, (about, settings)) in zip(ids or range(len(presets)), presets.items(), strict=True):
            st.button(
                name, key=f"{prefix}_preset_{one}", on_click=_take, args=(open_key, apply, settings), width="stretch",
                help=about,
            )  # fmt: skip
            st.caption(about)


def _take(open_key: str, apply: Callable[[Mapping[str, Any]], None], settings: Mapping[str, Any]) -> None:
    apply(settings)
    st.session_state[open_key] = False  # or it would lie over what it has brought up
