"""The committed samples: made from their seeds or derived from packages, with the totals and sources they promise."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sample_data import (
    ages,
    cities,
    communes,
    conversions,
    flights,
    geography,
    mobility,
    packages,
    shaping,
    small_town,
)  # fmt: skip
from sample_data.catalogue import FOLDER, SAMPLES, Sample, count_sample

SYNTHETIC = [sample for sample in SAMPLES.values() if sample.is_synthetic]
PUBLISHED = [sample for sample in SAMPLES.values() if not sample.is_synthetic]
EVERY = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
MADE_UP = pytest.mark.parametrize("sample", SYNTHETIC, ids=lambda one: one.name)
DERIVED = pytest.mark.parametrize("sample", PUBLISHED, ids=lambda one: one.name)
COUNTED = pytest.mark.parametrize(
    "sample", [one for one in SAMPLES.values() if one.weight is not None], ids=lambda one: one.name
)
MOST_BYTES = 400_000
"""Of a file that is derived."""

# Resident population on 1 April 2020 by census region, as the Census Bureau published it.
REGIONS_2020 = {"Northeast": 57_609_148, "Midwest": 68_985_454, "South": 126_266_107, "West": 78_588_572}


def rows(sample: Sample) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(packages.text_of(sample.path), newline="")))


def counted_by_pandas(sample: Sample) -> dict[tuple[str, ...], int]:
    """Return the count of every node below the root, by its path, as pandas finds it."""
    table = pd.read_csv(sample.path, dtype=str, keep_default_na=False, encoding="utf-8")
    if sample.unit_column is not None:
        table = table.groupby(sample.unit_column).head(sample.contributions)
    table["n"] = 1 if sample.weight is None else table[sample.weight].astype("int64")
    found: dict[tuple[str, ...], int] = {}
    for level in range(1, len(sample.columns) + 1):
        sums = table.groupby(list(sample.columns[:level]))["n"].sum()
        found |= {(key if isinstance(key, tuple) else (key,)): int(value) for key, value in sums.items()}
    return found


def test_those_of_seeds_and_those_of_packages_are_known() -> None:
    assert [one.name for one in SYNTHETIC] == ["small_town", "geography", "conversions", "mobility", "ages"]
    assert [one.name for one in PUBLISHED] == ["communes", "flights", "cities"]
    assert all(hasattr(one.generator, "generate") for one in SYNTHETIC)
    assert all(hasattr(one.generator, "derive") for one in PUBLISHED)


@MADE_UP
def test_regenerating_gives_the_same_bytes(sample: Sample) -> None:
    assert sample.path.read_bytes() == sample.generator.generate().encode("utf-8")


@MADE_UP
def test_says_that_it_is_synthetic(sample: Sample) -> None:
    assert "synthetic" in sample.title
    assert "synthetic" in sample.file
    assert (sample.generator.__doc__ or "").startswith("SYNTHETIC")
    assert count_sample(sample.name).is_made_up


@DERIVED
def test_a_derived_file_is_small_and_the_one_that_its_module_notes(sample: Sample) -> None:
    assert packages.digest_of(sample.path) == sample.generator.DIGEST
    assert sample.path.stat().st_size <= MOST_BYTES
    assert "synthetic" not in sample.title + sample.file
    assert tuple(rows(sample)[0]) == sample.generator.HEADER


@DERIVED
def test_a_derived_file_says_package_date_and_licence(sample: Sample) -> None:
    package, told = sample.generator.PACKAGE, sample.credit
    for part in (package.name, package.version, package.date, "; changed: "):
        assert part in told
    assert re.search(r"; (Licence Ouverte / Open Licence|CC0 1\.0|CC BY 4\.0), https://", told)
    assert len(told) <= 400  # what a plan states
    readme = " ".join(
        (FOLDER / "README.md").read_text(encoding="utf-8").translate({96: None, 60: None, 62: None}).split()
    )
    assert f"Source: {told}." in readme
    data = count_sample(sample.name)
    assert data.credit == told
    assert data.is_public and not data.is_made_up


@DERIVED
def test_counts_are_those_of_pandas(sample: Sample) -> None:
    data, expected = count_sample(sample.name), counted_by_pandas(sample)
    paths = data.labels.paths_of(np.arange(1, data.tree.n_nodes))
    found = dict(zip(paths, data.counts[1:].tolist(), strict=True))
    # A leaf of the public list where nothing is counted is none of pandas' groups
    assert {path: n for path, n in found.items() if n} == {path: n for path, n in expected.items() if n}
    assert expected.keys() <= found.keys()
    assert data.total == sum(n for path, n in expected.items() if len(path) == 1)
    assert data.report.counted == data.total
    assert "TOTALS" not in dict(data.report.notices)


@MADE_UP
def test_header_is_what_the_catalogue_says(sample: Sample) -> None:
    assert tuple(rows(sample)[0]) == (*sample.columns, *([sample.weight] if sample.weight else []))


@COUNTED
def test_every_leaf_is_listed_once_and_none_is_blank(sample: Sample) -> None:
    paths = Counter(tuple(row[column] for column in sample.columns) for row in rows(sample))
    assert max(paths.values()) == 1
    assert all(label == label.strip() != "" for path in paths for label in path)


@COUNTED
def test_counts_are_whole_and_some_leaves_are_empty(sample: Sample) -> None:
    counts = [row[sample.weight or ""] for row in rows(sample)]
    assert all(count.isascii() and count.isdecimal() for count in counts)
    assert "0" in counts or sample.name == "cities"


def test_everything_together_is_small() -> None:
    assert sum(sample.path.stat().st_size for sample in SAMPLES.values()) < 3_000_000


def test_no_file_is_without_an_entry() -> None:
    assert {path.name for path in FOLDER.glob("*.csv*")} == {sample.file for sample in SAMPLES.values()}


def test_what_the_catalogue_says_of_published_records_is_so() -> None:
    of_communes, of_flights, of_cities = (rows(sample) for sample in PUBLISHED)
    assert (len(of_communes), len(of_flights), len(of_cities)) == (34_875, 27_004, 12_325)
    assert sum(row["residents"] == "0" for row in of_communes) == 6
    areas: dict[str, set[tuple[str, ...]]] = {}
    for row in of_communes:
        areas.setdefault(row["intercommunality"], set()).add(tuple(row[name] for name in communes.HEADER[:3]))
    assert sum(row["intercommunality"] == "" for row in of_communes) == 4
    del areas[""]
    assert len(areas) == 1_255
    in_several = [sum(len({place[:level] for place in lies}) > 1 for lies in areas.values()) for level in (3, 2, 1)]
    assert in_several == [188, 89, 26]
    assert {row["date"][:7] for row in of_flights} == {"2013-01"}
    assert count_sample("flights").total == 18_470
    assert min(int(row["residents"]) for row in of_cities) >= cities.LEAST_RESIDENTS


# --- how files are derived: from archives of the same shape as those of the packages ---------------------------------


def archive(path: Path, files: dict[str, bytes]) -> packages.Package:
    """Write an archive of some files, and return the package that it is."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as wheel:
            for name, content in files.items():
                wheel.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return packages.Package("pip", "some", "1.0", "1 May 2026", path.name, digest)


