"""Reading the content of a file: only workers do, with limits, and the page says how it goes.

What they may take up is what they need beside the file itself. A file that wants more is refused with a sentence, its
worker ends, and what is in use stays.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.inputs.refusals import refusal
from pages.ui.jobs.workers import Limits
from pages.ui.session import uploads
from pages.ui.tables import result
from pages.ui.tables.result import Result, in_background, show_state
from treedp_core.checks import InputError
from treedp_core.notebook.code import File, Ran, call
from treedp_core.records import Dataset, HeldColumns, domain_of_paths
from treedp_core.records.worker_read import STEPS
from treedp_core.words import plural, whole

T = TypeVar("T")

READ_BYTES: Final = 1 << 30
"""What reading a file may take up in memory, besides the file itself."""
GROUP: Final = "group its records first, or save only the columns of interest"
FEWER: Final = "save it with fewer data sets, or without data"
READ_SECONDS: Final = 60
"""How long it may compute, and a second more for each megabyte of the file."""
QUICK_SECONDS: Final = 1.0
"""What is read as soon is shown at once, without a word of progress: nobody waits for the next look at it."""

PRIOR: Final = "PRIOR"
"""What code calls the path of a prior's file."""
Content = Path | HeldColumns | bytes
Counted = Ran[Dataset]
"""Counts, with the call that gives them."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What is read off a file, and how.

    Parameters
    ----------
    work : partial
        What a worker calls: it has the content of the file.
    ran : Ran
        The same call as code has it, by the name of the file.
    then : function
        What becomes of the call once its value is there; it may refuse it.
    """

    work: partial[Any]
    ran: Ran[Any]
    then: Callable[[Counted], Counted] = lambda counted: counted


def leaves_listed_in(
    file: UploadedFile, columns: Sequence[str] | None, *, called: str = "DOMAIN", **how: Any
) -> Reading:
    """Return what reads the leaves that an uploaded file lists; code says its path by the name it is `called`."""
    work = partial(domain_of_paths, file.getvalue(), columns, name=file.name, **how)
    return Reading(work, call(domain_of_paths, File(file.name, called), columns, **how).named("domain"))


def by_worker(
    slot: str, key: Hashable, work: partial[T], content: Content, file_id: str, *, instead: str = GROUP
) -> Result[T]:
    """Return what a worker reads off a file; it stays as long as the file does, or its columns.

    `instead` says what may help where that takes too much.
    """
    is_kept = isinstance(content, HeldColumns)
    if not is_kept:
        uploads.shown(file_id, slot, partial(result.forget, slot))
    return in_background(
        slot,
        key,
        STEPS,
        work,
        of=file_id,
        of_data=is_kept,
        room=1,
        limits=limits_of(content, instead),
        wait=QUICK_SECONDS,
    )


def limits_of(content: Content, instead: str = GROUP) -> Limits:
    """Return what a worker that reads a file may take up."""
    if isinstance(content, Path):
        named = [content] if content.exists() else map(Path, glob.glob(str(content), recursive=True))
        files = content.rglob("*") if content.is_dir() else named
        size = sum(one.stat().st_size for one in files if one.is_file())  # whoever reads it says that it is gone
    else:
        size = content.n_bytes if isinstance(content, HeldColumns) else len(content)
    seconds = READ_SECONDS + (size >> 20)
    broken = (
        f"This file needs more than {whole(READ_BYTES >> 20)} MB or {plural(seconds, 'second')} to read; {instead}."
    )
    failed = "The file could not be read; try again, or save it in another format."
    return Limits(READ_BYTES, seconds, ("FILE_TOO_LARGE", broken), ("FILE_UNREADABLE", failed))


def say(found: Result[Any], what: str = "Reading") -> None:
    """Say how the reading of a file stands."""
    show_state(found, what)
    if found.error is not None:
        st.caption("Nothing was changed.")


def say_refused(error: InputError) -> None:
    """Say why a file is not counted."""
    refusal(error)
    st.caption("Nothing was changed.")
