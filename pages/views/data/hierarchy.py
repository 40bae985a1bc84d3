"""From a file to counts: what its columns are, which of them make the tree, and the button that counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import Ran, call, given
from pages.ui.text import lit, plural, refusal_text
from pages.ui.upload import Candidate, counted, finish, revision
from pages.views.data.numbers import BOUNDS, show_column
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import (
    Dataset,
    ReadOptions,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
    inspect,
)
from treedp_core.records.domain import Domain
from treedp_core.records.read.sniff import Preview
from treedp_core.tree.text import branching_factors_from_text

KINDS: Final = {"columns": "Columns, one for each level", "bins": "One numeric column, in bins"}
DOMAINS: Final = {"data": "Taken from the data", "values": "Listed values", "file": "A domain file"}
MISSING: Final = {"category": "Their own category “(blank)”", "drop": "Leave the record out"}
OUTSIDE: Final = {"drop": "Leave the record out", "clamp": "Count it in the end bin"}
DELIMITERS: Final = {"": "Find out", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar"}
KEPT: Final = (
    "Records left out of every category or bin are counted in a public leaf “(other)”, so that replacing a record "
    "never changes the public total."
)
EACH_ROW: Final = "Each row is one record"
NO_UNIT: Final = "None: nobody has more rows than stated above"
PREVIEW_COLUMNS: Final = 30
_SHOW_EVERY: Final = 0.1
_ASKED: Final = "_count_asked"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Plan:
    """How a file will be counted: `count(progress)` does it; `domain_file` is an upload to free afterwards."""

    count: Callable[[Progress], Ran[Dataset]]
    domain_file: Any = None


def levels_in_use() -> None:
    """Show the hierarchy of the data set in use."""
    data = store.dataset()
    st.markdown(" › ".join(lit(name, 40) for name in data.labels.level_names))
    st.caption(f"{plural(data.tree.n_levels, 'level')}; the list of categories is {data.domain_source.value}.")


def pick(candidate: Candidate) -> None:
    """Show a file's first rows and the choices that turn it into counts; count when asked to."""
    options = _reading_options()
    try:
        preview = inspect(candidate.origin, name=candidate.name, options=options)
    except InputError as error:
        refusal(error)
        _unchanged()
        return
    _first_rows(preview)
    kind = st.segmented_control(
        "Levels from", list(KINDS), key=_key("kind"), default="columns", required=True, format_func=KINDS.__getitem__,
        help="A tree of categories, or the numbers of one column (ages, amounts) in bins of equal width.",
    )  # fmt: skip
    plan = _bins(candidate, preview, options) if kind == "bins" else _columns(candidate, preview, options)
    st.button(
        "Count", type="primary", key="count_file", icon=":material/functions:", on_click=_ask,
        help="Read the file once, keep the counts of every node, and discard the file.",
    )  # fmt: skip
    if st.session_state.pop(_ASKED, False):
        _count(candidate, plan)


def _ask() -> None:
    st.session_state[_ASKED] = True


def _count(candidate: Candidate, plan: Plan) -> None:
    bar = st.progress(0.0, text="Reading …")
    shown = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > _SHOW_EVERY:
            shown = time.monotonic()
            share = min(1.0, done / max(1, total))
            bar.progress(share, text=f"Reading … {share:.0%}")

    try:
        ran = plan.count(progress)
    except InputError as error:
        bar.empty()
        refusal(error)
        _unchanged()
        return
    finish(candidate, ran, plan.domain_file)


def _columns(candidate: Candidate, preview: Preview, options: ReadOptions) -> Plan:
    chosen = st.multiselect(
        "Columns of the hierarchy, from the top",
        preview.columns,
        key=_key("columns", preview),
        max_selections=checks.MAX_LEVEL_COLUMNS,
        help="The order in which you choose them is the order of the levels: for example region, state, county.",
    )
    weight = _weight(preview)
    missing = st.radio(
        "Missing values", list(MISSING), key=_key("missing"), format_func=MISSING.__getitem__, horizontal=True,
        help="An empty cell below which every chosen cell is empty too ends the path: that is no missing value.",
    )  # fmt: skip
    unit = _unit(preview)
    domain, domain_file = _domain(chosen, weight)

    def count(progress: Progress) -> Ran[Dataset]:
        return counted(
            candidate, count_hierarchy, chosen, domain=domain(), weight=weight, unit=unit,
            contributions=get("contributions"), missing=missing, options=options, progress=progress,
        )  # fmt: skip

    return Plan(count, domain_file)


def _domain(columns: list[str], weight: str | None) -> tuple[Callable[[], Ran[Domain]], Any]:
    how = st.radio(
        "Which categories exist", list(DOMAINS), key=_key("domain"), format_func=DOMAINS.__getitem__, horizontal=True,
        help="A private release needs a list of categories that was public before anyone looked at the records.",
    )  # fmt: skip
    if how in ("values", "file"):
        st.caption(KEPT)
    if how == "values":
        texts = {name: _listed(name, level) for level, name in enumerate(columns, start=1)}
        return lambda: call(domain_of_values, {name: text.splitlines() for name, text in texts.items()}).named(
            "domain"
        ), None
    if how == "file":
        file = uploads.uploader(
            "Domain file: the leaves that exist, one a row",
            key=f"domain_file_{revision()}", help="It has the columns of the hierarchy under the same names.",
        )  # fmt: skip
        return lambda: _domain_of_file(file, columns, weight), file
    taken_from_the_data_warning()
    return lambda: call(domain_taken_from_the_data).named("domain"), None