def test_communes_are_derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def commune(code: str, name: str, arrondissement: str, **more: Any) -> dict[str, Any]:
        found = {"code": code, "nom": name, "arrondissement": arrondissement, "departement": code[:2], "region": "R"}
        return found | {"type": "commune-actuelle", "zone": "metro", "population": 7} | more

    lists: dict[str, list[dict[str, Any]]] = {
        "regions": [{"code": "R", "nom": "Nord"}],
        "departements": [{"code": "01", "nom": "Ain"}, {"code": "02", "nom": "Mayotte"}],
        "arrondissements": [{"code": "011", "nom": "Belley"}],
        "communes": [
            commune("02001", "Acoua", ""),
            commune("01002", "Zed", "011"),
            commune("01001", "Alpha", "011", population=0),
            commune("01003", "Old", "011", type="commune-deleguee"),
            {"code": "98901", "nom": "Clipperton", "type": "commune-actuelle", "zone": "com"},
        ],
        "epci": [
            {"code": "1", "nom": "CC One", "membres": [{"code": "01001"}]},
            {"code": "2", "nom": "CC One", "membres": [{"code": "01002"}]},
        ],
    }
    files = {f"package/data/{name}.json": json.dumps(rows).encode() for name, rows in lists.items()}
    monkeypatch.setattr(communes, "PACKAGE", archive(tmp_path / "some.tgz", files))
    assert communes.derive(tmp_path).splitlines()[1:] == [
        "Nord,Ain,Belley,Alpha,0,CC One (1)", "Nord,Ain,Belley,Zed,7,CC One (2)", "Nord,Mayotte,Mayotte,Acoua,7,",
    ]  # fmt: skip


