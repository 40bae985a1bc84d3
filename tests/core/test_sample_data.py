"""The committed samples: the same bytes from the same seed, the totals they promise, and said to be synthetic."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from sample_data import ages, conversions, geography, mobility, shaping, small_town
from sample_data.catalogue import FOLDER, SAMPLES, Sample

EVERY = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
COUNTED = pytest.mark.parametrize("sample", [sample for sample in SAMPLES.values() if sample.weight is not None])

# Resident population on 1 April 2020 by census region, as the Census Bureau published it.
REGIONS_2020 = {"Northeast": 57_609_148, "Midwest": 68_985_454, "South": 126_266_107, "West": 78_588_572}


def rows(sample: Sample) -> list[dict[str, str]]:
    with sample.path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@EVERY
def test_regenerating_gives_the_same_bytes(sample: Sample) -> None:
    assert sample.path.read_bytes() == sample.generator.generate().encode("utf-8")


@EVERY
def test_says_that_it_is_synthetic(sample: Sample) -> None:
    assert "synthetic" in sample.title
    assert "synthetic" in sample.file
    assert (sample.generator.__doc__ or "").startswith("SYNTHETIC")


@EVERY
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
    assert "0" in counts


def test_everything_together_is_small() -> None:
    assert sum(sample.path.stat().st_size for sample in SAMPLES.values()) < 3_000_000


def test_no_file_is_without_an_entry() -> None:
    assert {path.name for path in FOLDER.glob("*.csv")} == {sample.file for sample in SAMPLES.values()}


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