def taken_from_the_data_warning() -> None:
    """Warn that the list of categories was read off the records."""
    st.warning(
        "The categories are taken from the data. Which of them occur, and which do not, is itself private, and no "
        "noise on counts hides it. Use this to explore; for a release list the categories.",
        icon=":material/warning:",
        title="Not private: the tree itself shows who is in the data",
    )


def _listed(column: str, level: int) -> str:
    return st.text_area(
        f"Values of {lit(column, 40)}, one a line", key=_key(f"values_{level}"), height=120,
        help="Add (blank) for records without a value and (other) for values that are not listed; if every column "
        "lists (other), the tree needs no such leaf besides.",
    )  # fmt: skip


def _domain_of_file(file: Any, columns: list[str], weight: str | None) -> Ran[Domain]:
    if file is None:
        raise InputError("DOMAIN_MISSING", "Choose a domain file, or another way to say which categories exist.")
    found = domain_of_paths(file, columns or None, name=file.name, weight=weight)
    return given(found, domain_of_paths, file.name, columns or None, weight=weight).named("domain")


def _bins(candidate: Candidate, preview: Preview, options: ReadOptions) -> Plan:
    column = st.selectbox(
        "Numeric column", preview.columns, key=_key("numeric", preview),
        help="Every value goes into one of K bins between the bounds.",
    )  # fmt: skip
    left, middle, right = st.columns(3)
    of = f"_{preview.columns.index(column)}"  # bounds of one column are no other's
    lower = left.number_input(
        "Lower bound (public)", value=0.0, key=_key("lower", preview) + of, format="%g", help=BOUNDS
    )
    upper = middle.number_input(
        "Upper bound (public)", value=100.0, key=_key("upper", preview) + of, format="%g", help=BOUNDS
    )
    n_bins = right.number_input("Bins K", value=64, step=1, key=_key("bins"), help="Equal widths; the last is closed.")
    show_column(candidate, column, options, lower, upper, key="file_numbers")
    branching = st.text_input(
        "Branching factors over the bins (optional)", key=_key("branching"), max_chars=100, placeholder="8,8",
        help="Their product must be the number of bins; without them all bins hang below the root.",
    )  # fmt: skip
    outside = st.radio(
        "Values outside the bounds",
        list(OUTSIDE),
        key=_key("outside"),
        format_func=OUTSIDE.__getitem__,
        horizontal=True,
        help="Either way the check says how many there were.",
    )
    st.caption(KEPT)
    weight = _weight(preview)
    unit = _unit(preview)

    def count(progress: Progress) -> Ran[Dataset]:
        factors = branching_factors_from_text(branching) if branching.strip() else None
        return counted(
            candidate, count_bins, column, lower=lower, upper=upper, n_bins=n_bins, branching=factors, weight=weight,
            unit=unit, contributions=get("contributions"), outside="clamp" if outside == "clamp" else "other",
            options=options, progress=progress,
        )  # fmt: skip

    return Plan(count)


def _weight(preview: Preview) -> str | None:
    position = st.selectbox(
        "Counts", range(len(preview.columns) + 1), key=_key("weight", preview),
        format_func=lambda i: EACH_ROW if i == 0 else preview.columns[i - 1],
        help="If a database has grouped the records already, choose the column that holds how many a row stands for.",
    )  # fmt: skip
    return preview.columns[position - 1] if position else None


def _unit(preview: Preview) -> str | None:
    position = st.selectbox(
        "Unit column", range(len(preview.columns) + 1), key=_key("unit", preview),
        format_func=lambda i: NO_UNIT if i == 0 else preview.columns[i - 1],
        help="A column that says whom a row is about, such as a person's number: of each unit the first rows are "
        "counted, as many as “Records of one unit, at most” says, and the others are left out and reported.",
    )  # fmt: skip
    return preview.columns[position - 1] if position else None


def _reading_options() -> ReadOptions:
    with st.expander("Reading options", icon=":material/tune:"):
        left, right = st.columns(2)
        encoding = left.text_input(
            "Encoding", key=_key("encoding"), max_chars=40, placeholder="utf-8", help="For example latin-1 or cp1252."
        )
        delimiter = right.selectbox(
            "Delimiter", list(DELIMITERS), key=_key("delimiter"), format_func=DELIMITERS.__getitem__,
            help="What stands between the cells of a CSV file; choose it if the table below looks wrong.",
        )  # fmt: skip
    return ReadOptions(encoding.strip() or None, delimiter or None)


def _first_rows(preview: Preview) -> None:
    shown = preview.columns[:PREVIEW_COLUMNS]
    cells = {name: [row[j] if j < len(row) else "" for row in preview.rows[:8]] for j, name in enumerate(shown)}
    st.dataframe(
        cells, hide_index=True, height="content", alt=f"First rows of a table of {len(preview.columns)} columns"
    )
    more = f", the first {PREVIEW_COLUMNS} of them shown" if len(preview.columns) > PREVIEW_COLUMNS else ""
    read = f", {preview.encoding}" if preview.encoding else ""
    size = "" if preview.n_rows is None else f", {plural(preview.n_rows, 'row')}"
    st.caption(
        f"{preview.kind.value}{read}{size}, {plural(len(preview.columns), 'column')}{more}. First rows: NOT PRIVATE."
    )
    for code, sentence in preview.notices:
        notice(code, sentence)


def notice(code: str, sentence: str) -> None:
    """Show something about the file that a person should know."""
    st.info(refusal_text(InputError(code, sentence)), icon=":material/info:")


def _unchanged() -> None:
    st.caption(f"{lit(store.dataset().name, 40)} stays in use.")


def _key(name: str, preview: Preview | None = None) -> str:
    """Key of a widget that starts afresh with every file counted, and for columns with every other header."""
    return f"file_{name}_{revision()}" + (f"_{hash(preview.columns):x}" if preview else "")