def test_flights_are_derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        names = "year,month,day,dep_delay,arr_delay,carrier,tailnum,origin,dest,hour"
        lines = ("2013,1,9,-2,NA,UA,N1,EWR,IAH,5", "2013,10,9,0,0,UA,N1,EWR,IAH,5", "2013,1,3,NA,NA,UA,NA,JFK,MIA,23")
        file.writestr("flights.csv", "\n".join((names, *lines)))
    files = {
        "some-1.0/data/flights.csv.zip": inner.getvalue(),
        "some-1.0/data/airlines.csv": b"carrier,name\nUA,United",
    }
    monkeypatch.setattr(flights, "PACKAGE", archive(tmp_path / "some-1.0.tar.gz", files))
    assert flights.derive(tmp_path).splitlines()[1:] == [
        "2013-01-09,United,EWR,IAH,05,-2,,N1", "2013-01-03,United,JFK,MIA,23,,,",
    ]  # fmt: skip


def test_cities_are_derived_and_get_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [("York", "ENG", 90_000), ("Ash", "ENG", 60_000), ("Ash", "WLS", 70_000), ("Oak", "X", 50_000),
              ("Oak", "X", 80_000), ("Hamlet", "ENG", 49_999)]  # fmt: skip
    places = {
        str(n): {"geonameid": n, "name": name, "countrycode": "GB", "admin1code": code, "population": people}
        for n, (name, code, people) in enumerate(listed)
    }
    tables = {"cities15000": places, "countries": {"GB": {"name": "United Kingdom", "continentcode": "EU"}}}
    files = {f"some/data/{name}.json": json.dumps(table).encode() for name, table in tables.items()}
    monkeypatch.setattr(cities, "PACKAGE", archive(tmp_path / "some-1.0.whl", files))
    found = [line.removeprefix("Europe,United Kingdom,") for line in cities.derive(tmp_path).splitlines()[1:]]
    assert found == [
        "Ash (ENG),60000,ENG", "Ash (WLS),70000,WLS", "Oak (X) (3),50000,X", "Oak (X) (4),80000,X", "York,90000,ENG",
    ]  # fmt: skip


def test_another_archive_than_the_noted_one_is_refused(tmp_path: Path) -> None:
    package = archive(tmp_path / "some.tgz", {"package/a.json": b"[]"})
    assert package.read(tmp_path, "a.json") == b"[]"
    with pytest.raises(ValueError, match="not the archive of some"):
        replace(package, sha256="0" * 64).read(tmp_path, "a.json")


