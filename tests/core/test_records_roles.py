"""What columns seem to stand for, and which levels lie above which, against pandas."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.records import HeldColumns
from treedp_core.records.derive.remarks import of_edges
from treedp_core.records.derive.roles import counts_in, role_of, units_in
from treedp_core.records.hierarchies import astray, suggested
from treedp_core.records.read.column_cache import hold

UNITS = "person Patient patient_id PatientID patient-no kundennummer Kunden-Nr tailnum tail_number customerid ssn foyer"
NUMBERS = "id ID visit_id uuid order_id"
COUNTS = "n count residents population Population_2021 trips anzahl Einwohner effectif patients number_of_rooms"
NONE = "region user_type age price income code state name ward age_group population_density idaho note identity"


@pytest.mark.parametrize(("names", "role"), [(UNITS, "unit"), (NUMBERS, "number"), (COUNTS, "count"), (NONE, "")])
def test_a_name_says_what_a_column_stands_for(names: str, role: str) -> None:
    assert {name: role_of(name) for name in names.split()} == dict.fromkeys(names.split(), role)


def held_of(frame: pd.DataFrame) -> HeldColumns:
    held = hold(frame.to_csv(index=False).encode())
    assert held is not None
    return held


def visits(n: int = 600) -> pd.DataFrame:
    draw = random.Random(5)
    homes = [draw.randrange(12) for _ in range(90)]
    who = [draw.randrange(90) for _ in range(n)]
    ward = [homes[one] for one in who]
    return pd.DataFrame({
        "visit_id": range(n), "patient": [f"P{one:03}" for one in who], "region": [f"r{one // 4}" for one in ward],
        "ward": [f"w{one:02}" for one in ward], "n": [draw.randrange(1, 4) for _ in ward],
    })  # fmt: skip


def test_units_and_counts_are_proposed_as_such_and_as_no_levels() -> None:
    held = held_of(visits())
    assert units_in(held) == ("patient",) and counts_in(held) == ("n",)
    assert suggested(held) == ("region", "ward"), "each patient lives in one ward, and is no level below it"


def test_a_number_is_that_of_a_unit_only_where_it_occurs_again() -> None:
    assert units_in(held_of(pd.DataFrame({"id": range(40)}))) == ()
    assert units_in(held_of(pd.DataFrame({"id": [n % 20 for n in range(40)]}))) == ("id",)
    assert units_in(held_of(pd.DataFrame({"person": ["yes", "no"] * 20}))) == ()


@pytest.mark.parametrize("values", [["1", "2.5"], ["-1", "2"], [1.0, 2.5], [1, -2], ["x", "y"]])
def test_what_is_no_whole_number_is_no_count(values: list[object]) -> None:
    for n in (1, 300):  # repeated often, numbers are kept as codes
        held = hold(pa.table({"n": values * n}))
        assert held is not None and counts_in(held) == ()
    whole = hold(pa.table({"n": [1.0, None, 2.0] * 3}))
    assert whole is not None and counts_in(whole) == ("n",)


def test_few_exceptions_and_blank_cells_leave_a_level_above_and_are_shown() -> None:
    frame = visits()
    frame.loc[0, "region"] = "r?"
    frame.loc[frame.index[5:60:7], "ward"] = ""
    frame["ward name"] = "ward " + frame["ward"].str.strip()
    frame.loc[9, "ward name"] = "misspelt"
    held = held_of(frame)
    found = suggested(held)
    assert found[0] == "region" and len(found) == 2, "a ward and its name are no two levels, but for one row either"
    home = frame.loc[0, "ward"]
    rows = frame.groupby(["ward", "region"]).size()[home]
    (one,) = astray(held, ["region", "ward"])
    assert (one.column, one.label) == ("ward", home) and dict(one.above) == rows.to_dict()
    assert one.above[0][1] == rows.max()
    assert astray(held, ["ward", "region"]) == () and astray(held, ["n", "region"]) == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", "z", ""])), min_size=1, max_size=400))
def test_what_is_astray_is_what_pandas_finds_below_several(rows: list[tuple[str, str]]) -> None:
    rows = [*rows, *[(above, below) for above, below in zip("abc", "xyz", strict=True) for _ in range(300)]]
    frame = pd.DataFrame(rows, columns=["upper", "lower"])
    some = frame[frame["lower"] != ""]
    table = pd.crosstab(some["lower"], some["upper"])
    missed, guess = len(some) - table.max(axis=1).sum(), len(some) - table.sum(axis=0).max()
    several = table[(table > 0).sum(axis=1) > 1]
    expected = {} if missed * 50 > guess else {name: row[row > 0].to_dict() for name, row in several.iterrows()}
    held = held_of(frame)
    assert {one.label: dict(one.above) for one in astray(held, ["upper", "lower"])} == expected


def test_a_long_text_that_stands_in_every_row_is_not_written_out() -> None:
    """Seen failing: 5,000 rows of one text of 40,000 letters took 400 MB."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 6_000, pa.int8()), pa.array(["x" * 40_000]))
    held = hold(pa.table({"region": column, "n": ["1"] * 6_000}))
    assert held is not None
    tracemalloc.start()
    assert of_edges(held) == []
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20_000_000


def test_a_column_of_bytes_hides_no_hierarchy_of_the_others() -> None:
    region = np.tile(np.repeat(["North", "South"], 3), 20)
    town = np.tile([f"T{n}" for n in range(6)], 20)
    shape = pa.array([bytes([200, n % 3]) for n in range(120)], pa.binary())
    held = hold(pa.table({"shape": shape, "region": region, "town": town}))
    assert held is not None and suggested(held) == ("region", "town"), "seen failing: the whole table was refused"
