"""Tables as CSV bytes that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def csv_bytes(columns: Mapping[str, Sequence[Any]]) -> bytes:
    r"""Return a CSV file (UTF-8 with byte order mark) of columns of equal length.

    A text cell that a spreadsheet would run as a formula gets a leading apostrophe; numbers never do.

    >>> csv_bytes({"label": ["=1+1"], "count": [-3]}).decode("utf-8-sig").splitlines()
    ['label,count', "'=1+1,-3"]
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in columns])
    lists = [values.tolist() if hasattr(values, "tolist") else list(values) for values in columns.values()]
    writer.writerows([safe_cell(value) for value in row] for row in zip(*lists, strict=True))
    return out.getvalue().encode("utf-8-sig")


def safe_cell(value: Any) -> Any:
    """Return a cell as it may stand in a CSV file.

    >>> safe_cell(" @SUM(A1)"), safe_cell(-2.5), safe_cell("a=b")
    ("' @SUM(A1)", -2.5, 'a=b')
    """
    if not isinstance(value, str) or not value:
        return value
    seen = unicodedata.normalize("NFKC", value)
    return "'" + value if seen.startswith(_FORMULA) or seen.strip().startswith(_FORMULA) else value
