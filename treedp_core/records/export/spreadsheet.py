"""Text cells that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import unicodedata
from typing import Final, TypeVar

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
