"""Dates and times -> year, quarter, month, week, day, hour, day of the week: as written, whatever the time zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from treedp_core.checks import InputError, echo
from treedp_core.records.derive.rule import CODE, Rule
from treedp_core.records.read.text import DAYS

if TYPE_CHECKING:
    import pyarrow as pa

Written = tuple[int, int | None, int | None, int | None]
"""Year, month, day, hour; None from where the text says no more."""
_SEEN: Final = 200
"""Labels that suggestions look at."""
_LIKELY: Final = range(1600, 2200)
"""Years of what is taken for a date; any other may be a code."""
_CLOCK: Final = (
    r"(?:[T ,]\s*(?P<hour>\d{1,2})(?::?\d{2})?(?::?\d{2}(?:[.,]\d+)?)?\s*(?P<half>[AP]M)?)?"
    r"\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?"
)
_MINUTES: Final = (
    r"(?i)^(\s*[\d/. -]+[T ,]\s*\d{1,2}):\d{2}(?::\d{2}(?:[.,]\d+)?)?(\s*[AP]M)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?\s*$"
)
"""For RE2: what a date, an hour, its half of the day, and whatever lies behind them match in a label."""
_YEAR_FIRST: Final = r"(?P<year>\d{4})(?:(?P<mark>[-/.]?)(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?)?"
_ORDERS: Final[dict[str, tuple[str, str]]] = {
    "": (_YEAR_FIRST, "a date that begins with its year, such as 2024-03-05"),
    "dmy": (r"(?P<day>\d{1,2})(?P<mark>[-/. ])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})", "a date such as 31/12/2024"),
    "mdy": (r"(?P<month>\d{1,2})(?P<mark>[-/. ])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4})", "a date such as 12/31/2024"),
}
"""How the parts of a date follow each other: the year first where nothing is said."""


def without_minutes(labels: pa.Array) -> pa.Array:
    """Return labels (n,) without what comes behind the hour of a time, which no part depends on; Arrow arrays of text.

    >>> import pyarrow as pa
    >>> without_minutes(
    ...     pa.array(["2024-03-05T23:30:00.5+02:00", "5.3.2024 1:30 PM", "12:30", "2024-03-05"])
    ... ).to_pylist()
    ['2024-03-05T23', '5.3.2024 1 PM', '12:30', '2024-03-05']
    """
    import pyarrow.compute as pc

    return pc.replace_substring_regex(labels, _MINUTES, r"\1\2")


def _read(written: str, order: str) -> Written:
    pattern, expected = _ORDERS[order]
    found = re.fullmatch(pattern + _CLOCK, written.strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        raise ValueError(expected)
    year, month, day, hour = (
        None if (part := found[name]) is None else int(part) for name in ("year", "month", "day", "hour")
    )
    assert year is not None
    if found["mark"] == "" and {len(found[name] or "12") for name in ("month", "day")} != {2}:
        raise ValueError(expected)  # without marks each part has its digits
    if found["half"] and hour is not None:
        if not 1 <= hour <= 12:
            raise ValueError(expected)
        hour = hour % 12 + 12 * (found["half"].upper() == "PM")
    if hour is not None and (day is None or hour > 23):
        raise ValueError(expected)
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        raise ValueError(f"{expected}, that is in the calendar") from None
    return year, month, day, hour


def _day(at: Written) -> date:
    year, month, day, _ = at
    if month is None or day is None:
        raise ValueError("a date with its day")
    return date(year, month, day)


def _month(at: Written) -> int:
    if at[1] is None:
        raise ValueError("a date with its month")
    return at[1]


def _hour(at: Written) -> int:
    if at[3] is None:
        raise ValueError("a time with its hour")
    return at[3]


def _week(at: Written) -> str:
    year, week, _ = _day(at).isocalendar()
    return f"{year:04d}-W{week:02d}"


PARTS: Final[dict[str, tuple[str, Callable[[Written], str]]]] = {
    "year": ("year", lambda at: f"{at[0]:04d}"),
    "quarter": ("quarter", lambda at: f"{at[0]:04d} Q{(_month(at) + 2) // 3}"),
    "month": ("month", lambda at: f"{at[0]:04d}-{_month(at):02d}"),
    "week": ("week", _week),
    "day": ("day", lambda at: _day(at).isoformat()),
    "hour": ("hour", lambda at: f"{_day(at).isoformat()} {_hour(at):02d}h"),
    "weekday": ("day of the week", lambda at: DAYS[_day(at).weekday()]),
    "clock": ("hour of the day", lambda at: f"{_hour(at):02d}h"),
}
"""What a level may be, the coarse first: what people call it, and its label. Weeks are those of ISO 8601."""
_CALENDAR: Final = ("year", "month", "day")


def _said(option: str) -> tuple[str, str]:
    part, _, order = option.partition("/")
    if part not in PARTS or order not in _ORDERS:
        raise InputError(
            CODE,
            f"Expected one of {', '.join(PARTS)}, and /dmy or /mdy behind it where the year is last, "
            f"got {echo(option)}.",
        )
    return part, order


@lru_cache(maxsize=256)
def part_of(option: str) -> Rule:
    """Return what finds a part of a date: a key of `PARTS`, behind it ``/dmy`` or ``/mdy`` where the year is last.

    Raises
    ------
    InputError
        ``DERIVE``.

    >>> part_of("quarter")("2024-03-05T23:30:00+02:00"), part_of("weekday/dmy")("5.3.2024"), part_of("week")("20241230")
    ('2024 Q1', 'Tuesday', '2025-W01')
    """
    part, order = _said(option)
    return partial(_found, PARTS[part][1], order)


def _found(say: Callable[[Written], str], order: str, label: str) -> str:
    return say(_read(label, order))


def named(option: str, column: str) -> str:
    """Return the name of a level: ``month of born``."""
    return f"{PARTS[_said(option)[0]][0]} of {column}"


def parts_in(labels: Sequence[str]) -> tuple[str, ...]:
    """Return what levels a column of dates may have; where day and month could be exchanged, first as in 31/12.

    >>> parts_in(["2024-03-05", "2023-12-31"])
    ('year', 'quarter', 'month', 'week', 'day', 'weekday')
    >>> parts_in(["03/05/2024"])[:2], parts_in(["13/05/2024"])[-1], parts_in(["12"])
    (('year/dmy', 'year/mdy'), 'weekday/dmy', ())
    """
    some = [label for label in labels if label.strip()][:_SEEN]
    found = [(part, f"/{order}" if order else "") for part in PARTS for order in _ORDERS if _fits(some, part, order)]
    return tuple(part + order for part, order in found)


def orders_of(label: str) -> frozenset[str]:
    """Return in which orders a label can be read as a date with a day: keys of `_ORDERS`.

    >>> sorted(orders_of("01/02/2024")), sorted(orders_of("31/02/2024")), sorted(orders_of("2024-05-01"))
    (['dmy', 'mdy'], [], [''])
    """
    return frozenset(order for order in _ORDERS if _fits([label], "day", order))


def calendars(options: Sequence[str]) -> list[list[str]]:
    """Return years, months and days of each order in which dates can be read.

    >>> calendars(["year/dmy", "year/mdy", "month/dmy", "month/mdy", "week/dmy"])
    [['year/dmy', 'month/dmy'], ['year/mdy', 'month/mdy']]
    """
    told = [_said(option) for option in options]
    return [
        [option for option, (part, way) in zip(options, told, strict=True) if way == order and part in _CALENDAR]
        for order in dict.fromkeys(way for _, way in told)
    ]


def _fits(labels: Sequence[str], part: str, order: str) -> bool:
    try:
        for label in labels:
            written = _read(label, order)
            PARTS[part][1](written)
            if written[0] not in _LIKELY:
                return False
    except ValueError:
        return False
    return bool(labels)
