"""Files: upload one or open one of this computer; only counts stay in the session, never the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from pages.ui import store, uploads
from pages.ui.snippets import Ran, given
from pages.ui.text import lit, plural
from treedp_core.records import Dataset

_REVISION: Final = "_upload_revision"
_REPLACING: Final = "_replacing"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A file that waits to be counted.

    Parameters
    ----------
    origin : path or uploaded file
    name : str
        Name to show, as text only.
    source : {"upload", "file"}
    """

    origin: Any
    name: str
    source: str


def counted(
    candidate: Candidate, count: Callable[..., Dataset], column: Any, *, progress: Any = None, **how: Any
) -> Ran[Dataset]:
    """Return the counts of a file, with the call that gives them where the file lies under its name."""
    now = {key: one.value if isinstance(one, Ran) else one for key, one in how.items()}
    found = count(candidate.origin, column, name=candidate.name, progress=progress, **now)
    about = "the file, under its name"
    return given(found, count, candidate.name, column, about=about, **how).named("data")


def upload() -> Candidate | None:
    """Show the uploader, or the card of what was counted."""
    if uploads.is_public():
        st.info("This is a public app: it takes no files. Use the samples, the generator, or run TreeDP yourself.")
        return None
    kept = store.from_file("upload")
    if kept is not None and not st.session_state.get(_REPLACING):
        _card(kept, "upload", f"{_size(kept)}, file discarded")
        return None
    file = uploads.uploader(
        "CSV or Parquet file",
        key=f"upload_{st.session_state.get(_REVISION, 0)}",
        help="Also .csv.gz. The file is read once, on the computer that runs this app, and then discarded. "
        "Larger ones: treedp FILE on the command line, or upload counts that a database has grouped.",
    )
    if file is not None:
        return Candidate(file, file.name, "upload")
    st.caption(
        f"Counts from a file are removed about two minutes after you close the tab, and a link never carries them. "
        f"Until you count a file, {lit(store.dataset().name, 40)} stays in use."
    )
    return None


def local_file() -> Candidate | None:
    """Show the file that the app was started with, or the card of what was counted."""
    path = store.file_on_this_computer()
    kept = store.from_file("file")
    if path is None:
        return None
    if kept is not None and not st.session_state.get(_REPLACING):
        _card(kept, "file", _size(kept))
        return None
    st.markdown(f"{lit(path.name)} is read where it is; nothing is uploaded.")
    return Candidate(path, path.name, "file")


def finish(candidate: Candidate, ran: Ran[Dataset], *others: Any) -> None:
    """Put the counts in use, free the uploaded files, and show the page anew with an empty uploader."""
    store.set_dataset(ran.value, candidate.source, ran)
    for file in (candidate.origin, *others):
        if hasattr(file, "file_id"):
            uploads.forget(file)
    st.session_state[_REVISION] = st.session_state.get(_REVISION, 0) + 1
    st.session_state[_REPLACING] = False
    st.rerun()


def revision() -> int:
    """Return a number that changes with every file counted, for the keys of widgets that start afresh then."""
    return int(st.session_state.get(_REVISION, 0))


def _card(counted: Dataset, source: str, what: str) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"{lit(counted.name, 40)} — {what}")
        st.button(
            "Replace", key=f"replace_{source}", icon=":material/swap_horiz:", on_click=_replace,
            help="Count another file, or this one by other columns; these counts stay until then.",
        )  # fmt: skip
        st.button(
            "Remove", key=f"remove_{source}", icon=":material/delete:", on_click=store.remove, args=(source,),
            help="Forget these counts now and go back to the sample.",
        )  # fmt: skip


def _replace() -> None:
    st.session_state[_REPLACING] = True


def _size(counted: Dataset) -> str:
    return f"{plural(counted.report.rows, 'row')} → {plural(counted.tree.n_nodes, 'count')}"
