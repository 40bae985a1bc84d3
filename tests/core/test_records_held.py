"""Columns kept in memory: counted in every way like the file they came from, within a limit."""

from __future__ import annotations

import io
import pickle
import random
import tracemalloc
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.records import (
    Dataset,
    HeldColumns,
    ReadOptions,
    count_bins,
    count_hierarchy,
    domain_of_values,
    domain_taken_from_the_data,
    inspect,
)
from treedp_core.records.hierarchies import labels_of, leaves_of, suggested
from treedp_core.records.read import sources
from treedp_core.records.read.column_cache import MAX_HELD_COLUMNS, hold
from treedp_core.records.read.numbers.numeric import look_at_numbers

CITIES = ["Kiel", "Ulm", "Grüße 😀", "", " ", "Rome", "e\u0301", "\xe9"]


def rows(n: int = 4_000) -> dict[str, list[Any]]:
    draw = random.Random(11)
    return {
        "who": [f"person {draw.randrange(n // 2)}" for _ in range(n)],
        "region": [draw.choice(["North", "South"]) for _ in range(n)],
        "city": [draw.choice(CITIES) for _ in range(n)],
        "n": [draw.randrange(5) for _ in range(n)],
        "age": [draw.choice([3, 17.25, -1, 1e6, None]) for _ in range(n)],
        "delay": [draw.random() for _ in range(n)],
    }


def files() -> dict[str, bytes]:
    table = pd.DataFrame(rows())
    stored, split = io.BytesIO(), io.BytesIO()
    arrow = pa.Table.from_pandas(table)
    pq.write_table(arrow, stored)
    typed = arrow.set_column(1, "region", arrow["region"].dictionary_encode()).set_column(
        2, "city", pa.array([city or None for city in rows()["city"]], pa.large_string())
    )
    pq.write_table(typed, split, row_group_size=700)
    return {"csv": table.to_csv(index=False).encode(), "parquet": stored.getvalue(), "nulls": split.getvalue()}


FILES = files()
PUBLIC = domain_of_values({"region": ["North", "West"], "city": ["Kiel", "\xe9", "(blank)"]})
FROM_DATA = domain_taken_from_the_data()
LEVELS = ["region", "city"]
WAYS: dict[str, Any] = {
    "from the data": lambda origin: count_hierarchy(origin, LEVELS, domain=FROM_DATA),
    "another order": lambda origin: count_hierarchy(origin, LEVELS[::-1], domain=FROM_DATA, missing="other"),
    "public": lambda origin: count_hierarchy(origin, LEVELS, domain=PUBLIC, weight="n"),
    "units": lambda origin: count_hierarchy(origin, LEVELS, domain=FROM_DATA, unit="who", contributions=2),
    "units as a level": lambda origin: count_hierarchy(origin, ["who"], domain=FROM_DATA),
    "bins": lambda origin: count_bins(origin, "age", lower=0, upper=20, n_bins=4, weight="n"),
    "bins of units": lambda origin: count_bins(origin, "delay", lower=0, upper=1, n_bins=8, unit="who"),
}


def told(data: Dataset) -> tuple[Any, ...]:
    return data.fingerprint, data.report, data.source_digest, data.name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", FILES)
def test_kept_columns_are_counted_like_their_file(kind: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1 << 14)  # several batches
    held = hold(FILES[kind], name="t")
    assert held is not None and held.left_out == ()
    from_file = WAYS[way](io.BytesIO(FILES[kind]))
    assert told(WAYS[way](held))[:3] == told(from_file)[:3]


def test_they_are_counted_under_the_name_that_is_given() -> None:
    held = hold(b"place\nx\ny\n", name="visits.csv")
    assert held is not None
    domain = domain_taken_from_the_data()
    assert count_hierarchy(held, ["place"], domain=domain, name="Spring").name == "Spring"
    assert count_hierarchy(held, ["place"], domain=domain).name == "visits.csv"


@pytest.mark.parametrize("kind", FILES)
def test_they_look_like_their_file(kind: str) -> None:
    held, seen = hold(FILES[kind], name="t"), inspect(FILES[kind], name="t")
    assert held is not None
    again = inspect(held)
    assert (again.name, again.columns, again.rows, again.kind) == (seen.name, seen.columns, seen.rows, seen.kind)
    assert again.n_rows == held.size == 4_000
    assert held.numbers == ("n", "age", "delay")
    assert held.distinct["region"] == 2 and held.distinct["who"] == len(set(rows()["who"]))
    direct, kept = look_at_numbers(FILES[kind], "delay"), look_at_numbers(held, "delay")
    assert direct.counts.tolist() == kept.counts.tolist() and direct.values.tolist() == kept.values.tolist()


