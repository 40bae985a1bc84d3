"""A column of values as it is read: numbers of at least 0, rounded to multiples of a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.unit_rows import MOST
from treedp_core.records.values.leaf_values import MOST_STEPS
from treedp_core.words import setting_text, whole

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class ValueColumn:
    """A column of numbers of at least 0 that are rounded to multiples of a grid.

    Parameters
    ----------
    name : str
    grid : float
    """

    name: str
    grid: float

    def steps(self, array: pa.Array, row: int, kept: NDArray[np.bool_] | None, marks: str) -> IntArray:
        """Return the values of a batch in steps, (n,), -1 where it is not `kept`; `row` is the first row's number.

        Its numbers are written with these marks, a key of `MARKS`.

        Raises
        ------
        InputError
            ``VALUE_MISSING``, ``VALUE_NEGATIVE``, ``VALUE_TOO_LARGE``; what reading numbers refuses.
        """
        from treedp_core.records.read.numbers.amounts import numbers

        read = numbers(array, self.name, row, marks)
        is_there = np.ones(read.size, dtype=bool) if kept is None else kept
        with np.errstate(over="ignore"):
            steps = np.rint(read / self.grid)
        for code, wrong, wanted in (
            ("VALUE_MISSING", ~np.isfinite(read), "a number"),
            ("VALUE_NEGATIVE", read < 0, "a value of at least 0"),
            ("VALUE_TOO_LARGE", steps > MOST_STEPS, f"at most {setting_text(MOST_STEPS * self.grid)}"),
        ):
            if (wrong & is_there).any():
                at = int(np.argmax(wrong & is_there))
                place = f"Column {echo(self.name)}, row {whole(row + at)}"
                raise InputError(code, f"{place}: expected {wanted}, got {_cell(array, at)}{_NEXT[code]}")
        return np.where(is_there, steps, -1.0).astype(np.int64)


_NEXT: Final = {
    "VALUE_MISSING": "; leave such rows out by a label, or give them a value.",
    "VALUE_NEGATIVE": "; sums are of values clipped to 0 and above: take a column without losses, or two.",
    "VALUE_TOO_LARGE": f", {whole(MOST_STEPS)} steps of the grid: choose a coarser one.",
}


def _cell(array: pa.Array, at: int) -> str:
    written = array[at].as_py()
    return "a blank cell" if written is None or written == "" else echo(str(written))


def value_column(
    name: str | None, grid: float, clip: int, others: Sequence[str | None], chosen: Sequence[str]
) -> ValueColumn | None:
    """Return the column of values that is named, if one is.

    Raises
    ------
    InputError
        ``VALUE_GRID``, ``CLIP_RANGE``; ``VALUE_AND_COUNT`` beside one of the `others`, which count rows or name units;
        ``VALUE_AS_LEVEL`` where it is `chosen` for a level.
    """
    if name is None:
        if clip:
            raise InputError("CLIP_RANGE", "A clip is of values: name their column, or take the clip out.")
        return None
    checks.number("the grid of values", grid, low=0, open_low=True, high=1e12, code="VALUE_GRID")
    if clip:
        checks.integer("the clip in steps of the grid", clip, low=1, high=MOST, code="CLIP_RANGE")
    if other := next(filter(None, others), None):
        raise InputError(
            "VALUE_AND_COUNT",
            f"Rows with a value, by column {echo(name)}, are one record each: choose either that column or "
            f"{echo(other)}.",
        )
    if name in chosen:
        raise InputError("VALUE_AS_LEVEL", f"Column {echo(name)} holds the values, so it cannot be a level too.")
    return ValueColumn(name, float(grid))
