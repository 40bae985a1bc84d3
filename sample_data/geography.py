"""SYNTHETIC census-like geography: region > state > county > tract with residents.

Regions, states and state totals are public facts (2020 census apportionment and redistricting counts); everything
below a state, counties, tracts and their names, is made up. Sizes are scaled down: one resident in ten, one county in
four, tracts of about 4,000 residents with a log-normal spread, and one tract in eighty is empty (parks, water).
"""

from __future__ import annotations

from random import Random

from sample_data.shaping import apportion, csv_text, lognormal

SEED = 20200401
HEADER = ("region", "state", "county", "tract", "residents")
ONE_RESIDENT_IN = 10
ONE_COUNTY_IN = 4
RESIDENTS_PER_TRACT = 4_000
EMPTY_TRACT = 1 / 80

# state: resident population on 1 April 2020, number of counties or county equivalents
STATES = {
    "Midwest": {
        "Illinois": (12_812_508, 102),
        "Indiana": (6_785_528, 92),
        "Iowa": (3_190_369, 99),
        "Kansas": (2_937_880, 105),
        "Michigan": (10_077_331, 83),
        "Minnesota": (5_706_494, 87),
        "Missouri": (6_154_913, 115),
        "Nebraska": (1_961_504, 93),
        "North Dakota": (779_094, 53),
        "Ohio": (11_799_448, 88),
        "South Dakota": (886_667, 66),
        "Wisconsin": (5_893_718, 72),
    },
    "Northeast": {
        "Connecticut": (3_605_944, 8),
        "Maine": (1_362_359, 16),
        "Massachusetts": (7_029_917, 14),
        "New Hampshire": (1_377_529, 10),
        "New Jersey": (9_288_994, 21),
        "New York": (20_201_249, 62),
        "Pennsylvania": (13_002_700, 67),
        "Rhode Island": (1_097_379, 5),
        "Vermont": (643_077, 14),
    },
    "South": {
        "Alabama": (5_024_279, 67),
        "Arkansas": (3_011_524, 75),
        "Delaware": (989_948, 3),
        "District of Columbia": (689_545, 1),
        "Florida": (21_538_187, 67),
        "Georgia": (10_711_908, 159),
        "Kentucky": (4_505_836, 120),
        "Louisiana": (4_657_757, 64),
        "Maryland": (6_177_224, 24),
        "Mississippi": (2_961_279, 82),
        "North Carolina": (10_439_388, 100),
        "Oklahoma": (3_959_353, 77),
        "South Carolina": (5_118_425, 46),
        "Tennessee": (6_910_840, 95),
        "Texas": (29_145_505, 254),
        "Virginia": (8_631_393, 133),
        "West Virginia": (1_793_716, 55),
    },
    "West": {
        "Alaska": (733_391, 30),
        "Arizona": (7_151_502, 15),
        "California": (39_538_223, 58),
        "Colorado": (5_773_714, 64),
        "Hawaii": (1_455_271, 5),
        "Idaho": (1_839_106, 44),
        "Montana": (1_084_225, 56),
        "Nevada": (3_104_614, 17),
        "New Mexico": (2_117_522, 33),
        "Oregon": (4_237_256, 36),
        "Utah": (3_271_616, 29),
        "Washington": (7_705_281, 39),
        "Wyoming": (576_851, 23),
    },
}

_FIRST = ("Alder", "Birch", "Cedar", "Clear", "Elk", "Fox", "Glen", "Hazel", "Iron", "Lark", "Maple", "North", "Oak")
_LAST = ("brook", "dale", "field", "ford", "ham", "haven", "mere", "mont", "port", "ridge", "vale", "wick", "wood")
COUNTY_NAMES = tuple(first + last for first in _FIRST for last in _LAST)


def generate() -> str:
    """The file: one row a tract, in the order of the levels."""
    rng = Random(SEED)
    rows: list[tuple[object, ...]] = []
    for region, states in STATES.items():
        for state, (population, n_counties) in states.items():
            size = round(population / ONE_RESIDENT_IN), max(1, round(n_counties / ONE_COUNTY_IN))
            rows += [(region, state, *row) for row in _counties(*size, rng)]
    return csv_text(HEADER, rows)


def _counties(residents: int, n_counties: int, rng: Random) -> list[tuple[str, str, int]]:
    # Population follows few large counties and many small ones: a spread of 1.3 in the logarithm.
    sizes = sorted(apportion(residents, [lognormal(rng, 1.3) for _ in range(n_counties)]), reverse=True)
    first = int(rng.random() * len(COUNTY_NAMES))
    rows = []
    for k, size in enumerate(sizes):
        county = COUNTY_NAMES[(first + 16 * k) % len(COUNTY_NAMES)]
        n_tracts = max(1, round(size / RESIDENTS_PER_TRACT))
        for number, people in enumerate(_tracts(size, n_tracts, rng), start=1):
            rows.append((county, f"Tract {number:03d}", people))
    return rows


def _tracts(residents: int, n_tracts: int, rng: Random) -> list[int]:
    weights = [lognormal(rng, 0.45) * (rng.random() >= EMPTY_TRACT) for _ in range(n_tracts)]
    return apportion(residents, weights if sum(weights) > 0 else [1.0] * n_tracts)
