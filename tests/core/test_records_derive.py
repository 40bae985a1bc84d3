"""Levels made of a column: counts equal to those of pandas, one record at a time, and refusals in a sentence."""

from __future__ import annotations

import io
import string
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.derive import times
from treedp_core.records.derive.bands import opened
from treedp_core.records.derive.derivation import DERIVATIONS, Derivation, Derived, derived_of
from treedp_core.records.derive.shares import bands_of_equal_share
from treedp_core.records.derive.spellings import REST
from treedp_core.records.edges import numbers_from_text
from treedp_core.records.recipe import Recipe, as_json, recipe_of

FREE = domain_taken_from_the_data()


def paths(data: Dataset) -> dict[tuple[str, ...], int]:
    """The records of each leaf that has some."""
    leaves = data.tree.leaves[data.counts[data.tree.leaves] > 0]
    return {data.labels.path(int(leaf)): int(data.counts[leaf]) for leaf in leaves}


def grouped(*columns: Any) -> dict[tuple[str, ...], int]:
    """What pandas counts."""
    frame = pd.DataFrame({i: np.asarray(one, dtype=str) for i, one in enumerate(columns)})
    sizes = frame.groupby(list(frame)).size().items()
    return {path if isinstance(path, tuple) else (path,): int(n) for path, n in sizes}


def moments(n: int = 3_000) -> pd.Series:
    rng = np.random.default_rng(1)
    return pd.Series(pd.to_datetime("1999-12-25") + pd.to_timedelta(rng.integers(0, 800 * 24, n), unit="h"))


OF_PANDAS: dict[str, Callable[[pd.Series], Any]] = {
    "year": lambda at: at.dt.strftime("%Y"),
    "quarter": lambda at: at.dt.year.astype(str) + " Q" + at.dt.quarter.astype(str),
    "month": lambda at: at.dt.strftime("%Y-%m"),
    "week": lambda at: at.dt.strftime("%G-W%V"),
    "day": lambda at: at.dt.strftime("%Y-%m-%d"),
    "hour": lambda at: at.dt.strftime("%Y-%m-%d %Hh"),
    "weekday": lambda at: at.dt.day_name(),
    "clock": lambda at: at.dt.strftime("%Hh"),
}


@pytest.mark.parametrize("part", OF_PANDAS)
@pytest.mark.parametrize(
    ("written", "order"),
    [
        ("%Y-%m-%dT%H:%M:%S", ""), ("%Y/%m/%d %H:%M", ""), ("%Y%m%dT%H%M%SZ", ""), ("%d.%m.%Y %H:%M", "/dmy"),
        ("%m/%d/%Y, %I:%M %p", "/mdy"), ("%Y-%m-%d %H:%M:%S.000+02:00", ""),
    ],
)  # fmt: skip
def test_parts_of_dates_are_those_of_pandas_however_they_are_written(part: str, written: str, order: str) -> None:
    at = moments()
    table = pa.table({"at": at.dt.strftime(written)})
    data = count_hierarchy(table, ["x"], domain=FREE, derive={"x": f"at:time:{part}{order}"})
    assert paths(data) == grouped(OF_PANDAS[part](at))
    assert list(data.labels.level_names) == ["all", "x"]


def test_days_of_the_week_and_hours_stand_in_their_order() -> None:
    table = pa.table({"at": moments().dt.strftime("%Y-%m-%d %H:%M")})
    data = count_hierarchy(table, ["w", "h"], domain=FREE, derive={"w": "at:time:weekday", "h": "at:time:clock"})
    days = [data.labels.path(node)[0] for node in range(1, 8)]
    assert days == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    assert [data.labels.path(node)[1] for node in range(8, 8 + 24)] == [f"{hour:02d}h" for hour in range(24)]


def test_a_column_is_read_once_for_all_that_is_made_of_it_beside_columns_of_the_file() -> None:
    rng, at = np.random.default_rng(2), moments()
    frame = pd.DataFrame(
        {"at": at.dt.strftime("%Y-%m-%d"), "sex": rng.choice(["f", "m"], at.size), "n": rng.integers(0, 9, at.size)}
    )
    csv = frame.to_csv(index=False).encode()
    derive = {"year": "at:time:year", "month": Derived("at", "time", "month")}
    data = count_hierarchy(csv, ["sex", "year", "month"], domain=FREE, weight="n", derive=derive)
    frame["year"], frame["month"] = at.dt.strftime("%Y"), at.dt.strftime("%Y-%m")
    sums = frame.groupby(["sex", "year", "month"])["n"].sum()
    assert paths(data) == {path: n for path, n in sums.items() if n}
    assert data.report.recipe.derived == (("month", "at:time:month"), ("year", "at:time:year"))


