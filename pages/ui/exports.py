"""Tables as CSV bytes that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedp_core.records.spreadsheet import safe_cell

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""A table: column name -> values."""


def csv_bytes(columns: Columns) -> bytes:
    r"""Return a CSV file (UTF-8 with byte order mark) of columns of equal length.

    A text cell that a spreadsheet would run as a formula gets a leading apostrophe; numbers never do.

    >>> csv_bytes({"label": ["=1+1"], "count": [-3]}).decode("utf-8-sig").splitlines()
    ['label,count', "'=1+1,-3"]
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in columns])
    lists = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
    writer.writerows([safe_cell(value) for value in row] for row in zip(*lists, strict=True))
    return out.getvalue().encode("utf-8-sig")
