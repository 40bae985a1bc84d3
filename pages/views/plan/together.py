"""Several releases of the same records, under More on the page Release plan: what they promise together."""

from __future__ import annotations

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.text import plain, prose, small_print
from pages.ui.tables import saved_plans
from treedp_core.checks import InputError
from treedp_core.plans import ReleasePlan
from treedp_core.plans.together import together
from treedp_core.plans.words import promise


def section(plan: ReleasePlan) -> None:
    """Show the plans noted so far for the data in use, and their promise together."""
    st.header("Releases of the same records", anchor=False)
    plans = saved_plans.plans()
    with in_a_row():
        st.button(
            "Note this plan", key="plan_note", icon=":material/playlist_add:", on_click=saved_plans.note, args=(plan,),
            disabled=saved_plans.is_full(),
            help="Adds it to the releases of these data below. A saved notebook has them.",
        )  # fmt: skip
        if plans:
            st.button("Forget them", key="plan_forget", icon=":material/playlist_remove:", on_click=saved_plans.forget,
                      help="Empties the list below.")  # fmt: skip
    if not plans:
        small_print("What is released twice is paid for twice. Note a plan, change the settings and note the next one.")
        return
    frame.plain_table(
        {
            "release": [f"{place}. {one.title[:40]}, {one.released}" for place, one in enumerate(plans, 1)],
            "noise": [one.law.label for one in plans],
            "promises": [promise(one) for one in plans],
        },
        alt="The releases noted so far, each with its promise", width="content", height="content",
    )  # fmt: skip
    try:
        prose(plain(together(plans).sentence()))
    except InputError as error:
        refusal(error)
