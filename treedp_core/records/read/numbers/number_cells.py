"""Numbers that a file holds as numbers among cells of text (Excel, JSON): what is said of text is not said of them."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treedp_core.records.arrays import is_text

MARK: Final = "\ufdd0"
"""Stands before such a number where its column is text: a character that Unicode leaves to programs."""
_POINT: Final = re.compile(r"-?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")


def typed(written: str) -> str:
    """Return a number, written with a decimal point, as it stands among cells of text; without a point it is plain.

    >>> typed("1.125") == MARK + "1.125", typed("1125"), typed("DE.007")
    (True, '1125', 'DE.007')
    """
    return MARK + written if "." in written and _POINT.fullmatch(written) else written


def shown(cell: str) -> str:
    """Return what a person sees of a cell.

    >>> shown(typed("1.125"))
    '1.125'
    """
    return cell.removeprefix(MARK)


def has_typed(values: pa.Array) -> bool:
    """Whether there may be typed numbers among texts."""
    stored = values.buffers()[2] if values.type in (pa.string(), pa.large_string()) else None
    return stored is not None and MARK.encode() in stored.to_pybytes()


def as_shown(values: pa.Array) -> pa.Array:
    """Return texts as a person sees them."""
    return pc.replace_substring_regex(values, f"^{MARK}", "") if has_typed(values) else values


def apart(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Return texts and typed numbers (n,), each missing where the other one is; values of other types are no texts."""
    if not is_text(values.type) or not has_typed(values):
        return values, None
    own = pc.match_substring_regex(values, f"^{MARK}{_POINT.pattern}$").fill_null(False)
    return pc.if_else(own, None, values), as_shown(pc.if_else(own, values, None))
