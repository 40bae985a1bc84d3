"""A session written down as a notebook whenever it has changed: at once where that takes a moment, else on a thread."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Final

from pages.ui.notebook import book, session_study
from pages.ui.tables import session_tables
from treedp_core.checks import InputError
from treedp_core.notebook.file.archive import save
from treedp_core.notebook.study import Study

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
