"""A notebook on this computer, named when the app was started: opened as a session begins, written with every change.

One that was only named to be opened is written as what it is: with data where it had any, else without.

Writing is done by a thread of its own, so that no page waits for it. A file that somebody else has written since is not
written over before the user was asked.
"""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from pages.ui.inputs.text import lit
from pages.ui.notebook import notebook_file, session_study
from pages.ui.session import uploads
from pages.ui.tables import worker_read
from treedp_core.checks import InputError
from treedp_core.cli import NOTEBOOK_VARIABLE, SAVE_VARIABLE
from treedp_core.notebook.file.archive import open_file, save
from treedp_core.notebook.study import Study

SLOT: Final = "disk_open"
STATE: Final = "_disk"
Mark = tuple[int, int] | None
"""When a file was written and how long it is; None where there is none."""


@dataclass
class _Disk:
    """What this session knows of the file. `written` is what it read or wrote last.

    `goes_over` says that it opens what somebody else has written there.
    """

    opens: bool = True
    goes_over: bool = False
    written: Mark = None
    with_data: bool = True
    signature: str = ""
    is_other: bool = False
    trouble: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


def begin() -> None:
    """Open the notebook that the app was started with, once a session; before any control is drawn."""
    disk = _disk()
    path = uploads.named(SAVE_VARIABLE) if disk.goes_over else _to_open()
    if not disk.opens:
        return
    if path is None:
        disk.opens = False
        return
    mark = mark_of(path)
    file_id = f"{uploads.ON_DISK}{SLOT}/{mark}"
    found = worker_read.by_worker(SLOT, mark, partial(open_file, path), path, file_id, instead=worker_read.FEWER)
    if found.error is not None:
        disk.opens, disk.is_other, disk.goes_over = False, disk.goes_over, False
        worker_read.say(found, "Opening the notebook")
    elif found.is_ready:
        disk.opens = disk.goes_over = False
        study = found.here()
        if path == uploads.named(SAVE_VARIABLE):
            disk.written = mark
            disk.with_data = bool(study.tables) or path != uploads.named(NOTEBOOK_VARIABLE)
        notebook_file.replace(study)
        st.rerun()
    else:
        worker_read.say(found, "Opening the notebook")


def keep() -> None:
    """Write the session to the file that the app was told, if it has changed; called at the end of every run."""
    disk, path = _disk(), uploads.named(SAVE_VARIABLE)
    if path is None or disk.is_other or disk.opens:
        return
    study = session_study.study()
    if not disk.signature and not study.notebook.cells and not study.tables:
        return  # nothing has been done here yet
    signature = session_study.signature(study)
    if signature != disk.signature:
        if not disk.lock.locked() and _is_of_another(disk, path):
            disk.is_other, disk.signature = True, ""
            st.rerun()  # asked now, not with the next change
        disk.signature = signature
        threading.Thread(target=_write, args=(disk, path, study), name="notebook on disk").start()


def say() -> None:
    """Say where the session is kept, and ask where somebody else has written there."""
    disk, path = _disk(), uploads.named(SAVE_VARIABLE)
    if path is None:
        return
    if disk.is_other:
        st.warning(f"{lit(path.name, 40)} was written by another tab or program since. Which one is to stay?")
        with st.container(horizontal=True):
            st.button("Open it", key="disk_open", on_click=_open_other, help="It takes the place of what is here now.")
            st.button("Keep mine", key="disk_mine", on_click=_keep_mine,
                      help="What is here now takes the place of the file.")  # fmt: skip
    elif disk.trouble:
        st.warning(disk.trouble)
    elif disk.with_data:
        st.caption(f":red[NOT PRIVATE]: every change is saved in {lit(path.name, 40)}, which holds TRUE COUNTS.")
    else:
        st.caption(f"Every change is saved in {lit(path.name, 40)}, without data.")


def mark_of(path: Path) -> Mark:
    """Return when a file was written and how long it is."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _is_of_another(disk: _Disk, path: Path) -> bool:
    """Whether what is in a file is not what this session read or wrote; a file that is gone is nobody's work."""
    return mark_of(path) not in (None, disk.written)


def _write(disk: _Disk, path: Path, study: Study) -> None:
    """Write a study to a file, whole or not at all."""
    with disk.lock:
        if _is_of_another(disk, path):
            disk.is_other, disk.signature = True, ""
            return
        try:
            content = save(study, with_data=disk.with_data)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(name, path)
            finally:
                with suppress(OSError):
                    os.unlink(name)
            disk.written, disk.trouble = mark_of(path), ""
        except (OSError, InputError) as error:
            reason = str(error) if isinstance(error, InputError) else "the folder cannot be written to."
            disk.trouble = f"Nothing was saved in {lit(path.name, 40)}: {reason}"


def _open_other() -> None:
    disk = _disk()
    disk.opens, disk.goes_over, disk.is_other = True, True, False


def _keep_mine() -> None:
    disk, path = _disk(), uploads.named(SAVE_VARIABLE)
    assert path is not None
    disk.is_other, disk.written, disk.signature = False, mark_of(path), ""


def _to_open() -> Path | None:
    """The notebook that was named to be opened; else that of an earlier day, which is gone on with."""
    named, kept = uploads.named(NOTEBOOK_VARIABLE), uploads.named(SAVE_VARIABLE)
    return named or (kept if kept is not None and kept.exists() else None)


def _disk() -> _Disk:
    disk: _Disk = st.session_state.setdefault(STATE, _Disk())
    return disk
