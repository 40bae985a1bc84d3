"""Numbers of a spreadsheet as text: codes with their zeros, days and times as far as they are shown, else numbers."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Final

from treedp_core import checks
from treedp_core.words import bare

_DATES: Final = "yyyy-mm-dd"
BUILT_IN: Final = {
    **dict.fromkeys((9, 10), "0%"), **dict.fromkeys((14, 15), _DATES), 16: "d-mmm", 17: "mmm-yy",
    **dict.fromkeys((18, 19, 20, 21, 45, 47), "h:mm:ss"), 22: "yyyy-mm-dd h:mm", 46: "[h]:mm:ss",
    **dict.fromkeys((*range(27, 37), *range(50, 59)), _DATES),
}  # fmt: skip
"""Formats that have a number instead of a code, as far as they matter here."""
_LITERAL: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_ELAPSED: Final = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_CODE: Final = re.compile(r"[-/ ():]*0[-/ ():0]*0[-/ ():0]*")
_PIECE: Final = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[[^\]]*\]|(.)')
MAX_DAYS: Final = 2_958_466
"""The first day of the year 10000, which no spreadsheet knows."""


@lru_cache(maxsize=1024)
def kind_of(code: str) -> str:
    """Return what a number format shows: "code", "percent", "elapsed", parts of a time such as "ymdhs", or nothing.

    >>> [kind_of(code) for code in ("00000", "0.0%", "[h]:mm", "dd.mm.yyyy", "mmm yy", "h:mm", "#,##0.00 €", "General")]
    ['code', 'percent', 'elapsed', 'ymd', 'ym', 'h', '', '']
    """
    first = code.split(";")[0]
    bare = _LITERAL.sub("", first)
    if _ELAPSED.search(bare):
        return "elapsed"
    if "%" in bare:
        return "percent"
    if _CODE.fullmatch(bare):
        return "code"
    if (re.search(r"[0#?]", bare) and not re.search(r"[ydhs]", bare, re.IGNORECASE)) or bare.lower() in (
        "general",
        "@",
        "",
    ):
        return ""
    letters = re.sub(r"am/pm|a/p|general", "h", bare, flags=re.IGNORECASE).lower()
    is_minute = "h" in letters or "s" in letters
    has_month = "m" in letters and (not is_minute or "y" in letters or "d" in letters)
    return "".join(
        part for part, there in (
            ("y", "y" in letters or "e" in letters), ("m", has_month), ("d", "d" in letters),
            ("h", "h" in letters or "s" in letters),
        ) if there
    )  # fmt: skip


def shown(written: str, code: str, since_1904: bool = False) -> str:
    """Return a number as a person reads it in its cell, as far as it stays a number that can be counted with.

    Parameters
    ----------
    written : str
        The number as the file has it.
    code : str
        Its format: one of at least two zeros and signs between them is that of a code such as a postcode.
    since_1904 : bool
        Whether days are counted from 1904 and not from 1900.

    Examples
    --------
    >>> shown("501", "00000"), shown("123456789", "000-00-0000"), shown("0.125", "0.0%"), shown("3.0", "#,##0")
    ('00501', '123-45-6789', '0.125', '3')
    >>> shown("46053.5", "yyyy-mm-dd"), shown("46053.5", "d.m.yy h:mm"), shown("0.75", "h:mm"), shown("46053", "yyyy")
    ('2026-01-31', '2026-01-31T12:00:00', '18:00:00', '2026')
    """
    try:
        value = float(written)
    except ValueError:
        return written
    kind = kind_of(code) if code else ""
    if kind == "code" and value.is_integer() and abs(value) <= checks.MAX_COUNT:
        return _coded(int(value), code.split(";")[0])
    if kind not in ("", "code", "percent") and 0 <= value < MAX_DAYS - 1462 * since_1904:
        return _in_time(value, kind, since_1904)
    if value.is_integer() and abs(value) <= checks.MAX_COUNT:
        return str(int(value))
    return bare(value, 15)


def _coded(value: int, code: str) -> str:
    """The digits in the places of a format, from the right; those that find none stand before the first place."""
    pieces = [(found[1] or found[2] or "", found[3]) for found in _PIECE.finditer(code)]
    digits, out = list(str(abs(value))), list[str]()
    left = sum(piece == "0" for _, piece in pieces)
    for literal, piece in reversed(pieces):
        if piece == "0":
            left -= 1
            out.append(digits.pop() if digits else "0")
            if not left:
                out.append("".join(digits))
        else:
            out.append(piece or literal)
    return ("-" if value < 0 else "") + "".join(reversed(out)).strip()


def _in_time(value: float, kind: str, since_1904: bool) -> str:
    """A number of days, to the second, as far as its format shows it."""
    seconds = round(value * 86_400)
    if kind == "elapsed":
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if kind == "h":
        return (datetime.datetime.min + datetime.timedelta(seconds=seconds % 86_400)).time().isoformat()
    # the calendar from 1900 has a 29 February in that year, which is no day
    first = datetime.datetime(1904, 1, 1) if since_1904 else datetime.datetime(1899, 12, 30 if value >= 60 else 31)
    moment = first + datetime.timedelta(seconds=seconds)
    if "h" in kind and moment.time() != datetime.time():
        return moment.isoformat()
    if "d" in kind or "y" not in kind:
        return moment.date().isoformat()
    return f"{moment.year:04}-{moment.month:02}" if "m" in kind else f"{moment.year:04}"
