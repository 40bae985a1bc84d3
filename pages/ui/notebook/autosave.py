"""The notebook kept in the user's own browser: only if its user has said so, and never over what another tab wrote.

The browser fetches a new state by itself, from an address that only this session knows, so no page waits for it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import secrets
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal

import streamlit as st

from pages.ui.inputs.text import lit
from pages.ui.notebook import book, disk, notebook_file, session_study
from pages.ui.page.scripts import of_all, script
from pages.ui.session import uploads
from pages.ui.session.streamlit_compat import add_file
from pages.ui.tables import session_tables, worker_read
from treedp_core.checks import InputError
from treedp_core.notebook.file.archive import open_study, save
from treedp_core.notebook.study import Study
from treedp_core.words import megabytes, whole

# A session written down as a notebook whenever it has changed: at once where that takes a moment, else on a thread.

SMALL: Final = (20_000, 2 << 20)
"""Nodes, and bytes of cells, that are written while the page waits: that takes a moment. More is written beside it."""
LARGEST: Final = (4_000_000, book.BYTES)
"""The same of what is kept at all: more must be saved as a file."""
MOST_BYTES: Final = 36 << 20
"""Of the file: in letters it is a third longer, and .streamlit/config.toml says what a browser may send."""
PAUSE_SECONDS: Final = 20.0
"""Between two writings of what is not small."""


def fits(most: tuple[int, int]) -> bool:
    """Return whether the session has at most so many nodes, and bytes of cells."""
    nodes = sum(one.data.tree.n_nodes for one in session_tables.everything())
    return nodes <= most[0] and sum(book.held().weights.values()) <= most[1]


@dataclass(eq=False)
class _Writing:
    """A session that is being written down, on a thread of its own, and what came of it."""

    study: Study
    signature: str
    content: bytes | None = None
    is_over: bool = False

    def run(self) -> None:
        """Write it."""
        try:
            content = save(self.study, with_data=True)
            self.content = content if len(content) <= MOST_BYTES else None
        except InputError:
            self.content = None
        finally:
            self.is_over = True


@dataclass
class Written:
    """What was written last, the `nth` time, of a session with that `signature`, and what is being written."""

    signature: str = ""
    content: bytes = b""
    nth: int = 0
    writing: _Writing | None = None
    begun: float = -math.inf
    too_large: str = ""

    @property
    def is_too_large(self) -> bool:
        """Whether the session, or its file, is larger than what is kept."""
        return bool(self.too_large) or not fits(LARGEST)

    @property
    def is_due(self) -> bool:
        """Whether what was being written is there, or the next writing may begin."""
        return self.writing.is_over if self.writing is not None else time.monotonic() >= self.begun + PAUSE_SECONDS

    def keep_up(self) -> bool:
        """Write the session down, where it has changed; return whether something is still to be written."""
        study = session_study.study()
        signature = session_study.signature(study)
        done = self.writing if self.writing is not None and self.writing.is_over else None
        if done is not None:
            self.writing = None
            self.too_large = done.signature if done.content is None else ""
            if done.content is not None:
                self._put(done.content, done.signature)
        if signature in (self.signature, self.too_large):
            return False
        if fits(SMALL):
            self.writing = None
            self._put(save(study, with_data=True), signature)
            return False
        if self.writing is None and time.monotonic() >= self.begun + PAUSE_SECONDS:
            self.writing, self.begun = _Writing(study, signature), time.monotonic()
            threading.Thread(target=self.writing.run, name="notebook in the browser", daemon=True).start()
        return True

    def _put(self, content: bytes, signature: str) -> None:
        self.content, self.signature, self.nth = content, signature, self.nth + 1


CONSENT: Final = "It holds TRUE COUNTS of your data sets, and stays on this computer until you take it away here."
SHARED: Final = "Whoever uses this browser can open it; a private window forgets it when it is closed."
FULL: Final = "the browser has no room left for it."
CLOSED: Final = "the browser keeps nothing for this page; a private window may forbid it."
GONE: Final = "Nothing is kept in this browser any more: it was removed there, in another tab perhaps."
SLOT: Final = "autosave_open"
_KEY: Final = "autosave_script"
_STATE: Final = "_autosave"
_SWITCH: Final = "autosave_on"
Wants = Literal["", "remove", "load", "file", "force"]


@dataclass(frozen=True)
class Record:
    """What the browser says that it keeps."""

    title: str
    when: datetime
    size: int


@dataclass
class _Auto:
    """What this session knows of its browser, and what it wants of it.

    `found` is what the browser kept when the session began, `other` what another tab wrote since, `failed` why the last
    changes are not kept.
    """

    on: bool = False
    found: Record | None = None
    other: Record | None = None
    wants: Wants = ""
    asked: int = 0
    coming: bytes = b""
    written: Written = field(default_factory=Written)
    failed: str = ""
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def has_question(self) -> bool:
        """Whether it is not known yet which notebook is to stay."""
        return self.found is not None or self.other is not None or bool(self.coming)

    @property
    def may_write(self) -> bool:
        """Whether the session is to be written down as it is."""
        return self.on and not self.has_question and fits(LARGEST)

    def keep_up(self) -> bool:
        """Write the session down if it is to be; return whether something is still to be written."""
        return self.may_write and self.written.keep_up()

    def ask(self, wants: Wants) -> None:
        """Want something of the browser: in a callback."""
        self.wants, self.asked = wants, self.asked + 1


def switch() -> None:
    """Show what keeps the notebook in the browser, with what that means."""
    if uploads.is_public():
        return
    auto = _auto()
    st.session_state[_SWITCH] = auto.on
    st.toggle("Keep it in this browser", key=_SWITCH, on_change=_switched, help=f"After every change. {CONSENT}")
    if auto.on:
        often = (
            f"at most every {whole(round(PAUSE_SECONDS))} seconds, as it is large"
            if not fits(SMALL)
            else "after every change"
        )
        st.caption(f"{f':red[NOT PRIVATE]: {CONSENT} ' if session_tables.everything() else ''}It is kept {often}.")
        st.button("Remove from this browser", key="autosave_remove", icon=":material/delete:", on_click=_remove,
                  help="Nothing of it stays in this browser; what is shown stays.")  # fmt: skip


def by_a_table() -> None:
    """Ask beside a table of one's own whether it may be kept in this browser; say of one that is how large it is."""
    if uploads.is_public():
        return
    auto = _auto()
    if not auto.on:
        st.button("Keep in this browser", key="autosave_table", icon=":material/bookmark_add:", type="tertiary",
                  on_click=_switch_on, help=f"It is here again after a reload. {CONSENT} {SHARED}")  # fmt: skip
        return
    auto.keep_up()
    size = f", {megabytes(len(auto.written.content))}" if auto.written.content else ""
    told = f"**Not kept**: {auto.failed}" if auto.failed else f"Kept in this browser{size}. {SHARED}"
    st.caption(told, width="content")
    st.button("Forget", key="autosave_forget", type="tertiary", on_click=_remove,
              help="It is here again after a reload. Forgotten, nothing stays there; what is shown stays.")  # fmt: skip


