"""How numbers are written: what was said reads a column's text; its cells only propose, and may ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import indices_of, is_text, plain_numpy, text_lengths
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, open_table
from treedp_core.records.recipe import MARKS
from treedp_core.words import bare, whole

# Numbers that a file holds as numbers among cells of text (Excel, JSON): what is said of text is not said of them.

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


CODE: Final = "MARKS"
PLAIN: Final = "."
LOOK_ROWS: Final = 10_000
_EXAMPLES: Final = 3
_LONGEST: Final = 64  # bytes of a number
_ENOUGH: Final = 100
_DECISIVE: Final = 0.01  # a smaller share of other cells may be slips of the pen
_BETWEEN: Final = {",": ",", ".": r"\.", " ": "[ \u00a0\u202f\u2009]", "'": "['\u2019]"}
_EXPONENT: Final = "([eE][+-]?[0-9]{1,4})?"
Place = Callable[[int], int]


def pattern(marks: str) -> str:
    """Return the regular expression of a number with these marks; groups between marks of thousands have three digits.

    >>> [bool(re.match(pattern(",."), cell)) for cell in ("1.328,16", "900", "0,5", "1.5", "1,328.16")]
    [True, True, True, False, False]
    """
    decimal = re.escape(marks[0])
    ways = rf"[0-9]+({decimal}[0-9]*)?|{decimal}[0-9]+"
    if len(marks) > 1:
        ways += rf"|[1-9][0-9]{{0,2}}({_BETWEEN[marks[1]]}[0-9]{{3}})+({decimal}[0-9]*)?"
    return rf"^\s*[+-]?({ways}){_EXPONENT}\s*$"


_ANY: Final = "|".join(f"(?:{pattern(marks)})" for marks in MARKS)
_THREE: Final = r"^\s*[+-]?[1-9][0-9]{0,2}\.[0-9]{3}\s*$"


def is_number(values: pa.Array) -> pa.Array:
    """Return which texts are numbers with some marks."""
    return pc.match_substring_regex(as_shown(values), _ANY)


def with_points(values: pa.Array, marks: str) -> pa.Array:
    """Return numbers written with these marks as text with a decimal point only."""
    if len(marks) > 1:
        values = pc.replace_substring_regex(values, _BETWEEN[marks[1]], "")
    return values if marks[0] == "." else pc.replace_substring(values, marks[0], ".")


def checked(given: Mapping[str, str] | None, columns: Iterable[str]) -> dict[str, str]:
    """Return the marks that were said of the columns of numbers that are read.

    Raises
    ------
    InputError
        ``MARKS`` for other columns, or marks that are not known.
    """
    said, read = dict(given or {}), set(columns)
    for column, marks in said.items():
        if column not in read:
            raise InputError(CODE, f"Column {echo(column)} has marks but is not read as numbers here; take them out.")
        if marks not in MARKS:
            known = ", ".join(f"{one!r} ({words})" for one, words in MARKS.items())
            raise InputError(CODE, f"Expected marks of column {echo(column)} to be one of {known}, got {echo(marks)}.")
    return said


class Unsaid:
    """Numbers of a column of which no marks were said: read with a point, and refused where that might be wrong.

    It never decides how a cell is read: one record would change that of all others.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._three = self._others = 0
        self._example = ("", 0)

    def look(self, values: pa.Array, plain: pa.Array, cells: NDArray[np.int64] | None, where: Place) -> None:
        """Look at the text of a batch: distinct values (n,), which are plain numbers (n,), which one each cell holds.

        Raises
        ------
        InputError
            ``MARKS`` for a cell that is a number with other marks only.
        """
        self._refuse_others(values, plain_numpy(plain), where)
        stored = values.buffers()[2]
        if self._others >= _ENOUGH or stored is None or b"." not in stored.to_pybytes():
            return
        dotted = plain_numpy(pc.and_(plain, pc.match_substring(values, ".").fill_null(False)))
        three = plain_numpy(pc.match_substring_regex(values, _THREE).fill_null(False))
        often = np.ones(len(values)) if cells is None else np.bincount(cells, minlength=len(values))
        if three.any() and not self._three:
            at = int(np.argmax(three))
            self._example = values[at].as_py(), where(at)
        self._three += int(often[three].sum())
        self._others += int(often[dotted & ~three].sum())

    def done(self) -> None:
        """Refuse a column whose points all stand before three digits.

        Raises
        ------
        InputError
            ``MARKS``.
        """
        if self._three and self._others < min(_ENOUGH, _DECISIVE * (self._three + self._others)):
            cell, row = self._example
            raise InputError(
                CODE,
                f"Column {echo(self._column)}: every point stands before three digits, as in {echo(cell)}, row "
                f"{whole(row)}; say by the option marks whether it is decimal ({{{self._column!r}: '.'}}) or of "
                f"thousands ({{{self._column!r}: ',.'}}).",
            )

    def _refuse_others(self, values: pa.Array, plain: NDArray[np.bool_], where: Place) -> None:
        rest = np.flatnonzero(~plain)
        if not rest.size:
            return
        written = values.take(pa.array(rest))
        found = plain_numpy(pc.match_substring_regex(written, _ANY).fill_null(False))
        if found.any():
            at = int(np.argmax(found))
            cell: str = written[at].as_py()
            ways = [marks for marks in MARKS if re.match(pattern(marks), cell, re.ASCII)]
            told = " or ".join(f"{{{self._column!r}: {one!r}}} ({MARKS[one]})" for one in ways[:2])
            raise InputError(
                CODE,
                f"Column {echo(self._column)}, row {whole(where(int(rest[at])))}: {echo(cell)} is no number with a "
                f"decimal point; say by the option marks how this column's numbers are written, such as {told}.",
            )


