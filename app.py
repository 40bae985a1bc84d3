"""TreeDP in the browser: the router of all pages."""

from pathlib import Path

import streamlit as st

from pages.ui import boot, params
from pages.ui.sidebar import link_problems, sidebar

refused = params.hydrate()
st.set_page_config(
    page_title="TreeDP",
    page_icon=str(Path(__file__).parent / "static" / "favicon.svg"),  # absolute: a name is looked up elsewhere
    layout="wide",
    initial_sidebar_state="collapsed" if params.get("present") else "auto",
)
link_problems(refused)
boot.run_router(sidebar)
