"""What opening a notebook takes up in memory: nothing is saved that could not be opened again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.notebook.study import Table
from treedp_core.records import Dataset
from treedp_core.words import whole

MOST_BYTES: Final = 1 << 30
"""Of memory that opening a file may take up, besides the file itself."""
_HELD: Final = (23, 18, 1)
"""Bytes of an opened data set for each node, each label and each byte of its labels."""
_PASSING: Final = (26, 0, 4)
"""The same of the one that is being read, besides."""
_JSON: Final = 10
"""Bytes for each byte of JSON besides."""


def opening_bytes(tables: Sequence[Table], json_bytes: int) -> int:
    """Return how many bytes of memory opening a notebook takes up at most, besides the file itself.

    Parameters
    ----------
    tables : sequence of Table
        Its data sets.
    json_bytes : int
        Of cells and settings.
    """
    sizes = [_size(table.data) for table in tables]
    held = sum(_times(_HELD, size) for size in sizes)
    return held + max((_times(_PASSING, size) for size in sizes), default=0) + _JSON * json_bytes


def admit(tables: Sequence[Table], json_bytes: int) -> None:
    """Refuse to save what could not be opened again; arguments as of `opening_bytes`.

    Raises
    ------
    InputError
        ``NOTEBOOK_TOO_LARGE``.

    >>> admit([], 30 << 20)
    >>> admit([], 150 << 20)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Opening this notebook would take more than 1 024 MB of memory; save fewer data
    sets or cells in it, or save it without data.
    """
    if opening_bytes(tables, json_bytes) > MOST_BYTES:
        raise InputError(
            "NOTEBOOK_TOO_LARGE",
            f"Opening this notebook would take more than {whole(MOST_BYTES >> 20)} MB of memory; save fewer data sets "
            "or cells in it, or save it without data.",
        )


def _times(each: Sequence[int], size: Sequence[int]) -> int:
    return sum(one * n for one, n in zip(each, size, strict=True))


def _size(data: Dataset) -> tuple[int, int, int]:
    """Nodes, labels, and letters of labels with what stands between them."""
    words = data.labels.vocabularies
    n_labels = sum(map(len, words))
    return data.tree.n_nodes, n_labels, n_labels + sum(int(np.strings.str_len(one).sum()) for one in words)