@dataclass(frozen=True)
class MarksLook:
    """How the numbers of a column may be written, read off its first rows: NOT PRIVATE.

    Parameters
    ----------
    proposed : tuple of str
        Keys of `MARKS` that read most cells; more than one where they read different numbers, so that it must be
        asked.
    examples : tuple of str
        Some cells, those with the most marks first.
    """

    proposed: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Whether a person must say which it is."""
        return len(self.proposed) > 1


@in_words
def look_at_marks(
    origin: Origin, column: str, *, name: str | None = None, options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> MarksLook:  # fmt: skip
    r"""Return how the numbers of a column may be written, from its first 10,000 rows.

    Parameters
    ----------
    origin, name, options, progress
        As in `count_bins`.

    Raises
    ------
    InputError
        ``COLUMN_UNKNOWN`` and the codes of `inspect`.

    Examples
    --------
    >>> look_at_marks(b"pay;x\n900;a\n1.328,16;b\n", "pay").proposed, look_at_marks(b"pay\n1.500\n", "pay").is_open
    ((',.',), True)
    """
    table = open_table(origin, name, options)
    column = table.column(column)
    found: dict[str, int] = {}
    rows = 0
    with table.reading([], [column]) as batches:
        for arrays, done in batches:
            first = arrays[0].slice(0, LOOK_ROWS - rows)
            rows += len(first)
            first = first.cast(pa.string()) if first.type == pa.string_view() else first
            coded = first if pa.types.is_dictionary(first.type) else first.dictionary_encode()
            if not is_text(coded.dictionary.type):
                return MarksLook((PLAIN,), ())
            often = np.bincount(indices_of(coded), minlength=len(coded.dictionary) + 1)[:-1]
            written, _ = apart(coded.dictionary)
            is_there = plain_numpy(written.is_valid())
            short = np.flatnonzero((often > 0) & is_there & (text_lengths(written) <= _LONGEST))
            for cell, n in zip(written.take(pa.array(short)).to_pylist(), often[short].tolist(), strict=True):
                found[cell] = found.get(cell, 0) + n
            if progress is not None:
                progress(done, table.total)
            if rows >= LOOK_ROWS:
                break
    return proposed(found)


def proposed(cells: Mapping[str, int]) -> MarksLook:
    """Return the marks that read most of some cells, given how often each occurs.

    Where several read the same numbers, those with the fewest marks, a point before a comma; where different ones, all
    of them. A share of cells below one in a hundred decides nothing.

    >>> proposed({"1,234.50": 1}).proposed, proposed({"1 234,5": 1}).proposed, proposed({"1'234": 1}).proposed
    (('.,',), (', ',), (".'",))
    """
    ways: dict[str, tuple[int, dict[str, float]]] = {}
    doubtful = [cell for cell in cells if not cell.strip().lstrip("+-").isdecimal()]  # the others read alike
    for marks in MARKS:
        fits = re.compile(pattern(marks), re.ASCII)
        read = {cell: _number(cell, marks) for cell in doubtful if fits.match(cell)}
        ways[marks] = sum(cells[cell] for cell in read), read
    marked = {cell for _, read in ways.values() for cell in read}
    most = max(n for n, _ in ways.values())
    slips = int(_DECISIVE * sum(cells[cell] for cell in marked))
    kept: list[str] = []
    for marks, (n, read) in ways.items():
        alike = (ways[one][1] for one in kept)
        if n >= most - slips and not any(all(other.get(cell, value) == value for cell, value in read.items()) and
                                         read.keys() <= other.keys() for other in alike):  # fmt: skip
            kept.append(marks)
    shown = sorted(marked, key=lambda cell: (-len(re.sub(r"\d", "", cell)), -len(cell), cell))
    return MarksLook(tuple(kept), tuple(shown[:_EXAMPLES]))


def reading(cell: str, marks: str) -> str:
    """Return what a cell is with these marks, for people.

    >>> reading("1.328,16", ",."), reading("1.328,16", "."), reading("12.000", ",.")
    ('1328.16', 'no number', '12000')
    """
    return bare(_number(cell, marks), 15) if re.match(pattern(marks), cell, re.ASCII) else "no number"


def _number(cell: str, marks: str) -> float:
    bare = re.sub(_BETWEEN[marks[1]], "", cell) if len(marks) > 1 else cell
    return float(bare.replace(marks[0], "."))
