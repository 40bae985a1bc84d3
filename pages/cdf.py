"""CDF and ranges: cumulative counts, ranges and quantiles of a numeric column."""

import streamlit as st

from pages.ui import boot, cdf_controls, cdf_more, cdf_source, cdf_state, cdf_view
from pages.ui.frame import context_strip, explain, header
from pages.ui.params import get

boot.page()

BADGES = {
    "release": "formula, simulation, NOT PRIVATE",
    "error": "formula",
    "experiment": "simulation",
    "optimal": "formula",
}

heading = st.container()
cdf_controls.view()
strip = "997 bins · 900 records · replace one · ε = 0.1, whatever the sidebar says"
match get("cdf_view"):
    case "experiment":
        cdf_more.experiment()
    case shown:
        data = cdf_source.choose()
        delta = cdf_state.delta_of(data) if shown == "release" else None
        strip = context_strip(cdf_view.about(data), cdf_view.relation_shown(shown), delta)
        if shown == "release":
            cdf_controls.release(int(data.counts.sum()))
            cdf_view.release(data)
        else:
            {"error": cdf_more.error, "optimal": cdf_more.optimal}[shown](data)
with heading:
    header(
        "CDF and ranges",
        "How many records lie below a value, or between two? Cumulative counts from a tree, made whole and "
        "non-decreasing.",
        BADGES[get("cdf_view")],
        strip=strip,
    )
explain(
    "**What you learn.** Noise on a histogram adds up along a range, noise on every cumulative count must be huge; a "
    "tree needs a few counts for any range. The known total and least squares cut the error again for free, and "
    "consistency helps most where the noise is larger than the steps of the CDF."
)
