"""Several releases of the same records, under More on the page Release plan: what they promise together."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.refusals import refusal
from pages.ui.setting import in_a_row
from pages.ui.store import dataset, remember
from pages.ui.text import plain, prose, small_print
from treedp_core.checks import InputError
from treedp_core.plans import ReleasePlan
from treedp_core.plans.together import together
from treedp_core.plans.words import promise

MOST: Final = 12
"""Plans that are noted: each is composed with all others whenever the page is drawn."""


def section(plan: ReleasePlan) -> None:
    """Show the plans noted so far for the data in use, and their promise together."""
    st.header("Releases of the same records", anchor=False)
    noted = _noted()
    with in_a_row():
        st.button(
            "Note this plan", key="plan_note", icon=":material/playlist_add:", on_click=noted.append, args=(plan,),
            disabled=len(noted) >= MOST,
            help="Adds it to the releases below, which are forgotten with the data and at the end of the session.",
        )  # fmt: skip
        if noted:
            st.button("Forget them", key="plan_forget", icon=":material/playlist_remove:", on_click=noted.clear,
                      help="Empties the list below.")  # fmt: skip
    if not noted:
        small_print("What is released twice is paid for twice. Note a plan, change the settings and note the next one.")
        return
    frame.plain_table(
        {
            "release": [f"{place}. {one.title[:40]}, {one.released}" for place, one in enumerate(noted, 1)],
            "noise": [one.law.label for one in noted],
            "promises": [promise(one) for one in noted],
        },
        alt="The releases noted so far, each with its promise", width="content", height="content",
    )  # fmt: skip
    try:
        prose(plain(together(noted).sentence()))
    except InputError as error:
        refusal(error)


def _noted() -> list[ReleasePlan]:
    """The plans noted for the data set in use; forgotten with it."""
    found: list[ReleasePlan] = remember(("plans noted", dataset().fingerprint), list, shelf="plans noted", room=1)
    return found
