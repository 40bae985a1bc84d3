"""Room for made-up and counted data sets, over all sessions: asked for before anything is allocated."""

from __future__ import annotations

import threading
import weakref
from typing import Final

from pages.ui.session import uploads
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import Dataset, HeldColumns
from treedp_core.words import whole

# A node of a made-up data set takes up at most 160 bytes, its label included (measured): 1.3 GB, 320 MB if public.
ALL_NODES: Final = 2 * checks.MAX_NODES
PUBLIC_NODES: Final = 200_000
ALL_PUBLIC_NODES: Final = 10 * PUBLIC_NODES
ALL_COLUMN_BYTES: Final = 1 << 30
"""Of columns kept of files, over all sessions."""


class Ask:
    """A reservation; it ends with its last reference, if not before."""


class Room:
    """How many nodes the data sets of all sessions have; one is forgotten when nobody holds it any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: weakref.WeakKeyDictionary[Ask, int] = weakref.WeakKeyDictionary()
        self._live: weakref.WeakSet[Dataset] = weakref.WeakSet()
        self._columns: weakref.WeakSet[HeldColumns] = weakref.WeakSet()

    def reserve(self, ask: Ask, n_nodes: int) -> bool:
        """Reserve room for a data set that is about to be made; False while there is none."""
        with self._lock:
            taken = sum(data.tree.n_nodes for data in list(self._live)) + sum(list(self._asked.values()))
            if taken + n_nodes > (ALL_PUBLIC_NODES if uploads.is_public() else ALL_NODES):
                return False
            self._asked[ask] = n_nodes
            return True

    def give_back(self, ask: Ask) -> None:
        """End a reservation: what was made is noted, or nothing came of it."""
        with self._lock:
            self._asked.pop(ask, None)

    def note(self, data: Dataset) -> None:
        """Note a data set, for as long as somebody holds it."""
        with self._lock:
            self._live.add(data)

    def note_columns(self, columns: HeldColumns) -> None:
        """Note the columns of a file, for as long as somebody holds them."""
        with self._lock:
            self._columns.add(columns)

    def bytes_left(self) -> int:
        """Return how many bytes there are for columns of files."""
        with self._lock:
            return max(0, ALL_COLUMN_BYTES - sum(columns.n_bytes for columns in list(self._columns)))


ROOM: Final = Room()


def admitted(n_nodes: int) -> None:
    """Refuse a made-up tree that is too large for strangers.

    Raises
    ------
    InputError
        ``TOO_MANY_NODES``.
    """
    if uploads.is_public() and n_nodes > PUBLIC_NODES:
        raise InputError(
            "TOO_MANY_NODES",
            f"In a {uploads.called()} a made-up tree may have {whole(PUBLIC_NODES)} nodes, this one would have "
            f"{whole(n_nodes)}.",
        )
