"""A numeric column in bins: its questions, its histogram, what the bounds cut off, and where bounds may come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.figure.frame import preview
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.settings import CONTRIBUTIONS
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.tables import session_tables, store
from pages.ui.tables.result import show_state
from pages.ui.tables.upload_slot import Table, left_out_asked, marks_asked
from pages.ui.tables.worker_read import Reading
from pages.ui.upload.upload import EACH_ROW, Count
from treedp_core.checks import InputError
from treedp_core.figures.trees.strips import number_strip
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset, HeldColumns, count_bins
from treedp_core.records.derive.roles import counts_in, units_in
from treedp_core.records.edges import edges_as_text, edges_from_text
from treedp_core.records.read.numbers.numeric import LOOK_ROWS, MUCH, NumberLook, look_at_numbers
from treedp_core.words import percent, short_below, whole

# What a row of a table stands for: how many records, and of whom.

NO_UNIT: Final = "None: what one unit is will be asked"


def weight_asked(table: Table) -> tuple[str | None, dict[str, str] | None]:
    """Ask for the column of counts, and how they are written; None for what is not answered."""
    column = table.column(
        "Counts", "weight", none=EACH_ROW,
        help="If a database has grouped the records already, choose the column that holds how many a row stands for.",
    )  # fmt: skip
    if column is None:
        _offer(table, "weight", "unit", counts_in, "Its name and its whole numbers are those of a count")
    return column, {} if column is None else marks_asked(table, column, "count_marks")


def unit_asked(table: Table) -> str | None:
    """Ask for the column of units, and how many rows of each are counted, where that is not asked elsewhere."""
    column = table.column(
        "Unit column", "unit", none=NO_UNIT,
        help="A column that says whom a row is about, such as a person's number: of each unit the first rows are "
        "counted, as many as “Records of one unit, at most” says, and the others are left out and reported. How many "
        "of its rows are counted is protected by “add or remove one”, not by “replace one”.",
    )  # fmt: skip
    if column is None:
        _offer(table, "unit", "weight", units_in, "Its name is that of whom rows are about")
    is_asked_above = isinstance(table.file.origin, HeldColumns) and table.file.slot in session_tables.OWN
    if column is not None and not is_asked_above:
        CONTRIBUTIONS.draw()
    return column


def _offer(table: Table, name: str, other: str, find: Callable[[HeldColumns], Sequence[str]], why: str) -> None:
    """Offer the first column that seems to be what a list asks for, unless the other list, which rules it out, has one.

    Nothing is chosen before it is pressed.
    """
    if found := _of_role(table, name, other, find):
        st.button(
            f"From the data: {lit(found[0], 24)}", key=table.key(name, "suggested"), type="tertiary",
            icon=":material/add:", on_click=st.session_state.update,
            args=({table.key(name): 1 + table.preview.columns.index(found[0])},),
            help=f"{why}. Read off the records, so the proposal is NOT PRIVATE; what you press is fixed.",
        )  # fmt: skip


def _of_role(table: Table, name: str, other: str, find: Callable[[HeldColumns], Sequence[str]]) -> Sequence[str]:
    held = None if st.session_state.get(table.key(other), table.before.get(other)) else table.columns
    return () if held is None else store.remember((name, "suggested", held.key), lambda: find(held))


def counts_offered(table: Table) -> Sequence[str]:
    """Return the columns that seem to hold how many records a row stands for, unless one of units is chosen."""
    return _of_role(table, "weight", "unit", counts_in)


BOUNDS: Final = "Choose it without looking at the records: bounds taken from the data reveal its extremes."
OUTSIDE: Final = {"other": "Leave the record out", "clamp": "Count it in the end bin"}
CHOOSE: Final = "Choose one"
OWN: Final = "Bins of unequal width"
OWN_HELP: Final = "Between edges of your own, such as those of official age groups."
EDGES_HELP: Final = (
    "From the lowest to the highest, with decimal points, between semicolons or spaces; each bin holds its lower edge, "
    "the last both. Choose them without looking at the records."
)
MAX_TYPED: Final = 20_000
KEPT: Final = (
    "Records left out of every category or bin are counted in a public leaf “(other)”, so that replacing a record "
    "never changes the public total."
)


class BinsAsked:
    """The questions of a numeric column, drawn as they are made; the answers count it.

    Its bins are equal between two bounds, or between edges of one's own.

    Parameters
    ----------
    table : Table
    n_bins : int
        Number of bins offered at first.
    """

    def __init__(self, table: Table, n_bins: int) -> None:
        self.table = table
        self.lower: float | None = None
        self.upper: float | None = None
        self.edges: tuple[float, ...] = ()
        self.marks: dict[str, str] | None = {}
        self.weight: str | None = None
        self.weight_marks: dict[str, str] | None = {}
        self.unit: str | None = None
        self.left_out: dict[str, list[str]] = {}
        about = "Every value goes into one of K bins between the bounds."
        numbers = _offered(table)
        first, rest = st.columns([2, 3], vertical_alignment="bottom")
        with first:
            self.column = table.column("Numeric column", "numeric", help=about, none=CHOOSE, among=numbers)
        if self.column is None:
            small_print("No column of this table holds numbers." if numbers == () else "Its bounds are asked next.")
            return
        own = st.toggle(OWN, self._last("edges") is not None, key=table.key("own", self.column), help=OWN_HELP)
        with rest:
            if own:
                self._ask_for_edges()
            else:
                self._ask_for_bounds(n_bins)
        self.marks = marks_asked(table, self.column)
        self.left_out = left_out_asked(table)
        if self.marks is not None:
            self._show_column()
        self.outside = st.radio(
            "Values outside the bounds", list(OUTSIDE), key=table.key("outside"), format_func=OUTSIDE.__getitem__,
            index=list(OUTSIDE).index(table.before.get("outside", "other")), horizontal=True,
            help="Either way the check says how many there were.",
        )  # fmt: skip
        small_print(KEPT)
        left, right = st.columns(2)
        with left:
            self.weight, self.weight_marks = weight_asked(table)
        with right:
            self.unit = unit_asked(table)

    @property
    def is_answered(self) -> bool:
        """Whether there are a column, all marks, and both bounds or all edges."""
        return None not in (self.column, self.marks, self.weight_marks, self.lower, self.upper)

    def _last(self, name: str) -> Any:
        """What this column was counted with last; bounds and edges of one column are no other's."""
        return self.table.before.get(name) if self.column == self.table.before.get("numeric") else None

    def _ask_for_bounds(self, n_bins: int) -> None:
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        self.lower = self._bound(left, "lower", "Lower bound (public)")
        self.upper = self._bound(middle, "upper", "Upper bound (public)")
        self.n_bins = right.number_input(
            "Bins K", value=self.table.before.get("n_bins", n_bins), step=1, key=self.table.key("bins"),
            help="Equal widths; the last is closed.",
        )  # fmt: skip

    def _ask_for_edges(self) -> None:
        """Ask for every edge, in one field; what is typed stands for nothing until it can be read in one way only."""
        typed = st.text_input(
            "Edges (public)", value=edges_as_text(self._last("edges") or ()), placeholder="0; 5; 18; 65",
            key=self.table.key("edges", self.column), max_chars=MAX_TYPED, help=EDGES_HELP,
        )  # fmt: skip
        if not typed.strip():
            return
        try:
            self.edges = edges_from_text(typed)
        except InputError as error:
            refusal(error)
        else:
            self.lower, self.upper = self.edges[0], self.edges[-1]

    def _bound(self, place: DeltaGenerator, name: str, label: str) -> float | None:
        """Ask for a bound; none is offered."""
        found: float | None = place.number_input(
            label, value=self._last(name), key=self.table.key(name, self.column), format="%g",
            placeholder="type it", help=BOUNDS,
        )  # fmt: skip
        return found

    def count(self) -> Count | None:
        """Return what counts the bins, once column and bounds are chosen."""
        return self.counted if self.is_answered else None

    def counted(self, branching: Sequence[int] | None = None) -> Reading:
        """Return what counts the bins."""
        bins: dict[str, Any] = {"edges": list(self.edges)}
        if not self.edges:
            bins = {"lower": self.lower, "upper": self.upper, "n_bins": self.n_bins}
        return self.table.counted(
            count_bins, self.column, **bins, outside=self.outside, branching=branching, weight=self.weight,
            unit=self.unit, contributions=CONTRIBUTIONS.value,
            marks={**(self.weight_marks or {}), **(self.marks or {})} or None, left_out=self.left_out or None,
        )  # fmt: skip

    def _show_column(self) -> None:
        """Show how the column is spread and which share of it the bounds cut off, in red where it is more than 1 %."""
        table, column = self.table, self.column
        assert column is not None
        found = table.looked(
            "numbers", look_at_numbers, column, marks=self.marks or None, left_out=self.left_out or None
        )
        show_state(found, "Looking at the column" if table.is_whole else "Reading the column")
        if not found.is_ready:
            return
        look = found.here()
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        if lower < upper and look.counts.sum() > 0:  # else counting says why
            _warn_of_share(look.shares(lower, upper).outside, "rows")
            _strip(look, column, (lower, upper), self.edges, f"{table.file.slot}_numbers")


