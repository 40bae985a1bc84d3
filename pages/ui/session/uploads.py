"""Files on their way in: whether this app takes any, how much a session may send, and when they are let go."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.session import sessions
from pages.ui.session.streamlit_compat import UPLOAD, free_upload, upload_sizes
from treedp_core.cli import CLASS_VARIABLE, PUBLIC_VARIABLE, is_on

MAX_MEGABYTES: Final = 200
FRAMING_BYTES: Final = 1 << 16
"""What a request holds around its file at most."""
RECORD_BYTES: Final = 1 << 10
"""What a file takes up beside its content."""
ON_DISK: Final = "/"
"""What the id of a file of this computer begins with: it is no upload."""


def is_public() -> bool:
    """Whether strangers use this app, or a class: it then takes no files, and less at once."""
    return is_on(os.environ, PUBLIC_VARIABLE) or is_class()


def called() -> str:
    """Return what an app that takes no files is."""
    return "class" if is_class() else "public app"


def offered(choices: Iterable[str], of_files: Container[str], chosen: str) -> list[str]:
    """Return the choices that can be had: one that needs a file only where files are taken, or where a link chose it.

    >>> offered(("sample", "upload"), ("upload",), "sample")
    ['sample', 'upload']
    """
    return [one for one in choices if one == chosen or not (is_public() and one in of_files)]


def is_class() -> bool:
    """Whether this app is open to a class."""
    return is_on(os.environ, CLASS_VARIABLE)


def named(variable: str) -> Path | None:
    """Return the file that a variable of the environment named when the app was started, if files are taken."""
    path = os.environ.get(variable, "")
    return Path(path) if path and not is_public() else None


class UploadLimit:
    """Middleware that answers 413 before a file is read: to every file if the app is public, else beyond the limit.

    A page without an uploader stops nobody: whoever has a session may send files to Streamlit's address for them. The
    limit, `server.maxUploadSize`, is here one of all files that a session has and sends.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        sent = UPLOAD.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if sent is None:
            await self.app(scope, receive, send)
            return
        limit = 0 if is_public() else int(st.get_option("server.maxUploadSize")) << 20
        length = Headers(scope=scope).get("content-length", "")
        size = max(0, int(length) - FRAMING_BYTES) if length.isdecimal() else limit
        session = sent[1]
        held = sum(one + RECORD_BYTES for one in upload_sizes(session))
        if is_public() or held + self.coming[session] + size > limit:
            await PlainTextResponse("No room for this file here.", 413)(scope, receive, send)
            return
        self.coming[session] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self.coming[session] -= size
            self.coming += Counter()  # drops what is down to 0


@dataclass(eq=False)
class _Shown:
    """The ids of the files that uploaders hold: in the run that ended last, and in the one that is under way.

    `gone` has what forgets what is known of them, by what it is.
    """

    before: set[str] = field(default_factory=set)
    now: set[str] = field(default_factory=set)
    gone: dict[str, dict[str, Callable[[], None]]] = field(default_factory=dict)

    def left(self) -> None:
        """Nothing: the files stay as long as the session does."""


def uploader(
    label: str, *, key: str, help: str, types: Collection[str] = (), on_change: Callable[[], None] | None = None
) -> UploadedFile | None:
    """Show an uploader; return its file, or None. A table may have any name: what it is, its content says."""
    file = st.file_uploader(label, type=list(types) or None, key=key, max_upload_size=MAX_MEGABYTES, help=help,
                            on_change=on_change)  # fmt: skip
    if file is not None:
        sessions.mine(_Shown).now.add(file.file_id)
    return file


def shown(file_id: str, what: str, gone: Callable[[], None]) -> None:
    """Note that something is known of a file that is shown: `gone` forgets it, and is called when the file goes."""
    files = sessions.mine(_Shown)
    files.now.add(file_id)
    files.gone.setdefault(file_id, {})[what] = gone


def forget_unshown() -> None:
    """Free the files that an uploader held in the last run and none holds now; called when a whole page has run."""
    shown = sessions.mine(_Shown)
    for file_id in shown.before - shown.now:
        _forget(file_id)
    shown.before, shown.now = shown.now, set()


def forget_shown() -> None:
    """Free the files that uploaders hold now; by itself Streamlit waits for the user's cross or the session's end."""
    shown = sessions.mine(_Shown)
    for file_id in shown.now:
        _forget(file_id)
    shown.now = set()


def _forget(file_id: str) -> None:
    for forget in sessions.mine(_Shown).gone.pop(file_id, {}).values():
        forget()
    if not file_id.startswith(ON_DISK):
        free_upload(file_id)
