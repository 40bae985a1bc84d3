"""A guess that is dragged on an axis of its own, before anything is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from pages.ui.page.scripts import script


def dragged(told: Mapping[str, Any], *, key: str, on_guess: Callable[[float], None]) -> None:
    """Show an axis, as `treedp_core.studies.lesson.drag_for_browser` writes it; what rests on it is told beforehand."""
    script("guess", isolate_styles=False)(
        data=dict(told), key=key, height="stretch",
        on_guessed_change=partial(_guessed, key, told["low"], told["high"], on_guess),
    )  # fmt: skip


def _guessed(key: str, low: float, high: float, on_guess: Callable[[float], None]) -> None:
    """Pass a guess on, if it is one: a browser may send anything."""
    sent: Any = st.session_state[key].guessed
    if type(sent) in (int, float) and math.isfinite(sent) and low <= sent <= high:
        on_guess(float(sent))