def warn_of_cut(data: Dataset) -> None:
    """Say in red which share of a column's numbers its bounds leave out, where it is more than 1 %."""
    if not data.report.recipe.cut:
        _warn_of_share(data.report.outside_range / max(1, data.report.counted), "records")


def _warn_of_share(outside: float, what: str) -> None:
    if outside > MUCH:
        prose(
            f":red[:material/content_cut: {percent(outside)} of the {what} lie outside the bounds: what is counted is "
            "not the whole column.]"
        )


def _offered(table: Table) -> tuple[str, ...] | None:
    """The columns that hold numbers, and those that may but were too large to be kept; None where nobody has looked."""
    if table.columns is None:
        return None
    unknown = set(table.columns.left_out).intersection(table.preview.columns_for("number"))
    return (*table.columns.numbers, *(name for name in table.preview.columns if name in unknown))


def _strip(look: NumberLook, column: str, bounds: tuple[float, float], own: Sequence[float], key: str) -> None:
    edges, rows = look.histogram(*bounds)
    share = look.shares(*bounds)
    below, above = map(math.isfinite, bounds)
    parts = [f"{percent(share.below)} below"] * below
    parts += [f"{short_below(round(100 * share.inside, 9))} % inside"] * (below and above)
    parts += [f"{percent(share.above)} above"] * above
    told = ", ".join((*parts, f"{percent(share.blank)} blank or no number"))
    of = "" if look.is_whole else f" (of the first {whole(LOOK_ROWS)} rows)"
    preview(
        number_strip(edges, rows, lower=bounds[0], upper=bounds[1], x_title=column, own=own),
        key=key,
        alt=f"Histogram of a numeric column: {told}",
        caption=f"{lit(column, 40)}{of}: {told}. Bounds taken from this picture are not private either. The end bars "
        "hold what lies beyond them.",
        table=lambda: {"from": edges[:-1], "to": edges[1:], of_truth("rows"): rows},
    )
