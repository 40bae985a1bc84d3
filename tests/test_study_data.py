"""What the levels of a data set look like, by hand on six nodes."""

from __future__ import annotations

from treedp_core.records import count_hierarchy, domain_taken_from_the_data
from treedp_core.studies.data import level_table

CSV = b"region,city,people\nNorth,Kiel,3\nNorth,Ulm,4\nSouth,Rome,5\n"


def test_the_level_table_on_a_small_tree() -> None:
    data = count_hierarchy(CSV, ["region", "city"], domain=domain_taken_from_the_data(), weight="people")
    table = level_table(data)
    assert table["Name"][1:] == ["region", "city"] and table["Categories"][1:] == [2, 3]
    assert table["Nodes"] == [1, 2, 3]
    assert table["Median"] == [12.0, 6.0, 4.0]
    assert table["Largest"] == [12, 7, 5]
    assert table["Empty"] == [0.0, 0.0, 0.0]
    assert table["Children"] == ["2 · 2 · 2", "1 · 1.5 · 2", "–"]
