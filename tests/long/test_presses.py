"""Files as people have them: how many presses lie between a file and the tree that its records make."""

from __future__ import annotations

import pandas as pd
import pytest

from core.test_files_people_have import FILES, ROWS, by_pandas
from oracles_pages import codes, open_page
from test_pages_data import held, labelled

pytestmark = pytest.mark.usefixtures("own_jobs")

MOST = 4
NAMES = {
    "Excel": ".xlsx", "ZIP": ".zip", "gzip": ".csv.gz", "JSON in gzip": ".json.gz", "JSON lines in gzip": ".jsonl.gz",
    "JSON lines": ".jsonl", "JSON": ".json", "GeoJSON": ".geojson", "Parquet": ".parquet", "Arrow": ".arrow",
}  # fmt: skip
DROPPED = sorted(kind for kind in FILES if isinstance(FILES[kind](), bytes))


def name_of(kind: str) -> str:
    """The name that such a file has; the longest beginning decides."""
    fits = [beginning for beginning in NAMES if kind.startswith(beginning)]
    return f"towns{NAMES[max(fits, key=len)] if fits else '.csv'}"


def test_thirty_files_are_tried() -> None:
    assert len(DROPPED) >= 30


@pytest.mark.parametrize("kind", DROPPED)
def test_a_file_goes_from_drop_to_its_tree_in_few_presses(kind: str) -> None:
    app = open_page("data", source="upload")
    app.file_uploader[0].upload(name_of(kind), FILES[kind]()).run()
    presses = 0
    parts = [one for one in app.selectbox if one.label == "Records"]
    found = ("items", "towns", "object")
    for one in (one for one in parts if not any(word in one.placeholder for word in found)):  # another one is meant
        one.set_value(next(name for name in one.options if "items" in name or "towns" in name)).run()
        presses += 1
    proposed = [one for one in app.button if one.label.startswith("From the data: region › city")]
    if proposed:
        proposed[0].click().run()
        presses += 1
    chosen = labelled(app.multiselect, "Columns of")
    if list(chosen.value) != ["region", "city"]:
        for columns in (["region"], ["region", "city"]):
            labelled(app.multiselect, "Columns of").set_value(columns).run()
            presses += 1
    app.button(key="upload_count").click().run()
    presses += 1
    assert not app.exception and codes(app) == []
    data = held(app)
    counts = {data.labels.path(leaf): int(data.counts[leaf]) for leaf in data.tree.leaves.tolist()}
    assert counts == by_pandas(ROWS, 0, 1)
    assert presses <= MOST


COUNTED = {
    "one row a leaf": [("North", "Kiel", 310), ("North", "Husum", 40), ("South", "Ulm", 120), ("South", "Bonn", 77)],
    "with totals": [
        ("North", "Kiel", 310), ("North", "Husum", 40), ("North", "Total", 350), ("South", "Ulm", 120),
        ("South", "Bonn", 77), ("South", "Total", 197), ("Total", "Total", 547),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", COUNTED)
def test_a_table_that_a_database_has_grouped_takes_two_presses(kind: str) -> None:
    """Seen failing: no order was offered where each row has its own leaf, and totals were counted with the rest."""
    rows = "".join(f"{a},{b},{n}\n" for a, b, n in COUNTED[kind])
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("some.csv", f"region,city,residents\n{rows}".encode()).run()
    offered = next(one for one in app.button if one.label.startswith("From the data: region › city"))
    assert "residents as counts" in offered.label and ("without Total" in offered.label) == (kind == "with totals")
    offered.click().run()
    app.button(key="upload_count").click().run()
    assert not app.exception and codes(app) == []
    data = held(app)
    assert {data.labels.path(leaf): int(data.counts[leaf]) for leaf in data.tree.leaves.tolist()} == {
        (a, b): n for a, b, n in COUNTED["one row a leaf"]
    }
    assert data.report.recipe.weight == "residents"


DAYS = pd.Series(pd.date_range("2023-01-25 05:00", periods=60, freq="613h"))
CODES = pd.Series([f"{state:02}{county:03}" for state in (1, 9, 48) for county in range(1, 30, 2)])
TRADES = pd.Series([f"{one}.{n}" for one in ("01", "02", "62") for n in range(10, 40)])
OF_PANDAS = {
    "year": lambda day: day.dt.strftime("%Y"), "month": lambda day: day.dt.strftime("%Y-%m"),
    "day": lambda day: day.dt.strftime("%Y-%m-%d"), "first 2": lambda code: code.str[:2],
    "first 4": lambda code: code.str[:4],
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "cells", "written"),
    [
        ("born", DAYS, DAYS.dt.strftime("%d.%m.%Y")), ("at", DAYS, DAYS.dt.strftime("%Y-%m-%d %H:%M")),
        ("fips", CODES, CODES), ("nace", TRADES, TRADES),
    ],
)  # fmt: skip
def test_dates_and_codes_become_levels_in_three_presses(column: str, cells: pd.Series, written: pd.Series) -> None:
    frame = pd.DataFrame({column: written, "n": range(len(cells))})
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("some.csv", frame.to_csv(index=False).encode()).run()
    next(one for one in app.button if one.label.startswith(f"{column}: ")).click().run()
    app.button(key="upload_count").click().run()  # the second press
    assert not app.exception and codes(app) == []
    data = held(app)
    made = [name.removesuffix(f" of {column}") for name in data.labels.level_names[1:]]
    assert len(made) >= 2
    sizes = frame.groupby([OF_PANDAS[name](cells) if name in OF_PANDAS else written for name in made]).size()
    assert {data.labels.path(leaf): int(data.counts[leaf]) for leaf in data.tree.leaves.tolist()} == sizes.to_dict()
