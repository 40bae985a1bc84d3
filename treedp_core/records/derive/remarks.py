"""Why columns are not proposed as levels although they nearly could be: read off the first labels, NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treedp_core import checks
from treedp_core.checks import echo
from treedp_core.records.arrays import is_text
from treedp_core.records.derive.times import orders_of
from treedp_core.records.read.arrow.cells import as_words
from treedp_core.records.read.readers import HeldColumns
from treedp_core.words import plural, whole

MOST: Final = 3
_NEARLY: Final = 0.8
_FEW: Final = 5
_EDGES: Final = 5_000


def remarks(labels: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each column of dates or codes that is written in more than one way.

    >>> remarks({"born": ["2024-01-31", "2024-02-01", "2024-02-02", "2023-02-03", "2023-05-02", "soon"]})
    ["Column 'born' holds dates, but 1 of its 6 labels is none, such as 'soon': no years and months are proposed."]
    >>> remarks({"born": ["13/05/2024", "05/13/2024", "01/02/2024", "02/03/2024", "14/07/2023"]})[0][:60]
    "Column 'born' holds dates with the day first, such as '13/05"
    >>> remarks({"fips": ["01001", "9001", "48003", "9003", "02013"]})[0][:60]
    "Column 'fips' holds codes of 4 and 5 digits, such as '9001' "
    """
    found = [_of_dates(column, some) or _of_codes(column, some) for column, some in labels.items() if len(some) >= _FEW]
    return [one for one in found if one][:MOST]


def _of_dates(column: str, labels: Sequence[str]) -> str:
    if not any(map(orders_of, labels[:_FEW])):
        return ""
    orders = [orders_of(label) for label in labels]
    none = [label for label, fits in zip(labels, orders, strict=True) if not fits]
    if len(none) > (1.0 - _NEARLY) * len(labels):
        return ""
    if none:
        return (
            f"Column {echo(column)} holds dates, but {whole(len(none))} of its {plural(len(labels), 'label')} "
            f"{'is' if len(none) == 1 else 'are'} none, such as {echo(none[0])}: no years and months are proposed."
        )
    if frozenset.intersection(*orders):
        return ""
    pairs = [*zip(labels, orders, strict=True)][::-1]  # the first of each way stays
    ways = {order: label for label, fits in pairs if len(fits) == 1 for order in fits}
    if {"dmy", "mdy"} <= set(ways):
        return (
            f"Column {echo(column)} holds dates with the day first, such as {echo(ways['dmy'])}, and with the month "
            f"first, such as {echo(ways['mdy'])}: which one 01/02 is nobody can say, so none is proposed."
        )
    first, *others = ways.values()
    return (
        f"Column {echo(column)} holds dates that are written in more than one way, such as {echo(first)} and "
        f"{echo(others[0] if others else first)}: no years and months are proposed."
    )


def _of_codes(column: str, labels: Sequence[str]) -> str:
    if not all(label.isascii() and label.isdecimal() for label in labels):
        return ""
    by_size = {len(label): label for label in reversed(labels)}
    starts = any(label.startswith("0") and len(label) > 1 for label in labels)
    if len(by_size) != 2 or max(by_size) - min(by_size) != 1 or not starts:
        return ""
    (short, one), (long, other) = sorted(by_size.items())
    return (
        f"Column {echo(column)} holds codes of {short} and {long} digits, such as {echo(one)} and {echo(other)}: zeros "
        "in front may have been lost, so no first digits are proposed."
    )


def of_edges(held: HeldColumns) -> list[str]:
    r"""Return a sentence for a table of edges, child and parent, where it seems to be one.

    Each row has its own child, and nearly all parents are children of another row. Looks at the first 5,000 rows.

    >>> from treedp_core.records.read.column_cache import hold
    >>> of_edges(hold(b"id,parent,n\nx,a,1\na,r,3\nr,,4\ny,a,2\nb,r,1\nz,b,1\n"))[0][:56]
    "Column 'parent' names rows by their 'id', so this is a t"
    """
    cells = {name: _first(held, name) for name in held.preview.columns}
    for child, mine in cells.items():
        if len(mine) < _FEW or len(set(mine)) < len(mine):
            continue
        for parent, others in cells.items():
            named = {one for one in others if one.strip()}
            if parent != child and 2 <= len(named) < len(mine) and len(named & set(mine)) >= _NEARLY * len(named):
                return [
                    f"Column {echo(parent)} names rows by their {echo(child)}, so this is a table of edges, child and "
                    "parent. A tree has a column for each level: write the path of each row into columns first."
                ]
    return []


def _first(held: HeldColumns, name: str) -> list[str]:
    """The cells of a column in its first rows as text; none of another kind, or where one is too long for a label."""
    column = held.table.column(name).combine_chunks().slice(0, _EDGES)
    is_coded = pa.types.is_dictionary(column.type)
    values = column.dictionary.take(column.indices.unique().drop_null()) if is_coded else column
    if is_text(values.type):  # before they are repeated: a long text may stand in every row
        longest = pc.max(pc.utf8_length(as_words(values))).as_py()
        if longest is not None and longest > checks.MAX_LABEL:
            return []
    elif not pa.types.is_integer(values.type):
        return []
    cells = column.dictionary_decode() if is_coded else column
    return [one or "" for one in as_words(cells).to_pylist()]
