"""TopDown and synthetic data: categorical columns released as whole records (InfTDA)."""

import streamlit as st

from pages.ui import boot, topdown_compare, topdown_controls, topdown_promise, topdown_records, topdown_view
from pages.ui.frame import context_strip, explain, header
from pages.ui.params import get

boot.page()

VIEWS = {
    "release": (topdown_view.release, "formula, simulation, NOT PRIVATE"),
    "rules": (topdown_compare.rules, "simulation, NOT PRIVATE"),
    "orders": (topdown_compare.orders, "simulation, NOT PRIVATE"),
    "accounting": (topdown_promise.accounting, "formula"),
    "sensitivity": (topdown_promise.sensitivity, "formula"),
    "records": (topdown_records.records, "simulation"),
}

heading = st.container()
topdown_controls.view()
show, badge = VIEWS[get("td_view")]
if get("td_view") == "sensitivity":
    about = ["a small tree of your own"]
    show()
else:
    subject = topdown_controls.columns()
    about = topdown_view.about_strip(subject)
    show(subject)
with heading:
    header(
        "TopDown and synthetic data",
        "Count every combination of some columns, privately: noisy counts become whole, non-negative and consistent "
        "from the root down, so they are records again.",
        badge,
        strip=context_strip(about),
    )
explain(
    "**What you learn.** The projection costs no privacy, and with the chosen probability no count of a level is off "
    "by more than a bound that grows with the level. But counts near 0 pay: empty leaves come out filled, small ones "
    "get lost, and no rule is unbiased. Which rule and which order is better depends on what the records are for."
)
