"""Where the records come from: a sample, the generator, or a file; choosing one puts it in use at once."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.refusals import refusal
from pages.ui.settings import RECORDS_GRID, REG, SOURCES, get
from pages.ui.text import lit, whole
from pages.ui.upload import Candidate, upload
from sample_data.catalogue import SAMPLES
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.made_up import SHAPES

HELP: Final = (
    "Sample: small synthetic data that come with the app. Generate: made-up records on a tree of your choice. "
    "Upload: a CSV or Parquet file, of which only the counts are kept."
)


def choose() -> Candidate | None:
    """Show the choice of the source and its controls; return a file that waits to be counted, if there is one."""
    offered = [name for name in SOURCES if name != "file" or store.file_on_this_computer() is not None]
    if get("source") not in offered:
        st.session_state["source"] = "upload"
    st.segmented_control(
        "Source",
        offered,
        key="source",
        persist_state="session",
        required=True,
        format_func=SOURCES.__getitem__,
        help=HELP,
    )
    return {"sample": _sample, "generate": _generate, "upload": _upload, "file": _local_file}[get("source")]()


def _upload() -> Candidate | None:
    found = upload("upload", asks="tree")
    if found is None and not uploads.is_public():
        st.caption(f"Until you count a file, {lit(store.dataset().name, 40)} stays in use.")
    return found if isinstance(found, Candidate) else None


def _local_file() -> Candidate | None:
    found = upload("file", asks="tree", path=store.file_on_this_computer())
    return found if isinstance(found, Candidate) else None


def _sample() -> None:
    st.selectbox(
        "Sample data set",
        list(SAMPLES),
        key="sample",
        persist_state="session",
        format_func=lambda name: SAMPLES[name].title,
        help="All samples are synthetic; their generators and seeds are part of the project.",
    )
    chosen = SAMPLES[get("sample")]
    st.caption(f"{chosen.description} {chosen.domain}")


def _generate() -> None:
    left, right = st.columns(2)
    with left:
        st.selectbox(
            "Shape",
            list(SHAPES),
            key="gen_shape",
            persist_state="session",
            format_func=lambda name: SHAPES[name].label,
            help=SHAPES[get("gen_shape")].help,
        )
        st.text_input(
            "Branching factors",
            key="gen_branching",
            persist_state="session",
            max_chars=100,
            help="Children of each node, level by level from the root, with commas: 16,16,16 has 4 096 leaves.",
        )
    with right:
        st.select_slider(
            "Records",
            REG["gen_n"].choices(get("gen_n")),
            key="gen_n",
            persist_state="session",
            format_func=whole,
            help=f"From {whole(RECORDS_GRID[0])} to {whole(RECORDS_GRID[-1])}.",
        )
        st.number_input(
            "Seed of the data",
            0,
            checks.MAX_SEED,
            step=1,
            key="gen_seed",
            persist_state="session",
            help="The same seed gives the same records. The seed in the sidebar is that of the noise.",
        )
    try:
        REG["gen_branching"].read(st.session_state["gen_branching"])
        store.generated(get("gen_shape"), get("gen_n"), st.session_state["gen_branching"], get("gen_seed"))
    except store.Pending:
        pass  # the head of the page says so
    except InputError as error:
        refusal(error)
        st.caption("The data set in use stays as it was.")
