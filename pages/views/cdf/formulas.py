"""What the formula views of the page CDF and ranges share: for how many bins."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui.refusals import refusal
from pages.views.cdf import settings as s
from pages.views.cdf.source import choose
from treedp_core.checks import InputError
from treedp_core.studies.branching.question import bins_from_text

NO_DATA: Final = "no data"


def asked_bins() -> int:
    """Show the source and the number of bins; return K: the one asked for, or that of the data."""
    n_bins = choose().n_bins
    text = s.BINS.draw().strip()
    try:
        return bins_from_text(text) if text else n_bins
    except InputError as error:
        refusal(error)
        st.caption("The bins of the data are used meanwhile.")
        return n_bins
