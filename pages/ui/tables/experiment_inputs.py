"""The experiment that the shared settings describe, and the δ of mechanisms that need one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui.inputs.settings import DELTA, get
from pages.ui.inputs.text import plain
from pages.ui.tables.store import dataset
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation, delta_warning, fitting_delta
from treedp_core.words import setting_text


def experiment(**overrides: Any) -> Experiment:
    """Return the experiment of the shared settings, with some fields of `Experiment` replaced."""
    shared = Experiment(
        epsilon=get("eps"),
        delta=get("delta"),
        relation=get("nbr"),
        contributions=protected(),
        known_levels=known_levels(),
        alpha=get("alpha"),
        threshold=get("tau"),
        seed=get("seed"),
    )
    return replace(shared, **overrides)


def protected(bound: int | None = None) -> int:
    """Return how many records of a unit are protected: those of the setting, and never fewer than were counted.

    `bound` is how many were counted of each unit; of the data set in use where none is given.
    """
    return max(int(get("contributions")), dataset().report.recipe.bound if bound is None else bound)


def known_levels() -> int:
    """Return the known levels, at most as many as the data set in use has; the sidebar says where that is fewer."""
    return min(int(get("known_levels")), dataset().tree.n_levels)


def usable_delta(total: int | None = None) -> float:
    """Return the δ of what needs one: the sidebar's; where that is 0, the one that fits so many records."""
    return get("delta") or fits(total)


def fits(total: int | None = None) -> float:
    """Return a δ for every page: it fits so many records, and those of the data set in use as well.

    Where the relation protects the number of records, δ depends on none.
    """
    is_public = NeighbouringRelation(get("nbr")) is NeighbouringRelation.REPLACE_ONE
    return fitting_delta(max(dataset().total, total or 0) if is_public else None)


def note_of_delta(mechanisms: Iterable[str], key: str, total: int | None = None) -> None:
    """Say what is to be said of δ where a mechanism needs one: see `say_delta`."""
    needy = [one.label for name, one in MECHANISMS.items() if name in set(mechanisms) and one.needs_delta]
    if needy:
        say_delta(f"{' and '.join(needy)} noise", key, total)


def say_delta(who: str, key: str, total: int | None = None) -> None:
    """Say of the δ spent here what it lacks: it is not below 1 / records, or the sidebar's is 0.

    `who` cannot promise 0: the δ used instead is offered for every page. Without a total the records of the data set
    in use count.
    """
    if get("delta") > 0:
        warn_of_delta(dataset().total if total is None else total)
        return
    if get("present"):  # the strip has the δ, and the figure the room
        return
    used = setting_text(usable_delta(total))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f":material/info: The sidebar's δ is 0, which {who} cannot promise: δ = {used} is used on this page.",
            width="content",
        )
        st.button(
            f"Set δ = {used}",
            key=key,
            type="tertiary",
            on_click=DELTA.set,
            args=(usable_delta(total),),
            help="Sets δ in the sidebar, for every page.",
        )


def warn_of_delta(total: int) -> None:
    """Say so where the sidebar's δ would allow one of so many records to be published as it is."""
    told = delta_warning(get("delta"), total)
    if told:
        st.error(plain(told))
