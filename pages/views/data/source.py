"""Where the records come from: a sample, the generator, or a file; choosing one puts it in use at once."""

from __future__ import annotations

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.settings import MADE_BRANCHING, MADE_RECORDS, MADE_SEED, MADE_SHAPE, SAMPLE, SOURCE, SOURCES
from pages.ui.text import lit
from pages.ui.upload import Candidate, upload
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError


def choose() -> Candidate | None:
    """Show the choice of the source and its controls; return a file that waits to be counted, if there is one."""
    path = store.file_on_this_computer()
    offered = [name for name in SOURCES if name != "file" or path is not None]
    if SOURCE.value not in offered:
        SOURCE.set("upload")
    source = SOURCE.draw(offered=offered)
    if source == "sample":
        chosen = SAMPLES[SAMPLE.draw()]
        st.caption(f"{chosen.description} {chosen.domain}")
        return None
    if source == "generate":
        _generate()
        return None
    found = upload(source, asks="tree", path=path if source == "file" else None)
    if found is None and not uploads.is_public():
        st.caption(f"Until you count a file, {lit(store.dataset().name, 40)} stays in use.")
    return found if isinstance(found, Candidate) else None


def _generate() -> None:
    left, right = st.columns(2)
    with left:
        shape, branching = MADE_SHAPE.draw(), MADE_BRANCHING.draw()
    with right:
        n_records, seed = MADE_RECORDS.draw(), MADE_SEED.draw()
    try:
        store.generated(shape, n_records, branching, seed)
    except store.Pending:
        pass  # the head of the page says so
    except InputError as error:
        refusal(error)
        st.caption("The data set in use stays as it was.")
