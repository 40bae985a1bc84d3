"""A search that waits, for the page that still shows it so."""

from __future__ import annotations

import streamlit as st

from pages.ui import jobs


def wait(slot: str, what: str) -> None:
    """Show how far a search is, with a way to stop it, and the page anew when it is over; or that it was stopped."""
    if not jobs.is_wanted(slot):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{what}: cancelled.", width="content")
            st.button("Search again", key=f"{slot}_again", on_click=jobs.forget, args=(slot,), type="tertiary")
        return

    def live() -> None:
        job = jobs.current(slot)
        if job is None or not job.is_wanted:
            st.rerun()
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{what}: {min(100, job.done)} %", width="content")
            st.progress(min(1.0, job.done / job.total), width=200)
            st.button("Cancel", key=f"{slot}_cancel", on_click=jobs.cancel, args=(slot,), help="Stop this search.")

    st.fragment(live, run_every=jobs.REFRESH_SECONDS)()
