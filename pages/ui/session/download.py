"""Files that leave the app: the one download button, and a store that keeps them for slow browsers."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Final, Literal

import streamlit as st

from pages.ui.session import streamlit_compat
from pages.ui.session.streamlit_compat import MediaFileKind, MediaFileStorage

LINGER_SECONDS: Final = 60.0


class Lingering(MediaFileStorage):
    """Streamlit's store of files, but one that was to go stays for a minute.

    A file made on a click belongs to no page, so the end of any two runs, of anybody's page, sweeps it away: too soon
    for a slow browser that has been told the address.
    """

    def __init__(self, storage: MediaFileStorage, now: Callable[[], float] = time.monotonic) -> None:
        self.storage = storage
        self._now = now
        self._going: dict[str, float] = {}
        self._lock = threading.Lock()

    def load_and_get_id(
        self, path_or_data: str | bytes, mimetype: str, kind: MediaFileKind, filename: str | None = None
    ) -> str:
        """Keep a file; return its id."""
        with self._lock:
            file_id = self.storage.load_and_get_id(path_or_data, mimetype, kind, filename)
            self._going.pop(file_id, None)
            return file_id

    def get_url(self, file_id: str) -> str:
        """Return the address of a file."""
        return self.storage.get_url(file_id)

    def delete_file(self, file_id: str) -> None:
        """Note that a file is to go."""
        with self._lock:
            self._going[file_id] = self._now() + LINGER_SECONDS

    def sweep(self) -> bool:
        """Let the files go that nobody has asked for since; whether there were any."""
        with self._lock:
            gone = [file_id for file_id, when in self._going.items() if when <= self._now()]
            for file_id in gone:
                del self._going[file_id]
                self.storage.delete_file(file_id)
        return bool(gone)


def linger() -> Callable[[], bool]:
    """Have the server keep files for slow browsers; return what must be called again and again to let them go."""
    wrapped: list[Lingering] = []

    def wrap(storage: MediaFileStorage) -> MediaFileStorage:
        wrapped.append(Lingering(storage))
        return wrapped[0]

    streamlit_compat.wrap_files(wrap)
    return wrapped[0].sweep


def download(
    label: str,
    write: Callable[[], bytes],
    *,
    name: str,
    mime: str,
    key: str,
    help: str,
    type: Literal["secondary", "tertiary"] = "secondary",
) -> None:
    """Show a button that saves a file under a name; `write` returns its bytes, on a click and on another thread.

    Streamlit derives a file's address from its media type, its name and, above 1 MiB, its length and three pieces of
    its bytes, and hands out the first file it had at an address. A parameter of the media type, drawn anew in each
    run, makes every address unguessable and nobody's but this session's.
    """
    st.download_button(
        label,
        data=write,
        file_name=name,
        mime=f"{mime}; export={secrets.token_hex(16)}",
        key=key,
        icon=":material/download:",
        type=type,
        on_click="ignore",
        help=help,
    )
