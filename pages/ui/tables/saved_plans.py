"""Plans that this session noted, each for a data set: releases of the same records are paid for together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.ui.tables import session_tables, store
from treedp_core.notebook.saved_plans import MOST, MOST_OF_ALL, Noted
from treedp_core.plans import ReleasePlan

_NOTED: Final = "_plans_noted"


def everything() -> list[Noted]:
    """Return what was noted; what tells of true counts goes with them."""
    found: list[Noted] = st.session_state.get(_NOTED, [])
    if any(one.plan.label for one in found):
        here = {one.data.fingerprint for one in session_tables.everything()} | {store.dataset().fingerprint}
        found = [one for one in found if not one.plan.label or one.fingerprint in here]
        put(found)
    return found


def plans() -> list[ReleasePlan]:
    """Return the plans noted for the data set in use."""
    return [one.plan for one in everything() if one.fingerprint == store.dataset().fingerprint]


def is_full() -> bool:
    """Whether no other one is taken."""
    return len(plans()) >= MOST


def note(plan: ReleasePlan) -> None:
    """Note a plan for the data set in use, in place of the oldest where there are many: in a callback."""
    put([*everything(), Noted(store.dataset().fingerprint, plan)][-MOST_OF_ALL:])


def forget() -> None:
    """Forget those of the data set in use: in a callback."""
    put([one for one in everything() if one.fingerprint != store.dataset().fingerprint])


def put(noted: Sequence[Noted]) -> None:
    """Put other plans in place of those that were noted."""
    st.session_state[_NOTED] = list(noted)
