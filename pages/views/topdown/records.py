"""Synthetic records on the page TopDown: the released leaves as a table and as rows, and their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.exports import download
from pages.ui.text import prose, small_print
from pages.views.topdown import asked, words
from pages.views.topdown.release import drawn_again
from treedp_core.notebook.code import call
from treedp_core.privacy import Provenance
from treedp_core.records.export import synthetic
from treedp_core.records.export.synthetic import Columns
from treedp_core.studies.topdown import Drawn, Subject, tables
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.tree.leaf_table import LeafTable
from treedp_core.words import plural, whole

PREVIEW: Final = 100


def section(what: Subject, mine: Drawn | None) -> None:
    """Show the released records, and offer them as files."""
    if mine is not None and mine.table is None:
        st.info(
            f"{RULES[mine.wanted.rule].label} gives counts that are not whole, so they are no records. Choose another "
            "projection.", icon=":material/table_rows:",
        )  # fmt: skip
    elif mine is not None and mine.table is not None:
        _records(mine, mine.table, tables.columns_of(mine.subject))


def _records(mine: Drawn, table: LeafTable, columns: Columns) -> None:
    prose(
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
        frame.plain_table(
            synthetic.first_leaves(table, columns, PREVIEW),
            alt="The first leaves of the release and their counts",
            caption=f"{_first(table.n_leaves, 'leaves')} in the order of the categories. {_what(mine)}",
        )
        _files(mine, "contingency", synthetic.contingency_csv, synthetic.contingency_parquet, table, columns)
    with right:
        st.header("One row a record", anchor=False)
        frame.plain_table(
            synthetic.first_records(table, columns, PREVIEW),
            alt="The first synthetic records",
            caption=f"{_first(table.total, 'records')}; equal records stand together, so the order says nothing. "
            f"{_what(mine)}",
        )
        if table.total > synthetic.MAX_ROWS:
            small_print(
                f":material/info: {whole(table.total)} rows are more than the {whole(synthetic.MAX_ROWS)} of one file; "
                "take the contingency table."
            )
        else:
            _files(mine, "records", synthetic.records_csv, synthetic.records_parquet, table, columns)


def _first(n: int, what: str) -> str:
    return f"The first {PREVIEW} of {whole(n)} {what}" if n > PREVIEW else f"All {whole(n)} {what}"


def _what(mine: Drawn) -> str:
    promise = Provenance.SIMULATION.sentence(mine.plan.guarantee)
    return f"{words.release(mine)}. {promise}"


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
        columns_again = call(tables.columns_of, asked.again(mine.subject)).named("columns")
        again = drawn_again(mine).get("table")
        frame.code_popover(f"td_{kind}", call(as_csv, again, columns_again, Provenance.SIMULATION))
