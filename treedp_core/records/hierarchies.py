"""Which columns of a table could be the levels of a tree: how many leaves they have, and an order read off the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.arrays import indices_of, is_text, plain_numpy
from treedp_core.records.count.hierarchy import count_hierarchy
from treedp_core.records.count.row_filter import MAX_SUSPECTS, Suspect
from treedp_core.records.derive.roles import counts_in, role_of, units_in
from treedp_core.records.domain import domain_taken_from_the_data
from treedp_core.records.read.arrow.cells import as_words, is_binary
from treedp_core.records.read.columns import use_of
from treedp_core.records.read.readers import HeldColumns
from treedp_core.records.read.text import BLANK, in_reading_order, normalise, reads_as_total

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LOOK_ROWS: Final = 200_000
GLIMPSE_ROWS: Final = 50_000
MAX_CANDIDATES: Final = 12
WITHOUT_A_CHAIN: Final = 3
"""Levels that are suggested where no column determines another."""
_ROWS_A_VALUE: Final = 5  # a column with fewer is taken for a name or a number of its own, not for a category
_FEW: Final = 10_000  # values of a column that are looked at for words
_EXCEPTIONS: Final = 50  # one in so many rows that a guess misses may contradict a level
_SPARSE: Final = 4  # free numbers a row, up to which a mark for each takes less memory than sorting


def leaves_of(held: HeldColumns, columns: Sequence[str]) -> int:
    r"""Return how many combinations of values of some columns occur: the leaves of their tree, from the data.

    >>> from treedp_core.records.read.column_cache import hold
    >>> leaves_of(hold(b"state,city\nA,x\nA,y\nB,x\nA,x\n"), ["state", "city"])
    3
    """
    return int(_joint(held, columns, held.size).max(initial=-1)) + 1


def glimpse(held: HeldColumns) -> HeldColumns:
    r"""Return the same columns with their first 50,000 rows.

    >>> from treedp_core.records.read.column_cache import hold
    >>> glimpse(hold(b"state\nA\nB\n")).size
    2
    """
    return replace(held, table=held.table.slice(0, GLIMPSE_ROWS))


def suggested(held: HeldColumns) -> tuple[str, ...]:
    r"""Return columns in an order from coarse to fine, read off the first 200,000 rows.

    The longest chain in which every column is determined by the next one but for few rows (`astray`), such as state by
    county; without one, the columns with the fewest values, numbers only where there is nothing else. Columns of units
    and of counts are no levels. Which column determines which is private data: it tells of the records.

    >>> from treedp_core.records.read.column_cache import hold
    >>> rows = b"x,Ulm,South\n" * 9 + b"x,Rome,South\n" * 9 + b"y,Kiel,North\n" * 9
    >>> suggested(hold(b"sex,city,region\n" + rows))[-1]
    'city'
    >>> suggested(hold(b"region,town,residents\nNorth,Kiel,3\nNorth,Husum,4\nSouth,Ulm,2\nSouth,Bonn,9\n"))
    ('region', 'town')
    """
    if counts_in(held) and is_grouped(held, found := _ordered(held, _of_groups(held), len(held.preview.columns))):
        return found
    return _ordered(held, lambda name: held.size // _ROWS_A_VALUE, WITHOUT_A_CHAIN)


def is_grouped(held: HeldColumns, columns: Sequence[str]) -> bool:
    r"""Whether each row has its own combination of values: then it stands for all records there are of that.

    >>> from treedp_core.records.read.column_cache import hold
    >>> is_grouped(hold(b"a,b,n\nx,y,3\nx,z,4\n"), ["a", "b"]), is_grouped(hold(b"a,n\nx,3\nx,4\n"), ["a"])
    (True, False)
    """
    return bool(columns) and leaves_of(held, columns) == held.size


def _of_groups(held: HeldColumns) -> Callable[[str], int]:
    """How many values a level may have where a row stands for many records: as many as there are rows."""
    return lambda name: 0 if name in held.numbers or role_of(name) == "number" else held.size


def _ordered(held: HeldColumns, most: Callable[[str], int], at_most: int) -> tuple[str, ...]:
    """The longest chain of columns with so many values at most, or else some of them, the fewest values first."""
    rows = min(held.size, LOOK_ROWS)
    counts = {name: held.distinct[name] for name in held.preview.columns if _has_codes(held, name)}
    others = {*units_in(held), *counts_in(held)}
    able = [name for name, n in counts.items() if 2 <= n <= max(2, most(name)) and name not in others]
    ordered = sorted(able, key=lambda name: (counts[name], held.preview.columns.index(name)))[:MAX_CANDIDATES]
    codes = {name: _codes(held, name, rows) for name in ordered}
    chains: dict[str, tuple[str, ...]] = {}
    for fine in ordered:
        coarser = [chains[one] for one in ordered[: ordered.index(fine)] if _lies_above(codes[one], codes[fine])]
        chains[fine] = (*max(coarser, key=len, default=()), fine)
    longest = max(chains.values(), key=len, default=())
    if len(longest) > 1:
        return longest
    return tuple([name for name in ordered if name not in held.numbers] or ordered)[:at_most]


@dataclass(frozen=True)
class Astray:
    """A label that lies below several of the level above, which otherwise determines it: NOT PRIVATE.

    Parameters
    ----------
    column, label : str
    above : tuple of (str, int)
        Labels of the level above and the rows of each, most rows first.
    """

    column: str
    label: str
    above: tuple[tuple[str, int], ...]


def astray(held: HeldColumns, columns: Sequence[str]) -> tuple[Astray, ...]:
    r"""Return the exceptions of levels that almost determine the ones above, in the first 200,000 rows.

    >>> from treedp_core.records.read.column_cache import hold
    >>> rows = b"South,Ulm\nNorth,Kiel\n" * 60 + b"North,Ulm\n"
    >>> [(one.label, one.above) for one in astray(hold(b"region,city\n" + rows), ["region", "city"])]
    [('Ulm', (('South', 60), ('North', 1)))]
    """
    rows, found = min(held.size, LOOK_ROWS), list[Astray]()
    for upper, lower in pairwise(name for name in columns if _has_codes(held, name)):
        pair = _pair(_codes(held, upper, rows), _codes(held, lower, rows))
        if not (pair.stray and pair.lower_tells_upper):
            continue
        strays = pair.lower[pair.rows < pair.most[pair.lower]]
        for code in np.unique(strays).tolist():
            there = pair.lower == code
            above = sorted(zip(pair.rows[there].tolist(), pair.upper[there].tolist(), strict=True), reverse=True)
            told = tuple((_label(held, upper, at), n) for n, at in above)
            found.append(Astray(lower, _label(held, lower, code), told))
    return tuple(found)


def suspected_in(held: HeldColumns, columns: Sequence[str] = (), weight: str | None = None) -> tuple[Suspect, ...]:
    r"""Return labels whose rows look like totals of others: by words, and by the counts of the first 50,000 rows.

    >>> from treedp_core.records.read.column_cache import hold
    >>> suspected_in(hold(b"name,pay\nAnn,3\nBob,4\nTotal,7\n"))
    (('name', 'Total'),)
    """
    found: dict[Suspect, None] = {}
    for name in held.preview.columns:
        kind = held.table.schema.field(name).type
        if name != weight and pa.types.is_dictionary(kind) and held.distinct[name] <= _FEW:
            entries = held.table.column(name).combine_chunks().dictionary.to_pylist()
            found |= dict.fromkeys((name, one) for one in entries if isinstance(one, str) and reads_as_total(one))
    if columns:
        try:
            data = count_hierarchy(glimpse(held), columns, domain=domain_taken_from_the_data(), weight=weight)
            found |= dict.fromkeys(data.report.totals)
        except InputError:  # counting them says why
            pass
    return tuple(found)[:MAX_SUSPECTS]


def labels_of(held: HeldColumns, column: str) -> list[str]:
    r"""Return the labels of a column in reading order; none of numbers, of over 10,000, or not kept.

    A label that is too long to be counted is none.

    >>> from treedp_core.records.read.column_cache import hold
    >>> labels_of(hold(b"state,pay\nOhio,3\nAll states,4\nOhio,5\n"), "state")
    ['All states', 'Ohio']
    """
    if column in held.left_out:
        return []
    kind = held.table.schema.field(column).type
    if not pa.types.is_dictionary(kind) or not is_text(kind.value_type) or held.distinct[column] > _FEW:
        return []
    entries = held.table.column(column).combine_chunks().dictionary.to_pylist()
    return in_reading_order({text for one in entries if 0 < len(text := normalise(one)) <= checks.MAX_LABEL})


def _has_codes(held: HeldColumns, name: str) -> bool:
    kind = held.table.schema.field(name).type
    return bool(pa.types.is_dictionary(kind)) and use_of(kind) != "number" and _is_text(held, name)


def _is_text(held: HeldColumns, name: str) -> bool:
    """Whether the values of a column of codes can be read as labels: bytes may be none."""
    cells = held.table.column(name).combine_chunks().dictionary
    try:
        return not is_binary(cells.type) or as_words(cells) is not None
    except InputError:
        return False


@dataclass(frozen=True)
class _Codes:
    """The codes of a column in its first rows, (n,), how many there are, and which of them stand for no value."""

    of: IntArray
    n: int
    blank: BoolArray


def _codes(held: HeldColumns, name: str, rows: int) -> _Codes:
    column = held.table.column(name).combine_chunks().slice(0, rows)
    words = pc.utf8_trim_whitespace(as_words(column.dictionary))
    blank = np.append(plain_numpy(pc.equal(words, "").fill_null(True)), True)
    return _Codes(indices_of(column).astype(np.int64), len(blank), blank)


@dataclass(frozen=True)
class _Pair:
    """The pairs of labels of two columns that occur where the lower has one, the rows of each, and of its most."""

    upper: IntArray
    lower: IntArray
    rows: IntArray
    most: IntArray
    stray: int
    lower_tells_upper: bool
    upper_tells_lower: bool


def _pair(upper: _Codes, lower: _Codes) -> _Pair:
    """Cross two columns; one tells the other if at most a fiftieth of what a guess without it misses is missed.

    That is Goodman and Kruskal's lambda (1954, section 5.2) of 0.98 at least.
    """
    keys = lower.of * upper.n + upper.of
    keys = keys[~lower.blank[lower.of]]
    if lower.n * upper.n <= _SPARSE * max(keys.size, 1):
        counts = np.bincount(keys)
        joint = np.flatnonzero(counts)
        rows = counts[joint]
    else:
        joint, rows = np.unique(keys, return_counts=True)
    of_lower, of_upper = np.divmod(joint, upper.n)
    missed, most = list[tuple[int, int]](), list[IntArray]()
    for known, told, n in ((of_lower, of_upper, lower.n), (of_upper, of_lower, upper.n)):
        largest = np.zeros(n, dtype=np.int64)
        np.maximum.at(largest, known, rows)
        most.append(largest)
        guess = int(np.bincount(told, rows).max(initial=0))
        missed.append((keys.size - int(largest.sum()), keys.size - guess))
    tells = [with_it * _EXCEPTIONS <= without for with_it, without in missed]
    return _Pair(of_upper, of_lower, rows, most[0], missed[0][0], *tells)


def _lies_above(upper: _Codes, lower: _Codes) -> bool:
    """Whether the lower column determines the upper, but for few rows, and is no other name of it."""
    pair = _pair(upper, lower)
    return pair.lower_tells_upper and not pair.upper_tells_lower


def _label(held: HeldColumns, name: str, code: int) -> str:
    words = held.table.column(name).combine_chunks().dictionary
    label = as_words(words.slice(code, 1))[0].as_py() if code < len(words) else None
    return normalise(label) if label and label.strip() else BLANK


def _joint(held: HeldColumns, columns: Sequence[str], rows: int) -> IntArray:
    """Return the number of the combination of values in each row, (n,), counted from 0."""
    joint = np.zeros(rows, dtype=np.int64)
    for name in columns:
        column = held.table.column(name).combine_chunks().slice(0, rows)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        joint *= len(coded.dictionary) + 1
        joint += indices_of(coded)
        joint = _numbered(joint)
    return joint


def _numbered(keys: IntArray) -> IntArray:
    """Return keys (n,) of at least 0 numbered anew from 0 in their order: without sorting if few numbers are free."""
    largest = int(keys.max(initial=0))
    if largest > _SPARSE * keys.size:
        return np.unique(keys, return_inverse=True)[1]
    occurs = np.zeros(largest + 1, dtype=bool)
    occurs[keys] = True
    return (np.cumsum(occurs, dtype=np.int64) - 1)[keys]
