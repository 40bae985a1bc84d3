"""Who is protected: the unit, how many records it has at most, and which two data sets must look alike."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import CONTRIBUTIONS, KNOWN_LEVELS, RELATION, SAMPLE, SOURCE, UNIT
from pages.ui.inputs.text import lit, small_print
from pages.ui.tables import store
from pages.ui.tables.experiment_inputs import experiment
from sample_data.catalogue import SAMPLES
from treedp_core.experiment import prepare
from treedp_core.privacy import NeighbouringRelation

_MIRROR: Final = "nbr_here"


def who(asked: bool) -> None:
    """Show and set who is protected; the relation is the one of the sidebar. What was `asked` stands there."""
    tree = store.dataset().tree
    if SOURCE.value == "sample":
        sample = SAMPLES[SAMPLE.value]
        known = f" Known levels: {sample.known_levels}." if sample.known_levels > 1 else ""
        small_print(f"In this sample: {sample.protected}{known}")
    left, right = st.columns(2)
    with left:
        _relation()
    with right:
        if store.is_uploaded() and not asked:
            UNIT.draw()
        if not asked:
            CONTRIBUTIONS.draw()
        if RELATION.value == NeighbouringRelation.REPLACE_UNKNOWN.value:
            KNOWN_LEVELS.draw(offered=range(1, tree.n_levels + 1))
    small_print(f"{_each()}: {prepare(experiment(), tree).guarantee.sentence()}")


def ask() -> None:
    """Ask of a file what one unit is, and how many records it has at most; until then nothing is said but records."""
    with in_a_row():
        with st.container(width=320):
            UNIT.draw()
        with st.container(width=240):
            CONTRIBUTIONS.draw()
    small_print("Until you say what one unit is, the promise is about records, and about nobody behind them.")


def is_asked() -> bool:
    """Whether a file is in use of which nobody has said yet what one unit is."""
    return store.is_uploaded() and not store.unit()


def _each() -> str:
    """Return whom the promise is to."""
    unit = store.unit()
    return f"For each unit ({lit(unit, 60)})" if unit else "What one unit is has not been said; the promise"


def _relation() -> None:
    """Show the relation a second time, with what each of them says."""
    relations = {relation.value: relation for relation in NeighbouringRelation}
    st.session_state[_MIRROR] = RELATION.value
    st.radio(
        "Two data sets that must be hard to tell apart", list(relations), key=_MIRROR,
        captions=[relation.description for relation in relations.values()], format_func=RELATION.label_of,
        on_change=lambda: RELATION.set(st.session_state[_MIRROR]),
        help="Whatever the data set, a release looks nearly the same for both. Also in the sidebar.",
    )  # fmt: skip
