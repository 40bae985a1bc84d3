"""What stands at the top of every page: its question, its badges, and the strip: what its figures were made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import streamlit as st

from pages.ui.inputs.settings import CONTRIBUTIONS, get
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.jobs import jobs
from pages.ui.session import reconnect
from pages.ui.tables import session_tables, store
from pages.ui.tables.experiment_inputs import protected
from pages.ui.tables.result import progress
from treedp_core.notebook.cell import NOT_REVIEWED
from treedp_core.records import Dataset
from treedp_core.registry import CLAIM
from treedp_core.studies.methods.terms import text
from treedp_core.words import lower_first, plural, whole

LOST: Final = ":material/history: No file is counted: a reload ends one, a link or a notebook without data has none."
BADGES: Final[Mapping[str, tuple[Literal["blue", "violet", "red", "orange"], str, str]]] = {
    "formula": ("blue", ":material/function:", text("formula")),
    "simulation": ("violet", ":material/casino:", text("simulation")),
    NOT_REVIEWED: ("orange", ":material/warning:", f"An entry of a plug-in was used: {CLAIM}."),
    "NOT PRIVATE": ("red", ":material/lock_open:", text("private")),
}


def header(title: str, lede: str, strip: str, badge: str, *, data: Dataset, chooses_source: bool = False) -> None:
    """Show a page's question, with its purpose to be asked for, and the strip: what the figures were made from.

    `badge` says what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"; several are joined by commas.
    `data` are those that the page is of. A page that `chooses_source` says itself when an uploaded data set is gone.
    """
    st.title(title, anchor=False, help=lede or None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for name in filter(None, map(str.strip, badge.split(","))):
            show_badge(name)
        st.caption(_with_unit(strip, data), width="content")
    making = jobs.current(store.MAKING)
    if making is not None and making.error is None:
        st.info(f"The data set is being made; {lit(store.dataset().name, 40)} is shown meanwhile.")
        progress(store.MAKING, "Making it", "data sets", can_stop=False)
    if reconnect.has_returned():
        _session_ended()
    elif store.is_lost() and not chooses_source:
        _lost()


def _with_unit(strip: str, data: Dataset) -> str:
    """Add to a strip whose records a file has, where it names the file: nobody is taken for one unit unasked."""
    if session_tables.file_of(data) is None or lit(data.name, 40) not in strip:
        return strip
    said, unit = data.not_reviewed.rstrip("."), store.unit_of(data)
    read_by = f" · {lit(lower_first(said), 120)}" if said else ""
    return f"{strip} · unit: {lit(unit, 40) if unit else 'not said yet'}{_bound(data, unit)}{read_by}"


def _bound(data: Dataset, unit: str) -> str:
    """How many records of a unit are protected, and how many were counted or are set, where that is another number."""
    counted, wanted = data.report.recipe.bound, CONTRIBUTIONS.value
    if not counted and unit:
        return ""
    most = protected(counted)
    said = "one record" if most == 1 else f"at most {plural(most, 'record')}"
    if wanted < most:
        return f", {said} counted and protected, {whole(wanted)} set"
    return f", {said}" if counted in (0, most) else f", {said} protected, {whole(counted)} counted"


def read_by_plugin(strip: str, data: Dataset) -> bool:
    """Whether a view is of data that a plug-in has read."""
    return bool(data.not_reviewed) and lit(data.name, 40) in strip


def _lost() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        small_print(LOST, width="content")
        if st.button("Choose a file", key="choose_file", type="tertiary", help="On the page Data and tree."):
            st.switch_page("pages/data.py")


def _session_ended() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        small_print(
            ":material/history: The session had ended: settings were kept, counts of a file were not.", width="content"
        )
        st.button(
            "Understood", key="session_ended", type="tertiary", on_click=reconnect.dismiss, help="Hide this message."
        )


def show_badge(name: str) -> None:
    """Show what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"."""
    colour, icon, about = BADGES[name]
    st.badge(name, icon=icon, color=colour, help=about)


def explain(text: str) -> None:
    """Show a paragraph of explanation (Markdown of our own), unless the reader has switched explanations off."""
    if get("explain") and not get("present"):
        prose(text)
