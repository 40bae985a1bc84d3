"""Tables that leave the app: column name -> values, and a header that says what must not be forgotten."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

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


SOURCE: Final = "Source"
"""What is said before source, date and licence of published records."""


def source_line(credit: str) -> str:
    """Return where published records come from, in a sentence; nothing of others.

    >>> source_line("GeoNames, CC BY 4.0"), source_line("")
    ('Source: GeoNames, CC BY 4.0.', '')
    """
    return f"{SOURCE}: {credit}." if credit else ""


def credited(columns: Columns, credit: str) -> Columns:
    """Return a table for export that begins with where published records come from; the same where there are none.

    The first row says it: names of columns are short, so that a file can be read again.

    >>> credited({"level": ["all", "city"]}, "GeoNames, CC BY 4.0")
    {'Source': ['GeoNames, CC BY 4.0', ''], 'level': ['all', 'city']}
    """
    if not credit:
        return columns
    rows = len(next(iter(columns.values()), ()))
    return {SOURCE: [credit, *[""] * (rows - 1)][:rows], **columns}


# ---- text cells that a spreadsheet cannot take for formulas


Cell = TypeVar("Cell")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def safe_cell(value: Cell) -> Cell | str:
    """Return a cell as it may stand in a CSV file: text that a spreadsheet would run gets a leading apostrophe.

    >>> safe_cell(" @SUM(A1)"), safe_cell(-2.5), safe_cell("a=b")
    ("' @SUM(A1)", -2.5, 'a=b')
    """
    if not isinstance(value, str) or not value:
        return value
    seen = unicodedata.normalize("NFKC", value)
    return "'" + value if seen.startswith(_FORMULA) or seen.strip().startswith(_FORMULA) else value


def plain_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels of a file that we may have written as they were before `safe_cell`, where that is one of its own.

    >>> plain_labels(["'-5 to 0", "'tis", "'=x", "=x"])
    ('-5 to 0', "'tis", "'=x", '=x')
    """
    known = set(labels)
    return tuple(one[1:] if one[1:] not in known and safe_cell(one[1:]) == one != one[1:] else one for one in labels)
