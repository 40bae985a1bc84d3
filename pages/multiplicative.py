"""Multiplicative error: errors relative to the count, and the mechanism whose error hardly grows with the levels."""

import streamlit as st

from pages.ui import router as boot
from pages.ui.frame import explain, header
from pages.ui.settings import get
from pages.views.multiplicative import controls as multiplicative_controls
from pages.views.multiplicative import more as multiplicative_more
from pages.views.multiplicative import runs as multiplicative_runs
from pages.views.multiplicative import view as multiplicative_view

boot.page()

BADGES = {
    "growth": "formula, simulation",
    "run": "formula, simulation, NOT PRIVATE",
    "schedule": "formula",
    "meaning": "formula, simulation",
}

heading = st.container()
multiplicative_controls.view()
strip = {
    "growth": multiplicative_view.growth,
    "run": multiplicative_runs.show,
    "schedule": multiplicative_more.schedule,
    "meaning": multiplicative_more.meaning,
}[get("mul_view")]()
with heading:
    header(
        "Multiplicative error",
        "Errors up to α times the count are forgiven. Then the rest need hardly grow with the number of levels.",
        BADGES[get("mul_view")],
        strip,
    )
explain(
    "**What you learn.** Noise on every level costs an error that grows with the number of levels; finding large "
    "counts first, threshold by threshold, costs its logarithm. That wins on very deep trees only, and only where "
    "relative errors are what matters: on few levels, shrinking Gaussian counts by 1 − α is better."
)
