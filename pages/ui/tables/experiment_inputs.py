"""Inputs of views as the controls stand, and the δ of mechanisms that need one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from pages.ui.inputs.settings import DELTA, REG, get
from pages.ui.inputs.text import plain, small_print
from pages.ui.tables import tuning_provenance
from pages.ui.tables.store import dataset
from treedp_core.mechanisms import RELEASES, THRESHOLDS
from treedp_core.privacy import delta_warning
from treedp_core.views.inputs import Inputs, ReleaseInputs, parameters_of
from treedp_core.views.parameters import TUNED
from treedp_core.words import setting_text

AnyInputs = TypeVar("AnyInputs", bound=Inputs)


def inputs_now(kind: type[AnyInputs]) -> AnyInputs:
    """Return inputs as the controls stand."""
    known = {name: one.key for name, one in parameters_of(kind).items()}
    values = {name: REG[key].value for name, key in known.items()}
    of_shares = {name: key for name, key in known.items() if key.endswith(TUNED) and isinstance(values[name], str)}
    return kind(
        **values | {name: tuning_provenance.text_of(key.removesuffix(TUNED)) for name, key in of_shares.items()}
    )


def usable_delta() -> float:
    """Return the δ of what needs one: the sidebar's; where that is 0, the one that fits for every page."""
    return get("delta") or fits()


def fits(total: int = 0) -> float:
    """Return a δ for every page: it fits so many records, and those of the data set in use as well."""
    return replace(inputs_now(ReleaseInputs), delta=0.0).usable_delta(max(dataset().total, total))


def note_of_delta(mechanisms: Iterable[str], key: str, total: int | None = None) -> None:
    """Say what is to be said of δ where a mechanism needs one: see `say_delta`."""
    needy = [one.label for name, one in RELEASES.items() if name in set(mechanisms) and one.needs_delta]
    if needy:
        noise = "" if needy[-1] == THRESHOLDS.label else " noise"
        say_delta(f"{' and '.join(needy)}{noise}", key, total)


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
    fitting = fits(total or 0)
    used = setting_text(fitting)
    with st.container(horizontal=True, vertical_alignment="center"):
        small_print(
            f":material/info: The sidebar's δ is 0, which {who} cannot promise: δ = {used} is used on this page.",
            width="content",
        )
        st.button(
            f"Set δ = {used}",
            key=key,
            type="tertiary",
            on_click=DELTA.set,
            args=(fitting,),
            help="Sets δ in the sidebar, for every page.",
        )


def warn_of_delta(total: int) -> None:
    """Say so where the sidebar's δ would allow one of so many records to be published as it is."""
    told = delta_warning(get("delta"), total)
    if told:
        st.error(plain(told))
