"""The sample data sets: what each holds, who it protects, what is public about it, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from sample_data import ages, cities, communes, conversions, flights, geography, mobility, small_town
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_of_paths
from treedp_core.registry import lookup, table

# The sample data sets as counts.


def count_sample(name: str) -> Dataset:
    """Return a sample data set, counted from its file."""
    chosen = lookup(SAMPLES, name, "sample")
    data = _counted(chosen)
    notices = tuple(one for one in data.report.notices if one[0] != "TOTALS")  # a département is called Somme
    return replace(
        data, is_made_up=chosen.is_synthetic, credit=chosen.credit,
        report=replace(data.report, notices=notices, totals=()),
    )  # fmt: skip


def _counted(chosen: Sample) -> Dataset:
    if chosen.bins is not None:
        bins = chosen.bins
        return count_bins(
            chosen.path,
            chosen.columns[0],
            lower=bins.lower,
            upper=bins.upper,
            n_bins=bins.n_bins,
            branching=bins.branching_factors,
            weight=chosen.weight,
            outside="refuse",
            name=chosen.title,
        )
    domain = domain_of_paths(chosen.path, chosen.columns, records_are_public=True)
    return count_hierarchy(
        chosen.path, chosen.columns, domain=domain, weight=chosen.weight, unit=chosen.unit_column,
        contributions=chosen.contributions, outside="refuse", name=chosen.title,
    )  # fmt: skip


FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Bins:
    """Public bounds and tree of a numeric column: `n_bins` equal bins over [lower, upper]."""

    lower: float
    upper: float
    n_bins: int
    branching_factors: tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """One committed file: made up by its module from a seed, or derived by it from a package of a public registry.

    `columns` are the levels from the top (one numeric column when `bins` is given), `weight` the column that
    holds the count of a row (None: every row is one record), `unit` names one unit and `protected` says more of it,
    `domain` says what is public, and `known_levels` how many levels, the root among them, are public about each unit.
    Where `unit_column` names the unit of a row, its first `contributions` rows are counted. `credit` is what every
    copy of real records must say: source, date and licence; nothing of made-up ones.
    """

    name: str
    title: str
    description: str
    file: str
    generator: ModuleType
    columns: tuple[str, ...]
    weight: str | None
    unit: str
    protected: str
    domain: str
    bins: Bins | None = None
    known_levels: int = 1
    unit_column: str | None = None
    contributions: int = 1
    credit: str = ""

    @property
    def is_synthetic(self) -> bool:
        """Whether its records are nobody's."""
        return not self.credit

    @property
    def path(self) -> Path:
        """Where the file is."""
        return FOLDER / self.file


_LISTED = "The domain is public: every leaf is listed, also those with count 0."

SAMPLES = table(
    Sample(
        name="small_town",
        title="Small town (synthetic)",
        description="1 000 residents of a made-up town on six levels of two: small enough to see what noise does.",
        file="small_town_synthetic.csv",
        generator=small_town,
        columns=small_town.HEADER[:-1],
        weight="residents",
        unit="resident",
        protected="One resident, who lives in exactly one block.",
        domain=_LISTED,
    ),
    Sample(
        name="geography",
        title="Census-like geography (synthetic)",
        description="One in ten residents of the United States on a tree of made-up counties and tracts; "
        "state totals are shaped by the 2020 census.",
        file="geography_synthetic.csv",
        generator=geography,
        columns=("region", "state", "county", "tract"),
        weight="residents",
        unit="resident",
        protected="One resident, who is counted in exactly one tract.",
        domain=_LISTED,
    ),
    Sample(
        name="conversions",
        title="Ad conversions (synthetic)",
        description="Conversions by advertiser, country, device, product age and delay after the click: "
        "sparse and heavy-tailed.",
        file="conversions_synthetic.csv",
        generator=conversions,
        columns=("partner", "country", "device", "product_age", "delay"),
        weight="conversions",
        unit="ad click",
        protected="One ad click, which leads to at most one conversion; only its delay is unknown beforehand.",
        domain=_LISTED,
        known_levels=5,
    ),
    Sample(
        name="mobility",
        title="Trips between zones (synthetic)",
        description="Trips of one day by origin, destination and time of day in a made-up city of 28 zones.",
        file="mobility_synthetic.csv",
        generator=mobility,
        columns=("origin", "destination", "hours"),
        weight="trips",
        unit="trip",
        protected="One trip; a traveller who makes several trips contributes several records.",
        domain=_LISTED,
    ),
    Sample(
        name="ages",
        title="Ages (synthetic)",
        description="Ages in years, one person a row: a numeric column for cumulative counts and ranges.",
        file="ages_synthetic.csv",
        generator=ages,
        columns=("age",),
        weight=None,
        unit="person",
        protected="One person, who has one age.",
        domain="The bounds 0 and 128 and the bins are public; they do not depend on the records.",
        bins=Bins(0, 128, 128, (8, 16)),
    ),
    Sample(
        name="communes",
        title="French communes (2026)",
        description="Residents of all 34 875 communes of France by region, département and arrondissement, as Insee "
        "published them. The file has their intercommunalities as well: areas, and no nodes of this tree.",
        file="communes_2026.csv.gz",
        generator=communes,
        columns=("region", "departement", "arrondissement", "commune"),
        weight="residents",
        unit="resident",
        protected="One resident, who is counted in exactly one commune.",
        domain="The domain is public: it is the official list of communes, six without residents among them.",
        credit=communes.CREDIT,
    ),
    Sample(
        name="flights",
        title="Flights from New York (January 2013)",
        description="Flights from the three airports of New York City in January 2013 by carrier, origin, destination "
        "and scheduled hour; the file has delays and tail numbers as well. Of each aircraft the first 10 are counted.",
        file="flights_2013_01.csv.gz",
        generator=flights,
        columns=("carrier", "origin", "destination", "hour"),
        weight=None,
        unit="aircraft",
        protected="One aircraft, by its tail number: its first 10 flights of the month are counted, 18 470 of 27 004.",
        domain="The domain is public: it is the timetable.",
        unit_column="tailnum",
        contributions=10,
        credit=flights.CREDIT,
    ),
    Sample(
        name="cities",
        title="World cities (2026)",
        description="Residents of the 12 325 cities that GeoNames lists with at least 50 000, by continent and "
        "country; some are parts of others.",
        file="cities_2026.csv.gz",
        generator=cities,
        columns=("continent", "country", "city"),
        weight="residents",
        unit="resident",
        protected="One resident of one city; whoever lives in a city within a city is counted in both.",
        domain="The domain is public: it is the gazetteer's list.",
        credit=cities.CREDIT,
    ),
)
