"""At most m rows of each unit: the first m in the order of the file; memory grows with units, never with rows.

Units are told apart by 128 bits of a hash whose key is drawn for each count and kept nowhere, so that no file can be
written to make two units share them. Units that did would have m rows together, and taking one away would give its rows
to the other: more would change than is promised. For any one unit among 10^7, and for the one that replaces it, the
chance of that is below 2^-103. The counts do not depend on the key otherwise.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of
from treedp_core.records.read import text
from treedp_core.records.unit_rows import MOST
from treedp_core.words import plural, whole

if TYPE_CHECKING:
    import pyarrow as pa

MAX_UNITS: Final = 10_000_000
MAX_CONTRIBUTIONS: Final = 1_000_000
_MERGE: Final = 1 << 18
_BYTES: Final = 16
_KEY: Final = np.dtype(f"S{_BYTES}")

KeyArray = NDArray[np.bytes_]
IntArray = NDArray[np.int64]


class UnitQuota:
    """The place of each row among those of its unit, over all batches, and whether it is within the first m.

    Parameters
    ----------
    name : str
        The column that names the unit of each row; rows without a name together are one unit.
    contributions : int
        m, at least 1.
    """

    def __init__(self, name: str, contributions: int) -> None:
        self.name = name
        self.contributions = checks.integer(
            "the records of one unit", contributions, low=1, high=MAX_CONTRIBUTIONS, code="CONTRIBUTIONS_RANGE"
        )
        self.clipped = 0
        self._secret = secrets.token_bytes(hashlib.blake2b.MAX_KEY_SIZE)
        self._keys, self._rows = np.empty(0, dtype=_KEY), np.empty(0, dtype=np.int32)  # sorted by key
        self._recent: dict[bytes, int] = {}  # rows of units not among them yet

    @property
    def units(self) -> int:
        """Units met so far."""
        return self._keys.size + len(self._recent)

    def ranks(self, encoded: pa.DictionaryArray) -> IntArray:
        """Return how many earlier rows its unit has, of each row (n,) of a batch of unit names as a dictionary of text.

        Beyond m and `MOST` it may be fewer, but never fewer than these.

        Raises
        ------
        InputError
            ``TOO_MANY_UNITS``.
        """
        names = [*encoded.dictionary.to_pylist(), None]
        every, which = np.unique(np.array([self._key(name) for name in names], dtype=_KEY), return_inverse=True)
        used, cells = np.unique(which[indices_of(encoded)], return_inverse=True)
        keys = every[used]
        before = self._so_far(keys)
        ranks = before[cells] + _rank(cells)
        most = max(self.contributions, MOST)
        self._add(keys, np.minimum(before + np.bincount(cells, minlength=keys.size), most))
        self.clipped += int(np.count_nonzero(ranks >= self.contributions))
        return ranks

    def _key(self, name: str | None) -> bytes:
        """Return the bytes that stand for a unit, equal for names that look the same."""
        label = text.normalise(name or "").encode("utf-8")
        return hashlib.blake2b(label, digest_size=_BYTES, key=self._secret).digest()

    def _so_far(self, keys: KeyArray) -> IntArray:
        """Return the rows of each unit, up to the most that are told apart."""
        rows = np.array([self._recent.get(key, 0) for key in keys.tolist()], dtype=np.int64)
        if self._keys.size:
            at = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
            known = self._keys[at] == keys
            rows[known] = self._rows[at[known]]
        return rows

    def _add(self, keys: KeyArray, rows: IntArray) -> None:
        if self._keys.size:
            at = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
            known = self._keys[at] == keys
            self._rows[at[known]] = rows[known]
            keys, rows = keys[~known], rows[~known]
        self._recent.update(zip(keys.tolist(), rows.tolist(), strict=True))
        if self.units > MAX_UNITS:
            raise InputError(
                "TOO_MANY_UNITS",
                f"Column {echo(self.name)} names more than {whole(MAX_UNITS)} units; sort out their records in a "
                "database.",
            )
        if len(self._recent) > max(_MERGE, self._keys.size // 4):
            self._merge()

    def _merge(self) -> None:
        new = np.array(list(self._recent), dtype=_KEY)
        rows = np.fromiter(self._recent.values(), dtype=np.int32, count=len(self._recent))
        keys = np.concatenate([self._keys, new])
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows = keys[order], np.concatenate([self._rows, rows])[order]
        self._recent = {}


class UnitReader:
    """The column of units of a table that is read in batches; none where there is no quota."""

    def __init__(self, quota: UnitQuota | None, first_row: int) -> None:
        self._quota, self._first_row = quota, first_row
        self.columns = [] if quota is None else [quota.name]

    def ranks(self, array: pa.Array, row: int, among: NDArray[np.bool_] | None = None) -> IntArray:
        """Return how many earlier rows its unit has, of each row (n,) of a batch whose first record is `row` (0-based).

        Rows that are not `among` the records (n,) are none of any unit's: they have rank -1.
        """
        import pyarrow as pa

        from treedp_core.records.read.columns import LabelColumn

        assert self._quota is not None
        encoded = LabelColumn(self._quota.name, None, self._first_row).encoded(array, row)
        if among is None:
            return self._quota.ranks(encoded)
        found = np.full(among.size, -1, dtype=np.int64)
        found[among] = self._quota.ranks(encoded.filter(pa.array(among)))
        return found

    def within(self, ranks: IntArray) -> NDArray[np.bool_]:
        """Return which rows count, (n,), by their ranks (n,)."""
        assert self._quota is not None
        return (ranks >= 0) & (ranks < self._quota.contributions)


def quota_of(unit: str | None, contributions: int, weight: str | None, taken: Sequence[str]) -> UnitQuota | None:
    """Return the quota of a column of units that a file has, if one is named.

    Raises
    ------
    InputError
        ``UNIT_AND_WEIGHT`` when rows are counts already, for those belong to no single unit; ``UNIT_AS_LEVEL`` when
        the column is `taken`; ``CONTRIBUTIONS_RANGE``.
    """
    if unit is None:
        return None
    if weight is not None:
        raise InputError(
            "UNIT_AND_WEIGHT",
            f"Rows that stand for several records, by column {echo(weight)}, have no unit of their own: choose either "
            f"that column or the unit {echo(unit)}.",
        )
    if unit in taken:
        raise InputError("UNIT_AS_LEVEL", f"Column {echo(unit)} names the units, so it cannot be counted by as well.")
    return UnitQuota(unit, contributions)


def account_of(quota: UnitQuota | None) -> dict[str, Any]:
    """Return what a report says of units, by its names."""
    if quota is None:
        return {}
    return {"units": quota.units, "clipped": quota.clipped}


def bound_of(quota: UnitQuota | None) -> tuple[str, int]:
    """Return what a recipe says of units: their column, and how many rows of each are counted."""
    return ("", 0) if quota is None else (quota.name, quota.contributions)


def unit_notices(quota: UnitQuota | None, largest: int) -> list[text.Notice]:
    """Return what to know about the unit of the promise: rows left out, or rows that are several records."""
    if quota is not None and quota.clipped:
        return [
            (
                "CLIPPED",
                f"{plural(quota.clipped, 'row')} left out: of each unit in column {echo(quota.name)} the first "
                f"{plural(quota.contributions, 'row counts', 'rows count')}, in the order of the file.",
            )
        ]
    if quota is None and largest > 1:
        return [
            (
                "WEIGHTED",
                f"A row stands for up to {whole(largest)} records: what is protected is one record counted, not "
                "one row.",
            )
        ]
    return []


def _rank(cells: IntArray) -> IntArray:
    """Return how many earlier rows of the batch belong to the same unit.

    >>> _rank(np.array([7, 3, 7, 7, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    new = np.ones(cells.size, dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    start = np.maximum.accumulate(np.where(new, np.arange(cells.size), 0))
    rank = np.empty(cells.size, dtype=np.int64)
    rank[order] = np.arange(cells.size) - start
    return rank
