"""Files that leave the app: the one download button, and tables as CSV that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from treedp_core.records.spreadsheet import safe_cell

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""A table: column name -> values."""


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
