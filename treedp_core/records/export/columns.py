"""Tables that leave the app: column name -> values, and a header that says what must not be forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""A table: column name -> values."""


def labelled(columns: Columns, label: str) -> dict[str, Any]:
    """Return a table for export whose header says what must not be forgotten.

    >>> list(labelled({"level": ["all"]}, "NOT PRIVATE: …"))
    ['NOT PRIVATE: …', 'level']
    """
    rows = len(next(iter(columns.values()), ()))
    return {label: [label.partition(":")[0]] * rows, **columns}