def offers() -> None:
    """Show what the browser keeps, and ask where another tab has written; on every page, while there is a question."""
    auto = _auto()
    if auto.coming:
        _open()
    if auto.on and auto.written.is_too_large:
        st.warning("This notebook is too large by now to be kept in the browser: save it as a file.",
                   icon=":material/book_2:")  # fmt: skip
    elif auto.on and auto.failed:
        st.warning(f"The last changes are not kept: {auto.failed} Save the notebook as a file.",
                   icon=":material/book_2:")  # fmt: skip
        st.button("Try again", key="autosave_retry", on_click=_retry, help="Have the browser keep it once more.")
    record, asks = (auto.other, True) if auto.other is not None else (auto.found, False)
    if record is None or uploads.is_public():
        return
    about = f"{lit(record.title, 40)}, {record.when:%d %b %H:%M} UTC, {megabytes(record.size)}"
    if asks:
        st.warning(f"Another tab has kept a notebook in this browser since: {about}. Which one is to stay?")
    else:
        st.info(f"This browser keeps a notebook: {about}.", icon=":material/book_2:")
    with st.container(horizontal=True):
        st.button("Open it", key="autosave_open", icon=":material/folder_open:", on_click=auto.ask, args=("load",),
                  help="It takes the place of what is here now.")  # fmt: skip
        if asks:
            st.button(
                "Save it as a file", key="autosave_file", icon=":material/download:", on_click=auto.ask, args=("file",),
                help="The other one, before mine takes its place. The file holds TRUE COUNTS.",
            )  # fmt: skip
            st.button("Keep mine", key="autosave_mine", on_click=_keep_mine,
                      help="What is here now takes the place of the other one.")  # fmt: skip
        else:
            st.button(
                "Not now",
                key="autosave_later",
                on_click=_later,
                help="It stays in the browser, and this session is not kept there.",
            )


