"""The sidebar: the settings every page shares, the share link, and what happens to the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.ui.inputs import inactive_settings
from pages.ui.inputs.refusals import settings_refused
from pages.ui.inputs.setting import Setting
from pages.ui.inputs.settings import (
    ALPHA,
    CONTRIBUTIONS,
    DELTA,
    EPSILON,
    EXPLAIN,
    LEVEL,
    RELATION,
    SEED,
    THRESHOLD,
    get,
)
from pages.ui.inputs.text import lit, small_print
from pages.ui.notebook import autosave, disk, notebook_file
from pages.ui.notebook import rerun as again
from pages.ui.page import address, slides
from pages.ui.page.page import Page
from pages.ui.server import qr
from pages.ui.tables import session_tables, store
from pages.ui.upload import upload
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation
from treedp_core.words import plural, setting_text

PRIVACY_NOTE: Final = (
    "Counts and columns of a file are kept in memory on the computer running this app, the file is not. "
    "They are removed about two minutes after you close the tab."
)
WIDE_EPSILON: Final = 10.0
_PLACE: Final = "_place_of_epsilon"


def sidebar(page: Page, pages: Sequence[Page]) -> None:
    """Show the shared settings; every page has them, so that none is ever reset by changing pages.

    Those that the page does not use just now are greyed, with the reason.
    """
    idle = inactive_settings.said(page.view.ignores)
    with st.sidebar:
        again.begin()
        notebook_file.begin()
        disk.begin()
        autosave.offers()
        disk.say()
        st.caption("Settings of every page")
        _bound_of_units(page)
        _budget(page, idle)
        _draw(SEED, idle)
        LEVEL.draw()
        if LEVEL.value == "Advanced":
            _draw(ALPHA, idle)
            _draw(THRESHOLD, idle)
        with st.container(horizontal=True):
            _share()
            _view(page, pages)
            notebook_file.popover("side", besides=autosave.switch)
        st.caption(PRIVACY_NOTE)


def link_problems(refused: list[tuple[str, InputError]]) -> None:
    """Name the settings of a link that were ignored, once, in a passing message."""
    if not refused:
        return
    said = settings_refused(refused, "Ignored in the link: ", " Everything else is as it says.")
    st.toast(said, icon=":material/link_off:", duration="long")


def _bound_of_units(page: Page) -> None:
    """Say which tables were counted with another bound than the one that is set, and count them with it by one press.

    Until then what was counted is protected where that is more.
    """
    wanted, slots = CONTRIBUTIONS.value, upload.counted_with_another_bound()
    for slot in slots:
        data = session_tables.slots()[slot].data
        counted = data.report.recipe.bound
        so = f"so {counted} are protected, not the {wanted} set" if counted > wanted else f"{wanted} are protected"
        most = plural(counted, "record was", "records were")
        st.info(f"Of each unit in {lit(data.name, 40)} at most {most} counted, {so}.",
                icon=":material/group:")  # fmt: skip
    again = [slot for slot in slots if session_tables.slots()[slot].can_be_counted_again]
    if again:
        st.button(
            f"Count again with at most {wanted}", key="count_to_bound", icon=":material/functions:",
            on_click=upload.count_all_again, args=(again,), kwargs={"contributions": wanted}, width="stretch",
            help="From the columns that are kept: no file is needed. What is counted is then what is set here.",
        )  # fmt: skip
    if len(again) < len(slots):
        small_print("Columns of a table are not kept: give its file once more, on Data and tree, to count it anew.")
    for slot in session_tables.slots():
        if page.name != "data" or slot == session_tables.BINS:  # that page shows the count of its table itself
            upload.show_count(slot, at_the_side=True)


def _draw(one: Setting[Any], idle: Mapping[str, str], help: str = "") -> None:
    """Show a setting, greyed where it is not used, with the reason."""
    why = idle.get(one.key, "")
    if why:  # of a greyed control Streamlit drops what a browser kept over a restart, and would begin at its lowest
        st.session_state.setdefault(one.key, one.fresh())
    told = [f"**Not used here.** {why}" if why else "", help or one.drawn.help]
    one.said(help="\n\n".join(filter(None, told))).draw(disabled=bool(why))


def _budget(page: Page, idle: Mapping[str, str]) -> None:
    place = page.name if page.shows_epsilon else ""
    if st.session_state.setdefault(_PLACE, place) != place:  # another slider, which would begin at its lowest
        EPSILON.set(EPSILON.value)
        st.session_state[_PLACE] = place
    if not page.shows_epsilon:
        _draw(EPSILON, idle)
    if get("eps") > WIDE_EPSILON:
        st.warning(
            f"ε = {setting_text(get('eps'))} hardly limits what a release says about one unit.",
            icon=":material/warning:",
        )
    _draw(DELTA, idle)
    _draw(RELATION, idle, f"{RELATION.drawn.help} {NeighbouringRelation(get('nbr')).description}")
    used = min(get("known_levels"), store.dataset().tree.n_levels)
    if get("nbr") == NeighbouringRelation.REPLACE_UNKNOWN.value and used < get("known_levels"):
        st.warning(
            f"{get('known_levels')} known levels are set, but {lit(store.dataset().name, 40)} has {used}: all are "
            "taken as known, so only whether a record is there is protected.",
            icon=":material/warning:",
        )


def _share() -> None:
    about = "A link that restores these settings, not the data"
    with st.popover("Share", icon=":material/link:", key="share", on_change="rerun", help=about) as shown:
        if not shown.open:
            return
        link = address.share_url()
        st.code(link, language=None, wrap_lines=True)
        st.caption(
            "The link carries the settings and the seed. Data from a file are never part of it; an ε or shares that "
            "were tuned on true counts are."
        )
        if code := qr.image(link):
            st.image(code, width=240, alt="QR code of the link above")
        st.caption(qr.note(link))


def _view(page: Page, pages: Sequence[Page]) -> None:
    with st.popover("View", icon=":material/visibility:", help="Explanations and presentation"):
        EXPLAIN.draw()
        slides.editor(page, pages)