def test_a_refusal_names_the_row_of_the_file() -> None:
    text = b"region,n\nNorth,3\nNorth,-1\n"
    for origin in (text, hold(text)):
        with pytest.raises(InputError, match="row 3"):
            count_hierarchy(origin, ["region"], domain=FROM_DATA, weight="n")


def test_the_private_file_is_no_public_domain_of_its_columns() -> None:
    from treedp_core.records import domain_of_paths

    held = hold(FILES["csv"])
    with refuses("DOMAIN_IS_DATA"):
        count_hierarchy(held, ["region"], domain=domain_of_paths(FILES["csv"], ["region"]))


def test_what_takes_up_most_is_left_out_where_not_all_fits() -> None:
    held = hold(FILES["csv"], limit=45_000)
    assert held is not None and set(held.left_out) == {"who", "delay"}
    assert held.n_bytes <= 45_000 and held.preview.columns == ("region", "city", "n", "age")
    assert len(held.preview.rows[0]) == 4
    with refuses("COLUMN_UNKNOWN"):
        count_hierarchy(held, ["who"], domain=FROM_DATA)
    assert hold(FILES["csv"], limit=1_000) is None


def test_codes_take_up_less_than_the_file() -> None:
    text = b"state,sex\n" + b"Massachusetts,female\nConnecticut,male\n" * 50_000
    held = hold(text)
    assert held is not None and held.n_bytes < len(text) / 8


def test_values_that_batches_share_take_up_their_memory_once() -> None:
    out = io.BytesIO()
    text = [f"a rather long name of a place, number {i % 5_000}" for i in range(400_000)]
    pq.write_table(pa.table({"place": text}), out)
    assert hold(out.getvalue(), limit=1_400_000) is not None  # 0.8 MB of codes, 0.2 MB of names in each of 4 batches


def test_very_wide_tables_are_not_kept() -> None:
    wide = ",".join(f"c{j}" for j in range(MAX_HELD_COLUMNS + 1))
    assert hold(f"{wide}\n{wide}\n".encode()) is None


def test_options_and_gzip_count_once_when_the_file_is_read() -> None:
    held = hold("région;n\né;1\nè;2\n".encode("latin-1"), options=ReadOptions("latin-1", ";"))
    data = count_hierarchy(held, ["région"], domain=FROM_DATA, weight="n")
    assert data.counts.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [(["1", "2"], True), (["1", "NA", "2"], True), (["x", "1"], False), (["", " ", "3"], True), (["x", "y"], False),
     ([" 1e3 ", "-.5"], True), (["", " "], False), (["00501", "1.1"], True)],
)  # fmt: skip
def test_columns_of_numbers(cells: list[str], numeric: bool) -> None:
    held = hold(("a,b\n" + "".join(f'"{cell}",x\n' for cell in cells)).encode())
    assert held is not None and held.numbers == (("a",) if numeric else ())


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize(("marks", "bins"), [(",", [2, 1, 0, 3]), (",.", [2, 1, 0, 3]), (".", [1, 0, 1, 4])])
def test_a_number_has_the_marks_that_were_said_whatever_is_between_the_cells(
    delimiter: str, marks: str, bins: list[int]
) -> None:
    """Bins of 0 to 10, 20 and 30, and what lies beyond or is no number."""
    rows = ["wage;city", "3,25;x", "+12,5;x", "25.5;x", "7;x", "1.234,5;x", ";x"]
    file = "\n".join(rows).replace(";", delimiter).encode()
    held = hold(file)
    assert held is not None and held.numbers == ("wage",)
    said = {"wage": marks}
    for origin in (file, held):
        assert count_bins(origin, "wage", lower=0, upper=30, n_bins=3, marks=said).counts.tolist() == [6, *bins]
        assert look_at_numbers(origin, "wage", marks=said).blank == bins[-1] - (marks == ",.")


# ---- which columns could be levels


def table_of(*rows: str) -> HeldColumns:
    held = hold("\n".join(rows).encode())
    assert held is not None
    return held