def test_codes_are_cut_and_numbers_are_put_in_bands() -> None:
    rng = np.random.default_rng(3)
    codes = pd.Series(rng.integers(1_000, 57_000, 2_000)).map("{:05d}".format)
    data = count_hierarchy(
        pa.table({"fips": codes}),
        ["state", "county"],
        domain=FREE,
        derive={"state": "fips:prefix:2", "county": "fips:prefix:5"},
    )
    assert paths(data) == grouped(codes.str[:2], codes)
    ages = pd.Series(rng.uniform(-5, 120, 2_000)).round(1)
    data = count_hierarchy(
        pa.table({"age": ages.astype(str)}), ["band"], domain=FREE, derive={"band": "age:bands:0; 18; 65; 100"}
    )
    cut = pd.cut(ages, [0, 18, 65, 100.0001], right=False)
    expected = {
        (label,): int((cut.cat.codes == i).sum()) for i, label in enumerate(["[0, 18)", "[18, 65)", "[65, 100]"])
    }
    expected[("(outside)",)] = int(cut.isna().sum())
    assert paths(data) == expected
    assert data.report.blank_labels == 0, "seen failing: an age beyond the edges was said to be an empty cell"
    ends = count_hierarchy(
        pa.table({"age": ages.astype(str)}),
        ["band"],
        domain=FREE,
        derive={"band": f"age:bands:{opened('0; 18; 65; 100')}"},
    )
    wide = pd.cut(ages, [-np.inf, 18, 65, np.inf], right=False).cat.codes
    assert ends.counts[1:].tolist() == wide.value_counts().sort_index().tolist()


def test_open_bands_hold_what_lies_beyond_and_shares_are_those_of_pandas() -> None:
    rng = np.random.default_rng(4)
    ages = pd.Series(rng.integers(-5, 120, 2_000))
    data = count_hierarchy(pa.table({"age": ages}), ["band"], domain=FREE, derive={"band": "age:bands:18; 65/open"})
    cut = pd.cut(ages, [-np.inf, 18, 65, np.inf], right=False).cat.codes
    assert [data.labels.path(node)[0] for node in (1, 2, 3)] == ["(-∞, 18)", "[18, 65)", "[65, ∞)"]
    assert data.counts.tolist() == [2_000, *(int((cut == i).sum()) for i in range(3))]
    for n in (2, 3, 7, 20):
        inner = numbers_from_text(bands_of_equal_share(pa.table({"age": ages}), "age", n).removesuffix("/open"))
        wanted = ages.quantile([i / n for i in range(1, n)], interpolation="higher")
        assert np.abs(np.array(inner) - wanted.to_numpy()).max() <= 1
        sizes = np.bincount(np.searchsorted(inner, ages, side="right"))
        assert sizes.size == n  # and no other edges part the numbers more evenly
        shares = np.cumsum(sizes)[:-1] - 2_000 * np.arange(1, n) / n
        assert np.abs(shares).max() <= ages.value_counts().max() / 2
    skewed = pa.table({"x": [0] * 90 + list(range(1, 11))})
    assert bands_of_equal_share(skewed, "x", 4) == "1/open"
    for n, table, says in ((1, skewed, "from 2 to"), (2, pa.table({"x": [3, 3, None]}), "two different numbers")):
        with pytest.raises(InputError, match=says):
            bands_of_equal_share(table, "x", n)
    with pytest.raises(InputError, match="edges that ascend"):
        Derived("c", "bands", "65; 18/open")


def test_spellings_own_names_and_a_list_with_the_rest() -> None:
    cities = ["Köln", "Köln ", "Ko\u0308ln", "KÖLN", "Ulm", "Bonn", ""]
    table = pa.table({"city": cities})

    def counted(text: str) -> dict[tuple[str, ...], int]:
        return paths(count_hierarchy(table, ["x"], domain=FREE, derive={"x": text}))

    assert counted("city:spelling:case") == {("köln",): 4, ("ulm",): 1, ("bonn",): 1, ("(blank)",): 1}
    assert counted("city:spelling:spaces") == {("Köln",): 3, ("KÖLN",): 1, ("Ulm",): 1, ("Bonn",): 1, ("(blank)",): 1}
    assert counted('city:names:{"KÖLN": "Köln", "Köln ": "Köln"}')[("Köln",)] == 4
    assert counted('city:keep:["Ulm", "Bonn"]') == {(REST,): 4, ("Ulm",): 1, ("Bonn",): 1, ("(blank)",): 1}


