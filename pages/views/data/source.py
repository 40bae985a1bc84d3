"""Where the records come from: a sample, the generator, or a file; choosing one puts it in use at once."""

from __future__ import annotations

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import MADE_BRANCHING, MADE_RECORDS, MADE_SEED, MADE_SHAPE, SAMPLE, SOURCE
from pages.ui.inputs.text import small_print
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.upload_slot import Candidate
from pages.ui.upload.upload import show_count, upload
from pages.views.data.levels import levels
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError
from treedp_core.views.cells.rerun import SOURCES


def choose() -> Candidate | None:
    """Show the choice of the source and its controls; return a file that waits to be counted, if there is one."""
    path = store.file_on_this_computer()
    here = [name for name in SOURCES if name != "file" or path is not None]
    offered = uploads.offered(here, session_tables.OWN, SOURCE.value)
    if SOURCE.value not in offered:
        SOURCE.set("upload")
    with in_a_row():
        source = SOURCE.draw(offered=offered)
        if source == "sample":
            with st.container(width=320):
                SAMPLE.draw()
        if source == "generate":
            _generate()
        if source in session_tables.OWN:
            levels(source)
    if source in ("sample", "generate"):
        return None
    show_count(source)
    found = upload(source, asks="tree", path=path if source == "file" else None)
    return found if isinstance(found, Candidate) else None


def is_waited_for() -> bool:
    """Whether a file is the source, none has been counted, and one may be."""
    return SOURCE.value in ("upload", "file") and store.from_file(SOURCE.value) is None and not uploads.is_public()


def about_source() -> None:
    """Say what the sample is, and ask for the seed of generated records."""
    if SOURCE.value == "sample":
        chosen = SAMPLES[SAMPLE.value]
        small_print(f"{chosen.description} {chosen.domain}")
    if SOURCE.value == "generate":
        MADE_SEED.draw()


def _generate() -> None:
    with st.container(width=200):
        shape = MADE_SHAPE.draw()
    with st.container(width=200):
        branching = MADE_BRANCHING.draw()
    with st.container(width=240):
        n_records = MADE_RECORDS.draw()
    try:
        store.generated(shape, n_records, branching, MADE_SEED.value)
    except store.Pending:
        pass  # the head of the page says so
    except InputError as error:
        refusal(error)
        small_print("The data set in use stays as it was.")
