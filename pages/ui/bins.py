"""A numeric column in bins: its questions, its histogram, what the bounds cut off, and where bounds may come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import streamlit as st

from pages.ui.frame import figure
from pages.ui.refusals import refusal
from pages.ui.store import remember
from pages.ui.text import lit
from pages.ui.upload import Counted, Progress, Table
from treedp_core.checks import InputError
from treedp_core.figures.columns import number_strip
from treedp_core.records import Dataset, count_bins
from treedp_core.records.read.numeric import LOOK_ROWS, MUCH, NumberLook, look_at_numbers
from treedp_core.words import whole

BOUNDS: Final = "Choose it without looking at the records: bounds taken from the data reveal its extremes."
OUTSIDE: Final = {"other": "Leave the record out", "clamp": "Count it in the end bin"}
KEPT: Final = (
    "Records left out of every category or bin are counted in a public leaf “(other)”, so that replacing a record "
    "never changes the public total."
)


class BinsAsked:
    """The questions of a numeric column, drawn as they are made; the answers count it.

    Parameters
    ----------
    table : Table
    upper : float
        Upper bound offered at first.
    n_bins : int
        Number of bins offered at first.
    """

    def __init__(self, table: Table, upper: float, n_bins: int) -> None:
        self.table = table
        about = "Every value goes into one of K bins between the bounds."
        self.column = table.column("Numeric column", "numeric", help=about) or ""
        left, middle, right = st.columns(3)
        bound: dict[str, Any] = {"format": "%g", "help": BOUNDS}  # bounds of one column are no other's
        self.lower = left.number_input("Lower bound (public)", value=0.0, key=table.key("lower", self.column), **bound)
        self.upper = middle.number_input(
            "Upper bound (public)", value=upper, key=table.key("upper", self.column), **bound
        )
        self.n_bins = right.number_input(
            "Bins K", value=n_bins, step=1, key=table.key("bins"), help="Equal widths; the last is closed."
        )
        self._show_column()
        self.outside = st.radio(
            "Values outside the bounds", list(OUTSIDE), key=table.key("outside"), format_func=OUTSIDE.__getitem__,
            horizontal=True, help="Either way the check says how many there were.",
        )  # fmt: skip
        st.caption(KEPT)

    def counted(self, progress: Progress, branching: Sequence[int] | None = None, **how: Any) -> Counted:
        """Return the counts of the bins."""
        return self.table.counted(
            count_bins, self.column, progress, lower=self.lower, upper=self.upper, n_bins=self.n_bins,
            outside=self.outside, branching=branching, **how,
        )  # fmt: skip

    def _show_column(self) -> None:
        """Show how the column is spread and which share of it the bounds cut off, in red where it is more than 1 %."""
        file, options = self.table.file, self.table.options
        of = file.origin.stat().st_mtime_ns if isinstance(file.origin, Path) else file.origin.file_id
        try:
            look = remember(
                ("numbers", str(file.name), of, self.column, options),
                lambda: look_at_numbers(file.origin, self.column, name=file.name, options=options),
            )
        except InputError as error:
            refusal(error)
            return
        if self.lower < self.upper and look.counts.sum() > 0:  # else counting says why
            _strip(look, self.column, self.lower, self.upper, f"{file.slot}_numbers")
            _warn_of_share(look.shares(self.lower, self.upper).outside, "rows")


def warn_of_cut(data: Dataset) -> None:
    """Say in red which share of a column's numbers its bounds do not hold, where it is more than 1 %."""
    _warn_of_share(data.report.outside_range / max(1, data.report.counted), "records")


def _warn_of_share(outside: float, what: str) -> None:
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
    figure(
        number_strip(edges, rows, lower=lower, upper=upper, x_title=column),
        key=key,
        alt=f"Histogram of a numeric column: {told}",
        caption=f"{lit(column, 40)}{of}: {told}. Bounds taken from this picture are not private either. The end bars "
        "hold what lies beyond them.",
        data=lambda: {"from": edges[:-1], "to": edges[1:], "rows NOT PRIVATE": rows},
        label="NOT PRIVATE: exact counts.",
    )