LABELS = st.text(string.ascii_letters + string.digits + " .-:/ö", max_size=12)
RULES = {
    "time": st.sampled_from(["year", "month/dmy", "week", "hour/mdy"]), "prefix": st.sampled_from(["1", "2", "5"]),
    "bands": st.sampled_from(["0; 1; 5; 50", "1; 5/open"]), "spelling": st.sampled_from(["spaces", "case"]),
    "names": st.just('{"a": "b"}'), "keep": st.just('["a", "1"]'),
    "frequent": st.just('["b"]'),
}  # fmt: skip


def test_every_rule_is_tried() -> None:
    assert set(RULES) == set(DERIVATIONS)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=60)
@given(data=st.data())
def test_what_a_rule_makes_of_a_record_depends_on_no_other(name: str, data: Any) -> None:
    """So a neighbouring table differs in one record of the derived table, too; what is refused is refused alone."""
    derived = Derived("c", name, data.draw(RULES[name]))
    labels = data.draw(st.lists(LABELS, min_size=1, max_size=8))

    def made(some: list[str]) -> list[str]:
        frame = pd.DataFrame({"c": some, "i": [str(i) for i in range(len(some))]})
        found = count_hierarchy(
            pa.Table.from_pandas(frame, preserve_index=False), ["i", "x"], domain=FREE, derive={"x": derived}
        )
        by_row = {path[0]: path[1] if len(path) > 1 else "(blank)" for path in paths(found)}
        return [by_row[str(i)] for i in range(len(some))]

    def alone(label: str) -> str | None:
        try:
            return made([label])[0]
        except InputError as error:
            assert error.code in ("DERIVE", "CONTROL_CHAR", "INVISIBLE_CHAR")
            return None

    single = [alone(label) for label in labels]
    if None in single:
        with pytest.raises(InputError):
            made(labels)
    else:
        assert made(labels) == single


@pytest.mark.parametrize(
    ("text", "cells", "says"),
    [
        ("c:time:month", ["2024-03-05", "5.3.2024"], "in row 3 is not read: expected a date that begins"),
        ("c:time:month/dmy", ["31/12/2024", "12/31/2024"], "expected a date such as 31/12/2024, that is in the"),
        ("c:time:hour", ["2024-03-05"], "in row 2 is not read: expected a time with its hour"),
        ("c:time:day", ["2024-03"], "in row 2 is not read: expected a date with its day"),
        ("c:time:year", ["2023-02-29"], "that is in the calendar"),
        ("c:prefix:5", ["06075", "0607"], "in row 3 is not read: expected a code of at least 5 characters"),
        ("c:bands:0; 5; 9", ["1", "1,5"], "in row 3 is not read: expected a number with a decimal point"),
    ],
)  # fmt: skip
def test_a_cell_that_a_rule_cannot_read_is_named_by_its_row_and_not_quoted(
    text: str, cells: list[str], says: str
) -> None:
    csv = ("c\n" + "".join(f'"{cell}"\n' for cell in cells)).encode()
    with pytest.raises(InputError) as refused:
        count_hierarchy(csv, ["x"], domain=FREE, derive={"x": text})
    assert refused.value.code == "DERIVE"
    assert says in str(refused.value)
    assert cells[-1] not in str(refused.value).replace("31/12/2024", "")


@pytest.mark.parametrize(
    "text",
    ["c", "c:", ":time:year", "c:time:decade", "c:time:year/ydm", "c:prefix:0", "c:prefix:two", "c:bands:5",
     "c:spelling:x", "c:names:[]", "c:names:{", "c:keep:{}", "c:keep:[1]",
     "c:nothing:1", "d:time:year", "c:keep:" + "x" * 20_001],
)  # fmt: skip
def test_a_rule_that_means_nothing_is_refused_before_anything_is_read(text: str) -> None:
    with pytest.raises(InputError) as refused:
        count_hierarchy(b"c\n2024-01-01\n", ["x"], domain=FREE, derive={"x": text})
    assert refused.value.code in ("DERIVE", "VALUE_UNKNOWN", "COLUMN_UNKNOWN", "TREE_SHAPE")


def test_a_column_may_have_colons_in_its_name_and_a_text_that_would_mean_another_column_is_refused() -> None:
    derived = Derived("UTC: at", "keep", '["a:b"]')
    assert derived_of(derived.text) == derived
    with pytest.raises(InputError, match="reads as a rule"):
        Derived("a:time:year", "keep", '["a"]')


def test_a_name_that_the_file_has_is_refused() -> None:
    with pytest.raises(InputError, match="The file has a column 'c' already"):
        count_hierarchy(b"c\n2024-01-01\n", ["c"], domain=FREE, derive={"c": "c:time:year"})