@pytest.mark.parametrize("client", ["pip", "npm"])
def test_a_missing_archive_is_fetched_by_its_client(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = replace(archive(tmp_path / "some.tgz", {"package/a.json": b"[]"}), client=client)  # type: ignore[arg-type]
    asked: list[list[str]] = []

    def run(command: list[str], *, check: bool) -> None:
        assert check
        asked.append(command)
        (tmp_path / "there" / "some.tgz").write_bytes((tmp_path / "some.tgz").read_bytes())

    (tmp_path / "there").mkdir()
    monkeypatch.setattr(packages.subprocess, "run", run)
    assert package.read(tmp_path / "there", "a.json") == b"[]"
    package.read(tmp_path / "there", "a.json")
    (command,) = asked
    assert str(tmp_path / "there") in command
    assert "some==1.0" in command or "some@1.0" in command


def test_a_file_that_holds_the_text_already_is_not_packed_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    packages.write(path, "a\n1\n")
    first = path.read_bytes()
    other = first[:9] + bytes([first[9] ^ 1]) + first[10:]  # as another system packs it
    path.write_bytes(other)
    packages.write(path, "a\n1\n")
    assert path.read_bytes() == other
    packages.write(path, "a\n2\n")
    assert packages.text_of(path) == "a\n2\n"


def test_state_table_adds_up_to_the_published_regions() -> None:
    sums = {region: sum(people for people, _ in states.values()) for region, states in geography.STATES.items()}
    assert sums == REGIONS_2020


def test_states_have_a_tenth_of_their_residents() -> None:
    found: Counter[str] = Counter()
    for row in rows(SAMPLES["geography"]):
        found[row["state"]] += int(row["residents"])
    expected = {s: round(people / 10) for states in geography.STATES.values() for s, (people, _) in states.items()}
    assert found == expected


def test_totals_of_the_other_samples() -> None:
    conversion_rows, trip_rows = rows(SAMPLES["conversions"]), rows(SAMPLES["mobility"])
    assert sum(int(row["conversions"]) for row in conversion_rows) == conversions.N_CONVERSIONS
    assert sum(int(row["trips"]) for row in trip_rows) == mobility.N_TRIPS
    assert len(rows(SAMPLES["ages"])) == ages.N_PEOPLE
    assert sum(int(row["residents"]) for row in rows(SAMPLES["small_town"])) == small_town.N_RESIDENTS


def test_conversions_are_sparse_and_list_every_delay() -> None:
    """The delay is the unknown attribute: its values must not depend on what happened."""
    found = rows(SAMPLES["conversions"])
    assert sum(row["conversions"] == "0" for row in found) > len(found) / 2
    delays = Counter((row["partner"], row["country"], row["device"], row["product_age"]) for row in found)
    assert set(delays.values()) == {len(conversions.DELAYS)}


def test_ages_are_inside_their_public_bounds() -> None:
    sample = SAMPLES["ages"]
    assert sample.bins is not None
    assert all(sample.bins.lower <= float(row["age"]) <= sample.bins.upper for row in rows(sample))
    product = 1
    for factor in sample.bins.branching_factors:
        product *= factor
    assert product == sample.bins.n_bins


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (10, [1, 1, 1], [4, 3, 3]),  # 3.33 each: the first of equals takes the one left over
        (7, [0.5, 0.25, 0.25], [3, 2, 2]),  # 3.5, 1.75, 1.75: the two left over go to the larger remainders
        (0, [1, 2], [0, 0]),
        (5, [0, 1], [0, 5]),
    ],
)
def test_apportion(total: int, weights: list[float], parts: list[int]) -> None:
    assert shaping.apportion(total, weights) == parts


def test_scatter_goes_where_the_weight_is() -> None:
    class Fixed:
        """0.1, 0.5 and 0.9 of the way through weights 1, 0, 3: cells 0, 2, 2."""

        draws = iter([0.1, 0.5, 0.9])

        def random(self) -> float:
            return next(self.draws)

    assert shaping.scatter(3, [1, 0, 3], Fixed()) == [1, 0, 2]  # type: ignore[arg-type]