def run() -> None:
    """Have the browser, and the file that the app was told, keep the notebook as it is; called at the end of a run."""
    disk.keep()
    if uploads.is_public():
        return
    auto = _auto()
    told: dict[str, Any] = {"session": auto.token, "on": auto.on, "wants": auto.wants, "asked": auto.asked}
    told |= {"nth": -1, "url": "", "title": ""}
    waits = auto.keep_up()
    if auto.may_write and auto.written.content:
        told |= {"nth": auto.written.nth, "url": _address(auto), "title": book.notebook().title}
    script("autosave")(data=told, key=_KEY, height=1, on_told_change=_told)
    if waits:
        st.fragment(_wait, run_every=1.0)()


def _wait() -> None:
    """Have the page run again once what is being written is there, or the next writing may begin."""
    if _auto().written.is_due:
        st.rerun()


def _address(auto: _Auto) -> str:
    """Where the browser fetches it: an address that nobody can guess."""
    return add_file(auto.written.content, f"application/octet-stream; export={auto.token}", "autosave")


@of_all
def _told() -> None:
    """Take in what the browser says: anybody may send anything."""
    told = st.session_state[_KEY].told
    auto = _auto()
    if not isinstance(told, dict):
        return
    kind, record = told.get("kind"), _record(told)
    if kind == "found" and record is not None:
        auto.found, auto.on = record, True
    elif kind == "conflict" and record is not None:
        auto.other = record
    elif kind == "content" and isinstance(told.get("content"), str):
        try:
            auto.coming, auto.on = base64.b64decode(told["content"], validate=True), True
        except (binascii.Error, ValueError):
            auto.coming = b"-"  # which is refused as no notebook
    elif kind == "none":
        _forget()
        notebook_file.tell(GONE)
    elif kind in ("failed", "written"):
        auto.failed = "" if kind == "written" else FULL if told.get("is_open") is True else CLOSED
    auto.wants = ""


def _record(told: dict[str, Any]) -> Record | None:
    title, when, size = told.get("title"), told.get("when"), told.get("size")
    if not isinstance(title, str) or len(title) > 200 or not isinstance(when, int | float) or not isinstance(size, int):
        return None
    try:
        return Record(title, datetime.fromtimestamp(when / 1000, UTC), size)
    except (ValueError, OverflowError, OSError):
        return None


def _open() -> None:
    """Read what the browser sent as any file is read, and put it in place of the session."""
    auto = _auto()
    key = hashlib.sha256(auto.coming).hexdigest()
    found = worker_read.by_worker(
        SLOT,
        key,
        partial(open_study, auto.coming),
        auto.coming,
        f"{uploads.ON_DISK}{SLOT}/{key}",
        instead=worker_read.FEWER,
    )
    if found.is_ready:
        auto.coming = b""
        _opened(found.here())
        st.rerun()
    worker_read.say(found, "Opening the notebook")
    if found.error is not None:
        auto.coming = b""


def _opened(study: Study) -> None:
    auto = _auto()
    notebook_file.replace(study)
    auto.found = auto.other = None


def _switched() -> None:
    auto = _auto()
    auto.on = bool(st.session_state[_SWITCH])
    if not auto.on:
        _remove()


def _switch_on() -> None:
    _auto().on = True


def _remove() -> None:
    _auto().ask("remove")
    _forget()


def _forget() -> None:
    """Keep nothing in the browser from now on."""
    auto = _auto()
    auto.on, auto.found, auto.other, auto.failed = False, None, None, ""
    auto.written = Written(nth=auto.written.nth)  # what the browser has tried to write is told by it


def _retry() -> None:
    _auto().written.signature = ""


def _keep_mine() -> None:
    auto = _auto()
    auto.ask("force")
    auto.on, auto.other, auto.found, auto.written.signature = True, None, None, ""


def _later() -> None:
    auto = _auto()
    auto.found, auto.on = None, False


def _auto() -> _Auto:
    auto: _Auto = st.session_state.setdefault(_STATE, _Auto())
    return auto
