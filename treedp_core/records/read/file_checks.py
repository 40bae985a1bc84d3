"""What makes a file no table: foreign formats, unusable headers, torn rows; each with its refusal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.read import text
from treedp_core.words import plural, whole

P = ParamSpec("P")
T = TypeVar("T")

_FOREIGN: Final = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"BZh91AY", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"ARROW1\0", "an Arrow file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x1f\x8b", "a gzip file inside a gzip file"),
    (b"\x80\x04\x95", "a Python pickle"),
)
_MARKUP: Final = (b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")


def refuse_foreign(head: bytes) -> None:
    """Refuse bytes that start like a known format other than a text table."""
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise _not_tabular(what)
    if head.startswith((b"PAR1", b"PARE")):
        raise _not_tabular("a Parquet file inside a gzip file")
    lead = head.lstrip().lower()
    if lead.startswith(_MARKUP):
        raise _not_tabular("a web page or XML")
    after = lead[1:].lstrip()[:1]
    if (lead[:1] == b"{" and after in (b'"', b"}")) or (lead[:1] == b"[" and after in (b"{", b"[", b'"', b"]")):
        raise _not_tabular("JSON")


def refuse_binary(head: bytes) -> None:
    """Refuse bytes with so many zeros that they cannot be UTF-8 text."""
    zeros = head.count(b"\0")
    if zeros * 5 > len(head):
        raise InputError(
            "ENCODING", "The file has many zero bytes: it is binary, or UTF-16 without a mark. Save it as UTF-8 text."
        )


def _not_tabular(what: str) -> InputError:
    return InputError("NOT_TABULAR", f"The file is {what}; save its table as CSV (also .csv.gz) or Parquet.")


def columns_within_limit(n_columns: int) -> int:
    """Return a table's number of columns if it is accepted."""
    if n_columns > checks.MAX_COLUMNS:
        raise InputError(
            "TOO_MANY_COLUMNS", f"The table has {whole(n_columns)} columns; at most {checks.MAX_COLUMNS} are accepted."
        )
    return n_columns


def checked_columns(names: Sequence[str]) -> list[str]:
    """Return column names after refusing blank, repeated, too many or too long ones."""
    columns_within_limit(len(names))
    for position, name in enumerate(names, start=1):
        if len(name) > checks.MAX_COLUMN_NAME:
            raise InputError(
                "COLUMN_NAME_TOO_LONG",
                f"The name of column {position} has {whole(len(name))} characters; at most "
                f"{checks.MAX_COLUMN_NAME} fit.",
            )
        trouble = text.problem(name)
        if trouble:
            raise InputError(
                trouble[0], f"The name of column {position} has {trouble[1]}; {text.accepted(trouble[0])}."
            )
        if not text.normalise(name):
            raise InputError("BLANK_COLUMN", f"Column {position} has no name in the header; name it or remove it.")
    cleaned = [text.normalise(name) for name in names]
    repeated = [name for name, times in Counter(cleaned).items() if times > 1]
    if repeated:
        raise InputError("DUPLICATE_COLUMN", f"The column name {echo(repeated[0])} occurs twice; names must differ.")
    return cleaned


def encoding_error(offset: int, such_as: str = "") -> InputError:
    """Return the refusal of bytes that are not UTF-8, but perhaps text in another encoding."""
    told = f"its encoding by the option encoding: the letters there look like {such_as}" if such_as else "its encoding"
    return InputError(
        "ENCODING", f"The file is not UTF-8: byte {whole(offset)} cannot be read. Save it as UTF-8 or choose {told}."
    )


def too_large() -> InputError:
    """Return the refusal of a file whose content does not fit into memory once it is unpacked."""
    return InputError(
        "FILE_TOO_LARGE",
        "The file unpacks to more than this computer can hold; group its records first, or save only the columns of "
        "interest.",
    )


def in_words(function: Callable[P, T]) -> Callable[P, T]:
    """Turn what a reader or the lack of memory raises into a refusal; their own errors, which may quote cells, go."""

    @wraps(function)
    def answered(*args: P.args, **settings: P.kwargs) -> T:
        try:
            return function(*args, **settings)
        except InputError:
            raise
        except Exception as error:
            if isinstance(error, MemoryError) or type(error).__name__ == "ArrowCapacityError":
                refusal = too_large()
            elif type(error).__module__.startswith("pyarrow"):
                refusal = InputError("FILE_UNREADABLE", "The records cannot be read as a table; save the file again.")
            else:
                raise
        raise refusal  # outside the handler, so that nothing is chained behind it

    return answered


def row_refusal(number: int | None, n_cells: int, n_columns: int, *, torn: bool) -> InputError:
    """Return the refusal of a row whose cells are not as many as the columns, perhaps for want of a quotation mark."""
    row = f"Row {whole(number)}" if number is not None else "A row"
    if torn:
        return InputError("QUOTE", f'{row} has a quotation mark (") that is not closed; close it or double it.')
    hint = " The first line must be the header, or the option header says which." if number in (1, 2, 3) else ""
    if n_cells == 1 and not hint:
        hint = " Notes below the table are left out by the option footer."
    cells = "1 cell" if n_cells == 1 else f"{whole(n_cells)} cells"
    return InputError(
        "ROW_WIDTH",
        f"{row} has {cells} but the table has {plural(n_columns, 'column')}; every row needs one cell per column."
        f"{hint}",
    )


_LOOKS_LIKE: Final = re.compile(r"look like (\S+)\.$")
_SHORT: Final = re.compile(r"has (\S+) cells but the table has (\S+) columns")


def mends(error: InputError) -> tuple[str, str] | None:
    """Return the option, and its value, by which a file is read that is refused, where the refusal knows one.

    A row of one cell may be a note, so that it is not filled up.

    >>> mends(encoding_error(7, "cp1252")), mends(row_refusal(9, 2, 3, torn=False))
    (('encoding', 'cp1252'), ('short', 'blank'))
    >>> [mends(row_refusal(9, n, 3, torn=torn)) for n, torn in ((4, False), (1, False), (2, True))]
    [None, None, None]
    """
    if error.code == "ENCODING" and (found := _LOOKS_LIKE.search(str(error))):
        return "encoding", found[1]
    if error.code == "ROW_WIDTH" and (found := _SHORT.search(str(error))):
        has, wants = (int("".join(filter(str.isdigit, one))) for one in found.groups())
        return ("short", "blank") if has < wants else None
    return None


def header_notices(columns: Sequence[str]) -> list[text.Notice]:
    """Return a notice when a column name looks like data, as in a file without a header."""
    numeric = [name for name in columns if name.replace(".", "", 1).lstrip("+-").isdecimal()]
    if not numeric:
        return []
    return [
        (
            "HEADER_LOOKS_LIKE_DATA",
            f"The first line is read as column names, but {echo(numeric[0])} looks like data; "
            "a file without names is read by the option header, none.",
        )
    ]
