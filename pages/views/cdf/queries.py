"""Ranges of bins of one's own: typed, or in a table that is uploaded. Those of a table stay in the session.

A saved notebook has them; an address never does.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.inputs.text import lit, small_print
from pages.ui.session import uploads
from pages.ui.tables import range_lists
from pages.ui.tables.marks import marks_chosen
from pages.ui.tables.result import forget
from pages.ui.tables.worker_read import by_worker, say
from pages.views.cdf import settings as s
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.study import visible
from treedp_core.records.worker_read import read
from treedp_core.studies.cdf.matrices.range_lists import doubtful_marks, ranges_of_table
from treedp_core.studies.cdf.matrices.workload import MAX_BINS, MAX_RANGES
from treedp_core.words import plural, whole

SLOT: Final = "cdf_queries"
FEWER: Final = "save it with fewer columns"
EXAMPLE: Final = "lower,upper,weight\n1,10,1\n5,20,0.5"


def show() -> None:
    """Show where ranges are typed or uploaded, or the card of the table in use."""
    word = s.LISTED.value
    table = range_lists.lists().get(word)
    if table is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"{lit(table.name, 40)} — {plural(len(table.ranges), 'range')}, file discarded")
            st.button("Remove", key=f"{SLOT}_remove", icon=":material/delete:", on_click=_remove, args=(word,),
                      help="Forget these ranges now, and type some.")  # fmt: skip
        return
    if not uploads.is_public():
        _upload()
    s.RANGES.draw()


def _upload() -> None:
    n_before = len(range_lists.lists())
    file = uploads.uploader(
        "A table of ranges, one a row", key=f"{SLOT}_{n_before}_{s.LISTED.value}",
        help=f"First and last bin in columns lower and upper, from bin 1 on, and, if some count more, their weight. At "
        f"most {whole(MAX_RANGES)} ranges. The file is read once and discarded. A saved notebook has its ranges; a "
        "link never has.",
    )  # fmt: skip
    if file is None:
        small_print("For example:")
        st.code(EXAMPLE, language=None)
        return
    content = file.getvalue()
    marks = _marks(file, content)
    if marks is None:
        return
    work = partial(read, ranges_of_table, content, MAX_BINS, name=file.name, marks=marks)
    found = by_worker(SLOT, (file.file_id, tuple(marks.items())), work, content, file.file_id, instead=FEWER)
    if not found.is_ready:
        say(found, "Reading ranges")
        return
    forget(SLOT)
    s.LISTED.set(range_lists.add(Listed(visible(file.name), found.here())))
    s.RANGES.set("")
    st.rerun()


def _marks(file: UploadedFile, content: bytes) -> dict[str, str] | None:
    """Ask how numbers are written that can be read in more than one way; None while that is not answered."""
    work = partial(read, doubtful_marks, content, name=file.name)
    found = by_worker(f"{SLOT}_marks", file.file_id, work, content, file.file_id, instead=FEWER)
    if not found.is_ready:
        say(found, "Reading ranges")
        return None
    looks = found.here().items()
    chosen = {one: marks_chosen(look, one, f"{SLOT}_marks_{one}_{file.file_id}") for one, look in looks}
    said = {one: marks for one, marks in chosen.items() if marks is not None}
    return said if len(said) == len(chosen) else None


def _remove(word: str) -> None:
    range_lists.drop(word)
    s.LISTED.set("")
