"""Tables as files: what is true and what was released apart, in CSV that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.export.columns import Columns, credited, labelled, safe_cell
from treedp_core.records.export.synthetic import SIMULATED, SIMULATION

IN_NAMES: Final = NOT_PRIVATE.replace(" ", "-")
"""How names of files say it."""
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


def csv_bytes(columns: Columns) -> bytes:
    r"""Return a CSV file (UTF-8 with byte order mark) of columns of equal length.

    A text cell that a spreadsheet would run as a formula gets a leading apostrophe; numbers never do.

    >>> csv_bytes({"label": ["=1+1"], "count": [-3]}).decode("utf-8-sig").splitlines()
    ['label,count', "'=1+1,-3"]
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in columns])
    writer.writerows(zip(*map(_safe_cells, columns.values()), strict=True))
    return out.getvalue().encode("utf-8-sig")


def _safe_cells(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """Return the cells of a column; each distinct text is looked at once."""
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return cells
    changed = {
        text: safe for text in {one for one in cells if isinstance(one, str)} if (safe := safe_cell(text)) != text
    }
    return [changed.get(one, one) if isinstance(one, str) else one for one in cells] if changed else cells


def apart(columns: Columns, name: str, *, private: bool = False, simulated: bool = False) -> dict[str, Columns]:
    """Return a table as one table or two, by the names of their files: what is true stands apart from what is released.

    Parameters
    ----------
    columns : mapping
        Column name -> values; what is true, or found from it, says NOT PRIVATE in its name.
    name : str
        Of the file, without its end.
    private : bool
        Whether all of a table that marks no column is NOT PRIVATE. So is one with a column that only says so.
    simulated : bool
        Whether the rest was released in a simulation: each row of it says so.

    Examples
    --------
    >>> apart({"place": ["Ulm"], "true (NOT PRIVATE)": [3], "released": [4]}, "rows", simulated=True)
    {'rows-NOT-PRIVATE': {'place': ['Ulm'], 'true (NOT PRIVATE)': [3]},
     'rows-simulated': {'place': ['Ulm'], 'released': [4], 'simulation': ['simulated release']}}
    """
    marked = [column for column in columns if NOT_PRIVATE in column]
    keys = list(columns)[: list(columns).index(marked[0])] if marked else []
    released = {key: values for key, values in columns.items() if key not in marked}
    says_so = any(column.startswith(NOT_PRIVATE) for column in marked)
    if says_so or (marked and len(released) == len(keys)) or (private and not marked):
        return {f"{name}-{IN_NAMES}": columns}
    if simulated:
        released[SIMULATION] = [SIMULATED] * len(next(iter(columns.values()), ()))
    if not marked:
        return {f"{name}-simulated" if simulated else name: released}
    true = {key: columns[key] for key in (*keys, *marked)}
    return {f"{name}-{IN_NAMES}": true, f"{name}-{'simulated' if simulated else 'released'}": released}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files by their names, in their order; equal for equal files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return out.getvalue()


def shown(
    table: Columns | bytes, name: str = "table", folder: str | Path | None = None, *, label: str = "",
    credit: str = "", private: bool = False, simulated: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Return a table to look at: what exported scripts and notebooks end with.

    Parameters
    ----------
    table : mapping or bytes
        Columns, or a file of comma-separated values.
    name : str
        Of its files, without their end.
    folder : path, optional
        Where it is written besides, as CSV.
    label : str, optional
        What must stand in every copy: see `labelled`.
    credit : str, optional
        Where published records come from: see `credited`.
    private, simulated : bool
        Of what is written: see `apart`.

    Examples
    --------
    >>> shown({"level": ["all"], "RMSE": [2.5]})
      level  RMSE
    0   all   2.5
    """
    if isinstance(table, bytes):
        files = {f"{name}{f'-{IN_NAMES}' if private else ''}.csv": table}
    else:
        told = credited(table, credit)
        files = csv_files(labelled(told, label) if label else told, name, private=private, simulated=simulated)
    for file, content in files.items() if folder is not None else ():
        place = Path(str(folder))
        place.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(content)
    if isinstance(table, bytes):
        return pd.read_csv(io.BytesIO(table), encoding="utf-8-sig", keep_default_na=False)
    return frame_of(table)


def frame_of(columns: Columns) -> pd.DataFrame:
    """Return columns as a data frame."""
    return pd.DataFrame({key: list(values) for key, values in columns.items()})


def csv_files(columns: Columns, name: str, *, private: bool = False, simulated: bool = False) -> dict[str, bytes]:
    """Return a table as CSV files by name, what is true apart from what is released: see `apart`."""
    tables = apart(columns, name, private=private, simulated=simulated)
    return {f"{file}.csv": csv_bytes(part) for file, part in tables.items()}
