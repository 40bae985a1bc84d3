"""Synthetic records on the page TopDown: the released leaves as a table and as rows, and their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.exports import download
from pages.ui.refusals import refusal
from pages.ui.snippets import call
from pages.ui.text import plural, whole
from pages.views.topdown import controls, state
from pages.views.topdown.draw import Drawn
from pages.views.topdown.tables import columns_of
from pages.views.topdown.view import about, what_tree
from treedp_core.checks import InputError
from treedp_core.privacy import Provenance
from treedp_core.records.export import synthetic
from treedp_core.records.export.synthetic import Columns
from treedp_core.studies.topdown.model import RULES
from treedp_core.studies.topdown.subject import Subject
from treedp_core.tree.leaf_table import LeafTable

PREVIEW: Final = 100


def records(what: Subject) -> None:
    """Show the released records, and offer them as files."""
    controls.budget(what)
    controls.rule(what)
    mine = _release(what)
    if mine is None:
        return
    if mine.table is None:
        st.info(
            f"{RULES[mine.wanted.rule].label} gives counts that are not whole, so they are no records. Choose another "
            "projection.", icon=":material/table_rows:",
        )  # fmt: skip
        return
    table, columns = mine.table, columns_of(mine.subject)
    st.markdown(
        f"{plural(table.total, 'synthetic record')} on {plural(table.n_leaves, 'leaf', 'leaves')}. Every count of "
        "every level is a count of these records, so all hierarchical queries agree by construction."
    )
    st.warning(
        "A simulated release with simulation-grade noise: it shows what a release would look like. For a real one the "
        "noise must come from a secure source of randomness, drawn once, without the seed being known.",
        icon=":material/casino:",
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        st.header("Contingency table", anchor=False)
        st.dataframe(_preview(table, columns), hide_index=True, alt="The first leaves of the release and their counts")
        st.caption(f"{_first(table.n_leaves, 'leaves')} in the order of the categories. {_what(mine)}")
        _files(mine, "contingency", synthetic.contingency_csv, synthetic.contingency_parquet, table, columns)
    with right:
        st.header("One row a record", anchor=False)
        st.dataframe(_rows(table, columns), hide_index=True, alt="The first synthetic records")
        st.caption(
            f"{_first(table.total, 'records')}; equal records stand together, so the order says nothing. {_what(mine)}"
        )
        if table.total > synthetic.MAX_ROWS:
            st.caption(
                f":material/info: {whole(table.total)} rows are more than the {whole(synthetic.MAX_ROWS)} of one file; "
                "take the contingency table."
            )
        else:
            _files(mine, "records", synthetic.records_csv, synthetic.records_parquet, table, columns)


def _release(what: Subject) -> Drawn | None:
    try:
        chosen = state.wanted(what)
        mine = state.drawn(what, chosen)
    except InputError as error:
        refusal(error)
        kept = state.last("_td_drawn")
        mine = kept[0] if kept and kept[0].subject.fingerprint == what.fingerprint else None
        if mine is not None:
            st.caption(f"The records below have other settings: {about(mine)}.")
        return mine
    if mine is None:
        st.info("This release is large: press **Run** in the view “One release” first.", icon=":material/play_arrow:")
    elif mine.wanted != chosen:
        st.caption(f":material/info: Computed for {about(mine)}; run the present settings in the view “One release”.")
    return mine


def _first(n: int, what: str) -> str:
    return f"The first {PREVIEW} of {whole(n)} {what}" if n > PREVIEW else f"All {whole(n)} {what}"


def _what(mine: Drawn) -> str:
    return f"{what_tree(mine.subject)}; {about(mine)}. {Provenance.SIMULATION.sentence(mine.plan.guarantee)}"


def _preview(table: LeafTable, columns: Columns) -> dict[str, Any]:
    shown = _labelled(table.codes[:PREVIEW], columns)
    return shown | {_free("count", shown): table.counts[:PREVIEW]}


def _rows(table: LeafTable, columns: Columns) -> dict[str, Any]:
    first = list(islice(table.rows(PREVIEW), 1))
    return _labelled(first[0][:PREVIEW] if first else table.codes[:0], columns)


def _labelled(codes: Any, columns: Columns) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, words, column in zip(columns.names, columns.vocabularies, codes.T, strict=True):
        shown[_free(name, shown)] = [words[code] if code >= 0 else "" for code in column.tolist()]
    return shown


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _files(
    mine: Drawn, kind: str, as_csv: Callable[..., bytes], as_parquet: Callable[..., bytes], table: LeafTable,
    columns: Columns,
) -> None:  # fmt: skip
    """Offer a table as CSV and Parquet; the files are written when they are asked for."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for ending, mime, write in (
            ("csv", "text/csv", as_csv),
            ("parquet", "application/vnd.apache.parquet", as_parquet),
        ):
            download(
                "CSV" if ending == "csv" else "Parquet", partial(write, table, columns, Provenance.SIMULATION),
                name=f"treedp-simulation-synthetic-{kind}.{ending}", mime=mime, key=f"td_{kind}_{ending}",
                help="Simulated release, simulation-grade noise. In CSV, text that a spreadsheet would run as a "
                "formula gets a leading apostrophe.",
            )  # fmt: skip
        subject = state.again(mine.subject)
        columns_again = call(columns_of, subject).named("columns")
        again = state.drawn_again(mine).get("table")
        frame.code_popover(f"td_{kind}", call(as_csv, again, columns_again, Provenance.SIMULATION))
