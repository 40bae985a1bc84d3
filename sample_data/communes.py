"""French communes: region > département > arrondissement > commune, with residents and the intercommunality of each.

Derived from the package of the French administration's own divisions. An intercommunality (EPCI) can lie in several
arrondissements, départements or regions: it is an area, and no node of the tree, so that the file has it as a column.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sample_data.packages import Package
from sample_data.shaping import csv_text

PACKAGE = Package(
    "npm", "@etalab/decoupage-administratif", "6.0.0", "9 March 2026", "etalab-decoupage-administratif-6.0.0.tgz",
    "c189ffd5b33fe40c2f19e1a923ce557f190622f39228745d3195d746dfe00c4a",
)  # fmt: skip
CREDIT = (
    "Insee (Code officiel géographique, populations) and DGCL (list of intercommunalities), by Etalab in "
    f"{PACKAGE.name} {PACKAGE.version}, {PACKAGE.date}; Licence Ouverte / Open Licence, "
    "https://www.etalab.gouv.fr/licence-ouverte-open-licence; changed: communes of today in départements only"
)
DIGEST = "556f143e75ef7feb6808442be87cb00dc705ecd2ede5c631c9dfec078b0e23f6"
"""SHA-256 (hex) of the text of the file."""
HEADER = ("region", "departement", "arrondissement", "commune", "residents", "intercommunality")
NO_ARRONDISSEMENT = "Mayotte"
"""The only département without arrondissements: it stands as its own."""
Read = Callable[[str], list[dict[str, Any]]]


def derive(folder: Path) -> str:
    """The file: one row for each commune of today in a département, in the order of regions, départements and names."""
    return derived(lambda name: json.loads(PACKAGE.read(folder, f"data/{name}.json")))


def derived(read: Read) -> str:
    """The file, from the lists of the package by name."""
    regions, departements, arrondissements = (
        {one["code"]: one["nom"] for one in read(name)} for name in ("regions", "departements", "arrondissements")
    )
    areas = _areas(read("epci"))
    rows = []
    for one in read("communes"):
        if one["type"] != "commune-actuelle" or one["zone"] == "com":  # former communes; overseas collectivities
            continue
        departement = departements[one["departement"]]
        arrondissement = arrondissements[one["arrondissement"]] if one["arrondissement"] else departement
        assert one["arrondissement"] or departement == NO_ARRONDISSEMENT
        path = (regions[one["region"]], departement, arrondissement, one["nom"])
        rows.append((*path, one["population"], areas.get(one["code"], "")))
    return csv_text(HEADER, sorted(rows))


def _areas(epci: list[dict[str, Any]]) -> dict[str, str]:
    """The intercommunality of each commune, by codes; of several with one name each has its number besides."""
    times = Counter(one["nom"] for one in epci)
    return {
        member["code"]: one["nom"] if times[one["nom"]] == 1 else f"{one['nom']} ({one['code']})"
        for one in epci
        for member in one["membres"]
    }
