"""A numeric column before it is counted: its histogram, what the bounds cut off, and where bounds may come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import streamlit as st

from pages.ui.frame import figure
from pages.ui.refusals import refusal
from pages.ui.store import remember
from pages.ui.text import lit, whole
from pages.ui.upload import Candidate
from treedp_core.checks import InputError
from treedp_core.figures.columns import number_strip
from treedp_core.records import ReadOptions
from treedp_core.records.read.numeric import LOOK_ROWS, MUCH, NumberLook, look_at_numbers

BOUNDS: Final = "Choose it without looking at the records: bounds taken from the data reveal its extremes."


def show_column(
    candidate: Candidate, column: str, options: ReadOptions, lower: float, upper: float, *, key: str
) -> None:
    """Show how the column is spread and which share of it the bounds cut off, in red where it is more than 1 %."""
    about = (str(candidate.origin), Path(candidate.origin).stat().st_mtime_ns) if candidate.source == "file" else (
        candidate.origin.file_id,
    )  # fmt: skip
    try:
        look = remember(
            ("numbers", *about, column, options),
            lambda: look_at_numbers(candidate.origin, column, name=candidate.name, options=options),
        )
    except InputError as error:
        refusal(error)
        return
    if not lower < upper or look.counts.sum() == 0:
        return  # counting says why
    _strip(look, column, lower, upper, key)
    warn_of_share(look.shares(lower, upper).outside, "rows")


def warn_of_share(outside: float, what: str) -> None:
    """Say in red which share of a column the bounds do not hold, where it is more than 1 %."""
    if outside > MUCH:
        st.markdown(
            f":red[:material/content_cut: {outside:.1%} of the {what} lie outside the bounds: what is counted is not "
            "the whole column.]"
        )


def _strip(look: NumberLook, column: str, lower: float, upper: float, key: str) -> None:
    edges, rows = look.histogram(lower, upper)
    share = look.shares(lower, upper)
    parts = {"below": share.below, "inside": share.inside, "above": share.above, "blank or no number": share.blank}
    told = ", ".join(f"{part:.1%} {name}" for name, part in parts.items())
    of = "" if look.is_whole else f" (of the first {whole(LOOK_ROWS)} rows)"

    def table() -> dict[str, Any]:
        return {"from": edges[:-1], "to": edges[1:], "rows NOT PRIVATE": rows}

    figure(
        number_strip(edges, rows, lower=lower, upper=upper, x_title=column),
        key=key,
        alt=f"Histogram of a numeric column: {told}",
        caption=f"{lit(column, 40)}{of}: {told}. Bounds taken from this picture are not private either. The end bars "
        "hold what lies beyond them.",
        data=table,
        label="NOT PRIVATE: exact counts.",
    )
