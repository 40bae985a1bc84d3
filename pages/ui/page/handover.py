"""One split that Budget, the Error lab, Consistency and Release plan all take over, with where it came from."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.ui.inputs.settings import REG, SPLIT_SHARES
from pages.ui.tables import plans
from treedp_core.experiment import Experiment
from treedp_core.studies.budget import Origin, Source
from treedp_core.views.parameters import MAX_TEXT

PAGES: Final = ("lab", "con", "plan")
"""Pages that take it over as their custom split; on the Budget page it was chosen, or becomes one's own."""
SPLIT: Final = ("split_shares", "split_tuned", "split_from")
"""The settings that say which split pages took over."""
_BEFORE: Final = "_before_split"


def take(shares: str, source: Source, origin: Origin | None, asked: Experiment) -> None:
    """Have all pages take a split over, with the noise it was made for; Back undoes it as any setting. In a callback.

    Parameters
    ----------
    shares : str
        Of the total, from the root down; what a prior took of it stays unspent.
    source : Source
    origin : Origin or None
        What it was tuned on.
    asked : Experiment
        Whose mechanism, post-processing and metric the pages take as well.
    """
    post = "least_squares" if asked.postprocess else "none"
    new: dict[str, Any] = {"lab_mechanisms": (asked.mechanism,), "lab_post": (post,), "lab_metric": asked.metric}
    for page in PAGES:
        new |= {f"{page}_allocation": "custom", f"{page}_shares": shares, f"{page}_tuned": _text(origin)}
        new |= {f"{page}_mechanism": asked.mechanism, f"{page}_post": post} if page != "lab" else {}
    before = {key: REG[key].value for key in new}
    st.session_state.setdefault(_BEFORE, {})[shares] = (before, new, plans.kept())
    plans.drop()
    _set(new)
    text = source.text if len(source.text) <= MAX_TEXT else Source(source.found_by, source.epsilon).text
    _set(dict(zip(SPLIT, (shares, _text(origin), text), strict=True)))


def turn_to(split: tuple[str, ...]) -> None:
    """Take back, or take over again, what a split of before stood for, by the settings that say which it was."""
    before = SPLIT_SHARES.value
    _set(dict(zip(SPLIT, split, strict=True)))
    follow(before)


def follow(before: str) -> None:
    """Undo or repeat what pages took over, where Back or Forward left the split of these shares."""
    now, kept = SPLIT_SHARES.value, st.session_state.get(_BEFORE, {})
    if now == before:
        return
    if before in kept:
        old, new, plan = kept[before]
        _set({key: value for key, value in old.items() if REG[key].value == new[key]})
        if plans.kept() is None:
            plans.put_back(plan)
    if now in kept:
        old, new, _ = kept[now]
        plans.drop()
        _set({key: value for key, value in new.items() if REG[key].value == old[key]})


def _text(origin: Origin | None) -> str:
    return "" if origin is None else origin.text


def _set(values: dict[str, Any]) -> None:
    for key, value in values.items():
        REG[key].set(value)