def test_a_recipe_keeps_them_and_a_public_domain_names_them() -> None:
    recipe = Recipe(derived=(("month", "born:time:month"),))
    assert recipe_of(as_json(recipe)) == recipe
    with pytest.raises(InputError):
        replace(recipe, derived=(("month", "born:time:moon"),))
    public = domain_of_values({"year": ["2023", "2024"]})
    data = count_hierarchy(
        b"at\n2023-01-01\n2024-01-01\n1999-01-01\n", ["year"], domain=public, derive={"year": "at:time:year"}
    )
    assert paths(data) == {("2023",): 1, ("2024",): 1, ("(other)",): 1}


def test_rows_can_be_left_out_by_a_derived_level() -> None:
    csv = b"at,sex\n2023-01-01,f\n2024-01-01,m\n2024-02-01,f\n"
    data = count_hierarchy(csv, ["sex"], domain=FREE, derive={"year": "at:time:year"}, left_out={"year": ["2023"]})
    assert paths(data) == {("f",): 1, ("m",): 1}
    assert data.report.recipe.derived == (("year", "at:time:year"),)


def test_suggestions_fit_the_column_and_can_be_counted() -> None:
    columns = {
        "at": list(moments(300).dt.strftime("%d/%m/%Y")), "zip": [f"{i:05d}" for i in range(10_000, 10_300)],
        "age": [str(i % 90) for i in range(300)], "city": ["Ulm", "ulm ", "Bonn"] * 100,
    }  # fmt: skip
    found = {name: {one.name: one.suggest(values) for one in DERIVATIONS.values()} for name, values in columns.items()}
    assert found["at"]["time"][:2] == ("year/dmy", "quarter/dmy")
    assert found["zip"]["prefix"]
    assert found["age"]["bands"] == ("0; 10; 20; 30; 40; 50; 60; 70; 80; 90",)
    assert found["city"]["spelling"] == ("case",)
    table = pa.table(columns)
    for name, suggested in found.items():
        for rule, options in suggested.items():
            for option in options:
                made = Derived(name, rule, option)
                assert count_hierarchy(table, ["x"], domain=FREE, derive={"x": made}).counts[0] == 300
                assert derived_of(made.text) == made
                assert made.level.endswith(name)


def test_an_own_derivation_is_one_entry() -> None:
    own = Derivation(
        "last",
        "Last character",
        lambda option: lambda label: label[-1],
        lambda labels: ("",),
        lambda option, column: column,
    )
    DERIVATIONS.register(own)
    try:
        data = count_hierarchy(io.BytesIO(b"c\nab\ncb\nca\n"), ["x"], domain=FREE, derive={"x": "c:last"})
        assert paths(data) == {("a",): 1, ("b",): 2}
    finally:
        DERIVATIONS.withdraw("last")


PIECES = st.sampled_from([
    "2024", "03", "5", "31", "12", "24", "-", "/", ".", " ", "T", ",", ":30", ":", ":59.5", "AM", "pm", "Z", "UTC",
    "+02:00", "-0500",
])  # fmt: skip


@settings(max_examples=3000)
@given(
    label=st.lists(PIECES, max_size=12).map("".join), option=st.sampled_from(["hour", "day/dmy", "clock/mdy", "year"])
)
def test_nothing_depends_on_minutes_that_are_left_out(label: str, option: str) -> None:
    def read(one: str) -> str:
        try:
            return times.part_of(option)(one)
        except ValueError:
            return "not read"

    (short,) = times.without_minutes(pa.array([label])).to_pylist()
    assert read(short) == read(label)
    assert len(short) <= len(label)


@pytest.mark.parametrize("date", ["2024-03-05", "20240305", "2024/3/5", "5.3.2024", "03/05/2024", "5 3 2024"])
@pytest.mark.parametrize(
    "clock", ["T23:30", " 23:30:00", ", 1:30 PM", "T23:30:00.123456Z", " 23:30 +02:00", "T2330", " 9"]
)
def test_the_same_is_read_without_the_minutes(date: str, clock: str) -> None:
    order = "" if date.startswith("2024") else "/dmy"
    (short,) = times.without_minutes(pa.array([date + clock])).to_pylist()
    assert times.part_of(f"hour{order}")(short) == times.part_of(f"hour{order}")(date + clock)


@pytest.mark.parametrize("labels", [["10001", "94103"], ["20011", "19104"], ["3-7-1", "4-7-2"], ["5600301", "5600302"]])
def test_a_code_is_no_date(labels: list[str]) -> None:
    assert times.parts_in(labels) == ()