def test_leaves_are_the_combinations_that_occur() -> None:
    held = hold(FILES["nulls"])
    assert held is not None
    found = rows()
    assert leaves_of(held, ["region", "city"]) == len(set(zip(found["region"], found["city"], strict=True)))
    assert leaves_of(held, ["age"]) == 5 and leaves_of(held, ["delay"]) == len(set(found["delay"]))
    assert leaves_of(held, []) == 1
    pairs = set(zip(found["who"], found["delay"], strict=True))  # far fewer than there could be
    assert leaves_of(held, ["who", "delay"]) == len(pairs)


def test_a_million_labels_take_little_memory_also_while_they_are_sent() -> None:
    n = 100_000
    data = count_hierarchy(b"region\n" + b"\n".join(b"%d" % i for i in range(n)), ["region"], domain=FROM_DATA)
    stored = pickle.dumps(data)
    tracemalloc.start()
    again = pickle.loads(stored)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert again.fingerprint == data.fingerprint and not again.labels.vocabularies[1].flags.writeable
    few = count_hierarchy(FILES["csv"], LEVELS, domain=FROM_DATA)
    assert pickle.loads(pickle.dumps(few)).labels.of_level(2).tolist() == few.labels.of_level(2).tolist()
    assert kept <= 50 * n and peak <= 75 * n  # bytes; text one by one took 90 and 109


def test_a_column_that_is_not_kept_has_no_labels_to_pick_from() -> None:
    columns = hold(pa.table({"town": ["Ulm", "Kiel"], "at": pa.array([0, 1], pa.duration("us"))}))
    assert columns is not None and columns.left_out == ("at",)
    assert labels_of(columns, "town") == ["Kiel", "Ulm"] and labels_of(columns, "at") == []


def test_an_order_follows_which_column_determines_which() -> None:
    draw = random.Random(3)
    lines = []
    for n in range(500):
        city = draw.randrange(12)
        lines.append(f"{n},{'fm'[draw.randrange(2)]},c{city},county {city // 2},state {city // 6},{draw.random()}")
    assert suggested(table_of("id,sex,city,county,state,pay", *lines)) == ("state", "county", "city")


def test_without_such_columns_those_with_the_fewest_values_come_first() -> None:
    draw = random.Random(4)
    lines = [f"{n},{draw.randrange(9)},{draw.randrange(2)},{draw.randrange(5)},{draw.randrange(7)}" for n in range(900)]
    assert suggested(table_of("id,nine,two,five,seven", *lines)) == ("two", "five", "seven")
    assert suggested(table_of("id", *map(str, range(50)))) == ()
    named = [f"{'xyz'[draw.randrange(3)]},{draw.randrange(2)},{'ab'[draw.randrange(2)]}" for n in range(900)]
    assert suggested(table_of("place,n,kind", *named)) == ("kind", "place"), "a number is rather a count than a level"


def test_two_names_of_one_thing_are_no_levels() -> None:
    lines = [f"{n % 4},name {n % 4},{n % 2}" for n in range(100)]
    assert suggested(table_of("code,name,half", *lines)) == ("half", "code")


@pytest.mark.parametrize("kind", [pa.decimal128(5, 2), pa.decimal128(38, 20), pa.decimal256(60, 3)])
def test_decimals_of_a_database_fall_where_their_digits_say_whether_kept_or_not(kind: pa.DataType) -> None:
    cents = list(range(1000))
    random.Random(9).shuffle(cents)
    pay = pa.array([None, *(Decimal(one).scaleb(-2) for one in cents)], kind)
    stored = io.BytesIO()
    pq.write_table(pa.table({"pay": pay}), stored)
    expected = [1001, *[10] * 100, 1]  # whole cents, ten to a bin; the blank one beside them
    columns = hold(stored.getvalue())
    assert columns is not None and columns.numbers == ("pay",) and columns.left_out == ()
    for origin in (stored.getvalue(), pa.table({"pay": pay}), pa.table({"pay": pay.dictionary_encode()}), columns):
        counted = count_bins(origin, "pay", lower=0, upper=10, n_bins=100)
        assert counted.counts.tolist() == expected
    assert suggested(columns) == (), "decimals are no levels"


def test_columns_that_a_worker_holds_come_back_from_its_process() -> None:
    content = b"city;n\n\nUlm;1\nKiel;x\n"
    columns = hold(content)
    assert columns is not None
    again = pickle.loads(pickle.dumps(columns))
    assert again.table.equals(columns.table)
    with pytest.raises(InputError, match="row 4"):
        count_hierarchy(again, ["city"], domain=domain_taken_from_the_data(), weight="n")
